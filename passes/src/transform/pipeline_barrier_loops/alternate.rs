//! Loops whose second barrier goes while nothing moves: the buffers of an array alternate.
//!
//! Of
//!
//! ```text
//! loop { tile = stage(i); barrier; work on tile; barrier }
//! ```
//!
//! it makes
//!
//! ```text
//! loop { tile[i & 1] = stage(i); barrier; work on tile[i & 1] }
//! barrier;
//! ```
//!
//! The stage may then be anything: it may have subgroup operations, its inputs may come from the
//! work, and any number of branches may leave the loop, since no part of it is executed in another
//! place or under another condition.
//!
//! Why it is right. Every invocation executes the first barrier of an iteration, or none does, so
//! all are in the same iteration and use the same buffer. The second barrier ordered the work of
//! iteration i with what comes after it:
//!
//! - The stage of iteration i + 1 stores to the other buffer. That of iteration i + 2 stores to the
//!   same one, but the first barrier of iteration i + 1 is between both.
//! - All else outside of the work does not conflict with it (`work.rs`).
//! - What follows the loop comes after the new barrier there, or after one that is there already.
//!   All of the workgroup comes to the new one: it has come to the loop, or to a first barrier in
//!   it, and all ways out lead to this place.
//!
//! The first barrier and the new one order all that either of the two ordered. Work reads what its
//! own iteration stored, since every iteration stores to the same places (`contents.rs`).

use super::depth::Depth;
use super::find::{Facts, arrays, barriers, check_accesses, check_buffers, order, staged_stores};
use super::numbers::Numbers;
use super::ways_out::meeting;
use super::work::Work;
use crate::analysis::phases::{Effect, Role, Side};
use crate::diagnostic::Diagnostic;
use crate::module::WordOffset;
use crate::transform::barrier_loop::arrays::Arrays;
use crate::transform::barrier_loop::cut::Cuts;
use crate::transform::barrier_loop::reason::Reason;
use crate::transform::barrier_loop::shape::Shape;
use crate::transform::edit::Edit;
use crate::transform::operands::{Fence, WORKGROUP, barrier_operands, fence};
use crate::transform::options::Buffers;
use spirv::Op;

/// A loop with two barriers, of which one can go.
pub(super) struct Alternating<'p, 'm> {
    facts: &'p Facts<'p, 'm>,
    shape: &'p Shape<'p, 'm>,
    arrays: Arrays<'m>,
    /// The last barrier of an iteration.
    last: WordOffset,
    /// The order of both barriers together.
    fence: Fence,
    /// The place of the barrier after the loop, if none is there.
    after: Option<WordOffset>,
}

impl<'p, 'm> Alternating<'p, 'm> {
    /// The changes to the loop `shape`.
    ///
    /// # Errors
    /// Why it stays.
    pub(super) fn find(facts: &'p Facts<'p, 'm>, shape: &'p Shape<'p, 'm>) -> Result<Self, Reason> {
        let work = Work::find(shape, facts.cfg, facts.body)?;
        if barriers(facts, shape) > 2 {
            return Err(Reason::Barriers);
        }
        let fence = order(facts, shape, &work)?;
        let after = after(facts, shape, fence)?;
        let (_, variables) = staged_stores(facts, shape)?;
        let arrays = arrays(facts, shape, variables, Buffers::Two.count())?;
        check_accesses(facts, shape, &work, &arrays)?;
        work.check_order(shape, facts.body, &arrays)?;
        check_buffers(facts, shape, &arrays, Buffers::Two.count())?;
        Ok(Alternating {
            facts,
            shape,
            arrays,
            last: work.end,
            fence,
            after,
        })
    }

    pub(super) fn write(&self) -> Result<Edit<'p, 'm>, Diagnostic> {
        let shape = self.shape;
        let mut edit = Edit::new(self.facts.declarations);
        let depth = Depth::new(Buffers::Two, false);
        self.arrays.declare(&mut edit, depth.buffers)?;
        let numbers = Numbers::new(&mut edit, depth)?;
        for place in [Some(shape.at), self.after].into_iter().flatten() {
            let operands = barrier_operands(&mut edit, WORKGROUP, self.fence)?;
            edit.before(place, Op::ControlBarrier, &operands)?;
        }
        edit.remove(shape.at);
        edit.remove(self.last);
        let is_inside = |spot: (_, usize)| shape.blocks.contains(&spot.0);
        self.arrays
            .rebase(&mut edit, numbers.current, is_inside, |_| false)?;
        numbers.count(&mut edit, shape, &Cuts::new())?;
        Ok(edit)
    }
}

/// The first place after the loop, where a barrier is to be; `None` if one is there that orders as
/// much.
fn after(
    facts: &Facts<'_, '_>,
    shape: &Shape<'_, '_>,
    wanted: Fence,
) -> Result<Option<WordOffset>, Reason> {
    let target = meeting(facts, shape).ok_or(Reason::Exits)?;
    for item in facts.body.block(target) {
        match item.role {
            Role::Half(_, Side::Both) => {
                let inst = facts.declarations.module.at(item.offset);
                let found = inst.and_then(|inst| fence(facts.declarations, inst));
                if found.is_some_and(|found| found.union(wanted) == Some(found)) {
                    return Ok(None);
                }
                break;
            }
            Role::First | Role::Plain if item.effect == Effect::NONE => {}
            Role::Half(..) | Role::First | Role::Plain | Role::Last => break,
        }
    }
    let block = facts.function.block(target).ok_or(Reason::Exits)?;
    let place = block.after_phis().ok_or(Reason::Exits)?.offset;
    if !facts.is_closed(place) {
        return Err(Reason::Open);
    }
    if shape.may_leave_early() && !(facts.is_uniform)(shape.front) {
        return Err(Reason::NotUniform);
    }
    Ok(Some(place))
}
