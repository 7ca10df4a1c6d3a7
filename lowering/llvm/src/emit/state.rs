//! What instruction families keep while a function or a module is being written: their parts of
//! the emitter's state. What is done with them stands with the families.

use super::uses::Hidden;
use crate::ffi::{Block, Func, Meta, Value};
use splitbar_passes::analysis::tangles::{Join, Tangles};
use splitbar_passes::module::{BlockIndex, BlockMap, Id, Inst, WordOffset};
use splitbar_plan::StagedShape;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Blocks and edges of the function that is being written.
#[derive(Default)]
pub(crate) struct Control<'c, 'm> {
    pub(super) heads: BlockMap<Option<Block<'c>>>,
    /// Incoming edges by block: label of the SPIR-V block that it comes from, LLVM block that the
    /// jump is in. One entry per edge.
    pub(super) incoming: BlockMap<Vec<(Id, Block<'c>)>>,
    pub(super) phis: Vec<(BlockIndex, Inst<'m>, Value<'c>)>,
    pub(super) current: Option<Id>,
    /// The metadata of loops by the labels of their headers.
    pub(super) unroll: BTreeMap<Id, Meta<'c>>,
    pub(super) done: BlockMap<bool>,
    /// The block that is being written.
    pub(super) at: BlockIndex,
    /// Where lanes meet, if that is not left to LLVM.
    pub(super) tangle: Option<Tangle<'c, 'm>>,
}

/// How one function is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tangled {
    /// Its control flow with joins; `None`: as the module has it.
    pub(crate) tangles: Option<Tangles>,
    /// NVPTX: the tangle is followed by a mask, which callers pass.
    pub(crate) masked: bool,
    /// The blocks whose branch may part a tangle.
    pub(crate) branches: BlockMap<bool>,
}

/// Meeting of the lanes of a function, and the set of those that execute it together.
#[derive(Default)]
pub(crate) struct Convergence<'c> {
    /// The form in which it is written, until its body is begun.
    pub(super) tangled: Option<Tangled>,
    /// NVPTX: the mask that the caller passes, `i32`.
    pub(super) callers_mask: Option<Value<'c>>,
    /// NVPTX: the slot of the mask of the tangle, where it is followed.
    pub(super) mask: Option<Value<'c>>,
}

/// Arguments of a function that no id of the module stands for.
#[derive(Default)]
pub(crate) struct Arguments<'c> {
    /// Byte lengths of buffers by variable, where OpArrayLength asks for them; of an array of
    /// descriptors, a table of lengths.
    pub(super) lengths: Vec<(Id, Value<'c>)>,
    /// The number of dimensions of the launch, where it is an argument.
    pub(super) work_dim: Option<Value<'c>>,
    /// The address of the printf buffer, where the function prints.
    pub(super) printf_buffer: Option<Value<'c>>,
}

/// The state of a function with joins.
pub(crate) struct Tangle<'c, 'm> {
    pub(super) plan: Tangles,
    pub(super) branches: BlockMap<bool>,
    /// The goal of this lane, `i32`.
    pub(super) goal: Value<'c>,
    pub(super) heads: BTreeMap<Join, Block<'c>>,
    /// The masks with which constructs were entered, and those of the iterations of loops.
    pub(super) entered: BTreeMap<usize, Value<'c>>,
    pub(super) iteration: BTreeMap<usize, Value<'c>>,
    /// The phis of each block, each with its slot.
    pub(super) phis: BTreeMap<BlockIndex, Vec<(Inst<'m>, Value<'c>)>>,
    /// Values that not all of their uses are dominated by: where they are computed, and the slot
    /// once they are.
    pub(super) kept: BTreeMap<Id, (BlockIndex, Option<Value<'c>>)>,
    /// What the function returns.
    pub(super) result: Option<Value<'c>>,
}

/// A function that can be called.
pub(crate) struct Callee<'c> {
    pub(crate) function: Func<'c>,
    pub(crate) hidden: Vec<Hidden>,
    /// The first parameter is the mask of the caller's tangle.
    pub(crate) masked: bool,
}

/// The functions of one kernel that are written already.
#[derive(Default)]
pub(crate) struct Callees<'c>(pub(super) BTreeMap<Id, Callee<'c>>);

impl<'c> Callees<'c> {
    pub(crate) fn get(&self, id: Id) -> Option<&Callee<'c>> {
        self.0.get(&id)
    }
}

/// What the barrier steps of one LLVM module share.
#[derive(Default)]
pub(crate) struct Shared<'c> {
    pub(super) placeholders: RefCell<Vec<(&'static str, Func<'c>)>>,
    pub(super) mbarrier: RefCell<Option<Value<'c>>>,
    /// Workgroup memory of the OpGroup* instructions.
    pub(super) scratch: RefCell<Option<Value<'c>>>,
    /// Workgroup memory for elements of matrices, by entry point.
    pub(super) exchange: RefCell<BTreeMap<Id, Value<'c>>>,
    /// Zeros in global memory, for copies.
    pub(super) zeros: RefCell<Option<Value<'c>>>,
}

/// Run-time state of a kernel's barriers and copies: stack slots that the optimiser turns into
/// registers.
#[derive(Default)]
pub(crate) struct StateSlots<'c> {
    /// The word that the strategy keeps between phases, `i32`
    /// ([`word`](splitbar_plan::BarrierState::word)).
    pub(crate) word: Option<Value<'c>>,
    /// Whether an arrive is outstanding, `i32`.
    pub(crate) outstanding: Option<Value<'c>>,
    /// Where there are bulk copies.
    pub(crate) bulk: Option<Bulk<'c>>,
    /// The sets of registers in which copies are on their way.
    pub(super) staged: Vec<StagedSet<'c>>,
    /// Notes of the loads of copies behind branches, by their word offsets.
    pub(super) notes: BTreeMap<WordOffset, Note<'c>>,
}

/// How many copies were begun and how many were waited for, `i32` each, and the mbarriers that they
/// take in turn.
#[derive(Copy, Clone)]
pub(crate) struct Bulk<'c> {
    pub(crate) begun: Value<'c>,
    pub(crate) complete: Value<'c>,
    /// A power of two.
    pub(crate) slots: u32,
}

/// A set of registers.
#[derive(Clone)]
pub(super) struct StagedSet<'c> {
    pub(super) shape: StagedShape,
    /// A slot for each value.
    pub(super) values: Vec<Value<'c>>,
    /// A slot for the address: that of the value, or where the copy of a group begins.
    pub(super) address: Value<'c>,
    /// A slot for the note, `i32`.
    pub(super) holds: Value<'c>,
}

/// What the load of a copy notes, in stack slots: the source, and how many bytes of it. Nothing and
/// none until it does.
#[derive(Copy, Clone)]
pub(super) struct Note<'c> {
    pub(super) unit: u32,
    pub(super) nothing: Value<'c>,
    pub(super) address: Value<'c>,
    pub(super) read: Value<'c>,
}
