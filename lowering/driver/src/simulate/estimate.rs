//! Estimates the time of a launch on one unit (a multiprocessor, a compute unit, a WGP) that runs
//! all its workgroups. [`splitbar_sim::timing`] describes the model.

use super::inputs::{Given, Inputs, Refusal};
use super::job::{Code, Job};
use super::launched::Launched;
use super::timeline::{Recording, Timeline, barrier_words};
pub use super::unit::ResidentSource;
use super::unit::Timed;
use crate::compile::Entry;
use serde::Serialize;
use splitbar_plan::target::timing::Timing;
use splitbar_sim::timing::{Setup, Spent};
use splitbar_sim::{CodeLocation, Finding, Progress};
use std::collections::BTreeMap;

/// The estimated time of a launch on one unit. All times are in its cycles.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// From the start of the first workgroup to the end of the last one.
    pub cycles: u64,
    /// The same with latencies a third shorter and a third longer, on GPUs of which hardly any
    /// figure is public; `None` on others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[u64; 2]>,
    /// Workgroups of the launch, which all run on this unit.
    pub workgroups: u32,
    /// Of these, how many are resident at once.
    pub resident: u32,
    /// The source of that number.
    pub resident_source: ResidentSource,
    /// The limiter: registers, workgroup memory, waves, workgroups, barriers; `None` if the caller
    /// sets the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limiter: Option<String>,
    /// Waves of a workgroup.
    pub waves: u32,
    /// Instructions of waves that are issued, polls among them.
    pub issued: u64,
    /// Places to issue an instruction that are used, of 1.
    pub utilisation: f64,
    /// Cache lines that loads find in the unit's own cache, in the shared one, and in memory.
    pub lines: [u64; 3],
    /// The time of each executed instruction, in the order of the code.
    #[serde(skip)]
    pub instructions: Vec<InstructionTime>,
    /// The findings: an estimate of a run with findings is unreliable.
    #[serde(skip)]
    pub findings: Vec<Finding>,
}

/// The time of one instruction, summed over all waves.
#[derive(Clone, Debug)]
pub struct InstructionTime {
    /// Its place.
    pub place: CodeLocation,
    /// True if it is a barrier instruction of the machine, or works on a barrier object.
    pub is_barrier: bool,
    /// Executions and cycles.
    pub spent: Spent,
}

/// The time of a barrier instruction, summed over all waves.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct BarrierTime {
    /// The word offset in the module; none for an instruction of machine code.
    pub word: Option<u32>,
    /// `arrive`, `wait` or `full`; for machine code its text.
    pub what: String,
    /// Instructions that are issued for it.
    pub issued: u64,
    /// Wave-cycles that they take.
    pub cycles: u64,
    /// Of these, cycles in which the wave cannot issue, because others have yet to arrive. A wave
    /// that polls issues, and counts in `cycles` alone.
    pub stalled: u64,
}

impl Estimate {
    /// The time at the barriers: those of `module`, if the code came from it, else the barrier
    /// instructions of the code.
    pub fn barriers(&self, module: Option<&[u8]>) -> Vec<BarrierTime> {
        let words = module.map(barrier_words);
        let mut found: BTreeMap<u64, BarrierTime> = BTreeMap::new();
        for instruction in &self.instructions {
            let place = &instruction.place;
            let (key, word, what) = match &words {
                Some(words) => {
                    let Some((word, what)) = place.word.and_then(|w| Some((w, words.get(&w)?)))
                    else {
                        continue; // not of a barrier
                    };
                    (word.into(), Some(word), what.name().to_owned())
                }
                None if instruction.is_barrier => (place.address, None, place.text.clone()),
                None => continue,
            };
            let time = found.entry(key).or_insert(BarrierTime {
                word,
                what,
                issued: 0,
                cycles: 0,
                stalled: 0,
            });
            time.issued += instruction.spent.issued;
            time.cycles += instruction.spent.cycles;
            time.stalled += instruction.spent.stalled;
        }
        found.into_values().collect()
    }
}

impl Job {
    /// Estimates the time of the launch on one unit of the GPU that runs all its workgroups,
    /// `resident` of them at once, or as many as fit.
    ///
    /// # Errors
    /// When inputs are missing or do not fit, the times of the GPU are not known, it has no room
    /// for so many workgroups, or the kernel runs in clusters.
    pub fn estimate(&self, inputs: &Inputs, resident: Option<u32>) -> Result<Estimate, Refusal> {
        self.estimate_watched(inputs, resident, &mut |_| ())
    }

    /// As [`Job::estimate`], with reports of its progress.
    ///
    /// # Errors
    /// As [`Job::estimate`].
    pub fn estimate_watched(
        &self,
        inputs: &Inputs,
        resident: Option<u32>,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Estimate, Refusal> {
        let (estimate, _) = self.estimate_with(inputs, resident, None, watch)?;
        Ok(estimate)
    }

    /// As [`Job::estimate`], with a timeline in cycles. `module` is the module that the code was
    /// compiled from, whose barriers the timeline shows; without it the barriers of the code count.
    ///
    /// # Errors
    /// As [`Job::estimate`].
    pub fn estimate_recorded(
        &self,
        inputs: &Inputs,
        resident: Option<u32>,
        module: Option<&[u8]>,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<(Estimate, Timeline), Refusal> {
        let recording = Recording::new(module);
        let (estimate, timeline) = self.estimate_with(inputs, resident, Some(&recording), watch)?;
        Ok((estimate, timeline.unwrap_or_default()))
    }

    /// As [`Job::estimate_recorded`], for code that was compiled as `entry`, of which only the
    /// timeline is returned.
    ///
    /// # Errors
    /// As [`Job::estimate`].
    pub(crate) fn timeline_of(
        &self,
        inputs: &Inputs,
        resident: Option<u32>,
        entry: &Entry,
    ) -> Result<Timeline, Refusal> {
        let recording = Recording::of_entry(entry);
        let (_, timeline) = self.estimate_with(inputs, resident, Some(&recording), &mut |_| ())?;
        Ok(timeline.unwrap_or_default())
    }

    fn estimate_with(
        &self,
        inputs: &Inputs,
        resident: Option<u32>,
        recording: Option<&Recording>,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<(Estimate, Option<Timeline>), Refusal> {
        let timing = self.unit.timing.ok_or_else(|| {
            Refusal::Launch("the timing of instructions on this GPU is unknown".to_owned())
        })?;
        if self.cluster != [1; 3] {
            return Err(Refusal::Launch(
                "the workgroups of a cluster run on several units, but the estimate covers one"
                    .to_owned(),
            ));
        }
        let Launched { sizes, .. } = self.launched(inputs)?;
        let product = |sizes: [u32; 3]| sizes.iter().fold(1u32, |n, s| n.saturating_mul(*s));
        let invocations = product(sizes.workgroup);
        let unit = &self.unit;
        let resident = unit.resident(resident, invocations, sizes.dynamic_shared)?;
        let mut timed = |timing: Timing, recording| -> Result<Timed, Refusal> {
            let Launched {
                mut global,
                arguments,
                sizes,
                ..
            } = self.launched(inputs)?;
            let resident = resident.workgroups;
            let setup = Setup {
                timing,
                resident,
                checks: true,
            };
            let given = Given {
                arguments: &arguments,
                inputs,
                sizes,
            };
            match &self.code {
                Code::Amdgpu(binary) => {
                    binary.estimate(given, &mut global, setup, recording, watch)
                }
                Code::Nvptx(text) => Ok(text.estimate(given, &mut global, setup, recording, watch)),
            }
        };
        let range = if timing.estimated {
            let bounds = [(2, 3), (4, 3)].map(|(numerator, denominator)| {
                let scaled = timing.with_latencies(numerator, denominator);
                timed(scaled, None).map(|timed| timed.estimate.cycles)
            });
            let [least, most] = bounds;
            Some([least?, most?])
        } else {
            None
        };
        let Timed {
            estimate,
            places,
            timeline,
        } = timed(*timing, recording)?;
        let spent = estimate.spent.into_iter().zip(places);
        let executed = spent.filter(|(spent, _)| spent.issued > 0);
        let estimate = Estimate {
            cycles: estimate.cycles,
            range,
            workgroups: product(inputs.groups),
            resident: resident.workgroups,
            resident_source: resident.source,
            limiter: resident.limiter.map(|limiter| limiter.to_string()),
            waves: invocations.div_ceil(unit.wave_size.max(1)),
            issued: estimate.issued,
            utilisation: estimate.utilisation,
            lines: estimate.lines,
            instructions: executed
                .map(|(spent, (place, is_barrier))| InstructionTime {
                    place,
                    is_barrier,
                    spent,
                })
                .collect(),
            findings: estimate.report.findings,
        };
        Ok((estimate, timeline))
    }
}
