//! The values that an iteration begins with, and variables that the copies of iterations share.

use super::copy::{Names, variable_of};
use super::shape::Shape;
use super::slice::Slice;
use super::values::Values;
use crate::diagnostic::Diagnostic;
use crate::module::Id;
use crate::transform::edit::Edit;
use spirv::Op;
use std::collections::BTreeSet;

/// The values that the first iteration begins with, for the phis and the variables of a slice.
/// Loads of the variables are put before the loop.
pub(in crate::transform) fn first_names(
    edit: &mut Edit<'_, '_>,
    shape: &Shape<'_, '_>,
    slice: &Slice,
) -> Result<Names, Diagnostic> {
    let mut names = Names::new();
    for phi in &slice.phis {
        let lost = || Diagnostic::bug("a phi does not name a block that leads to it");
        let value = shape.phi_from(*phi, shape.front_label).ok_or_else(lost)?;
        names.insert(*phi, value.0);
    }
    for (variable, load) in &slice.variables {
        let load = shape.inst(*load);
        let ty = load.and_then(|load| Some((load.result_type()?, load.offset)));
        let lost = || Diagnostic::bug("a variable is not loaded any more");
        let (ty, origin) = ty.ok_or_else(lost)?;
        let value = edit.fresh()?;
        let operands = [ty.0, value, variable.0];
        edit.before_from(shape.front_end, origin, Op::Load, &operands)?;
        names.insert(*variable, value);
    }
    Ok(names)
}

/// The values that the next iteration begins with, for the phis and the variables of a slice;
/// `None`: that cannot be computed.
pub(in crate::transform) fn next_names<'m>(
    edit: &mut Edit<'_, 'm>,
    shape: &Shape<'_, 'm>,
    values: &mut Values<'_, 'm>,
    slice: &Slice,
) -> Result<Option<Names>, Diagnostic> {
    let mut names = Names::new();
    for phi in &slice.phis {
        match values.of_phi(edit, *phi)? {
            Some(value) => names.insert(*phi, value.0),
            None => return Ok(None),
        };
    }
    for (variable, load) in &slice.variables {
        let load = shape.inst(*load);
        let load = load.ok_or_else(|| Diagnostic::bug("a load is not there"))?;
        match values.of_variable(edit, *variable, load)? {
            Some(value) => names.insert(*variable, value.0),
            None => return Ok(None),
        };
    }
    Ok(Some(names))
}

/// Makes a variable for each of `variables`, which all copies share.
pub(in crate::transform) fn share(
    edit: &mut Edit<'_, '_>,
    shape: &Shape<'_, '_>,
    variables: &BTreeSet<Id>,
) -> Result<Names, Diagnostic> {
    let mut names = Names::new();
    for variable in variables {
        let ty = edit.declarations.type_of(*variable);
        let ty = ty.ok_or_else(|| Diagnostic::bug("a variable has no type"))?;
        names.insert(*variable, variable_of(edit, shape, ty.0)?);
    }
    Ok(names)
}
