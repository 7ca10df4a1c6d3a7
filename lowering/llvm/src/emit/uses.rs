//! Which module-scope variables a function touches, itself or through its callees: they decide a kernel's arguments and the hidden parameters of functions.

use spirv::{Op, StorageClass};
use splitbar_passes::module::{Declarations, Function, Id, Type, Variable, called};
use std::collections::{BTreeMap, BTreeSet};

/// What a function gets from its caller besides its own parameters.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Hidden {
    /// The address of a module-scope variable.
    Variable(Id),
    /// The length in bytes of the buffer of a variable.
    Length(Id),
}

/// What a function touches.
#[derive(Clone, Default, Debug)]
pub(crate) struct Uses {
    /// Module-scope variables.
    pub(crate) variables: BTreeSet<Id>,
    /// Variables whose length is asked for.
    pub(crate) lengths: BTreeSet<Id>,
}

impl Uses {
    fn of(
        function: &Function<'_>,
        declarations: &Declarations<'_>,
        done: &BTreeMap<Id, Uses>,
    ) -> Uses {
        let mut uses = Uses::default();
        for inst in function.blocks.iter().flat_map(|block| &block.insts) {
            if inst.op() == Some(Op::ArrayLength)
                && let Ok(structure) = inst.id(0)
            {
                uses.lengths.insert(structure);
            }
            uses.variables.extend(
                declarations
                    .module
                    .ids(*inst)
                    .map(|(_, id)| id)
                    .filter(|id| declarations.variable(*id).is_some()),
            );
            if let Some(callee) = called(*inst).and_then(|id| done.get(&id)) {
                uses.variables.extend(&callee.variables);
                uses.lengths.extend(&callee.lengths);
            }
        }
        uses.lengths
            .retain(|id| declarations.variable(*id).is_some());
        uses
    }

    /// The hidden parameters, in the fixed order: variables, then lengths.
    pub(crate) fn hidden(&self, declarations: &Declarations<'_>) -> Vec<Hidden> {
        let passed = self
            .variables
            .iter()
            .filter(|id| declarations.variable(**id).is_some_and(|v| !is_global(v)));
        passed
            .map(|id| Hidden::Variable(*id))
            .chain(self.lengths.iter().map(|id| Hidden::Length(*id)))
            .collect()
    }
}

/// Uses of every function of `functions`, which stand callees first.
pub(crate) fn uses(declarations: &Declarations<'_>, functions: &[Id]) -> BTreeMap<Id, Uses> {
    let mut done = BTreeMap::new();
    for id in functions {
        if let Some(function) = declarations.function(*id) {
            let uses = Uses::of(function, declarations, &done);
            done.insert(*id, uses);
        }
    }
    done
}

/// Whether a variable is an LLVM global that every function can name: workgroup memory and initialised program-scope data.
pub(crate) fn is_global(variable: &Variable<'_>) -> bool {
    match variable.class {
        StorageClass::Workgroup | StorageClass::CrossWorkgroup => true,
        StorageClass::UniformConstant => variable.initializer.is_some(),
        _ => false,
    }
}

/// What the variable's pointer type points to.
pub(crate) fn pointee(declarations: &Declarations<'_>, variable: &Variable<'_>) -> Option<Id> {
    match declarations.ty(variable.pointer_type)? {
        Type::Pointer { pointee, .. } => *pointee,
        _ => None,
    }
}
