//! The instructions without side effects, one lane at a time.
//!
//! A value is the bits of a register in a `u64`, zero above the type's width. A [`Function`] is
//! chosen once, when the text is decoded; its [`Mode`] has what the opcode's modifiers say.

mod bits;
pub(super) mod convert;
pub(super) mod float;
pub(super) mod integer;
mod mode;
pub(super) mod round;
#[cfg(test)]
mod tests;

use super::types::{Class, Type};

pub(super) use bits::{mask, sign_extend};
pub(super) use mode::{Arguments, Combine, Compare, Function, Mode, first};

/// Applies [`Mode::each`] to both elements of a packed type.
pub(super) fn packed(m: &Mode, [a, b, c, d]: Arguments) -> u64 {
    let bits = m.bits();
    let at = |i: u32| (m.each)(m, [a, b, c, d].map(|v| v >> (i * bits) & mask(bits)));
    at(0) | at(1) << bits
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
