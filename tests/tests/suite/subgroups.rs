//! Subgroups that are part of a wave: every fixture with such subgroups has the results of the
//! reference on the simulator, as if they were waves. Also the execution modes that request them, a
//! last subgroup that is not full, and unsupported sizes.

use crate::sim;
use crate::support::{assembled, compile_bytes, linkable, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar::{Optimization, Output};
use splitbar_tests::fixture::Fixture;

/// GPUs, with the invocations of a wave and of a subgroup.
const PARTS: [(&str, Option<u32>, u32); 6] = [
    ("gfx906", None, 8),
    ("gfx942", None, 32),
    ("gfx1100", Some(64), 16),
    ("gfx1201", None, 16),
    ("sm_75", None, 8),
    ("sm_90", None, 16),
];

/// Schedules that a kernel is executed under.
const SCHEDULES: u32 = 3;

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (gpu, wave, subgroup) in PARTS {
        for fixture in fixtures {
            let name = format!("subgroups/{gpu}.{subgroup}/{}", fixture.name);
            let fixture = fixture.clone();
            trials.push(trial(name, move || in_parts(&fixture, gpu, wave, subgroup)));
        }
        trials.push(trial(
            format!("subgroups/{gpu}.{subgroup}/last"),
            move || last(gpu, wave, subgroup),
        ));
    }
    for row in ASKED {
        trials.push(trial(format!("subgroups/asked/{}", row.name), move || {
            asked(row)
        }));
    }
    trials
}

/// The reference's results, or a refusal of the matrices that a wave would hold.
fn in_parts(fixture: &Fixture, gpu: &str, wave: Option<u32>, subgroup: u32) -> Result<()> {
    linkable(gpu)?;
    let module = fixture.module()?;
    for optimization in [Optimization::O0, Optimization::O2] {
        let compiled = compile_bytes(&module, gpu, |options| {
            options.wave_size = wave;
            options.subgroup_size = Some(subgroup);
            options.optimization = optimization;
        });
        match compiled {
            Ok(output) => sim::agrees(fixture, &output, SCHEDULES)
                .with_context(|| format!("{optimization:?}"))?,
            Err(refusal) => {
                let wanted = format!("a cooperative matrix of subgroups of {subgroup} in waves of");
                ensure!(format!("{refusal:#}").contains(&wanted), "{refusal:#}");
            }
        }
    }
    Ok(())
}

/// A kernel whose invocations store these words: SubgroupId, SubgroupSize,
/// SubgroupLocalInvocationId, NumSubgroups, the number of invocations in the subgroup, and the sum
/// of their numbers.
fn of_subgroup(modes: &str, invocations: u32) -> Result<Vec<u8>> {
    assembled(&format!(
        "OpCapability Kernel
OpCapability Addresses
OpCapability Int64
OpCapability SubgroupDispatch
OpCapability GroupNonUniformBallot
OpCapability GroupNonUniformArithmetic
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\" %index %id %size %lane %number
OpExecutionMode %main LocalSize {invocations} 1 1
{modes}OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %id BuiltIn SubgroupId
OpDecorate %size BuiltIn SubgroupSize
OpDecorate %lane BuiltIn SubgroupLocalInvocationId
OpDecorate %number BuiltIn NumSubgroups
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%bool = OpTypeBool
%words = OpTypeVector %uint 4
%pglobal = OpTypePointer CrossWorkgroup %uint
%fn = OpTypeFunction %void %pglobal
%pin = OpTypePointer Input %uint
%index = OpVariable %pin Input
%id = OpVariable %pin Input
%size = OpVariable %pin Input
%lane = OpVariable %pin Input
%number = OpVariable %pin Input
%true = OpConstantTrue %bool
%one = OpConstant %uint 1
%two = OpConstant %uint 2
%three = OpConstant %uint 3
%four = OpConstant %uint 4
%five = OpConstant %uint 5
%six = OpConstant %uint 6
%main = OpFunction %void None %fn
%out = OpFunctionParameter %pglobal
%entry = OpLabel
%i = OpLoad %uint %index
%v0 = OpLoad %uint %id
%v1 = OpLoad %uint %size
%v2 = OpLoad %uint %lane
%v3 = OpLoad %uint %number
%set = OpGroupNonUniformBallot %words %three %true
%v4 = OpGroupNonUniformBallotBitCount %uint %three Reduce %set
%v5 = OpGroupNonUniformIAdd %uint %three Reduce %i
%at = OpIMul %uint %i %six
%p0 = OpInBoundsPtrAccessChain %pglobal %out %at
%p1 = OpInBoundsPtrAccessChain %pglobal %p0 %one
%p2 = OpInBoundsPtrAccessChain %pglobal %p0 %two
%p3 = OpInBoundsPtrAccessChain %pglobal %p0 %three
%p4 = OpInBoundsPtrAccessChain %pglobal %p0 %four
%p5 = OpInBoundsPtrAccessChain %pglobal %p0 %five
OpStore %p0 %v0 Aligned 4
OpStore %p1 %v1 Aligned 4
OpStore %p2 %v2 Aligned 4
OpStore %p3 %v3 Aligned 4
OpStore %p4 %v4 Aligned 4
OpStore %p5 %v5 Aligned 4
OpReturn
OpFunctionEnd
"
    ))
}

/// Checks that the kernel of [`of_subgroup`] finds subgroups of so many invocations.
fn finds(output: &Output, invocations: u32, size: u32) -> Result<()> {
    let bytes = vec![0; invocations as usize * 24];
    let inputs = Inputs::new([1, 1, 1], vec![(BufferName::Argument(0), bytes)]);
    let wanted = (0..invocations).flat_map(|i| {
        let (id, lane) = (i / size, i % size);
        let own = id * size..((id + 1) * size).min(invocations);
        let count = own.len() as u32;
        [
            id,
            count,
            lane,
            invocations.div_ceil(size),
            count,
            own.sum(),
        ]
    });
    let wanted: Vec<u8> = wanted.flat_map(u32::to_le_bytes).collect();
    for index in 0..SCHEDULES {
        let outcome = Job::compiled(output, 0)?.run(&inputs, Schedule::nth(index, 1))?;
        ensure!(
            outcome.report.findings.is_empty(),
            "{:?}",
            outcome.report.findings
        );
        ensure!(
            outcome.buffers[0] == wanted,
            "subgroups of {size}: {:?} instead of {wanted:?}",
            outcome.buffers[0]
        );
    }
    Ok(())
}

/// The last subgroup of a workgroup has fewer invocations: OpenCL's get_sub_group_size returns
/// their number.
fn last(gpu: &str, wave: Option<u32>, subgroup: u32) -> Result<()> {
    linkable(gpu)?;
    for invocations in [1, subgroup - 3, subgroup + 1, 64 + subgroup / 2, 100] {
        let module = of_subgroup("", invocations)?;
        for optimization in [Optimization::O0, Optimization::O2] {
            let output = compile_bytes(&module, gpu, |options| {
                options.wave_size = wave;
                options.subgroup_size = Some(subgroup);
                options.optimization = optimization;
            })?;
            finds(&output, invocations, subgroup)
                .with_context(|| format!("{invocations} invocations, {optimization:?}"))?;
        }
    }
    Ok(())
}

/// The subgroup sizes that an entry point and the options request.
struct Asked {
    name: &'static str,
    /// Its execution modes.
    modes: &'static str,
    /// The size that the options request.
    option: Option<u32>,
    /// The invocations of a subgroup on gfx942, gfx1201 and sm_90, or the words of the refusal.
    found: [Result<u32, &'static str>; 3],
}

const NOT_64: Result<u32, &str> =
    Err("SB0310: the execution mode SubgroupSize of `main` is not lowered");
const TOO_LARGE: Result<u32, &str> = Err("has no subgroups of 128 in waves of");
const UNEVEN: Result<u32, &str> = Err("has no subgroups of 12 in waves of");
const OTHER: Result<u32, &str> =
    Err("SB0310: the execution mode SubgroupsPerWorkgroup of `main` is not lowered");

#[rustfmt::skip] // a table
const ASKED: &[Asked] = &[
    Asked { name: "nothing", modes: "", option: None, found: [Ok(64), Ok(32), Ok(32)] },
    Asked { name: "1", modes: "OpExecutionMode %main SubgroupSize 1\n", option: None, found: [Ok(1), Ok(1), Ok(1)] },
    Asked { name: "2", modes: "OpExecutionMode %main SubgroupSize 2\n", option: None, found: [Ok(2), Ok(2), Ok(2)] },
    Asked { name: "8", modes: "OpExecutionMode %main SubgroupSize 8\n", option: None, found: [Ok(8), Ok(8), Ok(8)] },
    Asked { name: "16", modes: "OpExecutionMode %main SubgroupSize 16\n", option: None, found: [Ok(16), Ok(16), Ok(16)] },
    Asked { name: "32", modes: "OpExecutionMode %main SubgroupSize 32\n", option: None, found: [Ok(32), Ok(32), Ok(32)] },
    Asked { name: "64", modes: "OpExecutionMode %main SubgroupSize 64\n", option: None, found: [Ok(64), Ok(64), NOT_64] },
    Asked { name: "12", modes: "OpExecutionMode %main SubgroupSize 12\n", option: None, found: [NOT_64, NOT_64, NOT_64] },
    Asked { name: "option", modes: "", option: Some(16), found: [Ok(16), Ok(16), Ok(16)] },
    Asked { name: "option_64", modes: "", option: Some(64), found: [Ok(64), Ok(64), Err("has no subgroups of 64 in waves of 32")] },
    Asked { name: "option_128", modes: "", option: Some(128), found: [TOO_LARGE, TOO_LARGE, TOO_LARGE] },
    Asked { name: "option_12", modes: "", option: Some(12), found: [UNEVEN, UNEVEN, UNEVEN] },
    Asked { name: "both", modes: "OpExecutionMode %main SubgroupSize 8\n", option: Some(16), found: [NOT_64, NOT_64, NOT_64] },
    Asked { name: "number", modes: "OpExecutionMode %main SubgroupSize 16\nOpExecutionMode %main SubgroupsPerWorkgroup 5\n", option: None, found: [Ok(16), Ok(16), Ok(16)] },
    Asked { name: "other_number", modes: "OpExecutionMode %main SubgroupSize 16\nOpExecutionMode %main SubgroupsPerWorkgroup 4\n", option: None, found: [OTHER, OTHER, OTHER] },
];

fn asked(row: &Asked) -> Result<()> {
    const INVOCATIONS: u32 = 72;
    let module = of_subgroup(row.modes, INVOCATIONS)?;
    for (gpu, found) in ["gfx942", "gfx1201", "sm_90"].into_iter().zip(&row.found) {
        linkable(gpu)?;
        let compiled = compile_bytes(&module, gpu, |options| options.subgroup_size = row.option);
        match (compiled, found) {
            (Ok(output), Ok(size)) => finds(&output, INVOCATIONS, *size).context(gpu)?,
            (Err(refusal), Err(words)) => {
                ensure!(format!("{refusal:#}").contains(words), "{gpu}: {refusal:#}");
            }
            (Ok(_), Err(words)) => anyhow::bail!("{gpu} does not say {words}"),
            (Err(refusal), Ok(_)) => return Err(refusal.context(gpu)),
        }
    }
    Ok(())
}
