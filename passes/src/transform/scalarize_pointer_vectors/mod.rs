//! Writes vectors of pointers (SPV_INTEL_masked_gather_scatter) as structures of pointers, and what
//! works on all components of one as an instruction for each: what knows pointers then knows these.
//!
//! A structure is built, taken apart, loaded, stored, passed and returned as the vector was. A
//! gather becomes a predicated load for each component (SPV_INTEL_predicated_io), a scatter a
//! predicated store; the pass `branch-on-predicates` makes branches of them.

mod components;

use super::edit::{Edit, declaring};
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::analysis::guarded::{
    self, MASKED_CAPABILITY, MASKED_EXTENSION, PREDICATED_CAPABILITY, PREDICATED_EXTENSION,
    pointer_vector,
};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::{Declarations, Id, Inst, Module, Type};
use components::Components;
use spirv::{Capability, Op, StorageClass};
use std::collections::BTreeMap;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    _: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let vectors: BTreeMap<Id, (Id, u32)> = declarations
        .types()
        .filter_map(|(id, _)| Some((id, pointer_vector(declarations, id)?)))
        .collect();
    let declared = declaring(module, MASKED_CAPABILITY, MASKED_EXTENSION);
    if vectors.is_empty() && declared.is_empty() {
        return Ok(None);
    }
    check(declarations, &vectors)?;
    let mut edit = Edit::new(declarations);
    for (id, (component, count)) in &vectors {
        let Some(inst) = module.def(*id) else {
            continue; // a type of the table has its declaration
        };
        let mut operands = vec![id.0];
        operands.extend(std::iter::repeat_n(component.0, *count as usize));
        edit.replace(inst.offset, Op::TypeStruct, &operands)?;
    }
    let mut pass = Components::new(edit, &vectors);
    for function in &declarations.functions {
        for block in &function.blocks {
            for inst in &block.insts {
                pass.instruction(block, *inst)?;
            }
        }
    }
    let (mut edit, has_accesses) = pass.into_edit();
    undeclare(&mut edit, &declared)?;
    if has_accesses {
        declare(&mut edit)?;
    }
    edit.finish()
}

/// Takes the extension away. Its capability declares Kernel, which stays.
fn undeclare(edit: &mut Edit<'_, '_>, declared: &[Inst<'_>]) -> Result<(), Diagnostic> {
    let mut has_kernel = edit
        .declarations
        .capabilities
        .iter()
        .any(|(number, _)| *number == Capability::Kernel as u32);
    for inst in declared {
        if inst.op() == Some(Op::Capability) && !has_kernel {
            let kernel = Capability::Kernel as u32;
            edit.replace(inst.offset, Op::Capability, &[kernel])?;
            has_kernel = true;
        } else {
            edit.remove(inst.offset);
        }
    }
    Ok(())
}

/// Declares predicated accesses.
fn declare(edit: &mut Edit<'_, '_>) -> Result<(), Diagnostic> {
    let declarations = edit.declarations;
    let mut numbers = declarations.capabilities.iter().map(|(number, _)| *number);
    if !numbers.any(|number| number == PREDICATED_CAPABILITY) {
        edit.capability(PREDICATED_CAPABILITY)?;
    }
    if !declarations
        .extensions
        .iter()
        .any(|name| name == PREDICATED_EXTENSION)
    {
        edit.extension(PREDICATED_EXTENSION)?;
    }
    Ok(())
}

/// That the rules SB1702 and SB1703 are kept, and that no vector lies where its structure would
/// lie in another way: in arrays and structures, and in memory that others see with the gap behind
/// three components.
///
/// # Errors
/// What these rules report, `UnsupportedType` and `UnsupportedInstruction`.
fn check(
    declarations: &Declarations<'_>,
    vectors: &BTreeMap<Id, (Id, u32)>,
) -> Result<(), Diagnostics> {
    let mut found = Diagnostics::new();
    let problems = guarded::masked(declarations);
    guarded::errors(Code::MaskedAccess, problems, &mut found);
    let problems = guarded::undeclared_masked(declarations);
    guarded::errors(Code::GuardedCapability, problems, &mut found);
    for (id, ty) in declarations.types() {
        if let Some(what) = misplaced(ty, vectors)
            && let Some(inst) = declarations.module.def(id)
        {
            let message = format!("{what} is not lowered");
            found.push(Diagnostic::error(Code::UnsupportedType, message).at_word(inst.offset));
        }
    }
    let first = declarations.functions.first().map(|first| first.offset);
    let globals = declarations.module.instructions();
    for inst in globals.take_while(|inst| first.is_none_or(|first| inst.offset < first)) {
        let is_vector = inst
            .result_type()
            .is_some_and(|ty| vectors.contains_key(&ty));
        if is_vector && matches!(inst.op(), Some(Op::Variable | Op::SpecConstantOp)) {
            let message = format!("{} with a vector of pointers is not lowered", inst.name());
            let error = Diagnostic::error(Code::UnsupportedInstruction, message);
            found.push(error.at_word(inst.offset));
        }
    }
    if found.has_errors() {
        Err(found)
    } else {
        Ok(())
    }
}

/// What a type is that has a vector of pointers where a structure would lie in another way.
fn misplaced(ty: &Type, vectors: &BTreeMap<Id, (Id, u32)>) -> Option<&'static str> {
    let has = |id: &Id| vectors.contains_key(id);
    match ty {
        Type::Array { element, .. } | Type::RuntimeArray { element } => {
            has(element).then_some("an array of vectors of pointers")
        }
        Type::Struct { members } => members
            .iter()
            .any(has)
            .then_some("a structure with a vector of pointers"),
        Type::Pointer { class, pointee } => {
            let count = pointee
                .and_then(|id| vectors.get(&id))
                .map(|(_, count)| *count);
            let is_own = matches!(class, StorageClass::Function | StorageClass::Private);
            (count == Some(3) && !is_own)
                .then_some("a vector of three pointers in memory that others see")
        }
        _ => None, // it has no parts in memory
    }
}
