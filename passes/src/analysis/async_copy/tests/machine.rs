//! Runs a function with its copies made asynchronous, and checks every access against the copies in
//! flight.
//!
//! A copy takes effect as late as marks and waits allow. All invocations run alike, so one run says
//! what each of them does; what the others do between two waits is what this one does there. What
//! nobody knows (loads from buffers) is drawn at random.

use super::super::AsyncCopies;
use crate::analysis::testing::Assembled;
use crate::module::{Block, Id, Inst, WordOffset};
use spirv::Op;
use std::collections::BTreeMap;

/// Instructions of one run.
const MOST_STEPS: usize = 600;

/// A part of a variable: the variable and its first index, if it has two.
type Part = (Id, Option<u64>);

/// A copy that has been issued.
#[derive(Copy, Clone, Debug)]
struct Issued {
    part: Part,
    /// Marks that were made before it.
    marks: usize,
    /// When it was issued.
    at: usize,
    is_complete: bool,
    /// The barrier that is arrived at waits for it.
    at_wait: bool,
}

/// A release that others may have acquired: when it was, and which copies were outstanding there.
#[derive(Clone, Debug, Default)]
struct Release {
    outstanding: Vec<Part>,
}

pub(super) struct Machine<'m> {
    assembled: &'m Assembled,
    copies: &'m AsyncCopies,
    /// Arrives where copies may be deferred do so.
    defers: bool,
    random: u64,
    values: BTreeMap<Id, u64>,
    variables: BTreeMap<Id, u64>,
    marks: usize,
    issued: Vec<Issued>,
    /// The last arrive, and the last release that has been acquired.
    arrived: Release,
    acquired: Release,
    steps: usize,
}

/// Runs `function` of `assembled`; what is wrong with it.
pub(super) fn run(
    assembled: &Assembled,
    blocks: &[Block<'_>],
    copies: &AsyncCopies,
    defers: bool,
    seed: u64,
) -> Result<(), String> {
    let mut machine = Machine {
        assembled,
        copies,
        defers,
        random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        values: BTreeMap::new(),
        variables: BTreeMap::new(),
        marks: 0,
        issued: Vec::new(),
        arrived: Release::default(),
        acquired: Release::default(),
        steps: 0,
    };
    let mut at = 0;
    while let Some(label) = machine.block(&blocks[at])? {
        if machine.steps > 2 * MOST_STEPS {
            break; // a loop whose counter an inner one sets back
        }
        at = blocks
            .iter()
            .position(|block| block.label == label)
            .unwrap();
    }
    Ok(())
}

impl Machine<'_> {
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 33
    }

    fn value(&self, word: u32) -> u64 {
        let known = self.values.get(&Id(word)).copied();
        known.unwrap_or_else(|| {
            let inst = self.assembled.module.def(Id(word)).unwrap();
            u64::from(inst.operands()[0])
        })
    }

    /// Runs a block: where it goes on.
    fn block(&mut self, block: &Block<'_>) -> Result<Option<Id>, String> {
        for inst in &block.insts {
            self.steps += 1;
            self.marks += usize::from(self.copies.marks.contains(&inst.offset));
            for wait in &self.copies.waits {
                if wait.before == inst.offset {
                    let covered = self.marks.saturating_sub(wait.outstanding as usize);
                    let deferred = self.defers && self.copies.deferred.contains(&wait.before);
                    for copy in &mut self.issued {
                        // Covered by a mark behind it, the newest of those that are complete.
                        if deferred {
                            copy.at_wait |= copy.marks < covered;
                        } else {
                            copy.is_complete |= copy.marks < covered;
                        }
                    }
                }
            }
            if let Some(next) = self.inst(*inst)? {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }

    fn inst(&mut self, inst: Inst<'_>) -> Result<Option<Id>, String> {
        let operands = inst.operands();
        let keep = |machine: &mut Self, value: u64| {
            machine.values.insert(inst.result().unwrap(), value);
        };
        match inst.op().unwrap() {
            Op::Load => {
                let pointer = Id(operands[0]);
                let value = match self.part(pointer) {
                    Some(part) => {
                        self.access(part, inst.offset)?;
                        0
                    }
                    None => match self.variables.get(&pointer).copied() {
                        Some(value) => value,
                        // Small numbers end loops, so that runs do.
                        None if self.steps > MOST_STEPS => 1000,
                        None => self.draw() % 20,
                    },
                };
                keep(self, value);
            }
            Op::Store => match self.part(Id(operands[0])) {
                Some(part) => {
                    self.access(part, inst.offset)?;
                    if self
                        .copies
                        .copies
                        .iter()
                        .any(|copy| copy.store == inst.offset)
                    {
                        self.issued.push(Issued {
                            part,
                            marks: self.marks,
                            at: self.steps,
                            is_complete: false,
                            at_wait: false,
                        });
                    }
                }
                None => {
                    let value = self.value(operands[1]);
                    self.variables.insert(Id(operands[0]), value);
                }
            },
            Op::IAdd => {
                let value = self.value(operands[0]) + self.value(operands[1]);
                keep(self, value);
            }
            Op::UMod => {
                let value = self.value(operands[0]) % self.value(operands[1]);
                keep(self, value);
            }
            Op::UDiv => {
                let value = self.value(operands[0]) / self.value(operands[1]);
                keep(self, value);
            }
            Op::ULessThan => {
                let value = u64::from(self.value(operands[0]) < self.value(operands[1]));
                keep(self, value);
            }
            Op::IEqual => {
                let value = u64::from(self.value(operands[0]) == self.value(operands[1]));
                keep(self, value);
            }
            Op::Select => {
                let chosen = if self.value(operands[0]) == 1 { 1 } else { 2 };
                let value = self.value(operands[chosen]);
                keep(self, value);
            }
            Op::AccessChain | Op::Variable | Op::LoopMerge | Op::SelectionMerge => {}
            Op::ControlBarrierArriveINTEL => {
                let issued = self.issued.iter();
                let outstanding = issued.filter(|copy| !copy.is_complete && !copy.at_wait);
                self.arrived = Release {
                    outstanding: outstanding.map(|copy| copy.part).collect(),
                };
            }
            Op::ControlBarrierWaitINTEL => {
                for copy in &mut self.issued {
                    copy.is_complete |= copy.at_wait;
                }
                self.acquired = std::mem::take(&mut self.arrived);
            }
            Op::ControlBarrier => self.acquired = self.release(),
            Op::MemoryBarrier | Op::Return => {
                let release = self.release();
                if !release.outstanding.is_empty() {
                    return Err(format!(
                        "{:?} are outstanding at {}",
                        release.outstanding,
                        inst.name()
                    ));
                }
            }
            Op::Branch => return Ok(Some(Id(operands[0]))),
            Op::BranchConditional => {
                let way = if self.value(operands[0]) == 1 { 1 } else { 2 };
                return Ok(Some(Id(operands[way])));
            }
            other => panic!("{other:?}"),
        }
        Ok(None)
    }

    /// The part of a Workgroup variable that `pointer` leads to.
    fn part(&self, pointer: Id) -> Option<Part> {
        let chain = self.assembled.module.def(pointer).unwrap();
        if chain.op() != Some(Op::AccessChain) {
            return None;
        }
        match *chain.operands() {
            [variable, _] if Id(variable) == self.assembled.id("single") => {
                Some((Id(variable), None))
            }
            [variable, row, _] if Id(variable) == self.assembled.id("ring") => {
                Some((Id(variable), Some(self.value(row))))
            }
            _ => None,
        }
    }

    fn release(&self) -> Release {
        let outstanding = self.issued.iter().filter(|copy| !copy.is_complete);
        Release {
            outstanding: outstanding.map(|copy| copy.part).collect(),
        }
    }

    /// An access of this invocation, and of the others at the same place of the code.
    fn access(&mut self, part: Part, offset: WordOffset) -> Result<(), String> {
        if let Some(copy) = self
            .issued
            .iter()
            .find(|copy| !copy.is_complete && copy.part == part)
        {
            return Err(format!(
                "at {offset}: {part:?} has a copy in flight since step {}",
                copy.at
            ));
        }
        if self.acquired.outstanding.contains(&part) {
            return Err(format!(
                "at {offset}: {part:?} was released while a copy was in flight"
            ));
        }
        Ok(())
    }
}
