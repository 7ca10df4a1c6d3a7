//! Products of cooperative matrices as SPV_NV_cooperative_matrix has them, without uses, on the
//! simulator: A B + C, and the square of a matrix, which is on both sides of a product.

use crate::support::{assembled, compile_bytes, linkable, target, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};

const TARGETS: [&str; 6] = ["gfx906", "gfx942", "gfx1100", "gfx1201", "sm_75", "sm_90"];
/// Rows and columns.
const SIDE: usize = 16;

/// A kernel that multiplies the matrices in its buffers 0 and 1, adds buffer 2, and multiplies the
/// result by itself. `kept`: operands are loaded from variables, and are converted.
fn module(invocations: u32, integers: bool, kept: bool) -> String {
    let (element, sum, capability) = if integers {
        (
            "OpTypeInt 8 1",
            "OpTypeInt 32 1",
            "Int8\nOpCapability StorageBuffer8BitAccess",
        )
    } else {
        (
            "OpTypeFloat 16",
            "OpTypeFloat 32",
            "Float16\nOpCapability StorageBuffer16BitAccess",
        )
    };
    let bytes = if integers { 1 } else { 2 };
    let (operands, a, b) = if kept {
        (
            "OpStore %kept_a %a0\nOpStore %kept_b %b0\n%a = OpLoad %small %kept_a\n%b = OpLoad %small %kept_b",
            "%a",
            "%b",
        )
    } else {
        ("", "%a0", "%b0")
    };
    let narrowed = if integers {
        "%again = OpSConvert %small %product"
    } else {
        "%again = OpFConvert %small %product"
    };
    format!(
        "OpCapability Shader
OpCapability CooperativeMatrixNV
OpCapability VulkanMemoryModel
OpCapability {capability}
OpExtension \"SPV_NV_cooperative_matrix\"
OpMemoryModel Logical Vulkan
OpEntryPoint GLCompute %main \"main\" %in0 %in1 %in2 %out
OpExecutionMode %main LocalSize {invocations} 1 1
OpDecorate %small_array ArrayStride {bytes}
OpDecorate %sum_array ArrayStride 4
OpDecorate %small_block Block
OpDecorate %sum_block Block
OpMemberDecorate %small_block 0 Offset 0
OpMemberDecorate %sum_block 0 Offset 0
OpDecorate %in0 DescriptorSet 0
OpDecorate %in0 Binding 0
OpDecorate %in1 DescriptorSet 0
OpDecorate %in1 Binding 1
OpDecorate %in2 DescriptorSet 0
OpDecorate %in2 Binding 2
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 3
%void = OpTypeVoid
%function = OpTypeFunction %void
%bool = OpTypeBool
%true = OpConstantTrue %bool
%columns = OpSpecConstantTrue %bool
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%three = OpConstant %uint 3
%side = OpConstant %uint {SIDE}
%element = {element}
%number = {sum}
%small = OpTypeCooperativeMatrixNV %element %three %side %side
%large = OpTypeCooperativeMatrixNV %number %three %side %side
%length = OpSpecConstantOp %uint CooperativeMatrixLengthNV %large
%private = OpTypePointer Function %small
%small_array = OpTypeRuntimeArray %element
%sum_array = OpTypeRuntimeArray %number
%small_block = OpTypeStruct %small_array
%sum_block = OpTypeStruct %sum_array
%small_pointer = OpTypePointer StorageBuffer %small_block
%sum_pointer = OpTypePointer StorageBuffer %sum_block
%element_pointer = OpTypePointer StorageBuffer %element
%number_pointer = OpTypePointer StorageBuffer %number
%in0 = OpVariable %small_pointer StorageBuffer
%in1 = OpVariable %small_pointer StorageBuffer
%in2 = OpVariable %sum_pointer StorageBuffer
%out = OpVariable %sum_pointer StorageBuffer
%main = OpFunction %void None %function
%entry = OpLabel
%kept_a = OpVariable %private Function
%kept_b = OpVariable %private Function
%p0 = OpAccessChain %element_pointer %in0 %zero %zero
%p1 = OpAccessChain %element_pointer %in1 %zero %zero
%p2 = OpAccessChain %number_pointer %in2 %zero %zero
%p3 = OpAccessChain %number_pointer %out %zero %zero
%a0 = OpCooperativeMatrixLoadNV %small %p0 %side %columns
%b0 = OpCooperativeMatrixLoadNV %small %p1 %side %true
{operands}
%c = OpCooperativeMatrixLoadNV %large %p2 %side %true
%product = OpCooperativeMatrixMulAddNV %large {a} {b} %c
{narrowed}
%square = OpCooperativeMatrixMulAddNV %large %again %again %c
OpCooperativeMatrixStoreNV %p3 %square %side %true
OpReturn
OpFunctionEnd
"
    )
}

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for gpu in TARGETS {
        for (integers, kept) in [(false, false), (false, true), (true, false), (true, true)] {
            let kind = if integers { "i8" } else { "f16" };
            let from = if kept { "variables" } else { "loads" };
            trials.push(trial(
                format!("matrices_nv/{gpu}/{kind}.{from}"),
                move || runs(gpu, integers, kept),
            ));
        }
    }
    trials
}

/// Small whole numbers: all sums are exact.
fn number(seed: usize, at: usize) -> i32 {
    ((at * 7 + seed * 5 + at / 3) % 3) as i32 - 1
}

fn runs(gpu: &str, integers: bool, kept: bool) -> Result<()> {
    linkable(gpu)?;
    let text = module(target(gpu)?.default_wave_size(), integers, kept);
    let output = compile_bytes(&assembled(&text)?, gpu, |_| {})?;
    let all = 0..SIDE * SIDE;
    let small = |seed: usize| -> Vec<u8> {
        let bytes = all.clone().map(|at| number(seed, at));
        if integers {
            bytes.map(|n| n as i8 as u8).collect()
        } else {
            bytes
                .flat_map(|n| half::f16::from_f32(n as f32).to_le_bytes())
                .collect()
        }
    };
    let wide = |n: i32| {
        if integers {
            n.to_le_bytes()
        } else {
            (n as f32).to_le_bytes()
        }
    };
    let sums: Vec<u8> = all.clone().flat_map(|at| wide(number(2, at))).collect();
    let buffers = [small(0), small(1), sums.clone(), vec![0; sums.len()]];
    let inputs = Inputs::new(
        [1, 1, 1],
        (0..)
            .zip(buffers)
            .map(|(binding, bytes)| (BufferName::Binding(0, binding), bytes))
            .collect(),
    );
    // Everything is in columns, so element (row, column) is at row + column * SIDE.
    let product = |x: &dyn Fn(usize) -> i32, y: &dyn Fn(usize) -> i32| -> Vec<i32> {
        let one = |at: usize| {
            let (row, column) = (at % SIDE, at / SIDE);
            let terms = (0..SIDE).map(|k| x(row + k * SIDE) * y(k + column * SIDE));
            terms.sum::<i32>() + number(2, at)
        };
        all.clone().map(one).collect()
    };
    let first = product(&|at| number(0, at), &|at| number(1, at));
    let again = |at: usize| first[at];
    let expected: Vec<u8> = product(&again, &again).into_iter().flat_map(wide).collect();
    let outcome = Job::compiled(&output, 0)?.run(&inputs, Schedule::nth(0, 1))?;
    if let Some(finding) = outcome.report.findings.first() {
        anyhow::bail!("{finding}");
    }
    let found = outcome.buffers.get(3).context("no fourth buffer")?;
    for (at, (found, expected)) in found.chunks(4).zip(expected.chunks(4)).enumerate() {
        ensure!(
            found == expected,
            "element {at}: {found:02x?} instead of {expected:02x?}"
        );
    }
    Ok(())
}
