//! Sums of dot products of bytes. The instruction for the product also adds a number of 32 bits,
//! but LLVM does not use that operand by itself.

use crate::ffi::{self, Func, Opcode, RawBuilder, Value};
use inkwell::context::Context;
use inkwell::module::Module;

/// The intrinsics, and the place of the added number among their arguments.
const DOTS: [(&str, usize); 3] = [
    ("llvm.amdgcn.sdot4", 2),
    ("llvm.amdgcn.udot4", 2),
    ("llvm.amdgcn.sudot4", 4),
];

/// Moves a number that is added to a dot product, in the same block, into the dot product. Call it
/// on AMDGPU after the optimiser.
pub(crate) fn fold(context: &Context, module: &Module<'_>) {
    let builder = RawBuilder::new(context);
    for function in ffi::functions(ffi::module_ref(module)) {
        if !Func::has_body(function) {
            continue;
        }
        for sum in function.instructions() {
            fold_one(&builder, sum);
        }
    }
}

fn fold_one<'c>(builder: &RawBuilder<'c>, sum: Value<'c>) {
    if sum.opcode() != Some(Opcode::LLVMAdd) {
        return;
    }
    let [left, right] = sum.operands()[..] else {
        return;
    };
    for (dot, addend) in [(left, right), (right, left)] {
        let Some(zero) = added(dot) else { continue };
        if dot.users() != [sum] || dot.block() != sum.block() {
            continue; // the product alone is needed too, or is outside of a loop
        }
        builder.position_before(sum);
        dot.move_to(builder);
        dot.replace_operand(zero, addend);
        for user in sum.users() {
            user.replace_operand(sum, dot);
        }
        return;
    }
}

/// The 0 that the dot product `value` adds; `None` if it adds another number, if one of its vectors
/// is 0 as well, and for other instructions.
fn added(value: Value<'_>) -> Option<Value<'_>> {
    let name = value.callee().map(Func::name)?;
    let (_, place) = DOTS.iter().find(|(dot, _)| name == *dot)?;
    let arguments = value.arguments();
    let zero = *arguments.get(*place)?;
    let is_only = arguments
        .iter()
        .filter(|argument| **argument == zero)
        .count()
        == 1;
    (zero.is_constant() && zero == zero.ty().zero() && is_only).then_some(zero)
}
