//! Finds the registers of a load that are read.
//!
//! LLVM makes one wide load of several narrow ones, and loads what lies between them too. Other
//! waves may write there, and nobody may have written there: the code does not use what it gets.

use super::inst::{Action, File, Inst, Memories, Op, Registers};
use super::operand::{Half, Kind, sgpr};
use std::collections::BTreeSet;

/// How far a value is followed in a straight piece of code: beyond it counts as read.
const MOST_STEPS: usize = 4096;

/// Vector registers, accumulation registers among them, one bit each.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Set([u64; 16]);

impl Set {
    fn has(&self, register: u16) -> bool {
        let word = self.0.get(usize::from(register / 64));
        word.is_none_or(|word| word >> (register % 64) & 1 == 1)
    }

    fn insert(&mut self, register: u16) {
        if let Some(word) = self.0.get_mut(usize::from(register / 64)) {
            *word |= 1 << (register % 64);
        }
        // `has` says yes of registers that it has no bit for.
    }

    fn unite(&mut self, other: &Set) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }
}

/// Says of each plain vector load of several registers which of them are read. Code that counts
/// registers from an index, jumps to an address, or has an instruction that is not known is left
/// as it is.
pub(super) fn narrow_loads(insts: &mut [Inst]) {
    let is_open = |inst: &Inst| {
        matches!(
            inst.op,
            Op::Indirect(..) | Op::SetIndexing(_) | Op::Jump { .. } | Op::Unknown
        )
    };
    let loads: Vec<(usize, Registers)> = (0..)
        .zip(insts.iter())
        .filter_map(|(at, inst)| Some((at, filled(inst)?)))
        .collect();
    if loads.is_empty() || insts.iter().any(is_open) {
        return;
    }
    let blocks = Blocks::from_insts(insts);
    for (at, filled) in loads {
        let mut used = 0u16;
        for index in 0..filled.count.min(16) {
            if blocks.reads_behind(insts, at, filled.first + index) {
                used |= 1 << index;
            }
        }
        if let Some(Op::Memory(memory)) = insts.get_mut(at).map(|inst| &mut inst.op)
            && used != 0
        {
            memory.used = used; // what is loaded in vain is loaded all the same
        }
    }
}

/// The vector registers that a plain load of several fills.
fn filled(inst: &Inst) -> Option<Registers> {
    let Op::Memory(memory) = &inst.op else {
        return None;
    };
    let is_plain = matches!(memory.action, Action::Load)
        && memory.places == 1
        && memory.components.is_none()
        && memory.bytes >= 8
        && match memory.memories {
            Memories::Shared | Memories::Global | Memories::Flat | Memories::Buffer => true,
            Memories::Private | Memories::Scalar | Memories::ScalarBuffer | Memories::Image => {
                false
            }
        };
    let of = inst.uses.iter().find(|one| one.written)?.registers;
    (is_plain && of.file == File::Vector).then_some(of)
}

/// Vector registers that an instruction reads, or may.
fn reads(inst: &Inst) -> impl Iterator<Item = u16> {
    let may_read_all = matches!(inst.op, Op::Special(..));
    let read = inst
        .uses
        .iter()
        .filter(move |one| one.registers.file == File::Vector && (may_read_all || !one.written));
    read.flat_map(|one| {
        let first = one.registers.first;
        first..first.saturating_add(one.registers.count)
    })
}

/// Returns true if an instruction writes `register` in all active lanes.
fn fills(inst: &Inst, register: u16) -> bool {
    let is_whole = match &inst.op {
        Op::Vector(vector) => {
            vector.lanes.is_none() && vector.select.is_none() && vector.mask_dst.is_none()
        }
        Op::Memory(memory) => matches!(memory.action, Action::Load),
        _ => false, // or it is not said here
    };
    let has = |of: &Registers| {
        let end = of.first.saturating_add(of.count);
        of.file == File::Vector && of.half == Half::Whole && (of.first..end).contains(&register)
    };
    is_whole
        && inst
            .uses
            .iter()
            .any(|one| one.written && has(&one.registers))
}

/// Returns true if the same lanes are active behind an instruction as before it.
fn keeps_exec(inst: &Inst) -> bool {
    match &inst.op {
        Op::Vector(vector) => !vector.to_exec,
        Op::Scalar(scalar) => {
            let end = sgpr::EXEC + 1;
            !matches!(scalar.dst.kind, Kind::Sgpr(first) if (sgpr::EXEC - 1..=end).contains(&first))
        }
        Op::Memory(_) | Op::Matrix(_) | Op::Wait(_) | Op::Cache { .. } => true,
        Op::Barrier(_) | Op::Nothing => true,
        _ => false, // or it is not said here
    }
}

/// Straight pieces of code, with the registers that some instruction reads in them and in what
/// control may come to from there.
struct Blocks {
    starts: Vec<usize>,
    reads: Vec<Set>,
}

impl Blocks {
    fn from_insts(insts: &[Inst]) -> Blocks {
        let mut starts = BTreeSet::from([0]);
        for (at, inst) in (0..).zip(insts) {
            if let Op::Branch { target, .. } = inst.op {
                starts.extend([at + 1, target as usize]);
            }
        }
        let starts: Vec<usize> = starts.into_iter().filter(|at| *at < insts.len()).collect();
        let mut blocks = Blocks {
            reads: vec![Set::default(); starts.len()],
            starts,
        };
        let bounds = blocks.starts.iter().zip(blocks.starts.iter().skip(1));
        let ends: Vec<usize> = bounds.map(|(_, end)| *end).chain([insts.len()]).collect();
        for ((start, end), set) in blocks.starts.iter().zip(&ends).zip(&mut blocks.reads) {
            let here = insts.get(*start..*end).unwrap_or(&[]); // in bounds
            here.iter().flat_map(reads).for_each(|one| set.insert(one));
        }
        let nexts: Vec<Vec<usize>> = ends
            .iter()
            .map(|end| blocks.nexts(insts, end.saturating_sub(1)))
            .collect();
        loop {
            let mut changed = false;
            for (block, nexts) in nexts.iter().enumerate().rev() {
                for next in nexts {
                    let more = blocks.reads.get(*next).copied().unwrap_or_default(); // the end
                    if let Some(set) = blocks.reads.get_mut(block) {
                        let before = *set;
                        set.unite(&more);
                        changed |= before != *set;
                    }
                }
            }
            if !changed {
                return blocks;
            }
        }
    }

    /// The block that begins at an instruction.
    fn at(&self, start: usize) -> Option<usize> {
        self.starts.binary_search(&start).ok()
    }

    /// The blocks behind the last instruction of one.
    fn nexts(&self, insts: &[Inst], last: usize) -> Vec<usize> {
        let targets = match insts.get(last).map(|inst| &inst.op) {
            Some(Op::End) | None => [None, None],
            Some(Op::Branch { target, .. }) => [Some(*target as usize), Some(last + 1)],
            Some(_) => [Some(last + 1), None],
        };
        let targets = targets.into_iter().flatten();
        targets.filter_map(|start| self.at(start)).collect()
    }

    /// Returns true if the value that the instruction at `load` gives `register` may be read.
    fn reads_behind(&self, insts: &[Inst], load: usize, register: u16) -> bool {
        let mut is_filled = true; // whether what fills the register ends the value
        for (at, inst) in (0..).zip(insts).skip(load + 1) {
            if self.at(at).is_some() {
                break;
            }
            if at > load + MOST_STEPS {
                return true;
            }
            if reads(inst).any(|read| read == register) {
                return true;
            }
            is_filled &= keeps_exec(inst);
            if is_filled && fills(inst, register) {
                return false;
            }
            if matches!(inst.op, Op::End) {
                return false;
            }
        }
        let here = self.starts.partition_point(|start| *start <= load);
        let last = self.starts.get(here).copied().unwrap_or(insts.len());
        let nexts = self.nexts(insts, last.saturating_sub(1));
        let mut sets = nexts.into_iter().filter_map(|next| self.reads.get(next));
        sets.any(|set| set.has(register))
    }
}
