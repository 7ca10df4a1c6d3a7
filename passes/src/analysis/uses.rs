//! The module-scope variables that a function uses, itself or through its callees. They determine a
//! kernel's arguments and the hidden parameters of functions.

use crate::diagnostic::Diagnostic;
use crate::module::{
    Constants, Declarations, EntryPoint, Function, Id, IdFilter, Variable, called,
};
use spirv::{Op, StorageClass};
use std::collections::{BTreeMap, BTreeSet};

/// Returns true if `op` makes a constant of others: what addresses can be in.
pub fn is_made_of_others(op: Option<Op>) -> bool {
    matches!(
        op,
        Some(Op::SpecConstantOp | Op::ConstantComposite | Op::SpecConstantComposite)
    )
}

/// A hidden parameter, which a function gets from its caller in addition to its own parameters.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Hidden {
    /// The address of a module-scope variable.
    Variable(Id),
    /// The length in bytes of the buffer of a variable.
    Length(Id),
    /// The address of the printf buffer.
    PrintBuffer,
}

/// The variables that a function uses.
#[derive(Clone, Default, Debug)]
pub struct Uses {
    /// Module-scope variables.
    pub variables: BTreeSet<Id>,
    /// Module-scope constants that hold addresses of variables.
    pub addresses: BTreeSet<Id>,
    /// Variables whose length is used.
    pub lengths: BTreeSet<Id>,
    /// True if it prints.
    pub prints: bool,
}

impl Uses {
    fn analyze(
        function: &Function<'_>,
        declarations: &Declarations<'_>,
        constants: &Constants,
        touching: &IdFilter,
        done: &BTreeMap<Id, Uses>,
    ) -> Uses {
        let mut uses = Uses::default();
        for inst in function.insts() {
            if inst.op() == Some(Op::ArrayLength)
                && let Ok(structure) = inst.id(0)
                && let Some((variable, _)) = described(declarations, structure)
            {
                uses.lengths.insert(variable);
            }
            uses.prints |= declarations.is_printf(inst);
            if touching.may_name_one(inst) {
                let ids = declarations.module.ids(inst).map(|(_, id)| id);
                for id in ids.filter(|id| touching.may_be_one(*id)) {
                    uses.reach(id, declarations, constants);
                }
            }
        }
        let callees = function.calls.iter().filter_map(|inst| called(*inst));
        for callee in callees.filter_map(|id| done.get(&id)) {
            uses.variables.extend(&callee.variables);
            uses.addresses.extend(&callee.addresses);
            uses.lengths.extend(&callee.lengths);
            uses.prints |= callee.prints;
        }
        uses
    }

    /// Adds `id` if it is a variable or holds addresses, and with it all that its initializer or
    /// constituents hold.
    fn reach(&mut self, id: Id, declarations: &Declarations<'_>, constants: &Constants) {
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            if let Some(variable) = declarations.variable(id) {
                if self.variables.insert(id) {
                    todo.extend(variable.initializer);
                }
            } else if constants.get(id).is_none()
                && let Some(inst) = declarations.module.def(id)
                && is_made_of_others(inst.op())
                && self.addresses.insert(id)
            {
                todo.extend(declarations.module.ids(inst).map(|(_, id)| id));
            }
        }
    }

    /// The hidden parameters, in the fixed order: variables, lengths, the printf buffer.
    pub fn hidden(&self, declarations: &Declarations<'_>) -> Vec<Hidden> {
        let passed = self
            .variables
            .iter()
            .filter(|id| declarations.variable(**id).is_some_and(|v| !is_global(v)));
        passed
            .map(|id| Hidden::Variable(*id))
            .chain(self.lengths.iter().map(|id| Hidden::Length(*id)))
            .chain(self.prints.then_some(Hidden::PrintBuffer))
            .collect()
    }
}

/// The instructions that may name one of the module's variables, or of the constants that are made
/// of others. Few do.
fn touching(declarations: &Declarations<'_>) -> IdFilter {
    let variables = declarations.variables.iter().map(|variable| variable.id);
    let constants = declarations
        .module
        .instructions()
        .take_while(|inst| inst.op() != Some(Op::Function))
        .filter(|inst| is_made_of_others(inst.op()))
        .filter_map(|inst| inst.result());
    IdFilter::new(
        declarations.module.words().len(),
        variables.chain(constants),
    )
}

/// The variable that the pointer to a buffer's structure comes from, and the indexes into the
/// variable's array of descriptors (none without an array). `None`: it is not one access chain from
/// a variable.
pub fn described<'m>(declarations: &Declarations<'m>, structure: Id) -> Option<(Id, &'m [u32])> {
    if declarations.variable(structure).is_some() {
        return Some((structure, &[]));
    }
    let inst = declarations.module.def(structure)?;
    let (variable, indexes) = match (inst.chain(), inst.op()?) {
        (Some(chain), _) => {
            let is_plain = chain.base_type.is_none() && chain.element.is_none();
            is_plain.then_some((chain.base, chain.indexes))?
        }
        (None, Op::CopyObject) => (inst.id(0).ok()?, &[][..]),
        _ => return None,
    };
    declarations.variable(variable)?;
    Some((variable, indexes))
}

/// Returns true if the workgroup variable shares its memory with others: a block
/// (SPV_KHR_workgroup_memory_explicit_layout: all of them begin at the same place).
pub fn is_shared_block(declarations: &Declarations<'_>, variable: &Variable<'_>) -> bool {
    variable.class == StorageClass::Workgroup
        && pointee(declarations, variable).is_some_and(|ty| {
            declarations
                .decoration(ty, spirv::Decoration::Block)
                .is_some()
        })
}

/// The functions that an entry point reaches, and what each of them touches.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The functions, callees first; the last one is the entry point's own.
    pub order: Vec<Id>,
    /// The uses of each of them; none for a function that the module does not have.
    pub uses: BTreeMap<Id, Uses>,
    /// The uses of the entry point's own function and its callees. One that uses a block in
    /// workgroup memory also uses those of its interface that are initialised with zeros, because
    /// they share their memory.
    pub own: Uses,
}

impl Reached {
    /// Collects the functions that `entry` reaches, and their uses.
    ///
    /// # Errors
    /// Those of [`Declarations::reachable_functions`].
    pub fn analyze(
        declarations: &Declarations<'_>,
        constants: &Constants,
        entry: &EntryPoint<'_>,
    ) -> Result<Reached, Diagnostic> {
        let order = declarations.reachable_functions(entry.function)?;
        let touching = touching(declarations);
        let mut uses = BTreeMap::new();
        for id in &order {
            if let Some(function) = declarations.function(*id) {
                let of = Uses::analyze(function, declarations, constants, &touching, &uses);
                uses.insert(*id, of);
            }
        }
        let mut own = uses.get(&entry.function).cloned().unwrap_or_default();
        let block = |id: &Id| {
            declarations
                .variable(*id)
                .filter(|variable| is_shared_block(declarations, variable))
        };
        if own.variables.iter().any(|id| block(id).is_some()) {
            let cleared = |id: &&Id| block(id).is_some_and(|v| v.initializer.is_some());
            own.variables.extend(entry.interface.iter().filter(cleared));
        }
        Ok(Reached { order, uses, own })
    }
}

/// Returns true if a variable is an LLVM global that every function can name: workgroup memory and
/// initialised program-scope data.
pub fn is_global(variable: &Variable<'_>) -> bool {
    match variable.class {
        StorageClass::Workgroup | StorageClass::CrossWorkgroup => true,
        StorageClass::UniformConstant => variable.initializer.is_some(),
        _ => false,
    }
}

/// The type that the variable's pointer type points to.
pub fn pointee(declarations: &Declarations<'_>, variable: &Variable<'_>) -> Option<Id> {
    declarations.pointee(variable.pointer_type)
}
