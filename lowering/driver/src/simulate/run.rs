//! One run of a kernel, and what came of it.

use super::inputs::{Given, Inputs, Refusal};
use super::job::{Code, Job};
use super::launched::Launched;
use super::timeline::{Recording, Timeline};
use splitbar_passes::printf::Printed;
use splitbar_sim::{Progress, Report, Schedule};

/// The outcome of one run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Under which schedule.
    pub schedule: Schedule,
    /// The findings.
    pub report: Report,
    /// The buffers afterwards, in the order of the inputs.
    pub buffers: Vec<Vec<u8>>,
    /// The output of the kernel's printf; `None` if it has no printf buffer, or its calls are
    /// unknown.
    pub printed: Option<Printed>,
}

impl Job {
    /// Runs the kernel under one schedule.
    ///
    /// # Errors
    /// When inputs are missing or do not fit.
    pub fn run(&self, inputs: &Inputs, schedule: Schedule) -> Result<Outcome, Refusal> {
        self.run_watched(inputs, schedule, &mut |_| ())
    }

    /// As [`Job::run`], with reports of its progress.
    ///
    /// # Errors
    /// As [`Job::run`].
    pub fn run_watched(
        &self,
        inputs: &Inputs,
        schedule: Schedule,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, Refusal> {
        let (outcome, _) = self.run_with(inputs, schedule, None, watch)?;
        Ok(outcome)
    }

    /// As [`Job::run`], with a timeline in steps of the machine. `module` is the module that the
    /// code was compiled from, whose barriers the timeline shows; without it the barriers of the
    /// code count.
    ///
    /// # Errors
    /// As [`Job::run`].
    pub fn run_recorded(
        &self,
        inputs: &Inputs,
        schedule: Schedule,
        module: Option<&[u8]>,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<(Outcome, Timeline), Refusal> {
        let recording = Recording::new(module);
        let (outcome, timeline) = self.run_with(inputs, schedule, Some(&recording), watch)?;
        Ok((outcome, timeline.unwrap_or_default()))
    }

    fn run_with(
        &self,
        inputs: &Inputs,
        schedule: Schedule,
        recording: Option<&Recording>,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<(Outcome, Option<Timeline>), Refusal> {
        let Launched {
            mut global,
            regions,
            printf_buffer,
            arguments,
            sizes,
        } = self.launched(inputs)?;
        let given = Given {
            arguments: &arguments,
            inputs,
            sizes,
        };
        let (report, timeline) = match &self.code {
            Code::Amdgpu(binary) => binary.run(given, &mut global, schedule, recording, watch)?,
            Code::Nvptx(text) => text.run(given, &mut global, schedule, recording, watch),
        };
        let bytes = |id| global.region(id).map(|region| region.bytes());
        let buffers = regions
            .iter()
            .map(|id| bytes(*id).map(<[u8]>::to_vec))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| Refusal::Launch("a buffer is lost: this is a bug".to_owned()))?;
        let printed = printf_buffer.and_then(bytes);
        let outcome = Outcome {
            schedule,
            report,
            buffers,
            printed: printed.map(|bytes| Printed::read(bytes, &self.prints)),
        };
        Ok((outcome, timeline))
    }
}
