//! Variables of an invocation that only the part before the first barrier of a loop uses.
//!
//! An iteration may read the values that the one before it left there. The copies of that part are
//! executed in the order of the iterations, so with a variable that all of them share, each reads
//! what it read before.

use super::shape::Shape;
use crate::module::{Declarations, Id, Inst};
use crate::transform::whole_variables::{Spot, is_chain, is_of_function};
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};

/// The variables, and what is done with them.
#[derive(Default)]
pub(in crate::transform) struct Scratch {
    /// Each variable with all of its accesses and access chains, and whether they store.
    accesses: BTreeMap<Id, Vec<(Spot, bool)>>,
    /// By pointer: the variable that it leads into.
    roots: BTreeMap<Id, Id>,
}

impl Scratch {
    /// Those of a loop: undecorated variables of the class Function, without initializer, that are
    /// accessed by loads, stores and access chains without memory operands.
    pub(in crate::transform) fn find(
        declarations: &Declarations<'_>,
        shape: &Shape<'_, '_>,
    ) -> Scratch {
        let mut scratch = Scratch::default();
        let is_plain = |id: Id| declarations.decorations(id).is_empty();
        for inst in shape.function.insts() {
            if let Some(id) = inst.result().filter(|id| is_plain(*id))
                && inst.op() == Some(Op::Variable)
                && inst.operands().len() == 1
                && is_of_function(declarations, inst)
            {
                scratch.accesses.insert(id, Vec::new());
                scratch.roots.insert(id, id);
            }
        }
        let mut refused = BTreeSet::new();
        for (block, insts) in shape.function.numbered() {
            for (index, inst) in insts.insts.iter().enumerate() {
                scratch.take(declarations, shape, (block, index), *inst, &mut refused);
            }
        }
        scratch
            .accesses
            .retain(|id, accesses| !refused.contains(id) && !accesses.is_empty());
        let kept = &scratch.accesses;
        scratch.roots.retain(|_, root| kept.contains_key(root));
        scratch
    }

    /// Looks at an instruction. A pointer is made before it is used, but in phis, which are
    /// refused.
    fn take(
        &mut self,
        declarations: &Declarations<'_>,
        shape: &Shape<'_, '_>,
        spot: Spot,
        inst: Inst<'_>,
        refused: &mut BTreeSet<Id>,
    ) {
        let is_store = inst.op() == Some(Op::Store);
        let is_chain = is_chain(inst);
        let pointer = match (inst.op(), inst.operands()) {
            (Some(Op::Load), [pointer]) | (Some(Op::Store), [pointer, _]) => Some(Id(*pointer)),
            _ if is_chain => inst.id(0).ok(),
            _ => None, // whoever else names one may do anything with it
        };
        let value = inst.id(1).ok().filter(|_| is_store);
        let is_inside = shape.is_in_region(spot) || shape.region.inner_of(spot.0).is_some();
        for (_, id) in declarations.module.ids(inst) {
            let Some(root) = self.roots.get(&id).copied() else {
                continue;
            };
            if Some(id) == inst.result() {
                continue;
            }
            if Some(id) != pointer || Some(id) == value || !is_inside {
                refused.insert(root);
                continue;
            }
            if let Some(accesses) = self.accesses.get_mut(&root) {
                accesses.push((spot, is_store));
            }
            if let Some(chain) = inst.result().filter(|_| is_chain) {
                self.roots.insert(chain, root);
            }
        }
    }

    /// The variable that a pointer leads into, if it is one of these.
    pub(in crate::transform) fn root(&self, pointer: Id) -> Option<Id> {
        self.roots.get(&pointer).copied()
    }

    /// All the stores to a variable.
    pub(in crate::transform) fn stores(&self, variable: Id) -> impl Iterator<Item = Spot> {
        let accesses = self.accesses.get(&variable).into_iter().flatten();
        accesses
            .filter(|(_, is_store)| *is_store)
            .map(|(spot, _)| *spot)
    }

    /// Returns true if all accesses to a variable are where `is_there` says so.
    pub(in crate::transform) fn is_only(
        &self,
        variable: Id,
        is_there: impl Fn(Spot) -> bool,
    ) -> bool {
        let accesses = self.accesses.get(&variable);
        accesses.is_some_and(|all| all.iter().all(|(spot, _)| is_there(*spot)))
    }
}
