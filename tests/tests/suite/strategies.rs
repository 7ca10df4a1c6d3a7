//! Every fixture with every strategy that can lower it: LLVM verifies, ptxas assembles and has
//! nothing to say, and the simulator finds nothing and gets the reference's results under one
//! schedule of each kind.

use crate::generations::kernels::{ARRIVE, FULL, MULTIPLY, WAIT, exchange};
use crate::sim;
use crate::support::{always_split, assembled, assembles, is_nvptx, linkable, ptxas, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::diagnostic::{Code, Severity};
use splitbar::simulate::machine::{Finding, FindingKind, Schedule};
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar::{Options, Output, Strategy, Validation};
use splitbar_tests::fixture::Fixture;
use std::collections::BTreeSet;

/// One target of each kind: targets differ in their barriers, or in the way ptxas schedules for
/// them.
const GPUS: [&str; 17] = [
    "gfx906", "gfx90a", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_50", "sm_60", "sm_70",
    "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120",
];

/// One schedule of each kind.
const SCHEDULES: u32 = 8;

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for fixture in fixtures {
        for vendor in ["amdgpu", "nvptx"] {
            let fixture = fixture.clone();
            trials.push(trial(
                format!("strategies/{}/{vendor}", fixture.name),
                move || all_strategies(&fixture, vendor),
            ));
        }
    }
    trials.push(trial("strategies/every_one_is_used".to_owned(), every_one));
    trials.push(trial(
        "strategies/a_wave_that_ends_early".to_owned(),
        ends_early,
    ));
    trials.push(trial(
        "strategies/an_arrive_that_nobody_waits_for".to_owned(),
        nobody_waits,
    ));
    trials
}

/// The output of each strategy that supports the fixture.
pub(crate) fn outputs(fixture: &Fixture, gpu: &str) -> Result<Vec<(Strategy, Output)>> {
    let module = fixture.module()?;
    let mut outputs = Vec::new();
    for strategy in Strategy::ALL {
        let mut options = always_split(gpu)?;
        options.strategy = Some(*strategy);
        match splitbar::Compiler::new(&options).compile(&module) {
            Ok(output) => outputs.push((*strategy, output)),
            Err(failure) => {
                let mut problems = failure.diagnostics.iter();
                if let Some(other) = problems.find(|problem| {
                    problem.severity == Severity::Error && problem.code != Code::UnsupportedStrategy
                }) {
                    anyhow::bail!("{gpu}, {strategy}: {}", other.message);
                }
            }
        }
    }
    Ok(outputs)
}

fn all_strategies(fixture: &Fixture, vendor: &str) -> Result<()> {
    // GPUs of one kind get the same code for most kernels: it is executed once.
    let mut executed = BTreeSet::new();
    let mut texts = Vec::new();
    for gpu in GPUS
        .into_iter()
        .filter(|gpu| is_nvptx(gpu) == (vendor == "nvptx"))
    {
        linkable(gpu)?;
        let outputs = outputs(fixture, gpu)?;
        ensure!(
            outputs
                .iter()
                .any(|(strategy, _)| *strategy == Strategy::Fused),
            "{gpu}: fused is refused"
        );
        let mut assembled = BTreeSet::new();
        for (strategy, output) in outputs {
            let assembly = told(output.assembly())?;
            let body = body(&assembly);
            if is_nvptx(gpu) && assembled.insert(body.clone()) {
                texts.push((gpu, strategy, assembly));
            }
            if executed.insert(body) {
                sim::agrees(fixture, &output, SCHEDULES)
                    .with_context(|| format!("{gpu}, {strategy}"))?;
            }
        }
    }
    for (gpu, strategy, text) in texts {
        assembles(ptxas(gpu)?, &text, gpu).with_context(|| format!("{gpu}, {strategy}"))?;
    }
    Ok(())
}

/// The code without the lines that name the GPU and the version.
fn body(assembly: &str) -> String {
    let named = [".target", ".version", ".amdgcn_target", "amdhsa.target"];
    assembly
        .lines()
        .filter(|line| !named.iter().any(|name| line.trim_start().starts_with(name)))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The last arrive has no wait: the end of a warp completes the phase, or named barriers are left
/// with some of their arrivals.
fn nobody_waits() -> Result<()> {
    let module = exchange(128, ARRIVE, MULTIPLY, &format!("{WAIT}\n{FULL}\n{ARRIVE}"))?;
    for strategy in [
        Strategy::WarpNamed,
        Strategy::WarpNamedSingle,
        Strategy::GroupNamed,
    ] {
        for gpu in ["sm_60", "sm_75"] {
            let mut options = always_split(gpu)?;
            options.strategy = Some(strategy);
            for completed in [true, false] {
                let output = splitbar::Compiler::new(&options)
                    .with_changed_plans(&mut |plans| {
                        for plan in plans.iter_mut().filter(|_| !completed) {
                            plan.at_end.clear();
                        }
                    })
                    .compile(&module)
                    .map_err(|failure| anyhow::anyhow!("{failure}"))?;
                let job = Job::compiled(&output, 0)?;
                for index in 0..SCHEDULES {
                    let inputs = Inputs::new(
                        [1, 1, 1],
                        vec![(BufferName::Binding(0, 0), vec![0; 4 * 128])],
                    );
                    let found = job.run(&inputs, Schedule::nth(index, 3))?.report.findings;
                    let left_over = |f: &Finding| {
                        f.kind == FindingKind::BarrierMisuse && f.message.contains("arrivals")
                    };
                    ensure!(
                        found.iter().any(left_over) != completed,
                        "{strategy} on {gpu}, completed: {completed}: {found:?}"
                    );
                }
            }
        }
    }
    Ok(())
}

/// The last wave ends before the barrier. The end of a wave leaves the workgroup's own barrier
/// object; a separate object it has to leave explicitly, otherwise the other waves wait forever.
fn ends_early() -> Result<()> {
    linkable("gfx1250")?;
    let module = assembled(ENDS_EARLY)?;
    let mut options = always_split("gfx1250")?;
    options.validation = Validation::Waived; // a wave that ended executes no barrier, which rule SB2000 forbids
    let deadlocks = |options: &Options, leaves: bool| -> Result<bool> {
        let output = splitbar::Compiler::new(options)
            .with_changed_plans(&mut |plans| {
                if !leaves {
                    plans.iter_mut().for_each(|plan| plan.at_end.clear());
                }
            })
            .compile(&module)
            .map_err(|failure| anyhow::anyhow!("{failure}"))?;
        let job = Job::compiled(&output, 0)?;
        let mut found = false;
        for index in 0..SCHEDULES {
            let inputs = Inputs::new(
                [1, 1, 1],
                vec![(BufferName::Binding(0, 0), vec![0; 4 * 128])],
            );
            let outcome = job.run(&inputs, Schedule::nth(index, 3))?;
            let deadlock = |finding: &&Finding| !leaves && finding.kind == FindingKind::Deadlock;
            if let Some(finding) = outcome.report.findings.iter().find(|f| !deadlock(f)) {
                anyhow::bail!("{finding}");
            }
            found |= !outcome.report.findings.is_empty();
            let written = outcome
                .buffers
                .first()
                .into_iter()
                .flatten()
                .any(|b| *b != 0);
            ensure!(written == leaves, "schedule {index}: {written}");
        }
        Ok(found)
    };
    for optimization in [splitbar::Optimization::O0, splitbar::Optimization::O2] {
        options.optimization = optimization;
        for strategy in [Strategy::Native, Strategy::Named] {
            options.strategy = Some(strategy);
            ensure!(!deadlocks(&options, true)?, "{strategy} {optimization:?}");
        }
        ensure!(
            deadlocks(&options, false)?,
            "nobody misses the wave's leave, {optimization:?}"
        );
    }
    Ok(())
}

/// See [`ends_early`]: 128 invocations, of which the last 32 return immediately. The others store
/// the word that a neighbour wrote to workgroup memory.
pub(crate) const ENDS_EARLY: &str = "OpCapability Shader
OpCapability SplitBarrierINTEL
OpExtension \"SPV_INTEL_split_barrier\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %buffer %index %tile
OpExecutionMode %main LocalSize 128 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%last = OpConstant %uint 95
%size = OpConstant %uint 128
%workgroup = OpConstant %uint 2
%release = OpConstant %uint 0x104
%acquire = OpConstant %uint 0x102
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct %array
%cells = OpTypeArray %uint %size
%pblock = OpTypePointer StorageBuffer %block
%puint = OpTypePointer StorageBuffer %uint
%pcells = OpTypePointer Workgroup %cells
%pcell = OpTypePointer Workgroup %uint
%pin = OpTypePointer Input %uint
%buffer = OpVariable %pblock StorageBuffer
%tile = OpVariable %pcells Workgroup
%index = OpVariable %pin Input
%main = OpFunction %void None %fn
%entry = OpLabel
%i = OpLoad %uint %index
%over = OpUGreaterThan %bool %i %last
OpSelectionMerge %go None
OpBranchConditional %over %end %go
%end = OpLabel
OpReturn
%go = OpLabel
%mine = OpAccessChain %pcell %tile %i
OpStore %mine %size
OpControlBarrierArriveINTEL %workgroup %workgroup %release
OpControlBarrierWaitINTEL %workgroup %workgroup %acquire
%j = OpISub %uint %last %i
%its = OpAccessChain %pcell %tile %j
%v = OpLoad %uint %its
%at = OpAccessChain %puint %buffer %zero %i
OpStore %at %v
OpReturn
OpFunctionEnd
";

/// No strategy is left out of the grid above.
fn every_one() -> Result<()> {
    let mut used = BTreeSet::new();
    for (kernel, gpu) in [
        ("odd_workgroup", "sm_75"),
        ("odd_workgroup", "sm_90"),
        ("one_wave", "sm_75"),
        ("odd_workgroup", "gfx1250"),
        ("subgroup_and_workgroup", "gfx1201"),
    ] {
        let fixture = Fixture::load(kernel)?;
        used.extend(
            outputs(&fixture, gpu)?
                .into_iter()
                .map(|(strategy, _)| strategy),
        );
    }
    for strategy in Strategy::ALL {
        // A scope, not a choice: it cannot be forced.
        ensure!(
            used.contains(strategy) || *strategy == Strategy::Subgroup,
            "{strategy} lowers nothing"
        );
    }
    Ok(())
}
