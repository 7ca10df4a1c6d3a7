//! The form of a strategy's steps: what it does at the entry, at an arrive and at a wait. Fences
//! are not part of it; the planner adds them.

use crate::options::FuseAt;
use crate::step::{AmdgpuStep, NvptxStep, Step, WarpMask};
use crate::target::{Arch, FenceScope};

/// What the steps of a strategy depend on.
#[derive(Clone, Debug)]
pub(crate) struct Setup<'t> {
    /// The kind of target.
    pub arch: &'t Arch,
    /// Waves of the workgroup; as many as it can have where only the launch knows.
    pub waves: u32,
    /// The place of a fused barrier.
    pub fuse_at: FuseAt,
    /// The lanes that a sync of one warp names.
    pub lanes: WarpMask,
    /// The full barrier of the workgroup.
    pub barrier: Step,
}

/// How a strategy lives beside a full barrier (OpControlBarrier) that stands between an arrive and
/// its wait.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum BesideFullBarrier {
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
pub(crate) enum Unwaited {
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
pub(crate) struct Protocol {
    /// Once per invocation, before anything else.
    pub at_entry: Vec<Step>,
    /// At an arrive, after the release fences.
    pub arrive: Vec<Step>,
    /// At a wait, before the acquire fences.
    pub wait: Vec<Step>,
    /// Completes an outstanding arrive ahead of its wait.
    pub complete: Vec<Step>,
    /// The place where an arrive without a wait is completed.
    pub unwaited: Unwaited,
    /// Before a return that other waves may go on from, with none of the wave's arrivals open: the
    /// phases that are left do without it.
    pub leave: Vec<Step>,
    /// Beside a full barrier.
    pub beside: BesideFullBarrier,
    /// The widest memory scope that the instructions order by themselves: up to it no fence is
    /// needed.
    pub orders: Option<FenceScope>,
    /// True if the steps keep a word per invocation between phases, zero at the entry; the steps
    /// define its meaning.
    pub keeps_word: bool,
}

/// The full barrier of a workgroup of several waves.
pub(crate) fn full_barrier(arch: &Arch) -> Step {
    match arch {
        Arch::Amdgpu(_) => Step::Amdgpu(AmdgpuStep::WorkgroupBarrier),
        Arch::Nvptx(_) => Step::Nvptx(NvptxStep::CtaSync),
    }
}

impl Protocol {
    /// A protocol whose wait also completes an arrive that is never waited for.
    pub(crate) fn new(
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
            keeps_word: false,
        }
    }

    /// The protocol without the steps that guard the window.
    #[must_use]
    pub(crate) fn without_guards(mut self) -> Protocol {
        let guards = [
            Step::OpenWindow,
            Step::CloseWindow,
            Step::Amdgpu(AmdgpuStep::LeaveWindow),
        ];
        self.arrive.retain(|step| !guards.contains(step));
        self.wait.retain(|step| !guards.contains(step));
        self
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::strategy::Strategy;
    use crate::target::Target;
    use pretty_assertions::assert_eq;

    fn protocol(strategy: Strategy, target: &str, fuse_at: FuseAt) -> Protocol {
        let arch = &Target::by_name(target).unwrap().arch;
        let setup = Setup {
            arch,
            waves: 6,
            fuse_at,
            lanes: WarpMask::Lanes(u32::MAX),
            barrier: full_barrier(arch),
        };
        strategy.protocol(setup)
    }

    fn show(strategy: Strategy, target: &str, fuse_at: FuseAt) -> String {
        let protocol = protocol(strategy, target, fuse_at);
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
                let protocol = protocol(*strategy, target, FuseAt::Wait);
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
