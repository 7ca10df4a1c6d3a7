//! One run of a kernel, and what came of it.

use super::inputs::{Inputs, Refusal};
use super::job::{Code, Job};
use super::launched::Launched;
use splitbar_passes::printf::Printed;
use splitbar_sim::{Progress, Report, Schedule};

/// What came of one run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Under which schedule.
    pub schedule: Schedule,
    /// What was found.
    pub report: Report,
    /// The buffers afterwards, in the order of the inputs.
    pub buffers: Vec<Vec<u8>>,
    /// What the kernel printed; `None` for one that has no printf buffer, or of whose calls nothing
    /// is known.
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

    /// As [`Job::run`], and says from time to time how far it is.
    ///
    /// # Errors
    /// As [`Job::run`].
    pub fn run_watched(
        &self,
        inputs: &Inputs,
        schedule: Schedule,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, Refusal> {
        let Launched {
            mut global,
            regions,
            printf_buffer,
            arguments,
            sizes,
        } = self.launched(inputs)?;
        let report = match &self.code {
            Code::Amdgpu(binary) => {
                binary.run(&arguments, inputs, sizes, &mut global, schedule, watch)?
            }
            Code::Nvptx(text) => text.run(&arguments, inputs, sizes, &mut global, schedule, watch),
        };
        let bytes = |id| global.region(id).map(|region| region.bytes());
        let buffers = regions
            .iter()
            .map(|id| bytes(*id).map(<[u8]>::to_vec))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| Refusal::Launch("a buffer is lost: this is a bug".to_owned()))?;
        let printed = printf_buffer.and_then(bytes);
        Ok(Outcome {
            schedule,
            report,
            buffers,
            printed: printed.map(|bytes| Printed::read(bytes, &self.prints)),
        })
    }
}
