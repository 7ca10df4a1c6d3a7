//! The resources of a compute unit that AMDGPU instructions use. Classes depend on the decoded
//! instruction, and for arithmetic on the mnemonic.

use super::counters::counter;
use super::inst::{Action, Barrier, File, Inst, Memories, Op};
use super::program::Kernel;
use crate::timing::{Cost, Timed, Unit};

/// Scalar registers come behind the vector registers, of which there are at most so many.
const VECTOR: u32 = 1024;
/// Registers of both files.
const ALL: usize = VECTOR as usize + super::operand::sgpr::COUNT + 2;

/// Cycles of `s_sleep 1` (RDNA and CDNA instruction sets, "S_SLEEP": about 64).
const SLEEP: u32 = 64;

impl Timed for Kernel {
    fn costs(&self) -> Vec<Cost> {
        let texts = self.lines().iter().map(|line| line.text.as_str());
        self.instructions()
            .iter()
            .zip(texts)
            .map(|(inst, text)| cost(inst, text))
            .collect()
    }

    fn registers(&self) -> usize {
        ALL
    }

    fn next(&self, wave: &super::Wave) -> Option<u32> {
        Some(wave.pc)
    }
}

fn cost(inst: &Inst, text: &str) -> Cost {
    let mut words = text.split_whitespace();
    let mnemonic = words.next().unwrap_or_default();
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for touched in &inst.uses {
        let registers = touched.registers;
        let first = u32::from(registers.first);
        let base = match registers.file {
            File::Vector => first,
            File::Scalar => VECTOR + first,
        };
        let into = if touched.written {
            &mut writes
        } else {
            &mut reads
        };
        into.extend(base..base + u32::from(registers.count));
    }
    let mut cost = Cost {
        unit: unit(&inst.op, mnemonic, words.next()),
        slots: 1,
        reads: reads.into(),
        writes: writes.into(),
        ..Cost::default()
    };
    match &inst.op {
        Op::Memory(memory) => {
            cost.accesses = memory.accesses();
            cost.counters = memory.counters;
        }
        Op::Cache {
            counts: Some((counters, _)),
            ..
        } => cost.counters = *counters,
        Op::Wait(waits) => cost.waits = waits.clone(),
        Op::LackingWait { kept, .. } => cost.waits = kept.clone(),
        Op::End => cost.waits = [(counter::ALL, 0)].into(),
        _ => {}
    }
    cost
}

fn unit(op: &Op, mnemonic: &str, operand: Option<&str>) -> Unit {
    match op {
        Op::Vector(_) | Op::Dual(_) | Op::Indirect(..) => vector(mnemonic),
        Op::Special(..) if mnemonic.starts_with("v_") => Unit::Simple,
        Op::Special(..)
        | Op::Scalar(_)
        | Op::SaveExec { .. }
        | Op::SetIndexing(_)
        | Op::SetRounding { .. } => Unit::Scalar,
        Op::Branch { .. } | Op::Jump { .. } | Op::End | Op::Trap => Unit::Branch,
        Op::Memory(memory) => match (memory.memories, memory.action) {
            (Memories::Shared, Action::Pull | Action::Push | Action::Swizzle) => Unit::Exchange,
            (_, Action::Time) => Unit::Scalar,
            _ => Unit::Memory,
        },
        Op::Matrix(_) => Unit::Matrix,
        Op::Cache { .. } => Unit::DeviceFence,
        Op::Barrier(barrier) => match barrier {
            Barrier::Full | Barrier::Wait { .. } => Unit::Barrier { waits: true },
            Barrier::Signal { .. }
            | Barrier::Init { .. }
            | Barrier::Join { .. }
            | Barrier::Leave
            | Barrier::Wake => Unit::Barrier { waits: false },
        },
        Op::Sleep => {
            let times: u32 = operand.and_then(|text| text.parse().ok()).unwrap_or(0);
            Unit::Sleep(times.min(127) * SLEEP)
        }
        Op::Nothing | Op::Wait(_) | Op::LackingWait { .. } | Op::Unknown => Unit::None,
    }
}

/// The unit of a vector instruction.
fn vector(mnemonic: &str) -> Unit {
    const SPECIAL: [&str; 8] = [
        "v_rcp_", "v_rsq_", "v_sqrt_", "v_exp_", "v_log_", "v_sin_", "v_cos_", "v_tanh_",
    ];
    if mnemonic.contains("_f64") {
        Unit::Wide
    } else if SPECIAL.iter().any(|root| mnemonic.starts_with(root)) {
        Unit::Special
    } else {
        Unit::Simple
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_instructions_have_their_units() {
        assert_eq!(vector("v_fma_f32"), Unit::Simple);
        assert_eq!(vector("v_rcp_iflag_f32_e32"), Unit::Special);
        assert_eq!(vector("v_rsq_f64_e32"), Unit::Wide);
        assert_eq!(vector("v_cvt_f32_f64_e32"), Unit::Wide);
        assert_eq!(vector("v_add_nc_u32_e32"), Unit::Simple);
    }
}
