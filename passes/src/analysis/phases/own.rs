//! The effects of an instruction on private memory of its invocation: variables of the classes
//! Function and Private. Program order orders it, not barriers.

use super::effects::Effects;
use crate::analysis::uniformity::memory;
use crate::module::facts::{Class, Operand};
use crate::module::{Id, Inst};
use spirv::{Op, StorageClass};
use std::collections::BTreeSet;

/// A set of variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Variables {
    /// It may be any.
    any: bool,
    known: BTreeSet<Id>,
}

impl Variables {
    fn meets(&self, other: &Variables) -> bool {
        let is_empty = |of: &Variables| !of.any && of.known.is_empty();
        (self.any && !is_empty(other))
            || (other.any && !is_empty(self))
            || !self.known.is_disjoint(&other.known)
    }

    fn add(&mut self, other: &Variables) {
        self.any |= other.any;
        self.known.extend(&other.known);
    }
}

/// The effects of instructions on private memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    reads: Variables,
    writes: Variables,
}

impl Own {
    /// All that can be done.
    pub fn unknown() -> Own {
        let all = || Variables {
            any: true,
            known: BTreeSet::new(),
        };
        Own {
            reads: all(),
            writes: all(),
        }
    }

    /// Adds what `other` does.
    pub fn add(&mut self, other: &Own) {
        self.reads.add(&other.reads);
        self.writes.add(&other.writes);
    }

    /// Returns true if it makes a difference which comes first.
    pub fn conflicts(&self, other: &Own) -> bool {
        self.writes.meets(&other.writes)
            || self.writes.meets(&other.reads)
            || self.reads.meets(&other.writes)
    }
}

impl<'m> Effects<'_, 'm> {
    /// The effect of `inst` on private memory; `None` if it is unknown, so that `inst` cannot be
    /// moved.
    pub fn own(&self, inst: Inst<'m>) -> Option<Own> {
        let facts = self.declarations.facts(inst);
        let is_known = match facts.class {
            Class::Memory => {
                let of_invocation = !facts.active_lanes && !facts.calls.any();
                of_invocation && !self.is_volatile(inst)
            }
            // Declarations and lifetimes stay; debug information does not matter.
            Class::Variable | Class::Declaration => false,
            Class::Marker => inst.facts().class == Class::Extended,
            _ => facts.touches_no_memory() && !facts.active_lanes,
        };
        is_known.then(|| self.own_accesses(inst)).flatten()
    }

    /// The memory of its invocation that the operands of `inst` lead to, wherever it may stay;
    /// `None`: not known.
    pub fn own_accesses(&self, inst: Inst<'m>) -> Option<Own> {
        if self.declarations.facts(inst).calls.any() {
            return None;
        }
        let mut own = Own::default();
        let mut is_missing = false;
        self.declarations.accesses(inst, |id, access| {
            let known = match access.kind {
                _ if !(access.role.reads() || access.role.writes()) => return,
                Operand::Pointer => self.variables(id),
                Operand::Pointers | Operand::Image | Operand::Tensor => None,
            };
            let Some(touched) = known else {
                is_missing = true;
                return;
            };
            if access.role.reads() {
                own.reads.add(&touched);
            }
            if access.role.writes() {
                own.writes.add(&touched);
            }
        });
        (!is_missing).then_some(own)
    }

    /// The variables of its invocation that `pointer` may lead to; `None`: it says that accesses
    /// are volatile.
    fn variables(&self, pointer: Id) -> Option<Variables> {
        if self.qualifiers.get(self.declarations, pointer).volatile {
            return None;
        }
        let is_own = match memory::class_of(self.declarations, pointer) {
            Some(StorageClass::Function | StorageClass::Private | StorageClass::Generic) => true,
            Some(
                StorageClass::Input
                | StorageClass::PushConstant
                | StorageClass::UniformConstant
                | StorageClass::Uniform
                | StorageClass::StorageBuffer
                | StorageClass::PhysicalStorageBuffer
                | StorageClass::CrossWorkgroup
                | StorageClass::Workgroup,
            ) => false,
            _ => return None, // what memory it is is not known
        };
        let root = is_own.then(|| self.root(pointer)).flatten();
        let variable = root.filter(|root| {
            let inst = self.declarations.module.def(*root);
            inst.is_some_and(|inst| inst.op() == Some(Op::Variable))
        });
        Some(Variables {
            any: is_own && variable.is_none(),
            known: variable.into_iter().collect(),
        })
    }
}
