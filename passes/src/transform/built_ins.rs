//! Built-in input variables that code of a pass reads.

use super::edit::Edit;
use crate::diagnostic::{Code, Diagnostic};
use crate::module::{Id, Type, Variable};
use spirv::{BuiltIn, Decoration, Op, StorageClass};

/// A built-in input variable.
#[derive(Copy, Clone, Debug)]
pub(super) struct Input {
    /// The variable, for interfaces.
    pub(super) variable: u32,
    /// Its value's type.
    ty: u32,
}

impl Input {
    /// The variable of a built-in: the module's own, since two are not allowed
    /// (VUID-StandaloneSpirv-OpEntryPoint-09658), or a new one of `count` words.
    ///
    /// # Errors
    /// `UnsupportedBuiltIn` when the module has several, for different entry points.
    pub(super) fn new(
        edit: &mut Edit<'_, '_>,
        built_in: BuiltIn,
        count: u32,
    ) -> Result<Input, Diagnostic> {
        let declarations = edit.declarations;
        let is_own = |variable: &&Variable<'_>| {
            variable.class == StorageClass::Input
                && declarations.decoration(variable.id, Decoration::BuiltIn)
                    == Some(built_in as u32)
        };
        let mut own = declarations.variables.iter().filter(is_own);
        let (first, second) = (own.next(), own.next());
        if let Some(second) = second {
            return Err(several(edit, built_in, second.id));
        }
        if let Some(own) = first
            && let Some(Type::Pointer {
                pointee: Some(ty), ..
            }) = declarations.ty(own.pointer_type)
        {
            return Ok(Input {
                variable: own.id.0,
                ty: ty.0,
            });
        }
        let uint = edit.uint()?;
        let ty = if count == 1 {
            uint
        } else {
            edit.type_of(Op::TypeVector, &[uint, count])?
        };
        let pointer = edit.type_of(Op::TypePointer, &[StorageClass::Input as u32, ty])?;
        let variable = edit.global(Op::Variable, &[pointer, 0, StorageClass::Input as u32], 1)?;
        edit.annotation(
            Op::Decorate,
            &[variable, Decoration::BuiltIn as u32, built_in as u32],
        )?;
        Ok(Input { variable, ty })
    }

    /// Its value, a 32-bit integer, as an unsigned one: the instructions go to the function at the
    /// end of the module.
    pub(super) fn load(self, edit: &mut Edit<'_, '_>) -> Result<u32, Diagnostic> {
        let value = edit.fresh()?;
        edit.function(Op::Load, &[self.ty, value, self.variable])?;
        as_uint(edit, value, self.ty)
    }

    /// As [`Input::load`], of three components.
    pub(super) fn load_three(self, edit: &mut Edit<'_, '_>) -> Result<[u32; 3], Diagnostic> {
        let whole = edit.fresh()?;
        edit.function(Op::Load, &[self.ty, whole, self.variable])?;
        let uint = edit.uint()?;
        // The declarations do not have a type that the pass has just added: a vector of `uint`.
        let component = match edit.declarations.ty(Id(self.ty)) {
            Some(Type::Vector { component, .. }) => component.0,
            _ => uint, // a new one
        };
        let mut parts = [0; 3];
        for (part, axis) in parts.iter_mut().zip(0..) {
            let value = edit.fresh()?;
            edit.function(Op::CompositeExtract, &[component, value, whole, axis])?;
            *part = as_uint(edit, value, component)?;
        }
        Ok(parts)
    }
}

/// `value` of the 32-bit integer type `ty` as an unsigned one: a module's own variable of a
/// built-in may be signed.
fn as_uint(edit: &mut Edit<'_, '_>, value: u32, ty: u32) -> Result<u32, Diagnostic> {
    let uint = edit.uint()?;
    if ty == uint {
        return Ok(value);
    }
    let cast = edit.fresh()?;
    edit.function(Op::Bitcast, &[uint, cast, value])?;
    Ok(cast)
}

fn several(edit: &Edit<'_, '_>, built_in: BuiltIn, variable: Id) -> Diagnostic {
    let place = edit.module().def(variable).map(|def| def.offset);
    Diagnostic::error(
        Code::UnsupportedBuiltIn,
        format!("the module has several variables of {built_in:?}"),
    )
    .at_word(place)
    .because("the instrumentation reads one of them, and an entry point can have only one in its interface")
    .help("instrument a module with one entry point")
}
