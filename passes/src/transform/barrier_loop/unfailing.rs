//! Instructions of a loop that may be executed where no iteration is.

use crate::module::{Declarations, Id, Inst};
use crate::transform::whole_variables::is_chain;
use spirv::Op;

/// Returns true if an instruction that accesses no memory is defined for all values of its operands
/// that are not constants.
pub(in crate::transform) fn cannot_fail(declarations: &Declarations<'_>, inst: Inst<'_>) -> bool {
    let is_constant = |index| inst.id(index).is_ok_and(|id| is_constant(declarations, id));
    match inst.op() {
        Some(Op::UDiv | Op::SDiv | Op::UMod | Op::SMod | Op::SRem | Op::VectorExtractDynamic) => {
            is_constant(1)
        }
        Some(Op::VectorInsertDynamic) => is_constant(2),
        Some(_) => true,
        None => false,
    }
}

/// The variable that access chains with constant indices lead from to `pointer`; `None` if there is
/// no such variable, or an index is not a constant.
pub(in crate::transform) fn variable_at_constants<'m>(
    declarations: &Declarations<'m>,
    pointer: Id,
) -> Option<Inst<'m>> {
    let mut at = declarations.module.def(pointer);
    while let Some(chain) = at.filter(|inst| is_chain(*inst)) {
        let mut indices = chain.operands().iter().skip(1);
        if !indices.all(|index| is_constant(declarations, Id(*index))) {
            return None;
        }
        at = chain.id(0).ok().and_then(|id| declarations.module.def(id));
    }
    at.filter(|root| root.op() == Some(Op::Variable))
}

fn is_constant(declarations: &Declarations<'_>, id: Id) -> bool {
    let def = declarations.module.def(id);
    let op = def.and_then(|def| def.op());
    op.is_some_and(|op| op.is_constant())
}
