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
//! These barriers stay: pairs; barriers in an open pair; barriers with operands from specialization
//! constants or with Volatile; barriers with a memory scope beyond the workgroup, if atomic
//! operations may publish what they order. Nothing changes in kernels with a workgroup of unknown
//! size. The pass works on entry functions and inlines functions first. A barrier in a loop is
//! narrowed only if all iterations allow it; `unroll-barrier-loops` can unroll the loop first.

mod invocation;
mod touched;

use super::edit::Edit;
use super::inlined::{entries, inlined_all};
use super::move_split_barriers::look;
use super::operands::{self, Fence};
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::analysis::cfg::Cfg;
use crate::analysis::phases::{Body, MemoryRegions, Openness, Role, Side, Zones};
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
    let PassOptions::Subgroups(size) = *options else {
        return Err(Diagnostic::bug("the size of a subgroup is missing").into());
    };
    let is_whole = |op| op == Some(Op::ControlBarrier);
    if !module.instructions().any(|inst| is_whole(inst.op())) {
        return Ok(None);
    }
    inlined_all(module, declarations, |declarations| {
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
            let required = entry.subgroup_size().unwrap_or(size);
            let kernel = Kernel {
                declarations,
                entry,
                function,
                cfg: &cfg,
                subgroup: required.min(size).max(1) as usize,
            };
            for offset in kernel.narrowed(&body, &fixed) {
                narrow(&mut edit, offset)?;
            }
        }
        edit.finish()
    })
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
}

impl Kernel<'_, '_> {
    /// The places of the barriers of `body` that become barriers of the subgroup.
    fn narrowed(&self, body: &Body, constants: &Constants) -> Vec<WordOffset> {
        let size = self.declarations.workgroup_size(self.entry, constants);
        let Some(size) = size.filter(|size| size.iter().all(|axis| (1..=1024).contains(axis)))
        else {
            return Vec::new();
        };
        let invocations =
            Invocations::new(self.declarations, constants, self.function, self.cfg, size);
        let mut left = body.noticed();
        let Some(accesses) = Accesses::analyze(self.declarations, &left, &invocations) else {
            return Vec::new();
        };
        let publishes = left.publishes();
        let mut work = 0;
        let mut pairs = MOST_PAIRS;
        let mut narrowed = Vec::new();
        for (number, barrier) in body.barriers.iter().enumerate() {
            let is_whole = |role| role == Role::Half(number, Side::Both);
            let spot = spot(&left, is_whole);
            let Some(spot) = spot.filter(|_| barrier.is_known) else {
                continue;
            };
            let is_fence = publishes && self.is_wide(barrier.arrives.first());
            if is_fence || Openness::analyze(&left, self.cfg).is_in_a_window(number) {
                continue;
            }
            work += 8 * left.len();
            if work > MOST_WORK {
                break;
            }
            let zones = Zones::analyze(&left, self.cfg);
            let others = barrier.may_order.without(MemoryRegions::WORKGROUP);
            let orders_more = zones.keep_apart(number, others);
            let mut crosses = || {
                let before = self.reach(&left, spot, false);
                let after = self.reach(&left, spot, true);
                pairs = pairs.saturating_sub(before.len() * after.len());
                pairs == 0
                    || before.iter().any(|one| {
                        after
                            .iter()
                            .any(|other| match (accesses.get(*one), accesses.get(*other)) {
                                (Some(one), Some(other)) => one.crosses(other, self.subgroup),
                                _ => true,
                            })
                    })
            };
            if orders_more || crosses() {
                continue;
            }
            for items in left.blocks.values_mut() {
                items.retain(|item| !is_whole(item.role));
            }
            narrowed.extend(&barrier.arrives);
        }
        narrowed
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

/// A block, and the place of an item in it.
type Spot = (BlockIndex, usize);

/// The place of the first item with such a role.
fn spot(body: &Body, is: impl Fn(Role) -> bool) -> Option<Spot> {
    body.blocks.iter().find_map(|(block, items)| {
        let at = items.iter().position(|item| is(item.role))?;
        Some((block, at))
    })
}
