//! Loops that loads can be staged in.

use super::region::Region;
use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::Dominators;
use crate::analysis::loops::{Loop, Loops};
use crate::analysis::phases::mutant::{Rule, is_out};
use crate::analysis::phases::{Body, Effect, Item, MemoryRegions, Role, Side};
use crate::module::{BlockIndex, Function, Id, Inst, WordOffset};
use crate::transform::whole_variables::Spot;
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};

/// How control leaves the loop.
#[derive(Copy, Clone, Debug)]
pub(super) struct Exit {
    /// The block that it leaves from.
    pub(super) block: BlockIndex,
    pub(super) condition: Id,
    pub(super) stays_if_true: bool,
    /// Whether an iteration asks before it comes to the barrier.
    pub(super) is_first: bool,
}

/// A loop: one way in, one back, one out, and a barrier that every iteration comes to first.
pub(super) struct Shape<'s, 'm> {
    pub(super) function: &'s Function<'m>,
    pub(super) dominators: &'s Dominators,
    pub(super) header: BlockIndex,
    pub(super) latch: BlockIndex,
    /// The block with the barrier, and the place of the barrier among its instructions.
    pub(super) block: BlockIndex,
    pub(super) barrier: usize,
    pub(super) exit: Exit,
    pub(super) front_label: Id,
    /// The branch that leads to the loop.
    pub(super) front_end: WordOffset,
    pub(super) latch_label: Id,
    pub(super) label: Id,
    /// The first instruction of the function, and the one behind the barrier.
    pub(super) first: WordOffset,
    pub(super) behind: WordOffset,
    /// Phis that name the blocks that are cut.
    pub(super) phis: Vec<Inst<'m>>,
    /// By result: where instructions of the loop stand.
    pub(super) spots: BTreeMap<Id, Spot>,
    /// Blocks of the loop, and those of them that are in no loop inside of it.
    pub(super) blocks: BTreeSet<BlockIndex>,
    own: BTreeSet<BlockIndex>,
    /// What the loop writes and publishes.
    changes: MemoryRegions,
    /// What stands in front of the barrier.
    pub(super) region: Region,
}

/// The shapes of the loops of `function`, in the order of their headers.
pub(super) fn shapes<'s, 'm>(
    function: &'s Function<'m>,
    cfg: &'s Cfg,
    loops: &'s Loops,
    body: &Body,
) -> Vec<Shape<'s, 'm>> {
    let Some(innermost) = loops.innermost(cfg.len()) else {
        return Vec::new();
    };
    let natural = loops.natural.iter().flatten().enumerate();
    let shape = |(number, natural): (usize, &Loop)| {
        let is_own = |block: &&BlockIndex| innermost.get(**block) == Some(&Some(number));
        let own = natural.body.iter().filter(is_own).copied().collect();
        shape(function, cfg, &loops.dominators, body, natural, own)
    };
    natural.filter_map(shape).collect()
}

fn shape<'s, 'm>(
    function: &'s Function<'m>,
    cfg: &'s Cfg,
    dominators: &'s Dominators,
    body: &Body,
    natural: &Loop,
    own: BTreeSet<BlockIndex>,
) -> Option<Shape<'s, 'm>> {
    let header = natural.header;
    let (latch, front) = natural.latch_and_front(cfg)?;
    let block_of = |number: BlockIndex| function.block(number);
    let front_end = block_of(front)?.end()?;
    if cfg.succs(front) != [header] || front_end.op() != Some(Op::Branch) {
        return None;
    }
    let (block, barrier) = first_barrier(dominators, body, natural, &own, latch)?;
    let has_merge = block_of(header)?.end()?.op() == Some(Op::LoopMerge);
    if block == header && has_merge {
        return None; // the merge instruction stays in the header
    }
    let exit = exit(function, cfg, dominators, natural, &own, block, latch)?;
    let region = Region::analyze(function, cfg, [header, block], &natural.body, &own)?;
    let insts = &block_of(block)?.insts;
    let mut phis = Vec::new();
    let behind = cfg.succs(block).iter().copied();
    for at in behind.chain([header]).collect::<BTreeSet<BlockIndex>>() {
        let insts = block_of(at)?.insts.iter();
        phis.extend(insts.take_while(|inst| inst.op() == Some(Op::Phi)));
    }
    let mut spots = BTreeMap::new();
    let mut changes = MemoryRegions::NONE;
    for at in &natural.body {
        for (index, inst) in block_of(*at)?.insts.iter().enumerate() {
            spots.extend(inst.result().map(|result| (result, (*at, index))));
        }
        for item in body.block(*at) {
            changes |= item.effect.writes | item.effect.publishes;
        }
    }
    Some(Shape {
        function,
        dominators,
        header,
        latch,
        block,
        barrier,
        exit,
        front_label: block_of(front)?.label,
        front_end: front_end.offset,
        latch_label: block_of(latch)?.label,
        label: block_of(block)?.label,
        first: block_of(BlockIndex::ENTRY)?.insts.first()?.offset,
        behind: insts.get(barrier + 1)?.offset,
        phis,
        spots,
        blocks: natural.body.clone(),
        own,
        changes,
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
) -> Option<Spot> {
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
        at = dominators.immediate(at)?;
    }
    let (block, barrier) = found?;
    let first = body.block(block).get(barrier)?;
    let is_whole = matches!(first.role, Role::Half(_, Side::Both));
    let is_right = |at: BlockIndex, index: usize, item: &Item| match item.role {
        Role::Half(..) => (at, index) >= (block, barrier) || at != block,
        Role::First | Role::Plain | Role::Last => !item.effect.ordering_barrier,
    };
    let is_behind = |at: BlockIndex| at == block || dominators.dominates(block, at);
    let all = natural.body.iter().all(|at| {
        let mut items = body.block(*at).iter().enumerate();
        items.all(|(index, item)| {
            is_right(*at, index, item) && (is_behind(*at) || !matches!(item.role, Role::Half(..)))
        })
    });
    (is_whole && all).then_some((block, barrier))
}

/// The one way out of the loop, by a branch that every iteration comes to.
fn exit(
    function: &Function<'_>,
    cfg: &Cfg,
    dominators: &Dominators,
    natural: &Loop,
    own: &BTreeSet<BlockIndex>,
    block: BlockIndex,
    latch: BlockIndex,
) -> Option<Exit> {
    let is_inside = |block: &BlockIndex| natural.body.contains(block);
    let leaves = |at: &&BlockIndex| !cfg.succs(**at).iter().all(is_inside);
    let leaving: Vec<&BlockIndex> = natural.body.iter().filter(leaves).collect();
    let [at] = leaving.as_slice() else {
        return None;
    };
    let is_of_each = own.contains(at) && dominators.dominates(**at, latch);
    let branch = function.block(**at)?.terminator()?;
    let target = |index| Some(is_inside(&cfg.index_of(branch.id(index).ok()?)?));
    let (then, otherwise) = (target(1)?, target(2)?);
    let is_branch = branch.op() == Some(Op::BranchConditional) && then != otherwise;
    let is_first = **at != block && dominators.dominates(**at, block);
    (is_of_each && is_branch).then_some(Exit {
        block: **at,
        condition: branch.id(0).ok()?,
        stays_if_true: then,
        is_first,
    })
}

impl<'m> Shape<'_, 'm> {
    /// The instruction at a place.
    pub(super) fn inst(&self, (block, index): Spot) -> Option<Inst<'m>> {
        let insts = &self.function.block(block)?.insts;
        insts.get(index).copied()
    }

    /// The instruction of the region whose result is `id`.
    pub(super) fn of_region(&self, id: Id) -> Option<Inst<'m>> {
        let spot = self.spots.get(&id)?;
        self.is_in_region(*spot).then(|| self.inst(*spot)).flatten()
    }

    /// Whether control has come through `spot` whenever it comes to the end of the barrier.
    pub(super) fn is_before(&self, spot: Spot) -> bool {
        if spot.0 == self.block {
            spot.1 < self.barrier
        } else {
            self.dominators.dominates(spot.0, self.block)
        }
    }

    /// Whether the loop may change what an access with `effect` touches.
    pub(super) fn changes(&self, effect: Effect) -> bool {
        effect.touches().meets(self.changes) && !is_out(Rule::Unchanged)
    }

    /// Whether `block` is in no loop inside of this one.
    pub(super) fn is_own(&self, block: BlockIndex) -> bool {
        self.own.contains(&block)
    }

    /// Whether every iteration comes to `block` once.
    pub(super) fn is_in_each(&self, block: BlockIndex) -> bool {
        self.own.contains(&block) && self.dominators.dominates(block, self.latch)
    }

    /// What a phi of the header is when control comes from the block `label`.
    pub(super) fn phi_from(&self, phi: Id, label: Id) -> Option<Id> {
        let phi = self.inst(*self.spots.get(&phi)?)?;
        let mut pairs = phi.operands().chunks_exact(2);
        let pair = pairs.find(|pair| pair.get(1) == Some(&label.0))?;
        pair.first().map(|value| Id(*value))
    }

    /// Whether an instruction may be executed before the end of the first barrier, in its
    /// iteration.
    pub(super) fn may_precede(&self, spot: Spot) -> bool {
        if spot.0 == self.block {
            spot.1 < self.barrier
        } else {
            !self.dominators.dominates(self.block, spot.0)
        }
    }

    /// The block of the loop with this label.
    pub(super) fn block_of(&self, label: Id) -> Option<BlockIndex> {
        let mut blocks = self.blocks.iter().copied();
        blocks.find(|block| {
            let found = self.function.block(*block);
            found.is_some_and(|found| found.label == label)
        })
    }

    /// Whether an instruction is of the region.
    pub(super) fn is_in_region(&self, spot: Spot) -> bool {
        self.region.has(spot.0) && (spot.0 != self.block || spot.1 < self.barrier)
    }
}
