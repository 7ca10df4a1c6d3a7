//! The modifiers of an opcode, and the arithmetic that depends on them.

use super::bits::mask;
use super::round::Rounding;
use crate::ptx::types::Type;

/// Up to four source operands; those that the instruction does not have are 0.
pub(crate) type Arguments = [u64; 4];

/// Computes one lane's result.
pub(crate) type Function = fn(&Mode, Arguments) -> u64;

/// What the modifiers of an opcode say.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Mode {
    /// The type that the instruction works in.
    pub kind: Type,
    /// The type that a conversion reads, or a comparison writes.
    pub other: Type,
    /// The rounding of a result.
    pub rounding: Rounding,
    /// `.ftz`: subnormal single-precision numbers count as zero, as operands and as results.
    pub flush: bool,
    /// `.sat`: clamped to what the type can hold; to 0 and 1 for floating point.
    pub saturate: bool,
    /// `.NaN`: a NaN operand of a minimum or maximum gives a NaN.
    pub nan: bool,
    /// `.relu`: negative results become 0.
    pub relu: bool,
    /// `.xorsign.abs`: magnitudes are compared, the sign is the exclusive or of both.
    pub xorsign: bool,
    /// The condition of a comparison.
    pub compare: Compare,
    /// The combination of a comparison's result with another predicate.
    pub combine: Combine,
    /// A small constant: the truth table of `lop3`, the mode of `prmt`, 1 where a shift's amount
    /// wraps.
    pub table: u8,
    /// The operation on each element of a packed type.
    pub each: Function,
}

impl Mode {
    /// Nothing but a type.
    pub(crate) fn from_kind(kind: Type) -> Mode {
        Mode {
            kind,
            other: kind,
            rounding: Rounding::Nearest,
            flush: false,
            saturate: false,
            nan: false,
            relu: false,
            xorsign: false,
            compare: Compare::Equal,
            combine: Combine::Alone,
            table: 0,
            each: first,
        }
    }

    /// Bits of an element.
    pub(crate) fn bits(&self) -> u32 {
        self.kind.element
    }

    /// The bytes of an operand of a comparison that gives a predicate; `None` of another function.
    pub(crate) fn compared(&self) -> Option<usize> {
        let compares = self.other == Type::PREDICATE && self.kind != Type::PREDICATE;
        compares.then(|| (self.kind.element * self.kind.count).div_ceil(8) as usize)
    }

    /// The low bits of a value, as many as an element has.
    pub(crate) fn low(&self, value: u64) -> u64 {
        value & mask(self.bits())
    }
}

/// The first operand: moves, and additions of nothing.
pub(crate) fn first(_: &Mode, [a, ..]: Arguments) -> u64 {
    a
}

/// What a comparison asks (PTX ISA, "Comparison and Selection Instructions").
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    /// `eq`
    Equal,
    /// `ne`
    NotEqual,
    /// `lt`
    Less,
    /// `le`
    LessOrEqual,
    /// `gt`
    Greater,
    /// `ge`
    GreaterOrEqual,
    /// `equ`: equal or a NaN.
    EqualOrNan,
    /// `neu`
    NotEqualOrNan,
    /// `ltu`
    LessOrNan,
    /// `leu`
    LessOrEqualOrNan,
    /// `gtu`
    GreaterOrNan,
    /// `geu`
    GreaterOrEqualOrNan,
    /// `num`: no operand is a NaN.
    Numbers,
    /// `nan`: an operand is a NaN.
    Nan,
}

impl Compare {
    /// The names of `setp`, without the unsigned ones, which say the type again.
    pub(crate) const NAMES: &[(&str, Compare)] = &[
        ("eq", Compare::Equal),
        ("ne", Compare::NotEqual),
        ("lt", Compare::Less),
        ("le", Compare::LessOrEqual),
        ("gt", Compare::Greater),
        ("ge", Compare::GreaterOrEqual),
        ("lo", Compare::Less),
        ("ls", Compare::LessOrEqual),
        ("hi", Compare::Greater),
        ("hs", Compare::GreaterOrEqual),
        ("equ", Compare::EqualOrNan),
        ("neu", Compare::NotEqualOrNan),
        ("ltu", Compare::LessOrNan),
        ("leu", Compare::LessOrEqualOrNan),
        ("gtu", Compare::GreaterOrNan),
        ("geu", Compare::GreaterOrEqualOrNan),
        ("num", Compare::Numbers),
        ("nan", Compare::Nan),
    ];

    /// The answer for operands in this order; `None` is what a NaN gives.
    pub(crate) fn holds(self, order: Option<std::cmp::Ordering>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match self {
            Compare::Equal => order == Some(Equal),
            Compare::NotEqual => matches!(order, Some(Less | Greater)),
            Compare::Less => order == Some(Less),
            Compare::LessOrEqual => matches!(order, Some(Less | Equal)),
            Compare::Greater => order == Some(Greater),
            Compare::GreaterOrEqual => matches!(order, Some(Greater | Equal)),
            Compare::EqualOrNan => matches!(order, Some(Equal) | None),
            Compare::NotEqualOrNan => order != Some(Equal),
            Compare::LessOrNan => matches!(order, Some(Less) | None),
            Compare::LessOrEqualOrNan => order != Some(Greater),
            Compare::GreaterOrNan => matches!(order, Some(Greater) | None),
            Compare::GreaterOrEqualOrNan => order != Some(Less),
            Compare::Numbers => order.is_some(),
            Compare::Nan => order.is_none(),
        }
    }
}

/// The combination of a comparison's result with another predicate.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    /// Not at all.
    Alone,
    /// `.and`
    And,
    /// `.or`
    Or,
    /// `.xor`
    Xor,
}

impl Combine {
    /// The names.
    pub(crate) const NAMES: &[(&str, Combine)] = &[
        ("and", Combine::And),
        ("or", Combine::Or),
        ("xor", Combine::Xor),
    ];

    pub(super) fn apply(self, answer: bool, predicate: u64) -> bool {
        match self {
            Combine::Alone => answer,
            Combine::And => answer & (predicate != 0),
            Combine::Or => answer | (predicate != 0),
            Combine::Xor => answer ^ (predicate != 0),
        }
    }
}
