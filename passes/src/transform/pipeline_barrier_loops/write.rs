//! Writes a loop whose iterations overlap.

use super::find::Pipeline;
use super::leftover::remove_inner_loops;
use super::numbers::Numbers;
use crate::diagnostic::Diagnostic;
use crate::module::{BlockIndex, Id, Inst, WordOffset};
use crate::transform::barrier_loop::arrays::Indexed;
use crate::transform::barrier_loop::copy::{Copy, Kept, Names};
use crate::transform::barrier_loop::cut::{Cuts, rename_phis};
use crate::transform::barrier_loop::iterations::Iterations;
use crate::transform::barrier_loop::kept::keep;
use crate::transform::barrier_loop::names::{first_names, share};
use crate::transform::barrier_loop::reason::Reason;
use crate::transform::barrier_loop::slice::{Slice, Slicer};
use crate::transform::barrier_loop::unused::{Part as Unused, remove_unused};
use crate::transform::barrier_loop::values::write_made;
use crate::transform::edit::Edit;
use crate::transform::operands::{WORKGROUP, barrier_operands};
use crate::transform::split_control_barriers::declare;
use spirv::Op;
use std::collections::BTreeSet;
use std::ops::Range;

/// What an iteration begins with.
struct Start {
    names: Names,
    /// Whether the loop goes on so far, where that is asked before the stage.
    condition: Option<u32>,
    /// Words of instructions that compute it, with the ids that they use.
    used: Vec<u32>,
}

/// What of a stage is copied.
struct Part<'p> {
    slice: &'p Slice,
    kept: &'p Kept,
    /// The number of the buffer that it stores to, where there are several.
    buffer: Option<u32>,
    /// True if it is executed in the last iteration, too.
    is_unguarded: bool,
}

struct Writing<'w, 'd, 'm> {
    pipeline: &'w Pipeline<'w, 'm>,
    edit: Edit<'d, 'm>,
    cut: Cuts,
    /// The label after the loop that control goes to where the loop is passed.
    passing: Option<u32>,
    /// The variables of the copies, for those that the stage alone uses.
    scratch: Names,
}

impl<'p, 'm> Pipeline<'p, 'm> {
    /// The changes; a reason if values of the next iteration are not known early.
    pub(super) fn write(&self) -> Result<Result<Edit<'p, 'm>, Reason>, Diagnostic> {
        let mut writing = Writing {
            pipeline: self,
            edit: Edit::new(self.facts.declarations),
            cut: Cuts::new(),
            passing: None,
            scratch: Names::new(),
        };
        Ok(writing.write()?.map(|()| writing.edit))
    }
}

impl<'w, 'm> Writing<'w, '_, 'm> {
    fn write(&mut self) -> Result<Result<(), Reason>, Diagnostic> {
        let shape = self.pipeline.shape;
        let depth = self.pipeline.depth;
        let next = match self.ahead()? {
            Ok(next) => next,
            Err(reason) => return Ok(Err(reason)),
        };
        let numbers = if depth.buffers > 1 {
            self.pipeline
                .arrays
                .declare(&mut self.edit, depth.buffers)?;
            Some(Numbers::new(&mut self.edit, depth)?)
        } else {
            None
        };
        self.scratch = share(&mut self.edit, shape, &self.pipeline.stage.scratch)?;
        if let Err(reason) = self.before_the_loop(numbers.as_ref())? {
            return Ok(Err(reason));
        }
        self.iteration(numbers.as_ref(), &next)?;
        self.edit.remove(shape.at);
        self.edit.remove(self.pipeline.work.end);
        if depth.encloses_work && self.pipeline.halves.is_none() {
            self.barrier(self.pipeline.after)?;
        } else {
            self.wait(self.pipeline.after)?;
        }
        self.meet_after()?;

        let stored: BTreeSet<WordOffset> =
            self.pipeline.stores.iter().map(|one| one.offset).collect();
        if let Some(numbers) = &numbers {
            let is_inside = |spot: (BlockIndex, usize)| shape.blocks.contains(&spot.0);
            let is_gone = |inst: Inst<'m>| stored.contains(&inst.offset);
            let arrays = &self.pipeline.arrays;
            arrays.rebase(&mut self.edit, numbers.current, is_inside, is_gone)?;
            numbers.count(&mut self.edit, shape, &self.cut)?;
        }
        for store in &self.pipeline.stores {
            self.edit.remove(store.offset);
        }
        rename_phis(&mut self.edit, shape.function, &self.cut)?;
        remove_inner_loops(self.pipeline, &mut self.edit, &next.used)?;
        let part = Unused {
            shape,
            effects: self.pipeline.facts.effects,
            variables: self.pipeline.facts.variables,
            scratch: Some(&self.pipeline.scratch),
        };
        remove_unused(&mut self.edit, &part, next.used.into_iter());
        if !self.pipeline.facts.options.plain {
            declare(&mut self.edit)?;
        }
        Ok(Ok(()))
    }

    /// Writes the stages of the first iterations, and the barriers that follow them.
    fn before_the_loop(
        &mut self,
        numbers: Option<&Numbers>,
    ) -> Result<Result<(), Reason>, Diagnostic> {
        let pipeline = self.pipeline;
        let shape = pipeline.shape;
        let depth = pipeline.depth;
        let first = first_names(&mut self.edit, shape, &pipeline.stage)?;
        let mut starts = vec![(first, None)];
        let effects = pipeline.facts.effects;
        let mut iterations = Iterations::first(shape, effects, &pipeline.variables);
        for number in 1..depth.distance {
            let start = self.start(&mut iterations, number, 0..number)?;
            let Some(start) = start else {
                return Ok(Err(Reason::TwoEarly));
            };
            starts.push(start);
        }
        write_made(&mut self.edit, shape.front_end, &iterations.into_made())?;
        if pipeline.is_passed {
            self.passing = Some(self.edit.fresh()?);
        }
        let none = Kept::default();
        for (number, (names, guard)) in starts.iter().enumerate() {
            let stage = Part {
                slice: &pipeline.stage,
                kept: &none,
                buffer: numbers.and_then(|numbers| numbers.first.get(number).copied()),
                is_unguarded: false,
            };
            let place = (shape.front_end, shape.front_label);
            let passing = self.passing.filter(|_| number == 0);
            self.copy(&stage, (place, passing), names, *guard)?;
            if number == 0 && (depth.distance > 1 || !depth.encloses_work) {
                self.arrive(shape.front_end)?;
            }
        }
        if depth.encloses_work {
            if depth.distance > 1 {
                self.wait(shape.front_end)?;
            } else {
                self.barrier(shape.front_end)?;
            }
            if pipeline.halves.is_some() {
                self.arrive(shape.front_end)?;
            }
        }
        Ok(Ok(()))
    }

    /// Writes the stage of a later iteration, and the barrier of the current one.
    fn iteration(&mut self, numbers: Option<&Numbers>, next: &Start) -> Result<(), Diagnostic> {
        let pipeline = self.pipeline;
        let shape = pipeline.shape;
        let depth = pipeline.depth;
        let buffer = numbers.map(|numbers| numbers.ahead);
        let at = ((shape.at, shape.label), None);
        let last = shape.function.block(pipeline.work.last.0);
        let last = last.ok_or_else(|| Diagnostic::bug("a loop has no last barrier"))?;
        let place = pipeline.work.end;
        let end = ((place, last.label), None);
        let (begin, condition) = (&next.names, next.condition);
        let Some(halves) = &pipeline.halves else {
            let stage = Part {
                slice: &pipeline.stage,
                kept: &Kept::default(),
                buffer,
                is_unguarded: false,
            };
            if depth.encloses_work {
                self.copy(&stage, at, begin, condition)?;
                self.arrive(shape.at)?;
                return self.wait(place);
            }
            self.wait(shape.at)?;
            self.copy(&stage, at, begin, condition)?;
            return self.arrive(place);
        };
        let mut kept = keep(&mut self.edit, shape, &halves.kept)?;
        let loads = Part {
            slice: &halves.loads,
            kept: &kept,
            buffer,
            is_unguarded: false,
        };
        self.copy(&loads, at, begin, condition)?;
        if !depth.encloses_work {
            self.wait(shape.at)?;
        } else if !depth.encloses_stores {
            self.wait(place)?;
        }
        if depth.buffers == 1 {
            // The work reads what the stores overwrite.
            self.barrier(place)?;
        }
        kept.is_taken = true;
        let stores = Part {
            slice: &halves.stores,
            kept: &kept,
            buffer,
            is_unguarded: halves.always_stores,
        };
        let guard = condition.filter(|_| !stores.is_unguarded);
        self.copy(&stores, end, begin, guard)?;
        if depth.encloses_stores {
            self.wait(place)?;
        }
        self.arrive(place)
    }

    /// What the iteration begins with whose stage this one executes, computed before the first
    /// barrier.
    fn ahead(&mut self) -> Result<Result<Start, Reason>, Diagnostic> {
        let pipeline = self.pipeline;
        let shape = pipeline.shape;
        let distance = pipeline.depth.distance;
        let effects = pipeline.facts.effects;
        let mut iterations = Iterations::now(shape, effects, &pipeline.variables);
        // A loop that asks before its first barrier has asked in this iteration, and the copy of
        // the stage asks in the last one.
        let asked = usize::from(shape.exit.is_first)..distance;
        if distance == 1 && !asked.is_empty() && iterations.condition(&mut self.edit, 0)?.is_none()
        {
            return Ok(Err(Reason::Condition));
        }
        // The parts of the stage need nothing more than the whole.
        let start = self.start(&mut iterations, distance, asked)?;
        let Some((names, condition)) = start else {
            let reason = match distance {
                1 => Reason::NotEarly,
                _ => Reason::TwoEarly,
            };
            return Ok(Err(reason));
        };
        let made = iterations.into_made();
        write_made(&mut self.edit, shape.at, &made)?;
        let words = made.iter().flat_map(|made| made.words.clone());
        let used: Vec<u32> = words
            .chain(names.values().copied())
            .chain(condition)
            .collect();
        Ok(Ok(Start {
            names,
            condition,
            used,
        }))
    }

    /// What an iteration begins with, and the condition under which the loop goes on in all that
    /// are `asked`; `None`: that cannot be computed.
    fn start(
        &mut self,
        iterations: &mut Iterations<'_, 'm>,
        number: usize,
        asked: Range<usize>,
    ) -> Result<Option<(Names, Option<u32>)>, Diagnostic> {
        let mut condition: Option<Id> = None;
        for number in asked {
            let Some(own) = iterations.condition(&mut self.edit, number)? else {
                return Ok(None);
            };
            condition = Some(match condition {
                None => own,
                Some(before) => {
                    // The later condition may be anything if the loop has ended.
                    let stays = self.pipeline.shape.exit.stays_if_true;
                    let values = if stays {
                        [before, own, before]
                    } else {
                        [before, before, own]
                    };
                    iterations.select(&mut self.edit, number, values)?
                }
            });
        }
        let names = iterations.names(&mut self.edit, number, &self.pipeline.stage)?;
        Ok(names.map(|names| (names, condition.map(|id| id.0))))
    }

    /// Cuts the block after the loop, where control goes from before the loop if it is passed.
    fn meet_after(&mut self) -> Result<(), Diagnostic> {
        let Some(label) = self.passing else {
            return Ok(());
        };
        let shape = self.pipeline.shape;
        let target = shape.function.block(shape.exit.target);
        let target = target.ok_or_else(|| Diagnostic::bug("a loop ends nowhere"))?;
        let place = self.pipeline.after;
        self.edit.before(place, Op::Branch, &[label])?;
        self.edit.before(place, Op::Label, &[label])?;
        self.cut.insert(target.label.0, label);
        Ok(())
    }

    /// Writes a part of the stage for another iteration, before the instruction at a place in the
    /// block with a label. Control goes `elsewhere` if the iteration does not come to its first
    /// barrier.
    fn copy(
        &mut self,
        part: &Part<'_>,
        ((place, label), elsewhere): ((WordOffset, Id), Option<u32>),
        first: &Names,
        guard: Option<u32>,
    ) -> Result<(), Diagnostic> {
        let pipeline = self.pipeline;
        let slicer = Slicer {
            shape: pipeline.shape,
            declarations: pipeline.facts.declarations,
            effects: pipeline.facts.effects,
            variables: &pipeline.variables,
            can_store: true,
            scratch: Some(&pipeline.scratch),
            kept: BTreeSet::new(),
        };
        let now = self.cut.get(&label.0).copied().unwrap_or(label.0);
        let mut copy = Copy::new(&mut self.edit, &slicer, part.slice, part.kept, (place, now));
        copy.scratch = Some(&self.scratch);
        copy.is_unguarded = part.is_unguarded;
        copy.arrays = part.buffer.map(|index| Indexed {
            arrays: &pipeline.arrays,
            index,
        });
        copy.elsewhere = elsewhere;
        if let Some(last) = copy.write(first, guard)? {
            self.cut.insert(label.0, last);
        }
        Ok(())
    }

    fn barrier(&mut self, place: WordOffset) -> Result<(), Diagnostic> {
        let operands = barrier_operands(&mut self.edit, WORKGROUP, self.pipeline.fence)?;
        self.edit.before(place, Op::ControlBarrier, &operands)
    }

    fn arrive(&mut self, place: WordOffset) -> Result<(), Diagnostic> {
        let fence = self.pipeline.fence;
        if self.pipeline.facts.options.plain {
            return self.barrier(place);
        }
        let operands = barrier_operands(&mut self.edit, WORKGROUP, fence.release_half())?;
        self.edit
            .before(place, Op::ControlBarrierArriveINTEL, &operands)
    }

    fn wait(&mut self, place: WordOffset) -> Result<(), Diagnostic> {
        if self.pipeline.facts.options.plain {
            return Ok(());
        }
        let fence = self.pipeline.fence.acquire_half();
        let operands = barrier_operands(&mut self.edit, WORKGROUP, fence)?;
        self.edit
            .before(place, Op::ControlBarrierWaitINTEL, &operands)
    }
}
