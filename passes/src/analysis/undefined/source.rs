//! Which instructions may give an undefined value, or have undefined behaviour, and when: as the
//! unified specification of SPIR-V 1.6 and those of the extended instruction sets say.

use spirv::Op;

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

/// Why the result of `op` may be undefined, if it may be. A literal 0xFFFFFFFF of OpVectorShuffle
/// is no value, and memory that may be unwritten depends on the variable: neither is here.
///
/// | instruction | undefined | section of SPIR-V 1.6 |
/// | --- | --- | --- |
/// | OpUndef | always | 3.52.1 |
/// | shifts | the amount is at least the width: the value | 3.52.14 |
/// | OpBitFieldInsert, OpBitFieldSExtract, OpBitFieldUExtract | the field ends beyond the width: the value | 3.52.14 |
/// | OpVectorExtractDynamic, OpVectorInsertDynamic | the index is beyond the vector: the behaviour | 3.52.12 |
/// | OpUDiv, OpUMod | the divisor is 0: the behaviour | 3.52.13 |
/// | OpSDiv, OpSRem, OpSMod | the divisor is 0, or it overflows: the behaviour | 3.52.13 |
/// | OpConvertFToU, OpConvertFToS | the result cannot hold the number: the behaviour | 3.52.11 |
/// | OpLoad through an access chain into a variable of class Function or Private | an index is beyond the array: the behaviour | 3.52.8 |
/// | OpGroupNonUniformBallotBitExtract | the index is beyond the ballot: the behaviour | 3.52.21 |
pub fn cause(op: Op) -> Option<Cause> {
    Some(match op {
        Op::Undef => Cause::Unspecified,
        Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic => {
            Cause::ShiftBeyondWidth
        }
        Op::BitFieldInsert => Cause::FieldBeyondWidth { offset: 2 },
        Op::BitFieldSExtract | Op::BitFieldUExtract => Cause::FieldBeyondWidth { offset: 1 },
        Op::VectorExtractDynamic => Cause::ComponentBeyondVector { index: 1 },
        Op::VectorInsertDynamic => Cause::ComponentBeyondVector { index: 2 },
        Op::UDiv | Op::UMod => Cause::ZeroDivisor,
        Op::SDiv | Op::SRem | Op::SMod => Cause::SignedQuotient,
        Op::ConvertFToU | Op::ConvertFToS => Cause::NumberDoesNotFit,
        Op::Load => Cause::PlaceBeyondArray,
        Op::GroupNonUniformBallotBitExtract => Cause::BitBeyondBallot { index: 2 },
        _ => return None,
    })
}
