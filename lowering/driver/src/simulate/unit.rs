//! The part of a GPU that an estimate is about, and what one costs there.

use super::inputs::Refusal;
use super::timeline::{Code, Recorder, Recording, Timeline};
use crate::usage::ResourceUsage;
use serde::Serialize;
use splitbar_passes::profile::Gpu;
use splitbar_plan::Target;
use splitbar_plan::target::residency::{Bound, Footprint, Residency};
use splitbar_plan::target::timing::Timing;
use splitbar_sim::memory::Global;
use splitbar_sim::timing::{self, Setup, Unit as CostUnit};
use splitbar_sim::{CodeLocation, Launch, Observer, Progress, Report, Schedule};

/// What a kernel runs on, and what it takes of it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Unit {
    target: &'static str,
    pub(super) timing: Option<&'static Timing>,
    residency: Option<Residency>,
    pub(super) wave_size: u32,
    usage: Option<ResourceUsage>,
    /// True if the registers of `usage`, or what the unit holds, is estimated.
    is_about: bool,
}

/// The source of the number of resident workgroups.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ResidentSource {
    /// The caller says it.
    Requested,
    /// As many as fit by registers, workgroup memory and places.
    Computed,
    /// The same, by an estimate of the registers or of what the GPU holds.
    Estimated,
}

/// How many workgroups are resident at once.
#[derive(Copy, Clone, Debug)]
pub(super) struct ResidentWorkgroups {
    pub(super) workgroups: u32,
    pub(super) source: ResidentSource,
    /// What allows no more; `None` where the caller says the number.
    pub(super) limiter: Option<Bound>,
}

impl Unit {
    /// Of `target`, for a kernel that takes `usage`, or else what its PTX makes one `expect`.
    pub(super) fn new(
        target: &Target,
        wave_size: u32,
        usage: Option<ResourceUsage>,
        expected: Option<ResourceUsage>,
    ) -> Unit {
        let is_known = usage.is_some() && Residency::for_target(target).is_some();
        Unit {
            target: target.gpu(),
            timing: Timing::for_target(target),
            residency: Residency::for_estimates(target),
            wave_size,
            usage: usage.or(expected),
            is_about: !is_known,
        }
    }

    pub(super) fn gpu(&self) -> Option<Gpu> {
        Gpu::new(self.target, self.wave_size)
    }

    /// Workgroups of so many invocations that are resident at once: as many as are `wanted`, or as
    /// fit.
    pub(super) fn resident(
        &self,
        wanted: Option<u32>,
        invocations: u32,
        dynamic_shared: u32,
    ) -> Result<ResidentWorkgroups, Refusal> {
        let unknown = || {
            Refusal::Launch("the limits on resident workgroups of this GPU are unknown".to_owned())
        };
        let residency = self.residency.ok_or_else(unknown)?;
        let footprint = |usage: ResourceUsage| Footprint {
            wave_size: self.wave_size,
            waves: invocations.div_ceil(self.wave_size.max(1)),
            registers: usage.registers,
            shared_bytes: usage.shared_memory_bytes.saturating_add(dynamic_shared),
            barriers: usage.barriers,
        };
        let fit = |usage| residency.resident(footprint(usage)).ok_or_else(unknown);
        let Some(wanted) = wanted else {
            let usage = self.usage.ok_or_else(|| {
                Refusal::Launch(
                    "the number of resident workgroups is unknown because the registers of this kernel are: set it with `Job::estimate`"
                        .to_owned(),
                )
            })?;
            let resident = fit(usage)?;
            return match resident.workgroups {
                0 => Err(Refusal::Launch(
                    "the GPU cannot hold a workgroup of this kernel".to_owned(),
                )),
                workgroups => Ok(ResidentWorkgroups {
                    workgroups,
                    source: if self.is_about {
                        ResidentSource::Estimated
                    } else {
                        ResidentSource::Computed
                    },
                    limiter: Some(resident.bound),
                }),
            };
        };
        // Places for waves and workgroups alone.
        let most = fit(ResourceUsage::default())?.workgroups;
        if wanted == 0 || wanted > most.max(1) {
            return Err(Refusal::Launch(format!(
                "{wanted} workgroups cannot be resident at once; the GPU can hold 1 to {}",
                most.max(1)
            )));
        }
        Ok(ResidentWorkgroups {
            workgroups: wanted,
            source: ResidentSource::Requested,
            limiter: None,
        })
    }
}

/// An estimate with the places of the instructions.
pub(super) struct Timed {
    /// The timeline, if it was recorded.
    pub(super) timeline: Option<Timeline>,
    pub(super) estimate: timing::Estimate,
    pub(super) places: Vec<(CodeLocation, bool)>,
}

impl Timed {
    /// Returns true if a wave executes a barrier, or the code has none.
    #[cfg(feature = "llvm")]
    pub(super) fn comes_to_barrier(&self) -> bool {
        let spent = self.estimate.spent.iter().zip(&self.places);
        let mut barriers = spent.filter(|(_, (_, is_barrier))| *is_barrier).peekable();
        barriers.peek().is_none() || barriers.any(|(spent, _)| spent.issued > 0)
    }

    /// Estimates how long a launch of `program` takes, with a timeline if there is a `recording`.
    pub(super) fn new<P: timing::Timed>(
        program: &P,
        global: &mut Global,
        launch: &Launch,
        setup: Setup,
        recording: Option<&Recording>,
        watch: &mut dyn FnMut(Progress),
    ) -> Timed {
        let mut recorder = recorder(program, recording, true);
        let observer = recorder.as_mut().map(|of| of as &mut dyn Observer);
        let estimate = timing::estimate(program, global, launch, setup, observer, watch);
        let costs = program.costs();
        let is_barrier =
            |unit: CostUnit| matches!(unit, CostUnit::Barrier { .. } | CostUnit::Object { .. });
        let places = (0..).zip(&costs);
        let places = places.map(|(pc, cost)| (program.place(pc), is_barrier(cost.unit)));
        Timed {
            timeline: recorder.map(Recorder::finish),
            places: places.collect(),
            estimate,
        }
    }
}

fn recorder<P: timing::Timed>(
    program: &P,
    recording: Option<&Recording>,
    fills_gaps: bool,
) -> Option<Recorder> {
    recording
        .map(|recording| Recorder::new(Code::new(program, recording.words.as_ref()), fills_gaps))
}

/// Runs a launch of `program` under a schedule, with a timeline if there is a `recording`.
pub(super) fn recorded<P: timing::Timed>(
    program: &P,
    global: &mut Global,
    launch: &Launch,
    schedule: Schedule,
    recording: Option<&Recording>,
    watch: &mut dyn FnMut(Progress),
) -> (Report, Option<Timeline>) {
    let mut recorder = recorder(program, recording, false);
    let observer = recorder.as_mut().map(|of| of as &mut dyn Observer);
    let report = splitbar_sim::run_observed(program, global, launch, schedule, observer, watch);
    (report, recorder.map(Recorder::finish))
}
