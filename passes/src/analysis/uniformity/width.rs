//! The widths of scalars.

use crate::module::{Declarations, Id, Type};

/// Bits of a scalar integer type, 1 of the Boolean one, 0 of any other: those are not evaluated.
pub(super) fn scalar_width(declarations: &Declarations<'_>, ty: Id) -> u32 {
    match declarations.ty(ty) {
        Some(Type::Bool) => 1,
        Some(Type::Int { width, .. }) => *width,
        _ => 0, // a composite, a pointer, a floating-point number
    }
}
