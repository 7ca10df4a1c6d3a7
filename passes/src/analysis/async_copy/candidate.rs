//! Finds the stores that are copies, and the reasons why others are not.

use super::origin::Origin;
use super::{Reason, Zeros};
use crate::analysis::alignment::Alignments;
use crate::analysis::uniformity::memory::{self, Memory};
use crate::module::facts::Chain;
use crate::module::{BlockIndex, Constants, Declarations, Id, Inst, Type, WordOffset};
use spirv::Decoration;

/// Copies of one function that are looked at; a bit each.
pub(super) const MOST_COPIES: usize = 128;

/// Longest chain of address computations that is followed.
const MOST_STEPS: usize = 64;

/// A store that copies.
#[derive(Copy, Clone, Debug)]
pub(super) struct Candidate {
    pub(super) load: WordOffset,
    pub(super) store: WordOffset,
    /// Where zeros are copied instead.
    pub(super) zeros: Zeros,
    /// The address that is stored to.
    pub(super) pointer: Id,
    /// The Workgroup variable that the address is in.
    pub(super) variable: Id,
    pub(super) bytes: u32,
    pub(super) block: BlockIndex,
    /// The type of what is copied.
    pub(super) element: Id,
    /// Nobody writes the source while the function runs.
    pub(super) is_stable: bool,
}

/// The facts by which a store is looked at.
pub(super) struct StoreContext<'s, 'm> {
    pub(super) declarations: &'s Declarations<'m>,
    pub(super) constants: &'s Constants,
    pub(super) memory: &'s Memory,
}

/// What happens between the load of a copy and its store.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Between {
    /// A barrier, a fence or a call.
    pub(super) separators: bool,
    /// A write of global memory.
    pub(super) writes: bool,
}

impl<'m> StoreContext<'_, 'm> {
    /// The store `inst` in `block`, whose value has `origin`, as a copy, or why it is none; what
    /// happens `between`.
    pub(super) fn candidate(
        &self,
        block: BlockIndex,
        inst: Inst<'m>,
        origin: &Origin,
        between: Between,
    ) -> Result<Candidate, Reason> {
        let load = self.declarations.module.at(origin.load);
        let load = load.ok_or(Reason::OtherBlock)?;
        let operands = (inst.id(0), inst.id(1), load.id(0));
        let (Ok(pointer), Ok(value), Ok(source)) = operands else {
            return Err(Reason::Shape);
        };
        let bytes = self.bytes(value)?;
        if is_qualified(load, 1)
            || is_qualified(inst, 2)
            || self.memory.qualifiers(self.declarations, source).any()
            || self.memory.qualifiers(self.declarations, pointer).any()
        {
            return Err(Reason::Qualified);
        }
        if self.crosses_matrix(source) || self.crosses_matrix(pointer) {
            return Err(Reason::Shape);
        }
        let ty = self.declarations.type_of(value).ok_or(Reason::Shape)?;
        let mut alignments = Alignments::new(self.declarations, self.constants);
        if alignments.of_access(load, source, 1, ty).bytes() < bytes
            || alignments.of_access(inst, pointer, 2, ty).bytes() < bytes
        {
            return Err(Reason::Unaligned);
        }
        let variable = memory::root(self.declarations.module, pointer)
            .filter(|variable| !self.is_aliased(*variable))
            .ok_or(Reason::Destination)?;
        let root = memory::root(self.declarations.module, source);
        let is_stable = root.is_some_and(|root| !self.is_aliased(root))
            && self.memory.is_constant(self.declarations, source, root);
        if between.separators || (!is_stable && between.writes) {
            return Err(Reason::Separated);
        }
        Ok(Candidate {
            load: origin.load,
            zeros: origin.zeros,
            store: inst.offset,
            pointer,
            variable,
            bytes,
            block,
            element: ty,
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

    /// The access chains from typed pointers that lead to `pointer`, the last first.
    fn chains(&self, pointer: Id) -> Vec<Chain<'m>> {
        let mut chains = Vec::new();
        let mut at = pointer;
        while chains.len() < MOST_STEPS
            && let Some(chain) = self.declarations.module.def(at).and_then(Inst::chain)
            && chain.base_type.is_none()
        {
            chains.push(chain);
            at = chain.base;
        }
        chains
    }

    /// The types that the access chains to `pointer` index into, with the index where it is a
    /// constant.
    fn indexed(&self, pointer: Id) -> Vec<(Id, Option<u32>)> {
        let mut indexed = Vec::new();
        for chain in self.chains(pointer) {
            let mut ty = self.declarations.pointee_of(chain.base);
            for index in chain.indexes {
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

    /// Returns true if a part of a matrix is addressed: its components need not follow each other
    /// in memory.
    fn crosses_matrix(&self, pointer: Id) -> bool {
        let is_matrix = |ty: Id| matches!(self.declarations.ty(ty), Some(Type::Matrix { .. }));
        self.indexed(pointer).iter().any(|(ty, _)| is_matrix(*ty))
    }
}

/// Returns true if the memory operands of `inst`, from operand `place` on, say more than how it is
/// aligned, that others may touch the memory, and what it does not overlap (SPIR-V 3.26).
fn is_qualified(inst: Inst<'_>, place: usize) -> bool {
    const VOLATILE: u32 = 1;
    const NONTEMPORAL: u32 = 4;
    const MAKE_AVAILABLE: u32 = 8;
    const MAKE_VISIBLE: u32 = 16;
    let mask = inst.operands().get(place).copied().unwrap_or(0);
    mask & (VOLATILE | NONTEMPORAL | MAKE_AVAILABLE | MAKE_VISIBLE) != 0
}
