//! The cases in which a result may be undefined, as code generators have to guard them.

use crate::module::Inst;
use crate::module::facts::{self, Class, Consequence, Extent, Role, When};

/// Why the result of an instruction may be undefined. Operands are numbered from 0, the first after
/// the result.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// OpUndef: always.
    Unspecified,
    /// A shift by the width of the components or more.
    ShiftBeyondWidth,
    /// A bit field that ends beyond the width of the components; operand `offset` is its offset,
    /// the next one its size.
    FieldBeyondWidth {
        /// The operand with the offset.
        offset: usize,
    },
    /// A component that the vector does not have; operand `index` says which.
    ComponentBeyondVector {
        /// The operand with the number of the component.
        index: usize,
    },
    /// A division by zero.
    ZeroDivisor,
    /// A signed division by zero, or of the least number by -1.
    SignedQuotient,
    /// A number that the integer type of the result does not have.
    NumberDoesNotFit,
    /// An element that the array of the invocation does not have.
    PlaceBeyondArray,
    /// A bit that a ballot does not have; operand `index` says which.
    BitBeyondBallot {
        /// The operand with the number of the bit.
        index: usize,
    },
}

/// The reason why the result of `inst` may be undefined, as its row in the table of facts says.
/// A literal 0xFFFFFFFF of OpVectorShuffle is no value, and memory that may be unwritten depends on
/// the variable: neither is here. Cases in which LLVM computes some value without poison, such as
/// functions outside of their domain, are not here either.
pub fn cause(inst: Inst<'_>) -> Option<Cause> {
    let facts = inst.facts();
    let last = inst.operands().len().wrapping_sub(1);
    let cause = |undefined: &facts::Undefined| match (undefined.what, undefined.when) {
        (_, When::Always) => Some(Cause::Unspecified),
        (_, When::ShiftBeyondWidth) => Some(Cause::ShiftBeyondWidth),
        // Offset and size are the last operands.
        (_, When::FieldBeyondWidth) => Some(Cause::FieldBeyondWidth {
            offset: last.checked_sub(1)?,
        }),
        (_, When::IndexBeyondComponents) => Some(Cause::ComponentBeyondVector { index: last }),
        (_, When::BitBeyondBallot) => Some(Cause::BitBeyondBallot { index: last }),
        (Consequence::Behaviour, When::DivisorZero) => Some(Cause::ZeroDivisor),
        (_, When::QuotientOverflow) => Some(Cause::SignedQuotient),
        (_, When::NotRepresentable) => Some(Cause::NumberDoesNotFit),
        (_, When::OutOfBounds) => {
            let is_load = facts.class == Class::Memory
                && matches!(facts.accesses, [one] if one.role == Role::Read && one.extent == Extent::Object);
            is_load.then_some(Cause::PlaceBeyondArray)
        }
        _ => None,
    };
    facts.undefined.iter().find_map(cause)
}
