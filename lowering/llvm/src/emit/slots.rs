//! Meanings of the ids of a module in the function that is being written.

use super::layout::MatrixLayout;
use crate::ffi::Value;
use splitbar_passes::analysis::qualifiers::Qualifiers;
use splitbar_passes::module::{BlockIndex, Id};

/// A pointer operand: the address and what is known about the place.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Pointer<'c> {
    /// The LLVM pointer.
    pub(crate) address: Value<'c>,
    /// The SPIR-V type of what it points to; `None` for untyped pointers.
    pub(crate) pointee: Option<Id>,
    /// Storage class.
    pub(crate) class: spirv::StorageClass,
    /// Known alignment in bytes, a power of two.
    pub(crate) align: u32,
    /// The layout of the matrix that it points to or into; `None`: the natural one (column-major,
    /// packed columns).
    pub(crate) matrix: Option<MatrixLayout>,
    /// Demands of the memory's decorations on every access; known of the pointers that have an id.
    pub(crate) qualifiers: Qualifiers,
}

impl Pointer<'_> {
    /// Returns true if it points into a variable of a function or an invocation.
    pub(crate) fn is_in_function(&self) -> bool {
        matches!(
            self.class,
            spirv::StorageClass::Function | spirv::StorageClass::Private
        )
    }
}

/// Meaning of an id in the function that is being written.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Slot<'c> {
    /// Nothing yet.
    Empty,
    /// Something that could not be lowered, and has been reported.
    Bad,
    /// A value.
    Value(Value<'c>),
    /// A pointer.
    Pointer(Pointer<'c>),
    /// A block of the function, by its number.
    Block(BlockIndex),
}

/// The slots of all ids. One table serves one function after the other: only what a function has
/// written is emptied.
#[derive(Default)]
pub(crate) struct Slots<'c> {
    table: Vec<Slot<'c>>,
    /// The ids whose slots were written.
    trail: Vec<Id>,
}

impl<'c> Slots<'c> {
    /// Empty slots for ids below `ids`.
    pub(crate) fn new(ids: usize) -> Slots<'c> {
        Slots {
            table: vec![Slot::Empty; ids],
            trail: Vec::new(),
        }
    }

    /// The slot of `id`; empty for ids that the module does not have.
    pub(super) fn get(&self, id: Id) -> Slot<'c> {
        let slot = self.table.get(id.0 as usize).copied();
        slot.unwrap_or(Slot::Empty)
    }

    /// Writes the slot of `id`. Returns false for ids that the module does not have.
    pub(super) fn set(&mut self, id: Id, slot: Slot<'c>) -> bool {
        let Some(place) = self.table.get_mut(id.0 as usize) else {
            return false;
        };
        *place = slot;
        self.trail.push(id);
        true
    }

    /// The same table, empty again.
    pub(super) fn emptied(mut self) -> Slots<'c> {
        for id in std::mem::take(&mut self.trail) {
            if let Some(slot) = self.table.get_mut(id.0 as usize) {
                *slot = Slot::Empty;
            }
        }
        self
    }
}
