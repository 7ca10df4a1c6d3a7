//! Loops that loads can be staged in.

use super::private;
use super::reason::Reason;
use super::region::Region;
use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::Dominators;
use crate::analysis::loops::{Loop, Loops};
use crate::analysis::phases::mutant::{Rule, is_out};
use crate::analysis::phases::{Body, Effect, Effects, Item, MemoryRegions, Own, Role, Side};
use crate::module::{BlockIndex, Function, Id, Inst, WordOffset};
use crate::transform::whole_variables::Spot;
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};

/// A branch by which control leaves the loop.
#[derive(Copy, Clone, Debug)]
pub(in crate::transform) struct Exit {
    /// The block that it leaves from.
    pub(in crate::transform) block: BlockIndex,
    pub(in crate::transform) condition: Id,
    pub(in crate::transform) stays_if_true: bool,
    /// True if an iteration asks before it comes to the barrier.
    pub(in crate::transform) is_first: bool,
    /// The block outside that it leads to.
    pub(in crate::transform) target: BlockIndex,
}

/// A loop: one way in, one back, and a barrier that every iteration comes to first.
pub(in crate::transform) struct Shape<'s, 'm> {
    pub(in crate::transform) function: &'s Function<'m>,
    pub(in crate::transform) dominators: &'s Dominators,
    pub(in crate::transform) header: BlockIndex,
    pub(in crate::transform) latch: BlockIndex,
    /// The block with the barrier, and the place of the barrier among its instructions.
    pub(in crate::transform) block: BlockIndex,
    pub(in crate::transform) barrier: usize,
    /// The one way out; where there are several, the first, of those before the barrier if any is.
    pub(in crate::transform) exit: Exit,
    /// The blocks that control leaves the loop from.
    pub(in crate::transform) leaving: Vec<BlockIndex>,
    /// True if every iteration comes to the one branch that leaves the loop.
    pub(in crate::transform) has_one_exit: bool,
    /// The block that leads to the loop.
    pub(in crate::transform) front: BlockIndex,
    pub(in crate::transform) front_label: Id,
    /// The branch that leads to the loop.
    pub(in crate::transform) front_end: WordOffset,
    pub(in crate::transform) latch_label: Id,
    pub(in crate::transform) label: Id,
    /// The first instruction of the function, the barrier, and the instruction after it.
    pub(in crate::transform) first: WordOffset,
    pub(in crate::transform) at: WordOffset,
    pub(in crate::transform) behind: WordOffset,
    /// By result: where instructions of the loop stand.
    pub(in crate::transform) spots: BTreeMap<Id, Spot>,
    /// Blocks of the loop, and those of them that are in no loop inside of it.
    pub(in crate::transform) blocks: BTreeSet<BlockIndex>,
    own: BTreeSet<BlockIndex>,
    /// What the loop writes and publishes.
    changes: MemoryRegions,
    /// What it does to the memory of its invocation.
    pub(super) private: Own,
    /// What stands in front of the barrier.
    pub(in crate::transform) region: Region,
}

/// The shapes of the loops of `function`, in the order of their headers.
pub(in crate::transform) fn shapes<'s, 'm>(
    function: &'s Function<'m>,
    cfg: &'s Cfg,
    loops: &'s Loops,
    (body, effects): (&Body, &Effects<'_, 'm>),
) -> Vec<(WordOffset, Result<Shape<'s, 'm>, Reason>)> {
    let Some(innermost) = loops.innermost(cfg.len()) else {
        return Vec::new();
    };
    let natural = loops.natural.iter().flatten().enumerate();
    let shape = |(number, natural): (usize, &Loop)| {
        let is_own = |block: &&BlockIndex| innermost.get(**block) == Some(&Some(number));
        let own = natural.body.iter().filter(is_own).copied().collect();
        let header = function.block(natural.header)?.offset;
        let blocks = (natural, own);
        let shape = shape(function, cfg, &loops.dominators, (body, effects), blocks);
        Some((header, shape))
    };
    natural.filter_map(shape).collect()
}

fn shape<'s, 'm>(
    function: &'s Function<'m>,
    cfg: &'s Cfg,
    dominators: &'s Dominators,
    (body, effects): (&Body, &Effects<'_, 'm>),
    (natural, own): (&Loop, BTreeSet<BlockIndex>),
) -> Result<Shape<'s, 'm>, Reason> {
    let header = natural.header;
    let (latch, front) = natural.latch_and_front(cfg).ok_or(Reason::Entries)?;
    let block_of = |number: BlockIndex| function.block(number).ok_or(Reason::Region);
    let front_end = block_of(front)?.end().ok_or(Reason::Front)?;
    if cfg.succs(front) != [header] || front_end.op() != Some(Op::Branch) {
        return Err(Reason::Front);
    }
    let (block, barrier) = first_barrier(dominators, body, natural, &own, latch)?;
    let header_end = block_of(header)?.end().ok_or(Reason::Region)?;
    let has_merge = header_end.op() == Some(Op::LoopMerge);
    if block == header && has_merge {
        return Err(Reason::HeaderBarrier); // the merge instruction stays in the header
    }
    let leaving = leaving(cfg, natural);
    let exit = exit(function, cfg, dominators, natural, (block, &leaving))?;
    let has_one_exit =
        leaving.len() == 1 && own.contains(&exit.block) && dominators.dominates(exit.block, latch);
    let region = Region::analyze(function, cfg, [header, block], &natural.body, &own)
        .ok_or(Reason::Region)?;
    let insts = &block_of(block)?.insts;
    let mut spots = BTreeMap::new();
    let mut changes = MemoryRegions::NONE;
    let mut private = Own::default();
    for at in &natural.body {
        for (index, inst) in block_of(*at)?.insts.iter().enumerate() {
            spots.extend(inst.result().map(|result| (result, (*at, index))));
            private::add(&mut private, effects, *inst);
        }
        for item in body.block(*at) {
            changes |= item.effect.writes | item.effect.publishes;
        }
    }
    let first = block_of(BlockIndex::ENTRY)?.insts.first();
    Ok(Shape {
        function,
        dominators,
        header,
        latch,
        block,
        barrier,
        exit,
        leaving,
        has_one_exit,
        front,
        front_label: block_of(front)?.label,
        front_end: front_end.offset,
        latch_label: block_of(latch)?.label,
        label: block_of(block)?.label,
        first: first.ok_or(Reason::Region)?.offset,
        at: insts.get(barrier).ok_or(Reason::Region)?.offset,
        behind: insts.get(barrier + 1).ok_or(Reason::Region)?.offset,
        spots,
        blocks: natural.body.clone(),
        own,
        changes,
        private,
        region,
    })
}

/// The first OpControlBarrier of the workgroup that an iteration comes to. Every iteration does,
/// and nothing that orders memory or execution stands before it, or elsewhere in the loop but
/// barriers of the workgroup.
fn first_barrier(
    dominators: &Dominators,
    body: &Body,
    natural: &Loop,
    own: &BTreeSet<BlockIndex>,
    latch: BlockIndex,
) -> Result<Spot, Reason> {
    let mut found = None;
    let mut at = latch;
    loop {
        let mut items = body.block(at).iter();
        if let Some(index) = items.position(|item| matches!(item.role, Role::Half(..)))
            && own.contains(&at)
        {
            found = Some((at, index));
        }
        if at == natural.header {
            break;
        }
        at = dominators.immediate(at).ok_or(Reason::Region)?;
    }
    let (block, barrier) = found.ok_or(Reason::NoBarrier)?;
    let first = body.block(block).get(barrier).ok_or(Reason::Region)?;
    if !matches!(first.role, Role::Half(_, Side::Both)) {
        return Err(Reason::AlreadySplit);
    }
    let is_right = |at: BlockIndex, index: usize, item: &Item| match item.role {
        Role::Half(..) => (at, index) >= (block, barrier) || at != block,
        Role::First | Role::Plain | Role::Last => !item.effect.ordering_barrier,
    };
    let is_behind = |at: BlockIndex| at == block || dominators.dominates(block, at);
    for at in &natural.body {
        for (index, item) in body.block(*at).iter().enumerate() {
            if !is_behind(*at) && matches!(item.role, Role::Half(..)) {
                return Err(Reason::EarlyBarrier);
            }
            if !is_right(*at, index, item) {
                return Err(Reason::Ordering);
            }
        }
    }
    Ok((block, barrier))
}

/// The blocks that control leaves the loop from.
fn leaving(cfg: &Cfg, natural: &Loop) -> Vec<BlockIndex> {
    let is_inside = |block: &BlockIndex| natural.body.contains(block);
    let leaves = |at: &&BlockIndex| !cfg.succs(**at).iter().all(is_inside);
    natural.body.iter().filter(leaves).copied().collect()
}

/// The first way out of the loop, of those before the barrier in `block` if any is. Each is a
/// branch with one way that stays.
fn exit(
    function: &Function<'_>,
    cfg: &Cfg,
    dominators: &Dominators,
    natural: &Loop,
    (block, leaving): (BlockIndex, &[BlockIndex]),
) -> Result<Exit, Reason> {
    let mut found: Option<Exit> = None;
    for at in leaving {
        let branch = function.block(*at).and_then(|block| block.terminator());
        let branch = branch.filter(|branch| branch.op() == Some(Op::BranchConditional));
        let branch = branch.ok_or(Reason::Exits)?;
        let target = |index| {
            let target = branch.id(index).ok().and_then(|id| cfg.index_of(id));
            target.ok_or(Reason::Exits)
        };
        let (then, otherwise) = (target(1)?, target(2)?);
        let stays_if_true = natural.body.contains(&then);
        if stays_if_true == natural.body.contains(&otherwise) {
            return Err(Reason::Exits);
        }
        let exit = Exit {
            block: *at,
            condition: branch.id(0).map_err(|_| Reason::Exits)?,
            stays_if_true,
            is_first: *at != block && dominators.dominates(*at, block),
            target: if stays_if_true { otherwise } else { then },
        };
        found = match found {
            Some(other) if other.is_first || !exit.is_first => Some(other),
            Some(_) | None => Some(exit),
        };
    }
    found.ok_or(Reason::Exits)
}

impl<'m> Shape<'_, 'm> {
    /// Returns true if control may leave the loop before it has come to the first barrier.
    pub(in crate::transform) fn may_leave_early(&self) -> bool {
        let is_late =
            |at: &BlockIndex| *at == self.block || self.dominators.dominates(self.block, *at);
        !self.leaving.iter().all(is_late)
    }

    /// The instruction at a place.
    pub(in crate::transform) fn inst(&self, (block, index): Spot) -> Option<Inst<'m>> {
        let insts = &self.function.block(block)?.insts;
        insts.get(index).copied()
    }

    /// Returns true if control has come through `spot` whenever it comes to the end of the barrier.
    pub(in crate::transform) fn is_before(&self, spot: Spot) -> bool {
        if spot.0 == self.block {
            spot.1 < self.barrier
        } else {
            self.dominators.dominates(spot.0, self.block)
        }
    }

    /// Returns true if the loop may change what an access with `effect` touches.
    pub(in crate::transform) fn changes(&self, effect: Effect) -> bool {
        effect.touches().meets(self.changes) && !is_out(Rule::Unchanged)
    }

    /// Returns true if the loop leaves the variables of the invocation as they are that `load`
    /// reads.
    pub(in crate::transform) fn keeps_own(
        &self,
        effects: &Effects<'_, 'm>,
        load: Inst<'m>,
    ) -> bool {
        let own = effects.own(load);
        own.is_some_and(|own| !own.conflicts(&self.private))
    }

    /// Returns true if `block` is in no loop inside of this one.
    pub(in crate::transform) fn is_own(&self, block: BlockIndex) -> bool {
        self.own.contains(&block)
    }

    /// Returns true if every iteration comes to `block` once.
    pub(in crate::transform) fn is_in_each(&self, block: BlockIndex) -> bool {
        self.own.contains(&block) && self.dominators.dominates(block, self.latch)
    }

    /// What a phi of the header is when control comes from the block `label`.
    pub(in crate::transform) fn phi_from(&self, phi: Id, label: Id) -> Option<Id> {
        let phi = self.inst(*self.spots.get(&phi)?)?;
        let mut pairs = phi.operands().chunks_exact(2);
        let pair = pairs.find(|pair| pair.get(1) == Some(&label.0))?;
        pair.first().map(|value| Id(*value))
    }

    /// Returns true if an instruction may be executed before the end of the first barrier, in its
    /// iteration.
    pub(in crate::transform) fn may_precede(&self, spot: Spot) -> bool {
        if spot.0 == self.block {
            spot.1 < self.barrier
        } else {
            !self.dominators.dominates(self.block, spot.0)
        }
    }

    /// The block of the loop with this label.
    pub(in crate::transform) fn block_of(&self, label: Id) -> Option<BlockIndex> {
        let mut blocks = self.blocks.iter().copied();
        blocks.find(|block| {
            let found = self.function.block(*block);
            found.is_some_and(|found| found.label == label)
        })
    }

    /// Returns true if the branch at the end of `block` names `next`.
    pub(in crate::transform) fn leads_to(&self, block: BlockIndex, next: BlockIndex) -> bool {
        let label = self.function.block(next).map(|next| next.label.0);
        let end = self.function.block(block).and_then(|of| of.terminator());
        let (Some(label), Some(end)) = (label, end) else {
            return false;
        };
        let targets = match end.op() {
            Some(Op::Branch) => end.operands(),
            Some(Op::BranchConditional) => end.operands().get(1..3).unwrap_or(&[]),
            // Literals of a switch may look like the label: that leads to more ways, not to fewer.
            _ => end.operands().get(1..).unwrap_or(&[]),
        };
        targets.contains(&label)
    }

    /// Returns true if an instruction is of the region.
    pub(in crate::transform) fn is_in_region(&self, spot: Spot) -> bool {
        self.region.has(spot.0) && (spot.0 != self.block || spot.1 < self.barrier)
    }
}
