//! OpenCL's printf: format strings, the buffer that kernels print into, and the text that its
//! records come to.
//!
//! A kernel that can reach a printf has a last parameter: the address, aligned to 8, of a *print
//! buffer*, little-endian:
//!
//! | offset | bytes | |
//! |--:|--:|---|
//! | 0 | 8 | capacity: how many bytes there are for records, a multiple of 8. The host writes it. |
//! | 8 | 8 | written: how many bytes calls have asked for. The host writes 0; kernels add to it. |
//! | 16 | capacity | records. The host writes zeros. |
//!
//! Every executed call reserves its record with one relaxed addition to `written` at device scope,
//! and fills it if it ends within the capacity. Then the call gives 0, else -1 and nothing is
//! printed; so `written` above the capacity says that there was more. A record is
//!
//! | offset | bytes | |
//! |--:|--:|---|
//! | 0 | 4 | size of the record in bytes, a multiple of 8 |
//! | 4 | 4 | the number of its [`Call`] in the kernel's [`Table`] |
//! | 8 | | the arguments in order, each component at its natural alignment of 4 or 8 |
//!
//! [`Argument`] says what is there of each. Stores are plain: the end of the kernel makes them
//! known to the host. Nothing orders the records of different invocations; those of one invocation
//! stand in the order of its calls.

pub mod format;
mod records;
mod table;
mod value;

pub use format::Format;
pub use records::{HEADER_BYTES, Printed, empty_buffer};
pub use table::{Call, Table};

use std::fmt;

/// The shape of an argument.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// An integer. One of 8 or 16 bits (`hh`, `h`, `c`) is widened to 32 by C's rules: with its
    /// sign for `d` and `i`, with zeros for all others.
    Integer,
    /// A float; a half is widened to 32 bits.
    Float,
    /// An address.
    Pointer,
    /// The number of a string in the table.
    String,
}

/// An argument as it lies in a record.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Argument {
    /// The shape.
    pub shape: Shape,
    /// Bits of a component: 32 or 64.
    pub bits: u32,
    /// The components, one after the other.
    pub lanes: u32,
}

impl fmt::Display for Argument {
    /// `i32`, `f64x3`, `pointer`, `string`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shape {
            Shape::Integer => write!(f, "i{}", self.bits)?,
            Shape::Float => write!(f, "f{}", self.bits)?,
            Shape::Pointer => f.write_str("pointer")?,
            Shape::String => f.write_str("string")?,
        }
        match self.lanes {
            1 => Ok(()),
            lanes => write!(f, "x{lanes}"),
        }
    }
}

/// Bytes of a record before its arguments: its size and the number of its call.
const RECORD_HEADER_BYTES: u32 = 8;

/// The offsets of the components of `arguments` in a record, and the record's size in bytes.
pub fn layout(arguments: &[Argument]) -> (Vec<u32>, u32) {
    let mut offsets = Vec::new();
    let mut next = RECORD_HEADER_BYTES;
    for argument in arguments {
        let size = argument.bits / 8;
        for _ in 0..argument.lanes {
            let offset = next.next_multiple_of(size.max(1));
            offsets.push(offset);
            next = offset.saturating_add(size);
        }
    }
    (offsets, next.next_multiple_of(8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn components_are_aligned_to_their_size() {
        let argument = |bits, lanes| Argument {
            shape: Shape::Integer,
            bits,
            lanes,
        };
        assert_eq!(layout(&[]), (vec![], 8));
        assert_eq!(layout(&[argument(32, 1)]), (vec![8], 16));
        let mixed = [argument(32, 1), argument(64, 2), argument(32, 3)];
        assert_eq!(layout(&mixed), (vec![8, 16, 24, 32, 36, 40], 48));
    }
}
