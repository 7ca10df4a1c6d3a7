//! Which stores are copies, and why the others are none.

use super::Reason;
use crate::analysis::uniformity::memory::{self, Memory};
use crate::module::{Constants, Declarations, Function, Id, Inst, Type};
use spirv::{Decoration, Op, StorageClass};
use std::collections::BTreeMap;

/// Copies of one function that are looked at; a bit each.
pub(super) const MOST_COPIES: usize = 128;

/// Longest chain of address computations that is followed.
const MOST_STEPS: usize = 64;

/// A store that copies.
#[derive(Copy, Clone, Debug)]
pub(super) struct Candidate {
    pub(super) load: u32,
    pub(super) store: u32,
    /// The address that is stored to.
    pub(super) pointer: Id,
    /// The Workgroup variable that the address is in.
    pub(super) variable: Id,
    pub(super) bytes: u32,
    pub(super) block: usize,
    /// The type of what is copied.
    pub(super) element: Option<Id>,
    /// Nobody writes the source while the function runs.
    pub(super) is_stable: bool,
}

/// Word offsets of the stores to Workgroup memory of what a load has read from global memory, with the ids of the values.
pub(super) fn stores_of_loads(
    declarations: &Declarations<'_>,
    function: &Function<'_>,
) -> BTreeMap<u32, Id> {
    function
        .insts()
        .filter(|inst| inst.op() == Some(Op::Store))
        .filter_map(|inst| {
            let (pointer, value) = (inst.id(0).ok()?, inst.id(1).ok()?);
            let load = declarations.module.def(value)?;
            let source = (load.op() == Some(Op::Load)).then(|| load.id(0).ok())??;
            (memory::class_of(declarations, pointer) == Some(StorageClass::Workgroup)
                && is_source(memory::class_of(declarations, source)))
            .then_some((inst.offset, value))
        })
        .collect()
}

pub(super) fn is_source(class: Option<StorageClass>) -> bool {
    matches!(
        class,
        Some(
            StorageClass::StorageBuffer
                | StorageClass::Uniform
                | StorageClass::CrossWorkgroup
                | StorageClass::PhysicalStorageBuffer
        )
    )
}

/// How often the values of `stores` are used.
pub(super) fn uses(
    declarations: &Declarations<'_>,
    function: &Function<'_>,
    stores: &BTreeMap<u32, Id>,
) -> BTreeMap<Id, u32> {
    let mut uses: BTreeMap<Id, u32> = stores.values().map(|value| (*value, 0)).collect();
    for inst in function.insts() {
        for (_, id) in declarations.module.ids(inst) {
            if let Some(count) = uses.get_mut(&id)
                && inst.result() != Some(id)
            {
                *count += 1;
            }
        }
    }
    uses
}

/// A load from global memory.
#[derive(Copy, Clone)]
pub(super) struct Load<'m> {
    pub(super) inst: Inst<'m>,
    pub(super) pointer: Id,
    /// How many separators and how many writes came before it in its block.
    pub(super) separators: u32,
    pub(super) writes: u32,
}

/// What is asked about a store.
pub(super) struct Judge<'s, 'm> {
    pub(super) declarations: &'s Declarations<'m>,
    pub(super) constants: &'s Constants,
    pub(super) memory: &'s Memory,
    /// By value that a load has read and a store writes to Workgroup memory: how often it is used.
    pub(super) uses: BTreeMap<Id, u32>,
}

impl<'m> Judge<'_, 'm> {
    /// The store `inst` of `value` to `pointer` in `block` as a copy, or why it is none; `separators` and `writes` come before it in the block.
    pub(super) fn candidate(
        &self,
        block: usize,
        inst: Inst<'m>,
        (pointer, value): (Id, Id),
        load: Option<&Load<'m>>,
        (separators, writes): (u32, u32),
    ) -> Result<Candidate, Reason> {
        let load = load.ok_or(Reason::OtherBlock)?;
        if self.uses.get(&value) != Some(&1) {
            return Err(Reason::UsedTwice);
        }
        let bytes = self.bytes(value)?;
        if is_qualified(load.inst, 1)
            || is_qualified(inst, 2)
            || self.is_volatile(load.pointer)
            || self.is_volatile(pointer)
        {
            return Err(Reason::Qualified);
        }
        if self.crosses_matrix(load.pointer) || self.crosses_matrix(pointer) {
            return Err(Reason::Shape);
        }
        let variable = memory::root(self.declarations.module, pointer)
            .filter(|variable| !self.is_aliased(*variable))
            .ok_or(Reason::Destination)?;
        let source = memory::root(self.declarations.module, load.pointer);
        let is_stable = source.is_some_and(|source| !self.is_aliased(source))
            && self
                .memory
                .is_constant(self.declarations, load.pointer, source);
        if load.separators != separators || (!is_stable && load.writes != writes) {
            return Err(Reason::Separated);
        }
        Ok(Candidate {
            load: load.inst.offset,
            store: inst.offset,
            pointer,
            variable,
            bytes,
            block,
            element: self.declarations.type_of(value),
            is_stable,
        })
    }

    /// The size of `value`, if it is a number or a vector of numbers of a size that is copied.
    fn bytes(&self, value: Id) -> Result<u32, Reason> {
        let number = |ty: &Type| match ty {
            Type::Int { width, .. } | Type::Float { width, .. } => Some(*width),
            _ => None, // a Boolean has no size, other types are not looked at
        };
        let ty = self
            .declarations
            .type_of(value)
            .and_then(|ty| self.declarations.ty(ty));
        let bits = match ty {
            Some(Type::Vector { component, count }) => {
                let component = self.declarations.ty(*component).and_then(number);
                component.map(|bits| bits.saturating_mul(*count))
            }
            ty => ty.and_then(number),
        };
        match bits.ok_or(Reason::Shape)? / 8 {
            bytes @ (4 | 8 | 16) => Ok(bytes),
            bytes => Err(Reason::Size(bytes)),
        }
    }

    pub(super) fn is_aliased(&self, variable: Id) -> bool {
        self.declarations
            .decoration(variable, Decoration::Aliased)
            .is_some()
    }

    /// The access chains that lead to `pointer`, the last first.
    fn chains(&self, pointer: Id) -> Vec<Inst<'m>> {
        let mut chains = Vec::new();
        let mut at = pointer;
        while chains.len() < MOST_STEPS
            && let Some(inst) = self.declarations.module.def(at)
            && matches!(
                inst.op(),
                Some(
                    Op::AccessChain
                        | Op::InBoundsAccessChain
                        | Op::PtrAccessChain
                        | Op::InBoundsPtrAccessChain
                )
            )
            && let Ok(base) = inst.id(0)
        {
            chains.push(inst);
            at = base;
        }
        chains
    }

    /// The types that the access chains to `pointer` index into, with the index where it is a constant.
    fn indexed(&self, pointer: Id) -> Vec<(Id, Option<u32>)> {
        let mut indexed = Vec::new();
        for chain in self.chains(pointer) {
            let skip = match chain.op() {
                Some(Op::PtrAccessChain | Op::InBoundsPtrAccessChain) => 2,
                _ => 1, // the base alone comes before the indices
            };
            let base = chain.id(0).ok().and_then(|base| self.pointee(base));
            let mut ty = base;
            for index in chain.operands().get(skip..).unwrap_or(&[]) {
                let Some(at) = ty else { break };
                let index = self.constants.as_u32(Id(*index));
                indexed.push((at, index));
                ty = match self.declarations.ty(at) {
                    Some(Type::Struct { members }) => {
                        index.and_then(|index| members.get(index as usize).copied())
                    }
                    Some(Type::Array { element, .. } | Type::RuntimeArray { element }) => {
                        Some(*element)
                    }
                    Some(Type::Matrix { column, .. }) => Some(*column),
                    Some(Type::Vector { component, .. }) => Some(*component),
                    _ => None, // nothing to index
                };
            }
        }
        indexed
    }

    fn pointee(&self, pointer: Id) -> Option<Id> {
        match self.declarations.ty(self.declarations.type_of(pointer)?)? {
            Type::Pointer { pointee, .. } => *pointee,
            _ => None, // not a pointer
        }
    }

    /// Whether a part of a matrix is addressed: its components need not follow each other in memory.
    fn crosses_matrix(&self, pointer: Id) -> bool {
        let is_matrix = |ty: Id| matches!(self.declarations.ty(ty), Some(Type::Matrix { .. }));
        self.indexed(pointer).iter().any(|(ty, _)| is_matrix(*ty))
    }

    /// Whether what is addressed is decorated Volatile or Coherent.
    fn is_volatile(&self, pointer: Id) -> bool {
        const KINDS: [Decoration; 2] = [Decoration::Volatile, Decoration::Coherent];
        let variable = memory::root(self.declarations.module, pointer);
        let by_variable = |kind| {
            variable.is_some_and(|variable| self.declarations.decoration(variable, kind).is_some())
        };
        let members = self.indexed(pointer);
        let by_member = |kind| {
            members.iter().any(|(ty, index)| {
                index.is_some_and(|index| {
                    self.declarations
                        .member_decoration(*ty, index, kind)
                        .is_some()
                })
            })
        };
        KINDS
            .into_iter()
            .any(|kind| by_variable(kind) || by_member(kind))
    }
}

/// Whether the memory operands of `inst`, from operand `place` on, say more than how it is aligned, that others may touch the memory, and what it does
/// not overlap (SPIR-V 3.26).
fn is_qualified(inst: Inst<'_>, place: usize) -> bool {
    const VOLATILE: u32 = 1;
    const NONTEMPORAL: u32 = 4;
    const MAKE_AVAILABLE: u32 = 8;
    const MAKE_VISIBLE: u32 = 16;
    let mask = inst.operands().get(place).copied().unwrap_or(0);
    mask & (VOLATILE | NONTEMPORAL | MAKE_AVAILABLE | MAKE_VISIBLE) != 0
}
