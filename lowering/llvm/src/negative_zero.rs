//! Keeps the sign of a zero that is a product and becomes a half. LLVM 23.1 rounds
//! `fptrunc (fmul a, b)` by `v_fma_mixlo_f16 a, b, 0` on AMDGPU, and -0 + 0 is 0 (fixed later by
//! llvm-project pull request 214544). What stands between the two in the end is an empty assembly
//! statement, which LLVM does not look through. (`llvm.arithmetic.fence` would do the same, but the
//! back end cannot copy what it holds where the value is the same for the whole wave.)

use crate::codegen::{self, llvm_failed};
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{
    BasicValue, BasicValueEnum, FastMathFlags, InstructionOpcode, InstructionValue, Operand,
};
use splitbar_passes::diagnostic::Diagnostics;

/// How far back a product is looked for: what is further away may be one.
const MOST_STEPS: u32 = 6;

/// Puts the statement behind every product that is rounded to 16 bits and whose zeros have a sign.
/// To be called when the optimiser has run.
///
/// # Errors
/// `LlvmFailed` when LLVM cannot build it.
pub(crate) fn preserve<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), Diagnostics> {
    let rounded: Vec<_> = codegen::instructions(module)
        .filter_map(|instruction| Some((instruction, rounded(instruction)?)))
        .collect();
    let builder = context.create_builder();
    for (instruction, product) in rounded {
        builder.position_before(&instruction);
        let hidden = hide(context, &builder, product)
            .map_err(|problem| llvm_failed("a product cannot be hidden", &problem.to_string()))?;
        instruction.set_operand(0, hidden);
    }
    Ok(())
}

/// The number, or each of the numbers of a vector, through an empty assembly statement.
fn hide<'c>(
    context: &'c Context,
    builder: &Builder<'c>,
    product: BasicValueEnum<'c>,
) -> Result<BasicValueEnum<'c>, BuilderError> {
    match product {
        BasicValueEnum::FloatValue(_) => codegen::hide(context, builder, product),
        BasicValueEnum::VectorValue(vector) => {
            let mut hidden = vector;
            for lane in 0..vector.get_type().get_size() {
                let lane = context.i32_type().const_int(u64::from(lane), false);
                let number = builder.build_extract_element(vector, lane, "")?;
                let number = hide(context, builder, number)?;
                hidden = builder.build_insert_element(hidden, number, lane, "")?;
            }
            Ok(hidden.into())
        }
        other => Ok(other),
    }
}

/// Returns the operand of `instruction` if that rounds to 16 bits what may be a product whose zeros
/// have a sign.
fn rounded(instruction: InstructionValue<'_>) -> Option<BasicValueEnum<'_>> {
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
    (narrow && may_be_product(value, MOST_STEPS)).then_some(value)
}

/// Returns true if the code generator may make `value` a product whose zeros have a sign: it takes
/// elements of a vector apart, moves negations into factors, and divides by multiplying.
fn may_be_product(value: BasicValueEnum<'_>, steps: u32) -> bool {
    let Some(from) = value.as_instruction_value() else {
        return false;
    };
    let unsigned = from
        .get_fast_math_flags()
        .is_ok_and(|flags| flags.contains(FastMathFlags::NoSignedZeros));
    match from.get_opcode() {
        InstructionOpcode::FMul | InstructionOpcode::FDiv => !unsigned,
        InstructionOpcode::ExtractElement
        | InstructionOpcode::InsertElement
        | InstructionOpcode::ShuffleVector
        | InstructionOpcode::FNeg
        | InstructionOpcode::Select
        | InstructionOpcode::Freeze => {
            let mut operands = from.get_operands().flatten().filter_map(Operand::value);
            steps == 0 || operands.any(|one| may_be_product(one, steps - 1))
        }
        _ => false,
    }
}
