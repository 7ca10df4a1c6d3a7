//! The launch by which versions of a kernel are compared when the launch is not known.
//!
//! Every version computes the same, so with the same made-up inputs it takes the same branches and
//! iterations: what differs are the cycles. The launch is one unit with as many workgroups as the
//! code's registers and workgroup memory allow, as far as [`WAVES`] goes. Every buffer has
//! [`BUFFER`] bytes and begins again after its end; its words are small numbers that look random,
//! so that loops whose counts come from memory are uneven. Every word of constants is the same
//! size. Of a launch that takes long, the model looks at a part.

use super::inputs::{Given, Inputs, Refusal};
use super::job::{Code, Job};
use super::launched::Launched;
use super::timeline::{Recording, Timeline};
use super::unit::Timed;
use crate::compile::{By, ExpectedCycles, Output};
use crate::launch::{BufferName, Launch};
use splitbar_layout::abi::{Argument, ArgumentKind, Reached, ResourceKind};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_sim::timing::Setup;
use splitbar_sim::{FindingKind, Limits};

/// The most waves that are resident together: more of them show nearly the same, and take longer.
const WAVES: u32 = 32;

/// Bytes of a buffer.
const BUFFER: usize = 1 << 16;

/// Numbers in buffers are smaller.
const NUMBERS: u32 = 16;

/// The value of each word of constants: sizes of matrices and arrays, strides, counts. It is a
/// multiple of common sizes of tiles.
const CONSTANT: u32 = 64;

/// The most instructions of waves of one launch, so that the model takes about as long as a
/// compilation at most. Versions that take more are compared as far as both come.
const STEPS: u64 = 40_000;

/// Invocations of a workgroup where only the launch knows them.
const INVOCATIONS: u32 = 128;

/// Launches that are made up, the first of which is taken that comes to a barrier. Kernels with
/// counts of rows in buffers do nothing where these are small, and others have work in one
/// direction alone.
const LAUNCHES: [MadeUp; 4] = [
    MadeUp {
        is_along_tiles: true,
        numbers: Numbers::Uneven,
    },
    MadeUp {
        is_along_tiles: false,
        numbers: Numbers::Uneven,
    },
    MadeUp {
        is_along_tiles: true,
        numbers: Numbers::Constant,
    },
    MadeUp {
        is_along_tiles: false,
        numbers: Numbers::Constant,
    },
];

/// How a launch is made up.
#[derive(Copy, Clone, Debug)]
struct MadeUp {
    /// True if workgroups of several rows follow each other down a column, so that tiles of
    /// matrices stay inside of its rows, and others along a row; false for the other direction.
    is_along_tiles: bool,
    numbers: Numbers,
}

/// The numbers in buffers.
#[derive(Copy, Clone, Debug)]
enum Numbers {
    /// They look random, and are smaller than [`NUMBERS`].
    Uneven,
    /// All are [`CONSTANT`].
    Constant,
}

/// Bytes of workgroup memory for each pointer to memory that the launch adds.
const DYNAMIC: u32 = 1 << 12;

impl Job {
    /// The cycles that entry point number `entry` of a compilation is expected to take: those of a
    /// launch that is given or made up.
    ///
    /// # Errors
    /// The part that the model does not know of its code, its arguments or the GPU; and of a launch
    /// what the kernel does not take of it, and what is found when it runs.
    pub(crate) fn expected(
        output: &Output,
        entry: usize,
        by: By<'_>,
    ) -> Result<ExpectedCycles, Refusal> {
        let job = Job::measured(output, entry)?;
        let expected = match by {
            By::Given(launch) => job.expect_launch(launch)?,
            By::MadeUp(first) => job.expect(first, None)?.0,
        };
        Ok(ExpectedCycles {
            splits_for_free: job.splits_for_free(output, entry),
            ..expected
        })
    }

    fn expect_launch(&self, launch: &Launch) -> Result<ExpectedCycles, Refusal> {
        let inputs = Inputs::of_launch(launch, self.workgroup_size);
        let limits = |problem| Refusal::Code(Diagnostics::from(problem));
        inputs.check().map_err(limits)?;
        self.takes(&inputs)?;
        let estimate = self.estimate(&inputs, launch.resident)?;
        if let Some(finding) = estimate.findings.first() {
            return Err(Refusal::Launch(finding.kind.summary().to_owned()));
        }
        Ok(ExpectedCycles {
            workgroups: estimate.workgroups,
            resident: estimate.resident.min(estimate.workgroups),
            ..ExpectedCycles::whole(estimate.cycles)
        })
    }

    /// The timeline of the launch that [`Job::expected`] makes up, of those from number `first` on,
    /// of an output with debug lines: it names words of the module that was given.
    ///
    /// # Errors
    /// As [`Job::expected`].
    pub(crate) fn expected_timeline(
        output: &Output,
        entry: usize,
        first: usize,
    ) -> Result<Timeline, Refusal> {
        let recording = output.entries().get(entry).map(Recording::of_entry);
        let (_, timeline) = Job::unlinked(output, entry)?.expect(first, recording.as_ref())?;
        Ok(timeline.unwrap_or_default())
    }

    fn expect(
        &self,
        first: usize,
        recording: Option<&Recording>,
    ) -> Result<(ExpectedCycles, Option<Timeline>), Refusal> {
        let timing = self.unit.timing.ok_or_else(|| {
            Refusal::Launch("the timing of instructions on this GPU is unknown".to_owned())
        })?;
        if self.cluster != [1; 3] {
            return Err(Refusal::Launch(
                "the workgroups of a cluster run on several units".to_owned(),
            ));
        }
        let size = self.workgroup_size.unwrap_or([INVOCATIONS, 1, 1]);
        let invocations = size.iter().fold(1u32, |n, axis| n.saturating_mul(*axis));
        let waves = invocations.div_ceil(self.unit.wave_size.max(1)).max(1);
        let resident = self.unit.resident(None, invocations, self.dynamic_shared)?;
        let resident = resident.workgroups.min(WAVES / waves).max(1);
        let setup = Setup {
            timing: *timing,
            resident,
            checks: false,
        };
        for (number, made_up) in LAUNCHES.into_iter().enumerate().skip(first) {
            let inputs = self.made_up(resident, size, made_up)?;
            let timed = self.estimate_made_up(&inputs, setup, recording)?;
            if !timed.comes_to_barrier() {
                continue;
            }
            let estimate = timed.estimate;
            let finding = estimate.report.findings.first().map(|finding| finding.kind);
            let complete = match finding {
                None => true,
                Some(FindingKind::StepLimit) => false,
                Some(kind) => return Err(Refusal::Launch(kind.summary().to_owned())),
            };
            let expected = ExpectedCycles {
                cycles: estimate.cycles,
                workgroups: resident,
                resident,
                complete,
                progress: estimate.progress.points().to_vec(),
                made_up: Some(number),
                splits_for_free: false,
            };
            return Ok((expected, timed.timeline));
        }
        Err(Refusal::Launch(
            "no synthetic launch reaches a barrier".to_owned(),
        ))
    }

    fn estimate_made_up(
        &self,
        inputs: &Inputs,
        setup: Setup,
        recording: Option<&Recording>,
    ) -> Result<Timed, Refusal> {
        let Launched {
            mut global,
            arguments,
            sizes,
            ..
        } = self.launched(inputs)?;
        global.wrap();
        let watch = &mut |_| ();
        let given = Given {
            arguments: &arguments,
            inputs,
            sizes,
        };
        match &self.code {
            Code::Amdgpu(binary) => binary.estimate(given, &mut global, setup, recording, watch),
            Code::Nvptx(text) => Ok(text.estimate(given, &mut global, setup, recording, watch)),
        }
    }

    /// The launch of `resident` workgroups of this size.
    fn made_up(&self, resident: u32, size: [u32; 3], made_up: MadeUp) -> Result<Inputs, Refusal> {
        let MadeUp {
            is_along_tiles,
            numbers,
        } = made_up;
        let groups = if is_along_tiles == (size[1] > 1) {
            [1, resident, 1]
        } else {
            [resident, 1, 1]
        };
        let mut inputs = Inputs::new(groups, Vec::new());
        inputs.workgroup_size = Some(size);
        inputs.limits = Limits {
            steps: STEPS,
            ..Limits::default()
        };
        let own = self.code.shared_bytes().saturating_add(self.dynamic_shared);
        let mut dynamic = own.next_multiple_of(DYNAMIC);
        for argument in &self.arguments {
            match argument.kind {
                ArgumentKind::GlobalBuffer | ArgumentKind::ArrayLength => {
                    inputs.add_buffer(BufferName::from_argument(argument), numbers);
                }
                ArgumentKind::PushConstant | ArgumentKind::ByValue => {
                    let words = std::iter::repeat(CONSTANT.to_le_bytes()).flatten();
                    inputs.push.extend(words.take(argument.size as usize));
                }
                ArgumentKind::DynamicSharedPointer => {
                    let address = u64::from(dynamic).to_le_bytes();
                    inputs
                        .push
                        .extend(address.iter().take(argument.size as usize));
                    dynamic = dynamic.saturating_add(DYNAMIC);
                }
                ArgumentKind::Image | ArgumentKind::Tensor => return Err(no_contents(argument)),
                ArgumentKind::Sampler
                | ArgumentKind::ArrayLengths
                | ArgumentKind::WorkDim
                | ArgumentKind::PrintfBuffer
                | ArgumentKind::Table => {}
            }
        }
        inputs.dynamic_shared = dynamic.saturating_sub(own);
        for Reached { kind, reach, .. } in &self.resources {
            if reach.descriptor.is_some() {
                match kind {
                    ResourceKind::Buffer => {
                        inputs.add_buffer(BufferName::Binding(reach.set, reach.binding), numbers);
                    }
                    _ => {
                        return Err(Refusal::Launch(
                            "a synthetic launch has no contents for its images and tensors"
                                .to_owned(),
                        ));
                    }
                }
            }
        }
        Ok(inputs)
    }
}

impl Inputs {
    /// Adds a buffer, unless there is one of this name.
    fn add_buffer(&mut self, name: BufferName, numbers: Numbers) {
        if self.buffers.iter().all(|(known, _)| *known != name) {
            self.buffers.push((name, contents(numbers)));
        }
    }
}

fn no_contents(argument: &Argument) -> Refusal {
    Refusal::Launch(format!(
        "argument {} is an image or a tensor; a synthetic launch has no contents for it",
        argument.index
    ))
}

/// The contents of a buffer. Uneven numbers do not repeat soon.
fn contents(numbers: Numbers) -> Vec<u8> {
    let word = |at: u32| match numbers {
        Numbers::Uneven => (at.wrapping_mul(0x9e37_79b9) >> 16) % NUMBERS,
        Numbers::Constant => CONSTANT,
    };
    let words = (0..(BUFFER / 4) as u32).map(word);
    words.flat_map(u32::to_le_bytes).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::compiler::Compiler;
    use crate::options::{Choice, Options};
    use splitbar_plan::{Strategy, Target};

    fn expected(module: &[u8], target: &str, strategy: Strategy) -> ExpectedCycles {
        let options = Options {
            strategy: Some(strategy),
            choice: Choice::AlwaysSplit,
            measure: true,
            ..Options::new(Target::by_name(target).unwrap())
        };
        let output = Compiler::new(&options).compile(module).unwrap();
        let found = Job::expected(&output, 0, By::MadeUp(0)).unwrap();
        assert_eq!(
            found,
            Job::expected(&output, 0, By::MadeUp(0)).unwrap(),
            "{target}"
        );
        found
    }

    #[test]
    fn every_gpu_with_figures_has_an_expected_time() {
        let module = include_bytes!("../../../../docs/examples/rounds.spv");
        for target in [
            "gfx906", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_70", "sm_80",
            "sm_90",
        ] {
            let found = expected(module, target, Strategy::Fused);
            assert!(found.cycles > 100 && found.complete, "{target}: {found:?}");
            let waves = if target.starts_with("gfx9") { 2 } else { 4 };
            assert_eq!(found.resident, WAVES / waves, "{target}");
        }
    }

    #[test]
    fn a_long_launch_is_looked_at_in_part() {
        let module = include_bytes!("../../../../fixtures/timing/uneven.spv");
        let [split, full] = [Strategy::Native, Strategy::Fused]
            .map(|strategy| expected(module, "gfx1201", strategy));
        assert!(!split.complete && !full.complete);
        // Subgroups differ in their iterations.
        let (split, full) = (
            crate::compile::Expected::Cycles(split),
            crate::compile::Expected::Cycles(full),
        );
        let why = split.beats(&full).unwrap();
        assert!(why.starts_with("expected cycles of a part: "), "{why}");
    }

    #[test]
    fn numbers_in_buffers_are_small_and_differ() {
        let bytes = contents(Numbers::Uneven);
        assert_eq!(bytes.len(), BUFFER);
        let words = bytes.as_chunks::<4>().0;
        let first: Vec<u32> = words
            .iter()
            .take(64)
            .map(|w| u32::from_le_bytes(*w))
            .collect();
        assert!(first.iter().all(|word| *word < NUMBERS));
        assert!(first.windows(2).any(|pair| pair[0] > pair[1]));
    }
}
