//! Stages the global loads that fill shared memory in barrier loops one iteration ahead: software
//! pipelining of
//!
//! ```text
//! loop { tile = load; shared = tile; barrier; compute; barrier }
//! ```
//!
//! which becomes
//!
//! ```text
//! if (first) tile = load(first);
//! loop { shared = tile; barrier; if (next) tile = load(next); compute; barrier }
//! ```
//!
//! The loads of the next iteration stand behind the first barrier and in front of the work on this
//! one's tile, and their latency is hidden by it. When the barriers are split, the window of the
//! first has the loads, which nothing in it waits for. The tile is in registers over the work: as
//! many more as a lane loads.
//!
//! Of which loops. One way in, one way back, and one way out, by a branch on a condition. All
//! iterations come to an OpControlBarrier of the workgroup before any other barrier. In front of it
//! (`region.rs`), in arms of selections too, stand loads whose values are stored to shared memory.
//! What they need, addresses and branches (`slice.rs`), is copied (`copy.rs`). What the next
//! iteration begins with can be computed behind that barrier from this one's values: phis of the
//! header, variables of the class Function that are stored once after the barrier, values from
//! outside of the loop, inputs and constants, and arithmetic with these (`values.rs`).
//!
//! Why it is right. Nothing in the loop writes memory that a staged load may read, and nothing but
//! barriers of the workgroup orders any, so what an iteration loads is there when the first barrier
//! of the iteration before has been passed. No load is executed that was not: the first stands
//! under the condition of the loop where that is asked before it, the loads of the next iteration
//! under that iteration's, and both under copies of the branches that lead to them.

use super::barrier_loop::copy::{Copy, Names};
use super::barrier_loop::cut::{Cuts, rename_phis};
use super::barrier_loop::kept::{keep, words};
use super::barrier_loop::names::{first_names, next_names};
use super::barrier_loop::shape::{self, Shape};
use super::barrier_loop::slice::{Slice, Slicer};
use super::barrier_loop::unused::{Part, remove_unused};
use super::barrier_loop::values::{Made, Values, write_made};
use super::edit::Edit;
use super::inlined::{entries, inlined, repeat};
use super::move_split_barriers::look;
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use super::whole_variables::{Spot, whole_variables};
use crate::analysis::loops::Loops;
use crate::analysis::phases::mutant::{Rule, is_out};
use crate::analysis::phases::{Aliasing, Effects};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Constants, Declarations, Id, Inst, Module, SpecValues};
use spirv::Op;
use std::collections::BTreeSet;

/// 32-bit words that are staged in each invocation: so many registers hold them over the work.
const MOST_WORDS: u64 = 32;

/// Loads of a loop that are looked at.
const MOST_LOADS: usize = 128;

/// Loops of a function that are looked at, and that are staged.
const MOST_LOOPS: usize = 64;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    _: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let is_whole = |inst: Inst<'_>| inst.op() == Some(Op::ControlBarrier);
    if !module.instructions().any(is_whole) {
        return Ok(None);
    }
    inlined(module, declarations, |declarations| {
        let done = stage_one(declarations)?;
        repeat(done, MOST_LOOPS, stage_one)
    })
}

/// Stages the loads of the first loop that has some.
fn stage_one(declarations: &Declarations<'_>) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
    for (entry, function) in entries(declarations) {
        let (body, cfg) = look(
            declarations,
            &constants,
            entry,
            function,
            false,
            &mut diagnostics,
        )?;
        let effects = Effects::analyze(declarations, &constants, function, Aliasing::Possible);
        let loops = Loops::analyze(&cfg, MOST_LOOPS);
        let shapes = shape::shapes(function, &cfg, &loops, (&body, &effects)).into_iter();
        let shapes = shapes.filter_map(|(_, shape)| shape.ok());
        for shape in shapes.filter(|shape| shape.has_one_exit) {
            let mut edit = Edit::new(declarations);
            let staged = Staging {
                edit: &mut edit,
                shape: &shape,
                effects: &effects,
                constants: &constants,
            }
            .stage()?;
            if staged {
                return edit.finish();
            }
        }
    }
    Ok(None)
}

struct Staging<'s, 'd, 'm> {
    edit: &'s mut Edit<'d, 'm>,
    shape: &'s Shape<'s, 'm>,
    effects: &'s Effects<'s, 'm>,
    constants: &'s Constants,
}

/// The loads of a loop that run one iteration ahead, and what they need.
struct Prefetch<'m> {
    slice: Slice,
    loads: Vec<Inst<'m>>,
    /// What the next iteration begins with, behind the barrier.
    next: Names,
    /// The condition of the next iteration, where that is asked behind the barrier.
    condition: Option<u32>,
    /// What both are computed with.
    made: Vec<Made>,
}

impl<'m> Staging<'_, '_, 'm> {
    /// Notes the changes; whether there are some.
    fn stage(&mut self) -> Result<bool, Diagnostic> {
        let declarations = self.edit.declarations;
        let mut variables = whole_variables(declarations, self.shape.function);
        let is_inside = |(spot, _): &(Spot, Id)| self.shape.blocks.contains(&spot.0);
        for stores in variables.values_mut() {
            stores.retain(is_inside);
        }
        let slicer = Slicer {
            shape: self.shape,
            declarations,
            effects: self.effects,
            variables: &variables,
            can_store: false,
            scratch: None,
            kept: BTreeSet::new(),
        };
        let Some(wanted) = self.wanted(&slicer)? else {
            return Ok(false);
        };
        let kept = keep(self.edit, self.shape, &wanted.loads)?;
        for load in &wanted.loads {
            let (Some(ty), Some(result)) = (load.result_type(), load.result()) else {
                return Err(Diagnostic::bug("a load has no result").at_word(load.offset));
            };
            let variable = kept.variables.get(&result);
            let lost = || Diagnostic::bug("a load is not kept").at_word(load.offset);
            let variable = variable.ok_or_else(lost)?;
            let operands = [ty.0, result.0, *variable];
            self.edit.replace(load.offset, Op::Load, &operands)?;
        }
        let first = first_names(self.edit, self.shape, &wanted.slice)?;
        let (place, label) = (self.shape.front_end, self.shape.front_label.0);
        let front = Copy::new(self.edit, &slicer, &wanted.slice, &kept, (place, label));
        let front = front.write(&first, None)?;
        write_made(self.edit, self.shape.behind, &wanted.made)?;
        let (place, label) = (self.shape.behind, self.shape.label.0);
        let turn = Copy::new(self.edit, &slicer, &wanted.slice, &kept, (place, label));
        let turn = turn.write(&wanted.next, wanted.condition)?;
        let mut cuts = Cuts::new();
        cuts.extend(front.map(|last| (self.shape.front_label.0, last)));
        cuts.extend(turn.map(|last| (self.shape.label.0, last)));
        rename_phis(self.edit, self.shape.function, &cuts)?;
        let made = wanted.made.iter().flat_map(|made| &made.words);
        let begin = wanted.next.values().chain(&wanted.condition);
        let used = made.chain(begin).copied();
        let part = Part {
            shape: self.shape,
            effects: self.effects,
            variables: &variables,
            scratch: None,
        };
        remove_unused(self.edit, &part, used);
        Ok(true)
    }

    /// The loads that can be staged, as many as the tile may have, and what is needed for them.
    fn wanted(&mut self, slicer: &Slicer<'_, 'm>) -> Result<Option<Prefetch<'m>>, Diagnostic> {
        let mut values = Values::new(self.shape, self.effects, slicer.variables);
        let exit = self.shape.exit;
        let mut condition = None;
        if !exit.is_first && !is_out(Rule::Guarded) {
            condition = values.get(self.edit, exit.condition)?;
            if condition.is_none() {
                return Ok(None);
            }
        }
        let (mut slice, mut next) = (Slice::default(), Names::new());
        for spot in slicer.loads().into_iter().take(MOST_LOADS) {
            let Some(more) = slicer.with(&slice, spot) else {
                continue;
            };
            let made = values.made.len();
            let names = next_names(self.edit, self.shape, &mut values, &more)?;
            match names.filter(|_| self.words(slicer, &more) <= MOST_WORDS) {
                Some(names) => (slice, next) = (more, names),
                None => values.forget(made),
            }
        }
        let loads: Vec<Inst<'m>> = staged(slicer, &slice).collect();
        Ok((!loads.is_empty()).then_some(Prefetch {
            slice,
            loads,
            next,
            condition: condition.map(|id| id.0),
            made: values.made,
        }))
    }

    /// 32-bit words of all values that are staged.
    fn words(&self, slicer: &Slicer<'_, 'm>, slice: &Slice) -> u64 {
        let loads = staged(slicer, slice);
        words(self.edit.declarations, self.constants, loads).unwrap_or(u64::MAX)
    }
}

/// The loads of a slice whose values are kept from one iteration to the next.
fn staged<'s, 'm>(
    slicer: &'s Slicer<'_, 'm>,
    slice: &'s Slice,
) -> impl Iterator<Item = Inst<'m>> + use<'s, 'm> {
    let loads = slice.needed.iter().filter(|spot| slicer.is_staged(**spot));
    loads.filter_map(|spot| slicer.shape.inst(*spot))
}
