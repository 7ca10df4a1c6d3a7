//! Memory semantics to fences.

use crate::options::Waits;
use crate::step::{Fence, FenceMemory, FenceOrder, Step};
use crate::target::{FenceScope, Placement, Target};
use crate::waits::Waiting;
use splitbar_passes::module::{Classes, Order, Scope, Semantics};

/// Which side of a barrier a fence is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Before it: only a release matters.
    Before,
    /// After it: only an acquire matters.
    After,
    /// There is no barrier: OpMemoryBarrier, the order as it stands.
    Alone,
}

/// The memory that `classes` name. SubgroupMemory, AtomicCounterMemory and OutputMemory name memory
/// that compute kernels of these targets do not have.
pub(crate) fn memory(classes: Classes) -> Option<FenceMemory> {
    let global = classes.uniform || classes.cross_workgroup || classes.image;
    match (classes.workgroup, global) {
        (true, true) => Some(FenceMemory::All),
        (true, false) => Some(FenceMemory::Local),
        (false, true) => Some(FenceMemory::Global),
        (false, false) => None,
    }
}

/// The scope of a fence; `None` where there is nobody to order with. ShaderCall belongs to ray
/// tracing and is refused before.
fn scope(scope: Scope) -> Option<FenceScope> {
    match scope {
        Scope::Invocation | Scope::ShaderCall => None,
        Scope::Subgroup => Some(FenceScope::Subgroup),
        Scope::Workgroup => Some(FenceScope::Workgroup),
        Scope::QueueFamily | Scope::Device => Some(FenceScope::Device),
        Scope::CrossDevice => Some(FenceScope::System),
    }
}

fn order(order: Order, side: Side, scope: FenceScope) -> Option<FenceOrder> {
    let order = match order {
        // Everybody within reach of the fence meets at the barrier itself: what is before it
        // happens before what is after it, and one total order adds nothing.
        Order::SequentiallyConsistent if side != Side::Alone && scope <= FenceScope::Workgroup => {
            Order::AcquireRelease
        }
        order => order,
    };
    match (order, side) {
        (Order::Relaxed, _) | (Order::Acquire, Side::Before) | (Order::Release, Side::After) => {
            None
        }
        (Order::SequentiallyConsistent, _) => Some(FenceOrder::SequentiallyConsistent),
        (Order::Release | Order::AcquireRelease, Side::Before) | (Order::Release, Side::Alone) => {
            Some(FenceOrder::Release)
        }
        (Order::Acquire | Order::AcquireRelease, Side::After) | (Order::Acquire, Side::Alone) => {
            Some(FenceOrder::Acquire)
        }
        (Order::AcquireRelease, Side::Alone) => Some(FenceOrder::AcquireRelease),
    }
}

/// The fence that `semantics` at memory scope `at` ask for on `side`, if any.
pub(crate) fn fence(semantics: Semantics, at: Scope, side: Side) -> Option<Fence> {
    let memory = memory(semantics.classes)?;
    let scope = scope(at)?;
    // Nobody outside of the workgroup sees its memory.
    let scope = if memory == FenceMemory::Local {
        scope.min(FenceScope::Workgroup)
    } else {
        scope
    };
    let order = order(semantics.order, side, scope)?;
    Some(Fence {
        order,
        scope,
        memory,
    })
}

/// The steps of that fence, none if a synchronisation that orders `built_in` stands at the same
/// place.
pub(crate) fn steps(
    semantics: Semantics,
    at: Scope,
    side: Side,
    built_in: Option<FenceScope>,
    waiting: Waiting,
) -> Vec<Step> {
    let Some(fence) = fence(semantics, at, side) else {
        return Vec::new();
    };
    if built_in.is_some_and(|built_in| {
        fence.scope <= built_in && fence.order != FenceOrder::SequentiallyConsistent
    }) {
        return Vec::new();
    }
    waiting.around(fence)
}

/// The steps on one side of a barrier of the workgroup that orders `memory` among its invocations.
pub(crate) fn of_workgroup(
    memory: FenceMemory,
    side: Side,
    built_in: Option<FenceScope>,
    waiting: Waiting,
) -> Vec<Step> {
    let classes = Classes {
        workgroup: memory != FenceMemory::Global,
        cross_workgroup: memory != FenceMemory::Local,
        ..Classes::default()
    };
    let semantics = Semantics {
        order: Order::AcquireRelease,
        classes,
        ..Semantics::NONE
    };
    steps(semantics, Scope::Workgroup, side, built_in, waiting)
}

/// The steps around a barrier outside of the plan that carries `semantics` at memory scope `at`:
/// those before it and those after it.
pub fn around_barrier(
    semantics: Semantics,
    at: Scope,
    target: &'static Target,
    placement: Placement,
) -> [Vec<Step>; 2] {
    let waiting = Waiting {
        target,
        waits: Waits::Auto,
        placement,
        // Nobody has looked where it stands.
        repeats: true,
        copies_in_flight: false,
        releases_cumulatively: true,
    };
    [Side::Before, Side::After].map(|side| steps(semantics, at, side, None, waiting))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn show(
        bits: u32,
        at: Scope,
        side: Side,
        built_in: Option<FenceScope>,
        target: &str,
    ) -> String {
        show_with(
            bits,
            at,
            side,
            built_in,
            target,
            Waits::Auto,
            Placement::Default,
        )
    }

    fn show_with(
        bits: u32,
        at: Scope,
        side: Side,
        built_in: Option<FenceScope>,
        target: &str,
        waits: Waits,
        placement: Placement,
    ) -> String {
        let semantics = Semantics::from_u32(bits).unwrap();
        let steps = steps(
            semantics,
            at,
            side,
            built_in,
            Waiting {
                target: Target::by_name(target).unwrap(),
                waits,
                placement,
                repeats: false,
                copies_in_flight: false,
                releases_cumulatively: false,
            },
        );
        steps
            .iter()
            .map(Step::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    }

    #[test]
    fn workgroup_memory_alone_is_a_local_fence() {
        assert_eq!(
            show(0x104, Scope::Workgroup, Side::Before, None, "gfx1201"),
            "fence release workgroup local"
        );
        assert_eq!(
            show(0x102, Scope::Workgroup, Side::After, None, "gfx1201"),
            "fence acquire workgroup local"
        );
        // Device scope adds nothing: no other workgroup sees it.
        assert_eq!(
            show(0x108, Scope::Device, Side::Before, None, "gfx1100"),
            "fence release workgroup local"
        );
    }

    #[test]
    fn a_release_of_global_memory_waits_for_scalar_loads_where_the_fence_does_not() {
        assert_eq!(
            show(0x44, Scope::Workgroup, Side::Before, None, "gfx1201"),
            "wait-zero kmcnt; fence release workgroup global"
        );
        assert_eq!(
            show(0x44, Scope::Workgroup, Side::Before, None, "gfx1100"),
            "wait-zero lgkmcnt; fence release workgroup global"
        );
        assert_eq!(
            show(0x42, Scope::Workgroup, Side::After, None, "gfx1201"),
            "fence acquire workgroup global"
        );
        assert_eq!(
            show(0x148, Scope::Device, Side::Alone, None, "gfx1201"),
            "wait-zero kmcnt; fence acquire-release device all"
        );
        // A fence of all memory waits for LDS, and so for scalar loads, unless there is no LDS.
        let all = |placement| {
            let (at, side) = (Scope::Workgroup, Side::Before);
            show_with(0x144, at, side, None, "gfx942", Waits::Auto, placement)
        };
        assert_eq!(all(Placement::Default), "fence release workgroup all");
        assert_eq!(
            all(Placement::ThreadgroupSplit),
            "wait-zero lgkmcnt; fence release workgroup all"
        );
    }

    #[test]
    fn explicit_waits_are_those_of_the_fence() {
        let explicit = |bits, at, side, target, placement| {
            show_with(bits, at, side, None, target, Waits::Explicit, placement)
        };
        use Placement::{CuMode, Default, ThreadgroupSplit};
        let (release, acquire) = (Side::Before, Side::After);
        for (target, local, all, global_at_device, acquired) in [
            ("gfx803", "lgkmcnt", "lgkmcnt", "vmcnt lgkmcnt", "lgkmcnt"),
            ("gfx906", "lgkmcnt", "lgkmcnt", "vmcnt lgkmcnt", "lgkmcnt"),
            ("gfx942", "lgkmcnt", "lgkmcnt", "vmcnt lgkmcnt", "lgkmcnt"),
            (
                "gfx1030",
                "lgkmcnt",
                "vmcnt vscnt lgkmcnt",
                "vmcnt vscnt lgkmcnt",
                "vmcnt vscnt lgkmcnt",
            ),
            (
                "gfx1201",
                "dscnt",
                "loadcnt storecnt dscnt kmcnt",
                "loadcnt storecnt kmcnt",
                "loadcnt storecnt dscnt",
            ),
        ] {
            assert_eq!(
                explicit(0x104, Scope::Workgroup, release, target, Default),
                format!("wait-zero {local}; fence release workgroup local")
            );
            assert_eq!(
                explicit(0x144, Scope::Workgroup, release, target, Default),
                format!("wait-zero {all}; fence release workgroup all")
            );
            assert_eq!(
                explicit(0x44, Scope::Device, release, target, Default),
                format!("wait-zero {global_at_device}; fence release device global")
            );
            assert_eq!(
                explicit(0x142, Scope::Workgroup, acquire, target, Default),
                format!("wait-zero {acquired}; fence acquire workgroup all")
            );
        }
        // CU mode weakens the acquire alone; threadgroup split has no LDS and no cache in common.
        assert_eq!(
            explicit(0x142, Scope::Workgroup, acquire, "gfx1100", CuMode),
            "wait-zero lgkmcnt; fence acquire workgroup all"
        );
        assert_eq!(
            explicit(0x144, Scope::Workgroup, release, "gfx1100", CuMode),
            "wait-zero vmcnt vscnt lgkmcnt; fence release workgroup all"
        );
        assert_eq!(
            explicit(0x142, Scope::Workgroup, acquire, "gfx942", ThreadgroupSplit),
            "wait-zero vmcnt; fence acquire workgroup all"
        );
    }

    #[test]
    fn what_is_passed_on_has_arrived() {
        let release = |bits, scope, target, placement| {
            let steps = steps(
                Semantics::from_u32(bits).unwrap(),
                scope,
                Side::Before,
                None,
                Waiting {
                    target: Target::by_name(target).unwrap(),
                    waits: Waits::Auto,
                    placement,
                    repeats: false,
                    copies_in_flight: false,
                    releases_cumulatively: true,
                },
            );
            steps.first().map(Step::to_string).unwrap_or_default()
        };
        use Placement::{Default, ThreadgroupSplit};
        for target in ["gfx700", "gfx906", "gfx90a", "gfx942", "gfx950"] {
            let wait = release(0x144, Scope::Workgroup, target, Default);
            assert_eq!(wait, "wait-zero vmcnt", "{target}");
        }
        // Nobody else sees workgroup memory; a wider release waits by itself, and so does one where
        // waves have caches of their own.
        for (bits, scope, target, placement) in [
            (0x104, Scope::Workgroup, "gfx942", Default),
            (0x144, Scope::Device, "gfx942", Default),
            (0x144, Scope::Workgroup, "gfx1030", Default),
        ] {
            let wait = release(bits, scope, target, placement);
            assert!(wait.starts_with("fence"), "{target}: {wait}");
        }
        let spread = release(0x44, Scope::Workgroup, "gfx942", ThreadgroupSplit);
        assert_eq!(spread, "wait-zero lgkmcnt");
    }

    #[test]
    fn each_side_takes_its_half() {
        assert_eq!(
            show(0x104, Scope::Workgroup, Side::After, None, "gfx1201"),
            ""
        );
        assert_eq!(
            show(0x102, Scope::Workgroup, Side::Before, None, "gfx1201"),
            ""
        );
        assert_eq!(show(0, Scope::Workgroup, Side::Before, None, "gfx1201"), "");
        // An order without memory, memory without an order, and nobody to order with.
        assert_eq!(
            show(0x4, Scope::Workgroup, Side::Before, None, "gfx1201"),
            ""
        );
        assert_eq!(
            show(0x100, Scope::Workgroup, Side::Before, None, "gfx1201"),
            ""
        );
        assert_eq!(
            show(0x104, Scope::Invocation, Side::Before, None, "gfx1201"),
            ""
        );
    }

    #[test]
    fn what_the_synchronisation_orders_itself_needs_no_fence() {
        assert_eq!(
            show(
                0x148,
                Scope::Workgroup,
                Side::Before,
                Some(FenceScope::Workgroup),
                "sm_90"
            ),
            ""
        );
        assert_eq!(
            show(
                0x148,
                Scope::Workgroup,
                Side::Before,
                Some(FenceScope::Subgroup),
                "sm_90"
            ),
            "fence release workgroup all"
        );
        assert_eq!(
            show(
                0x44,
                Scope::Device,
                Side::Before,
                Some(FenceScope::Workgroup),
                "sm_90"
            ),
            "fence release device global"
        );
    }

    #[test]
    fn sequential_consistency_of_a_barrier_stays_only_beyond_the_workgroup() {
        assert_eq!(
            show(0x310, Scope::Workgroup, Side::Before, None, "gfx1201"),
            "wait-zero kmcnt; fence release workgroup all"
        );
        assert_eq!(
            show(
                0x310,
                Scope::Device,
                Side::Before,
                Some(FenceScope::Workgroup),
                "sm_90"
            ),
            "fence seq-cst device all"
        );
        assert_eq!(
            show(0x310, Scope::Workgroup, Side::Alone, None, "sm_90"),
            "fence seq-cst workgroup all"
        );
    }
}
