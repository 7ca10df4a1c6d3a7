//! Facts about a scalar integer: its bounds, its low bits, and its remainder modulo some number.
//! The bounds distinguish parts of an array (`stage * 256 + lane`), the low bits follow a counter
//! of which only `i % 4` matters, and the remainder one of which only `i % 3` matters.

use crate::analysis::uniformity::arithmetic;
use spirv::Op;

/// A set of `width`-bit numbers: those between two bounds whose low bits are given.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Value {
    /// Bits of the number; 1 for a Boolean.
    pub(super) width: u32,
    /// The least, without sign.
    pub(super) least: u64,
    /// The greatest, without sign.
    pub(super) most: u64,
    /// The low bits; those that are not known are zero.
    bits: u64,
    /// How many low bits are known.
    known: u32,
    /// The number and `rest` differ by a multiple of this. 0: they are equal; 1: nothing is known.
    modulus: u64,
    rest: u64,
}

/// The low `width` bits.
fn mask(width: u32) -> u64 {
    1u64.checked_shl(width).map_or(u64::MAX, |bit| bit - 1)
}

/// The greatest number that divides both; all divide 0.
pub(super) fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Bits that it takes to write `number`.
fn length(number: u64) -> u32 {
    64 - number.leading_zeros()
}

impl Value {
    /// Nothing is known.
    pub(super) fn any(width: u32) -> Value {
        Value::between(0, mask(width), width)
    }

    /// One number.
    pub(super) fn exactly(number: u64, width: u32) -> Value {
        let number = number & mask(width);
        Value::between(number, number, width)
    }

    /// Numbers from `least` to `most`; nothing is known when these are no `width`-bit numbers.
    pub(super) fn between(least: u64, most: u64, width: u32) -> Value {
        let (least, most) = if least <= most && most <= mask(width) {
            (least, most)
        } else {
            (0, mask(width))
        };
        let known = if least == most { width } else { 0 };
        Value {
            width,
            least,
            most,
            bits: if known > 0 { least } else { 0 },
            known,
            modulus: u64::from(least != most),
            rest: if least == most { least } else { 0 },
        }
    }

    /// The same numbers, of which those are left that differ from `rest` by a multiple of
    /// `modulus`.
    pub(super) fn congruent(self, rest: u64, modulus: u64) -> Value {
        if self.modulus == 0 || modulus <= 1 {
            return self; // it says no more
        }
        Value {
            modulus,
            rest: rest % modulus,
            ..self
        }
    }

    /// What a division by `by` leaves, if that is known.
    pub(super) fn rest_of(self, by: u64) -> Option<u64> {
        let divides = self.modulus.checked_rem(by) == Some(0);
        divides.then(|| self.rest % by)
    }

    /// Numbers whose low `known` bits are those of `bits`.
    pub(super) fn with_low_bits(bits: u64, known: u32, width: u32) -> Value {
        Value::any(width).and_low_bits(bits, known)
    }

    fn and_low_bits(self, bits: u64, known: u32) -> Value {
        let known = known.min(self.width);
        if known <= self.known {
            return self;
        }
        if known == self.width {
            return Value::exactly(bits, self.width);
        }
        Value {
            bits: bits & mask(known),
            known,
            ..self
        }
    }

    /// The number, if there is only one.
    pub(super) fn number(self) -> Option<u64> {
        (self.least == self.most).then_some(self.least)
    }

    /// The low `count` bits, if they are known.
    pub(super) fn low_bits(self, count: u32) -> Option<u64> {
        (self.known >= count.min(self.width)).then_some(self.bits & mask(count))
    }

    /// Returns true if no number is in both sets, by their bounds.
    pub(super) fn is_apart_from(self, other: Value) -> bool {
        self.most < other.least || other.most < self.least
    }

    /// The numbers of both.
    fn or(self, other: Value) -> Value {
        let hull = Value::between(
            self.least.min(other.least),
            self.most.max(other.most),
            self.width,
        );
        let known = self
            .known
            .min(other.known)
            .min((self.bits ^ other.bits).trailing_zeros());
        let modulus = gcd(
            gcd(self.modulus, other.modulus),
            self.rest.abs_diff(other.rest),
        );
        hull.and_low_bits(self.bits, known)
            .congruent(self.rest, modulus)
    }

    /// Returns true if all numbers are the same with a sign and without.
    fn is_positive(self) -> bool {
        self.most <= mask(self.width) >> 1
    }
}

/// The result of instruction `opcode`, `width` bits wide.
pub(super) fn evaluate(opcode: u16, width: u32, args: &[Value]) -> Value {
    let from = args.first().map_or(0, |arg| arg.width);
    let exact = arithmetic::evaluate(opcode, width, from, args.len(), |index| {
        args.get(index).and_then(|arg| arg.number())
    });
    if let Some(number) = exact {
        return Value::exactly(number, width);
    }
    let any = Value::any(width);
    let Some(op) = Op::from_u32(u32::from(opcode)) else {
        return any;
    };
    match *args {
        [a] => unary(op, a, width),
        [a, b] => binary(op, a, b, width),
        [condition, yes, no] if op == Op::Select => match condition.number() {
            Some(0) => no,
            Some(_) => yes,
            None => yes.or(no),
        },
        _ => any, // not an instruction on integers
    }
}

fn unary(op: Op, a: Value, width: u32) -> Value {
    let any = Value::any(width);
    match op {
        Op::Bitcast if a.width == width => a,
        Op::UConvert => resized(a, width),
        Op::SConvert if a.is_positive() => resized(a, width),
        Op::SConvert => any.and_low_bits(a.bits, a.known.min(a.width)),
        Op::SNegate => any.and_low_bits(a.bits.wrapping_neg(), a.known),
        Op::Not => any.and_low_bits(!a.bits, a.known),
        _ => any, // not followed
    }
}

/// The number in `width` bits, without those that do not fit.
fn resized(a: Value, width: u32) -> Value {
    let all = Value::between(a.least, a.most, width).and_low_bits(a.bits, a.known);
    if a.most <= mask(width) {
        all.congruent(a.rest, a.modulus)
    } else {
        all
    }
}

fn binary(op: Op, a: Value, b: Value, width: u32) -> Value {
    let any = Value::any(width);
    let both = a.known.min(b.known);
    let positive = a.is_positive() && b.is_positive();
    match op {
        Op::IAdd => sum(a, b, width).and_low_bits(a.bits.wrapping_add(b.bits), both),
        Op::ISub if a.least >= b.most => {
            difference(a, b, width).and_low_bits(a.bits.wrapping_sub(b.bits), both)
        }
        Op::ISub => any.and_low_bits(a.bits.wrapping_sub(b.bits), both),
        Op::IMul => product(a, b, width).and_low_bits(a.bits.wrapping_mul(b.bits), both),
        Op::ShiftLeftLogical => match b.number() {
            Some(shift) if shift < u64::from(width) => {
                let known = (a.known + shift as u32).min(width);
                product(a, Value::exactly(1 << shift, width), width)
                    .and_low_bits(a.bits << shift, known)
            }
            _ => any, // undefined, or not known
        },
        Op::ShiftRightLogical => match b.number() {
            Some(shift) if shift < u64::from(width) => {
                Value::between(a.least >> shift, a.most >> shift, width)
            }
            _ => any, // undefined, or not known
        },
        Op::ShiftRightArithmetic if positive => binary(Op::ShiftRightLogical, a, b, width),
        Op::UDiv => match b.number() {
            Some(by) if by > 0 => Value::between(a.least / by, a.most / by, width),
            _ => any, // undefined, or not known
        },
        Op::UMod => match b.number() {
            Some(by) if by > 0 => rest(a, by, width),
            _ => any, // undefined, or not known
        },
        Op::SDiv if positive => binary(Op::UDiv, a, b, width),
        Op::SRem | Op::SMod if positive => binary(Op::UMod, a, b, width),
        Op::BitwiseAnd => {
            // Known bits of one side are enough where the other side has zeros.
            let known = [(a, b), (b, a)].into_iter().find_map(|(side, other)| {
                let limit = length(other.number()?);
                (side.known >= limit).then_some(width)
            });
            Value::between(0, a.most.min(b.most), width)
                .and_low_bits(a.bits & b.bits, known.unwrap_or(both))
        }
        Op::BitwiseOr | Op::BitwiseXor => {
            let bits = if op == Op::BitwiseOr {
                a.bits | b.bits
            } else {
                a.bits ^ b.bits
            };
            Value::between(0, mask(length(a.most | b.most)), width).and_low_bits(bits, both)
        }
        Op::ULessThan | Op::SLessThan if op == Op::ULessThan || positive => {
            if a.most < b.least {
                Value::exactly(1, 1)
            } else if a.least >= b.most {
                Value::exactly(0, 1)
            } else {
                any
            }
        }
        Op::IEqual if a.is_apart_from(b) => Value::exactly(0, 1),
        _ => any, // not followed
    }
}

/// `a - b`, where no number of `b` is greater than one of `a`.
fn difference(a: Value, b: Value, width: u32) -> Value {
    let modulus = gcd(a.modulus, b.modulus);
    let rest = if a.rest >= b.rest {
        a.rest - b.rest
    } else {
        // Both are smaller than 2^64, and one of the numbers is not known, so that there is a
        // modulus.
        let over = (b.rest - a.rest) % modulus.max(1);
        modulus.saturating_sub(over)
    };
    Value::between(a.least - b.most, a.most - b.least, width).congruent(rest, modulus)
}

fn sum(a: Value, b: Value, width: u32) -> Value {
    let wraps = a
        .most
        .checked_add(b.most)
        .is_none_or(|most| most > mask(width));
    let modulus = if wraps { 1 } else { gcd(a.modulus, b.modulus) };
    hull_of_sum(a, b, width).congruent(a.rest.saturating_add(b.rest), modulus)
}

fn hull_of_sum(a: Value, b: Value, width: u32) -> Value {
    let end = u128::from(mask(width)) + 1;
    let least = u128::from(a.least) + u128::from(b.least);
    let most = u128::from(a.most) + u128::from(b.most);
    // All sums wrap, or none does: `x + 0xffffffff` is `x - 1` where `x` is not zero.
    let (least, most) = if least >= end {
        (least - end, most - end)
    } else {
        (least, most)
    };
    match (u64::try_from(least), u64::try_from(most)) {
        (Ok(least), Ok(most)) => Value::between(least, most, width),
        _ => Value::any(width), // some wrap
    }
}

fn product(a: Value, b: Value, width: u32) -> Value {
    match (a.least.checked_mul(b.least), a.most.checked_mul(b.most)) {
        (Some(least), Some(most)) if most <= mask(width) => {
            let by = |number: Value, by: u64| {
                let modulus = number.modulus.checked_mul(by)?;
                Some((number.rest.checked_mul(by)?, modulus))
            };
            let known = match (a.number(), b.number()) {
                (_, Some(number)) => by(a, number),
                (Some(number), _) => by(b, number),
                (None, None) => None,
            };
            let (rest, modulus) = known.unwrap_or((0, 1));
            Value::between(least, most, width).congruent(rest, modulus)
        }
        _ => Value::any(width), // it may wrap
    }
}

fn rest(a: Value, by: u64, width: u32) -> Value {
    let bounds = if a.least / by == a.most / by {
        Value::between(a.least % by, a.most % by, width)
    } else {
        Value::between(0, by - 1, width)
    };
    let low = by
        .is_power_of_two()
        .then(|| a.low_bits(by.trailing_zeros()));
    match low.flatten().or(a.rest_of(by)) {
        Some(rest) => Value::exactly(rest, width),
        None => bounds,
    }
}

/// How many low bits of argument `index` decide the low `count` bits of the result of `opcode`;
/// `numbers` are the arguments that are constant, `widths` those of all.
pub(super) fn demand(
    opcode: u16,
    count: u32,
    index: usize,
    widths: &[u32],
    numbers: &[Option<u64>],
) -> u32 {
    let all = widths.get(index).copied().unwrap_or(0);
    let constant = |index: usize| numbers.get(index).copied().flatten();
    let Some(op) = Op::from_u32(u32::from(opcode)) else {
        return all;
    };
    let needed = match (op, index) {
        (
            Op::IAdd
            | Op::ISub
            | Op::IMul
            | Op::BitwiseOr
            | Op::BitwiseXor
            | Op::Not
            | Op::SNegate
            | Op::UConvert
            | Op::Bitcast,
            _,
        ) => count,
        (Op::SConvert, _) if count <= all => count,
        (Op::BitwiseAnd, _) => match constant(1 - index.min(1)) {
            Some(other) => count.min(length(other)),
            None => count,
        },
        (Op::UMod, 0) => match constant(1) {
            Some(by) if by.is_power_of_two() => count.min(by.trailing_zeros()),
            _ => all, // it depends on the whole number
        },
        (Op::ShiftLeftLogical, 0) => match constant(1) {
            Some(shift) => count.saturating_sub(u32::try_from(shift).unwrap_or(u32::MAX)),
            None => count,
        },
        (Op::Select, 1 | 2) => count,
        _ => all, // it depends on the whole number
    };
    needed.min(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OPS: &[Op] = &[
        Op::IAdd,
        Op::ISub,
        Op::IMul,
        Op::UDiv,
        Op::UMod,
        Op::SDiv,
        Op::SRem,
        Op::SMod,
        Op::ShiftLeftLogical,
        Op::ShiftRightLogical,
        Op::ShiftRightArithmetic,
        Op::BitwiseAnd,
        Op::BitwiseOr,
        Op::BitwiseXor,
        Op::ULessThan,
        Op::SLessThan,
        Op::IEqual,
    ];

    fn holds(value: Value, number: u64) -> bool {
        value.least <= number
            && number <= value.most
            && (number ^ value.bits) & mask(value.known) == 0
            && match value.modulus {
                0 => number == value.rest,
                modulus => number % modulus == value.rest % modulus,
            }
    }

    /// Sets of 8-bit numbers, each with one of its members.
    fn set() -> impl Strategy<Value = (Value, u64)> {
        (0u64..256, 0u64..256, 0u64..256, 0u32..9, 1u64..8).prop_map(|(a, b, c, known, modulus)| {
            let mut sorted = [a, b, c];
            sorted.sort_unstable();
            let [least, number, most] = sorted;
            (
                Value::between(least, most, 8)
                    .and_low_bits(number, known)
                    .congruent(number, modulus),
                number,
            )
        })
    }

    proptest! {
        #[test]
        fn no_number_is_lost(op in prop::sample::select(OPS), (a, x) in set(), (b, y) in set()) {
            let width = if matches!(op, Op::ULessThan | Op::SLessThan | Op::IEqual) { 1 } else { 8 };
            let exact = arithmetic::evaluate(op as u16, width, 8, 2, |index| [x, y].get(index).copied());
            if let Some(exact) = exact {
                let found = evaluate(op as u16, width, &[a, b]);
                prop_assert!(holds(found, exact), "{op:?} of {a:?} and {b:?} is {found:?}, of {x} and {y} {exact}");
            }
        }

        #[test]
        fn demanded_bits_decide(op in prop::sample::select(OPS), x in 0u64..256, y in 0u64..256, noise in 0u64..256, count in 1u32..9) {
            if !matches!(op, Op::ULessThan | Op::SLessThan | Op::IEqual) {
                let low = demand(op as u16, count, 0, &[8, 8], &[None, Some(y)]);
                let other = x ^ (noise << low & 0xff);
                let of = |x: u64| arithmetic::evaluate(op as u16, 8, 8, 2, |index| [x, y].get(index).copied());
                if let (Some(a), Some(b)) = (of(x), of(other)) {
                    prop_assert_eq!((a ^ b) & mask(count), 0, "{:?} of {} and {} with {}", op, x, other, y);
                }
            }
        }
    }

    #[test]
    fn bounds_of_an_index() {
        // stage * 256 + (t % 8) * 32 + t / 8 with t < 256
        let lane = Value::between(0, 255, 32);
        let number = |n| Value::exactly(n, 32);
        let op = |op: Op, a, b| evaluate(op as u16, 32, &[a, b]);
        let row = op(Op::UDiv, lane, number(8));
        let column = op(Op::IMul, op(Op::UMod, lane, number(8)), number(32));
        let index = op(Op::IAdd, op(Op::IAdd, number(512), column), row);
        assert_eq!((index.least, index.most), (512, 512 + 255));
    }

    #[test]
    fn a_counter_modulo_a_power_of_two() {
        let counter = Value::with_low_bits(3, 2, 32);
        let next = evaluate(Op::IAdd as u16, 32, &[counter, Value::exactly(2, 32)]);
        let stage = evaluate(Op::UMod as u16, 32, &[next, Value::exactly(4, 32)]);
        assert_eq!(stage.number(), Some(1));
        let stage = evaluate(Op::BitwiseAnd as u16, 32, &[next, Value::exactly(3, 32)]);
        assert_eq!(stage.number(), Some(1));
    }

    #[test]
    fn a_counter_modulo_three() {
        let op = |op: Op, a, b| evaluate(op as u16, 32, &[a, b]);
        let number = |n| Value::exactly(n, 32);
        let counter = Value::between(0, 1 << 28, 32).congruent(2, 3);
        let ahead = op(Op::IAdd, counter, number(2));
        assert_eq!(op(Op::UMod, ahead, number(3)).number(), Some(1));
        // Where the sum may wrap nothing is known.
        let counter = Value::any(32).congruent(2, 3);
        let ahead = op(Op::IAdd, counter, number(2));
        assert_eq!(op(Op::UMod, ahead, number(3)).number(), None);
    }
}
