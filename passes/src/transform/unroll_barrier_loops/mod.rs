//! Completely unrolls loops with barriers and a constant number of iterations: code of the next
//! iteration then follows the barrier, and arrives, waits and other instructions move to it without
//! passing a back edge. In loops that are not unrolled, inner loops that copy to workgroup memory
//! are: `prefetch-barrier-loop-loads` then has their loads in a row.
//!
//! Loops with one way in, one way back, and one way out by a branch that every iteration comes to;
//! whose LoopControl does not say DontUnroll; and whose copies have at most so many instructions
//! together as the option says. Innermost loops go first. The condition follows from constants
//! alone (`trips.rs`). Loops with several ways to the next iteration stay: without the loop these
//! are branches out of selections.
//!
//! The last copy keeps the ids of the loop, and with them what stands behind it stays as it is; the
//! earlier ones get ids and decorations of their own.

mod copy;
mod trips;
mod unrollable;

use super::edit::Edit;
use super::inlined::{entries, inlined, repeat};
use super::move_split_barriers::look;
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::analysis::cfg::Cfg;
use crate::analysis::loops::{Loop, Loops};
use crate::analysis::pairing::SiteKind;
use crate::analysis::uniformity::memory::class_of;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{BlockIndex, Constants, Declarations, Function, Inst, Module, SpecValues};
use copy::Unrolling;
use spirv::{LoopControl, Op, StorageClass};
use unrollable::Unrollable;

/// Loops of a function that are looked at, and that are unrolled.
const MOST_LOOPS: usize = 64;

/// Iterations of a loop.
const MOST_TRIPS: usize = 1024;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let PassOptions::Unroll(most) = *options else {
        return Err(Diagnostic::bug("the pass has no limit for unrolling").into());
    };
    if !module.instructions().any(is_barrier) {
        return Ok(None);
    }
    inlined(module, declarations, |declarations| {
        unroll(declarations, most as usize, Unrolled::All)
    })
}

/// Which loops are unrolled.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Unrolled {
    /// Those with barriers, and in others with barriers those that copy to shared memory.
    All,
    /// The latter alone.
    Copies,
}

/// Unrolls loops of a module with inlined barriers, the smallest first.
pub(super) fn unroll(
    declarations: &Declarations<'_>,
    most: usize,
    which: Unrolled,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let one = |declarations: &Declarations<'_>| unroll_one(declarations, most, which);
    let done = one(declarations)?;
    repeat(done, MOST_LOOPS, one)
}

/// Unrolls the smallest loop that can be.
fn unroll_one(
    declarations: &Declarations<'_>,
    most: usize,
    which: Unrolled,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
    let fixed = constants.without_defaults();
    for (entry, function) in entries(declarations) {
        let (_, cfg) = look(
            declarations,
            &constants,
            entry,
            function,
            false,
            &mut diagnostics,
        )?;
        let loops = Loops::analyze(&cfg, MOST_LOOPS);
        let mut natural: Vec<&Loop> = loops.natural.iter().flatten().collect();
        natural.sort_by_key(|one| (one.body.len(), one.header));
        for natural in natural {
            let unrollable = unrollable(declarations, function, &cfg, &loops, natural);
            let is_one = |found: &Unrollable<'_, '_>| {
                which == Unrolled::All || !found.insts().any(is_barrier)
            };
            let Some(unrollable) = unrollable.filter(is_one) else {
                continue;
            };
            let size: usize = unrollable.insts().count();
            let trips = most / size.max(1);
            let Some(stays) =
                trips::stays(declarations, &fixed, &unrollable, trips.min(MOST_TRIPS))
            else {
                continue;
            };
            let mut edit = Edit::new(declarations);
            Unrolling::new(&mut edit, &unrollable).run(stays)?;
            return edit.finish();
        }
    }
    Ok(None)
}

fn is_barrier(inst: Inst<'_>) -> bool {
    SiteKind::from_inst(inst).is_some_and(|kind| kind != SiteKind::MemoryBarrier)
}

fn unrollable<'f, 'm>(
    declarations: &Declarations<'m>,
    function: &'f Function<'m>,
    cfg: &'f Cfg,
    loops: &'f Loops,
    natural: &Loop,
) -> Option<Unrollable<'f, 'm>> {
    let header = natural.header;
    let (latch, front) = natural.latch_and_front(cfg)?;
    let is_inside = |block: &BlockIndex| natural.body.contains(block);
    let leaves = |at: &&BlockIndex| !cfg.succs(**at).iter().all(is_inside);
    let leaving: Vec<&BlockIndex> = natural.body.iter().filter(leaves).collect();
    let [exit] = leaving.as_slice() else {
        return None;
    };
    let exit = **exit;
    let innermost = loops.innermost(cfg.len())?;
    let is_own = |block: &&BlockIndex| innermost.get(**block) == innermost.get(header);
    if !is_own(&&exit) || !loops.dominators.dominates(exit, latch) {
        return None;
    }
    let branch = function.block(exit)?.terminator()?;
    let target = |index| cfg.index_of(branch.id(index).ok()?);
    let (then, otherwise) = (target(1)?, target(2)?);
    let stays_if_true = is_inside(&then);
    if branch.op() != Some(Op::BranchConditional) || stays_if_true == is_inside(&otherwise) {
        return None;
    }
    let (stays, leaves) = if stays_if_true {
        (then, otherwise)
    } else {
        (otherwise, then)
    };
    let merge = function.block(header)?.end()?;
    if merge.op() == Some(Op::LoopMerge) {
        let control = LoopControl::from_bits_truncate(merge.operand(2).ok()?);
        let next = cfg.index_of(merge.id(1).ok()?)?;
        let reachable = |block: &&BlockIndex| cfg.is_reachable(**block);
        let ways = cfg.preds(next).iter().filter(reachable).count();
        // The header may be its own continue target.
        if control.contains(LoopControl::DONT_UNROLL) || (next != header && ways > 1) {
            return None;
        }
    } else if declarations.has_capability(spirv::Capability::Shader) {
        return None;
    }
    let unrollable = Unrollable {
        function,
        cfg,
        dominators: &loops.dominators,
        blocks: natural.body.clone(),
        own: natural.body.iter().filter(is_own).copied().collect(),
        header,
        latch,
        front,
        exit,
        stays,
        leaves,
        stays_if_true,
    };
    let has_barrier = unrollable.insts().any(is_barrier);
    let is_wanted = has_barrier
        || (copies(declarations, &unrollable) && is_in_barrier_loop(function, loops, natural));
    (is_wanted && unrollable.is_in_order()).then_some(unrollable)
}

/// Returns true if a loop loads from memory that workgroups share, and stores to that of the
/// workgroup.
fn copies(declarations: &Declarations<'_>, unrollable: &Unrollable<'_, '_>) -> bool {
    let (mut loads, mut stores) = (false, false);
    for inst in unrollable.insts() {
        let class = inst.id(0).ok().and_then(|id| class_of(declarations, id));
        match (inst.op(), class) {
            (
                Some(Op::Load),
                Some(
                    StorageClass::Uniform
                    | StorageClass::StorageBuffer
                    | StorageClass::PhysicalStorageBuffer
                    | StorageClass::CrossWorkgroup,
                ),
            ) => loads = true,
            (Some(Op::Store), Some(StorageClass::Workgroup)) => stores = true,
            _ => {} // no matter
        }
    }
    loads && stores
}

/// Returns true if a loop is in one that has a barrier.
fn is_in_barrier_loop(function: &Function<'_>, loops: &Loops, natural: &Loop) -> bool {
    let around = loops
        .natural
        .iter()
        .flatten()
        .filter(|one| one.header != natural.header && one.body.contains(&natural.header));
    let mut blocks = around.flat_map(|one| &one.body);
    blocks.any(|block| {
        let block = function.block(*block);
        block.is_some_and(|block| block.insts.iter().copied().any(is_barrier))
    })
}
