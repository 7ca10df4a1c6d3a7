//! The events that concern marks in a block.

use crate::module::BlockIndex;

/// Blocks times groups above which all groups are taken for one: still right, but a wait may wait
/// for more than it has to.
pub const LIMIT: usize = 1 << 24;

/// Ages of copies, and counts of outstanding marks, are not told apart from here on.
pub const MAX_MARKS: u8 = 63;

/// A name for copies. A new copy under a name also represents the earlier ones of that name,
/// because marks complete in order.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group(pub u32);

/// An event in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A copy is started.
    Copy(Group),
    /// A mark is made.
    Mark,
    /// From here on all copies of these groups must be complete.
    Need(Vec<Group>),
    /// From here on all copies must be complete, those of nameless groups as well.
    NeedAll,
}

/// A name that is given anew where control comes into a block: a phi of events, or a stage of a
/// ring that moves on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The block whose start this is.
    pub block: BlockIndex,
    /// The name that is given.
    pub to: Group,
    /// For predecessors of the block: what goes by that name from now on; several for one
    /// predecessor when it may be one of them. From the others nothing comes that goes by it.
    pub from: Vec<(BlockIndex, Group)>,
}

/// The wait for a [`Event::Need`] or [`Event::NeedAll`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// Nothing: on every path the copies are complete, or there are none.
    Nothing,
    /// A wait until at most so many marks are outstanding, below [`MAX_MARKS`].
    AtMost(u8),
    /// On some path there is a copy with no mark behind it: a mark, and then a wait for all marks.
    Unmarked,
}

/// An event: block, and place among the events of the block.
pub type EventPlace = (BlockIndex, usize);
