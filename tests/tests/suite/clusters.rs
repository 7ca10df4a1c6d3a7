//! Kernels that are launched in clusters of workgroups, on GPUs that support them. The workgroups
//! of a cluster run concurrently on the simulator, and synchronise at its barrier.
//!
//! SPIR-V has no scope for a cluster. `--strategy cluster --cluster-size X,Y,Z` lets the pairs of
//! scope Workgroup meet in the whole cluster: every kernel of the fixtures is such a kernel then,
//! and has to compute the same; one that exchanges data between the workgroups of a cluster needs
//! it.

use crate::sim;
use crate::support::{always_split, assembled, compile_bytes, linkable, told, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::{FindingKind, Schedule};
use splitbar::simulate::{BufferName, Inputs, Job, Outcome};
use splitbar::{EntryPlan, Optimization, Options, Output, SplitBarriers, Strategy, Target};
use splitbar_plan::Step;
use splitbar_tests::check::Check;
use splitbar_tests::fixture::Fixture;
use splitbar_tests::reference;

/// One GPU of each kind that has clusters.
const GPUS: [&str; 2] = ["gfx1250", "sm_90"];

/// One schedule of each kind.
const SCHEDULES: u32 = 8;

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let kernels = fixtures.iter().flat_map(|fixture| {
        GPUS.map(|gpu| {
            let fixture = fixture.clone();
            trial(format!("clusters/{}/{gpu}", fixture.name), move || {
                same_results(&fixture, gpu)
            })
        })
    });
    let own = GPUS.map(|gpu| trial(format!("clusters/exchange/{gpu}"), move || exchange(gpu)));
    let others = [
        trial("clusters/one_wave_arrives".to_owned(), one_wave_arrives),
        trial("clusters/every_target".to_owned(), every_target),
        trial("clusters/refused".to_owned(), refused),
    ];
    kernels.chain(own).chain(others).collect()
}

fn clustered(size: [u32; 3]) -> impl Fn(&mut Options) {
    move |options| {
        options.strategy = Some(Strategy::Cluster);
        options.cluster = Some(size);
    }
}

/// A cluster of two workgroups of the fixture's grid; of one where the grid has no two side by
/// side.
fn pair_of(groups: [u32; 3]) -> [u32; 3] {
    let axis = groups.iter().position(|n| n.is_multiple_of(2));
    std::array::from_fn(|a| if Some(a) == axis { 2 } else { 1 })
}

/// Synchronising more workgroups than necessary does not change the results.
fn same_results(fixture: &Fixture, gpu: &str) -> Result<()> {
    linkable(gpu)?;
    let size = pair_of(
        reference::case(&fixture.name)
            .context("no host reference")?
            .groups,
    );
    for level in [Optimization::O0, Optimization::O2] {
        let output = compile_bytes(&fixture.module()?, gpu, |options| {
            clustered(size)(options);
            options.optimization = level;
        })?;
        sim::agrees(fixture, &output, SCHEDULES)
            .with_context(|| format!("{gpu} {level:?}, clusters of {size:?}"))?;
    }
    Ok(())
}

/// Every invocation writes a word. After the barrier it reads the word of its neighbour in the next
/// workgroup of the cluster, in each of two iterations.
fn exchange(gpu: &str) -> Result<()> {
    linkable(gpu)?;
    let module = assembled(EXCHANGE)?;
    let cluster = clustered([2, 1, 1]);
    let whole = compile_bytes(&module, gpu, &cluster)?;
    for index in 0..2 * SCHEDULES {
        let outcome = run(&whole, index)?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("{gpu}: {finding}");
        }
        let out = outcome.buffers.get(1).context("no second buffer")?;
        for (at, word) in (0u32..).zip(out.as_chunks::<4>().0) {
            let neighbour = at ^ 64;
            let expected = 3 * neighbour + (3 * neighbour + 1);
            ensure!(
                u32::from_le_bytes(*word) == expected,
                "{gpu}: word {at} is {word:?}, not {expected}"
            );
        }
    }
    // Without the cluster's barrier the workgroups race.
    let apart = compile_bytes(&module, gpu, |options| {
        options.cluster = Some([2, 1, 1]);
        options.strategy = Some(Strategy::Fused);
    })?;
    ensure!(
        found(&apart)?.contains(&FindingKind::GlobalRace),
        "{gpu}: nobody notices that the workgroups do not meet, but {:?}",
        found(&apart)?
    );
    for (what, change) in MUTANTS {
        let mut options = always_split(gpu)?;
        cluster(&mut options);
        let mutant = splitbar::Compiler::new(&options)
            .with_changed_plans(&mut |plans| plans.iter_mut().for_each(change))
            .compile(&module)
            .map_err(|failure| anyhow::anyhow!("{failure}"))?;
        ensure!(!found(&mutant)?.is_empty(), "{gpu}: nobody notices {what}");
    }
    Ok(())
}

type Change = fn(&mut EntryPlan);

/// Plans that are wrong.
const MUTANTS: [(&str, Change); 3] = [
    ("a missing arrival at the cluster's barrier", |plan| {
        change(plan, |steps| {
            steps.retain(|step| !matches!(step, Step::ClusterArrive | Step::IfFirst(_)));
        });
    }),
    ("an arrival too many", |plan| {
        change(plan, |steps| {
            let arrives = |step: &Step| matches!(step, Step::ClusterArrive | Step::IfFirst(_));
            if let Some(at) = steps.iter().position(arrives) {
                steps.insert(at, Step::ClusterArrive);
            }
        });
    }),
    ("a missing wait for the cluster's barrier", |plan| {
        change(plan, |steps| {
            steps.retain(|step| *step != Step::ClusterWait)
        });
    }),
];

fn change(plan: &mut EntryPlan, change: impl Fn(&mut Vec<Step>)) {
    plan.at_instruction.values_mut().for_each(change);
}

fn run(output: &Output, index: u32) -> Result<Outcome> {
    let words = |count: u32| vec![0u8; 4 * count as usize];
    let inputs = Inputs::new(
        [4, 1, 1],
        vec![
            (BufferName::Binding(0, 0), words(512)),
            (BufferName::Binding(0, 1), words(256)),
        ],
    );
    Ok(Job::compiled(output, 0)?.run(&inputs, Schedule::nth(index, 7))?)
}

/// The findings under one schedule of each kind.
fn found(output: &Output) -> Result<Vec<FindingKind>> {
    let mut kinds = Vec::new();
    for index in 0..SCHEDULES {
        kinds.extend(run(output, index)?.report.findings.iter().map(|f| f.kind));
    }
    Ok(kinds)
}

/// The code of both vendors: on AMD GPUs the wave that is the first of its workgroup arrives, once
/// the workgroup is complete.
fn one_wave_arrives() -> Result<()> {
    let module = assembled(EXCHANGE)?;
    let amdgpu = [
        r"s_barrier_signal_isfirst -1",
        r"s_barrier_wait -1",
        r"s_cbranch",
        r"s_barrier_signal -3",
        r"s_barrier_wait -3",
        r"\.cluster_dims:",
        r"- 2",
    ];
    let nvptx = [
        r"\.explicitcluster",
        r"\.reqnctapercluster 2, 1, 1",
        r"barrier\.cluster\.arrive\.relaxed\.aligned",
        r"barrier\.cluster\.wait\.aligned",
    ];
    for (gpu, order) in [
        ("gfx1250", &amdgpu[..]),
        ("gfx1251", &amdgpu),
        ("sm_90", &nvptx),
    ] {
        let assembly = told(compile_bytes(&module, gpu, clustered([2, 1, 1]))?.assembly())?;
        Check::parse(order)
            .and_then(|check| check.run(&assembly))
            .map_err(|problem| anyhow::anyhow!("{gpu}: {problem}\n{assembly}"))?;
    }
    Ok(())
}

/// The kernel is compiled for clusters on targets that have them; on others the size is an error.
fn every_target() -> Result<()> {
    let module = assembled(EXCHANGE)?;
    let mut with = 0;
    for target in Target::all() {
        let compiled = compile_bytes(&module, target.name, clustered([2, 1, 1]));
        match (target.has_clusters(), compiled) {
            (true, Ok(output)) => {
                told(output.assembly())?;
                with += 1;
            }
            (false, Err(refusal)) => ensure!(
                format!("{refusal:#}").contains("has no clusters of workgroups"),
                "{refusal:#}"
            ),
            (true, Err(refusal)) => bail!("{refusal:#}"),
            (false, Ok(_)) => bail!("{} has no clusters", target.name),
        }
    }
    ensure!(with > 2, "only {with} targets have clusters");
    Ok(())
}

/// Cluster sizes that no device can launch.
fn refused() -> Result<()> {
    let module = assembled(EXCHANGE)?;
    for (size, says) in [
        (None, "cannot lower the split barriers"),
        (Some([0, 1, 1]), "a cluster of 0x1x1 workgroups"),
        (Some([3, 3, 2]), "a cluster of 3x3x2 workgroups"),
        (
            Some([u32::MAX, 2, 1]),
            "a cluster of 4294967295x2x1 workgroups",
        ),
    ] {
        let refusal = compile_bytes(&module, "gfx1250", |options| {
            options.strategy = Some(Strategy::Cluster);
            options.cluster = size;
        });
        let text = format!("{:#}", refusal.err().context("it was lowered")?);
        ensure!(text.contains(says), "{size:?}: {text}");
    }
    // Splitting makes other pairs, and narrow pairs whole barriers: others would meet.
    let split = |size| {
        compile_bytes(&module, "gfx1250", |options| {
            clustered(size)(options);
            options.split_barriers = SplitBarriers::Always;
        })
    };
    let text = format!("{:#}", split([2, 1, 1]).err().context("it was split")?);
    ensure!(text.contains("barriers cannot be split"), "{text}");
    split([1; 3])?;
    Ok(())
}

/// See [`exchange`]. The first buffer has two words for each invocation, the second one. The pairs
/// have memory scope Device, since other workgroups read what they release.
const EXCHANGE: &str = "OpCapability Shader
OpCapability SplitBarrierINTEL
OpCapability VulkanMemoryModel
OpCapability VulkanMemoryModelDeviceScope
OpExtension \"SPV_INTEL_split_barrier\"
OpMemoryModel Logical Vulkan
OpEntryPoint GLCompute %main \"main\" %id %data %out
OpExecutionMode %main LocalSize 64 1 1
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 1
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%vec3 = OpTypeVector %uint 3
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct %array
%pblock = OpTypePointer StorageBuffer %block
%puint = OpTypePointer StorageBuffer %uint
%pvec3 = OpTypePointer Input %vec3
%pin = OpTypePointer Input %uint
%id = OpVariable %pvec3 Input
%data = OpVariable %pblock StorageBuffer
%out = OpVariable %pblock StorageBuffer
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%three = OpConstant %uint 3
%half = OpConstant %uint 256
%bit = OpConstant %uint 64
%device = OpConstant %uint 1
%workgroup = OpConstant %uint 2
%release = OpConstant %uint 0x2044
%acquire = OpConstant %uint 0x4042
%main = OpFunction %void None %fn
%entry = OpLabel
%pid = OpAccessChain %pin %id %zero
%i = OpLoad %uint %pid
%other = OpBitwiseXor %uint %i %bit
%first = OpIMul %uint %i %three
%second = OpIAdd %uint %first %one
%i2 = OpIAdd %uint %i %half
%other2 = OpIAdd %uint %other %half
%at = OpAccessChain %puint %data %zero %i
%at2 = OpAccessChain %puint %data %zero %i2
%from = OpAccessChain %puint %data %zero %other
%from2 = OpAccessChain %puint %data %zero %other2
%to = OpAccessChain %puint %out %zero %i
OpStore %at %first NonPrivatePointer
OpControlBarrierArriveINTEL %workgroup %device %release
OpControlBarrierWaitINTEL %workgroup %device %acquire
%v = OpLoad %uint %from NonPrivatePointer
OpStore %at2 %second NonPrivatePointer
OpControlBarrierArriveINTEL %workgroup %device %release
OpControlBarrierWaitINTEL %workgroup %device %acquire
%w = OpLoad %uint %from2 NonPrivatePointer
%sum = OpIAdd %uint %v %w
OpStore %to %sum
OpReturn
OpFunctionEnd
";
