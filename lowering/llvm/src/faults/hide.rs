//! Values of any type through empty assembly statements, which LLVM does not look through.

use crate::ffi::{self, Opcode, RawBuilder, Ty, TypeKind, Value};

/// Where a statement holds its value.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Register {
    /// In a scalar register: the value is the same in all lanes.
    Scalar,
    /// In a vector register.
    Vector,
    /// In a vector register, and the statement stays in its block.
    VectorHere,
}

/// `value`, all of its bits through statements at `builder`; `None` for a type that has no bits in
/// registers.
pub(super) fn hide<'c>(
    builder: &RawBuilder<'c>,
    value: Value<'c>,
    register: Register,
) -> Option<Value<'c>> {
    let (ty, context) = (value.ty(), builder.context());
    let int = |bits| ffi::int_type(context, bits);
    let cast = |op, value, to| builder.cast(op, value, to);
    Some(match ty.kind() {
        TypeKind::LLVMIntegerTypeKind => match ty.int_width() {
            32 | 64 => through(builder, value, register),
            width if width < 32 => {
                let wide = cast(Opcode::LLVMZExt, value, int(32));
                let hidden = through(builder, wide, register);
                cast(Opcode::LLVMTrunc, hidden, ty)
            }
            width => {
                let words = width.div_ceil(32);
                let wide = match width % 32 {
                    0 => value,
                    _ => cast(Opcode::LLVMZExt, value, int(words * 32)),
                };
                let parts = cast(Opcode::LLVMBitCast, wide, int(32).vector(words));
                let parts = hide(builder, parts, register)?;
                let wide = cast(Opcode::LLVMBitCast, parts, int(words * 32));
                match width % 32 {
                    0 => wide,
                    _ => cast(Opcode::LLVMTrunc, wide, ty),
                }
            }
        },
        TypeKind::LLVMFloatTypeKind | TypeKind::LLVMDoubleTypeKind => {
            through(builder, value, register)
        }
        TypeKind::LLVMHalfTypeKind | TypeKind::LLVMBFloatTypeKind => {
            let bits = cast(Opcode::LLVMBitCast, value, int(16));
            let hidden = hide(builder, bits, register)?;
            cast(Opcode::LLVMBitCast, hidden, ty)
        }
        TypeKind::LLVMPointerTypeKind => {
            let bits = match ty.address_space() {
                2 | 3 | 5 | 6 => 32,
                0 | 1 | 4 => 64,
                _ => return None,
            };
            let number = cast(Opcode::LLVMPtrToInt, value, int(bits));
            let hidden = hide(builder, number, register)?;
            cast(Opcode::LLVMIntToPtr, hidden, ty)
        }
        TypeKind::LLVMVectorTypeKind => {
            let element = ty.element();
            let bits = element.scalar_bits() * ty.lanes();
            if element.scalar_bits() < 32 && bits % 32 == 0 && bits != 0 {
                let words = cast(Opcode::LLVMBitCast, value, words_of(int(32), bits / 32));
                let hidden = hide(builder, words, register)?;
                return Some(cast(Opcode::LLVMBitCast, hidden, ty));
            }
            let mut whole = value;
            for lane in 0..ty.lanes() {
                let lane = int(32).int(lane.into());
                let part = hide(builder, builder.extract_element(value, lane), register)?;
                whole = builder.insert_element(whole, part, lane);
            }
            whole
        }
        TypeKind::LLVMStructTypeKind | TypeKind::LLVMArrayTypeKind => {
            let mut whole = value;
            for index in 0..u32::try_from(ty.count()).ok()? {
                let part = hide(builder, builder.extract_value(value, index), register)?;
                whole = builder.insert_value(whole, part, index);
            }
            whole
        }
        _ => return None,
    })
}

fn words_of(word: Ty<'_>, count: u32) -> Ty<'_> {
    word.vector(count)
}

/// A value of 32 or 64 bits through one statement.
fn through<'c>(builder: &RawBuilder<'c>, value: Value<'c>, register: Register) -> Value<'c> {
    let ty = value.ty().function(&[value.ty()]);
    let (constraints, stays) = match register {
        Register::Scalar => ("=s,0", false),
        Register::Vector => ("=v,0", false),
        Register::VectorHere => ("=v,0", true),
    };
    let statement = ffi::inline_assembly(ty, "", constraints, stays);
    builder.call(ty, statement, &[value])
}
