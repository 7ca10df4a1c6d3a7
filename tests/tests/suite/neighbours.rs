//! Neighbouring fences of different memory: each does its part in the final code.
//!
//! LLVM takes two neighbours for one (docs/llvm.md). The plan merges what it can see; what becomes
//! a neighbour later is kept apart. The patterns here order all memory in pieces, so each is
//! compared with the exchange that orders it with one fence on each side; the simulator runs them;
//! and fences are counted before and after optimisation.

use crate::fences::{orders, waited};
use crate::support::{
    always_split, assembled, compile, compile_bytes, instruction, is_nvptx, linkable,
};
use crate::support::{told, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar::waits::counter::Counter;
use splitbar::{Artefact, EntryPlan, Observer, Optimization, Output, Strategy};
use splitbar_plan::{Fence, FenceMemory, Step};
use splitbar_tests::fixture::Fixture;
use std::collections::{BTreeMap, BTreeSet};

/// AMD GPUs of each kind of memory hardware, and NVIDIA's before and after fences of named scopes.
const TARGETS: &[&str] = &[
    "gfx906", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_60", "sm_75", "sm_90",
];

const LEVELS: &[(u32, Optimization)] = &[
    (0, Optimization::O0),
    (1, Optimization::O1),
    (2, Optimization::O2),
    (3, Optimization::O3),
];

/// The memory orders of the arrive and the wait of an exchange.
struct Pattern {
    name: &'static str,
    before: &'static str,
    after: &'static str,
    strategy: Option<Strategy>,
    /// True if the plan has one fence on each side.
    merged: bool,
}

const fn pattern(name: &'static str, before: &'static str, after: &'static str) -> Pattern {
    Pattern {
        name,
        before,
        after,
        strategy: None,
        merged: true,
    }
}

/// One fence on each side.
const WHOLE: (&str, &str) = (
    "OpControlBarrierArriveINTEL %workgroup %workgroup %release_all",
    "OpControlBarrierWaitINTEL %workgroup %workgroup %acquire_all",
);

#[rustfmt::skip] // a table
const PATTERNS: &[Pattern] = &[
    pattern(
        "beside_a_pair",
        "OpMemoryBarrier %workgroup %release_buffer
         OpControlBarrierArriveINTEL %workgroup %workgroup %release_tile",
        "OpControlBarrierWaitINTEL %workgroup %workgroup %acquire_tile
         OpMemoryBarrier %workgroup %acquire_buffer",
    ),
    pattern(
        "around_a_relaxed_pair",
        "OpMemoryBarrier %workgroup %release_buffer
         OpMemoryBarrier %workgroup %release_tile
         OpControlBarrierArriveINTEL %workgroup %workgroup %relaxed",
        "OpControlBarrierWaitINTEL %workgroup %workgroup %relaxed
         OpMemoryBarrier %workgroup %acquire_buffer
         OpMemoryBarrier %workgroup %acquire_tile",
    ),
    pattern(
        "around_a_full_barrier",
        "OpMemoryBarrier %workgroup %both_buffer
         OpMemoryBarrier %workgroup %both_tile
         OpControlBarrier %workgroup %workgroup %relaxed",
        "OpMemoryBarrier %workgroup %both_buffer
         OpMemoryBarrier %workgroup %both_tile",
    ),
    pattern(
        "both_orders",
        "OpMemoryBarrier %workgroup %both_buffer
         %k = OpIMul %uint %i %i
         OpMemoryBarrier %workgroup %both_tile
         OpControlBarrierArriveINTEL %workgroup %workgroup %relaxed",
        "OpControlBarrierWaitINTEL %workgroup %workgroup %relaxed
         OpMemoryBarrier %workgroup %both_tile
         OpMemoryBarrier %workgroup %both_buffer",
    ),
    // Neighbours that the plan does not see: what stands between them goes when LLVM optimises.
    // Here it is what is done where the pair is still open.
    Pattern {
        strategy: Some(Strategy::Fused),
        merged: false,
        ..pattern(
            "full_barrier_in_a_pair",
            "OpControlBarrierArriveINTEL %workgroup %workgroup %release_buffer
             OpControlBarrier %workgroup %workgroup %both_tile",
            "OpControlBarrierWaitINTEL %workgroup %workgroup %acquire_buffer",
        )
    },
    Pattern {
        merged: false,
        ..pattern(
            "dead_load_between",
            "OpMemoryBarrier %workgroup %release_buffer
             %dead = OpLoad %uint %mine
             OpControlBarrierArriveINTEL %workgroup %workgroup %release_tile",
            "OpControlBarrierWaitINTEL %workgroup %workgroup %acquire_tile
             %dead2 = OpLoad %uint %mine
             OpMemoryBarrier %workgroup %acquire_buffer",
        )
    },
    Pattern {
        merged: false,
        ..pattern(
            "in_a_function",
            "%r = OpFunctionCall %void %release_both
             OpControlBarrierArriveINTEL %workgroup %workgroup %relaxed",
            "OpControlBarrierWaitINTEL %workgroup %workgroup %relaxed
             OpMemoryBarrier %workgroup %acquire_tile
             %a = OpFunctionCall %void %acquire_one",
        )
    },
    Pattern {
        merged: false,
        ..pattern(
            "blocks_that_are_merged",
            "OpMemoryBarrier %workgroup %release_buffer
             OpBranch %next
             %next = OpLabel
             OpControlBarrierArriveINTEL %workgroup %workgroup %release_tile",
            "OpControlBarrierWaitINTEL %workgroup %workgroup %acquire_tile
             OpBranch %last
             %last = OpLabel
             OpMemoryBarrier %workgroup %acquire_buffer",
        )
    },
];

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for of in PATTERNS {
        trials.push(trial(format!("neighbours/{}/plan", of.name), move || {
            TARGETS.iter().try_for_each(|target| planned(of, target))
        }));
        for name in TARGETS {
            trials.push(trial(
                format!("neighbours/{}/{name}/assembly", of.name),
                move || {
                    let mut levels = LEVELS.iter();
                    levels.try_for_each(|(number, level)| {
                        same_code(of, name, *level).with_context(|| format!("O{number}"))
                    })
                },
            ));
            trials.push(trial(
                format!("neighbours/{}/{name}/sim", of.name),
                move || runs(of, name),
            ));
        }
    }
    for name in ["gfx942", "gfx1100", "gfx1201", "gfx1250", "sm_90"] {
        let fixtures = fixtures.to_vec();
        trials.push(trial(format!("neighbours/counted/{name}"), move || {
            fixtures.iter().try_for_each(|fixture| {
                none_dropped(&fixture.module()?, name)
                    .with_context(|| format!("{} on {name}", fixture.name))
            })
        }));
        trials.push(trial(
            format!("neighbours/counted_patterns/{name}"),
            move || {
                PATTERNS.iter().try_for_each(|of| {
                    none_dropped(&kernel(of.before, of.after)?, name)
                        .with_context(|| format!("{} on {name}", of.name))
                })
            },
        ));
    }
    for name in ["gfx942", "gfx1100", "gfx1201", "gfx1250"] {
        let fixtures = fixtures.to_vec();
        trials.push(trial(format!("neighbours/taken_apart/{name}"), move || {
            let mut apart = 0;
            for fixture in &fixtures {
                apart += taken_apart(fixture, name)
                    .with_context(|| format!("{} on {name}", fixture.name))?;
            }
            ensure!(apart > 0, "no fence orders all memory");
            Ok(())
        }));
    }
    trials
}

/// Every invocation stores to global and to workgroup memory; then it reads the word that an
/// invocation of another wave has stored.
fn kernel(before: &str, after: &str) -> Result<Vec<u8>> {
    assembled(&format!(
        "OpCapability Shader
OpCapability SplitBarrierINTEL
OpExtension \"SPV_INTEL_split_barrier\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %index
OpExecutionMode %main LocalSize 256 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
OpDecorate %result DescriptorSet 0
OpDecorate %result Binding 1
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%far = OpConstant %uint 128
%length = OpConstant %uint 256
%workgroup = OpConstant %uint 2
%relaxed = OpConstant %uint 0
%release_tile = OpConstant %uint 0x104
%acquire_tile = OpConstant %uint 0x102
%both_tile = OpConstant %uint 0x108
%release_buffer = OpConstant %uint 0x44
%acquire_buffer = OpConstant %uint 0x42
%both_buffer = OpConstant %uint 0x48
%release_all = OpConstant %uint 0x144
%acquire_all = OpConstant %uint 0x142
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct %array
%cells = OpTypeArray %uint %length
%pblock = OpTypePointer StorageBuffer %block
%puint = OpTypePointer StorageBuffer %uint
%pcells = OpTypePointer Workgroup %cells
%pcell = OpTypePointer Workgroup %uint
%pin = OpTypePointer Input %uint
%buffer = OpVariable %pblock StorageBuffer
%result = OpVariable %pblock StorageBuffer
%tile = OpVariable %pcells Workgroup
%index = OpVariable %pin Input
%main = OpFunction %void None %fn
%entry = OpLabel
%i = OpLoad %uint %index
%j = OpBitwiseXor %uint %i %far
%twice = OpIAdd %uint %i %i
%mine = OpAccessChain %pcell %tile %i
%its = OpAccessChain %pcell %tile %j
%at = OpAccessChain %puint %buffer %zero %i
%at_its = OpAccessChain %puint %buffer %zero %j
%end = OpAccessChain %puint %result %zero %i
OpStore %at %twice
OpStore %mine %i
{before}
{after}
%x = OpLoad %uint %at_its
%y = OpLoad %uint %its
%sum = OpIAdd %uint %x %y
OpStore %end %sum
OpReturn
OpFunctionEnd
%release_both = OpFunction %void None %fn
%in1 = OpLabel
OpMemoryBarrier %workgroup %release_buffer
OpBranch %out1
%out1 = OpLabel
OpMemoryBarrier %workgroup %release_tile
OpReturn
OpFunctionEnd
%acquire_one = OpFunction %void None %fn
%in2 = OpLabel
OpMemoryBarrier %workgroup %acquire_buffer
OpReturn
OpFunctionEnd
"
    ))
}

fn built(of: &Pattern, name: &str, level: Optimization) -> Result<Output> {
    compile_bytes(&kernel(of.before, of.after)?, name, |options| {
        options.optimization = level;
        options.strategy = of.strategy;
    })
}

/// If the plan merges fences, no place has more than one fence, and the two sides have one each.
fn planned(of: &Pattern, name: &str) -> Result<()> {
    let plan = built(of, name, Optimization::O2)?.plan();
    let fences = plan.matches("fence ").count();
    // A barrier of NVPTX orders the workgroup's memory by itself.
    let expected = if is_nvptx(name) { 0..=4 } else { 2..=2 };
    let merged = expected.contains(&fences);
    ensure!(
        merged == of.merged || is_nvptx(name),
        "{name}: {fences} fences:\n{plan}"
    );
    Ok(())
}

/// The instructions that order memory from the last store before the barrier to the first load
/// after it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Side {
    waited: BTreeSet<Counter>,
    /// Write-backs, invalidations, fences.
    others: BTreeSet<String>,
}

fn sides(assembly: &str) -> Result<[Side; 2]> {
    let mut sides = [Vec::new(), Vec::new()];
    let mut at = None;
    for line in assembly.lines() {
        let code = instruction(line);
        let is = |names: &[&str]| names.iter().any(|name| code.starts_with(name));
        if is(&[
            "ds_store",
            "ds_write",
            "st.shared",
            "global_store",
            "st.global",
            "flat_store",
        ]) {
            if at == Some(1) {
                break;
            }
            sides[0].clear();
            at = Some(0);
        } else if is(&["s_barrier", "bar.", "barrier.", "mbarrier.arrive"]) && at.is_some() {
            at = Some(1);
        } else if is(&[
            "ds_load",
            "ds_read",
            "ld.shared",
            "global_load",
            "ld.global",
            "flat_load",
        ]) {
            if at == Some(1) {
                break;
            }
        } else if let Some(at) = at
            && orders(&code)
        {
            sides[at].push(code);
        }
    }
    ensure!(at == Some(1), "no barrier behind a store:\n{assembly}");
    Ok(sides.map(|lines| Side {
        waited: waited(&lines),
        others: lines
            .into_iter()
            .filter(|line| !line.starts_with("s_wait"))
            .collect(),
    }))
}

/// The pattern orders as much as one fence on each side.
fn same_code(of: &Pattern, name: &str, level: Optimization) -> Result<()> {
    let whole = Pattern {
        strategy: of.strategy,
        ..pattern("whole", WHOLE.0, WHOLE.1)
    };
    let expected = sides(&told(built(&whole, name, level)?.assembly())?)?;
    let assembly = told(built(of, name, level)?.assembly())?;
    let found = sides(&assembly)?;
    for (found, expected) in found.iter().zip(&expected) {
        ensure!(
            expected.waited.is_subset(&found.waited) && expected.others.is_subset(&found.others),
            "{found:?} instead of {expected:?}:\n{assembly}"
        );
    }
    Ok(())
}

fn runs(of: &Pattern, name: &str) -> Result<()> {
    linkable(name)?;
    let output = built(of, name, Optimization::O2)?;
    let job = Job::compiled(&output, 0)?;
    let inputs = Inputs::new(
        [1, 1, 1],
        (0..2)
            .map(|binding| (BufferName::Binding(0, binding), vec![0; 1024]))
            .collect(),
    );
    let sums = (0..256_u32).map(|i| 3 * (i ^ 128));
    let expected: Vec<u8> = sums.flat_map(u32::to_le_bytes).collect();
    for index in 0..8 {
        let schedule = Schedule::nth(index, 1);
        let outcome = job.run(&inputs, schedule)?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("{schedule}: {finding}");
        }
        ensure!(outcome.buffers[1] == expected, "{schedule}: other results");
    }
    Ok(())
}

/// LLVM IR before and after optimisation.
#[derive(Default)]
struct Texts {
    before: String,
    after: String,
}

impl Observer for Texts {
    fn wants_artefacts(&self) -> bool {
        true
    }

    fn produced(&mut self, artefact: Artefact, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        match artefact {
            Artefact::UnoptimizedIr => self.before = text,
            Artefact::Ir => self.after = text,
            _ => {}
        }
    }
}

/// The number of fences of each order, scope and memory in a module.
fn fences(ir: &str) -> BTreeMap<String, usize> {
    let memories: BTreeMap<&str, &str> = ir
        .lines()
        .filter_map(|line| line.split_once(" = !{!\"amdgpu-synchronize-as\", "))
        .collect();
    let mut kinds = BTreeMap::new();
    for line in ir.lines().map(str::trim) {
        if line.starts_with("fence ") {
            let (kind, node) = line.split_once(", !mmra ").unwrap_or((line, ""));
            let memory = memories.get(node.split(',').next().unwrap_or(node));
            let kind = format!("{} {}", kind, memory.unwrap_or(&"all"));
            *kinds.entry(kind).or_default() += 1;
        }
    }
    kinds
}

/// The optimiser leaves every fence; of equal ones that NVPTX has no difference between it may
/// leave one. It may make more: it unrolls and inlines.
fn none_dropped(module: &[u8], name: &str) -> Result<()> {
    for (number, level) in LEVELS {
        let mut texts = Texts::default();
        let mut options = always_split(name)?;
        options.optimization = *level;
        splitbar::Compiler::new(&options)
            .with_observer(&mut texts)
            .compile(module)
            .map_err(|failure| anyhow::anyhow!("{failure}"))?;
        if !is_nvptx(name) {
            kept_apart(&texts.before)?;
        }
        let (before, after) = (fences(&texts.before), fences(&texts.after));
        for (kind, count) in &before {
            let left = after.get(kind).copied().unwrap_or(0);
            let at_least = if is_nvptx(name) { 1 } else { *count };
            ensure!(
                left >= at_least,
                "O{number}: {left} of {count} are left: {kind}\n{}",
                texts.after
            );
        }
    }
    Ok(())
}

/// Every fence is followed by the marker that keeps neighbours apart.
fn kept_apart(ir: &str) -> Result<()> {
    let mut lines = ir.lines().map(str::trim);
    while let Some(line) = lines.next() {
        ensure!(
            !line.starts_with("fence ")
                || lines
                    .next()
                    .is_some_and(|next| next.contains("@llvm.sideeffect()")),
            "a bare fence: {line}\n{ir}"
        );
    }
    Ok(())
}

/// Every fence of all memory as two neighbours, which the optimiser sees: the code waits for as
/// much. How many there were.
fn taken_apart(fixture: &Fixture, name: &str) -> Result<usize> {
    let mut count = 0;
    let mut options = always_split(name)?;
    options.optimization = Optimization::O2;
    let apart = splitbar::Compiler::new(&options)
        .with_changed_plans(&mut |plans| {
            for plan in plans {
                count += split(plan);
            }
        })
        .compile(&fixture.module()?);
    let apart = apart.map_err(|failure| anyhow::anyhow!("{failure}"))?;
    let apart = told(apart.assembly())?;
    let whole = told(compile(fixture, name, Optimization::O2)?.assembly())?;
    let ordering = |text: &str| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let code = text.lines().map(instruction);
        for line in code.filter(|line| orders(line)) {
            // One wait for two counters may become two.
            let waits: BTreeSet<Counter> = waited(std::slice::from_ref(&line));
            if line.starts_with("s_wait") {
                for counter in waits {
                    *counts.entry(format!("{counter:?}")).or_default() += 1;
                }
            } else {
                *counts.entry(line).or_default() += 1;
            }
        }
        counts
    };
    let (found, expected) = (ordering(&apart), ordering(&whole));
    for (what, count) in &expected {
        let left = found.get(what).copied().unwrap_or(0);
        ensure!(left >= *count, "{left} of {count}: {what}\n{apart}");
    }
    Ok(count)
}

/// Splits the plan's fences of all memory, and returns their number.
fn split(plan: &mut EntryPlan) -> usize {
    let mut count = 0;
    for steps in plan.at_instruction.values_mut() {
        *steps = steps
            .drain(..)
            .flat_map(|step| match step {
                Step::Fence(
                    fence @ Fence {
                        memory: FenceMemory::All,
                        ..
                    },
                ) => {
                    count += 1;
                    [FenceMemory::Global, FenceMemory::Local]
                        .map(|memory| Step::Fence(Fence { memory, ..fence }))
                        .to_vec()
                }
                step => vec![step],
            })
            .collect();
    }
    count
}
