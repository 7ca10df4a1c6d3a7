//! Replaces OpControlBarriers of the workgroup by barriers of the subgroup, if they keep only
//! accesses of one subgroup apart: the last steps of a reduction, or an array in which each
//! subgroup has rows of its own. Waves then do not wait for each other.
//!
//! The value N is the number of invocations of a subgroup, or a divisor of it. Subgroup number n
//! consists of the N invocations whose LocalInvocationIndex begins at n * N. AMD and NVIDIA GPUs
//! form waves and warps in this way; Vulkan does not guarantee it.
//!
//! A barrier is narrowed if no access before it conflicts with an access after it. Accesses of a
//! workgroup array do not count if no element is shared between subgroups. To find the elements,
//! the pass executes the function once for each invocation (`invocation.rs`, `touched.rs`). The
//! accesses before and after a barrier reach to the next barriers of the workgroup that stay. The
//! pass visits one barrier after the other; one that was narrowed no longer ends these ranges.
//!
//! These barriers stay: pairs; barriers in an open pair; barriers without conflicts, which
//! `eliminate-redundant-control-barriers` removes; barriers with operands from specialization
//! constants or with Volatile; barriers with a memory scope beyond the workgroup, if atomic
//! operations may publish what they order. Nothing changes in kernels with a workgroup of unknown
//! size. The pass works on entry functions and inlines functions first. A barrier in a loop is
//! narrowed only if all iterations allow it; `unroll-barrier-loops` can unroll the loop first.
//!
//! A few invocations of several subgroups come first: most barriers keep accesses of them apart.

mod invocation;
mod touched;

use super::edit::Edit;
use super::inline::inline_functions;
use super::inlined::{entries, follow};
use super::move_split_barriers::look;
use super::operands::{self, Fence};
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::analysis::cfg::Cfg;
use crate::analysis::phases::{Body, MemoryRegions, Openness, Role, Side, Zones, still_ordered};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{
    BlockIndex, Constants, Declarations, EntryPoint, Function, Module, SpecValues, WordOffset,
};
use invocation::Invocations;
use spirv::Op;
use std::collections::BTreeSet;
use touched::Accesses;

/// Instructions that are looked at in one function; barriers that were not reached then stay.
const MOST_WORK: usize = 1 << 26;

/// Pairs of accesses that are compared in one function.
const MOST_PAIRS: usize = 1 << 16;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let PassOptions::Subgroups { size, kept } = options else {
        return Err(Diagnostic::bug("the size of a subgroup is missing").into());
    };
    let is_whole = |op| op == Some(Op::ControlBarrier);
    if !module.instructions().any(|inst| is_whole(inst.op())) {
        return Ok(None);
    }
    match inline_functions(module, declarations, |_| true)? {
        None => narrow_all(declarations, *size, &|offset| kept.contains(&offset)),
        Some(first) => follow(&first, |declarations| {
            let given = |offset| first.source_map.of(offset);
            let is_kept = |offset| given(offset).is_some_and(|word| kept.contains(&word));
            narrow_all(declarations, *size, &is_kept)
        }),
    }
}

/// Narrows the barriers of a module whose functions are inlined, but for those that `is_kept`.
fn narrow_all(
    declarations: &Declarations<'_>,
    size: u32,
    is_kept: &dyn Fn(WordOffset) -> bool,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let spec = SpecValues::default();
    let constants = Constants::evaluate(declarations, &spec, &mut diagnostics);
    let fixed = constants.without_defaults();
    let mut edit = Edit::new(declarations);
    for (entry, function) in entries(declarations) {
        let (body, cfg) = look(
            declarations,
            &constants,
            entry,
            function,
            false,
            &mut diagnostics,
        )?;
        // A smaller subgroup that the entry point requires is a part of a wave.
        let required = entry.subgroup_size().filter(|size| size.is_power_of_two());
        let kernel = Kernel {
            declarations,
            entry,
            function,
            cfg: &cfg,
            subgroup: required.unwrap_or(size).min(size).max(1) as usize,
            is_kept,
        };
        for offset in kernel.narrowed(&body, &fixed)? {
            narrow(&mut edit, offset)?;
        }
    }
    edit.finish()
}

/// Makes a barrier of the subgroup of the one at `offset`.
fn narrow(edit: &mut Edit<'_, '_>, offset: WordOffset) -> Result<(), Diagnostics> {
    let inst = edit.module().at(offset);
    let fence = inst.and_then(|inst| operands::fence(edit.declarations, inst));
    let Some(fence) = fence else {
        let lost = Diagnostic::bug("a barrier that was narrowed has no constant operands");
        return Err(lost.at_word(offset).into());
    };
    // OpenCL orders images at the scope Workgroup only (SB1122).
    let scope = if fence.bits & operands::IMAGE_MEMORY == 0 {
        operands::SUBGROUP
    } else {
        fence.scope
    };
    let fence = Fence { scope, ..fence };
    let words = operands::barrier_operands(edit, operands::SUBGROUP, fence)?;
    Ok(edit.replace(offset, Op::ControlBarrier, &words)?)
}

/// An entry function whose barriers may be narrowed.
struct Kernel<'k, 'm> {
    declarations: &'k Declarations<'m>,
    entry: &'k EntryPoint<'m>,
    function: &'k Function<'m>,
    cfg: &'k Cfg,
    /// Invocations of a subgroup.
    subgroup: usize,
    /// True for barriers that stay.
    is_kept: &'k dyn Fn(WordOffset) -> bool,
}

impl Kernel<'_, '_> {
    /// The places of the barriers of `body` that become barriers of the subgroup.
    ///
    /// # Errors
    /// In debug builds, that one of them keeps accesses of several subgroups apart: a bug.
    fn narrowed(&self, body: &Body, constants: &Constants) -> Result<Vec<WordOffset>, Diagnostic> {
        let size = self.declarations.workgroup_size(self.entry, constants);
        let Some(size) = size.filter(|size| size.iter().all(|axis| (1..=1024).contains(axis)))
        else {
            return Ok(Vec::new());
        };
        let invocations =
            Invocations::new(self.declarations, constants, self.function, self.cfg, size);
        let whole = body.noticed();
        let accesses =
            |some: &[usize]| Accesses::analyze(self.declarations, &whole, &invocations, some);
        let mut search = Search {
            kernel: self,
            publishes: whole.publishes(),
            left: whole.clone(),
            work: 0,
            pairs: MOST_PAIRS,
        };
        let Some(few) = accesses(&self.some(invocations.count())) else {
            return Ok(Vec::new());
        };
        let mut open: Vec<usize> = (0..whole.barriers.len())
            .filter(|number| search.is_of_one_subgroup(*number, &few) == Some(true))
            .collect();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let all: Vec<usize> = (0..invocations.count()).collect();
        let Some(all) = accesses(&all) else {
            return Ok(Vec::new());
        };
        (search.work, search.pairs) = (0, MOST_PAIRS);
        let mut narrowed = Vec::new();
        // A barrier may get conflicts when the next one no longer ends its range.
        loop {
            let known = open.len();
            open.retain(|number| {
                let is_narrowed = search.has_conflicts(*number)
                    && search.is_of_one_subgroup(*number, &all) == Some(true);
                if is_narrowed {
                    search.remove(*number);
                    narrowed.push(*number);
                }
                !is_narrowed
            });
            if open.len() == known {
                break;
            }
        }
        if cfg!(debug_assertions) {
            self.check(&whole, &search.left, &all)?;
        }
        narrowed.sort_unstable();
        let barriers = narrowed
            .iter()
            .filter_map(|number| whole.barriers.get(*number));
        Ok(barriers
            .flat_map(|barrier| barrier.arrives.iter().copied())
            .collect())
    }

    /// A few of `count` invocations, of several subgroups: neighbours at the borders of subgroups.
    fn some(&self, count: usize) -> Vec<usize> {
        let size = self.subgroup;
        let last = count.saturating_sub(1);
        let some = [0, 1, size - 1, size, size + 1, count / 2, last];
        let some: BTreeSet<usize> = some.into_iter().filter(|index| *index < count).collect();
        some.into_iter().collect()
    }

    /// Checks that the barriers of `left` order all that those of `whole` do, but for accesses that
    /// conflict in one subgroup alone. It finds the accesses that become concurrent in another way
    /// than the search.
    fn check(&self, whole: &Body, left: &Body, accesses: &Accesses) -> Result<(), Diagnostic> {
        let lost = still_ordered((whole, self.cfg), (left, self.cfg), &Some);
        for (one, other) in lost.into_iter().flatten() {
            let crosses = match (accesses.get(one), accesses.get(other)) {
                (Some(one), Some(other)) => one.crosses(other, self.subgroup),
                _ => true,
            };
            if crosses {
                let what = "a narrowed barrier kept accesses of several subgroups apart";
                return Err(Diagnostic::bug(what).at_word(one));
            }
        }
        Ok(())
    }

    /// Returns true if the memory scope of the barrier at `offset` is wider than the workgroup.
    fn is_wide(&self, offset: Option<&WordOffset>) -> bool {
        let inst = offset.and_then(|offset| self.declarations.module.at(*offset));
        let fence = inst.and_then(|inst| operands::fence(self.declarations, inst));
        fence.is_none_or(|fence| ![operands::WORKGROUP, operands::SUBGROUP].contains(&fence.scope))
    }

    /// The accesses to workgroup memory from `start` on, or back from it, to barriers that order
    /// them.
    fn reach(&self, body: &Body, start: Spot, forward: bool) -> BTreeSet<WordOffset> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut work = vec![if forward {
            (start.0, start.1 + 1)
        } else {
            start
        }];
        let ends = |role: Role| match role {
            Role::Half(number, side) => {
                let orders = body
                    .barriers
                    .get(number)
                    .is_some_and(|barrier| !(barrier.orders & MemoryRegions::WORKGROUP).is_empty());
                let end = if forward { Side::Wait } else { Side::Arrive };
                orders && (side == end || side == Side::Both)
            }
            Role::First | Role::Plain | Role::Last => false,
        };
        while let Some((block, at)) = work.pop() {
            let items = body.block(block);
            let (part, nexts) = if forward {
                (items.get(at..), self.cfg.succs(block))
            } else {
                (items.get(..at), self.cfg.preds(block))
            };
            let part = part.unwrap_or_default();
            let end = if forward {
                part.iter().position(|item| ends(item.role))
            } else {
                part.iter().rposition(|item| ends(item.role))
            };
            let part = match end {
                Some(end) if forward => part.get(..end),
                Some(end) => part.get(end + 1..),
                None => Some(part),
            };
            let touching = part.into_iter().flatten().filter(|item| {
                let effect = item.effect.within(MemoryRegions::WORKGROUP);
                !matches!(item.role, Role::Half(..)) && !effect.touches().is_empty()
            });
            found.extend(touching.map(|item| item.offset));
            if end.is_some() {
                continue;
            }
            for next in nexts.iter().filter(|next| self.cfg.is_reachable(**next)) {
                if seen.insert(*next) {
                    let at = if forward { 0 } else { body.block(*next).len() };
                    work.push((*next, at));
                }
            }
        }
        found
    }
}

/// The search for barriers that can be narrowed.
struct Search<'s, 'k, 'm> {
    kernel: &'s Kernel<'k, 'm>,
    /// The function without those that were narrowed.
    left: Body,
    /// True if its atomic operations may publish accesses.
    publishes: bool,
    /// Instructions that were looked at.
    work: usize,
    /// Pairs of accesses that may still be compared.
    pairs: usize,
}

impl Search<'_, '_, '_> {
    /// Returns true if barrier `number` orders workgroup memory only, and no two `accesses` before
    /// and after it conflict that invocations of different subgroups execute. `None` if that takes
    /// too much work.
    fn is_of_one_subgroup(&mut self, number: usize, accesses: &Accesses) -> Option<bool> {
        let (left, kernel) = (&self.left, self.kernel);
        let barrier = left.barriers.get(number)?;
        let spot = spot(left, |role| role == whole(number));
        let Some(spot) = spot.filter(|_| barrier.is_known) else {
            return Some(false);
        };
        let first = barrier.arrives.first();
        let is_fence = self.publishes && kernel.is_wide(first);
        let is_kept = first.is_some_and(|first| (kernel.is_kept)(*first));
        if is_fence || is_kept || Openness::analyze(left, kernel.cfg).is_in_a_window(number) {
            return Some(false);
        }
        self.work += 8 * left.len();
        if self.work > MOST_WORK {
            return None;
        }
        let others = barrier.may_order.without(MemoryRegions::WORKGROUP);
        if Zones::analyze(left, kernel.cfg).keep_apart(number, others) {
            return Some(false);
        }
        let before = kernel.reach(left, spot, false);
        let after = kernel.reach(left, spot, true);
        self.pairs = self.pairs.saturating_sub(before.len() * after.len());
        if self.pairs == 0 {
            return None;
        }
        let crosses =
            |one: &WordOffset, other: &WordOffset| match (accesses.get(*one), accesses.get(*other))
            {
                (Some(one), Some(other)) => one.crosses(other, kernel.subgroup),
                _ => true,
            };
        let mut before = before.iter();
        Some(!before.any(|one| after.iter().any(|other| crosses(one, other))))
    }

    /// Returns true if barrier `number` keeps accesses of workgroup memory apart.
    fn has_conflicts(&self, number: usize) -> bool {
        let zones = Zones::analyze(&self.left, self.kernel.cfg);
        zones.keep_apart(number, MemoryRegions::WORKGROUP)
    }

    /// Takes barrier `number` out: it no longer orders accesses of different subgroups.
    fn remove(&mut self, number: usize) {
        for items in self.left.blocks.values_mut() {
            items.retain(|item| item.role != whole(number));
        }
    }
}

/// The role of the OpControlBarrier of this number.
fn whole(number: usize) -> Role {
    Role::Half(number, Side::Both)
}

/// A block, and the place of an item in it.
type Spot = (BlockIndex, usize);

/// The place of the first item with such a role.
fn spot(body: &Body, is: impl Fn(Role) -> bool) -> Option<Spot> {
    body.blocks.iter().find_map(|(block, items)| {
        let at = items.iter().position(|item| is(item.role))?;
        Some((block, at))
    })
}
