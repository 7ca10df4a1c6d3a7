//! Variables of the class Function that are accessed by parts become variables that are loaded and
//! stored as a whole, and stores to variables that nothing loads go.
//!
//! Compilers that do not optimise load one component of a vector by an OpAccessChain. As a load of
//! the vector and an OpCompositeExtract, it is a value like any other
//! ([`super::whole_variables`]).

use super::edit::Edit;
use super::inlined::entries;
use super::rewrite::RewrittenModule;
use super::whole_variables::{is_chain, is_of_function};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Constants, Declarations, Function, Id, Inst, SpecValues, Type};
use spirv::Op;
use std::collections::BTreeMap;

/// Numbers in a variable that is loaded as a whole for one of them.
const MOST_NUMBERS: u32 = 16;

/// Rewrites the entry functions of a module; `None` if there is nothing to do.
pub(super) fn access_as_a_whole(
    declarations: &Declarations<'_>,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
    let mut edit = Edit::new(declarations);
    for (_, function) in entries(declarations) {
        for accesses in accesses(declarations, function).values() {
            accesses.write(&constants, &mut edit)?;
        }
    }
    edit.finish()
}

/// All accesses to a variable.
struct Accesses<'m> {
    variable: Id,
    loads: usize,
    stores: Vec<Inst<'m>>,
    /// Access chains to parts of it, each with the loads and stores that use it.
    parts: BTreeMap<Id, (Inst<'m>, Vec<Inst<'m>>)>,
}

/// Variables that are loaded and stored as a whole and by access chains, without memory operands,
/// and that nothing else in the function names. Neither they nor their chains are decorated.
fn accesses<'m>(
    declarations: &Declarations<'m>,
    function: &Function<'m>,
) -> BTreeMap<Id, Accesses<'m>> {
    let mut found: BTreeMap<Id, Accesses<'m>> = BTreeMap::new();
    let mut chains: BTreeMap<Id, Id> = BTreeMap::new();
    let is_plain = |id: Id| declarations.decorations(id).is_empty();
    for inst in function.insts() {
        let id = inst.result().filter(|id| is_plain(*id));
        let base = inst.id(0).ok();
        match (inst.op(), id, base) {
            (Some(Op::Variable), Some(variable), _) if is_of_function(declarations, inst) => {
                let accesses = Accesses {
                    variable,
                    loads: 0,
                    stores: Vec::new(),
                    parts: BTreeMap::new(),
                };
                found.insert(variable, accesses);
            }
            (_, Some(chain), Some(base)) if is_chain(inst) => {
                if let Some(accesses) = found.get_mut(&base) {
                    accesses.parts.insert(chain, (inst, Vec::new()));
                    chains.insert(chain, base);
                }
            }
            _ => {} // looked at below
        }
    }
    for inst in function.insts() {
        let (pointer, value) = match (inst.op(), inst.operands()) {
            (Some(Op::Load), [pointer]) => (Some(Id(*pointer)), None),
            (Some(Op::Store), [pointer, value]) => (Some(Id(*pointer)), Some(Id(*value))),
            (Some(Op::Variable), _) => (inst.result(), None),
            _ if is_chain(inst) => {
                let chain = inst.result().filter(|chain| chains.contains_key(chain));
                (chain.and_then(|chain| chains.get(&chain)).copied(), None)
            }
            _ => (None, None), // whoever else names one may do anything with it
        };
        let result = inst.result();
        for (_, id) in declarations.module.ids(inst) {
            let is_access = Some(id) == pointer && Some(id) != value;
            if !is_access && Some(id) != result {
                found.remove(chains.get(&id).unwrap_or(&id));
            }
        }
        let Some(pointer) = pointer else {
            continue;
        };
        let is_store = value.is_some();
        let is_access = is_store || inst.op() == Some(Op::Load);
        match chains.get(&pointer) {
            Some(variable) if is_access => {
                let accesses = found.get_mut(variable);
                if let Some((_, uses)) = accesses.and_then(|all| all.parts.get_mut(&pointer)) {
                    uses.push(inst);
                }
            }
            None if is_store => {
                if let Some(accesses) = found.get_mut(&pointer) {
                    accesses.stores.push(inst);
                }
            }
            None if is_access => {
                if let Some(accesses) = found.get_mut(&pointer) {
                    accesses.loads += 1;
                }
            }
            _ => {} // a variable or a chain itself
        }
    }
    found
}

impl<'m> Accesses<'m> {
    fn write(&self, constants: &Constants, edit: &mut Edit<'_, 'm>) -> Result<(), Diagnostic> {
        let declarations = edit.declarations;
        let uses = || self.parts.values().flat_map(|(_, uses)| uses);
        if self.loads == 0 && uses().all(|access| access.op() == Some(Op::Store)) {
            for store in self.stores.iter().chain(uses()) {
                edit.remove(store.offset);
            }
            return Ok(());
        }
        let Some(ty) = declarations.pointee_of(self.variable) else {
            return Ok(());
        };
        let is_small = numbers(declarations, constants, ty).is_some_and(|all| all <= MOST_NUMBERS);
        let parts = self.parts.values().map(|(chain, uses)| {
            let part = part(declarations, constants, ty, *chain)?;
            let is_stored = uses.iter().any(|access| access.op() == Some(Op::Store));
            (part.dynamic.is_none() || !is_stored).then_some((part, chain, uses))
        });
        let Some(parts) = parts.collect::<Option<Vec<_>>>().filter(|_| is_small) else {
            return Ok(());
        };
        for (part, chain, uses) in parts {
            for access in uses {
                self.access(edit, ty, &part, *access)?;
            }
            if chain
                .result()
                .is_some_and(|id| declarations.name(id).is_none())
            {
                edit.remove(chain.offset);
            }
        }
        Ok(())
    }

    /// Writes a load or store of a part as one of the whole.
    fn access(
        &self,
        edit: &mut Edit<'_, 'm>,
        ty: Id,
        part: &Part,
        access: Inst<'m>,
    ) -> Result<(), Diagnostic> {
        let place = access.offset;
        let whole = edit.fresh()?;
        let variable = self.variable.0;
        edit.before(place, Op::Load, &[ty.0, whole, variable])?;
        if let (Some(part_type), Some(result)) = (access.result_type(), access.result()) {
            let (ty, result) = (part_type.0, result.0);
            let Some((vector, index)) = part.dynamic else {
                let operands = [&[ty, result, whole][..], &part.path].concat();
                return edit.replace(place, Op::CompositeExtract, &operands);
            };
            let mut from = whole;
            if !part.path.is_empty() {
                from = edit.fresh()?;
                let operands = [&[vector.0, from, whole][..], &part.path].concat();
                edit.before(place, Op::CompositeExtract, &operands)?;
            }
            return edit.replace(
                place,
                Op::VectorExtractDynamic,
                &[ty, result, from, index.0],
            );
        }
        let value = access
            .id(1)
            .map_err(|_| Diagnostic::bug("a store has no value"))?;
        let changed = edit.fresh()?;
        let operands = [&[ty.0, changed, value.0, whole][..], &part.path].concat();
        edit.before(place, Op::CompositeInsert, &operands)?;
        edit.replace(place, Op::Store, &[variable, changed])
    }
}

/// Where a part of a variable lies.
struct Part {
    /// Indices that are constant.
    path: Vec<u32>,
    /// The last index, into a vector of this type, where it is not constant.
    dynamic: Option<(Id, Id)>,
}

/// The part that an access chain leads to.
fn part(
    declarations: &Declarations<'_>,
    constants: &Constants,
    ty: Id,
    chain: Inst<'_>,
) -> Option<Part> {
    let (mut at, mut path) = (ty, Vec::new());
    let indices = chain
        .operands()
        .get(1..)
        .filter(|indices| !indices.is_empty())?;
    for (number, index) in indices.iter().enumerate() {
        let index = Id(*index);
        let (next, count) = match declarations.ty(at)? {
            Type::Vector { component, count } => (*component, *count),
            Type::Matrix { column, count } => (*column, *count),
            Type::Array { element, length } => (*element, constants.as_u32(*length)?),
            Type::Struct { members } => {
                let member = constants.as_u32(index)?;
                let count = u32::try_from(members.len()).ok()?;
                (*members.get(usize::try_from(member).ok()?)?, count)
            }
            _ => return None, // nothing else has parts
        };
        match constants
            .as_u32(index)
            .filter(|_| !constants.is_default(index))
        {
            Some(constant) if constant < count => path.push(constant),
            Some(_) => return None,
            None => {
                let is_last = number + 1 == indices.len();
                let is_vector = matches!(declarations.ty(at), Some(Type::Vector { .. }));
                return (is_last && is_vector).then_some(Part {
                    path,
                    dynamic: Some((at, index)),
                });
            }
        }
        at = next;
    }
    Some(Part {
        path,
        dynamic: None,
    })
}

/// How many numbers a type has; `None` for types that are not made of numbers, or whose size is not
/// the same in every run.
fn numbers(declarations: &Declarations<'_>, constants: &Constants, ty: Id) -> Option<u32> {
    let of = |ty: Id| numbers(declarations, constants, ty);
    match declarations.ty(ty)? {
        Type::Bool | Type::Int { .. } | Type::Float { .. } => Some(1),
        Type::Vector { component, count } => of(*component)?.checked_mul(*count),
        Type::Matrix { column, count } => of(*column)?.checked_mul(*count),
        Type::Array { element, length } => {
            let length = Some(*length).filter(|length| !constants.is_default(*length))?;
            of(*element)?.checked_mul(constants.as_u32(length)?)
        }
        Type::Struct { members } => {
            let mut all = members.iter().map(|member| of(*member));
            all.try_fold(0u32, |sum, one| sum.checked_add(one?))
        }
        _ => None,
    }
}
