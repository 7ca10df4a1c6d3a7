//! Writes a loop whose iterations overlap.

use super::find::Pipeline;
use super::leftover::remove_inner_loops;
use super::numbers::{BUFFERS, Numbers};
use crate::diagnostic::Diagnostic;
use crate::module::{BlockIndex, Id, Inst, WordOffset};
use crate::transform::barrier_loop::arrays::Indexed;
use crate::transform::barrier_loop::copy::{Copy, Kept, Names};
use crate::transform::barrier_loop::cut::{Cuts, rename_phis};
use crate::transform::barrier_loop::kept::keep;
use crate::transform::barrier_loop::names::{first_names, next_names, share};
use crate::transform::barrier_loop::reason::Reason;
use crate::transform::barrier_loop::slice::{Slice, Slicer};
use crate::transform::barrier_loop::unused::{Part as Unused, remove_unused};
use crate::transform::barrier_loop::values::{Values, write_made};
use crate::transform::edit::Edit;
use crate::transform::operands::{WORKGROUP, barrier_operands};
use crate::transform::split_control_barriers::declare;
use spirv::Op;
use std::collections::BTreeSet;

/// What the next iteration begins with.
struct Next {
    names: Names,
    /// Whether there is one, where that is asked after the first barrier.
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
        let next = match self.next()? {
            Ok(next) => next,
            Err(reason) => return Ok(Err(reason)),
        };
        let numbers = if self.pipeline.facts.options.ahead.has_two_buffers() {
            self.pipeline.arrays.declare(&mut self.edit, BUFFERS)?;
            Some(Numbers::new(&mut self.edit)?)
        } else {
            None
        };
        let next_buffer = numbers.as_ref().map(|numbers| numbers.next);

        self.scratch = share(&mut self.edit, shape, &self.pipeline.stage.scratch)?;
        let first = first_names(&mut self.edit, shape, &self.pipeline.stage)?;
        let none = Kept::default();
        let place = (shape.front_end, shape.front_label);
        if self.pipeline.is_passed {
            self.passing = Some(self.edit.fresh()?);
        }
        let stage = Part {
            slice: &self.pipeline.stage,
            kept: &none,
            buffer: numbers.as_ref().map(|numbers| numbers.first),
            is_unguarded: false,
        };
        self.copy(&stage, place, &first, None)?;
        self.arrive(shape.front_end)?;

        let at = (shape.at, shape.label);
        let last = shape.function.block(self.pipeline.work.last.0);
        let last = last.ok_or_else(|| Diagnostic::bug("a loop has no last barrier"))?;
        let end = (self.pipeline.work.end, last.label);
        let (begin, condition) = (&next.names, next.condition);
        match &self.pipeline.halves {
            Some(halves) => {
                let mut kept = keep(&mut self.edit, shape, &halves.kept)?;
                let loads = Part {
                    slice: &halves.loads,
                    kept: &kept,
                    buffer: next_buffer,
                    is_unguarded: false,
                };
                self.copy(&loads, at, begin, condition)?;
                self.wait(shape.at)?;
                if numbers.is_none() {
                    // The work reads what the stores overwrite.
                    self.barrier(self.pipeline.work.end)?;
                }
                kept.is_taken = true;
                let stores = Part {
                    slice: &halves.stores,
                    kept: &kept,
                    buffer: next_buffer,
                    is_unguarded: halves.always_stores,
                };
                let guard = condition.filter(|_| !stores.is_unguarded);
                self.copy(&stores, end, begin, guard)?;
            }
            None => {
                self.wait(shape.at)?;
                let stage = Part {
                    buffer: next_buffer,
                    ..stage
                };
                self.copy(&stage, at, begin, condition)?;
            }
        }
        self.arrive(self.pipeline.work.end)?;
        self.edit.remove(shape.at);
        self.edit.remove(self.pipeline.work.end);
        self.wait(self.pipeline.after)?;
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

    /// What the next iteration begins with, computed before the first barrier of this one.
    fn next(&mut self) -> Result<Result<Next, Reason>, Diagnostic> {
        let pipeline = self.pipeline;
        let shape = pipeline.shape;
        let mut values = Values::new(shape, pipeline.facts.effects, &pipeline.variables);
        let mut condition = None;
        if !shape.exit.is_first {
            condition = values.get(&mut self.edit, shape.exit.condition)?;
            if condition.is_none() {
                return Ok(Err(Reason::Condition));
            }
        }
        // The parts of the stage need nothing more than the whole.
        let names = next_names(&mut self.edit, shape, &mut values, &pipeline.stage)?;
        let Some(names) = names else {
            return Ok(Err(Reason::NotEarly));
        };
        write_made(&mut self.edit, shape.at, &values.made)?;
        let condition = condition.map(|id| id.0);
        let words = values.made.iter().flat_map(|made| made.words.clone());
        let used: Vec<u32> = words
            .chain(names.values().copied())
            .chain(condition)
            .collect();
        Ok(Ok(Next {
            names,
            condition,
            used,
        }))
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
    /// block with a label.
    fn copy(
        &mut self,
        part: &Part<'_>,
        (place, label): (WordOffset, Id),
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
        if place == pipeline.shape.front_end {
            copy.elsewhere = self.passing;
        }
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
