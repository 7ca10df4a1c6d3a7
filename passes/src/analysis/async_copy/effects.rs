//! Finds the functions without effects that could conflict with an outstanding copy.

use crate::analysis::callgraph::CallGraph;
use crate::analysis::uniformity::memory;
use crate::module::facts::{Calls, Class, Operand, Role};
use crate::module::{Declarations, Function, Id, Inst};
use spirv::StorageClass;
use std::collections::BTreeSet;

/// The functions that touch Workgroup memory, write global memory, or order memory, themselves or
/// by their calls.
#[derive(Clone, Debug)]
pub(super) struct Effects {
    touching: BTreeSet<Id>,
}

impl Effects {
    pub(super) fn analyze<'m>(declarations: &Declarations<'m>) -> Effects {
        let functions = declarations.functions.iter();
        let seeds: Vec<Id> = functions
            .filter(|function| does(declarations, function))
            .map(|function| function.id)
            .collect();
        Effects {
            touching: CallGraph::analyze(declarations).callers(seeds),
        }
    }

    /// Returns true if a call of `function` may do such a thing.
    pub(super) fn touches(&self, function: Id) -> bool {
        self.touching.contains(&function)
    }
}

fn does<'m>(declarations: &Declarations<'m>, function: &Function<'m>) -> bool {
    function.blocks.is_empty() || function.insts().any(|inst| is_seen(declarations, inst))
}

fn is_seen<'m>(declarations: &Declarations<'m>, inst: Inst<'m>) -> bool {
    let facts = declarations.facts(inst);
    match facts.class {
        Class::Group(_) | Class::Clock | Class::Print => {}
        _ if facts.is_synchronizing() || !facts.is_described() => return true,
        _ => {}
    }
    // The call graph follows plain calls.
    let mut seen = matches!(facts.calls, Calls::Elements(_) | Calls::Decode);
    declarations.accesses(inst, |id, access| {
        seen |= match access.kind {
            _ if access.role == Role::Forward => false,
            Operand::Image | Operand::Tensor => access.role.writes(),
            Operand::Pointers => true, // their class is not looked up
            Operand::Pointer => match memory::class_of(declarations, id) {
                Some(StorageClass::Workgroup | StorageClass::Generic) => true,
                Some(class) if memory::is_unshared(class) => false,
                _ => access.role.writes(),
            },
        };
    });
    seen
}
