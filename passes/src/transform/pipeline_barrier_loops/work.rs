//! The parts of an iteration: between its first and its last barrier, and elsewhere.

use super::super::barrier_loop::arrays::Arrays;
use super::super::barrier_loop::reason::Reason;
use super::super::barrier_loop::shape::Shape;
use crate::analysis::cfg::Cfg;
use crate::analysis::phases::{Body, Effect, MemoryRegions, Role, Side};
use crate::module::{BlockIndex, WordOffset};
use crate::transform::whole_variables::Spot;
use std::collections::BTreeSet;

/// The part of a loop that reads what the stage has stored.
pub(super) struct Work {
    /// The last barrier of an iteration.
    pub(super) last: Spot,
    /// Its place in the module.
    pub(super) end: WordOffset,
    first: Spot,
    /// Blocks that an iteration may come to between both, theirs not among them.
    between: BTreeSet<BlockIndex>,
}

impl Work {
    /// That of the loop `shape`.
    pub(super) fn find(shape: &Shape<'_, '_>, cfg: &Cfg, body: &Body) -> Result<Work, Reason> {
        let first = (shape.block, shape.barrier);
        let is_barrier = |spot: Spot| {
            let item = body.block(spot.0).get(spot.1);
            item.is_some_and(|item| matches!(item.role, Role::Half(..)))
        };
        let mut at = shape.latch;
        let last = loop {
            let places = (0..body.block(at).len()).rev();
            let found = places
                .map(|index| (at, index))
                .find(|spot| is_barrier(*spot));
            match found.filter(|_| shape.is_own(at)) {
                Some(found) => break found,
                None if at == shape.block => return Err(Reason::OneBarrier),
                None => at = shape.dominators.immediate(at).ok_or(Reason::Region)?,
            }
        };
        if last == first {
            return Err(Reason::OneBarrier);
        }
        let after = reached(shape, cfg, last.0, None);
        for block in &shape.blocks {
            for (index, item) in body.block(*block).iter().enumerate() {
                match item.role {
                    Role::Half(_, Side::Both) => {}
                    Role::Half(..) => return Err(Reason::AlreadySplit),
                    Role::First | Role::Plain | Role::Last => continue,
                }
                let is_after = if *block == last.0 {
                    index > last.1
                } else {
                    after.contains(block)
                };
                if is_after {
                    return Err(Reason::EarlyBarrier);
                }
            }
        }
        let between = if first.0 == last.0 {
            BTreeSet::new()
        } else {
            reached(shape, cfg, first.0, Some(last.0))
        };
        let end = body.block(last.0).get(last.1).ok_or(Reason::Region)?.offset;
        Ok(Work {
            last,
            end,
            first,
            between,
        })
    }

    /// Returns true if an instruction of the loop is between the barriers.
    pub(super) fn has(&self, spot: Spot) -> bool {
        let (block, index) = spot;
        if block == self.first.0 && block == self.last.0 {
            self.first.1 < index && index < self.last.1
        } else if block == self.first.0 {
            self.first.1 < index
        } else if block == self.last.0 {
            index < self.last.1
        } else {
            self.between.contains(&block)
        }
    }

    /// Whether the loop is left outside of the part between the barriers.
    pub(super) fn check_exit(&self, shape: &Shape<'_, '_>) -> Result<(), Reason> {
        let exit = shape.exit;
        let is_after =
            exit.block == self.last.0 || shape.dominators.dominates(self.last.0, exit.block);
        if exit.is_first || is_after {
            Ok(())
        } else {
            Err(Reason::ExitInWork)
        }
    }

    /// Whether what an iteration does outside of the part between the barriers may overlap with
    /// what another invocation does there. The stage's stores to `arrays` do not count: they move.
    pub(super) fn check_order(
        &self,
        shape: &Shape<'_, '_>,
        body: &Body,
        arrays: &Arrays<'_>,
    ) -> Result<(), Reason> {
        let [inside, outside] = self.effects(shape, body, arrays)?;
        if inside.conflicts(outside) {
            Err(Reason::Conflict)
        } else {
            Ok(())
        }
    }

    /// Whether iterations may do in one window what barriers kept apart. With one split barrier an
    /// iteration, what is outside of the work of an iteration is in the window, both before the
    /// work and after it, and the work is if it is enclosed. Only memory counts that the barriers
    /// order. The accesses to `arrays` do not count: they have their buffers.
    pub(super) fn check_window(
        &self,
        shape: &Shape<'_, '_>,
        body: &Body,
        arrays: &Arrays<'_>,
        encloses_work: bool,
    ) -> Result<(), Reason> {
        let [inside, outside] = self.effects(shape, body, arrays)?;
        let barriers = body.barriers.iter();
        let orders = barriers.fold(MemoryRegions::NONE, |all, one| all | one.orders);
        let all = if encloses_work {
            inside | outside
        } else {
            outside
        };
        let all = all.within(orders);
        if all.conflicts(all) {
            Err(Reason::Overlap)
        } else {
            Ok(())
        }
    }

    /// The effects of what is between the barriers, and of all else but the accesses to `arrays`
    /// there.
    fn effects(
        &self,
        shape: &Shape<'_, '_>,
        body: &Body,
        arrays: &Arrays<'_>,
    ) -> Result<[Effect; 2], Reason> {
        let moved: BTreeSet<WordOffset> =
            arrays.accesses.iter().map(|(_, one)| one.offset).collect();
        let (mut inside, mut outside) = (Effect::NONE, Effect::NONE);
        for block in &shape.blocks {
            for (index, item) in body.block(*block).iter().enumerate() {
                if matches!(item.role, Role::Half(..)) {
                    continue;
                }
                if item.effect.ordering_barrier {
                    return Err(Reason::Ordering);
                }
                if self.has((*block, index)) {
                    inside = inside | item.effect;
                } else if !moved.contains(&item.offset) {
                    outside = outside | item.effect;
                }
            }
        }
        Ok([inside, outside])
    }
}

/// The blocks of the loop that control comes to from `block` before it comes to `end` or to the
/// next iteration.
fn reached(
    shape: &Shape<'_, '_>,
    cfg: &Cfg,
    block: BlockIndex,
    end: Option<BlockIndex>,
) -> BTreeSet<BlockIndex> {
    let mut found = BTreeSet::new();
    let mut work = vec![block];
    while let Some(at) = work.pop() {
        for next in cfg.succs(at) {
            let is_new = *next != shape.header && Some(*next) != end && shape.blocks.contains(next);
            if is_new && found.insert(*next) {
                work.push(*next);
            }
        }
    }
    found
}
