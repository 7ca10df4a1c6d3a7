//! Assertions that failed: `__devicelib_assert_fail` of the device library, and `__assert_fail` of
//! the GNU C library. Each prints a line; the invocation goes on, as with the device library's own.
//!
//! The text has what is known when the kernel is compiled. A string that comes from elsewhere (a
//! function that is called from several places hands it on) is left out.

use super::super::edit::{Edit, string};
use crate::diagnostic::Diagnostic;
use crate::module::{Declarations, Function, Id, Inst};
use spirv::{Op, OpenclStd100Op as Cl, StorageClass};

/// Casts and access chains between a string and the argument.
const MOST_STEPS: usize = 16;

/// A function that is called where an assertion fails.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Assertion {
    /// Expression, file, line, function, and two ids of three numbers each.
    WithIds,
    /// Expression, file, line, function.
    Plain,
}

impl Assertion {
    /// The one of this name, if the function has as many parameters.
    pub(super) fn named(name: &str, function: &Function<'_>) -> Option<Assertion> {
        match (name, function.params.len()) {
            ("assert_fail", 10) => Some(Assertion::WithIds),
            ("assert_fail" | "__assert_fail", 4) => Some(Assertion::Plain),
            _ => None,
        }
    }

    /// Puts a printf in the place of the call.
    pub(super) fn print(
        self,
        declarations: &Declarations<'_>,
        edit: &mut Edit<'_, '_>,
        call: Inst<'_>,
        set: u32,
    ) -> Result<(), Diagnostic> {
        let arguments = call.operands_from(1);
        let [expression, file, line, function, ids @ ..] = arguments else {
            return Err(Diagnostic::bug("an assertion without its arguments").at_word(call.offset));
        };
        let mut format = String::new();
        let mut operands = Vec::new();
        let mut say = |id: u32, before: &str, behind: &str| {
            if is_literal(declarations, Id(id)) {
                format.push_str(before);
                format.push_str("%s");
                format.push_str(behind);
                operands.push(id);
            }
        };
        say(*file, "", ":");
        say(*function, "", ": ");
        say(*expression, "`", "` ");
        format.push_str("failed in line %d");
        operands.push(*line);
        if self == Assertion::WithIds {
            format.push_str(", global id: [%lu,%lu,%lu], local id: [%lu,%lu,%lu]");
            operands.extend(ids);
        }
        format.push('\n');
        let format = literal(edit, &format)?;
        let int = edit.uint()?;
        let result = edit.fresh()?;
        let mut all = vec![int, result, set, Cl::printf as u32, format];
        all.extend(operands);
        edit.replace(call.offset, Op::ExtInst, &all)
    }
}

/// Returns true if the pointer is one to a constant that the module has, by casts and access
/// chains.
fn is_literal(declarations: &Declarations<'_>, mut id: Id) -> bool {
    for _ in 0..MOST_STEPS {
        if let Some(variable) = declarations.variable(id) {
            return variable.initializer.is_some();
        }
        let step = declarations.module.def(id);
        match step.and_then(Inst::forwarded) {
            Some(from) => id = from,
            None => return false,
        }
    }
    false
}

/// A pointer to the first character of a new string literal.
fn literal(edit: &mut Edit<'_, '_>, text: &str) -> Result<u32, Diagnostic> {
    let byte = edit.type_of(Op::TypeInt, &[8, 0])?;
    let mut bytes: Vec<u32> = text.bytes().map(u32::from).collect();
    bytes.push(0);
    let length = u32::try_from(bytes.len())
        .map_err(|_| Diagnostic::bug("the text of an assertion is too long"))?;
    let length = edit.number(length)?;
    let array = edit.global(Op::TypeArray, &[0, byte, length], 0)?;
    let pointer = edit.type_of(
        Op::TypePointer,
        &[StorageClass::UniformConstant as u32, array],
    )?;
    let mut value = vec![array, 0];
    for character in bytes {
        value.push(edit.constant(Op::Constant, byte, &[character])?);
    }
    let value = edit.global(Op::ConstantComposite, &value, 1)?;
    let class = StorageClass::UniformConstant as u32;
    let variable = edit.global(Op::Variable, &[pointer, 0, class, value], 1)?;
    let mut name = vec![variable];
    name.extend(string("assertion"));
    edit.annotation_name(&name)?;
    let mut constant = vec![variable];
    constant.push(spirv::Decoration::Constant as u32);
    edit.annotation(Op::Decorate, &constant)?;
    Ok(variable)
}
