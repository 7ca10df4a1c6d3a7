//! Makes the iterations of a loop with two barriers overlap: while one iteration works on what it
//! has stored in workgroup memory, the next one is loaded. Of
//!
//! ```text
//! loop { tile = load(i); barrier; work on tile; barrier }
//! ```
//!
//! it makes, with two buffers for the tile,
//!
//! ```text
//! if (first) tile[0] = load(first);
//! arrive;
//! loop {
//!     if (next) x = load(next);
//!     wait;
//!     work on tile[i & 1];
//!     if (next) tile[next & 1] = x;
//!     arrive
//! }
//! wait;
//! ```
//!
//! One barrier an iteration instead of two, and the loads have all of the work to arrive in. Where
//! halves are not wanted (`plain`), a barrier is in the place of each arrive, and the waits go.
//! With `stage` the loads and stores are together before the work: no values in registers, and no
//! load whose latency the work of its own invocation hides, unless they become asynchronous copies:
//! `copies` is `stage` for loops with nothing but such copies (`copies.rs`). With `one-buffer` the
//! tile stays as it is, a barrier is between the work and the stores, and no memory is needed. With
//! `always-store` the second `if (next)` goes: the last iteration stores what is in registers,
//! which none reads.
//!
//! Where nothing can run ahead, the second barrier alone goes (`alternate.rs`).
//!
//! The stage is what an iteration does before its first barrier. What its stores need is copied for
//! another iteration (`../barrier_loop`): once before the loop, and once or twice in it. Loops that
//! copy to workgroup memory a constant number of times are unrolled first.
//!
//! Why it is right. Call what is before the first barrier of an iteration or after its last one
//! outside, the rest work.
//!
//! - The stage of the next iteration gives the same one iteration early: its loads read nothing
//!   that the loop writes or that an instruction in it orders, and all else is computed from values
//!   that are known by then. It runs under the conditions that it ran under.
//! - Work reads what the stage of its iteration stored, in the buffer of that iteration: the stage
//!   stores to the same places in every iteration, and nothing else stores to the arrays
//!   (`contents.rs`).
//! - With one buffer, all accesses to it are in the order that they were in, with a barrier where a
//!   barrier was. With two, a buffer is stored to while the other one is read. Between the last
//!   read of a buffer and the next store to it, and between a store and the reads of it, is the one
//!   barrier that is left, which orders all that either of the two did.
//! - A store of the last iteration that only `always-store` has goes to a place that every
//!   iteration stores to, and nothing that leads to it is undefined (`unguarded.rs`). The loop
//!   alone reads the arrays, and it ends.
//! - What is outside does not conflict with work (`work.rs`): accesses of two invocations are there
//!   at most as far apart in time as before.
//! - All of the workgroup comes to the loop together and leaves it together, so that the new arrive
//!   and the new wait are executed by all.

mod alternate;
mod contents;
mod copies;
mod depth;
mod find;
mod leftover;
mod numbers;
mod unguarded;
mod ways_out;
mod work;
mod write;

use super::edit::Edit;
use super::inlined::{entries, follow, inlined_all, repeat};
use super::local_accesses::access_as_a_whole;
use super::move_split_barriers::uniformity;
use super::options::{Buffers, PassOptions, PipelineLoops};
use super::rewrite::RewrittenModule;
use super::unroll_barrier_loops::{Unrolled, unroll};
use super::whole_variables::whole_variables;
use crate::analysis::cfg::Cfg;
use crate::analysis::loops::Loops;
use crate::analysis::pairing::Pairing;
use crate::analysis::phases::{Aliasing, Body, Effects};
use crate::analysis::uniformity::Level;
use crate::analysis::workgroup_memory::WorkgroupMemory;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Constants, Declarations, EntryPoint, Inst, Module, SpecValues, WordOffset};
use crate::transform::barrier_loop::reason::Reason;
use crate::transform::barrier_loop::shape::{self, Shape};
use alternate::Alternating;
use find::{Facts, Pipeline};
use spirv::Op;
use std::cell::OnceCell;

/// Loops of a function that are looked at, and that are pipelined.
const MOST_LOOPS: usize = 64;

/// Instructions that the copies of a loop have together which copies to workgroup memory.
const MOST_UNROLLED: usize = 4096;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let PassOptions::PipelineLoops(options) = *options else {
        return Err(Diagnostic::bug("the pass has no options for pipelining").into());
    };
    if !can_have_loops(module, declarations) {
        return Ok(None);
    }
    inlined_all(module, declarations, |declarations| {
        let one = |declarations: &Declarations<'_>| pipeline_one(declarations, options);
        let done = match prepared(declarations)? {
            Some(prepared) => follow(&prepared, one)?,
            None => one(declarations)?,
        };
        repeat(done, MOST_LOOPS, one)
    })
}

/// An inlined module with loops that copy to workgroup memory unrolled, and with variables accessed
/// as a whole where that can be; `None` if it is so already.
fn prepared(declarations: &Declarations<'_>) -> Result<Option<RewrittenModule>, Diagnostics> {
    match unroll(declarations, MOST_UNROLLED, Unrolled::Copies)? {
        Some(unrolled) => {
            let whole = follow(&unrolled, access_as_a_whole)?;
            Ok(Some(whole.unwrap_or(unrolled)))
        }
        None => access_as_a_whole(declarations),
    }
}

/// The outcome for a loop.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LoopOutcome {
    /// The header of the loop: its word in the module after inlining.
    pub place: WordOffset,
    /// Nothing where it is pipelined, else why it stays.
    pub stays: Option<Reason>,
    /// True if it is pipelined and nothing of it runs ahead: its buffers alternate.
    pub alternates: bool,
}

/// The changes that pipeline a loop.
struct Written<'d, 'm> {
    edit: Edit<'d, 'm>,
    /// True if nothing of the loop runs ahead.
    alternates: bool,
}

/// The outcome of `pipeline-barrier-loops` for each loop with a workgroup barrier, in the order of
/// the loops after inlining and unrolling.
///
/// # Errors
/// What the pass would say.
pub fn pipelined_loops(
    module: &Module<'_>,
    options: PipelineLoops,
) -> Result<Vec<LoopOutcome>, Diagnostics> {
    let declarations = Declarations::of_made(module, "reading")?;
    let mut found = Vec::new();
    if !can_have_loops(module, &declarations) {
        return Ok(found);
    }
    let mut look = |declarations: &Declarations<'_>, source: &dyn Fn(WordOffset) -> WordOffset| {
        each_loop(declarations, options, |header, written| {
            let alternates = written.as_ref().is_ok_and(|written| written.alternates);
            let stays = written.err();
            if stays != Some(Reason::NoBarrier) {
                let place = source(header);
                found.push(LoopOutcome {
                    place,
                    stays,
                    alternates,
                });
            }
            Ok(true)
        })
    };
    inlined_all(module, &declarations, |inlined| {
        match prepared(inlined)? {
            Some(prepared) => {
                let declarations = Declarations::of_made(&prepared.module, "unrolling")?;
                let source = |at| prepared.source_map.of(at).unwrap_or(at);
                look(&declarations, &source)?;
            }
            None => look(inlined, &|at| at)?,
        }
        Ok(None)
    })?;
    Ok(found)
}

/// Returns true if the module has whole barriers, and entry points that may have halves.
fn can_have_loops(module: &Module<'_>, declarations: &Declarations<'_>) -> bool {
    let is_whole = |inst: Inst<'_>| inst.op() == Some(Op::ControlBarrier);
    let is_compute = declarations.entry_points.iter().all(EntryPoint::is_compute);
    is_compute && module.instructions().any(is_whole)
}

/// Pipelines the first loop that can be.
fn pipeline_one(
    declarations: &Declarations<'_>,
    options: PipelineLoops,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut done = None;
    each_loop(declarations, options, |_, written| {
        done = match written {
            Ok(written) => written.edit.finish()?,
            Err(_) => None,
        };
        Ok(done.is_none())
    })?;
    Ok(done)
}

/// Shows `visit` each loop of the entry functions: where its header is, and the changes that
/// pipeline it, or why there are none. It says whether to go on.
fn each_loop<'m>(
    declarations: &Declarations<'m>,
    options: PipelineLoops,
    mut visit: impl FnMut(WordOffset, Result<Written<'_, 'm>, Reason>) -> Result<bool, Diagnostics>,
) -> Result<(), Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
    let aliasing = if options.aliased {
        Aliasing::Possible
    } else {
        Aliasing::Declared
    };
    for (entry, function) in entries(declarations) {
        let pairing = Pairing::analyse(declarations, &constants, entry, &mut diagnostics);
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        let cfg = Cfg::analyze(declarations.module, function);
        let loops = Loops::analyze(&cfg, MOST_LOOPS);
        let effects = Effects::analyze(declarations, &constants, function, aliasing);
        let body = Body::analyze(
            declarations,
            function,
            &effects,
            &pairing,
            options.all_memory,
        );
        let uniform = OnceCell::new();
        let is_uniform = |block| {
            let level = Level::Workgroup;
            let uniformity = || uniformity(declarations, &constants, entry, function, level);
            uniform.get_or_init(uniformity).block(block).is_none()
        };
        let facts = Facts {
            declarations,
            constants: &constants,
            function,
            effects: &effects,
            body: &body,
            cfg: &cfg,
            loops: &loops,
            pairing: &pairing,
            is_uniform: &is_uniform,
            variables: &whole_variables(declarations, function),
            copying: &OnceCell::new(),
            bytes: WorkgroupMemory::analyze(declarations, &constants, entry).bytes,
            options,
        };
        for (header, shape) in shape::shapes(function, &cfg, &loops, (&body, &effects)) {
            let written = match &shape {
                Ok(shape) => written(&facts, shape)?,
                Err(reason) => Err(*reason),
            };
            if !visit(header, written)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The changes that pipeline a loop, or why there are none.
fn written<'p, 'm>(
    facts: &'p Facts<'p, 'm>,
    shape: &'p Shape<'p, 'm>,
) -> Result<Result<Written<'p, 'm>, Reason>, Diagnostic> {
    let ahead = facts.options.ahead;
    let has_more = facts.options.buffers != Buffers::Two && ahead.has_buffers();
    let mut why_not_ahead = None;
    for ahead in ahead.tried(has_more) {
        let moved = match Pipeline::find(facts, shape, *ahead) {
            Ok(pipeline) => pipeline.write()?,
            Err(why) => Err(why),
        };
        match moved {
            Ok(edit) => {
                return Ok(Ok(Written {
                    edit,
                    alternates: false,
                }));
            }
            Err(why) => why_not_ahead = Some(why),
        }
    }
    if let Some(why) = why_not_ahead.filter(|_| has_more || !ahead.may_alternate()) {
        return Ok(Err(why));
    }
    match Alternating::find(facts, shape) {
        Ok(alternating) => {
            let edit = alternating.write()?;
            Ok(Ok(Written {
                edit,
                alternates: true,
            }))
        }
        // Several exits are no obstacle here.
        Err(why) => Ok(Err(why_not_ahead
            .filter(|ahead| *ahead != Reason::Exits)
            .unwrap_or(why))),
    }
}
