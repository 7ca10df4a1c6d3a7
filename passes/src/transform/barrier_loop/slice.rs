//! The slice of a region for some of its loads and stores: their operands, and the branches that
//! lead to them.

use super::arrays::is_store;
use super::region::{Inner, Region};
use super::scratch::Scratch;
use super::shape::Shape;
use super::values::{Variables, is_copied, is_plain};
use crate::analysis::phases::mutant::{Rule, is_out};
use crate::analysis::phases::{Effects, MemoryRegions};
use crate::module::{BlockIndex, Declarations, Id, Inst};
use crate::transform::whole_variables::Spot;
use spirv::{Capability, Op};
use std::collections::{BTreeMap, BTreeSet};

/// How often the branches that lead to what is needed are asked what they need.
const MOST_ROUNDS: usize = 64;

/// A part of a region.
#[derive(Clone, Default)]
pub(in crate::transform) struct Slice {
    /// Its instructions but branches; phis of the header are not among them.
    pub(in crate::transform) needed: BTreeSet<Spot>,
    /// Phis of the header.
    pub(in crate::transform) phis: BTreeSet<Id>,
    /// Variables, each with a load of it.
    pub(in crate::transform) variables: BTreeMap<Id, Spot>,
    /// Variables that only the part before the barrier uses.
    pub(in crate::transform) scratch: BTreeSet<Id>,
    /// Inner loops that are needed as a whole, by the block that control comes in by.
    pub(in crate::transform) inner: BTreeSet<BlockIndex>,
    /// Where control goes from each block, and from inner loops, which have the place of their
    /// first block. A selection with nothing in it that is needed is passed.
    pub(in crate::transform) next: BTreeMap<BlockIndex, Vec<BlockIndex>>,
}

impl Slice {
    /// The needed instructions of a block, in order.
    pub(in crate::transform) fn of_block(&self, block: BlockIndex) -> impl Iterator<Item = Spot> {
        self.needed.range((block, 0)..=(block, usize::MAX)).copied()
    }

    /// Where a branch to `block` leads in a copy: past inner loops that are not needed.
    pub(in crate::transform) fn target(&self, region: &Region, block: BlockIndex) -> BlockIndex {
        if self.inner.contains(&block) {
            block
        } else {
            region.beyond(block)
        }
    }
}

/// What slices are made by.
pub(in crate::transform) struct Slicer<'s, 'm> {
    pub(in crate::transform) shape: &'s Shape<'s, 'm>,
    pub(in crate::transform) declarations: &'s Declarations<'m>,
    pub(in crate::transform) effects: &'s Effects<'s, 'm>,
    pub(in crate::transform) variables: &'s Variables,
    /// True if stores to workgroup memory may be copied.
    pub(in crate::transform) can_store: bool,
    /// Variables that are needed with all of their stores, where these may be copied.
    pub(in crate::transform) scratch: Option<&'s Scratch>,
    /// Loads whose values are there already: what they need is not.
    pub(in crate::transform) kept: BTreeSet<Id>,
}

impl<'m> Slicer<'_, 'm> {
    /// Loads of the region whose values come to shared memory in it, in the order of the region:
    /// of memory that others may write, but the loop does not.
    pub(in crate::transform) fn loads(&self) -> Vec<Spot> {
        let mut wanted = BTreeSet::new();
        let mut work: Vec<Id> = Vec::new();
        for block in self.shape.blocks.iter() {
            let insts = self.shape.function.block(*block);
            for (index, inst) in insts
                .iter()
                .flat_map(|block| block.insts.iter().enumerate())
            {
                let is_store = is_store(*inst);
                let writes = self.effects.instruction(*inst).writes;
                if is_store
                    && self.shape.may_precede((*block, index))
                    && !(writes & MemoryRegions::WORKGROUP).is_empty()
                {
                    work.extend(inst.id(1).ok());
                }
            }
        }
        while let Some(id) = work.pop() {
            let Some(spot) = self.shape.spots.get(&id).copied() else {
                continue;
            };
            if !self.shape.may_precede(spot) || !wanted.insert(spot) {
                continue;
            }
            let Some(inst) = self.shape.inst(spot) else {
                continue;
            };
            let uses = self.declarations.module.ids(inst).map(|(_, id)| id);
            work.extend(uses.filter(|used| *used != id));
            if let Some(stores) = inst.id(0).ok().and_then(|id| self.variables.get(&id)) {
                work.extend(stores.iter().map(|(_, value)| *value));
            }
        }
        let blocks = self.shape.region.blocks.iter();
        let all = blocks.flat_map(|block| wanted.range((*block, 0)..=(*block, usize::MAX)));
        all.copied().filter(|spot| self.is_staged(*spot)).collect()
    }

    /// Returns true if the instruction at `spot` is a load of the region whose value can be kept.
    pub(in crate::transform) fn is_staged(&self, spot: Spot) -> bool {
        let inst = self.shape.inst(spot);
        let inst = inst.filter(|inst| inst.op() == Some(Op::Load) && self.shape.is_in_region(spot));
        inst.is_some_and(|inst| {
            let reads = self.effects.instruction(inst).reads;
            !reads.is_empty()
                && (reads & MemoryRegions::WORKGROUP).is_empty()
                && self.is_early(inst)
        })
    }

    /// The slice with the instruction at `spot` as well; `None`: it cannot be computed for another
    /// iteration.
    pub(in crate::transform) fn with(&self, slice: &Slice, spot: Spot) -> Option<Slice> {
        let mut slice = slice.clone();
        let mut work = vec![spot];
        for _ in 0..MOST_ROUNDS {
            while let Some(spot) = work.pop() {
                match self.shape.region.inner_of(spot.0) {
                    Some(entry) => self.take_inner(&mut slice, &mut work, entry)?,
                    None if slice.needed.insert(spot) => {
                        self.take(&mut slice, &mut work, spot)?;
                    }
                    None => {}
                }
            }
            slice.next = self.ways(&slice);
            for (block, next) in &slice.next {
                if !self.decides(*block, next) {
                    continue;
                }
                let branch = self.shape.function.block(*block)?.terminator()?;
                match branch.op() {
                    Some(Op::BranchConditional | Op::Switch) => {
                        self.value(&mut slice.phis, &mut work, branch.id(0).ok()?)?;
                    }
                    _ => return None, // unheard of
                }
            }
            work.retain(|spot| !slice.needed.contains(spot));
            if work.is_empty() {
                return self.is_nested(&slice).then_some(slice);
            }
        }
        None
    }

    /// Returns true if a copy of the branch at the end of `block` has several ways to go, or a
    /// merge block.
    pub(in crate::transform) fn decides(&self, block: BlockIndex, next: &[BlockIndex]) -> bool {
        let exit = self.shape.exit;
        let merge = self
            .shape
            .region
            .merge(block)
            .filter(|_| !is_out(Rule::Arms));
        next.len() > 1
            || (exit.is_first && block == exit.block)
            || merge.is_some_and(|merge| next != [merge])
    }

    /// Where control goes from each block that it comes to, selections passed where that may be.
    fn ways(&self, slice: &Slice) -> BTreeMap<BlockIndex, Vec<BlockIndex>> {
        let region = &self.shape.region;
        let mut alive = BTreeSet::from([self.shape.header]);
        let mut ways = BTreeMap::new();
        for block in &region.blocks {
            if !alive.contains(block) {
                continue;
            }
            let next = match self.passed(slice, *block) {
                Some(merge) => vec![merge],
                None if is_out(Rule::Arms) => {
                    region.succs(*block).iter().take(1).copied().collect()
                }
                None => {
                    let mut next = region.succs(*block).to_vec();
                    for (entry, inner) in self.entered(slice, *block) {
                        let leads = self.shape.leads_to(*block, inner.behind);
                        next.retain(|next| *next != inner.behind || leads);
                        next.push(entry);
                        ways.insert(entry, vec![inner.behind]);
                        alive.insert(inner.behind);
                    }
                    next
                }
            };
            alive.extend(&next);
            ways.insert(*block, next);
        }
        ways
    }

    /// The needed inner loops that control comes to from `block`.
    fn entered<'i>(
        &'i self,
        slice: &'i Slice,
        block: BlockIndex,
    ) -> impl Iterator<Item = (BlockIndex, &'i Inner)> {
        let inner = self.shape.region.inner();
        let needed = slice.inner.iter();
        let needed = needed.filter_map(|entry| Some((*entry, inner.get(entry)?)));
        needed.filter(move |(_, inner)| inner.preds.contains(&block))
    }

    /// The end of the selection that begins at the end of `block`, if nothing of it is needed and
    /// all paths through it lead there.
    fn passed(&self, slice: &Slice, block: BlockIndex) -> Option<BlockIndex> {
        let exit = self.shape.exit;
        let merge = self.shape.region.merge(block)?;
        let between = self.shape.region.between(block, merge);
        let is_closed = !between.contains(&self.shape.block)
            && !(exit.is_first && (block == exit.block || between.contains(&exit.block)));
        let mut blocks = between.iter().chain([&block]);
        let has_inner = blocks.any(|block| self.entered(slice, *block).next().is_some());
        let is_empty = between
            .iter()
            .all(|at| slice.of_block(*at).next().is_none())
            && !has_inner;
        let is_phi = |spot: Spot| self.shape.inst(spot).and_then(|inst| inst.op()) == Some(Op::Phi);
        let is_same = !slice.of_block(merge).any(is_phi);
        (is_closed && is_empty && is_same).then_some(merge)
    }

    /// Returns true if a copy of the slice has selections in selections: what a selection names as
    /// its end is there, and control leaves the loop from none.
    fn is_nested(&self, slice: &Slice) -> bool {
        let is_shader = self.declarations.has_capability(Capability::Shader);
        let exit = self.shape.exit;
        slice.next.iter().all(|(block, next)| {
            if !self.decides(*block, next) || (exit.is_first && *block == exit.block) {
                return true;
            }
            let end = self.shape.function.block(*block).and_then(|of| of.end());
            let names = end.is_some_and(|end| end.op() == Some(Op::SelectionMerge));
            let merge = self.shape.region.merge(*block);
            match merge {
                Some(merge) => {
                    let between = self.shape.region.between(*block, merge);
                    slice.next.contains_key(&merge)
                        && !(exit.is_first && between.contains(&exit.block))
                }
                // A way out of the selections around it.
                None => !names || !is_shader,
            }
        })
    }

    /// Notes what inner loops need: all of their instructions are copied.
    fn take_inner(&self, slice: &mut Slice, work: &mut Vec<Spot>, entry: BlockIndex) -> Option<()> {
        if !slice.inner.insert(entry) {
            return Some(());
        }
        let inner = self.shape.region.inner().get(&entry)?;
        for block in &inner.blocks {
            let insts = &self.shape.function.block(*block)?.insts;
            for (index, inst) in insts.iter().enumerate() {
                let is_label = |id: &Id| {
                    let block = self.shape.block_of(*id);
                    block
                        .is_some_and(|block| inner.blocks.contains(&block) || block == inner.behind)
                };
                let ids = || self.declarations.module.ids(*inst).map(|(_, id)| id);
                match inst.op()? {
                    Op::Branch | Op::LoopMerge | Op::SelectionMerge => {
                        if !ids().all(|id| is_label(&id)) {
                            return None;
                        }
                    }
                    Op::BranchConditional | Op::Switch => {
                        self.value(&mut slice.phis, work, inst.id(0).ok()?)?;
                        if !ids().skip(1).all(|id| is_label(&id)) {
                            return None;
                        }
                    }
                    _ => self.take(slice, work, (*block, index))?,
                }
            }
        }
        Some(())
    }

    /// Notes what an instruction needs.
    fn take(&self, slice: &mut Slice, work: &mut Vec<Spot>, spot: Spot) -> Option<()> {
        let inst = self.shape.inst(spot)?;
        match inst.op()? {
            Op::Phi => {
                for pair in inst.operands().chunks_exact(2) {
                    let [value, _] = *pair else { return None };
                    self.value(&mut slice.phis, work, Id(value))?;
                }
                let from = inst.operands().iter().skip(1).step_by(2);
                let mut from = from.map(|label| self.shape.block_of(Id(*label)));
                from.try_for_each(|block| self.label(work, block?))
            }
            Op::Store => {
                let pointer = inst.id(0).ok()?;
                if self.variables.contains_key(&pointer) {
                    let load = self.load_of(pointer)?;
                    slice.variables.entry(pointer).or_insert(load);
                } else if self.take_scratch(slice, work, pointer) {
                    self.value(&mut slice.phis, work, pointer)?;
                } else {
                    if !self.is_shared(inst) {
                        return None;
                    }
                    self.value(&mut slice.phis, work, pointer)?;
                }
                self.value(&mut slice.phis, work, inst.id(1).ok()?)
            }
            Op::CooperativeMatrixStoreKHR => {
                if !self.is_shared(inst) {
                    return None;
                }
                let mut uses = self.declarations.module.ids(inst);
                uses.try_for_each(|(_, id)| self.value(&mut slice.phis, work, id))
            }
            Op::CooperativeMatrixLoadKHR => {
                // All lanes that come to a barrier are active where the copy is.
                let own = self.effects.own_accesses(inst);
                let is_kept = own.is_some_and(|own| !own.conflicts(&self.shape.private));
                if !is_kept || !self.reads_early(inst) {
                    return None;
                }
                let mut uses = self.declarations.module.ids(inst).skip(2);
                uses.try_for_each(|(_, id)| self.value(&mut slice.phis, work, id))
            }
            Op::Load => {
                if self.kept.contains(&inst.result()?) {
                    return Some(());
                }
                let pointer = inst.id(0).ok()?;
                let Some(stores) = self.variables.get(&pointer) else {
                    let is_scratch = self.take_scratch(slice, work, pointer);
                    let phis = &mut slice.phis;
                    return if is_scratch || self.is_early(inst) {
                        self.value(phis, work, pointer)
                    } else {
                        None
                    };
                };
                slice.variables.insert(pointer, spot);
                let early = stores.iter().map(|(store, _)| *store);
                for store in early.filter(|store| self.shape.may_precede(*store)) {
                    work.push(store);
                }
                Some(())
            }
            _ if is_copied(self.declarations, self.effects, inst) => {
                let mut uses = self.declarations.module.ids(inst).skip(2);
                uses.try_for_each(|(_, id)| self.value(&mut slice.phis, work, id))
            }
            _ => None,
        }
    }

    /// Returns true if a store may be copied: it goes to workgroup memory.
    fn is_shared(&self, store: Inst<'m>) -> bool {
        let writes = self.effects.instruction(store).writes;
        self.can_store && !writes.is_empty() && writes.without(MemoryRegions::WORKGROUP).is_empty()
    }

    /// Notes that the variable is needed that an access through `pointer` goes to, if it is one of
    /// those that only this part uses.
    fn take_scratch(&self, slice: &mut Slice, work: &mut Vec<Spot>, pointer: Id) -> bool {
        let Some((scratch, variable)) = self
            .scratch
            .and_then(|scratch| Some((scratch, scratch.root(pointer)?)))
        else {
            return false;
        };
        if slice.scratch.insert(variable) {
            work.extend(scratch.stores(variable));
        }
        true
    }

    /// Notes that a value is needed; `None`: it is made where nothing is copied.
    fn value(&self, phis: &mut BTreeSet<Id>, work: &mut Vec<Spot>, id: Id) -> Option<()> {
        let Some(spot) = self.shape.spots.get(&id).copied() else {
            return Some(()); // from outside of the loop
        };
        let is_phi = self.shape.inst(spot)?.op() == Some(Op::Phi);
        if is_phi && spot.0 == self.shape.header {
            phis.insert(id);
        } else if self.shape.is_in_region(spot) || self.shape.region.inner_of(spot.0).is_some() {
            work.push(spot);
        } else {
            return None;
        }
        Some(())
    }

    /// A load of a variable in the loop.
    fn load_of(&self, variable: Id) -> Option<Spot> {
        let is_one = |(_, inst): &(usize, &Inst<'_>)| {
            inst.op() == Some(Op::Load) && inst.id(0).ok() == Some(variable)
        };
        self.shape.blocks.iter().find_map(|block| {
            let insts = self.shape.function.block(*block)?.insts.iter();
            let (index, _) = insts.enumerate().find(is_one)?;
            Some((*block, index))
        })
    }

    /// Notes that control comes from `block` in a copy.
    fn label(&self, work: &mut Vec<Spot>, block: BlockIndex) -> Option<()> {
        if self.shape.region.has(block) {
            return Some(());
        }
        self.shape.region.inner_of(block)?;
        work.push((block, 0));
        Some(())
    }

    /// Returns true if a load gives the same in front of the loop or in the iteration before: the
    /// loop does not change what it reads.
    fn is_early(&self, load: Inst<'m>) -> bool {
        self.shape.keeps_own(self.effects, load) && self.reads_early(load)
    }

    /// As [`is_early`](Self::is_early), for memory that is not of the invocation alone.
    fn reads_early(&self, load: Inst<'m>) -> bool {
        let effect = self.effects.instruction(load);
        let is_free = effect.reads.is_empty() || !self.shape.changes(effect);
        !effect.ordering_barrier && is_free && is_plain(self.declarations, load)
    }
}
