//! The dependences of the registers of a wave: labels of loaded bytes ([`crate::uses`]), through
//! the instructions that compute.
//!
//! A result depends on what changes it: the instruction runs again with other values in place of
//! the labelled ones, and the bits of its results that differ get their labels. Where a value
//! decides by its size or as a whole (comparisons, floats), all of its bytes count.

use super::bits::{Compute, Ty};
use super::inst::{Condition, File, Form, Inst, Op, Part, Scalar, Special, Use, Vector};
use super::labelled::{Labels, OfBits, OfLanes};
use super::masks::each;
use super::operand::{Half, Kind, Operand, sgpr};
use super::program::Kernel;
use super::vector;
use super::wave::Wave;
use crate::context::Context;
use crate::lane::Lane;
use crate::uses::{Label, NONE, Uses};
use std::collections::BTreeMap;

/// Values that are put in place of labelled ones before one of them changes.
const BASES: [Base; 4] = [Base::Own, Base::Fixed(0), Base::Mixed(1), Base::Mixed(2)];
/// How a value changes, a byte each.
const CHANGES: [u8; 3] = [0xff, 0x01, 0xa6];

#[derive(Copy, Clone)]
enum Base {
    /// What is there.
    Own,
    /// This in each byte.
    Fixed(u8),
    /// Something else in each byte.
    Mixed(u64),
}

impl Base {
    fn byte(self, own: u8, place: usize) -> u8 {
        match self {
            Base::Own => own,
            Base::Fixed(byte) => byte,
            Base::Mixed(seed) => {
                let mixed =
                    (place as u64 + 1).wrapping_mul(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                (mixed >> 40) as u8
            }
        }
    }
}

/// Something labelled that an instruction reads.
#[derive(Copy, Clone)]
enum Slot {
    /// A byte of a vector register, in all lanes.
    Byte(u16, usize),
    /// The bits of a mask of lanes, by its first register.
    Mask(u16),
    /// A scalar register whose value all lanes read.
    Scalar(u16),
    /// The condition code, which all lanes read.
    Scc,
}

/// Registers that an instruction may change, as they were.
#[derive(Clone)]
struct Saved {
    vector: Vec<(u16, [u32; 64])>,
    scalar: [u32; sgpr::COUNT],
    scc: bool,
}

impl Saved {
    fn capture(wave: &Wave, uses: &[Use]) -> Saved {
        let vector = registers(uses, File::Vector, None);
        Saved {
            vector: vector
                .map(|register| (register, wave.v(register)))
                .collect(),
            scalar: wave.sgpr,
            scc: wave.scc,
        }
    }

    fn restore(&self, wave: &mut Wave) {
        for (register, values) in &self.vector {
            if let Some(slot) = wave.vgpr.get_mut(usize::from(*register)) {
                *slot = *values;
            }
        }
        wave.sgpr = self.scalar;
        wave.scc = self.scc;
    }
}

/// Registers of a file that an instruction reads (`Some(false)`), writes or both.
fn registers(uses: &[Use], file: File, written: Option<bool>) -> impl Iterator<Item = u16> {
    let uses = uses.iter().filter(move |one| {
        one.registers.file == file && written.is_none_or(|written| one.written == written)
    });
    uses.flat_map(|one| {
        let first = one.registers.first;
        first..first.saturating_add(one.registers.count)
    })
}

impl Wave {
    /// Something is decided by registers that an instruction reads, in active lanes.
    pub(super) fn spend_read(&self, uses: &[Use], known: &mut Uses) {
        let exec = self.exec();
        for register in registers(uses, File::Vector, Some(false)) {
            if let Some(labels) = self.labels.of_vector(register) {
                for lane in each(exec) {
                    labels[lane].iter().for_each(|label| known.spend(*label));
                }
            }
        }
        for register in registers(uses, File::Scalar, Some(false)) {
            self.spend_scalar(register, known);
        }
    }

    fn spend_scalar(&self, register: u16, known: &mut Uses) {
        if let Some(labels) = self.labels.scalar.get(&register) {
            labels.iter().for_each(|label| known.spend(*label));
        }
    }

    /// All that an instruction reads in active lanes.
    fn joined_read(&self, uses: &[Use], known: &mut Uses) -> Label {
        let exec = self.exec();
        let mut all = NONE;
        for register in registers(uses, File::Vector, Some(false)) {
            if let Some(labels) = self.labels.of_vector(register) {
                let active = each(exec).flat_map(|lane| labels[lane]);
                let one = known.join_all(active);
                all = known.join(all, one);
            }
        }
        for register in registers(uses, File::Scalar, Some(false)) {
            if let Some(labels) = self.labels.scalar.get(&register) {
                let one = known.join_all(labels.iter().copied());
                all = known.join(all, one);
            }
        }
        all
    }

    /// Gives one label to all that an instruction writes.
    fn label_written(&mut self, uses: &[Use], label: Label, known: &mut Uses) {
        let exec = self.exec();
        for register in registers(uses, File::Vector, Some(true)) {
            let mut labels = self.labels.vector_or_none(register);
            for lane in each(exec) {
                for byte in &mut labels[lane] {
                    *byte = label;
                }
            }
            self.labels.set_vector(register, &labels);
        }
        for register in registers(uses, File::Scalar, Some(true)) {
            self.labels.set_scalar(register, &[label; 32]);
        }
        self.spend_exec(known);
    }

    /// Which lanes go on is decided.
    fn spend_exec(&mut self, known: &mut Uses) {
        for register in [sgpr::EXEC, sgpr::EXEC + 1] {
            self.spend_scalar(register, known);
            self.labels.scalar.remove(&register);
        }
    }
}

impl Kernel {
    /// Labels of what an instruction is about to write, by what it reads. Memory instructions look
    /// after themselves.
    pub(super) fn label(&self, wave: &mut Wave, inst: &Inst, cx: &mut Context<'_>) {
        if wave.labels.is_empty() || !wave.labels.concerns(inst) {
            return;
        }
        let known = &mut *cx.uses;
        match &inst.op {
            Op::Vector(vector) if decides_by_all(vector) => label_whole(wave, vector, known),
            Op::Vector(vector) => {
                let run = |wave: &mut Wave| {
                    let computed = vector::compute(wave, vector);
                    vector::commit(wave, vector, &computed);
                };
                label_lanes(wave, inst, &[vector], run, known);
            }
            Op::Dual(both) => {
                let [first, second] = &**both;
                let run = |wave: &mut Wave| {
                    let (a, b) = (vector::compute(wave, first), vector::compute(wave, second));
                    vector::commit(wave, first, &a);
                    vector::commit(wave, second, &b);
                };
                label_lanes(wave, inst, &[first, second], run, known);
            }
            Op::Scalar(scalar) => self.label_scalar(wave, inst, scalar, known),
            Op::SaveExec { .. } => {
                // What the old mask was has no labels.
                wave.spend_read(&inst.uses, known);
                for register in registers(&inst.uses, File::Scalar, Some(true)) {
                    wave.labels.scalar.remove(&register);
                }
                wave.labels.scc = NONE;
            }
            Op::Special(special, operands) => {
                label_special(wave, inst, *special, operands, known);
            }
            Op::Branch { condition, .. } => match condition {
                Condition::Always | Condition::Never | Condition::ExecZero(_) => {}
                Condition::Scc(_) => known.spend(wave.labels.scc),
                Condition::VccZero(_) => wave.spend_read(&inst.uses, known),
            },
            Op::Memory(_) => {}
            _ => {
                wave.spend_read(&inst.uses, known);
                wave.label_written(&inst.uses, NONE, known);
            }
        }
    }

    fn label_scalar(&self, wave: &mut Wave, inst: &Inst, scalar: &Scalar, known: &mut Uses) {
        let whole = matches!(scalar.row.compute, Compute::Test(_))
            || scalar.row.src.iter().any(|ty| ty.sign().is_some());
        let before = wave.labels.clone();
        // Bits that are labelled: register and bit, or the condition code.
        let read: Vec<(u16, usize)> = registers(&inst.uses, File::Scalar, None)
            .flat_map(|register| (0..32).map(move |bit| (register, bit)))
            .filter(|(register, bit)| before.bit(*register, *bit) != NONE)
            .collect();
        if whole {
            let all = wave.joined_read(&inst.uses, known);
            wave.label_written(&inst.uses, all, known);
            wave.labels.scc = all;
            return;
        }
        let saved = Saved::capture(wave, &inst.uses);
        let written: Vec<u16> = registers(&inst.uses, File::Scalar, Some(true)).collect();
        let mut result: BTreeMap<u16, OfBits> = written
            .iter()
            .map(|register| (*register, [NONE; 32]))
            .collect();
        let mut scc = NONE;
        let bases = [Base::Own, Base::Fixed(0), Base::Fixed(0xff), Base::Mixed(1)];
        for base in bases {
            let start = |wave: &mut Wave, changed: Option<(u16, usize)>, other_scc: bool| {
                saved.restore(wave);
                for (register, bit) in &read {
                    let own = wave.s(*register);
                    let byte = base.byte(
                        (own >> (bit & !7)) as u8,
                        usize::from(*register) * 4 + bit / 8,
                    );
                    let set = byte >> (bit % 8) & 1 == 1;
                    wave.set_s(*register, own & !(1 << bit) | u32::from(set) << bit);
                }
                if let Some((register, bit)) = changed {
                    wave.set_s(register, wave.s(register) ^ 1 << bit);
                }
                wave.scc ^= other_scc;
                self.scalar(wave, scalar);
            };
            start(wave, None, false);
            let plain = (wave.sgpr, wave.scc);
            let changes = read.iter().map(|bit| (Some(*bit), false));
            let of_scc = (before.scc != NONE).then_some((None, true));
            for (changed, other_scc) in changes.chain(of_scc) {
                start(wave, changed, other_scc);
                let label = changed.map_or(before.scc, |(register, bit)| before.bit(register, bit));
                for (register, labels) in &mut result {
                    let old = plain.0.get(usize::from(*register)).copied().unwrap_or(0);
                    let differs = old ^ wave.s(*register);
                    for (bit, to) in labels.iter_mut().enumerate() {
                        if differs >> bit & 1 == 1 {
                            *to = known.join(*to, label);
                        }
                    }
                }
                if plain.1 != wave.scc {
                    scc = known.join(scc, label);
                }
            }
        }
        saved.restore(wave);
        for (register, labels) in &result {
            wave.labels.set_scalar(*register, labels);
        }
        wave.labels.scc = scc;
        wave.spend_exec(known);
    }
}

/// Returns true if every byte of each source counts: it compares, or computes with a float.
fn decides_by_all(vector: &Vector) -> bool {
    let compares = matches!(vector.row.compute, Compute::Test(_));
    let floats = vector.form == Form::Plain && vector.row.src.iter().any(|ty| ty.sign().is_some());
    (compares || floats) && vector.lanes.is_none()
}

/// The bytes of a source that an instruction reads.
fn bytes_read(
    vector: &Vector,
    position: usize,
    source: &Operand,
    ty: Ty,
) -> std::ops::Range<usize> {
    if let Some(part) = vector.select.as_ref().and_then(|s| s.src.get(position)) {
        return match *part {
            Part::Byte(n) => usize::from(n)..usize::from(n) + 1,
            Part::Word(n) => 2 * usize::from(n)..2 * usize::from(n) + 2,
            Part::Whole => 0..4,
        };
    }
    match (ty.is_half(), source.half) {
        (true, Half::High) => 2..4,
        (true, _) => 0..2,
        (false, _) => 0..4 * usize::from(ty.registers()),
    }
}

/// Each result of a lane depends on all that it reads.
fn label_whole(wave: &mut Wave, vector: &Vector, known: &mut Uses) {
    let exec = wave.exec();
    let mut all = [NONE; 64];
    for (position, (source, ty)) in vector.src.iter().zip(vector.row.src).enumerate() {
        let bytes = bytes_read(vector, position, source, *ty);
        match source.kind {
            Kind::Vgpr(first) => {
                for byte in bytes {
                    let register = first + (byte / 4) as u16;
                    let Some(labels) = wave.labels.of_vector(register) else {
                        continue; // it has none
                    };
                    for lane in each(exec) {
                        all[lane] = known.join(all[lane], labels[lane][byte % 4]);
                    }
                }
            }
            Kind::Sgpr(first) => {
                let bits = bytes.flat_map(|byte| 8 * byte..8 * byte + 8);
                let one = known.join_all(bits.map(|bit| wave.labels.bit(first, bit)));
                for lane in each(exec) {
                    all[lane] = known.join(all[lane], one);
                }
            }
            _ => {} // a constant
        }
    }
    if let Some(Kind::Sgpr(first)) = vector.mask_src.map(|mask| mask.kind) {
        for lane in each(exec) {
            all[lane] = known.join(all[lane], wave.labels.bit(first, lane.index()));
        }
    }
    if let Some(Kind::Sgpr(first)) = vector.mask_dst.map(|mask| mask.kind) {
        set_mask(wave, first, &all);
    }
    if vector.to_exec {
        for lane in each(exec) {
            known.spend(all[lane]);
        }
    }
    let narrow = vector.keeps_half
        || vector.dst.half != Half::Whole
        || vector
            .select
            .as_ref()
            .is_some_and(|select| select.dst != Part::Whole);
    let count = vector.row.dst.registers();
    match vector.dst.kind {
        Kind::Vgpr(first) if !matches!(vector.row.compute, Compute::Test(_)) => {
            for register in first..first + count {
                let mut labels = wave.labels.vector_or_none(register);
                for lane in each(exec) {
                    for byte in &mut labels[lane] {
                        let kept = if narrow { *byte } else { NONE };
                        *byte = known.join(kept, all[lane]);
                    }
                }
                wave.labels.set_vector(register, &labels);
            }
        }
        Kind::Sgpr(first) if !matches!(vector.row.compute, Compute::Test(_)) => {
            let one = known.join_all(each(exec).map(|lane| all[lane]));
            wave.labels.set_scalar(first, &[one; 32]);
        }
        _ => {} // to no register
    }
    wave.spend_exec(known);
}

fn set_mask(wave: &mut Wave, first: u16, labels: &[Label; 64]) {
    let (low, high) = labels.split_at(32);
    for (register, part) in [(first, low), (first + 1, high)] {
        if register == first || wave.size == 64 {
            let mut bits = [NONE; 32];
            bits.iter_mut()
                .zip(part)
                .for_each(|(bit, label)| *bit = *label);
            wave.labels.set_scalar(register, &bits);
        }
    }
}

/// What an instruction on lanes reads and writes, and what labels that had before.
struct Change<'i> {
    inst: &'i Inst,
    parts: &'i [&'i Vector],
    before: Labels,
    saved: Saved,
    /// Labelled vector registers that it touches.
    labelled: Vec<u16>,
    exec: u64,
    size: u32,
}

impl Change<'_> {
    /// What may change its results.
    fn slots(&self) -> Vec<Slot> {
        let mut slots = Vec::new();
        for register in &self.labelled {
            slots.extend((0..4).map(|byte| Slot::Byte(*register, byte)));
        }
        let masks: Vec<u16> = masks(self.parts, |part| part.mask_src).collect();
        slots.extend(masks.iter().map(|first| Slot::Mask(*first)));
        let is_mask = |register: u16| {
            let mut all = masks.iter();
            all.any(|first| register == *first || self.size == 64 && register == first + 1)
        };
        let scalars = registers(&self.inst.uses, File::Scalar, Some(false));
        let scalars = scalars.filter(|one| !is_mask(*one) && self.before.scalar.contains_key(one));
        slots.extend(scalars.map(Slot::Scalar));
        if self.before.scc != NONE {
            slots.push(Slot::Scc);
        }
        slots
    }

    /// Returns the registers with other values in place of the labelled ones.
    fn prepared(&self, base: Base) -> Saved {
        let mut prepared = self.saved.clone();
        for (register, values) in &mut prepared.vector {
            let Some(labels) = self.before.of_vector(*register) else {
                continue;
            };
            for (lane, (value, labels)) in values.iter_mut().zip(labels).enumerate() {
                let mut bytes = value.to_le_bytes();
                for (n, (byte, label)) in bytes.iter_mut().zip(labels).enumerate() {
                    if *label != NONE {
                        *byte = base.byte(*byte, usize::from(*register) * 256 + lane * 4 + n);
                    }
                }
                *value = u32::from_le_bytes(bytes);
            }
        }
        prepared
    }

    /// Changes what is labelled in a slot.
    fn apply(&self, wave: &mut Wave, slot: Slot, change: u8) {
        let flip = |wave: &mut Wave, register: u16| {
            let labels = self.before.scalar_or_none(register);
            let marked = (0..).zip(labels).filter(|(_, label)| *label != NONE);
            let all = marked.fold(0u32, |all, (bit, _)| all | 1 << bit);
            // A mask has nothing between its bits: each changes by itself.
            let bits = match slot {
                Slot::Mask(_) => u32::MAX,
                _ => u32::from_le_bytes([change; 4]),
            };
            wave.set_s(register, wave.s(register) ^ all & bits);
        };
        match slot {
            Slot::Byte(register, byte) => {
                let Some(labels) = self.before.of_vector(register) else {
                    return;
                };
                let Some(values) = wave.vgpr.get_mut(usize::from(register)) else {
                    return; // the wave has no such register
                };
                for (value, labels) in values.iter_mut().zip(labels) {
                    if labels[byte] != NONE {
                        *value ^= u32::from(change) << (8 * byte);
                    }
                }
            }
            Slot::Mask(first) => {
                flip(wave, first);
                if self.size == 64 {
                    flip(wave, first + 1);
                }
            }
            Slot::Scalar(register) => flip(wave, register),
            Slot::Scc => wave.scc = !wave.scc,
        }
    }

    /// The label that a slot has for a lane.
    fn label(&self, slot: Slot, lane: Lane, known: &mut Uses) -> Label {
        match slot {
            Slot::Byte(register, byte) => {
                let Some(labels) = self.before.of_vector(register) else {
                    return NONE;
                };
                let parts = self.parts.iter();
                let moved = parts.filter_map(|part| {
                    let from = vector::source_lane(part, register, lane, self.size)?;
                    Some(labels[from][byte])
                });
                let moved = known.join_all(moved);
                known.join(labels[lane][byte], moved)
            }
            Slot::Mask(first) => self.before.bit(first, lane.index()),
            Slot::Scalar(register) => known.join_all(self.before.scalar_or_none(register)),
            Slot::Scc => self.before.scc,
        }
    }
}

/// The first registers of masks.
fn masks<'v>(
    parts: &'v [&Vector],
    of: impl Fn(&Vector) -> Option<Operand> + 'v,
) -> impl Iterator<Item = u16> + 'v {
    parts.iter().filter_map(move |part| match of(part)?.kind {
        Kind::Sgpr(first) if first != sgpr::NULL => Some(first),
        _ => None,
    })
}

/// Labels of a vector instruction by what changes its results.
fn label_lanes(
    wave: &mut Wave,
    inst: &Inst,
    parts: &[&Vector],
    run: impl Fn(&mut Wave),
    known: &mut Uses,
) {
    let before = wave.labels.clone();
    let mut labelled: Vec<u16> = registers(&inst.uses, File::Vector, None)
        .filter(|register| before.of_vector(*register).is_some())
        .collect();
    labelled.sort_unstable();
    labelled.dedup();
    let change = Change {
        inst,
        parts,
        saved: Saved::capture(wave, &inst.uses),
        before,
        labelled,
        exec: wave.exec(),
        size: wave.size,
    };
    let written = registers(&inst.uses, File::Vector, Some(true));
    let mut vectors: BTreeMap<u16, OfLanes> = written
        .map(|register| (register, [[NONE; 4]; 64]))
        .collect();
    let mut mask_labels: BTreeMap<u16, [Label; 64]> = masks(parts, |part| part.mask_dst)
        .map(|first| (first, [NONE; 64]))
        .collect();
    let slots = change.slots();
    for base in BASES {
        let prepared = change.prepared(base);
        prepared.restore(wave);
        run(wave);
        let plain = Saved::capture(wave, &inst.uses);
        for (slot, by) in slots.iter().flat_map(|slot| CHANGES.map(|by| (*slot, by))) {
            prepared.restore(wave);
            change.apply(wave, slot, by);
            run(wave);
            for (register, old) in &plain.vector {
                let Some(labels) = vectors.get_mut(register) else {
                    continue; // only read
                };
                let new = wave.v(*register);
                for lane in each(change.exec).filter(|lane| old[*lane] != new[*lane]) {
                    let label = change.label(slot, lane, known);
                    let differs = (old[lane] ^ new[lane]).to_le_bytes();
                    for (_, to) in differs
                        .iter()
                        .zip(&mut labels[lane])
                        .filter(|(d, _)| **d != 0)
                    {
                        *to = known.join(*to, label);
                    }
                }
            }
            for (first, labels) in &mut mask_labels {
                let word = |scalar: &[u32; sgpr::COUNT], n: u16| {
                    scalar.get(usize::from(first + n)).copied().unwrap_or(0)
                };
                let pair = |scalar| u64::from(word(scalar, 0)) | u64::from(word(scalar, 1)) << 32;
                for lane in each((pair(&plain.scalar) ^ pair(&wave.sgpr)) & change.exec) {
                    let label = change.label(slot, lane, known);
                    labels[lane] = known.join(labels[lane], label);
                }
            }
        }
    }
    change.saved.restore(wave);
    for (register, mut labels) in vectors {
        // Lanes that are off keep theirs.
        let old = change.before.vector_or_none(register);
        for (lane, (to, old)) in labels.iter_mut().zip(old).enumerate() {
            if change.exec >> lane & 1 == 0 {
                *to = old;
            }
        }
        wave.labels.set_vector(register, &labels);
    }
    for (first, labels) in mask_labels {
        set_mask(wave, first, &labels);
    }
    wave.spend_exec(known);
}

/// Labels of what goes between lanes.
fn label_special(
    wave: &mut Wave,
    inst: &Inst,
    special: Special,
    operands: &[Operand],
    known: &mut Uses,
) {
    let kind = |n: usize| operands.get(n).map(|operand| operand.kind);
    let lane = match special {
        Special::ReadFirstLane => Lane::first(wave.exec()).unwrap_or(Lane::new(0)),
        Special::ReadLane => {
            if let Some(Kind::Sgpr(index)) = kind(2) {
                wave.spend_scalar(index, known);
            }
            let index = operands
                .get(2)
                .map_or(0, |index| wave.scalar(index, Ty::B32));
            Lane::new(index as u32 % wave.size)
        }
        _ => {
            let all = wave.joined_read(&inst.uses, known);
            let mut all = known.join(all, NONE);
            if special == Special::WriteLane || special == Special::Swap {
                // What is written is partly what was there.
                let written = registers(&inst.uses, File::Vector, Some(true));
                let old = written.filter_map(|register| wave.labels.of_vector(register));
                let old: Vec<Label> = old.flatten().flatten().copied().collect();
                let old = known.join_all(old);
                all = known.join(all, old);
            }
            wave.label_written(&inst.uses, all, known);
            return;
        }
    };
    let (Some(Kind::Sgpr(to)), Some(Kind::Vgpr(from))) = (kind(0), kind(1)) else {
        wave.label_written(&inst.uses, NONE, known);
        return;
    };
    let labels = wave.labels.vector_or_none(from)[lane];
    let bits = std::array::from_fn(|bit| labels.get(bit / 8).copied().unwrap_or(NONE));
    wave.labels.set_scalar(to, &bits);
    wave.spend_exec(known);
}
