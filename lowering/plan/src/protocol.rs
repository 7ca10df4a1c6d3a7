//! What each strategy does at the entry, at an arrive and at a wait: a table. Fences are not part
//! of it; the planner adds them.

use crate::groups::{SCHEDULERS, WarpGroups};
use crate::step::{Step, WarpMask};
use crate::strategy::{COUNTER_BYTES, FuseAt, MBARRIER_BYTES, Strategy};
use crate::target::{Arch, FenceScope, Mbarrier};

/// How a strategy lives beside a full barrier (OpControlBarrier) that stands between an arrive and
/// its wait.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum BesideFullBarrier {
    /// They use different objects and do not meet.
    Independent,
    /// They use the same object: the open phase must be completed before the full barrier.
    CompleteFirst,
    /// The full barrier itself proves that everybody has arrived, so the wait need not wait any
    /// more.
    Satisfies,
}

/// Where an arrive is completed that is never waited for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Unwaited {
    /// It leaves nothing behind.
    Nowhere,
    /// Before each return.
    AtReturn,
    /// Where all invocations of the wave have come to a return: what completes it is one
    /// instruction of all of them.
    AtEnd,
}

/// One strategy on one kind of target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// Once per invocation, before anything else.
    pub at_entry: Vec<Step>,
    /// At an arrive, after the release fences.
    pub arrive: Vec<Step>,
    /// At a wait, before the acquire fences.
    pub wait: Vec<Step>,
    /// Completes an outstanding arrive ahead of its wait.
    pub complete: Vec<Step>,
    /// Where an arrive that is never waited for is completed.
    pub unwaited: Unwaited,
    /// Before a return that other waves may go on from, with none of the wave's arrivals open: the
    /// phases that are left do without it.
    pub leave: Vec<Step>,
    /// Beside a full barrier.
    pub beside: BesideFullBarrier,
    /// The widest memory scope that the instructions order by themselves: up to it no fence is
    /// needed.
    pub orders: Option<FenceScope>,
    /// Workgroup memory that it takes, in bytes.
    pub reserved_shared_bytes: u32,
}

/// The full barrier of a workgroup of several waves.
pub(crate) fn full_barrier(arch: &Arch) -> Step {
    match arch {
        Arch::Amdgpu(_) => Step::WorkgroupBarrier,
        Arch::Nvptx(_) => Step::CtaSync,
    }
}

impl Protocol {
    fn new(
        arrive: Vec<Step>,
        wait: Vec<Step>,
        beside: BesideFullBarrier,
        orders: Option<FenceScope>,
    ) -> Protocol {
        Protocol {
            at_entry: Vec::new(),
            arrive,
            complete: wait.clone(),
            unwaited: match beside {
                BesideFullBarrier::CompleteFirst => Unwaited::AtReturn,
                BesideFullBarrier::Independent | BesideFullBarrier::Satisfies => Unwaited::Nowhere,
            },
            wait,
            leave: Vec::new(),
            beside,
            orders,
            reserved_shared_bytes: 0,
        }
    }

    /// The protocol of `strategy` on `arch`, in a workgroup of `waves` waves (0: only the launch
    /// knows). `barrier` is the full workgroup barrier; `lanes` are the lanes that
    /// [`Strategy::SingleWave`] and [`Strategy::Subgroup`] sync on NVPTX.
    ///
    /// Sources: AMDGPU usage guide, "Memory Model gfx12" (signal and wait carry no memory order);
    /// PTX ISA "Parallel Synchronization and Communication Instructions: bar, mbarrier,
    /// bar.warp.sync" (each orders memory among who takes part; mbarrier.arrive releases and its
    /// waits acquire at .cta scope by default); PTX ISA "barrier.cluster" (`.relaxed` orders
    /// nothing, and costs no fence of cluster scope).
    pub fn of(
        strategy: Strategy,
        arch: &Arch,
        waves: u32,
        fuse_at: FuseAt,
        lanes: WarpMask,
        barrier: Step,
    ) -> Protocol {
        use BesideFullBarrier::{CompleteFirst, Independent, Satisfies};
        let fused = |orders| match fuse_at {
            FuseAt::Wait => Protocol::new(vec![], vec![barrier], Satisfies, orders),
            FuseAt::Arrive => Protocol::new(vec![barrier], vec![], Independent, orders),
        };
        // bar.sync and barrier.cluster.wait are single instructions, over which ptxas would move
        // the work of the window: they need both guards.
        let named = |groups, sets| {
            let groups = WarpGroups {
                warps: waves,
                groups,
                sets,
            };
            Protocol {
                // A sync is the last of the arrivals that its barrier waits for. PTX says nothing
                // of a CTA that ends with some of them.
                complete: vec![Step::GroupSync(groups)],
                unwaited: Unwaited::AtEnd,
                ..Protocol::new(
                    vec![Step::GroupArrive(groups), Step::OpenWindow],
                    vec![Step::CloseWindow, Step::GroupSync(groups)],
                    Independent,
                    Some(FenceScope::Workgroup),
                )
            }
        };
        match (strategy, arch) {
            (Strategy::WarpNamed, _) => named(waves, 2),
            (Strategy::WarpNamedSingle, _) => named(waves, 1),
            (Strategy::GroupNamed, _) => named(waves.min(SCHEDULERS), 2),
            (Strategy::Cluster, Arch::Nvptx(_)) => Protocol::new(
                vec![Step::ClusterArrive, Step::OpenWindow],
                vec![Step::CloseWindow, Step::ClusterWait],
                Independent,
                None,
            ),
            // The cluster's object counts workgroups: the first wave arrives for its own, once all
            // waves of it are there. A wave that ends drops the object, so an arrival that nobody
            // waits for is completed before.
            (Strategy::Cluster, Arch::Amdgpu(_)) => Protocol {
                complete: vec![Step::ClusterWait],
                ..Protocol::new(
                    vec![
                        Step::SignalFirst,
                        Step::WaitSignal,
                        Step::IfFirst(vec![Step::ClusterArrive]),
                        Step::OpenWindow,
                    ],
                    vec![Step::CloseWindow, Step::ClusterWait, Step::LeaveWindow],
                    CompleteFirst,
                    None,
                )
            },
            (Strategy::Native, _) => Protocol {
                complete: vec![Step::WaitSignal],
                ..Protocol::new(
                    vec![Step::Signal, Step::OpenWindow],
                    vec![Step::CloseWindow, Step::WaitSignal, Step::LeaveWindow],
                    CompleteFirst,
                    None,
                )
            },
            // An arrival that nobody waits for leaves nothing behind: the object ends with the
            // workgroup.
            (Strategy::Named, _) => Protocol {
                at_entry: vec![Step::NamedInit, Step::NamedJoin],
                // The workgroup's own object would be dropped by the end of the wave; this one is
                // not.
                leave: vec![Step::NamedLeave],
                ..Protocol::new(
                    vec![Step::NamedArrive, Step::OpenWindow],
                    vec![Step::CloseWindow, Step::NamedWait, Step::LeaveWindow],
                    Independent,
                    None,
                )
            },
            (Strategy::Mbarrier, arch) => {
                let try_wait =
                    matches!(arch, Arch::Nvptx(gpu) if gpu.mbarrier == Mbarrier::TryWait);
                // A test_wait does not suspend the warp, so it does no harm in the window, where
                // ptxas hoists the first poll of a loop; a try_wait does, and needs a guard of its
                // own.
                let poll = Step::MbarrierWait { try_wait };
                let wait = if try_wait {
                    vec![Step::CloseWindow, poll]
                } else {
                    vec![poll]
                };
                Protocol {
                    at_entry: vec![Step::MbarrierInit { copies: false }],
                    reserved_shared_bytes: MBARRIER_BYTES,
                    ..Protocol::new(
                        vec![Step::MbarrierArrive, Step::OpenWindow],
                        wait,
                        Independent,
                        Some(FenceScope::Workgroup),
                    )
                }
            }
            // An arrival that nobody waits for leaves nothing behind: the counter ends with the
            // workgroup, and full barriers use another object. On NVPTX a leader releases for its
            // warp, which fences of the lanes before it could not do.
            (Strategy::Counter, arch) => Protocol {
                at_entry: vec![Step::CounterInit],
                reserved_shared_bytes: COUNTER_BYTES,
                ..Protocol::new(
                    vec![Step::CounterArrive, Step::OpenWindow],
                    vec![Step::CloseWindow, Step::CounterWait],
                    Independent,
                    match arch {
                        Arch::Amdgpu(_) => None,
                        Arch::Nvptx(_) => Some(FenceScope::Workgroup),
                    },
                )
            },
            (Strategy::Fused, Arch::Amdgpu(_)) => fused(None),
            (Strategy::Fused, Arch::Nvptx(_)) => fused(Some(FenceScope::Workgroup)),
            (Strategy::SingleWave | Strategy::Subgroup, Arch::Amdgpu(_)) => {
                Protocol::new(vec![], vec![Step::WaveBarrier], Independent, None)
            }
            // The one warp is the whole workgroup: what its sync orders is ordered for the
            // workgroup.
            (Strategy::SingleWave, Arch::Nvptx(_)) => Protocol::new(
                vec![],
                vec![Step::WarpSync(lanes)],
                Independent,
                Some(FenceScope::Workgroup),
            ),
            (Strategy::Subgroup, Arch::Nvptx(_)) => Protocol::new(
                vec![],
                vec![Step::WarpSync(lanes)],
                Independent,
                Some(FenceScope::Subgroup),
            ),
        }
    }

    /// The protocol without the steps that guard the window.
    #[must_use]
    pub fn without_guards(mut self) -> Protocol {
        let guards = [Step::OpenWindow, Step::CloseWindow, Step::LeaveWindow];
        self.arrive.retain(|step| !guards.contains(step));
        self.wait.retain(|step| !guards.contains(step));
        self
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::target::Target;
    use pretty_assertions::assert_eq;

    fn show(strategy: Strategy, target: &str, fuse_at: FuseAt) -> String {
        let arch = &Target::by_name(target).unwrap().arch;
        let lanes = WarpMask::Lanes(u32::MAX);
        let protocol = Protocol::of(strategy, arch, 6, fuse_at, lanes, full_barrier(arch));
        let list = |steps: &[Step]| {
            steps
                .iter()
                .map(Step::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        };
        format!(
            "{} | {} | {} | {:?}",
            list(&protocol.at_entry),
            list(&protocol.arrive),
            list(&protocol.wait),
            protocol.beside
        )
    }

    #[test]
    fn the_table() {
        assert_eq!(
            show(Strategy::Native, "gfx1201", FuseAt::Wait),
            " | signal, open-window | close-window, wait-signal, leave-window | CompleteFirst"
        );
        assert_eq!(
            show(Strategy::Named, "gfx1250", FuseAt::Wait),
            "named-init, named-join | named-arrive, open-window | close-window, named-wait, leave-window | Independent"
        );
        assert_eq!(
            show(Strategy::Fused, "gfx1100", FuseAt::Wait),
            " |  | workgroup-barrier | Satisfies"
        );
        assert_eq!(
            show(Strategy::Fused, "gfx1100", FuseAt::Arrive),
            " | workgroup-barrier |  | Independent"
        );
        assert_eq!(
            show(Strategy::Fused, "sm_60", FuseAt::Wait),
            " |  | cta-sync | Satisfies"
        );
        assert_eq!(
            show(Strategy::Mbarrier, "sm_80", FuseAt::Wait),
            "mbarrier-init | mbarrier-arrive, open-window | mbarrier-wait test | Independent"
        );
        assert_eq!(
            show(Strategy::Mbarrier, "sm_90", FuseAt::Wait),
            "mbarrier-init | mbarrier-arrive, open-window | close-window, mbarrier-wait try | Independent"
        );
        assert_eq!(
            show(Strategy::Counter, "gfx906", FuseAt::Wait),
            "counter-init | counter-arrive, open-window | close-window, counter-wait | Independent"
        );
        assert_eq!(
            show(Strategy::Counter, "sm_75", FuseAt::Wait),
            "counter-init | counter-arrive, open-window | close-window, counter-wait | Independent"
        );
        assert_eq!(
            show(Strategy::WarpNamed, "sm_75", FuseAt::Wait),
            " | group-arrive (6 warps in 6 groups, 2 sets), open-window | close-window, group-sync (6 warps in 6 groups, 2 sets) | Independent"
        );
        assert_eq!(
            show(Strategy::WarpNamedSingle, "sm_75", FuseAt::Wait),
            " | group-arrive (6 warps in 6 groups, 1 set), open-window | close-window, group-sync (6 warps in 6 groups, 1 set) | Independent"
        );
        assert_eq!(
            show(Strategy::GroupNamed, "sm_75", FuseAt::Wait),
            " | group-arrive (6 warps in 4 groups, 2 sets), open-window | close-window, group-sync (6 warps in 4 groups, 2 sets) | Independent"
        );
        assert_eq!(
            show(Strategy::Cluster, "sm_90", FuseAt::Wait),
            " | cluster-arrive, open-window | close-window, cluster-wait | Independent"
        );
        assert_eq!(
            show(Strategy::Cluster, "gfx1250", FuseAt::Wait),
            " | signal-first, wait-signal, if-first { cluster-arrive; }, open-window | close-window, cluster-wait, leave-window | CompleteFirst"
        );
        assert_eq!(
            show(Strategy::SingleWave, "sm_90", FuseAt::Wait),
            " |  | warp-sync 0xffffffff | Independent"
        );
        assert_eq!(
            show(Strategy::Subgroup, "gfx906", FuseAt::Wait),
            " |  | wave-barrier | Independent"
        );
    }

    #[test]
    fn every_really_split_strategy_guards_its_window() {
        for strategy in Strategy::ALL {
            for target in ["gfx1201", "sm_90"] {
                let arch = &Target::by_name(target).unwrap().arch;
                let lanes = WarpMask::Active;
                let protocol =
                    Protocol::of(*strategy, arch, 6, FuseAt::Wait, lanes, full_barrier(arch));
                assert_eq!(
                    protocol.arrive.contains(&Step::OpenWindow),
                    strategy.is_split(),
                    "{strategy} on {target}"
                );
                assert!(!protocol.without_guards().arrive.contains(&Step::OpenWindow));
            }
        }
    }
}
