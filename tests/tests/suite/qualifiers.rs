//! Memory that is decorated Coherent or Volatile: every path from a decoration to an access, in the
//! code of both vendors and on the simulator. One workgroup stores data and sets a flag. The other
//! loads the flag in a loop until it is set, and copies the data. Without the decoration, the load
//! is moved out of the loop, which then never ends.

use crate::support::{assembled, compile_bytes, is_nvptx, linkable, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::Optimization;
use splitbar::simulate::machine::image::Format;
use splitbar::simulate::machine::{FindingKind, Schedule};
use splitbar::simulate::{BufferName, Inputs, Job, Texels};
use splitbar_tests::check::Check;

/// The accesses of a target: its name, a coherent store, a coherent load, a volatile load, a
/// volatile store.
type Row = (&'static str, [&'static str; 4]);

/// One of each memory hardware. Sources: LLVM AMDGPUUsage, "Memory Model" (load and store atomic
/// monotonic of scope agent; volatile ones); PTX ISA, "Operation Types" and "Volatile Operation".
const TARGETS: &[Row] = &[
    (
        "gfx906",
        [
            r"global_store",
            r"global_load.* glc",
            r"global_load.* glc",
            r"global_store",
        ],
    ),
    (
        "gfx942",
        [
            r"global_store",
            r"global_load.* sc1$",
            r"global_load.* sc0 sc1$",
            r"global_store.* sc0 sc1$",
        ],
    ),
    (
        "gfx1030",
        [
            r"global_store",
            r"global_load.* glc dlc",
            r"global_load.* glc dlc",
            r"global_store",
        ],
    ),
    (
        "gfx1100",
        [
            r"global_store",
            r"global_load.* glc",
            r"global_load.* glc dlc",
            r"global_store.* dlc",
        ],
    ),
    (
        "gfx1201",
        [
            r"global_store",
            r"global_load.*SCOPE_DEV",
            r"global_load.*SCOPE_SYS",
            r"global_store.*SCOPE_SYS",
        ],
    ),
    (
        "sm_60",
        [
            r"st\.volatile\.global",
            r"ld\.volatile\.global",
            r"ld\.volatile\.global",
            r"st\.volatile\.global",
        ],
    ),
    (
        "sm_75",
        [
            r"st\.relaxed\.gpu\.global",
            r"ld\.relaxed\.gpu\.global",
            r"ld\.volatile\.global",
            r"st\.volatile\.global",
        ],
    ),
    (
        "sm_90",
        [
            r"st\.relaxed\.gpu\.global",
            r"ld\.relaxed\.gpu\.global",
            r"ld\.volatile\.global",
            r"st\.volatile\.global",
        ],
    ),
];

/// Targets that have image instructions, of both vendors.
const IMAGES: [&str; 5] = ["gfx1030", "gfx1100", "gfx1201", "sm_75", "sm_90"];

/// Declarations of a buffer, with `QUALIFIER` at the place of the decoration.
const BUFFERS: &[(&str, &str)] = &[
    ("variable", "OpDecorate %b QUALIFIER"),
    ("member", "OpMemberDecorate %block 0 QUALIFIER"),
    (
        "nested_member",
        "OpMemberDecorate %inner 0 QUALIFIER
         OpMemberDecorate %inner 1 QUALIFIER
         OpMemberDecorate %inner 2 QUALIFIER",
    ),
    (
        "group",
        "OpDecorate %both QUALIFIER
         %both = OpDecorationGroup
         OpGroupDecorate %both %b",
    ),
    ("parameter", "OpDecorate %pointer QUALIFIER"),
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (place, decorations) in BUFFERS {
        for qualifier in ["Coherent", "Volatile"] {
            let module = || buffers(BUFFER, &decorations.replace("QUALIFIER", qualifier));
            for row in TARGETS {
                let name = |what: &str| format!("qualifiers/{what}/{place}/{qualifier}/{}", row.0);
                let text = module();
                let whole = *place != "parameter";
                trials.push(trial(name("code"), move || {
                    code(&text, row, qualifier, whole)
                }));
                if whole {
                    let text = module();
                    trials.push(trial(name("sim"), move || ends(&text, row.0, false)));
                }
            }
        }
    }
    for qualifier in ["Coherent", "Volatile"] {
        let decorations = BUFFERS[2].1.replace("QUALIFIER", qualifier);
        for row in TARGETS {
            let text = buffers(REFERENCE, &decorations);
            let name = format!("qualifiers/code/reference/{qualifier}/{}", row.0);
            trials.push(trial(name, move || code(&text, row, qualifier, true)));
        }
        for target in IMAGES {
            let text = IMAGE.replace("QUALIFIER", qualifier);
            let name = format!("qualifiers/sim/image/{qualifier}/{target}");
            trials.push(trial(name, move || ends(&text, target, true)));
        }
    }
    trials.push(trial(
        "qualifiers/volatile_texels".to_owned(),
        volatile_texels,
    ));
    trials.push(trial("qualifiers/copies".to_owned(), copies));
    trials.push(trial("qualifiers/workgroup".to_owned(), workgroup));
    trials
}

fn buffers(text: &str, decorations: &str) -> String {
    text.replace("DECORATIONS", decorations)
}

/// The loop has its load, and all four stores are there where all is volatile: two of them go to
/// one place.
fn code(text: &str, row: &Row, qualifier: &str, whole: bool) -> Result<()> {
    let (target, [coherent_store, coherent_load, volatile_load, volatile_store]) = row;
    let (label, branch) = if is_nvptx(target) {
        (r"^\$L__BB\d+_\d+:", r"\bbra\b")
    } else {
        (r"^\.LBB\d+_\d+:", r"\bs_cbranch_")
    };
    let (load, stores) = match qualifier {
        "Volatile" if whole => (volatile_load, vec![*volatile_store; 4]),
        "Volatile" => (volatile_load, vec!["."]),
        _ if whole => (coherent_load, vec![*coherent_store; 2]),
        _ => (coherent_load, vec!["."]),
    };
    let looped = Check::parse(&[label, load, branch]).map_err(anyhow::Error::msg)?;
    let stored = Check::parse(&stores).map_err(anyhow::Error::msg)?;
    for optimization in [Optimization::O0, Optimization::O2] {
        let output = compile_bytes(&assembled(text)?, target, |options| {
            options.optimization = optimization;
        })?;
        let assembly = output
            .assembly()
            .map_err(|problems| anyhow::anyhow!("{problems}"))?;
        looped
            .run(&assembly)
            .and_then(|()| stored.run(&assembly))
            .map_err(|why| anyhow::anyhow!("{optimization:?}: {why}"))?;
    }
    Ok(())
}

/// The launch ends, and the data has come over. The accesses are no atomics, whose order the
/// machine would know: it may tell of the race.
fn ends(text: &str, target: &str, is_image: bool) -> Result<()> {
    linkable(target)?;
    let output = compile_bytes(&assembled(text)?, target, |_| {})?;
    let mut inputs = Inputs::new([2, 1, 1], vec![(BufferName::Binding(0, 0), vec![0; 12])]);
    inputs.limits.steps = 100_000;
    let mut job = Job::compiled(&output, 0)?;
    if is_image {
        let texels = Texels {
            format: Format::by_name("r32ui").context("no such format")?,
            extent: [3, 1, 1],
            is_buffer: false,
            levels: Default::default(),
        };
        job = job.with_image(BufferName::Binding(0, 0), texels);
    }
    for index in 0..8 {
        let schedule = Schedule::nth(index, 1);
        let outcome = job.run(&inputs, schedule)?;
        let others = outcome.report.findings.iter();
        let mut others = others.filter(|finding| match finding.kind {
            FindingKind::GlobalRace => false,
            // What races with a store has not learnt of it.
            FindingKind::StaleRead => !is_image,
            _ => true,
        });
        if let Some(finding) = others.next() {
            bail!("{schedule}:\n{finding}");
        }
        let words: Vec<u8> = [1u32, 42, 42]
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        ensure!(
            outcome.buffers[0] == words,
            "{schedule}: {:?}",
            outcome.buffers[0]
        );
    }
    Ok(())
}

/// Two reads of one texel stay two, and a read whose result is not used stays, with the operand and
/// with the decoration. Without either, one of the three remains.
fn volatile_texels() -> Result<()> {
    let text = |decoration: &str, operand: &str| {
        TEXELS
            .replace("DECORATION", decoration)
            .replace("OPERAND", operand)
    };
    for target in IMAGES {
        let read = if is_nvptx(target) {
            "suld.b"
        } else {
            "image_load"
        };
        for (decoration, operand, want) in [
            ("NonWritable", "", 1),
            ("Volatile", "", 3),
            ("NonWritable", "VolatileTexel", 3),
        ] {
            let output = compile_bytes(&assembled(&text(decoration, operand))?, target, |_| {})?;
            let assembly = output
                .assembly()
                .map_err(|problems| anyhow::anyhow!("{problems}"))?;
            let reads = assembly.lines().filter(|line| line.contains(read)).count();
            ensure!(
                reads == want,
                "{target}, {decoration} {operand}: {reads} reads\n{assembly}"
            );
        }
    }
    Ok(())
}

/// OpCopyMemory of qualified memory is made of accesses as others.
fn copies() -> Result<()> {
    for row in TARGETS {
        let (target, [coherent_store, coherent_load, volatile_load, volatile_store]) = row;
        for (qualifier, load, store) in [
            ("Coherent", coherent_load, coherent_store),
            ("Volatile", volatile_load, volatile_store),
        ] {
            let text = COPIES.replace("QUALIFIER", qualifier);
            let output = compile_bytes(&assembled(&text)?, target, |_| {})?;
            let assembly = output
                .assembly()
                .map_err(|problems| anyhow::anyhow!("{problems}"))?;
            let check = Check::parse(&[*load, *store]).map_err(anyhow::Error::msg)?;
            check
                .run(&assembly)
                .map_err(|why| anyhow::anyhow!("{target}, {qualifier}: {why}"))?;
        }
    }
    Ok(())
}

/// A flag in workgroup memory between two waves.
fn workgroup() -> Result<()> {
    for (target, _) in TARGETS {
        for qualifier in ["Coherent", "Volatile"] {
            let text = WORKGROUP.replace("QUALIFIER", qualifier);
            let output = compile_bytes(&assembled(&text)?, target, |_| {})?;
            let assembly = output
                .assembly()
                .map_err(|problems| anyhow::anyhow!("{problems}"))?;
            let (label, load, branch) = if is_nvptx(target) {
                (
                    r"^\$L__BB\d+_\d+:",
                    r"ld\.(volatile|relaxed\.cta)\.shared",
                    r"\bbra\b",
                )
            } else {
                (r"^\.LBB\d+_\d+:", r"\bds_(read|load)_b32", r"\bs_cbranch_")
            };
            let check = Check::parse(&[label, load, branch]).map_err(anyhow::Error::msg)?;
            check
                .run(&assembly)
                .map_err(|why| anyhow::anyhow!("{target}, {qualifier}: {why}"))?;
        }
    }
    Ok(())
}

/// A block with a structure in it: the flag, the data, and the value that the other workgroup
/// reads. A function with a pointer parameter reads the flag.
const BUFFER: &str = "\
OpCapability Shader
OpExtension \"SPV_KHR_storage_buffer_storage_class\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %group_id
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %group_id BuiltIn WorkgroupId
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpMemberDecorate %inner 0 Offset 0
OpMemberDecorate %inner 1 Offset 4
OpMemberDecorate %inner 2 Offset 8
OpDecorate %b DescriptorSet 0
OpDecorate %b Binding 0
DECORATIONS
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%uint3 = OpTypeVector %uint 3
%to_uint3 = OpTypePointer Input %uint3
%group_id = OpVariable %to_uint3 Input
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u2 = OpConstant %uint 2
%u42 = OpConstant %uint 42
%semantics = OpConstant %uint 72
%inner = OpTypeStruct %uint %uint %uint
%block = OpTypeStruct %inner
%to_block = OpTypePointer StorageBuffer %block
%to_uint = OpTypePointer StorageBuffer %uint
%read_type = OpTypeFunction %uint %to_uint
%b = OpVariable %to_block StorageBuffer
%read = OpFunction %uint None %read_type
%pointer = OpFunctionParameter %to_uint
%read_start = OpLabel
%value = OpLoad %uint %pointer
OpReturnValue %value
OpFunctionEnd
%main = OpFunction %void None %fn
%start = OpLabel
%flag = OpAccessChain %to_uint %b %u0 %u0
%data = OpAccessChain %to_uint %b %u0 %u1
%seen = OpAccessChain %to_uint %b %u0 %u2
%id = OpLoad %uint3 %group_id
%x = OpCompositeExtract %uint %id 0
%first = OpIEqual %bool %x %u0
OpSelectionMerge %end None
OpBranchConditional %first %send %wait
%send = OpLabel
OpStore %data %u2
OpStore %data %u42
OpMemoryBarrier %u1 %semantics
OpStore %flag %u1
OpBranch %end
%wait = OpLabel
OpLoopMerge %got %again None
OpBranch %look
%look = OpLabel
%now = OpFunctionCall %uint %read %flag
%down = OpIEqual %bool %now %u0
OpBranchConditional %down %again %got
%again = OpLabel
OpBranch %wait
%got = OpLabel
OpMemoryBarrier %u1 %semantics
%copy = OpLoad %uint %data
OpStore %seen %copy
OpBranch %end
%end = OpLabel
OpReturn
OpFunctionEnd
";

/// The same through a pointer in a push constant, whose origin is unknown.
const REFERENCE: &str = "\
OpCapability Shader
OpCapability PhysicalStorageBufferAddresses
OpExtension \"SPV_KHR_physical_storage_buffer\"
OpMemoryModel PhysicalStorageBuffer64 GLSL450
OpEntryPoint GLCompute %main \"main\" %group_id %push %private
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %group_id BuiltIn WorkgroupId
OpDecorate %push_block Block
OpMemberDecorate %push_block 0 Offset 0
OpDecorate %inner Block
OpMemberDecorate %inner 0 Offset 0
OpMemberDecorate %inner 1 Offset 4
OpMemberDecorate %inner 2 Offset 8
OpDecorate %cell AliasedPointer
DECORATIONS
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%uint3 = OpTypeVector %uint 3
%to_uint3 = OpTypePointer Input %uint3
%group_id = OpVariable %to_uint3 Input
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u2 = OpConstant %uint 2
%u42 = OpConstant %uint 42
%semantics = OpConstant %uint 72
%inner = OpTypeStruct %uint %uint %uint
%reference = OpTypePointer PhysicalStorageBuffer %inner
%to_uint = OpTypePointer PhysicalStorageBuffer %uint
%push_block = OpTypeStruct %reference
%to_push = OpTypePointer PushConstant %push_block
%to_reference = OpTypePointer PushConstant %reference
%cell_type = OpTypePointer Function %reference
%private_type = OpTypePointer Private %uint
%private = OpVariable %private_type Private
%push = OpVariable %to_push PushConstant
%main = OpFunction %void None %fn
%start = OpLabel
%cell = OpVariable %cell_type Function
%pushed = OpAccessChain %to_reference %push %u0
%b = OpLoad %reference %pushed
OpStore %cell %b
%kept = OpLoad %reference %cell
%flag = OpAccessChain %to_uint %kept %u0
%data = OpAccessChain %to_uint %b %u1
%seen = OpAccessChain %to_uint %b %u2
%id = OpLoad %uint3 %group_id
%x = OpCompositeExtract %uint %id 0
%first = OpIEqual %bool %x %u0
OpSelectionMerge %end None
OpBranchConditional %first %send %wait
%send = OpLabel
OpStore %data %u2 Aligned 4
OpStore %data %u42 Aligned 4
OpMemoryBarrier %u1 %semantics
OpStore %flag %u1 Aligned 4
OpBranch %end
%wait = OpLabel
OpLoopMerge %got %again None
OpBranch %look
%look = OpLabel
%now = OpLoad %uint %flag Aligned 4
%down = OpIEqual %bool %now %u0
OpBranchConditional %down %again %got
%again = OpLabel
OpBranch %wait
%got = OpLabel
OpMemoryBarrier %u1 %semantics
%copy = OpLoad %uint %data Aligned 4
OpStore %seen %copy Aligned 4
OpBranch %end
%end = OpLabel
OpReturn
OpFunctionEnd
";

/// The same in the texels of an image. The coordinates have a component that is 0, which the
/// compiler does not know.
const IMAGE: &str = "\
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %group_id
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %group_id BuiltIn WorkgroupId
OpDecorate %b DescriptorSet 0
OpDecorate %b Binding 0
OpDecorate %b QUALIFIER
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%uint2 = OpTypeVector %uint 2
%uint3 = OpTypeVector %uint 3
%uint4 = OpTypeVector %uint 4
%to_uint3 = OpTypePointer Input %uint3
%group_id = OpVariable %to_uint3 Input
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u2 = OpConstant %uint 2
%u42 = OpConstant %uint 42
%semantics = OpConstant %uint 2056
%one = OpConstantComposite %uint4 %u1 %u0 %u0 %u0
%many = OpConstantComposite %uint4 %u42 %u0 %u0 %u0
%image = OpTypeImage %uint Dim2D 0 0 0 2 R32ui
%to_image = OpTypePointer UniformConstant %image
%b = OpVariable %to_image UniformConstant
%main = OpFunction %void None %fn
%start = OpLabel
%whole = OpLoad %image %b
%id = OpLoad %uint3 %group_id
%x = OpCompositeExtract %uint %id 0
%y = OpCompositeExtract %uint %id 1
%y1 = OpIAdd %uint %y %u1
%y2 = OpIAdd %uint %y %u2
%at_flag = OpCompositeConstruct %uint2 %y %u0
%at_data = OpCompositeConstruct %uint2 %y1 %u0
%at_seen = OpCompositeConstruct %uint2 %y2 %u0
%first = OpIEqual %bool %x %u0
OpSelectionMerge %end None
OpBranchConditional %first %send %wait
%send = OpLabel
OpImageWrite %whole %at_data %many
OpMemoryBarrier %u1 %semantics
OpImageWrite %whole %at_flag %one
OpBranch %end
%wait = OpLabel
OpLoopMerge %got %again None
OpBranch %look
%look = OpLabel
%texel = OpImageRead %uint4 %whole %at_flag
%now = OpCompositeExtract %uint %texel 0
%down = OpIEqual %bool %now %u0
OpBranchConditional %down %again %got
%again = OpLabel
OpBranch %wait
%got = OpLabel
OpMemoryBarrier %u1 %semantics
%copy = OpImageRead %uint4 %whole %at_data
OpImageWrite %whole %at_seen %copy
OpBranch %end
%end = OpLabel
OpReturn
OpFunctionEnd
";

/// Three reads of one texel; the sum of two is stored.
const TEXELS: &str = "\
OpCapability Shader
OpExtension \"SPV_KHR_storage_buffer_storage_class\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\"
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %b DescriptorSet 0
OpDecorate %b Binding 0
OpDecorate %b DECORATION
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 1
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%uint2 = OpTypeVector %uint 2
%uint4 = OpTypeVector %uint 4
%u0 = OpConstant %uint 0
%at = OpConstantComposite %uint2 %u0 %u0
%image = OpTypeImage %uint Dim2D 0 0 0 2 R32ui
%to_image = OpTypePointer UniformConstant %image
%b = OpVariable %to_image UniformConstant
%block = OpTypeStruct %uint
%to_block = OpTypePointer StorageBuffer %block
%to_uint = OpTypePointer StorageBuffer %uint
%out = OpVariable %to_block StorageBuffer
%main = OpFunction %void None %fn
%start = OpLabel
%whole = OpLoad %image %b
%one = OpImageRead %uint4 %whole %at OPERAND
%two = OpImageRead %uint4 %whole %at OPERAND
%three = OpImageRead %uint4 %whole %at OPERAND
%x = OpCompositeExtract %uint %one 0
%y = OpCompositeExtract %uint %two 0
%sum = OpIAdd %uint %x %y
%place = OpAccessChain %to_uint %out %u0
OpStore %place %sum
OpReturn
OpFunctionEnd
";

/// Copies from one half of a block to the other.
const COPIES: &str = "\
OpCapability Shader
OpExtension \"SPV_KHR_storage_buffer_storage_class\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\"
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %b DescriptorSet 0
OpDecorate %b Binding 0
OpDecorate %b QUALIFIER
OpDecorate %block Block
OpDecorate %array ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpMemberDecorate %block 1 Offset 128
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u32 = OpConstant %uint 32
%array = OpTypeArray %uint %u32
%block = OpTypeStruct %array %array
%to_block = OpTypePointer StorageBuffer %block
%to_array = OpTypePointer StorageBuffer %array
%b = OpVariable %to_block StorageBuffer
%main = OpFunction %void None %fn
%start = OpLabel
%from = OpAccessChain %to_array %b %u0
%to = OpAccessChain %to_array %b %u1
OpCopyMemory %to %from
OpReturn
OpFunctionEnd
";

/// The flag is in workgroup memory, and the waves of one workgroup use it.
const WORKGROUP: &str = "\
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %index
OpExecutionMode %main LocalSize 128 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %flag QUALIFIER
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%to_input = OpTypePointer Input %uint
%index = OpVariable %to_input Input
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%to_uint = OpTypePointer Workgroup %uint
%flag = OpVariable %to_uint Workgroup
%main = OpFunction %void None %fn
%start = OpLabel
%x = OpLoad %uint %index
%first = OpIEqual %bool %x %u0
OpSelectionMerge %end None
OpBranchConditional %first %send %wait
%send = OpLabel
OpStore %flag %u1
OpBranch %end
%wait = OpLabel
OpLoopMerge %got %again None
OpBranch %look
%look = OpLabel
%now = OpLoad %uint %flag
%down = OpINotEqual %bool %now %u1
OpBranchConditional %down %again %got
%again = OpLabel
OpBranch %wait
%got = OpLabel
OpBranch %end
%end = OpLabel
OpReturn
OpFunctionEnd
";
