//! What is left of a kernel's effects when the optimiser has run.

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Module;
use inkwell::values::{
    BasicValueEnum, CallSiteValue, FunctionValue, InstructionOpcode, InstructionValue, Operand,
};

/// Address spaces of both vendors that end with the workgroup or the invocation: shared memory, and
/// private memory.
const OWN: [u16; 2] = [3, 5];

/// Locations of LLVM's attribute `memory` that others can see (memory of arguments, and other
/// memory), as the bits that say that they are written.
const WRITES: u64 = 0b10 | 0b10 << 6;

/// Returns true if `kernel` may leave something that others can see: a write to memory that
/// outlives the workgroup, or a call that may write some.
pub(crate) fn are_left(module: &Module<'_>, kernel: &str) -> bool {
    let Some(function) = module.get_function(kernel) else {
        return true;
    };
    let blocks = function.get_basic_block_iter();
    blocks
        .flat_map(|block| block.get_instructions())
        .any(is_effect)
}

fn is_effect(instruction: InstructionValue<'_>) -> bool {
    let written = match instruction.get_opcode() {
        InstructionOpcode::Store => 1,
        InstructionOpcode::AtomicRMW | InstructionOpcode::AtomicCmpXchg => 0,
        InstructionOpcode::Call | InstructionOpcode::Invoke => {
            let call = CallSiteValue::try_from(instruction).ok();
            let callee = call.and_then(|call| call.get_called_fn_value());
            return callee.is_none_or(writes);
        }
        _ => return false,
    };
    match instruction.get_operand(written).and_then(Operand::value) {
        Some(BasicValueEnum::PointerValue(pointer)) => {
            let space = pointer.get_type().get_address_space();
            !OWN.iter().any(|own| space == (*own).into())
        }
        _ => true,
    }
}

fn writes(callee: FunctionValue<'_>) -> bool {
    let name = callee.get_name().to_string_lossy().into_owned();
    if name.starts_with("llvm.") && name.contains("barrier") {
        return false;
    }
    let kind = Attribute::get_named_enum_kind_id("memory");
    let memory = callee.get_enum_attribute(AttributeLoc::Function, kind);
    memory.is_none_or(|memory| memory.get_enum_value() & WRITES != 0)
}
