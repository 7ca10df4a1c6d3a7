//! Keeps values that come from other lanes (`llvm.amdgcn.update.dpp`) where they are used as parts
//! of wider ones. LLVM 23.1 merges such a move into the instructions that use it, and takes it away
//! although a store of several words still reads it: that word of the store is then undefined
//! (docs/llvm.md). An empty assembly statement behind the move keeps it whole. A move with a single
//! use, in arithmetic of 32 bits, can lose nothing and stays open to the merge.

use crate::codegen::{self, llvm_failed};
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::{
    AnyValueEnum, BasicValue, BasicValueEnum, CallSiteValue, FloatValue, InstructionOpcode,
    InstructionValue, IntValue,
};
use splitbar_passes::diagnostic::Diagnostics;

/// Puts the statement behind every move that needs it. To be called on AMDGPU when the optimiser
/// has run, since that makes such moves of shuffles.
///
/// # Errors
/// `LlvmFailed` when LLVM cannot build it.
pub(crate) fn keep<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), Diagnostics> {
    let moves: Vec<_> = codegen::instructions(module)
        .filter(|instruction| is_move(*instruction) && !is_used_once(*instruction))
        .collect();
    let builder = context.create_builder();
    for moved in moves {
        let value = number(moved)
            .ok_or_else(|| llvm_failed("a move cannot be hidden", "it moves no number"))?;
        hide(context, &builder, moved, value)
            .map_err(|problem| llvm_failed("a move cannot be hidden", &problem.to_string()))?;
    }
    Ok(())
}

fn is_move(instruction: InstructionValue<'_>) -> bool {
    CallSiteValue::try_from(instruction)
        .ok()
        .and_then(|call| call.get_called_fn_value())
        .is_some_and(|called| {
            let name = called.get_name().to_bytes();
            name.starts_with(b"llvm.amdgcn.update.dpp")
        })
}

/// Returns true if the value has no use but one in arithmetic of 32 bits, so that no wider value
/// can hold it.
fn is_used_once(moved: InstructionValue<'_>) -> bool {
    let Some(only) = moved.get_first_use() else {
        return true;
    };
    let (user, bits) = match only.get_user() {
        AnyValueEnum::IntValue(value) => (value.as_instruction(), value.get_type().get_bit_width()),
        AnyValueEnum::FloatValue(value) => {
            (value.as_instruction(), value.get_type().get_bit_width())
        }
        _ => return false,
    };
    let computes = user.is_some_and(|user| {
        matches!(
            user.get_opcode(),
            InstructionOpcode::Add
                | InstructionOpcode::Sub
                | InstructionOpcode::And
                | InstructionOpcode::Or
                | InstructionOpcode::Xor
                | InstructionOpcode::FAdd
                | InstructionOpcode::FSub
                | InstructionOpcode::FMul
                | InstructionOpcode::Call
        )
    });
    computes && bits == 32 && only.get_next_use().is_none()
}

fn number(moved: InstructionValue<'_>) -> Option<BasicValueEnum<'_>> {
    let integer = IntValue::try_from(moved).ok().map(BasicValueEnum::from);
    integer.or_else(|| FloatValue::try_from(moved).ok().map(BasicValueEnum::from))
}

fn hide<'c>(
    context: &'c Context,
    builder: &Builder<'c>,
    moved: InstructionValue<'c>,
    value: BasicValueEnum<'c>,
) -> Result<(), BuilderError> {
    match moved.get_next_instruction() {
        Some(next) => builder.position_before(&next),
        None => return Ok(()),
    }
    let hidden = codegen::hide(context, builder, value)?;
    if let Some(hidden) = hidden.as_instruction_value() {
        moved.replace_all_uses_with(&hidden);
        hidden.set_operand(0, value);
    }
    Ok(())
}
