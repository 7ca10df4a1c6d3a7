//! Promotes variables to values: their definitions, and the places where these merge.
//!
//! A variable of class Function or Private is followed when its address goes nowhere but into
//! loads, stores and calls. Phis stand at the iterated dominance frontier of its stores (Cytron and
//! others, 1991).

use super::memory::Memory;
use super::scalar_width;
use crate::module::{BlockIndex, Declarations, Function, Id, Inst, Type, WordOffset, callee};
use spirv::{Op, StorageClass};

/// Bound on steps of the walk that finds dominance frontiers, and on phis, each times blocks, with
/// a least one.
pub(super) const STEPS_PER_BLOCK: usize = 64;
pub(super) const LEAST_STEPS: usize = 1 << 16;

/// Most indices of an address that is followed.
const MOST_INDICES: u32 = 32;

/// A variable of class Function or Private.
#[derive(Clone, Debug)]
pub(super) struct Variable<'m> {
    pub(super) id: Id,
    /// Its address goes somewhere where it cannot be followed.
    escapes: bool,
    /// What may change it, with the block: stores, and calls that are given its address.
    changes: Vec<(BlockIndex, Inst<'m>)>,
}

/// The variables that a function names, from one walk over it.
#[derive(Clone, Debug)]
pub(super) struct Variables<'m> {
    pub(super) all: Vec<Variable<'m>>,
    /// By word of the function: for an address of a variable its number and how many indices lead
    /// there.
    addresses: Vec<Option<(u32, u32)>>,
    /// Offset of the function's first word.
    start: WordOffset,
    /// Private variables of the module and their numbers, ascending.
    private: Vec<(Id, u32)>,
    /// Calls that may change the Private variables that other functions name, with the block.
    pub(super) impure_calls: Vec<(BlockIndex, Inst<'m>)>,
}

impl<'m> Variables<'m> {
    pub(super) fn analyze(
        declarations: &Declarations<'m>,
        memory: &Memory,
        function: &Function<'m>,
    ) -> Variables<'m> {
        let words = function.end.since(function.offset).unwrap_or_default();
        let mut variables = Variables {
            all: Vec::new(),
            addresses: vec![None; words],
            start: function.offset,
            private: Vec::new(),
            impure_calls: Vec::new(),
        };
        for variable in &declarations.variables {
            if variable.class == StorageClass::Private {
                let number = variables.add(variable.id);
                variables.private.push((variable.id, number));
            }
        }
        variables.private.sort_unstable();
        // Definitions come before uses in the order of blocks; an address that goes through a phi
        // or a selection has escaped there.
        for (index, block) in function.numbered() {
            for inst in &block.insts {
                if inst.op() == Some(Op::Variable) {
                    if let Some(id) = inst.result() {
                        let number = variables.add(id);
                        variables.note(inst.offset, number, 0);
                    }
                    continue;
                }
                if callee(*inst).is_some_and(|function| !memory.is_pure(function)) {
                    variables.impure_calls.push((index, *inst));
                }
                variables.uses(declarations, index, *inst);
            }
        }
        variables
    }

    fn add(&mut self, id: Id) -> u32 {
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX); // there are fewer than words
        self.all.push(Variable {
            id,
            escapes: false,
            changes: Vec::new(),
        });
        number
    }

    fn note(&mut self, offset: WordOffset, variable: u32, indices: u32) {
        let slot = offset.since(self.start);
        if let Some(slot) = slot.and_then(|slot| self.addresses.get_mut(slot)) {
            *slot = Some((variable, indices));
        }
    }

    /// What happens to addresses of variables in `inst`.
    fn uses(&mut self, declarations: &Declarations<'m>, block: BlockIndex, inst: Inst<'m>) {
        let operands = inst.operands();
        for (place, word) in operands.iter().enumerate() {
            let Some((variable, indices)) = self.address(declarations, Id(*word)) else {
                continue;
            };
            let fine = match inst.op() {
                // Literals after the address may look like ids.
                Some(Op::Load) => true,
                Some(Op::AccessChain | Op::InBoundsAccessChain) => {
                    let indices = indices + operands.len() as u32; // an instruction has fewer than 2^16 words
                    if place == 0 {
                        self.note(inst.offset, variable, indices);
                    }
                    place == 0 && indices <= MOST_INDICES
                }
                Some(Op::Store) if place == 0 => {
                    self.change(variable, block, inst);
                    true
                }
                Some(Op::FunctionCall) if place > 0 => {
                    self.change(variable, block, inst);
                    true
                }
                _ => !declarations.module.ids(inst).any(|(_, id)| id.0 == *word), // a literal, or the address goes somewhere else
            };
            if let Some(variable) = self.all.get_mut(variable as usize).filter(|_| !fine) {
                variable.escapes = true;
            }
        }
    }

    fn change(&mut self, variable: u32, block: BlockIndex, inst: Inst<'m>) {
        if let Some(variable) = self.all.get_mut(variable as usize) {
            variable.changes.push((block, inst));
        }
    }

    fn address(&self, declarations: &Declarations<'_>, id: Id) -> Option<(u32, u32)> {
        let at = declarations.module.definition(id)?;
        match at.since(self.start) {
            Some(slot) => *self.addresses.get(slot)?,
            None => {
                let place = self
                    .private
                    .binary_search_by_key(&id, |(private, _)| *private)
                    .ok()?;
                self.private.get(place).map(|(_, number)| (*number, 0))
            }
        }
    }

    /// The variable that can be followed and whose address, or part of it, `pointer` is: its
    /// number.
    pub(super) fn behind(&self, declarations: &Declarations<'_>, pointer: Id) -> Option<u32> {
        let (number, _) = self.address(declarations, pointer)?;
        (!self.all.get(number as usize)?.escapes).then_some(number)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// What may change the variable `number` by its address.
    pub(super) fn changes(&self, number: u32) -> &[(BlockIndex, Inst<'m>)] {
        self.all
            .get(number as usize)
            .map_or(&[], |variable| variable.changes.as_slice())
    }

    /// Returns true if calls can change the variable `number` without being given its address.
    pub(super) fn is_shared(&self, memory: &Memory, function: Id, number: u32) -> bool {
        self.all
            .get(number as usize)
            .is_some_and(|variable| memory.is_shared_private(variable.id, function))
    }

    /// Calls that may change variables for which [`Variables::is_shared`] is true.
    pub(super) fn impure_calls(&self) -> &[(BlockIndex, Inst<'m>)] {
        &self.impure_calls
    }
}

/// Bits of a scalar integer or Boolean variable, 0 for others.
pub(super) fn width(declarations: &Declarations<'_>, variable: Id) -> u32 {
    match declarations
        .type_of(variable)
        .and_then(|ty| declarations.ty(ty))
    {
        Some(Type::Pointer {
            pointee: Some(pointee),
            ..
        }) => scalar_width(declarations, *pointee),
        _ => 0, // not a variable
    }
}
