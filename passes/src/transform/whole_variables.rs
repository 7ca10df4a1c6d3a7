//! Variables of the class Function that hold one value at a time: they are loaded and stored as a
//! whole, and nothing else names them. Compilers that do not optimise keep every variable so.

use crate::module::{BlockIndex, Declarations, Function, Id, Inst, Type};
use spirv::{Op, StorageClass};
use std::collections::BTreeMap;

/// The number of a block, and the place of an instruction in it.
pub(super) type Spot = (BlockIndex, usize);

/// Those of a function, each with its stores: where, and of what. None of them is volatile or
/// decorated.
pub(super) fn whole_variables(
    declarations: &Declarations<'_>,
    function: &Function<'_>,
) -> BTreeMap<Id, Vec<(Spot, Id)>> {
    let module = declarations.module;
    let mut variables: BTreeMap<Id, Vec<(Spot, Id)>> = BTreeMap::new();
    for inst in function
        .insts()
        .filter(|inst| inst.op() == Some(Op::Variable))
    {
        let plain = inst.result().filter(|_| is_of_function(declarations, inst));
        let plain = plain.filter(|id| declarations.decorations(*id).is_empty());
        variables.extend(plain.map(|id| (id, Vec::new())));
    }
    for (block, insts) in function.numbered() {
        for (index, inst) in insts.insts.iter().enumerate() {
            let (whole, count) = match inst.op() {
                Some(Op::Load) => (inst.id(0).ok(), 1),
                Some(Op::Store) => (inst.id(0).ok(), 2),
                Some(Op::Variable) => (inst.result(), inst.operands().len()),
                _ => (None, 0), // whoever else names one may do anything with it
            };
            let whole = whole.filter(|_| inst.operands().len() == count);
            let value = inst.id(1).ok().filter(|_| inst.op() == Some(Op::Store));
            for (_, id) in module.ids(*inst) {
                if Some(id) != whole || Some(id) == value {
                    variables.remove(&id);
                }
            }
            let stores = whole.and_then(|whole| variables.get_mut(&whole));
            if let (Some(stores), Some(value)) = (stores, value) {
                stores.push(((block, index), value));
            }
        }
    }
    variables
}

/// Returns true if the type of `variable` is a pointer to the class Function.
pub(super) fn is_of_function(declarations: &Declarations<'_>, variable: Inst<'_>) -> bool {
    let ty = variable.result_type().and_then(|ty| declarations.ty(ty));
    matches!(ty, Some(Type::Pointer { class, .. }) if *class == StorageClass::Function)
}

/// Returns true for access chains that say nothing of elements beyond the base.
pub(super) fn is_chain(inst: Inst<'_>) -> bool {
    matches!(inst.op(), Some(Op::AccessChain | Op::InBoundsAccessChain))
}
