//! The table of enumerants agrees with `compile`: unsupported ones have their codes, and supported
//! ones are in the code (docs/enumerants.md).

use crate::support::{assembled, compile_bytes, target, trial};
use anyhow::{Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar::{Optimization, Options};

/// A line for the capabilities, one for the decorations, one for the load, and the code of the
/// refusal.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    ("", "OpDecorate %b BindlessImageNV", "", "SB0370"),
    ("", "OpDecorate %b AlignmentId %u1", "", "SB0370"),
    (
        "",
        "OpMemberDecorate %block 0 MemberOffsetNV 4",
        "",
        "SB0370",
    ),
    ("", "OpDecorate %b !60000", "", "SB0370"),
    ("", "OpDecorate %value FPRoundingMode RTZ", "", "SB0370"),
    ("", "", "!0x100", "SB0371"),
    ("OpCapability SpecConditionalINTEL", "", "", "SB0303"),
    ("OpCapability !60000", "", "", "SB0303"),
];

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("enumerants/refused".to_owned(), refused),
        trial("enumerants/alignment".to_owned(), alignment),
        trial("enumerants/by_value".to_owned(), by_value),
    ]
}

fn refused() -> Result<()> {
    let text = |capability: &str, decoration: &str, access: &str| {
        LOAD.replace("CAPABILITY", capability)
            .replace("DECORATION", decoration)
            .replace("ACCESS", access)
    };
    for gpu in ["gfx1201", "sm_90"] {
        compile_bytes(&assembled(&text("", "", ""))?, gpu, |_| {})?;
        for (capability, decoration, access, code) in REFUSED {
            let module = assembled(&text(capability, decoration, access))?;
            match splitbar::Compiler::new(&Options::new(target(gpu)?)).compile(&module) {
                Ok(_) => bail!("{gpu} takes {capability}{decoration}{access}"),
                Err(failure) => {
                    let codes: Vec<_> = failure.diagnostics.iter().collect();
                    ensure!(
                        codes.iter().all(|one| one.code.to_string() == *code),
                        "{decoration}: {failure}"
                    );
                }
            }
        }
    }
    Ok(())
}

/// Variables of every class have the alignment of the decoration Alignment.
fn alignment() -> Result<()> {
    for gpu in ["gfx1201", "sm_90"] {
        let output = compile_bytes(&assembled(ALIGNED)?, gpu, |options| {
            options.optimization = Optimization::O0;
        })?;
        let ir = output.ir();
        // AMD's private variables of this size are registers by now.
        let private: &[&str] = match gpu {
            "sm_90" => &["alloca [4 x i32], align 256", "alloca [4 x i32], align 128"],
            _ => &[],
        };
        for variable in private {
            let space = variable.split(',').collect::<Vec<_>>();
            let found = ir
                .lines()
                .any(|line| space.iter().all(|part| line.contains(part)));
            ensure!(found, "{gpu}: no {variable}\n{ir}");
        }
        let shared = ir
            .lines()
            .any(|line| line.contains("addrspace(3) global") && line.contains("align 64"));
        ensure!(shared, "{gpu}: {ir}");
    }
    Ok(())
}

/// A callee that changes a parameter passed by value changes a copy.
fn by_value() -> Result<()> {
    let output = compile_bytes(&assembled(BY_VALUE)?, "sm_80", |_| {})?;
    let inputs = Inputs::new([1, 1, 1], vec![(BufferName::Argument(0), vec![0; 4])]);
    let outcome = Job::compiled(&output, 0)?.run(&inputs, Schedule::nth(0, 1))?;
    ensure!(
        outcome.buffers[0] == [7, 0, 0, 0],
        "{:?}",
        outcome.buffers[0]
    );
    Ok(())
}

const LOAD: &str = "\
OpCapability Shader
CAPABILITY
OpExtension \"SPV_KHR_storage_buffer_storage_class\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\"
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %b DescriptorSet 0
OpDecorate %b Binding 0
DECORATION
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%block = OpTypeStruct %uint
%to_block = OpTypePointer StorageBuffer %block
%to_uint = OpTypePointer StorageBuffer %uint
%b = OpVariable %to_block StorageBuffer
%main = OpFunction %void None %fn
%start = OpLabel
%at = OpAccessChain %to_uint %b %u0
%value = OpLoad %uint %at ACCESS
OpStore %at %value
OpReturn
OpFunctionEnd
";

const ALIGNED: &str = "\
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\"
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %own Alignment 256
OpDecorate %private Alignment 128
OpDecorate %shared Alignment 64
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%uint4 = OpTypeVector %uint 4
%to_own = OpTypePointer Function %uint4
%to_private = OpTypePointer Private %uint4
%to_shared = OpTypePointer Workgroup %uint4
%private = OpVariable %to_private Private
%shared = OpVariable %to_shared Workgroup
%main = OpFunction %void None %fn
%start = OpLabel
%own = OpVariable %to_own Function
%value = OpLoad %uint4 %private
OpStore %own %value
OpStore %shared %value
OpReturn
OpFunctionEnd
";

const BY_VALUE: &str = "\
OpCapability Kernel
OpCapability Addresses
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\"
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %given FuncParamAttr ByVal
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%u7 = OpConstant %uint 7
%u9 = OpConstant %uint 9
%to_own = OpTypePointer Function %uint
%to_out = OpTypePointer CrossWorkgroup %uint
%change_type = OpTypeFunction %void %to_own
%kernel_type = OpTypeFunction %void %to_out
%change = OpFunction %void DontInline %change_type
%given = OpFunctionParameter %to_own
%change_start = OpLabel
OpStore %given %u9 Aligned 4
OpReturn
OpFunctionEnd
%main = OpFunction %void None %kernel_type
%out = OpFunctionParameter %to_out
%start = OpLabel
%own = OpVariable %to_own Function
OpStore %own %u7 Aligned 4
%nothing = OpFunctionCall %void %change %own
%value = OpLoad %uint %own Aligned 4
OpStore %out %value Aligned 4
OpReturn
OpFunctionEnd
";
