//! Merges adjacent fences.
//!
//! OpMemoryBarrier is often written beside a barrier that orders other memory, and two fences cost
//! a fence more than one for both. A code generator may also take two neighbours for one
//! (docs/llvm.md). Two are merged where one instruction promises exactly what both together do:
//! more would wait for what neither waits for.

use crate::plan::EntryPlan;
use crate::step::{AmdgpuStep, Fence, FenceMemory, FenceOrder, Step};
use crate::target::FenceScope;

/// What a fence does for one kind of memory.
type Part = (FenceOrder, FenceScope);

/// The fence's parts for workgroup memory and for all other memory.
fn parts(fence: Fence) -> (Option<Part>, Option<Part>) {
    let local = (fence.order, fence.scope.min(FenceScope::Workgroup)); // nobody else sees it
    let global = (fence.order, fence.scope);
    match fence.memory {
        FenceMemory::Local => (Some(local), None),
        FenceMemory::Global => (None, Some(global)),
        FenceMemory::All => (Some(local), Some(global)),
    }
}

/// The order that promises what both do.
fn join(a: FenceOrder, b: FenceOrder) -> FenceOrder {
    use FenceOrder::{AcquireRelease, SequentiallyConsistent};
    match (a, b) {
        (SequentiallyConsistent, _) | (_, SequentiallyConsistent) => SequentiallyConsistent,
        (a, b) if a == b => a,
        _ => AcquireRelease,
    }
}

/// The part that promises what both do, unless it would promise one's order at the other's scope
/// too.
fn union(a: Option<Part>, b: Option<Part>) -> Option<Option<Part>> {
    let (Some(a), Some(b)) = (a, b) else {
        return Some(a.or(b));
    };
    let joined = (join(a.0, b.0), a.1.max(b.1));
    (a.1 == b.1 || joined == a || joined == b).then_some(Some(joined))
}

/// The fence that does what `a` and `b` do together, and waits for no more.
fn together(a: Fence, b: Fence) -> Option<Fence> {
    let ((local_a, global_a), (local_b, global_b)) = (parts(a), parts(b));
    let one = |(order, scope), memory| Fence {
        order,
        scope,
        memory,
    };
    match (union(local_a, local_b)?, union(global_a, global_b)?) {
        (Some(local), None) => Some(one(local, FenceMemory::Local)),
        (None, Some(global)) => Some(one(global, FenceMemory::Global)),
        (Some(local), Some(global)) => {
            // To order workgroup memory costs the same in every order, and the same in the
            // workgroup and beyond it. In a subgroup it costs nothing.
            let as_wide = global.1.min(FenceScope::Workgroup) == local.1;
            (as_wide && join(local.0, global.0) == global.0)
                .then_some(one(global, FenceMemory::All))
        }
        (None, None) => None,
    }
}

/// A fence at one end of `steps`, and how many steps it takes with the wait before it.
fn first(steps: &[Step]) -> Option<(Fence, usize)> {
    match steps {
        [Step::Fence(fence), ..] => Some((*fence, 1)),
        [
            Step::Amdgpu(AmdgpuStep::WaitZero(_)),
            Step::Fence(fence),
            ..,
        ] => Some((*fence, 2)),
        _ => None,
    }
}

/// See [`first`].
fn last(steps: &[Step]) -> Option<(Fence, usize)> {
    match steps {
        [
            ..,
            Step::Amdgpu(AmdgpuStep::WaitZero(_)),
            Step::Fence(fence),
        ] => Some((*fence, 2)),
        [.., Step::Fence(fence)] => Some((*fence, 1)),
        _ => None,
    }
}

/// The steps of one fence and the waits of both.
fn merged(fence: Fence, parts: impl Iterator<Item = Step>) -> Vec<Step> {
    let waits = parts.filter_map(|step| match step {
        Step::Amdgpu(AmdgpuStep::WaitZero(counters)) => Some(counters),
        _ => None,
    });
    let mut counters: Vec<_> = waits.flatten().collect();
    counters.sort_unstable();
    counters.dedup();
    let wait = (!counters.is_empty()).then_some(Step::Amdgpu(AmdgpuStep::WaitZero(counters)));
    wait.into_iter().chain([Step::Fence(fence)]).collect()
}

/// Makes one fence of the last of `earlier` and the first of `later`, if one can do what both do.
/// It stays with the later steps, unless it only acquires. Whether there was one to make.
fn merge_lists(earlier: &mut Vec<Step>, later: &mut Vec<Step>) -> bool {
    let (Some((a, from)), Some((b, to))) = (last(earlier), first(later)) else {
        return false;
    };
    let Some(fence) = together(a, b) else {
        return false;
    };
    let tail = earlier.split_off(earlier.len() - from);
    let steps = merged(fence, tail.into_iter().chain(later.drain(..to)));
    if fence.order == FenceOrder::Acquire {
        earlier.extend(steps);
    } else {
        later.splice(0..0, steps);
    }
    true
}

/// Merges the fences of one place.
fn merge_within(steps: &mut Vec<Step>) {
    let mut done = Vec::with_capacity(steps.len());
    while !steps.is_empty() {
        if !merge_lists(&mut done, steps) {
            let take = first(steps).map_or(1, |(_, take)| take);
            done.extend(steps.drain(..take));
        }
    }
    *steps = done;
}

/// Merges the fences of each place, and those of places between which nothing touches memory.
pub(crate) fn merge(plan: &mut EntryPlan) {
    for steps in plan.at_instruction.values_mut() {
        merge_within(steps);
    }
    // The last place of this run of neighbours that has steps.
    let mut earlier = None;
    for site in &plan.sites {
        if !site.adjoins || plan.before_instruction.contains_key(&site.offset) {
            earlier = None;
        }
        let steps = plan.at_instruction.entry(site.offset).or_default();
        let mut steps = std::mem::take(steps);
        if let Some(before) = earlier.and_then(|offset| plan.at_instruction.get_mut(&offset)) {
            merge_lists(before, &mut steps);
        }
        if !steps.is_empty() {
            earlier = Some(site.offset);
        }
        plan.at_instruction.insert(site.offset, steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Counter;
    use FenceMemory::{All, Global, Local};
    use FenceOrder::{Acquire, AcquireRelease, Release, SequentiallyConsistent};
    use FenceScope::{Device, Subgroup, System, Workgroup};
    use pretty_assertions::assert_eq;

    const ORDERS: [FenceOrder; 4] = [Acquire, Release, AcquireRelease, SequentiallyConsistent];
    const SCOPES: [FenceScope; 4] = [Subgroup, Workgroup, Device, System];
    const MEMORIES: [FenceMemory; 3] = [Local, Global, All];

    fn fence(order: FenceOrder, scope: FenceScope, memory: FenceMemory) -> Fence {
        Fence {
            order,
            scope,
            memory,
        }
    }

    fn all() -> impl Iterator<Item = Fence> {
        ORDERS.into_iter().flat_map(|order| {
            SCOPES.into_iter().flat_map(move |scope| {
                MEMORIES
                    .into_iter()
                    .map(move |memory| fence(order, scope, memory))
            })
        })
    }

    #[test]
    fn what_is_merged() {
        let none = None;
        for (a, b, expected) in [
            // Other memory.
            (
                fence(Release, Workgroup, Global),
                fence(Release, Workgroup, Local),
                Some(fence(Release, Workgroup, All)),
            ),
            (
                fence(Acquire, Device, Global),
                fence(Acquire, Workgroup, Local),
                Some(fence(Acquire, Device, All)),
            ),
            // Workgroup memory takes part in whatever is done for the rest.
            (
                fence(AcquireRelease, Workgroup, Global),
                fence(Release, Workgroup, Local),
                Some(fence(AcquireRelease, Workgroup, All)),
            ),
            // One that does all that the other does.
            (
                fence(Release, Device, All),
                fence(Release, Workgroup, Global),
                Some(fence(Release, Device, All)),
            ),
            (
                fence(SequentiallyConsistent, Workgroup, Global),
                fence(Acquire, Workgroup, Global),
                Some(fence(SequentiallyConsistent, Workgroup, Global)),
            ),
            // Both orders.
            (
                fence(Acquire, Workgroup, Global),
                fence(Release, Workgroup, Global),
                Some(fence(AcquireRelease, Workgroup, Global)),
            ),
            // The device would have to acquire what only the workgroup does.
            (
                fence(Acquire, Workgroup, Global),
                fence(Release, Device, Global),
                none,
            ),
            // Global memory would be acquired.
            (
                fence(Acquire, Workgroup, Local),
                fence(Release, Workgroup, Global),
                none,
            ),
            // Workgroup memory would be waited for.
            (
                fence(Release, Subgroup, Local),
                fence(Release, Workgroup, Global),
                none,
            ),
            (
                fence(Release, Workgroup, Local),
                fence(Release, Subgroup, Global),
                none,
            ),
        ] {
            assert_eq!(together(a, b), expected, "{a}; {b}");
            assert_eq!(together(b, a), expected, "{b}; {a}");
        }
    }

    /// How strong the part is: the orders and the reach of each.
    fn covers(a: Option<Part>, b: Option<Part>) -> bool {
        match (a, b) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(a), Some(b)) => join(a.0, b.0) == a.0 && a.1 >= b.1,
        }
    }

    #[test]
    fn nothing_becomes_weaker_and_global_memory_is_asked_for_no_more() {
        for a in all() {
            assert_eq!(together(a, a).map(parts), Some(parts(a)), "{a}");
            for b in all() {
                let Some(one) = together(a, b) else { continue };
                let (local, global) = parts(one);
                for (of_local, of_global) in [parts(a), parts(b)] {
                    assert!(covers(local, of_local), "{a}; {b}: {one}");
                    assert!(covers(global, of_global), "{a}; {b}: {one}");
                }
                // The order of global memory, and its scope, are one's or both's.
                if let Some((order, scope)) = global {
                    let asked: Vec<Part> = [a, b].into_iter().filter_map(|f| parts(f).1).collect();
                    let at_scope = asked.iter().filter(|part| part.1 == scope);
                    let orders = at_scope.map(|part| part.0).reduce(join);
                    assert_eq!(orders, Some(order), "{a}; {b}: {one}");
                }
                let locals = [parts(a).0, parts(b).0];
                let reach = locals.into_iter().flatten().map(|part| part.1).max();
                assert_eq!(local.map(|part| part.1), reach, "{a}; {b}: {one}");
            }
        }
    }

    #[test]
    fn waits_stay_before_the_one_fence() {
        let wait = |counter| Step::Amdgpu(AmdgpuStep::WaitZero(vec![counter]));
        let step = |memory| Step::Fence(fence(Release, Workgroup, memory));
        let mut steps = vec![
            wait(Counter::Vmcnt),
            step(Global),
            wait(Counter::Lgkmcnt),
            step(Local),
            Step::Amdgpu(AmdgpuStep::Signal),
            step(Local),
        ];
        merge_within(&mut steps);
        let acquire = |memory| Step::Fence(fence(Acquire, Workgroup, memory));
        let mut acquires = vec![acquire(Local), acquire(Global), acquire(All)];
        merge_within(&mut acquires);
        assert_eq!(acquires, [acquire(All)]);
        let shown: Vec<String> = steps.iter().map(Step::to_string).collect();
        assert_eq!(
            shown,
            [
                "wait-zero vmcnt lgkmcnt",
                "fence release workgroup all",
                "signal",
                "fence release workgroup local"
            ]
        );
    }

    #[test]
    fn an_acquire_stays_behind_its_barrier() {
        let acquire = |memory| Step::Fence(fence(Acquire, Workgroup, memory));
        let mut wait = vec![Step::Amdgpu(AmdgpuStep::WaitSignal), acquire(Local)];
        let mut alone = vec![acquire(Global)];
        merge_lists(&mut wait, &mut alone);
        assert_eq!(wait, [Step::Amdgpu(AmdgpuStep::WaitSignal), acquire(All)]);
        assert_eq!(alone, []);
    }
}
