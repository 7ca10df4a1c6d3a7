//! What the instructions without side effects compute, one lane at a time.
//!
//! A value is the bits of a register in a `u64`, zero above the type's width. A [`Function`] is
//! chosen once, when the text is decoded; its [`Mode`] has what the opcode's modifiers say.

pub(super) mod convert;
pub(super) mod float;
pub(super) mod integer;
pub(super) mod round;
#[cfg(test)]
mod tests;

use super::types::{Class, Type};
use round::Rounding;

/// Up to four source operands; those that the instruction does not have are 0.
pub(super) type Arguments = [u64; 4];

/// Computes one lane's result.
pub(super) type Function = fn(&Mode, Arguments) -> u64;

/// What the modifiers of an opcode say.
#[derive(Copy, Clone, Debug)]
pub(super) struct Mode {
    /// The type that the instruction works in.
    pub kind: Type,
    /// The type that a conversion reads, or a comparison writes.
    pub other: Type,
    /// How a result is rounded.
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
    /// What a comparison asks.
    pub compare: Compare,
    /// How a comparison's result is combined with another predicate.
    pub combine: Combine,
    /// A small constant: the truth table of `lop3`, the mode of `prmt`, 1 where a shift's amount
    /// wraps.
    pub table: u8,
    /// What is computed for each element of a packed type.
    pub each: Function,
}

impl Mode {
    /// Nothing but a type.
    pub(super) fn of(kind: Type) -> Mode {
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
    pub(super) fn bits(&self) -> u32 {
        self.kind.element
    }

    /// The bytes of an operand of a comparison that gives a predicate; `None` of another function.
    pub(super) fn compared(&self) -> Option<usize> {
        let compares = self.other == Type::PREDICATE && self.kind != Type::PREDICATE;
        compares.then(|| (self.kind.element * self.kind.count).div_ceil(8) as usize)
    }

    /// The low bits of a value, as many as an element has.
    pub(super) fn low(&self, value: u64) -> u64 {
        value & mask(self.bits())
    }
}

/// A value with this many low bits set.
pub(super) fn mask(bits: u32) -> u64 {
    match bits {
        0 => 0,
        1..=63 => (1 << bits) - 1,
        _ => u64::MAX,
    }
}

/// A number in two's complement of this width.
pub(super) fn sign_extend(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits.clamp(1, 64);
    ((value << unused) as i64) >> unused
}

/// The first operand: moves, and additions of nothing.
pub(super) fn first(_: &Mode, [a, ..]: Arguments) -> u64 {
    a
}

/// Applies [`Mode::each`] to both elements of a packed type.
pub(super) fn packed(m: &Mode, [a, b, c, d]: Arguments) -> u64 {
    let bits = m.bits();
    let at = |i: u32| (m.each)(m, [a, b, c, d].map(|v| v >> (i * bits) & mask(bits)));
    at(0) | at(1) << bits
}

/// What a comparison asks (PTX ISA, "Comparison and Selection Instructions").
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Compare {
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
    pub(super) const NAMES: &[(&str, Compare)] = &[
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
    pub(super) fn holds(self, order: Option<std::cmp::Ordering>) -> bool {
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

/// How a comparison's result is combined with another predicate.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Combine {
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
    pub(super) const NAMES: &[(&str, Combine)] = &[
        ("and", Combine::And),
        ("or", Combine::Or),
        ("xor", Combine::Xor),
    ];

    fn apply(self, answer: bool, predicate: u64) -> bool {
        match self {
            Combine::Alone => answer,
            Combine::And => answer & (predicate != 0),
            Combine::Or => answer | (predicate != 0),
            Combine::Xor => answer ^ (predicate != 0),
        }
    }
}

/// Compares `a` and `b` and combines the answer with the predicate `c`. `setp` gives 1 or 0; `set`
/// gives all ones, or 1.0, in a wider type.
pub(super) fn compare(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    let order = if m.kind.is_float() {
        let value = |x| float::value(m, x);
        value(a).partial_cmp(&value(b))
    } else if m.kind.is_signed() {
        Some(sign_extend(a, m.bits()).cmp(&sign_extend(b, m.bits())))
    } else {
        Some(m.low(a).cmp(&m.low(b)))
    };
    let answer = m.combine.apply(m.compare.holds(order), c);
    match (answer, m.other.class) {
        (false, _) => 0,
        (true, Class::Single) => u64::from(1f32.to_bits()),
        (true, _) => mask(m.other.bits()),
    }
}

/// The opposite of [`compare`]'s comparison, combined with the predicate: the second result of
/// `setp`.
pub(super) fn compare_not(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    let alone = Mode {
        combine: Combine::Alone,
        other: Type::PREDICATE,
        ..*m
    };
    let answer = compare(&alone, [a, b, 0, 0]) == 0;
    u64::from(m.combine.apply(answer, c))
}

/// `c ? a : b`
pub(super) fn select(_: &Mode, [a, b, c, _]: Arguments) -> u64 {
    if c != 0 { a } else { b }
}
