//! Why a loop with barriers stays as it is.

use std::fmt::{self, Display};

/// The reason why a loop cannot be transformed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// Several blocks lead to the loop, or back to its header.
    Entries,
    /// What leads to the loop does so by a branch that may go elsewhere.
    Front,
    /// No barrier of the workgroup that every iteration executes once.
    NoBarrier,
    /// A barrier of the loop is a pair of halves already.
    AlreadySplit,
    /// Barriers that not every iteration comes to, before the first that it does.
    EarlyBarrier,
    /// An atomic operation, fence, volatile access or unknown instruction orders memory.
    Ordering,
    /// Several branches leave the loop.
    Exits,
    /// The loop is left between its first barrier and its last one.
    ExitInWork,
    /// Only its second barrier can go, but it has a third one.
    Barriers,
    /// A barrier is between the first and the last one of an iteration, where the window of a split
    /// barrier would be.
    BarrierInWork,
    /// Accesses that barriers keep apart may conflict, and would be in one window.
    Overlap,
    /// A barrier is in the block with the loop's merge instruction.
    HeaderBarrier,
    /// The part before the first barrier has too many blocks, or branches back to its beginning.
    Region,
    /// One barrier an iteration: one array serves no two iterations there.
    OneBarrier,
    /// Nothing is stored to workgroup memory before the first barrier.
    NoStores,
    /// A store to workgroup memory before the first barrier is in a loop that stays.
    StoreInLoop,
    /// A value, an address or a branch that a store depends on cannot be computed an iteration
    /// early.
    NotEarly,
    /// The condition of the next iteration cannot be computed an iteration early.
    Condition,
    /// What an iteration begins with, or its condition, cannot be computed two iterations early.
    TwoEarly,
    /// Values are stored to workgroup memory that need no load.
    NoLoads,
    /// An array is read before the first barrier of an iteration.
    ReadEarly,
    /// An array is written between the barriers as well.
    WrittenLate,
    /// An array may be read where its iteration did not write it.
    Carried,
    /// An array is used outside of the loop, too.
    UsedElsewhere,
    /// A pointer to an array is not used by loads, stores and access chains alone.
    Pointers,
    /// An array has an explicit layout, an initializer, or a type that cannot be multiplied.
    Layout,
    /// What an iteration does before its first barrier conflicts with what it does after it.
    Conflict,
    /// The loaded values need more registers than are allowed.
    Registers,
    /// The arrays need more workgroup memory than is allowed.
    Memory,
    /// It is not shown that all of the workgroup comes to the loop together.
    NotUniform,
    /// An arrive waits for its wait around the loop.
    Open,
    /// The operands of a barrier are no constants, or it does not order workgroup memory.
    Semantics,
}

impl Reason {
    fn text(self) -> &'static str {
        match self {
            Reason::Entries => {
                "its header has several predecessors outside the loop, or several latches"
            }
            Reason::Front => "the block before it ends in a conditional branch",
            Reason::NoBarrier => "it has no workgroup barrier that every iteration executes",
            Reason::AlreadySplit => "one of its barriers is already split",
            Reason::EarlyBarrier => {
                "a barrier in a branch or an inner loop precedes the first barrier of every iteration"
            }
            Reason::Ordering => {
                "it contains an atomic operation, a fence or a volatile access that orders memory"
            }
            Reason::Exits => "it has several exits",
            Reason::ExitInWork => "an exit is between its first and its last barrier",
            Reason::Barriers => "none of its loads can move, and it has more than two barriers",
            Reason::HeaderBarrier => "a barrier is in the block with its OpLoopMerge",
            Reason::Region => {
                "the code before its first barrier has too many blocks, or branches back to its header"
            }
            Reason::OneBarrier => "an iteration has only one barrier",
            Reason::NoStores => "it stores nothing to workgroup memory before its first barrier",
            Reason::StoreInLoop => {
                "a store to workgroup memory is in an inner loop whose trip count is not constant"
            }
            Reason::NotEarly => {
                "a store to workgroup memory depends on a value that is not known one iteration early"
            }
            Reason::TwoEarly => {
                "an iteration begins with a value that is not known two iterations early"
            }
            Reason::BarrierInWork => {
                "a barrier is between its first and its last barrier, where the new window would be"
            }
            Reason::Overlap => {
                "barriers keep accesses to other memory apart that would be in one window"
            }
            Reason::Condition => "its condition is not known one iteration early",
            Reason::NoLoads => "the values that it stores to workgroup memory are not loaded",
            Reason::ReadEarly => "an array is read before the first barrier of an iteration",
            Reason::WrittenLate => "an array is written after the first barrier of an iteration",
            Reason::Carried => "an iteration may read a value that an earlier iteration stored",
            Reason::UsedElsewhere => "an array is also used outside the loop",
            Reason::Pointers => {
                "a pointer to an array is used by an instruction that is not a load, store or access chain"
            }
            Reason::Layout => "an array has an explicit layout or an initializer",
            Reason::Conflict => {
                "the code before its first barrier may access memory that the code after it writes"
            }
            Reason::Registers => "the loaded values need more registers than the limit allows",
            Reason::Memory => "it would need more workgroup memory than the limit allows",
            Reason::NotUniform => {
                "it cannot be proved that the whole workgroup enters and leaves it together"
            }
            Reason::Open => "it is in the window of another split barrier",
            Reason::Semantics => {
                "the operands of a barrier are not constants, or it does not order workgroup memory"
            }
        }
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
