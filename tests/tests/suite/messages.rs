//! Messages between workgroups and between waves on the simulator: one stores data and then sets a
//! flag, another reads the flag and then the data. With atomics or fences there are no findings;
//! without them, there are. AMDGPU code has the same instruction for plain and for atomic stores,
//! so the compiler's knowledge decides.

use crate::support::{assembled, compile_bytes, linkable, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use spirv::Op;
use splitbar::Optimization;
use splitbar::simulate::machine::{Finding, FindingKind, Schedule};
use splitbar::simulate::{BufferName, Inputs, Job};

const TARGETS: [&str; 12] = [
    "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_60", "sm_70",
    "sm_75", "sm_80", "sm_90",
];

/// The operations of the writer after its data, the operations of the reader before it, and the
/// expected findings.
struct Case {
    name: &'static str,
    write: &'static str,
    read: &'static str,
    found: Found,
}

#[derive(Copy, Clone)]
enum Found {
    Nothing,
    /// A race on the flag itself: with an instruction of this opcode.
    Race(Op),
    /// The data may be old, or is not ordered.
    Disorder,
}

/// Waits until the flag is set; `SEMANTICS` are the semantics of the load.
const SPIN: &str = "\
OpBranch %again
%again = OpLabel
OpLoopMerge %raised %more None
OpBranch %ask
%ask = OpLabel
%seen = OpAtomicLoad %uint %flag %scope SEMANTICS
%is_raised = OpINotEqual %bool %seen %zero
OpBranchConditional %is_raised %raised %more
%more = OpLabel
OpBranch %again
%raised = OpLabel
";

/// Loads the flag once, because a compiler may load a plain flag only once.
const LOOK: &str = "%seen = OpLoad %uint %flag\n";

const CASES: [Case; 8] = [
    Case {
        name: "release_acquire",
        write: "OpAtomicStore %flag %scope %release %one\n",
        read: "acquire",
        found: Found::Nothing,
    },
    Case {
        name: "release_acquire_in_a_function",
        write: "%called = OpFunctionCall %void %raise %flag\n",
        read: "acquire",
        found: Found::Nothing,
    },
    Case {
        name: "fences",
        write: "OpMemoryBarrier %scope %release\nOpAtomicStore %flag %scope %relaxed %one\n",
        read: "fence",
        found: Found::Nothing,
    },
    Case {
        name: "relaxed",
        write: "OpAtomicStore %flag %scope %relaxed %one\n",
        read: "relaxed",
        found: Found::Disorder,
    },
    Case {
        name: "relaxed_store",
        write: "OpAtomicStore %flag %scope %relaxed %one\n",
        read: "acquire",
        found: Found::Disorder,
    },
    Case {
        name: "relaxed_load",
        write: "OpAtomicStore %flag %scope %release %one\n",
        read: "relaxed",
        found: Found::Disorder,
    },
    Case {
        name: "plain_store",
        write: "OpStore %flag %one\n",
        read: "acquire",
        found: Found::Race(Op::AtomicLoad),
    },
    Case {
        name: "plain_load",
        write: "OpAtomicStore %flag %scope %release %one\n",
        read: "plain",
        found: Found::Race(Op::AtomicStore),
    },
];

/// The writer and the reader.
#[derive(Copy, Clone, Debug)]
enum Between {
    /// Two workgroups, through buffers.
    Workgroups,
    /// Two waves of one workgroup, through its memory; the kernel has a barrier in a separate
    /// function.
    Waves,
}

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for between in [Between::Workgroups, Between::Waves] {
        for case in &CASES {
            // One wave's accesses of shared memory take effect in order on AMD GPUs, whatever was
            // asked for.
            if let (Between::Waves, Found::Disorder) = (between, case.found) {
                continue;
            }
            for target in TARGETS {
                for (level, optimization) in [(0, Optimization::O0), (2, Optimization::O2)] {
                    let name = format!("messages/{between:?}/{}/{target}/O{level}", case.name);
                    trials.push(trial(name.to_lowercase(), move || {
                        passes_on(case, between, target, optimization)
                    }));
                }
            }
        }
    }
    trials
}

fn passes_on(
    case: &Case,
    between: Between,
    target: &str,
    optimization: Optimization,
) -> Result<()> {
    linkable(target)?;
    let module = assembled(&module(case, between))?;
    let output = compile_bytes(&module, target, |options| {
        options.lines = true;
        options.optimization = optimization;
    })?;
    let job = Job::compiled(&output, 0)?;
    let inputs = Inputs::new(
        match between {
            Between::Workgroups => [2, 1, 1],
            Between::Waves => [1, 1, 1],
        },
        vec![(BufferName::Binding(0, 0), vec![0; 3 * 256])],
    );
    let mut found = Vec::new();
    for index in 0..16 {
        let schedule = Schedule::nth(index, 1);
        let outcome = job.run(&inputs, schedule)?;
        if let (Found::Nothing, Some(finding)) = (case.found, outcome.report.findings.first()) {
            bail!("{schedule}: {finding}");
        }
        if matches!(case.found, Found::Nothing) {
            let results = outcome.buffers.first().and_then(|b| b.get(512..));
            let (results, _) = results.context("no results")?.as_chunks::<4>();
            let right = |(lane, result): (u32, [u8; 4])| u32::from_le_bytes(result) == 43 + lane;
            ensure!(
                (0..).zip(results.iter().copied()).all(right),
                "{schedule}: {results:?}"
            );
        }
        found.extend(outcome.report.findings);
    }
    // Of the instructions that a finding names.
    let opcodes = |finding: &Finding| {
        let places = [
            Some(&finding.place),
            finding.other.as_ref().map(|(_, place)| place),
        ];
        places.map(|place| {
            let at = place
                .and_then(|p| p.word)
                .map_or(0, |word| word as usize * 4);
            module.get(at).copied()
        })
    };
    let race = |f: &&Finding| [FindingKind::GlobalRace, FindingKind::SharedRace].contains(&f.kind);
    let expected = match case.found {
        Found::Nothing => return Ok(()),
        Found::Race(op) => found
            .iter()
            .filter(race)
            .find(|f| opcodes(f).contains(&Some(op as u8))),
        Found::Disorder => found.iter().find(|f| {
            race(f) || [FindingKind::StaleRead, FindingKind::NotWrittenBack].contains(&f.kind)
        }),
    };
    expected.with_context(|| format!("not found; but {found:?}"))?;
    Ok(())
}

/// The kernel, as text.
fn module(case: &Case, between: Between) -> String {
    let read = match case.read {
        "acquire" => SPIN.replace("SEMANTICS", "%acquire"),
        "relaxed" => SPIN.replace("SEMANTICS", "%relaxed"),
        "fence" => SPIN.replace("SEMANTICS", "%relaxed") + "OpMemoryBarrier %scope %acquire\n",
        _ => LOOK.to_owned(),
    };
    // Semantics: UniformMemory or WorkgroupMemory beside the order. Scopes: Device is 1, Workgroup
    // 2.
    let (memory, scope, size, class, variable, number) = match between {
        Between::Workgroups => (0x40, 1, 64, "StorageBuffer", "%buffer", GROUP),
        Between::Waves => (0x100, 2, 128, "Workgroup", "%shared", HALF),
    };
    // The waves clear the flags first.
    let clear = match between {
        Between::Workgroups => "",
        Between::Waves => CLEAR,
    };
    let text = [
        HEAD, number, BODY, clear, BRANCH, case.write, READER, &read, END,
    ]
    .concat();
    text.replace("SIZE", &size.to_string())
        .replace("CLASS", class)
        .replace("VARIABLE", variable)
        .replace("SCOPE", &scope.to_string())
        .replace("ACQUIRE", &(memory | 2).to_string())
        .replace("RELEASE", &(memory | 4).to_string())
        .replace("BARRIER", &(memory | 8).to_string())
}

const HEAD: &str = "\
OpCapability Shader
OpExtension \"SPV_KHR_storage_buffer_storage_class\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %local %group
OpExecutionMode %main LocalSize SIZE 1 1
OpDecorate %local BuiltIn LocalInvocationId
OpDecorate %group BuiltIn WorkgroupId
OpDecorate %words ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpMemberDecorate %block 1 Offset 256
OpMemberDecorate %block 2 Offset 512
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%two = OpConstant %uint 2
%workgroup = OpConstant %uint 2
%six = OpConstant %uint 6
%sixty_three = OpConstant %uint 63
%sixty_four = OpConstant %uint 64
%forty_two = OpConstant %uint 42
%scope = OpConstant %uint SCOPE
%relaxed = OpConstant %uint 0
%acquire = OpConstant %uint ACQUIRE
%release = OpConstant %uint RELEASE
%barrier = OpConstant %uint BARRIER
%uint3 = OpTypeVector %uint 3
%pinput = OpTypePointer Input %uint3
%local = OpVariable %pinput Input
%group = OpVariable %pinput Input
%words = OpTypeArray %uint %sixty_four
%block = OpTypeStruct %words %words %words
%plain_words = OpTypeArray %uint %sixty_four
%pair = OpTypeStruct %plain_words %plain_words
%pblock = OpTypePointer StorageBuffer %block
%ppair = OpTypePointer Workgroup %pair
%pstorage = OpTypePointer StorageBuffer %uint
%ptr = OpTypePointer CLASS %uint
%buffer = OpVariable %pblock StorageBuffer
%shared = OpVariable %ppair Workgroup
%raiser = OpTypeFunction %void %ptr
%raise = OpFunction %void None %raiser
%lowered = OpFunctionParameter %ptr
%raise_entry = OpLabel
OpAtomicStore %lowered %scope %release %one
OpReturn
OpFunctionEnd
%sync = OpFunction %void None %function
%sync_entry = OpLabel
OpControlBarrier %workgroup %workgroup %barrier
OpReturn
OpFunctionEnd
%main = OpFunction %void None %function
%entry = OpLabel
%place = OpLoad %uint3 %local
%index = OpCompositeExtract %uint %place 0
%lane = OpBitwiseAnd %uint %index %sixty_three
";

const GROUP: &str = "\
%groups = OpLoad %uint3 %group
%number = OpCompositeExtract %uint %groups 0
";

const HALF: &str = "%number = OpShiftRightLogical %uint %index %six\n";

const BODY: &str = "\
%writes = OpIEqual %bool %number %zero
%data = OpAccessChain %ptr VARIABLE %zero %lane
%flag = OpAccessChain %ptr VARIABLE %one %lane
";

const CLEAR: &str = "\
OpSelectionMerge %cleared None
OpBranchConditional %writes %clear %cleared
%clear = OpLabel
OpAtomicStore %flag %scope %relaxed %zero
OpBranch %cleared
%cleared = OpLabel
%synced = OpFunctionCall %void %sync
";

const BRANCH: &str = "\
OpSelectionMerge %done None
OpBranchConditional %writes %writer %reader
%writer = OpLabel
%message = OpIAdd %uint %lane %forty_two
OpStore %data %message
";

const READER: &str = "\
OpBranch %done
%reader = OpLabel
";

const END: &str = "\
%arrived = OpLoad %uint %data
%both = OpIAdd %uint %arrived %seen
%result = OpAccessChain %pstorage %buffer %two %lane
OpStore %result %both
OpBranch %done
%done = OpLabel
OpReturn
OpFunctionEnd
";
