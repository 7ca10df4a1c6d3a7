//! The results of a compilation for one entry point.

use super::cost_model::{SplitDecisions, Version};
use super::expected::Expected;
use super::motion::BarrierMotion;
use super::places::PlanPlaces;
use super::plan::PlannedKernel;
use super::plan_text::{Splitting, plan_text};
use super::prepare::SourcePair;
use super::problems::Problems;
use super::unsplit::UnsplitBarrier;
use crate::usage::{Resident, ResidentEstimate, ResourceUsage};
use crate::window::Window;
use splitbar_audit::verdict::Audit;
use splitbar_layout::abi::KernelAbi;
use splitbar_passes::module::WordOffset;
use splitbar_plan::{EntryPlan, Target};

/// One compiled entry point.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The plan of its barriers.
    pub plan: EntryPlan,
    /// The interface of its launch.
    pub abi: KernelAbi,
    /// The rest of each pair's window, in the order of the plan's pairs; `None` if it was not
    /// measured.
    pub windows: Option<Vec<Window>>,
    /// The same in NVIDIA's machine code, after ptxas; `None` too where ptxas or nvdisasm is not
    /// installed, and for AMD GPUs, whose assembly is final.
    pub machine_windows: Option<Vec<Window>>,
    /// The resource usage of the kernel; `None` if it was not measured, and on NVIDIA GPUs without
    /// ptxas.
    pub usage: Option<ResourceUsage>,
    /// The workgroups that are resident on a compute unit or a multiprocessor, if `usage` is known.
    pub resident: Option<Resident>,
    /// The bounds on the number of resident workgroups on NVIDIA GPUs without ptxas; `None` also if
    /// the kernel calls functions or has local memory.
    pub resident_between: Option<[u32; 2]>,
    /// An estimate of the number of resident workgroups if `resident` is `None`.
    pub resident_estimate: Option<ResidentEstimate>,
    /// The expected time; `None` if no choice depended on it.
    pub expected: Option<Expected>,
    /// The audit of waits, caches and fences; `None` when it was not asked for.
    pub audit: Option<Audit>,
    /// The decisions among strategies; `None` if there was nothing to decide.
    pub decisions: Option<SplitDecisions>,
    /// The outcome for its barriers, and for pairs of the source, when barriers were split.
    pub motions: Vec<BarrierMotion>,
    /// The OpControlBarriers of the workgroup that are not split, each with the reason, where the
    /// options have barriers split.
    pub unsplit: Vec<UnsplitBarrier>,
    /// The places of what the plan names, in the module that was given.
    pub places: PlanPlaces,
    /// The plan's pairs, as the given module has them.
    pub(crate) source_pairs: Vec<SourcePair>,
    /// The instructions of the given module that the plan's sites came from.
    #[cfg_attr(
        not(any(feature = "llvm", feature = "sim")),
        expect(dead_code, reason = "only timelines and reports ask")
    )]
    pub(crate) source_sites: Vec<Option<WordOffset>>,
}

impl Entry {
    /// The workgroups that are resident if the kernel takes so much workgroup memory, as far as is
    /// known without compiling it again.
    pub(crate) fn workgroups_with(&self, shared_memory_bytes: u32, target: &Target) -> Option<u32> {
        let estimate = self.resident_estimate.as_ref();
        let registers = match self.usage {
            Some(usage) => usage.registers,
            None => estimate?.registers,
        };
        let usage = ResourceUsage {
            registers,
            barriers: self.usage.map_or(1, |usage| usage.barriers),
            shared_memory_bytes,
            spilled_bytes: 0,
        };
        let resident = ResidentEstimate::new(usage, &self.plan, target)?;
        Some(resident.workgroups)
    }

    /// Of a planned kernel of which nothing was measured.
    pub(crate) fn planned(
        kernel: PlannedKernel<'_, '_>,
        abi: KernelAbi,
        problems: &Problems<'_>,
    ) -> Entry {
        Entry {
            places: kernel.places(problems),
            plan: kernel.plan,
            abi,
            windows: None,
            machine_windows: None,
            usage: None,
            resident: None,
            resident_between: None,
            resident_estimate: None,
            expected: None,
            audit: None,
            decisions: kernel.decisions,
            motions: kernel.prepared.motions.clone(),
            unsplit: kernel.unsplit,
            source_pairs: kernel.prepared.source_pairs.clone(),
            source_sites: kernel.prepared.source_sites.clone(),
        }
    }

    /// Its resources.
    pub(crate) fn version(&self) -> Version {
        Version {
            usage: self.usage,
            resident: self.resident.clone(),
            resident_between: self.resident_between,
            resident_estimate: self.resident_estimate.clone(),
            expected: self.expected.clone(),
        }
    }

    /// The windows in the code that runs: those of machine code where they are known.
    pub(crate) fn final_windows(&self) -> Option<&[Window]> {
        let windows = self.machine_windows.as_ref().or(self.windows.as_ref());
        windows.map(Vec::as_slice)
    }

    /// Leaves out what was measured.
    pub(crate) fn forget_measurements(&mut self) {
        self.windows = None;
        self.machine_windows = None;
        self.usage = None;
        self.resident = None;
        self.resident_between = None;
        self.resident_estimate = None;
    }

    /// Its plan as text, with the windows where they were measured.
    pub(crate) fn plan_text(&self) -> String {
        let windows = self.windows.as_deref();
        let splitting = Splitting {
            motions: &self.motions,
            decisions: self.decisions.as_ref(),
            unsplit: &self.unsplit,
            places: &self.places,
        };
        plan_text(&self.plan, windows, splitting)
    }
}
