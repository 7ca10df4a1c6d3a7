//! The workgroup arrays that an iteration of a loop fills for itself, with a buffer for each of
//! several iterations: a leading dimension.

use super::reason::Reason;
use crate::diagnostic::Diagnostic;
use crate::module::{Declarations, Function, Id, Inst, Type, WordOffset};
use crate::transform::edit::Edit;
use crate::transform::operands::literal;
use crate::transform::whole_variables::{Spot, is_chain};
use spirv::{Decoration, Op, StorageClass};
use std::collections::{BTreeMap, BTreeSet};

/// Arrays, and all that leads into them.
pub(in crate::transform) struct Arrays<'m> {
    pub(in crate::transform) variables: BTreeSet<Id>,
    /// By pointer into an array, the arrays' own among them: the instruction that makes it.
    pointers: BTreeMap<Id, Inst<'m>>,
    /// Access chains that begin with an array.
    chains: Vec<(Spot, Inst<'m>)>,
    /// Loads and stores.
    pub(in crate::transform) accesses: Vec<(Spot, Inst<'m>)>,
    /// Variables that have a leading dimension of buffers already, from a loop that is executed in
    /// place of this one.
    spare: BTreeSet<Id>,
}

/// The word of the pointer in a load, a store or an access chain.
fn pointer_word(inst: Inst<'_>) -> Option<usize> {
    match inst.op()? {
        Op::Store | Op::CooperativeMatrixStoreKHR => Some(1),
        Op::Load | Op::CooperativeMatrixLoadKHR | Op::AccessChain | Op::InBoundsAccessChain => {
            Some(3)
        }
        _ => None,
    }
}

/// Returns true for instructions that store a value (operand 1) to a pointer (operand 0).
pub(in crate::transform) fn is_store(inst: Inst<'_>) -> bool {
    matches!(inst.op(), Some(Op::Store | Op::CooperativeMatrixStoreKHR))
}

/// The workgroup variable that access chains lead to `pointer` from.
pub(in crate::transform) fn array_of(declarations: &Declarations<'_>, pointer: Id) -> Option<Id> {
    let mut at = declarations.module.def(pointer)?;
    while is_chain(at) {
        at = declarations.module.def(at.id(0).ok()?)?;
    }
    let class = at.operand(0).ok();
    let is_shared = at.op() == Some(Op::Variable) && class == Some(StorageClass::Workgroup as u32);
    at.result().filter(|_| is_shared)
}

impl<'m> Arrays<'m> {
    /// What leads into `variables` in `function`.
    ///
    /// # Errors
    /// Why they cannot have several buffers.
    pub(in crate::transform) fn find(
        declarations: &Declarations<'m>,
        function: &Function<'m>,
        variables: BTreeSet<Id>,
    ) -> Result<Arrays<'m>, Reason> {
        let module = declarations.module;
        let mut arrays = Arrays {
            pointers: BTreeMap::new(),
            variables,
            chains: Vec::new(),
            accesses: Vec::new(),
            spare: BTreeSet::new(),
        };
        for variable in &arrays.variables {
            let def = module.def(*variable).ok_or(Reason::Layout)?;
            let is_plain = def.operands().len() == 1 && is_laid_out_freely(declarations, def);
            if !is_plain {
                return Err(Reason::Layout);
            }
            arrays.pointers.insert(*variable, def);
        }
        // A pointer is made before it is used, but in phis, which are refused.
        for (block, insts) in function.numbered() {
            for (index, inst) in insts.insts.iter().enumerate() {
                arrays.take(declarations, (block, index), *inst)?;
            }
        }
        for inst in module.instructions() {
            let is_own = function.offset <= inst.offset && inst.offset < function.end;
            let is_quiet = inst
                .op()
                .is_some_and(|op| op.is_debug() || op.is_annotation() || op == Op::EntryPoint);
            let mut ids = module.ids(inst).map(|(_, id)| id);
            if !is_own
                && !is_quiet
                && ids.any(|id| Some(id) != inst.result() && arrays.variables.contains(&id))
            {
                return Err(Reason::UsedElsewhere);
            }
        }
        Ok(arrays)
    }

    fn take(
        &mut self,
        declarations: &Declarations<'m>,
        spot: Spot,
        inst: Inst<'m>,
    ) -> Result<(), Reason> {
        let word = pointer_word(inst);
        let mut base = None;
        for (index, id) in declarations.module.ids(inst) {
            if Some(id) == inst.result() || !self.pointers.contains_key(&id) {
                continue;
            }
            if Some(index) != word {
                return Err(Reason::Pointers);
            }
            base = Some(id);
        }
        let Some(base) = base else {
            return Ok(());
        };
        if !is_chain(inst) {
            self.accesses.push((spot, inst));
            return Ok(());
        }
        if let Some(result) = inst.result() {
            self.pointers.insert(result, inst);
        }
        if self.variables.contains(&base) {
            self.chains.push((spot, inst));
        }
        Ok(())
    }

    /// Notes which variables need no new dimension: theirs has as many elements as there are
    /// `buffers`, and all accesses that are `inside` go to the first of them. Accesses elsewhere
    /// are executed in place of these.
    pub(in crate::transform) fn reuse(
        &mut self,
        declarations: &Declarations<'m>,
        buffers: u32,
        is_inside: impl Fn(Spot) -> bool,
    ) {
        let number = |id: Id| literal(declarations, id);
        let has_as_many = |variable: Id| {
            let pointee = declarations.pointee_of(variable);
            let length = match pointee.and_then(|pointee| declarations.ty(pointee)) {
                Some(Type::Array { length, .. }) => number(*length),
                _ => None,
            };
            length == Some(buffers)
        };
        let is_elsewhere = |variable: Id| {
            let mut others = self.accesses.iter().filter(|(spot, _)| !is_inside(*spot));
            others.any(|(_, access)| self.chain_of(*access).0 == Some(variable))
        };
        let is_first = |variable: Id| {
            let mut own = self.accesses.iter().filter(|(spot, _)| is_inside(*spot));
            own.all(|(_, access)| match self.chain_of(*access) {
                (Some(root), index) if root == variable => index.and_then(number) == Some(0),
                (Some(_), _) => true,
                (None, _) => false,
            })
        };
        let variables = self.variables.iter().copied();
        let spare = variables.filter(|one| has_as_many(*one) && is_elsewhere(*one));
        self.spare = spare.filter(|one| is_first(*one)).collect();
    }

    /// Returns true if a variable needs no new dimension.
    pub(in crate::transform) fn is_spare(&self, variable: Id) -> bool {
        self.spare.contains(&variable)
    }

    /// The variable that an access goes to, and the first index of the chain that begins there.
    fn chain_of(&self, access: Inst<'m>) -> (Option<Id>, Option<Id>) {
        let word = pointer_word(access).and_then(|word| access.words.get(word));
        let Some(pointer) = word.map(|word| Id(*word)) else {
            return (None, None);
        };
        let (root, index) = match self.chains_of(pointer).last() {
            Some(chain) => (chain.id(0).ok(), chain.id(1).ok()),
            None => (Some(pointer), None),
        };
        (root.filter(|id| self.variables.contains(id)), index)
    }

    /// The access chains that lead to `pointer`, the one next to it first.
    fn chains_of(&self, pointer: Id) -> impl Iterator<Item = Inst<'m>> + '_ {
        let chain = |id: Id| self.pointers.get(&id).copied().filter(|def| is_chain(*def));
        std::iter::successors(chain(pointer), move |above| chain(above.id(0).ok()?))
    }

    /// The word of `inst` with a pointer into an array.
    fn pointer_word(&self, inst: Inst<'_>) -> Option<usize> {
        let word = pointer_word(inst)?;
        let id = inst.words.get(word)?;
        self.pointers.contains_key(&Id(*id)).then_some(word)
    }

    /// Gives each array the leading dimension `buffers`, under its id.
    pub(in crate::transform) fn declare(
        &self,
        edit: &mut Edit<'_, 'm>,
        buffers: u32,
    ) -> Result<(), Diagnostic> {
        let lost = || Diagnostic::bug("a workgroup variable has no type");
        let class = StorageClass::Workgroup as u32;
        let length = edit.number(buffers)?;
        let mut known: BTreeMap<Id, u32> = BTreeMap::new();
        for variable in self.variables.difference(&self.spare) {
            let def = self.pointers.get(variable).ok_or_else(lost)?;
            let pointee = edit.declarations.pointee_of(*variable).ok_or_else(lost)?;
            let ty = match known.get(&pointee) {
                Some(ty) => *ty,
                None => edit.global(Op::TypeArray, &[0, pointee.0, length], 0)?,
            };
            known.insert(pointee, ty);
            let pointer = edit.type_of(Op::TypePointer, &[class, ty])?;
            edit.remove(def.offset);
            edit.declare(Op::Variable, &[pointer, variable.0, class])?;
        }
        Ok(())
    }

    /// Has all accesses that are `inside` go to the buffer with the number `index`, all others to
    /// the first one, and leaves no access chain without a buffer.
    pub(in crate::transform) fn rebase(
        &self,
        edit: &mut Edit<'_, 'm>,
        index: u32,
        is_inside: impl Fn(Spot) -> bool,
        is_gone: impl Fn(Inst<'m>) -> bool,
    ) -> Result<(), Diagnostic> {
        let zero = edit.number(0)?;
        let [inside, outside] = [index, zero].map(|index| Indexed {
            arrays: self,
            index,
        });
        let mut made_inside = BTreeSet::new();
        for (spot, chain) in &self.chains {
            let is_spare = chain.id(0).is_ok_and(|base| self.spare.contains(&base));
            if is_spare && !is_inside(*spot) {
                continue; // it says its buffer
            }
            let indexed = if is_inside(*spot) { inside } else { outside };
            let mut words = chain.words.to_vec();
            indexed.index(*chain, &mut words);
            let op = chain
                .op()
                .ok_or_else(|| Diagnostic::bug("a chain is none"))?;
            edit.replace(chain.offset, op, words.get(1..).unwrap_or(&[]))?;
            if is_inside(*spot) {
                made_inside.extend(chain.result());
            }
        }
        for (spot, access) in self.accesses.iter().filter(|(_, inst)| !is_gone(*inst)) {
            let word = pointer_word(*access);
            let lost = || Diagnostic::bug("an access has no pointer");
            let word = word.ok_or_else(lost)?;
            let pointer = Id(*access.words.get(word).ok_or_else(lost)?);
            let is_inside = is_inside(*spot);
            let is_done = if is_inside {
                self.is_made_inside(pointer, &made_inside)
            } else {
                self.chain_of(*access).1.is_some()
            };
            if is_done {
                continue;
            }
            let mut words = access.words.to_vec();
            let here = (access.offset, access.offset);
            let indexed = if is_inside { inside } else { outside };
            let name = indexed.pointer(edit, here, pointer)?;
            if let Some(slot) = words.get_mut(word) {
                *slot = name;
            }
            let op = access.op().ok_or_else(lost)?;
            edit.replace(access.offset, op, words.get(1..).unwrap_or(&[]))?;
        }
        Ok(())
    }

    /// Returns true if the chain of `pointer` begins in the loop.
    fn is_made_inside(&self, pointer: Id, made_inside: &BTreeSet<Id>) -> bool {
        let mut results = self.chains_of(pointer).filter_map(|chain| chain.result());
        results.any(|result| made_inside.contains(&result))
    }
}

/// Returns true if a variable's type has no explicit layout, and its decorations ask for none.
fn is_laid_out_freely(declarations: &Declarations<'_>, variable: Inst<'_>) -> bool {
    let is_free = |id: Id| {
        let decorations = declarations.decorations(id);
        decorations.iter().all(|one| {
            one.kind == Decoration::RelaxedPrecision as u32
                || one.kind == Decoration::Restrict as u32
        })
    };
    let Some(variable) = variable.result() else {
        return false;
    };
    let Some(mut at) = declarations.pointee_of(variable) else {
        return false;
    };
    if !is_free(variable) {
        return false;
    }
    loop {
        if !is_free(at) {
            return false;
        }
        match declarations.ty(at) {
            Some(Type::Array { element, .. }) => at = *element,
            _ => return true,
        }
    }
}

/// Arrays, and one of their buffers.
#[derive(Copy, Clone)]
pub(in crate::transform) struct Indexed<'a, 'm> {
    pub(in crate::transform) arrays: &'a Arrays<'m>,
    /// The id of the buffer's number.
    pub(in crate::transform) index: u32,
}

impl<'m> Indexed<'_, 'm> {
    /// The word of `inst` with a pointer into an array, but for the arrays' own in access chains.
    pub(in crate::transform) fn pointer_word(&self, inst: Inst<'_>) -> Option<usize> {
        let word = self.arrays.pointer_word(inst)?;
        let id = Id(*inst.words.get(word)?);
        let is_first = is_chain(inst) && self.arrays.variables.contains(&id);
        (!is_first).then_some(word)
    }

    /// Puts the buffer's number into the words of an access chain that begins with an array.
    pub(in crate::transform) fn index(&self, inst: Inst<'_>, words: &mut Vec<u32>) {
        let base = inst.id(0).ok().filter(|_| is_chain(inst));
        let Some(base) = base.filter(|base| self.arrays.variables.contains(base)) else {
            return;
        };
        match words
            .get_mut(4)
            .filter(|_| self.arrays.spare.contains(&base))
        {
            Some(buffer) => *buffer = self.index,
            None => words.insert(4, self.index),
        }
    }

    /// Makes `pointer`, whose chain begins outside of the loop, again for the buffer, before the
    /// instruction at a place and for the one at an origin.
    pub(in crate::transform) fn pointer(
        &self,
        edit: &mut Edit<'_, 'm>,
        (place, origin): (WordOffset, WordOffset),
        pointer: Id,
    ) -> Result<u32, Diagnostic> {
        let lost = || Diagnostic::bug("a pointer to an array is not known");
        let mut links = Vec::new();
        let mut at = pointer;
        let root = loop {
            let def = self.arrays.pointers.get(&at).ok_or_else(lost)?;
            if !is_chain(*def) {
                break *def;
            }
            links.push(*def);
            at = def.id(0).map_err(|_| lost())?;
        };
        if links.is_empty() {
            let ty = root.result_type().ok_or_else(lost)?;
            let fresh = edit.fresh()?;
            let operands = [ty.0, fresh, at.0, self.index];
            edit.before_from(place, origin, Op::AccessChain, &operands)?;
            return Ok(fresh);
        }
        let mut base = at.0;
        for link in links.iter().rev() {
            let mut words = link.words.to_vec();
            let fresh = edit.fresh()?;
            if let Some(result) = words.get_mut(2) {
                *result = fresh;
            }
            if let Some(slot) = words.get_mut(3) {
                *slot = base;
            }
            self.index(*link, &mut words);
            let op = link.op().ok_or_else(lost)?;
            let operands = words.get(1..).unwrap_or(&[]);
            edit.before_from(place, origin, op, operands)?;
            base = fresh;
        }
        Ok(base)
    }
}
