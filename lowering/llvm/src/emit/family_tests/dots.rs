//! Dot products of bytes stay one instruction, with what is added to them, where the GPU has it.

use super::*;
use splitbar_passes::module::assemble;
use splitbar_plan::Target;
use splitbar_plan::target::{Arch, ByteDots};

/// Stores `op` of two words, packed, plus a third word.
fn module(op: &str) -> Module<'static> {
    let text = format!(
        "OpCapability Kernel
        OpCapability Addresses
        OpCapability DotProduct
        OpCapability DotProductInput4x8BitPacked
        OpExtension \"SPV_KHR_integer_dot_product\"
        OpMemoryModel Physical64 OpenCL
        OpEntryPoint Kernel %main \"main\"
        %void = OpTypeVoid
        %uint = OpTypeInt 32 0
        %pointer = OpTypePointer CrossWorkgroup %uint
        %function = OpTypeFunction %void %pointer %pointer %pointer
        %main = OpFunction %void None %function
        %to = OpFunctionParameter %pointer
        %from = OpFunctionParameter %pointer
        %more = OpFunctionParameter %pointer
        %entry = OpLabel
        %a = OpLoad %uint %to Volatile|Aligned 4
        %b = OpLoad %uint %from Volatile|Aligned 4
        %c = OpLoad %uint %more Volatile|Aligned 4
        %dot = {op} %uint %a %b PackedVectorFormat4x8Bit
        %sum = OpIAdd %uint %dot %c
        OpStore %to %sum Aligned 4
        OpReturn
        OpFunctionEnd"
    );
    Module::from_words(assemble(&text).unwrap().words).unwrap()
}

#[test]
fn dot_products_of_bytes_are_one_instruction() {
    let mut with = 0;
    for target in Target::all() {
        let Arch::Amdgpu(gpu) = &target.arch else {
            continue;
        };
        let plain = |dots: ByteDots, op: &str| match (dots, op) {
            (ByteDots::None, _) | (ByteDots::SameSigns, "OpSUDot") => false,
            (ByteDots::SameSigns | ByteDots::AnySigns, _) => true,
        };
        for op in ["OpSDot", "OpUDot", "OpSUDot"] {
            let module = module(op);
            let lowered = lowered_at(&module, target.name, false, Optimization::O2).unwrap();
            let assembly = lowered.assembly().unwrap();
            let dots = assembly.matches("\tv_dot4").count();
            let expected = usize::from(plain(gpu.byte_dots, op));
            assert_eq!(dots, expected, "{} {op}: {assembly}", target.name);
            if expected == 1 {
                let sums = [
                    "v_add_u32",
                    "v_add_nc_u32",
                    "v_add_co_u32",
                    "v_mul",
                    "v_mad",
                ];
                let more = sums.iter().find(|sum| assembly.contains(**sum));
                assert_eq!(more, None, "{} {op}: {assembly}", target.name);
                with += 1;
            }
        }
    }
    assert!(with > 60, "{with} have it");
}
