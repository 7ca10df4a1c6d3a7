//! Checks that a loop can be pipelined, and finds the part that moves.

use super::contents::Contents;
use super::copies::copying_stores;
use super::depth::Depth;
use super::unguarded::can_run_always;
use super::work::Work;
use crate::analysis::async_copy;
use crate::analysis::cfg::Cfg;
use crate::analysis::layout::Extents;
use crate::analysis::loops::Loops;
use crate::analysis::pairing::{Open, Pairing};
use crate::analysis::phases::{Body, Effects, MemoryRegions, Own, Role};
use crate::analysis::uniformity::memory::Memory;
use crate::module::{BlockIndex, Constants, Declarations, Function, Id, Inst, Scope, WordOffset};
use crate::transform::barrier_loop::arrays::{Arrays, array_of, is_store};
use crate::transform::barrier_loop::kept::words;
use crate::transform::barrier_loop::private;
use crate::transform::barrier_loop::reason::Reason;
use crate::transform::barrier_loop::scratch::Scratch;
use crate::transform::barrier_loop::shape::Shape;
use crate::transform::barrier_loop::slice::{Slice, Slicer};
use crate::transform::barrier_loop::values::Variables;
use crate::transform::operands::{Fence, VOLATILE, fence};
use crate::transform::options::{Ahead, PipelineLoops};
use crate::transform::whole_variables::Spot;
use spirv::{Capability, Op};
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// What is known of an entry function.
pub(super) struct Facts<'f, 'm> {
    pub(super) declarations: &'f Declarations<'m>,
    pub(super) constants: &'f Constants,
    pub(super) function: &'f Function<'m>,
    pub(super) effects: &'f Effects<'f, 'm>,
    pub(super) body: &'f Body,
    pub(super) cfg: &'f Cfg,
    pub(super) loops: &'f Loops,
    pub(super) pairing: &'f Pairing,
    /// Returns true if all of the workgroup executes a block together.
    pub(super) is_uniform: &'f dyn Fn(BlockIndex) -> bool,
    /// Variables with all of their stores.
    pub(super) variables: &'f Variables,
    /// Of workgroup memory, that the entry point takes.
    pub(super) bytes: u64,
    /// The stores that asynchronous copies can replace, once they are asked for.
    pub(super) copying: &'f OnceCell<BTreeSet<WordOffset>>,
    pub(super) options: PipelineLoops,
}

impl Facts<'_, '_> {
    /// Returns true if no arrive of the workgroup is open before the instruction at `offset`.
    pub(super) fn is_closed(&self, offset: WordOffset) -> bool {
        self.pairing.open_before(Scope::Workgroup, offset) == Open::Never
    }
}

/// A loop that can be pipelined, as far as is known without writing it.
pub(super) struct Pipeline<'p, 'm> {
    pub(super) facts: &'p Facts<'p, 'm>,
    pub(super) shape: &'p Shape<'p, 'm>,
    pub(super) depth: Depth,
    pub(super) work: Work,
    pub(super) arrays: Arrays<'m>,
    /// Variables with their stores in the loop.
    pub(super) variables: Variables,
    /// Variables that the stage alone uses.
    pub(super) scratch: Scratch,
    /// The stores to the arrays.
    pub(super) stores: Vec<Inst<'m>>,
    /// All that the stores need.
    pub(super) stage: Slice,
    /// The parts of it that give the values of loads, and that store them.
    pub(super) halves: Option<Halves<'m>>,
    /// What both barriers order.
    pub(super) fence: Fence,
    /// The first instruction that is executed after the loop and is no phi.
    pub(super) after: WordOffset,
    /// True if the loop has to be passed where it has no iteration: its barriers are not executed
    /// then.
    pub(super) is_passed: bool,
}

/// A stage in two parts: values of loads are kept from one to the other.
pub(super) struct Halves<'m> {
    pub(super) loads: Slice,
    pub(super) stores: Slice,
    pub(super) kept: Vec<Inst<'m>>,
    /// True if the stores are executed in the last iteration as well.
    pub(super) always_stores: bool,
}

impl<'p, 'm> Pipeline<'p, 'm> {
    /// What becomes of the loop `shape`, if the part `ahead` runs ahead.
    ///
    /// # Errors
    /// Why it stays.
    pub(super) fn find(
        facts: &'p Facts<'p, 'm>,
        shape: &'p Shape<'p, 'm>,
        ahead: Ahead,
    ) -> Result<Self, Reason> {
        if !shape.has_one_exit {
            return Err(Reason::Exits);
        }
        let work = Work::find(shape, facts.cfg, facts.body)?;
        work.check_exit(shape)?;
        let header = facts
            .function
            .block(work.last.0)
            .and_then(|block| block.end());
        if header.is_some_and(|end| end.op() == Some(Op::LoopMerge)) {
            return Err(Reason::HeaderBarrier);
        }
        let fence = order(facts, shape, &work)?;
        let (after, is_passed) = around(facts, shape)?;
        let (spots, variables) = staged_stores(facts, shape)?;
        // An array with one buffer holds what it held.
        let has_buffers = ahead.has_buffers();
        let buffers = if has_buffers {
            facts.options.buffers.count()
        } else {
            Depth::ONE.buffers
        };
        let arrays = arrays(facts, shape, variables, buffers)?;
        check_accesses(facts, shape, &work, &arrays)?;
        work.check_order(shape, facts.body, &arrays)?;
        if has_buffers {
            check_buffers(facts, shape, &arrays, buffers)?;
        }
        let mut variables = facts.variables.clone();
        for stores in variables.values_mut() {
            stores.retain(|(spot, _)| shape.blocks.contains(&spot.0));
        }
        let scratch = Scratch::find(facts.declarations, shape);
        let (stage, mut halves) = slices((facts, ahead), shape, &variables, &scratch, &spots)?;
        let depth = if has_buffers {
            Depth::new(facts.options.buffers, halves.is_some())
        } else {
            Depth::ONE
        };
        if depth.encloses_work && barriers(facts, shape) > 2 {
            return Err(Reason::BarrierInWork);
        }
        if has_buffers && !facts.options.plain {
            work.check_window(shape, facts.body, &arrays, depth.encloses_work)?;
        }
        if let Some(halves) = &mut halves {
            // The places of the stores are then those of any iteration.
            halves.always_stores = facts.options.always_store
                && (has_buffers || check_contents(facts, shape, &arrays).is_ok())
                && can_run_always(facts.declarations, shape, &halves.stores, &halves.kept);
        }
        let stores = spots.iter().filter_map(|spot| shape.inst(*spot)).collect();
        Ok(Pipeline {
            facts,
            shape,
            depth,
            work,
            arrays,
            variables,
            scratch,
            stores,
            stage,
            halves,
            fence,
            after,
            is_passed,
        })
    }
}

/// Barriers of the workgroup in the loop.
pub(super) fn barriers(facts: &Facts<'_, '_>, shape: &Shape<'_, '_>) -> usize {
    let blocks = shape.blocks.iter();
    let items = blocks.flat_map(|block| facts.body.block(*block));
    let barriers = items.filter(|item| matches!(item.role, Role::Half(..)));
    barriers.count()
}

/// What both barriers of an iteration order together.
pub(super) fn order(
    facts: &Facts<'_, '_>,
    shape: &Shape<'_, '_>,
    work: &Work,
) -> Result<Fence, Reason> {
    let mut union: Option<Fence> = None;
    for (block, index) in [(shape.block, shape.barrier), work.last] {
        let item = facts.body.block(block).get(index).ok_or(Reason::Region)?;
        let Role::Half(number, _) = item.role else {
            return Err(Reason::Region);
        };
        let barrier = facts.body.barriers.get(number).ok_or(Reason::Region)?;
        let orders = barrier.orders;
        if !barrier.is_known || !MemoryRegions::WORKGROUP.without(orders).is_empty() {
            return Err(Reason::Semantics);
        }
        let inst = facts.declarations.module.at(item.offset);
        let one = inst.and_then(|inst| fence(facts.declarations, inst));
        let one = one.ok_or(Reason::Semantics)?;
        union = Some(match union {
            None => one,
            Some(other) => other.union(one).ok_or(Reason::Semantics)?,
        });
    }
    let fence = union.ok_or(Reason::Semantics)?;
    let is_kernel = facts.declarations.has_capability(Capability::Kernel);
    let has_halves = !is_kernel || (fence.releases() && fence.acquires());
    if fence.bits & VOLATILE == 0 && has_halves {
        Ok(fence)
    } else {
        Err(Reason::Semantics)
    }
}

/// Where control goes after the loop, where nothing is open, and whether the loop has to be passed
/// where it has no iteration: then it may not be all of the workgroup that comes to it.
fn around(facts: &Facts<'_, '_>, shape: &Shape<'_, '_>) -> Result<(WordOffset, bool), Reason> {
    let target = shape.exit.target;
    let is_one_way = facts.cfg.preds(target) == [shape.exit.block];
    let block = facts.function.block(target).ok_or(Reason::Exits)?;
    let first = block.after_phis().filter(|_| is_one_way);
    let first = first.ok_or(Reason::Exits)?;
    if !facts.is_closed(shape.front_end) || !facts.is_closed(first.offset) {
        return Err(Reason::Open);
    }
    let is_passed = shape.exit.is_first && ![shape.front, target].into_iter().all(facts.is_uniform);
    if is_passed && !can_be_passed(facts, shape, target) {
        return Err(Reason::NotUniform);
    }
    Ok((first.offset, is_passed))
}

/// Returns true if nothing after the loop uses values of it but variables, and control can go there
/// from before the loop.
fn can_be_passed(facts: &Facts<'_, '_>, shape: &Shape<'_, '_>, target: BlockIndex) -> bool {
    let label = facts.function.block(target).map(|block| block.label.0);
    facts.function.numbered().all(|(number, block)| {
        let is_inside = shape.blocks.contains(&number);
        block.insts.iter().all(|inst| {
            let is_continue =
                inst.op() == Some(Op::LoopMerge) && inst.id(1).ok().map(|id| id.0) == label;
            let mut ids = facts.declarations.module.ids(*inst).map(|(_, id)| id);
            !is_continue && (is_inside || !ids.any(|id| shape.spots.contains_key(&id)))
        })
    })
}

/// The stores to workgroup memory before the first barrier, in the order of the stage, and the
/// arrays that they go to.
pub(super) fn staged_stores(
    facts: &Facts<'_, '_>,
    shape: &Shape<'_, '_>,
) -> Result<(Vec<Spot>, BTreeSet<Id>), Reason> {
    let (mut spots, mut arrays) = (Vec::new(), BTreeSet::new());
    for block in &shape.blocks {
        for (index, item) in facts.body.block(*block).iter().enumerate() {
            let spot = (*block, index);
            let writes = item.effect.writes & MemoryRegions::WORKGROUP;
            if writes.is_empty() || !shape.may_precede(spot) {
                continue;
            }
            if !shape.is_in_region(spot) && shape.region.inner_of(*block).is_none() {
                return Err(Reason::StoreInLoop);
            }
            let store = shape.inst(spot).filter(|inst| is_store(*inst));
            let store = store.ok_or(Reason::Pointers)?;
            let pointer = store.id(0).map_err(|_| Reason::Pointers)?;
            arrays.insert(array_of(facts.declarations, pointer).ok_or(Reason::Pointers)?);
            spots.push(spot);
        }
    }
    if spots.is_empty() {
        return Err(Reason::NoStores);
    }
    Ok((spots, arrays))
}

/// The arrays `variables`, with what leads into them.
pub(super) fn arrays<'m>(
    facts: &Facts<'_, 'm>,
    shape: &Shape<'_, 'm>,
    variables: BTreeSet<Id>,
    buffers: u32,
) -> Result<Arrays<'m>, Reason> {
    let mut arrays = Arrays::find(facts.declarations, facts.function, variables)?;
    if buffers > 1 {
        let is_inside = |spot: Spot| shape.blocks.contains(&spot.0);
        arrays.reuse(facts.declarations, buffers, is_inside);
    }
    Ok(arrays)
}

/// That the arrays are stored to by the stage, read by the work, and nothing else but code that is
/// executed in place of the loop.
pub(super) fn check_accesses(
    facts: &Facts<'_, '_>,
    shape: &Shape<'_, '_>,
    work: &Work,
    arrays: &Arrays<'_>,
) -> Result<(), Reason> {
    let together = with(facts.cfg, shape);
    for (spot, access) in &arrays.accesses {
        let is_store = access.result().is_none();
        if !shape.blocks.contains(&spot.0) {
            if together.contains(&spot.0) {
                return Err(Reason::UsedElsewhere);
            }
            continue;
        }
        match (work.has(*spot), is_store) {
            (true, true) => return Err(Reason::WrittenLate),
            (false, false) => return Err(Reason::ReadEarly),
            (false, true) if !shape.may_precede(*spot) => return Err(Reason::WrittenLate),
            (true, false) | (false, true) => {}
        }
    }
    Ok(())
}

/// The blocks that one invocation can come to besides the loop: before it or after it.
fn with(cfg: &Cfg, shape: &Shape<'_, '_>) -> BTreeSet<BlockIndex> {
    let mut found = shape.blocks.clone();
    for next in [Cfg::succs, Cfg::preds] {
        let mut seen = shape.blocks.clone();
        let mut work: Vec<BlockIndex> = shape.blocks.iter().copied().collect();
        while let Some(at) = work.pop() {
            work.extend(next(cfg, at).iter().filter(|block| seen.insert(**block)));
        }
        found.extend(seen);
    }
    found
}

/// That the arrays can have several buffers, as far as memory and their contents are concerned.
pub(super) fn check_buffers<'m>(
    facts: &Facts<'_, 'm>,
    shape: &Shape<'_, 'm>,
    arrays: &Arrays<'m>,
    buffers: u32,
) -> Result<(), Reason> {
    let memory = memory(facts, arrays, buffers).ok_or(Reason::Layout)?;
    if memory > u64::from(facts.options.most_memory) {
        return Err(Reason::Memory);
    }
    check_contents(facts, shape, arrays)
}

/// Bytes of workgroup memory that the entry point takes with several buffers.
fn memory(facts: &Facts<'_, '_>, arrays: &Arrays<'_>, buffers: u32) -> Option<u64> {
    let mut extents = Extents::new(facts.declarations, facts.constants);
    let mut bytes = facts.bytes;
    let grown = arrays.variables.iter();
    for variable in grown.filter(|variable| !arrays.is_spare(**variable)) {
        let pointee = facts.declarations.pointee_of(*variable)?;
        let more = extents
            .of(pointee)?
            .size
            .checked_mul(u64::from(buffers) - 1)?;
        bytes = bytes.checked_add(more)?;
    }
    Some(bytes)
}

/// That each iteration stores all that it reads.
fn check_contents<'m>(
    facts: &Facts<'_, 'm>,
    shape: &Shape<'_, 'm>,
    arrays: &Arrays<'m>,
) -> Result<(), Reason> {
    let mut around = shape.blocks.clone();
    for one in facts.loops.natural.iter().flatten() {
        if one.body.contains(&shape.header) {
            around.extend(&one.body);
        }
    }
    let mut made = BTreeSet::new();
    let mut changes = MemoryRegions::NONE;
    let mut private = Own::default();
    for block in &around {
        let insts = facts.function.block(*block).into_iter();
        for inst in insts.flat_map(|block| &block.insts) {
            made.extend(inst.result());
            private::add(&mut private, facts.effects, *inst);
        }
        for item in facts.body.block(*block) {
            changes |= item.effect.writes | item.effect.publishes;
        }
    }
    let contents = Contents {
        shape,
        declarations: facts.declarations,
        effects: facts.effects,
        variables: facts.variables,
        arrays,
        made: &made,
        changes,
        private: &private,
        loops: facts.loops,
        around: &around,
    };
    contents.check()
}

/// What the stores need, and its parts where loads are to run ahead alone.
fn slices<'m>(
    (facts, ahead): (&Facts<'_, 'm>, Ahead),
    shape: &Shape<'_, 'm>,
    variables: &Variables,
    scratch: &Scratch,
    spots: &[Spot],
) -> Result<(Slice, Option<Halves<'m>>), Reason> {
    let mut slicer = Slicer {
        shape,
        declarations: facts.declarations,
        effects: facts.effects,
        variables,
        can_store: true,
        scratch: Some(scratch),
        kept: BTreeSet::new(),
    };
    let stage = all(&slicer, spots)?;
    match ahead {
        Ahead::Copies if is_copied(facts, shape, spots) => Ok((stage, None)),
        Ahead::Stage | Ahead::Nothing => Ok((stage, None)),
        Ahead::Loads | Ahead::LoadsOfOneBuffer => {
            let halves = halves(facts, &mut slicer, spots)?;
            Ok((stage, Some(halves)))
        }
        Ahead::Either | Ahead::Copies => {
            let halves = halves(facts, &mut slicer, spots).ok();
            Ok((stage, halves))
        }
    }
}

/// Returns true if asynchronous copies can take the place of the stores.
fn is_copied(facts: &Facts<'_, '_>, shape: &Shape<'_, '_>, spots: &[Spot]) -> bool {
    let copying = facts.copying.get_or_init(|| {
        copying_stores(async_copy::Input {
            declarations: facts.declarations,
            constants: facts.constants,
            memory: &Memory::analyze(facts.declarations),
            function: facts.function,
            cfg: facts.cfg,
            size: None,
        })
    });
    let mut stores = spots.iter().filter_map(|spot| shape.inst(*spot));
    stores.all(|store| copying.contains(&store.offset))
}

/// What the stores need in two parts.
fn halves<'m>(
    facts: &Facts<'_, 'm>,
    slicer: &mut Slicer<'_, 'm>,
    spots: &[Spot],
) -> Result<Halves<'m>, Reason> {
    let shape = slicer.shape;
    if spots.iter().any(|spot| !shape.is_in_region(*spot)) {
        return Err(Reason::StoreInLoop);
    }
    let candidates = slicer.loads();
    let result = |spot: &Spot| shape.inst(*spot).and_then(|inst| inst.result());
    slicer.kept = candidates.iter().filter_map(result).collect();
    let stores = all(slicer, spots)?;
    let is_kept = |spot: &&Spot| result(spot).is_some_and(|id| slicer.kept.contains(&id));
    let loads: Vec<Spot> = stores.needed.iter().filter(is_kept).copied().collect();
    if loads.is_empty() {
        return Err(Reason::NoLoads);
    }
    let kept: Vec<Inst<'m>> = loads.iter().filter_map(|spot| shape.inst(*spot)).collect();
    let words = words(facts.declarations, facts.constants, kept.iter().copied());
    if words.is_none_or(|words| words > u64::from(facts.options.most_words)) {
        return Err(Reason::Registers);
    }
    slicer.kept.clear();
    // Each of their accesses is executed once in an iteration: with the stores.
    slicer.scratch = None;
    Ok(Halves {
        loads: all(slicer, &loads)?,
        stores,
        kept,
        always_stores: false,
    })
}

/// What all of `spots` need.
fn all(slicer: &Slicer<'_, '_>, spots: &[Spot]) -> Result<Slice, Reason> {
    let mut slice = Slice::default();
    for spot in spots {
        slice = slicer.with(&slice, *spot).ok_or(Reason::NotEarly)?;
    }
    Ok(slice)
}
