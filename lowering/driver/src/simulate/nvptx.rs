//! PTX kernels on the machine.

use super::inputs::{Given, Refusal};
use super::timeline::{Recording, Timeline};
use super::unit::{Timed, recorded};
use crate::asm;
use crate::usage::ResourceUsage;
use splitbar_layout::abi::{Argument, ArgumentKind};
use splitbar_plan::Target;
use splitbar_sim::memory::Global;
use splitbar_sim::timing::Setup;
use splitbar_sim::{Launch, Progress, Report, Schedule, ptx};

/// A kernel of a PTX text.
pub struct Text {
    kernel: ptx::Kernel,
    /// What it may take, as far as its text says that.
    expected: ResourceUsage,
}

impl Text {
    pub(super) fn read(text: &str, name: Option<&str>) -> Result<Text, Refusal> {
        let kernel =
            ptx::kernel(text, name).map_err(|problem| Refusal::Launch(problem.to_string()))?;
        let estimates = asm::ptx::estimate_registers(text).unwrap_or_default();
        let mut estimates = estimates.iter();
        let estimate = match name {
            Some(name) => estimates.find(|estimate| estimate.name == name),
            None => estimates.next(), // the only one
        };
        let shared_bytes = kernel.shared_bytes();
        let expected = estimate.map(|estimate| ResourceUsage::from_ptx(estimate, shared_bytes));
        Ok(Text {
            kernel,
            expected: expected.unwrap_or_default(),
        })
    }

    /// What the kernel may take.
    pub(super) fn expected_usage(&self) -> ResourceUsage {
        self.expected
    }

    /// Bytes of workgroup memory that the kernel declares.
    pub(super) fn shared_bytes(&self) -> u32 {
        self.kernel.shared_bytes()
    }

    /// Refuses text that `target` cannot run.
    pub(super) fn of(self, target: &Target) -> Result<Text, Refusal> {
        let Some(gpu) = target.nvptx() else {
            let name = target.name;
            return Err(Refusal::Launch(format!(
                "the input is PTX, and {name} is not an NVIDIA GPU"
            )));
        };
        match self.kernel.target() {
            Some(of_text) if !runs_on(of_text, gpu.sm) => Err(Refusal::Launch(format!(
                "the PTX is for {of_text}, which {} cannot run",
                target.name
            ))),
            _ => Ok(self),
        }
    }

    /// The instructions as the simulator numbers them, each with its line in the text (from 1).
    pub fn lines(&self) -> impl Iterator<Item = (u32, u32)> {
        self.kernel.lines()
    }

    /// Returns true if one of these instructions is a fence.
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
                    8 => ArgumentKind::GlobalBuffer,
                    _ => ArgumentKind::ByValue,
                },
                set: None,
                binding: None,
                size: parameter.bytes,
                offset: parameter.offset,
                align: 1,
                pointee_align: None,
            })
            .collect();
        (arguments, self.kernel.required_size())
    }

    pub(super) fn unknown(&self) -> Vec<&str> {
        self.kernel.unknown().collect()
    }

    pub(super) fn run(
        &self,
        given: Given<'_>,
        global: &mut Global,
        schedule: Schedule,
        recording: Option<&Recording>,
        watch: &mut dyn FnMut(Progress),
    ) -> (Report, Option<Timeline>) {
        let (kernel, launch) = self.prepared(given, global);
        recorded(&kernel, global, &launch, schedule, recording, watch)
    }

    pub(super) fn estimate(
        &self,
        given: Given<'_>,
        global: &mut Global,
        setup: Setup,
        recording: Option<&Recording>,
        watch: &mut dyn FnMut(Progress),
    ) -> Timed {
        let (kernel, launch) = self.prepared(given, global);
        Timed::new(&kernel, global, &launch, setup, recording, watch)
    }

    /// The kernel with its arguments, and its launch.
    fn prepared(&self, given: Given<'_>, global: &mut Global) -> (ptx::Kernel, Launch) {
        let Given {
            arguments,
            inputs,
            sizes,
        } = given;
        let mut kernel = self.kernel.clone();
        kernel.set_parameters(arguments);
        kernel.load(global);
        let launch = Launch {
            groups: inputs.groups,
            cluster: sizes.cluster,
            workgroup_size: sizes.workgroup,
            shared_bytes: kernel.shared_bytes() as usize + sizes.dynamic_shared as usize,
            clocks: inputs.clocks,
            limits: inputs.limits,
        };
        (kernel, launch)
    }
}

/// Returns true if PTX for `of_text` runs on the GPU of compute capability `sm`: it runs on later
/// ones too, with the suffix `a` only on this one, with `f` on those of its family. Source: PTX
/// ISA, ".target".
fn runs_on(of_text: &str, sm: u32) -> bool {
    let Some(name) = of_text.strip_prefix("sm_") else {
        return true; // texture modes and the like say nothing of the GPU
    };
    let digits = name.trim_end_matches(['a', 'f']);
    let Ok(least) = digits.parse::<u32>() else {
        return false; // not the number of a GPU
    };
    match &name[digits.len()..] {
        "" => sm >= least,
        "a" => sm == least,
        "f" => sm >= least && sm / 10 == least / 10,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::runs_on;

    #[test]
    fn text_runs_on_later_gpus_unless_it_says_otherwise() {
        for (of_text, sm, runs) in [
            ("sm_80", 80, true),
            ("sm_80", 90, true),
            ("sm_90", 80, false),
            ("sm_90a", 90, true),
            ("sm_90a", 100, false),
            ("sm_100f", 103, true),
            ("sm_100f", 120, false),
            ("sm_90af", 90, false),
            ("sm_x", 90, false),
            ("texmode_independent", 75, true),
        ] {
            assert_eq!(runs_on(of_text, sm), runs, "{of_text} on {sm}");
        }
    }
}
