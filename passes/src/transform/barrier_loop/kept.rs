//! Values of loads that variables keep from one place to another.

use super::copy::{Kept, variable_of};
use super::shape::Shape;
use crate::analysis::layout::Extents;
use crate::diagnostic::Diagnostic;
use crate::module::{Constants, Declarations, FloatFormat, Id, Inst, Type};
use crate::transform::edit::Edit;
use spirv::{Capability, Op, StorageClass};
use std::collections::BTreeSet;

/// How many 32-bit words the values of `loads` have; `None` where one is no number, vector or
/// matrix.
pub(in crate::transform) fn words<'m>(
    declarations: &Declarations<'m>,
    constants: &Constants,
    loads: impl Iterator<Item = Inst<'m>>,
) -> Option<u64> {
    let mut extents = Extents::new(declarations, constants);
    let words = loads.map(|load| {
        let ty = load.result_type()?;
        let is_value = matches!(
            declarations.ty(ty),
            Some(Type::Int { .. } | Type::Float { .. } | Type::Vector { .. } | Type::Matrix { .. })
        );
        let extent = extents.of(ty).filter(|_| is_value)?;
        Some(extent.size.div_ceil(4))
    });
    words.sum()
}

/// Makes a variable for each of `loads`.
pub(in crate::transform) fn keep(
    edit: &mut Edit<'_, '_>,
    shape: &Shape<'_, '_>,
    loads: &[Inst<'_>],
) -> Result<Kept, Diagnostic> {
    let mut kept = Kept::default();
    let mut declared = BTreeSet::new();
    for load in loads {
        let (Some(ty), Some(result)) = (load.result_type(), load.result()) else {
            return Err(Diagnostic::bug("a load has no result").at_word(load.offset));
        };
        declare(edit, &mut declared, ty)?;
        let class = StorageClass::Function as u32;
        let pointer = edit.type_of(Op::TypePointer, &[class, ty.0])?;
        let variable = variable_of(edit, shape, pointer)?;
        kept.variables.insert(result, variable);
    }
    Ok(kept)
}

/// Declares what a variable of type `ty` needs that a load does not.
fn declare(
    edit: &mut Edit<'_, '_>,
    declared: &mut BTreeSet<u32>,
    ty: Id,
) -> Result<(), Diagnostic> {
    let declarations = edit.declarations;
    let mut at = ty;
    let capability = loop {
        at = match declarations.ty(at) {
            Some(Type::Vector { component, .. }) => *component,
            Some(Type::Matrix { column, .. }) => *column,
            Some(Type::Int { width: 8, .. }) => break Capability::Int8,
            Some(Type::Int { width: 16, .. }) => break Capability::Int16,
            Some(Type::Float {
                width: 16,
                format: FloatFormat::Ieee,
            }) => break Capability::Float16,
            _ => return Ok(()), // variables of any class may have it
        };
    };
    if !declarations.has_capability(capability) && declared.insert(capability as u32) {
        edit.capability(capability as u32)?;
    }
    Ok(())
}
