//! Ordering in PTX: fences, and the ordering of barriers and atomic operations themselves.
//!
//! Sources: PTX ISA, "Memory Consistency Model", "membar/fence", "bar", "mbarrier.arrive",
//! "mbarrier.test_wait", "barrier.cluster". Barriers of a CTA order memory among its threads; an
//! mbarrier releases and acquires at `.cta` unless it says otherwise, a cluster's barrier at
//! `.cluster` unless it is `.relaxed`.

use super::required_ordering::{FenceRequirement, RequiredOrdering, tells_of_others};
use super::walk::Walker;
use super::{Finding, FindingKind};
use crate::asm::Role;
use crate::waits::place;
use splitbar_assembly::ptx::access;
use splitbar_plan::{FenceMemory, FenceOrder, FenceScope};

/// How far a fence reaches.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Warp,
    Cta,
    Cluster,
    Gpu,
    Sys,
}

/// What is ordered, and among whom.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Orders {
    acquire: bool,
    release: bool,
    total: bool,
    reach: Reach,
}

/// What an instruction orders. A fence that speaks of proxies, or of some accesses alone, orders
/// nothing here.
fn fence(mnemonic: &str) -> Option<Orders> {
    let mut parts = mnemonic.split('.');
    let kind = parts.next()?;
    let (mut sem, mut reach) = ("acq_rel", None);
    for part in parts {
        match part {
            "sc" | "acq_rel" | "acquire" | "release" => sem = part,
            "cta" => reach = Some(Reach::Cta),
            "cluster" => reach = Some(Reach::Cluster),
            "gpu" | "gl" => reach = Some(Reach::Gpu),
            "sys" => reach = Some(Reach::Sys),
            _ => return None,
        }
    }
    if kind == "membar" {
        sem = "sc";
    } else if kind != "fence" {
        return None;
    }
    Some(Orders {
        acquire: sem != "release",
        release: sem != "acquire",
        total: sem == "sc",
        reach: reach?,
    })
}

/// What a synchronising instruction orders by itself.
fn built_in(mnemonic: &str, role: Role) -> Option<Orders> {
    let has = |part: &str| mnemonic.split('.').any(|word| word == part);
    let both = |reach| Orders {
        acquire: true,
        release: true,
        total: false,
        reach,
    };
    if mnemonic.starts_with("bar.warp.sync") {
        return Some(both(Reach::Warp));
    }
    if access(mnemonic, "").is_some() {
        let reach = if has("sys") {
            Reach::Sys
        } else if has("gpu") {
            Reach::Gpu
        } else if has("cluster") {
            Reach::Cluster
        } else {
            Reach::Cta
        };
        return Some(Orders {
            acquire: has("acquire") || has("acq_rel"),
            release: has("release") || has("acq_rel"),
            total: false,
            reach,
        });
    }
    if has("relaxed") || role == Role::Work {
        return None;
    }
    let cluster = mnemonic.starts_with("barrier.cluster")
        || mnemonic.starts_with("mbarrier") && has("cluster");
    Some(both(if cluster { Reach::Cluster } else { Reach::Cta }))
}

/// The orders that a fence of the plan requires on one side.
fn needed(requirement: &FenceRequirement, acquire: bool) -> Orders {
    Orders {
        acquire,
        release: !acquire,
        total: requirement.fence.order == FenceOrder::SequentiallyConsistent,
        reach: match requirement.fence.scope {
            FenceScope::Subgroup => Reach::Warp,
            FenceScope::Workgroup => Reach::Cta,
            FenceScope::Device => Reach::Gpu,
            FenceScope::System => Reach::Sys,
        },
    }
}

impl Orders {
    fn covers(&self, needed: &Orders) -> bool {
        (self.acquire || !needed.acquire)
            && (self.release || !needed.release)
            && (self.total || !needed.total)
            && self.reach >= needed.reach
    }

    /// The weakest fence that does, as PTX spells it.
    fn spelled(&self) -> String {
        let sem = match (self.total, self.acquire) {
            (true, _) => "sc",
            (false, true) => "acquire",
            (false, false) => "release",
        };
        let scope = match self.reach {
            Reach::Warp | Reach::Cta => "cta",
            Reach::Cluster => "cluster",
            Reach::Gpu => "gpu",
            Reach::Sys => "sys",
        };
        format!("fence.{sem}.{scope}")
    }
}

/// Adds a finding for each fence that the instruction at `position` lacks of `required`.
pub(super) fn check(
    walker: &mut Walker<'_>,
    position: usize,
    required: &RequiredOrdering,
    findings: &mut Vec<Finding>,
) {
    for (requirements, acquire) in [(&required.acquire, true), (&required.release, false)] {
        for requirement in requirements {
            findings.extend(one(walker, position, requirement, acquire));
        }
    }
}

fn one(
    walker: &mut Walker<'_>,
    sync: usize,
    requirement: &FenceRequirement,
    acquire: bool,
) -> Option<Finding> {
    let function = walker.function;
    let needed = needed(requirement, acquire);
    let inst = function.instructions.get(sync)?;
    if built_in(&inst.mnemonic, inst.role).is_some_and(|orders| orders.covers(&needed)) {
        return None;
    }
    let mut found: Option<usize> = None;
    walker.walk(sync, acquire, 1, |position, state| {
        let inst = function.instructions.get(position)?;
        if fence(&inst.mnemonic).is_some_and(|orders| orders.covers(&needed)) {
            return None;
        }
        let touches = access(&inst.mnemonic, &inst.operands).is_some_and(|access| {
            let memory = match requirement.fence.memory {
                FenceMemory::Local => access.local,
                FenceMemory::Global => access.global,
                FenceMemory::All => true,
            };
            memory && (access.reads || !acquire)
        });
        // What a barrier made known is released too.
        let known = !acquire && tells_of_others(function, position, sync);
        if (touches || known) && !requirement.exempt.contains(&position) && position != sync {
            let nearer = |other: usize| {
                if acquire {
                    position < other
                } else {
                    position > other
                }
            };
            if found.is_none_or(nearer) {
                found = Some(position);
            }
            return None;
        }
        (position != sync).then_some(state)
    });
    Some(Finding {
        kind: FindingKind::Fence,
        fence: requirement.fence,
        word: requirement.word,
        sync: place(function, sync),
        access: place(function, found?),
        missing: vec![needed.spelled()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_by_name() {
        let show = |text: &str| fence(text).map(|orders| (orders.spelled(), orders.release));
        for (text, expected) in [
            ("fence.acq_rel.gpu", Some(("fence.acquire.gpu", true))),
            ("fence.release.cta", Some(("fence.release.cta", true))),
            ("fence.acquire.sys", Some(("fence.acquire.sys", false))),
            ("fence.sc.cluster", Some(("fence.sc.cluster", true))),
            ("membar.gl", Some(("fence.sc.gpu", true))),
            ("fence.proxy.async", None),
            ("fence.mbarrier_init.release.cluster", None),
            ("fence.acquire.sync_restrict::shared::cluster.cluster", None),
        ] {
            let expected = expected.map(|(text, release)| (text.to_owned(), release));
            assert_eq!(show(text), expected, "{text}");
        }
    }

    #[test]
    fn what_synchronisation_orders_by_itself() {
        let reach = |text: &str, role| built_in(text, role).map(|orders| orders.reach);
        for (text, role, expected) in [
            ("bar.sync", Role::ArriveAndWait, Some(Reach::Cta)),
            ("bar.warp.sync", Role::Housekeeping, Some(Reach::Warp)),
            ("mbarrier.arrive.shared.b64", Role::Arrive, Some(Reach::Cta)),
            ("mbarrier.arrive.relaxed.cta.shared.b64", Role::Arrive, None),
            ("barrier.cluster.arrive.relaxed.aligned", Role::Arrive, None),
            (
                "barrier.cluster.wait.aligned",
                Role::Wait,
                Some(Reach::Cluster),
            ),
        ] {
            assert_eq!(reach(text, role), expected, "{text}");
        }
        let store = built_in("st.release.gpu.global.b32", Role::Work);
        assert!(store.is_some_and(|orders| orders.release && !orders.acquire));
    }
}
