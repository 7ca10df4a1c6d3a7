//! Keeps the sign of a zero that is a product and becomes a half. LLVM 23.1 rounds `fptrunc (fmul a, b)` by `v_fma_mixlo_f16 a, b, 0` on AMDGPU, and -0 + 0 is 0
//! (mended later by llvm-project pull request 214544). What stands between the two in the end is a fence that costs no instruction.

use crate::codegen::llvm_failed;
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::Module;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{
    BasicValue, BasicValueEnum, FastMathFlags, InstructionOpcode, InstructionValue, Operand,
};
use splitbar_passes::diagnostic::Diagnostics;

/// Puts the fence behind every product that is rounded to 16 bits and whose zeros have a sign. To be called when the optimiser has run: it would look through it.
///
/// # Errors
/// `LlvmFailed` when LLVM lacks the intrinsic.
pub(crate) fn keep<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), Diagnostics> {
    let rounded: Vec<_> = module
        .get_functions()
        .flat_map(|function| function.get_basic_block_iter())
        .flat_map(|block| block.get_instructions())
        .filter_map(|instruction| Some((instruction, product(instruction)?)))
        .collect();
    let builder = context.create_builder();
    for (instruction, product) in rounded {
        let fence = Intrinsic::find("llvm.arithmetic.fence")
            .and_then(|fence| fence.get_declaration(module, &[product.get_type()]))
            .ok_or_else(|| llvm_failed("LLVM lacks llvm.arithmetic.fence", ""))?;
        builder.position_before(&instruction);
        let call = builder
            .build_call(fence, &[product.into()], "")
            .map_err(|problem| llvm_failed("a fence cannot be built", &problem.to_string()))?;
        if let Some(fenced) = call.try_as_basic_value().basic() {
            instruction.set_operand(0, fenced);
        }
    }
    Ok(())
}

/// The product, if `instruction` rounds one to 16 bits and its zeros have a sign.
fn product(instruction: InstructionValue<'_>) -> Option<BasicValueEnum<'_>> {
    if instruction.get_opcode() != InstructionOpcode::FPTrunc {
        return None;
    }
    let to = match BasicTypeEnum::try_from(instruction.get_type()).ok()? {
        BasicTypeEnum::VectorType(vector) => vector.get_element_type(),
        other => other,
    };
    // A half; a bfloat has such an instruction on gfx12.5.
    let narrow = matches!(to, BasicTypeEnum::FloatType(to) if to.get_bit_width() == 16);
    let value = instruction.get_operand(0).and_then(Operand::value)?;
    let from = value.as_instruction_value()?;
    let unsigned = from
        .get_fast_math_flags()
        .is_ok_and(|flags| flags.contains(FastMathFlags::NoSignedZeros));
    (narrow && from.get_opcode() == InstructionOpcode::FMul && !unsigned).then_some(value)
}
