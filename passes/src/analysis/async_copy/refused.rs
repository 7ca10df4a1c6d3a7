//! Copies that are refused, and why.

use crate::module::WordOffset;
use std::fmt;

/// A store that stays as it is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Word offset of the OpStore.
    pub store: WordOffset,
    /// Why.
    pub reason: Reason,
}

/// Why a store of a loaded value stays as it is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// The load stands in another block, and not in one that leads to the store alone.
    OtherBlock,
    /// Something else uses the value.
    UsedTwice,
    /// The load or the store is volatile, nontemporal, or makes memory available or visible.
    Qualified,
    /// So many bytes are not copied: a scalar or a vector of 4, 8 or 16 is.
    Size(u32),
    /// The value is not a number or a vector of numbers.
    Shape,
    /// The load or the store is not known to be aligned to as many bytes as are copied.
    Unaligned,
    /// A barrier, a fence, a call or a write that may change the source stands between load and
    /// store.
    Separated,
    /// Which variable the destination is in is not known, or it overlaps others (Aliased).
    Destination,
    /// The invocation itself comes to the destination before it is published: the copy would have
    /// to be waited for at once.
    WaitedAtOnce,
    /// The function has more copies than are looked at.
    TooMany,
}

impl Reason {
    /// All reasons, in their order; one size represents all sizes.
    pub const ALL: [Reason; 10] = [
        Reason::OtherBlock,
        Reason::UsedTwice,
        Reason::Qualified,
        Reason::Size(0),
        Reason::Shape,
        Reason::Unaligned,
        Reason::Separated,
        Reason::Destination,
        Reason::WaitedAtOnce,
        Reason::TooMany,
    ];
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::OtherBlock => f.write_str("the load is in another block"),
            Reason::UsedTwice => f.write_str("the loaded value has another use"),
            Reason::Qualified => f.write_str("the load or the store is volatile, nontemporal, or makes memory available or visible"),
            Reason::Size(bytes) => write!(f, "a copy has 4, 8 or 16 bytes, not {bytes}"),
            Reason::Shape => f.write_str("the value is not a scalar or vector of numbers"),
            Reason::Unaligned => f.write_str("the load or the store may not be aligned to the size of the copy"),
            Reason::Separated => f.write_str("a barrier, a fence, a call or a write that may change the source is between load and store"),
            Reason::Destination => f.write_str("the variable of the destination is unknown, or overlaps others"),
            Reason::WaitedAtOnce => f.write_str("the invocation itself accesses the destination before it is published"),
            Reason::TooMany => f.write_str("the function has more copies than the limit of the analysis"),
        }
    }
}
