//! The effects of loops on private variables.

use crate::analysis::phases::{Effects, Own};
use crate::module::Inst;
use crate::module::facts::Class;

/// Adds what `inst` does to the memory of its invocation.
pub(in crate::transform) fn add<'m>(own: &mut Own, effects: &Effects<'_, 'm>, inst: Inst<'m>) {
    let done = effects
        .own(inst)
        .unwrap_or_else(|| match inst.facts().class {
            // Nothing is known of these, and no operand of theirs points to such a variable.
            Class::Barrier(_)
            | Class::Fence
            | Class::Branch
            | Class::Merge
            | Class::Phi
            | Class::Exit
            | Class::Value
            | Class::Undef
            | Class::Query
            | Class::Group(_)
            | Class::Clock
            | Class::Marker => Own::default(),
            Class::Memory => effects.own_accesses(inst).unwrap_or_else(Own::unknown),
            _ => Own::unknown(),
        });
    own.add(&done);
}
