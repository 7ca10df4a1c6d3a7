//! PTX kernels on the machine.

use super::{Inputs, Refusal, Sizes};
use splitbar_sim::memory::Global;
use splitbar_sim::{Launch, Progress, Report, Schedule, ptx, run_watched};
use splitbar_typed::abi::{Argument, ArgumentKind};

/// A kernel of a PTX text.
pub struct Text {
    kernel: ptx::Kernel,
}

impl Text {
    pub(super) fn read(text: &str, name: Option<&str>) -> Result<Text, Refusal> {
        let kernel = ptx::kernel(text, name).map_err(|problem| Refusal(problem.to_string()))?;
        Ok(Text { kernel })
    }

    /// The instructions as the simulator numbers them, each with its line in the text (from 1).
    pub fn lines(&self) -> impl Iterator<Item = (u32, u32)> {
        self.kernel.lines()
    }

    /// Whether one of these instructions is a fence.
    pub fn is_fence(&self, instructions: &[u32]) -> bool {
        instructions.iter().any(|pc| self.kernel.is_fence(*pc))
    }

    /// The kernel's parameters as the text declares them. A pointer is a parameter of eight bytes,
    /// so buffers take those first; the text does not say more.
    pub(super) fn signature(&self) -> (Vec<Argument>, Option<[u32; 3]>) {
        let arguments = self
            .kernel
            .parameters()
            .iter()
            .zip(0..)
            .map(|(parameter, index)| Argument {
                index,
                kind: match parameter.bytes {
                    8 => ArgumentKind::Buffer,
                    _ => ArgumentKind::Value,
                },
                set: None,
                binding: None,
                size: parameter.bytes,
                offset: parameter.offset,
            })
            .collect();
        (arguments, self.kernel.required_size())
    }

    pub(super) fn unknown(&self) -> Vec<&str> {
        self.kernel.unknown().collect()
    }

    pub(super) fn run(
        &self,
        arguments: &[u8],
        inputs: &Inputs,
        sizes: Sizes,
        global: &mut Global,
        schedule: Schedule,
        watch: &mut dyn FnMut(Progress),
    ) -> Report {
        let mut kernel = self.kernel.clone();
        kernel.set_parameters(arguments);
        kernel.load(global);
        let launch = Launch {
            groups: inputs.groups,
            cluster: sizes.cluster,
            workgroup_size: sizes.workgroup,
            shared_bytes: kernel.shared_bytes() as usize + inputs.dynamic_shared as usize,
            limits: inputs.limits,
        };
        run_watched(&kernel, global, &launch, schedule, watch)
    }
}
