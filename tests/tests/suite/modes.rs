//! The execution modes of AMD GPUs (`--wavefront-size`, `--cu-mode`, `--tgsplit`): every fixture in
//! each mode, unoptimised and optimised. Every function is compiled for the mode, and the results
//! on the simulator, if it supports the GPU, are those of the reference. It also compares the three
//! values of `--waits`.

use crate::sim;
use crate::support::{assembled, compile_bytes, linkable, target, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::verdict::Barrier;
use splitbar::waits::operation::Memory;
use splitbar::{Optimization, Options, Output, Placement, Strategy, Waits};
use splitbar_tests::fixture::Fixture;

/// A mode of a GPU.
#[derive(Copy, Clone)]
struct Mode {
    gpu: &'static str,
    wave: u32,
    placement: Placement,
    /// The attributes of every function.
    says: &'static str,
}

const MODES: [Mode; 8] = [
    Mode {
        gpu: "gfx1030",
        wave: 64,
        placement: Placement::Default,
        says: r#""target-features"="+wavefrontsize64,-real-true16"#,
    },
    Mode {
        gpu: "gfx1030",
        wave: 32,
        placement: Placement::CuMode,
        says: r#""target-features"="+cumode,-real-true16"#,
    },
    Mode {
        gpu: "gfx1100",
        wave: 64,
        placement: Placement::CuMode,
        says: r#""target-features"="+wavefrontsize64,+cumode,-real-true16"#,
    },
    Mode {
        gpu: "gfx1170",
        wave: 64,
        placement: Placement::Default,
        says: r#""target-features"="+wavefrontsize64,-real-true16"#,
    },
    Mode {
        gpu: "gfx1201",
        wave: 64,
        placement: Placement::Default,
        says: r#""target-features"="+wavefrontsize64,-real-true16"#,
    },
    Mode {
        gpu: "gfx1201",
        wave: 32,
        placement: Placement::CuMode,
        says: r#""target-features"="+cumode,-real-true16"#,
    },
    Mode {
        gpu: "gfx90a",
        wave: 64,
        placement: Placement::ThreadgroupSplit,
        says: r#""amdgpu-tg-split""#,
    },
    Mode {
        gpu: "gfx942",
        wave: 64,
        placement: Placement::ThreadgroupSplit,
        says: r#""amdgpu-tg-split""#,
    },
];

/// Schedules that a kernel is executed under.
const SCHEDULES: u32 = 4;

impl Mode {
    fn name(&self) -> String {
        let placement = match self.placement {
            Placement::Default => "",
            Placement::CuMode => "/cu-mode",
            Placement::ThreadgroupSplit => "/tgsplit",
        };
        format!("{}/wave{}{placement}", self.gpu, self.wave)
    }

    fn set(&self, options: &mut Options) {
        options.wave_size = Some(self.wave);
        options.placement = self.placement;
    }
}

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for mode in MODES {
        for fixture in fixtures {
            let fixture = fixture.clone();
            trials.push(trial(
                format!("modes/{}/{}", mode.name(), fixture.name),
                move || every_level(mode, &fixture),
            ));
        }
        // What only fences differ in, the library has no share in.
        if mode.placement != Placement::ThreadgroupSplit {
            trials.push(trial(format!("modes/{}/math", mode.name()), move || {
                mathematics(mode)
            }));
        }
    }
    for gpu in [
        "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250",
    ] {
        let fixtures = fixtures.to_vec();
        trials.push(trial(format!("modes/{gpu}/waits"), move || {
            oracle(gpu, &fixtures)
        }));
    }
    trials
}

/// `--waits conservative` is the oracle: at a barrier that releases, no operation on shared memory
/// is outstanding. The other two leave only operations outstanding there that no fence orders, and
/// the results are the same.
fn oracle(gpu: &str, fixtures: &[Fixture]) -> Result<()> {
    linkable(gpu)?;
    let (mut judged, mut left) = (0, 0);
    for fixture in fixtures {
        let module = fixture.module()?;
        for waits in [Waits::Conservative, Waits::Auto, Waits::Explicit] {
            let output = compile_bytes(&module, gpu, |options| {
                options.waits = waits;
                options.audit = true;
            })
            .with_context(|| format!("{}, {waits:?}", fixture.name))?;
            for audit in output.entries().iter().filter_map(|e| e.audit.as_ref()) {
                ensure!(audit.is_clean(), "{}, {waits:?}: {audit}", fixture.name);
                let releases = audit.barriers.iter().filter(|barrier| {
                    let required = barrier.required_ordering.as_ref();
                    required.is_some_and(|required| !required.release.is_empty())
                });
                // An invalidation of caches, or scratch, is nobody else's.
                let others = |barrier: &Barrier| {
                    let outstanding = barrier.outstanding.iter();
                    outstanding.filter(|op| op.memory != Memory::Own).count()
                };
                let outstanding: usize = releases.clone().map(others).sum();
                if waits == Waits::Conservative {
                    judged += releases.count();
                    ensure!(outstanding == 0, "{}: {audit}", fixture.name);
                } else {
                    left += outstanding;
                }
            }
            sim::agrees(fixture, &output, SCHEDULES)
                .with_context(|| format!("{}, {waits:?}", fixture.name))?;
        }
    }
    ensure!(judged > fixtures.len(), "only {judged} barriers release");
    ensure!(left > 0, "the other two wait for everything too");
    Ok(())
}

fn every_level(mode: Mode, fixture: &Fixture) -> Result<()> {
    let module = fixture.module()?;
    for optimization in [Optimization::O0, Optimization::O2] {
        for strategy in [None, Some(Strategy::Counter)] {
            let compiled = compile_bytes(&module, mode.gpu, |options| {
                mode.set(options);
                options.optimization = optimization;
                options.strategy = strategy;
            });
            let output = match compiled {
                Ok(output) => output,
                // The compute units that share a split workgroup have no memory of its own.
                Err(refusal) if mode.placement == Placement::ThreadgroupSplit => {
                    ensure!(
                        format!("{refusal:#}").contains("in threadgroup split mode has none"),
                        "{refusal:#}"
                    );
                    continue;
                }
                Err(refusal) => return Err(refusal),
            };
            agrees_with_itself(mode, &output)?;
            told(output.object())?;
            // The simulator has no model of a workgroup whose waves share no cache.
            if mode.placement != Placement::ThreadgroupSplit {
                linkable(mode.gpu)?;
                sim::agrees(fixture, &output, SCHEDULES)
                    .with_context(|| format!("{optimization:?}, {strategy:?}"))?;
            }
        }
    }
    Ok(())
}

/// LLVM inlines no function that has other features than its caller, and compiles it for waves of
/// the default size.
fn agrees_with_itself(mode: Mode, output: &Output) -> Result<()> {
    let ir = output.ir();
    let mut functions = 0;
    for line in ir.lines().filter(|line| line.starts_with("define")) {
        functions += 1;
        let group = line
            .split_whitespace()
            .find(|word| word.starts_with('#'))
            .with_context(|| format!("no attributes: {line}"))?;
        let attributes = ir
            .lines()
            .find(|line| line.starts_with(&format!("attributes {group} ")))
            .unwrap_or_default();
        ensure!(attributes.contains(mode.says), "{line}\n{attributes}");
    }
    ensure!(functions > 0, "no function is left");
    let default = mode.wave == target(mode.gpu)?.default_wave_size();
    let assembly = told(output.assembly())?;
    let wave = format!(".amdhsa_wavefront_size32 {}", u32::from(mode.wave == 32));
    ensure!(
        default || assembly.contains(&wave),
        "not compiled for waves of {}",
        mode.wave
    );
    Ok(())
}

/// A kernel that calls the mathematical library.
fn mathematics(mode: Mode) -> Result<()> {
    let module = assembled(
        "OpCapability Shader
%glsl = OpExtInstImport \"GLSL.std.450\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %buffer %index
OpExecutionMode %main LocalSize 256 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%array = OpTypeRuntimeArray %float
%block = OpTypeStruct %array
%pblock = OpTypePointer StorageBuffer %block
%pfloat = OpTypePointer StorageBuffer %float
%pin = OpTypePointer Input %uint
%buffer = OpVariable %pblock StorageBuffer
%index = OpVariable %pin Input
%zero = OpConstant %uint 0
%main = OpFunction %void None %fn
%entry = OpLabel
%i = OpLoad %uint %index
%at = OpAccessChain %pfloat %buffer %zero %i
%v = OpLoad %float %at
%t = OpExtInst %float %glsl Tan %v
%w = OpExtInst %float %glsl Asin %t
OpStore %at %w
OpReturn
OpFunctionEnd
",
    )?;
    for optimization in [Optimization::O0, Optimization::O2] {
        let output = compile_bytes(&module, mode.gpu, |options| {
            mode.set(options);
            options.optimization = optimization;
        })?;
        agrees_with_itself(mode, &output)?;
    }
    Ok(())
}
