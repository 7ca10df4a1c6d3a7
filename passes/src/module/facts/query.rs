//! Questions to the table.

use super::{
    Access, Address, Calls, Class, Extent, Facts, Operand, Role, SyncOperands, amd, glsl, opencl,
};
use crate::module::{Declarations, ExtInstSet, Id, Inst, Type, grammar};
use spirv::Op;

/// A pointer operand of an instruction that no row describes: it may be read and written.
const UNDESCRIBED: Access = Access {
    operand: 0,
    role: Role::Update,
    kind: Operand::Pointer,
    extent: Extent::Any,
};

/// Debug and non-semantic extended instructions.
const NON_SEMANTIC: Facts = super::facts(Class::Marker, "SPV_KHR_non_semantic_info");

/// The operands of an access chain, from a pointer to an object to a pointer to a part of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Chain<'m> {
    /// The type that the base points to, where the instruction names it: in chains from untyped
    /// pointers (SPV_KHR_untyped_pointers).
    pub base_type: Option<Id>,
    /// The pointer.
    pub base: Id,
    /// The element of the array that the base points into.
    pub element: Option<Id>,
    /// Members and elements, from the outermost type in: ids.
    pub indexes: &'m [u32],
}

impl<'m> Chain<'m> {
    /// Reads the `operands` of an instruction of opcode `op`; `None` where it is no access chain
    /// or lacks operands.
    pub fn decode(op: Op, operands: &'m [u32]) -> Option<Chain<'m>> {
        let facts = Facts::lookup(op);
        let Class::Address(address @ (Address::Members | Address::Element)) = facts.class else {
            return None;
        };
        let at = usize::from(facts.accesses.first()?.operand);
        let base = Id(*operands.get(at)?);
        let (element, indexes) = match (address, operands.get(at + 1..)?) {
            (Address::Element, [element, indexes @ ..]) => (Some(Id(*element)), indexes),
            (Address::Element, []) => return None,
            (_, indexes) => (None, indexes),
        };
        let base_type = at
            .checked_sub(1)
            .and_then(|at| operands.get(at))
            .map(|id| Id(*id));
        Some(Chain {
            base_type,
            base,
            element,
            indexes,
        })
    }
}

impl Facts {
    /// The row of the opcode `op`.
    pub fn lookup(op: Op) -> &'static Facts {
        grammar::shape(op as u16).facts
    }

    /// Returns true if the row describes all effects of the instruction. If not, it may access
    /// memory through any pointer, and order memory.
    pub fn is_described(&self) -> bool {
        !matches!(
            self.class,
            Class::Unknown | Class::Refused(_) | Class::Extended
        )
    }

    /// Returns true if the result is computed from the values of the operands: it needs no memory,
    /// no descriptor and no other invocation.
    pub fn is_arithmetic(&self) -> bool {
        self.class == Class::Value && !self.active_lanes
    }

    /// Returns true if the instruction has no effect, and its result depends on its operands and on
    /// memory and descriptors that do not change.
    pub fn is_pure(&self) -> bool {
        match self.class {
            Class::Value => !self.active_lanes,
            Class::Query | Class::Sample => true,
            _ => false,
        }
    }

    /// Returns true for the instructions that synchronise or work on a group: barriers, fences,
    /// atomics, group operations, asynchronous copies and named barriers.
    pub fn is_synchronizing(&self) -> bool {
        matches!(
            self.class,
            Class::Atomic(_)
                | Class::Barrier(_)
                | Class::Fence
                | Class::NamedBarrier
                | Class::NamedBarrierWait
                | Class::Group(_)
                | Class::AsyncCopy
                | Class::WaitEvents
        )
    }

    /// Returns true if the instruction directs control flow inside of its function, or has no
    /// effect beyond the values and addresses that it makes. It reads and writes no memory.
    pub fn touches_no_memory(&self) -> bool {
        matches!(
            self.class,
            Class::Declaration
                | Class::Marker
                | Class::Value
                | Class::Undef
                | Class::Variable
                | Class::Address(_)
                | Class::Query
                | Class::Phi
                | Class::Merge
                | Class::Branch
        )
    }

    /// Returns true if a Boolean decides about the access: predicated accesses, gathers and
    /// scatters. They are written as branches and by components before barriers move.
    pub fn is_guarded(&self) -> bool {
        let mut accesses = self.accesses.iter();
        accesses
            .any(|access| access.kind == Operand::Pointers || access.extent == Extent::Predicated)
    }

    /// Returns true for atomic instructions.
    pub fn is_atomic(&self) -> bool {
        matches!(self.class, Class::Atomic(_))
    }
}

impl<'m> Inst<'m> {
    /// The row of the opcode. Extended instructions have their own rows:
    /// [`Declarations::facts`].
    #[inline]
    pub fn facts(self) -> &'static Facts {
        grammar::shape(self.opcode()).facts
    }

    /// The operands of an access chain; `None` for other instructions.
    pub fn chain(self) -> Option<Chain<'m>> {
        Chain::decode(self.op()?, self.operands())
    }

    /// The scope and semantics operands.
    #[inline]
    pub fn sync_operands(self) -> SyncOperands {
        grammar::shape(self.opcode()).sync
    }

    /// The one pointer or image that the instruction forwards to its result; `None` for a choice
    /// between several and for addresses from elsewhere.
    pub fn forwarded(self) -> Option<Id> {
        let accesses = self.facts().accesses.iter();
        let mut forwarded = accesses.filter(|access| access.role == Role::Forward);
        let access = forwarded.next().filter(|_| forwarded.next().is_none())?;
        self.id(access.operand.into()).ok()
    }
}

impl<'m> Declarations<'m> {
    /// The row of an instruction, extended instructions included.
    #[inline]
    pub fn facts(&self, inst: Inst<'m>) -> &'static Facts {
        let facts = inst.facts();
        match facts.class {
            Class::Extended => self.extended(inst),
            _ => facts,
        }
    }

    /// The row of an extended instruction.
    fn extended(&self, inst: Inst<'m>) -> &'static Facts {
        let [set, number, ..] = *inst.operands() else {
            return &Facts::UNKNOWN;
        };
        match self.ext_inst_sets.get(&Id(set)) {
            Some(ExtInstSet::Glsl450) => glsl::row(number),
            Some(ExtInstSet::OpenCl) => opencl::row(number),
            Some(ExtInstSet::Amd(name)) => amd::row(name, number),
            Some(ExtInstSet::NonSemantic) => &NON_SEMANTIC,
            Some(ExtInstSet::Other(_)) | None => &Facts::UNKNOWN,
        }
    }

    /// Calls `visit` with each operand of `inst` that leads to memory, an image or a tensor, and
    /// its row. In an instruction that no row describes, each pointer is read and written.
    pub fn accesses(&self, inst: Inst<'m>, mut visit: impl FnMut(Id, Access)) {
        let facts = self.facts(inst);
        if facts.is_described() {
            if facts.accesses.is_empty() {
                return;
            }
            // Set and number of an extended instruction come first.
            let is_extended = matches!(inst.facts().class, Class::Extended);
            let skip = if is_extended { 2 } else { 0 };
            for access in facts.accesses {
                if let Ok(id) = inst.id(usize::from(access.operand) + skip) {
                    visit(id, *access);
                }
            }
            return;
        }
        // Which words are ids is not known either: a literal that is taken for a pointer does no
        // harm.
        for word in inst.words.iter().skip(1) {
            let id = Id(*word);
            if inst.result() != Some(id) && self.is_pointer(id) {
                visit(id, UNDESCRIBED);
            }
        }
    }

    /// Returns true if the value `id` is a pointer.
    fn is_pointer(&self, id: Id) -> bool {
        let ty = self.type_of(id).and_then(|ty| self.ty(ty));
        matches!(ty, Some(Type::Pointer { .. }))
    }
}

impl Calls {
    /// Returns true if a function may be called.
    pub fn any(self) -> bool {
        self != Calls::None
    }
}
