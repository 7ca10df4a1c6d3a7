//! Checks that scopes and memory semantics share: each is a 32-bit integer, and in shaders a
//! constant.

use super::super::context::{Operand, Operation};
use super::super::{Context, Rule};
use crate::diagnostic::Diagnostics;
use crate::module::Id;

/// Reports each of `operands` that is not a 32-bit integer. `verb` goes with the operand's name:
/// "is" or "are".
pub(super) fn typed(
    rule: &Rule,
    context: &Context<'_, '_>,
    operation: &Operation<'_>,
    operands: impl Iterator<Item = (&'static str, Operand)>,
    verb: &str,
    to: &mut Diagnostics,
) {
    for (what, operand) in operands.filter(|(_, operand)| !context.is_int32(operand.id)) {
        let shown = context.show(operand.id);
        let name = context.name(operation);
        let message = format!("the {what} {shown} of {name} {verb} not a 32-bit integer");
        to.push(
            rule.error_at(context, operation, Some(operand), message)
                .help(format!("replace {shown} with a 32-bit integer constant")),
        );
    }
}

/// Reports each of `operands` that is an integer and not the kind of constant that the module's
/// capabilities require. `verb` as for [`typed`].
pub(super) fn fit(
    rule: &Rule,
    context: &Context<'_, '_>,
    operation: &Operation<'_>,
    operands: impl Iterator<Item = (&'static str, Operand)>,
    verb: &str,
    to: &mut Diagnostics,
) {
    for (what, operand) in operands.filter(|(_, operand)| context.is_int32(operand.id)) {
        if let Some((must, capability)) = unfit(context, operand.id) {
            let shown = context.show(operand.id);
            let name = context.name(operation);
            let message = format!("the {what} {shown} of {name} {verb} not a constant");
            to.push(
                rule.error_at(context, operation, Some(operand), message)
                    .because(format!(
                        "modules that declare {capability} require {must} here"
                    ))
                    .help(format!("replace {shown} with {must}")),
            );
        }
    }
}

/// The kind of constant that the operand must be, and the capability that requires it; `None` if
/// the operand is right.
fn unfit(context: &Context<'_, '_>, id: Id) -> Option<(&'static str, &'static str)> {
    use spirv::Op;
    let op = context.declarations.module.def(id)?.op()?;
    let plain = matches!(op, Op::Constant | Op::ConstantNull);
    let special = matches!(op, Op::SpecConstant | Op::SpecConstantOp);
    let cooperative = context.has(spirv::Capability::CooperativeMatrixNV);
    if !context.has(spirv::Capability::Shader) || plain || (cooperative && special) {
        None
    } else if cooperative {
        Some((
            "a constant or a specialization constant",
            "CooperativeMatrixNV",
        ))
    } else {
        Some(("an OpConstant", "Shader"))
    }
}
