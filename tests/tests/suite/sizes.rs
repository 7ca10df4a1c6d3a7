//! Workgroups of every kind of size, in one to three dimensions, with every strategy, wave size and
//! generation: full and partial last waves, one wave, the maximum number of waves, waves that end
//! before others. A strategy supports a size or reports the reason; supported sizes run on the
//! simulator, with the results of the reference.

use crate::sim;
use crate::support::{assembled, compile_bytes, is_nvptx, linkable, told, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::Job;
use splitbar::simulate::machine::Schedule;
use splitbar::{Placement, Strategy};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::reference::{self, Case};

/// The targets. AMD: gfx6 to gfx9 (waves of 64), both wave sizes, native and named barriers, CU
/// mode; NVIDIA: named barriers, counter, both mbarriers, cluster.
const GPUS: [(&str, Placement); 11] = [
    ("gfx906", Placement::Default),
    ("gfx942", Placement::Default),
    ("gfx1030", Placement::Default),
    ("gfx1030", Placement::CuMode),
    ("gfx1100", Placement::Default),
    ("gfx1201", Placement::Default),
    ("gfx1250", Placement::Default),
    ("sm_60", Placement::Default),
    ("sm_75", Placement::Default),
    ("sm_80", Placement::Default),
    ("sm_90", Placement::Default),
];

/// Invocations of a workgroup. 224 and 480 are the most for two sets and for one set of a named
/// barrier per warp, 256 is one more warp.
const SIZES: [[u32; 3]; 14] = [
    [1, 1, 1],
    [31, 1, 1],
    [32, 1, 1],
    [33, 1, 1],
    [1, 64, 1],
    [96, 1, 1],
    [100, 1, 1],
    [3, 5, 11],
    [224, 1, 1],
    [8, 8, 4],
    [480, 1, 1],
    [1000, 1, 1],
    [1024, 1, 1],
    [16, 4, 16],
];

pub(crate) fn trials() -> Vec<Trial> {
    GPUS.iter()
        .map(|(target, placement)| {
            let mode = match placement {
                Placement::Default => "",
                Placement::CuMode => "/cu-mode",
                Placement::ThreadgroupSplit => "/tgsplit",
            };
            trial(format!("sizes/{target}{mode}"), move || {
                every_size(target, *placement)
            })
        })
        .chain(VOTING.map(|gpu| trial(format!("sizes/votes/{gpu}"), move || votes(gpu))))
        .collect()
}

/// Evaluates four group votes: all invocations have a number below the workgroup size; all have a
/// number below that of the last; any is the last; any has a number that does not exist. The
/// results are bits 0 to 3.
const VOTES: &str = "
    OpCapability Kernel
    OpCapability Addresses
    OpCapability Int64
    OpCapability Groups
    OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %main \"votes\" %id %size %global
    OpDecorate %id BuiltIn LocalInvocationId
    OpDecorate %size BuiltIn WorkgroupSize
    OpDecorate %global BuiltIn GlobalInvocationId
    %void = OpTypeVoid
    %bool = OpTypeBool
    %uint = OpTypeInt 32 0
    %ulong = OpTypeInt 64 0
    %ulong3 = OpTypeVector %ulong 3
    %n1 = OpConstant %ulong 1
    %u0 = OpConstant %uint 0
    %u1 = OpConstant %uint 1
    %u2 = OpConstant %uint 2
    %u4 = OpConstant %uint 4
    %u8 = OpConstant %uint 8
    %in_ptr = OpTypePointer Input %ulong3
    %g_uint = OpTypePointer CrossWorkgroup %uint
    %id = OpVariable %in_ptr Input
    %size = OpVariable %in_ptr Input
    %global = OpVariable %in_ptr Input
    %kernel = OpTypeFunction %void %g_uint
    %main = OpFunction %void None %kernel
    %dst = OpFunctionParameter %g_uint
    %entry = OpLabel
    %ids = OpLoad %ulong3 %id
    %i = OpCompositeExtract %ulong %ids 0
    %sizes = OpLoad %ulong3 %size
    %n = OpCompositeExtract %ulong %sizes 0
    %globals = OpLoad %ulong3 %global
    %at = OpCompositeExtract %ulong %globals 0
    %last = OpISub %ulong %n %n1
    %is_inside = OpULessThan %bool %i %n
    %is_before = OpULessThan %bool %i %last
    %is_last = OpIEqual %bool %i %last
    %is_beyond = OpUGreaterThanEqual %bool %i %n
    %all_inside = OpGroupAll %bool %u2 %is_inside
    %all_before = OpGroupAll %bool %u2 %is_before
    %any_last = OpGroupAny %bool %u2 %is_last
    %any_beyond = OpGroupAny %bool %u2 %is_beyond
    %bit_0 = OpSelect %uint %all_inside %u1 %u0
    %bit_1 = OpSelect %uint %all_before %u2 %u0
    %bit_2 = OpSelect %uint %any_last %u4 %u0
    %bit_3 = OpSelect %uint %any_beyond %u8 %u0
    %low = OpBitwiseOr %uint %bit_0 %bit_1
    %high = OpBitwiseOr %uint %bit_2 %bit_3
    %bits = OpBitwiseOr %uint %low %high
    %to = OpInBoundsPtrAccessChain %g_uint %dst %at
    OpStore %to %bits Aligned 4
    OpReturn
    OpFunctionEnd
";

/// GPUs with group votes: `bar.red` with each way to write fences, and waves of both sizes.
const VOTING: [&str; 6] = ["gfx906", "gfx1201", "sm_50", "sm_75", "sm_80", "sm_90"];

/// A vote counts each invocation that there is, and none of the lanes of the last wave that there
/// are not.
fn votes(gpu: &str) -> Result<()> {
    linkable(gpu)?;
    let module = assembled(VOTES)?;
    let sizes = [
        1, 2, 31, 32, 33, 63, 64, 65, 96, 127, 255, 256, 257, 511, 512, 1000, 1023, 1024,
    ];
    for size in sizes {
        let output = compile_bytes(&module, gpu, |options| {
            options.workgroup_size = Some([size, 1, 1]);
        })?;
        if is_nvptx(gpu) && size > 32 {
            let text = told(output.assembly())?;
            for kind in ["and", "or"] {
                let vote = format!("bar.red.{kind}.pred");
                let vote_of_any_warp = vote.replace("bar.red", "barrier.cta.red");
                ensure!(
                    text.contains(&vote) || text.contains(&vote_of_any_warp),
                    "{size} invocations: no {vote}"
                );
            }
        }
        agrees(&output, &reference::votes([2, 1, 1], size)).with_context(|| format!("{size}"))?;
    }
    Ok(())
}

fn every_size(gpu: &str, placement: Placement) -> Result<()> {
    linkable(gpu)?;
    let target = crate::support::target(gpu)?;
    let module = Fixture::load("volume")?.module()?;
    for &wave in target.wave_sizes {
        for size in SIZES {
            let waves = size.iter().product::<u32>().div_ceil(wave);
            for strategy in Strategy::ALL {
                let case = format!("{strategy}, waves of {wave}, workgroup {size:?}");
                let compiled = compile_bytes(&module, gpu, |options| {
                    options.strategy = Some(*strategy);
                    options.wave_size = Some(wave);
                    options.workgroup_size = Some(size);
                    options.placement = placement;
                });
                ensure!(
                    compiled.is_ok() == takes(gpu, *strategy, waves),
                    "{case}: {}",
                    compiled
                        .map_or_else(|refusal| format!("{refusal:#}"), |_| "lowered".to_owned())
                );
                match compiled {
                    Ok(output) => {
                        let launch = reference::volume([2, 1, 1], size);
                        agrees(&output, &launch).context(case)?;
                    }
                    Err(refusal) => ensure!(
                        format!("{refusal:#}").contains("cannot lower the split barriers"),
                        "{case}: {refusal:#}"
                    ),
                }
            }
        }
    }
    Ok(())
}

/// Returns true if a strategy supports the GPU and this number of waves.
fn takes(gpu: &str, strategy: Strategy, waves: u32) -> bool {
    let named = ["sm_60", "sm_75", "sm_80"].contains(&gpu);
    match strategy {
        Strategy::Fused => true,
        Strategy::SingleWave => waves == 1,
        Strategy::Counter => gpu != "sm_60",
        Strategy::Native => ["gfx1201", "gfx1250"].contains(&gpu),
        Strategy::Named => gpu == "gfx1250",
        Strategy::Mbarrier => ["sm_80", "sm_90"].contains(&gpu),
        Strategy::Cluster => gpu == "sm_90",
        Strategy::WarpNamed => named && waves <= 7,
        Strategy::GroupNamed => named,
        // No full barrier stands between the iterations.
        Strategy::WarpNamedSingle | Strategy::Subgroup => false,
    }
}

/// Runs the kernel: the more invocations, the fewer schedules.
fn agrees(output: &splitbar::Output, case: &Case) -> Result<()> {
    let invocations = case.workgroup_size.iter().product::<u32>();
    let inputs = sim::inputs(case);
    let job = Job::compiled(output, 0)?;
    for index in 0..if invocations > 256 { 2 } else { 4 } {
        let schedule = Schedule::nth(index, u64::from(invocations));
        let outcome = job.run(&inputs, schedule)?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("{schedule}:\n{finding}");
        }
        if let Err(difference) = sim::compare(case, &outcome) {
            bail!("{schedule}: {difference}");
        }
    }
    Ok(())
}
