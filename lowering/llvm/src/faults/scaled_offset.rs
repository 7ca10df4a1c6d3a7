//! Hides offsets of 32 bits that are shifted and may wrap around. Accesses of gfx12.5 can multiply
//! their offset by the size of what they access, in 64 bits. LLVM lets them do so where the
//! program multiplied in 32 bits and widened the product, which is another value if it wraps.

use super::hide::{Register, hide as opaque};
use super::shape::Shape;
use crate::ffi::{Func, Opcode, RawBuilder, Value};

/// Puts a statement before the widening of every such offset.
pub(super) fn hide<'c>(builder: &RawBuilder<'c>, function: Func<'c>, shape: &Shape<'c>) {
    for widened in function.instructions() {
        let wraps = match widened.opcode() {
            Some(Opcode::LLVMZExt) => Value::wraps_unsigned,
            Some(Opcode::LLVMSExt) => Value::wraps_signed,
            _ => continue,
        };
        let [offset] = widened.operands()[..] else {
            continue;
        };
        let scales = matches!(
            offset.opcode(),
            Some(Opcode::LLVMShl | Opcode::LLVMMul | Opcode::LLVMAnd | Opcode::LLVMAdd)
        );
        let may_wrap = match offset.opcode() {
            Some(Opcode::LLVMAnd) => true,
            _ => wraps(offset),
        };
        let is_word = !offset.ty().is_vector() && offset.ty().int_width() == 32;
        let addresses = || {
            let mut users = widened.users().into_iter();
            users.any(|user| {
                matches!(
                    user.opcode(),
                    Some(Opcode::LLVMGetElementPtr | Opcode::LLVMAdd)
                )
            })
        };
        if scales && may_wrap && is_word && addresses() {
            builder.position_before(widened);
            let register = if shape.is_uniform(offset) {
                Register::Scalar
            } else {
                Register::Vector
            };
            if let Some(hidden) = opaque(builder, offset, register) {
                widened.replace_operand(offset, hidden);
            }
        }
    }
}
