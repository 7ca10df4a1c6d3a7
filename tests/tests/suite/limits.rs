//! Types that decorations and lengths make gigabytes: a limit with its place, never LLVM's refusal
//! or sizes that wrap; and types that this build does not know.

use crate::support::{assembled, run, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = ROWS
        .iter()
        .flat_map(|row| TARGETS.iter().map(move |target| (row, *target)))
        .map(|(row, target)| {
            trial(format!("limits/{}/{target}", row.name), move || {
                limited(row, target)
            })
        })
        .collect();
    for (name, sum) in SUMS {
        for target in TARGETS {
            trials.push(trial(format!("limits/sums/{name}/{target}"), move || {
                summed(sum, target)
            }));
        }
    }
    trials.push(trial(
        "limits/unknown_types_are_unsupported".to_owned(),
        unknown_types_are_unsupported,
    ));
    trials.push(trial(
        "limits/workgroup_memory_has_one_size".to_owned(),
        workgroup_memory_has_one_size,
    ));
    trials
}

const TARGETS: [&str; 2] = ["gfx1201", "sm_80"];

/// A variable `%v` of a class, whose type is `%t`, of which one word is read.
struct Row {
    name: &'static str,
    class: &'static str,
    types: &'static str,
    decorations: &'static str,
    /// The indexes of the word that is read.
    indexes: &'static str,
    /// The code that refuses it; none when it is compiled.
    code: Option<&'static str>,
}

const BLOCK: &str = "OpDecorate %t Block\nOpMemberDecorate %t 0 Offset 0\n";
const TWO_WORDS: &str = "%t = OpTypeStruct %uint %uint";
const NEST: &str = "%a = OpTypeArray %uint %big\n%b = OpTypeArray %a %big\n%c = OpTypeArray %b %big\n%t = OpTypeStruct %c";
const FLAT: &str = "%a = OpTypeArray %uint %big\n%t = OpTypeStruct %a";
const FIVE: &str = "%a = OpTypeArray %uint %five\n%t = OpTypeStruct %a";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { name: "push_constants/stride", class: "PushConstant", types: FIVE, decorations: "OpDecorate %a ArrayStride 0x7ffffff0", indexes: "%zero %one", code: Some("SB0380") },
    Row { name: "push_constants/last_offset", class: "PushConstant", types: TWO_WORDS, decorations: "OpMemberDecorate %t 1 Offset 0xfffffffc", indexes: "%one", code: Some("SB0380") },
    Row { name: "push_constants/offset_above", class: "PushConstant", types: TWO_WORDS, decorations: "OpMemberDecorate %t 1 Offset 0x10000", indexes: "%one", code: Some("SB0380") },
    Row { name: "push_constants/offset_within", class: "PushConstant", types: TWO_WORDS, decorations: "OpMemberDecorate %t 1 Offset 0xfffc", indexes: "%one", code: None },
    Row { name: "push_constants/nested", class: "PushConstant", types: NEST, decorations: "", indexes: "%zero %one %one %one", code: Some("SB0380") },
    Row { name: "private/flat", class: "Private", types: FLAT, decorations: "", indexes: "%zero %one", code: Some("SB0381") },
    Row { name: "private/nested", class: "Private", types: NEST, decorations: "", indexes: "%zero %one %one %one", code: Some("SB0381") },
    Row { name: "private/stride", class: "Private", types: FIVE, decorations: "OpDecorate %a ArrayStride 0xfffffff0", indexes: "%zero %one", code: Some("SB0381") },
    Row { name: "function/flat", class: "Function", types: FLAT, decorations: "", indexes: "%zero %one", code: Some("SB0381") },
    Row { name: "function/nested", class: "Function", types: NEST, decorations: "", indexes: "%zero %one %one %one", code: Some("SB0381") },
    Row { name: "workgroup/flat", class: "Workgroup", types: FLAT, decorations: "", indexes: "%zero %one", code: Some("SB0400") },
    Row { name: "workgroup/nested", class: "Workgroup", types: NEST, decorations: "", indexes: "%zero %one %one %one", code: Some("SB0400") },
    // A buffer's size is the application's.
    Row { name: "buffer/nested", class: "StorageBuffer", types: NEST, decorations: "OpDecorate %v DescriptorSet 0\nOpDecorate %v Binding 1\nOpDecorate %a ArrayStride 0xfffffff0\nOpDecorate %b ArrayStride 0xfffffff0", indexes: "%zero %one %one %one", code: None },
];

fn module(row: &Row) -> Result<Vec<u8>> {
    let block = matches!(row.class, "PushConstant" | "StorageBuffer");
    let variable = format!("%v = OpVariable %pv {}", row.class);
    let is_local = row.class == "Function";
    let [interface, global, local] = if is_local {
        ["", "", &variable]
    } else {
        [" %v", &variable, ""]
    };
    assembled(&format!(
        "; Version: 1.6
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %out{interface}
OpExecutionMode %main LocalSize 64 1 1
OpDecorate %outs Block
OpMemberDecorate %outs 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
{}{}
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%five = OpConstant %uint 5
%big = OpConstant %uint 0x7fffffff
%outs = OpTypeStruct %uint
%pouts = OpTypePointer StorageBuffer %outs
%pout = OpTypePointer StorageBuffer %uint
%out = OpVariable %pouts StorageBuffer
{}
%pv = OpTypePointer {class} %t
%pu = OpTypePointer {class} %uint
{global}
%main = OpFunction %void None %fn
%entry = OpLabel
{local}
%q = OpAccessChain %pu %v {}
%x = OpLoad %uint %q
%o = OpAccessChain %pout %out %zero
OpStore %o %x
OpReturn
OpFunctionEnd",
        if block { BLOCK } else { "" },
        row.decorations,
        row.types,
        row.indexes,
        class = row.class,
    ))
}

fn limited(row: &Row, target: &str) -> Result<()> {
    refused(&module(row)?, target, row.code, "OpVariable")
}

/// Checks that the module is rejected with only `code`, at an instruction of this name; or that it
/// is compiled.
fn refused(module: &[u8], target: &str, code: Option<&str>, instruction: &str) -> Result<()> {
    let lower = ["lower", "-", "--target", target, "--format", "json"];
    let ran = run(&lower, module, true)?;
    let Some(code) = code else {
        ensure!(ran.code == Some(0), "{:?}: {}", ran.code, ran.stderr);
        return Ok(());
    };
    let said: Vec<serde_json::Value> = ran
        .stderr
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .context("the problems")?;
    let errors: Vec<_> = said.iter().filter(|d| d["severity"] == "error").collect();
    ensure!(ran.code == Some(3), "{:?}: {}", ran.code, ran.stderr);
    ensure!(
        errors.len() == 1 && errors[0]["code"] == code,
        "{}",
        ran.stderr
    );
    ensure!(
        errors[0].to_string().contains(instruction) || code == "SB0400",
        "no place: {}",
        ran.stderr
    );
    Ok(())
}

/// Objects that fit one by one, but not together: the name, the module for a number of bytes of
/// each, the largest number that fits, the code, and the instruction.
const SUMS: [(&str, Sum); 4] = [
    (
        "private",
        Sum {
            module: |bytes| two_variables(bytes, "Private"),
            most: 1 << 19,
            code: "SB0381",
            instruction: "OpVariable",
        },
    ),
    (
        "function",
        Sum {
            module: |bytes| two_variables(bytes, "Function"),
            most: 1 << 19,
            code: "SB0381",
            instruction: "OpVariable",
        },
    ),
    (
        "functions",
        Sum {
            module: two_functions,
            most: 1 << 19,
            code: "SB0381",
            instruction: "OpVariable",
        },
    ),
    (
        "arguments",
        Sum {
            module: two_arguments,
            most: 1 << 15,
            code: "SB0380",
            instruction: "OpFunctionParameter",
        },
    ),
];

#[derive(Copy, Clone)]
struct Sum {
    module: fn(u32) -> Result<Vec<u8>>,
    most: u32,
    code: &'static str,
    instruction: &'static str,
}

/// Two of a size: the most that fits, and a word more.
fn summed(sum: Sum, target: &str) -> Result<()> {
    refused(&(sum.module)(sum.most)?, target, None, "")?;
    let larger = (sum.module)(sum.most + 4)?;
    refused(&larger, target, Some(sum.code), sum.instruction)
}

/// The common part of the modules with sums: arrays `%a` of so many bytes, and a word of the buffer
/// at `%to`.
fn with_array(bytes: u32, class: &str, global: &str, functions: &str) -> Result<Vec<u8>> {
    assembled(&format!(
        "; Version: 1.3
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\"
OpExecutionMode %main LocalSize 64 1 1
OpDecorate %outs Block
OpMemberDecorate %outs 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%length = OpConstant %uint {}
%outs = OpTypeStruct %uint
%pouts = OpTypePointer StorageBuffer %outs
%pout = OpTypePointer StorageBuffer %uint
%out = OpVariable %pouts StorageBuffer
%a = OpTypeArray %uint %length
%pa = OpTypePointer {class} %a
%pu = OpTypePointer {class} %uint
{global}
{functions}",
        bytes / 4
    ))
}

/// Copies the buffer's word into a word of a variable, and that of the next one into the buffer.
fn touch(variable: &str, name: &str) -> String {
    format!(
        "%to{name} = OpAccessChain %pout %out %zero
%at{name} = OpLoad %uint %to{name}
%e{name} = OpAccessChain %pu {variable} %at{name}
OpStore %e{name} %at{name}
%f{name} = OpAccessChain %pu {variable} %zero
%v{name} = OpLoad %uint %f{name}
OpStore %to{name} %v{name}
"
    )
}

fn two_variables(bytes: u32, class: &str) -> Result<Vec<u8>> {
    let variables = format!("%x = OpVariable %pa {class}\n%y = OpVariable %pa {class}\n");
    let (global, local) = match class {
        "Function" => ("", variables.as_str()),
        _ => (variables.as_str(), ""),
    };
    let body = [touch("%x", "1"), touch("%y", "2")].concat();
    let main = format!(
        "%main = OpFunction %void None %fn\n%entry = OpLabel\n{local}{body}OpReturn\nOpFunctionEnd"
    );
    with_array(bytes, class, global, &main)
}

/// One variable in the entry point, and one in a function that it calls.
fn two_functions(bytes: u32) -> Result<Vec<u8>> {
    let function = |name: &str, call: &str| {
        format!(
            "%{name} = OpFunction %void None %fn\n%l{name} = OpLabel\n%x{name} = OpVariable %pa Function\n{}{call}OpReturn\nOpFunctionEnd\n",
            touch(&format!("%x{name}"), name)
        )
    };
    let main = function("main", "%r = OpFunctionCall %void %callee\n");
    with_array(
        bytes,
        "Function",
        "",
        &[main, function("callee", "")].concat(),
    )
}

/// An OpenCL kernel with two structures as parameters by value.
fn two_arguments(bytes: u32) -> Result<Vec<u8>> {
    assembled(&format!(
        "; Version: 1.2
OpCapability Kernel
OpCapability Addresses
OpCapability Linkage
OpCapability Int64
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\"
OpDecorate %x FuncParamAttr ByVal
OpDecorate %y FuncParamAttr ByVal
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%length = OpConstant %uint {}
%a = OpTypeArray %uint %length
%s = OpTypeStruct %a
%ps = OpTypePointer Function %s
%pu = OpTypePointer Function %uint
%fn = OpTypeFunction %void %ps %ps
%main = OpFunction %void None %fn
%x = OpFunctionParameter %ps
%y = OpFunctionParameter %ps
%entry = OpLabel
%e = OpInBoundsPtrAccessChain %pu %x %zero %zero %zero
%v = OpLoad %uint %e
%f = OpInBoundsPtrAccessChain %pu %y %zero %zero %zero
OpStore %f %v
OpReturn
OpFunctionEnd",
        bytes / 4
    ))
}

/// Every command reports it with exit code 3, although the constant of such a type has no value.
fn unknown_types_are_unsupported() -> Result<()> {
    let row = Row {
        name: "",
        class: "Private",
        types: "%f = OpTypeFloat 64\n%fc = OpConstant %f 1\n%t = OpTypeStruct %uint",
        decorations: "",
        indexes: "%zero",
        code: None,
    };
    let mut bytes = module(&row)?;
    let float = 3u32 << 16 | 22;
    let at = bytes
        .chunks_exact(4)
        .position(|word| word == float.to_le_bytes())
        .context("no OpTypeFloat")?;
    bytes[4 * (at + 2)] = 4; // of 64
    for command in [
        &["lower", "-", "--target", "gfx1201"][..],
        &["model", "-", "--target", "gfx1201"],
        &["sim", "-", "--target", "gfx1201", "--groups", "1,1,1"],
        &["check", "-"],
        &["check", "-", "--target", "gfx1201"],
    ] {
        let ran = run(command, &bytes, true)?;
        ensure!(
            ran.code == Some(3) && ran.stderr.contains("SB0302"),
            "{command:?}: {:?}\n{}",
            ran.code,
            ran.stderr
        );
    }
    Ok(())
}

/// 20,000 Booleans take as many bytes, for the check and for the lowering.
fn workgroup_memory_has_one_size() -> Result<()> {
    let bytes = assembled(
        "; Version: 1.6
OpCapability Shader
OpCapability SplitBarrierEXT
OpExtension \"SPV_EXT_split_barrier\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %flags
OpExecutionMode %main LocalSize 64 1 1
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%true = OpConstantTrue %bool
%c2 = OpConstant %uint 2
%release = OpConstant %uint 0x104
%acquire = OpConstant %uint 0x102
%length = OpConstant %uint 20000
%array = OpTypeArray %bool %length
%pa = OpTypePointer Workgroup %array
%pb = OpTypePointer Workgroup %bool
%flags = OpVariable %pa Workgroup
%main = OpFunction %void None %fn
%entry = OpLabel
%p = OpAccessChain %pb %flags %c2
OpStore %p %true
OpControlBarrierArriveEXT %c2 %c2 %release
%sum = OpIAdd %uint %c2 %c2
OpControlBarrierWaitEXT %c2 %c2 %acquire
OpReturn
OpFunctionEnd",
    )?;
    for (limit, code) in [("19999", 1), ("20000", 0)] {
        let limit = format!("maxComputeSharedMemorySize={limit}");
        let check = ["check", "-", "--target", "gfx1201", "--limit", &limit];
        let ran = run(&check, &bytes, true)?;
        ensure!(
            ran.code == Some(code),
            "{limit}: {:?}\n{}",
            ran.code,
            ran.stderr
        );
    }
    let lower = ["lower", "-", "--target", "gfx1201", "--emit", "reflect"];
    let ran = run(&lower, &bytes, true)?;
    let reflected: serde_json::Value = serde_json::from_slice(&ran.stdout)?;
    let size = &reflected[0]["shared_memory_bytes"];
    ensure!(*size == 20_000, "{size} bytes: {}", ran.stderr);
    Ok(())
}
