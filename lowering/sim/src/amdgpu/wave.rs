//! The state of one wave: registers, what is outstanding, private memory.

use super::apertures::{PRIVATE_APERTURE, SHARED_APERTURE};
use super::bits::Ty;
use super::counters::class;
use super::inst::{File, Indirect, Inst, Op, Registers, Use};
use super::labelled::Labels;
use super::operand::{Half, Kind, Operand, sgpr};
use super::operation::Operation;
use crate::barrier::{Name, Phase};
use crate::context::Context;
use crate::finding::{FindingKind, Site};
use crate::queue::Queue;
use crate::uses::Label;
use std::collections::BTreeMap;

/// One value for each lane.
pub(super) type Lanes64 = [u64; 64];

/// A wave.
pub struct Wave {
    pub(super) size: u32,
    /// Index of the next instruction.
    pub(super) pc: u32,
    pub(super) scc: bool,
    /// The four lowest bits of the mode: in which directions floats are rounded.
    pub(super) rounding: u8,
    /// Which registers of moves are counted from the index in M0.
    pub(super) indexing: Option<Indirect>,
    pub(super) vgpr: Vec<[u32; 64]>,
    pub(super) sgpr: [u32; sgpr::COUNT],
    pub(super) queue: Queue<Box<Operation>>,
    /// The outstanding operations that will write the low and the high half of a register; 0 for
    /// none.
    vgpr_pending: Vec<[u32; 2]>,
    sgpr_pending: [[u32; 2]; sgpr::COUNT],
    /// Private memory: that of lane 0, then that of lane 1, ...
    pub(super) private: Vec<u8>,
    pub(super) private_bytes: u32,
    /// Barrier phases that this wave has arrived for and not waited for.
    pub(super) arrived: Vec<(Name, Phase)>,
    /// The phase of the cluster's barrier that it waits for next: who does not arrive there waits
    /// all the same, once for each phase.
    pub(super) cluster_phase: Phase,
    /// The named barrier that it belongs to.
    pub(super) joined: Option<Name>,
    /// What registers and private memory depend on.
    pub(super) labels: Labels,
    pub(super) private_labels: BTreeMap<usize, Label>,
    /// Operations that are over, to be used again. Boxed as in the queue: they are large.
    #[allow(clippy::vec_box)]
    pub(super) spare: Vec<Box<Operation>>,
}

impl Wave {
    /// A wave whose registers hold noise.
    pub(super) fn new(size: u32, vgprs: usize, private_bytes: u32, noise: u64) -> Wave {
        let mut rng = fastrand::Rng::with_seed(noise);
        let mut sgprs = [0; sgpr::COUNT];
        sgprs.fill_with(|| rng.u32(..));
        let vgpr = (0..vgprs)
            .map(|_| {
                let mut lanes = [0; 64];
                lanes.fill_with(|| rng.u32(..));
                lanes
            })
            .collect();
        Wave {
            size,
            pc: 0,
            scc: rng.bool(),
            rounding: 0,
            indexing: None,
            vgpr,
            sgpr: sgprs,
            queue: Queue::default(),
            vgpr_pending: vec![[0; 2]; vgprs],
            sgpr_pending: [[0; 2]; sgpr::COUNT],
            private: vec![0; private_bytes as usize * size as usize],
            private_bytes,
            arrived: Vec::new(),
            cluster_phase: 0,
            joined: None,
            labels: Labels::default(),
            private_labels: BTreeMap::new(),
            spare: Vec::new(),
        }
    }

    /// All lanes of the wave.
    pub(super) fn all(&self) -> u64 {
        if self.size == 64 {
            u64::MAX
        } else {
            (1 << self.size) - 1
        }
    }

    pub(super) fn exec(&self) -> u64 {
        self.pair(sgpr::EXEC) & self.all()
    }

    pub(super) fn set_exec(&mut self, mask: u64) {
        self.set_mask(sgpr::EXEC, mask);
    }

    pub(super) fn vcc(&self) -> u64 {
        self.pair(sgpr::VCC) & self.all()
    }

    /// One scalar register.
    pub(super) fn s(&self, index: u16) -> u32 {
        if index == sgpr::NULL {
            return 0;
        }
        self.sgpr.get(usize::from(index)).copied().unwrap_or(0)
    }

    pub(super) fn set_s(&mut self, index: u16, value: u32) {
        if index != sgpr::NULL
            && let Some(register) = self.sgpr.get_mut(usize::from(index))
        {
            *register = value;
        }
    }

    /// Two scalar registers.
    pub(super) fn pair(&self, index: u16) -> u64 {
        if index == sgpr::NULL {
            return 0;
        }
        u64::from(self.s(index)) | u64::from(self.s(index + 1)) << 32
    }

    pub(super) fn set_pair(&mut self, index: u16, value: u64) {
        if index != sgpr::NULL {
            self.set_s(index, value as u32);
            self.set_s(index + 1, (value >> 32) as u32);
        }
    }

    /// A mask takes one register in waves of 32 lanes, two in waves of 64.
    pub(super) fn set_mask(&mut self, index: u16, mask: u64) {
        if self.size == 64 {
            self.set_pair(index, mask);
        } else {
            self.set_s(index, mask as u32);
        }
    }

    /// A mask operand: a bit for each lane.
    pub(super) fn mask(&self, operand: &Operand) -> u64 {
        self.scalar(operand, if self.size == 64 { Ty::B64 } else { Ty::B32 }) & self.all()
    }

    /// What an operand is worth that is the same for all lanes.
    pub(super) fn scalar(&self, operand: &Operand, ty: Ty) -> u64 {
        let wide = ty.registers() == 2;
        match operand.kind {
            Kind::Sgpr(index) if wide => self.pair(index),
            Kind::Sgpr(index) => self.s(index).into(),
            // The first lane: what moves from vector to scalar registers says itself which lane it
            // means.
            Kind::Vgpr(index) => self
                .vgpr
                .get(usize::from(index))
                .map_or(0, |lanes| u64::from(lanes[0])),
            Kind::Integer(n) if wide => n as u64,
            Kind::Integer(n) => u64::from(n as u32),
            // A literal is the upper half of a float of 64 bits.
            Kind::Literal(bits) if ty == Ty::F64 => u64::from(bits) << 32,
            Kind::Literal(bits) => bits.into(),
            Kind::Literal64(bits) => bits,
            Kind::Float(value) => ty.float(value),
            Kind::Scc => self.scc.into(),
            Kind::VccZero => (self.vcc() == 0).into(),
            Kind::ExecZero => (self.exec() == 0).into(),
            Kind::SharedBase => aperture(SHARED_APERTURE, wide),
            Kind::PrivateBase => aperture(PRIVATE_APERTURE, wide),
            Kind::ScratchBase if wide => PRIVATE_APERTURE << 32,
            Kind::ScratchBase => 0,
            Kind::ScratchBaseHigh => PRIVATE_APERTURE,
            Kind::ApertureLimit => u32::MAX.into(),
            Kind::Off | Kind::Other => 0,
        }
    }

    /// Writes a scalar result.
    pub(super) fn set_scalar(&mut self, operand: &Operand, ty: Ty, value: u64) {
        match operand.kind {
            Kind::Sgpr(index) if ty.registers() == 2 => self.set_pair(index, value),
            Kind::Sgpr(index) => self.set_s(index, value as u32),
            _ => {} // to no register
        }
    }

    /// What an operand is worth in each lane; 64-bit values take two registers.
    pub(super) fn lanes(&self, operand: &Operand, ty: Ty) -> Lanes64 {
        let Kind::Vgpr(index) = operand.kind else {
            return [self.scalar(operand, ty); 64];
        };
        let mut values = [0; 64];
        let index = usize::from(index);
        if let Some(low) = self.vgpr.get(index) {
            for (value, bits) in values.iter_mut().zip(low) {
                *value = u64::from(*bits);
            }
        }
        if ty.registers() == 2
            && let Some(high) = self.vgpr.get(index + 1)
        {
            for (value, bits) in values.iter_mut().zip(high) {
                *value |= u64::from(*bits) << 32;
            }
        }
        values
    }

    /// One vector register.
    pub(super) fn v(&self, index: u16) -> [u32; 64] {
        self.vgpr
            .get(usize::from(index))
            .copied()
            .unwrap_or([0; 64])
    }

    /// What is outstanding in registers.
    fn pending(&mut self, registers: Registers) -> impl Iterator<Item = &mut u32> {
        let file = match registers.file {
            File::Vector => self.vgpr_pending.as_mut_slice(),
            File::Scalar => self.sgpr_pending.as_mut_slice(),
        };
        let first = usize::from(registers.first);
        let range = first..first + usize::from(registers.count);
        let halves = halves(registers.half);
        file.get_mut(range)
            .into_iter()
            .flatten()
            .flat_map(move |register| register.get_mut(halves.clone()).into_iter().flatten())
    }

    /// Notes that operation `id` will write registers.
    pub(super) fn set_pending(&mut self, registers: Registers, id: u32) {
        self.pending(registers).for_each(|pending| *pending = id);
    }

    /// Takes back what [`Wave::set_pending`] noted, where it is still this operation that is noted.
    pub(super) fn clear_pending(&mut self, registers: Registers, id: u32) {
        for pending in self.pending(registers).filter(|pending| **pending == id) {
            *pending = 0;
        }
    }

    /// Reports each register of the instruction that an outstanding operation has yet to write. A
    /// vector load may write what an older one will write: they come back in order. So do samples
    /// among themselves (LLVM, SIInsertWaitcnts: types of VMEM accesses).
    pub(super) fn check(&self, inst: &Inst, pc: u32, cx: &mut Context<'_>) {
        let ordered = match &inst.op {
            Op::Memory(memory) if matches!(memory.class, class::LOADS | class::SAMPLES) => {
                Some(memory.class)
            }
            _ => None, // not in order with what it overwrites
        };
        for Use { registers, written } in &inst.uses {
            let behind = |id: &u32| {
                let older = self.queue.get(*id).map(|older| older.rules.class);
                *written && ordered.is_some() && older == ordered
            };
            let (file, name) = match registers.file {
                File::Vector => (self.vgpr_pending.as_slice(), "v"),
                File::Scalar => (self.sgpr_pending.as_slice(), "s"),
            };
            let first = usize::from(registers.first);
            let range = file
                .get(first..first + usize::from(registers.count))
                .unwrap_or(&[]);
            let halves = halves(registers.half);
            let found = range.iter().enumerate().find_map(|(offset, pending)| {
                let mut ids = pending.get(halves.clone())?.iter();
                let id = ids.find(|id| **id != 0 && !behind(id))?;
                Some((offset, *id))
            });
            let Some((offset, id)) = found else {
                continue; // nothing is outstanding there
            };
            let other = self.queue.get(id).map(|o| Site {
                lane: None,
                ..cx.site(o.what.pc, None)
            });
            let verb = if *written { "overwritten" } else { "read" };
            let site = cx.site(pc, None);
            cx.findings
                .report(FindingKind::MissingWait, site, other, || {
                    format!(
                        "{name}{} is {verb} while the operation that fills it is outstanding",
                        first + offset
                    )
                });
        }
    }
}

/// The places of a register's halves.
fn halves(half: Half) -> std::ops::Range<usize> {
    match half {
        Half::Whole => 0..2,
        Half::Low => 0..1,
        Half::High => 1..2,
    }
}

fn aperture(high: u64, wide: bool) -> u64 {
    if wide { high << 32 } else { 0 }
}
