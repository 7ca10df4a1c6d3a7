//! The operations of subgroup and group instructions, and operands whose combination is exact in
//! any order.

use super::launch::INVOCATIONS;
use super::ty::{Bool, Scalar};
use super::want::Want::{self, Bits};

/// Operands of an invocation.
pub(super) type Row = Vec<u64>;

/// The end of the opcode's name; the value that changes nothing; two values combined.
pub(super) type Operation = (&'static str, fn(Scalar) -> u64, fn(Scalar, u64, u64) -> u64);

fn signed(s: Scalar, a: u64, b: u64, f: fn(i64, i64) -> i64) -> u64 {
    f(s.signed(a), s.signed(b)) as u64 & s.mask()
}

fn least(s: Scalar) -> u64 {
    1 << (s.bits() - 1)
}

#[rustfmt::skip] // a table
pub(super) const INTEGER: [Operation; 9] = [
    ("IAdd", |_| 0, |s, a, b| a.wrapping_add(b) & s.mask()),
    ("IMul", |_| 1, |s, a, b| a.wrapping_mul(b) & s.mask()),
    ("UMin", |s| s.mask(), |_, a, b| a.min(b)),
    ("UMax", |_| 0, |_, a, b| a.max(b)),
    ("SMin", |s| s.mask() >> 1, |s, a, b| signed(s, a, b, i64::min)),
    ("SMax", least, |s, a, b| signed(s, a, b, i64::max)),
    ("BitwiseAnd", |s| s.mask(), |_, a, b| a & b),
    ("BitwiseOr", |_| 0, |_, a, b| a | b),
    ("BitwiseXor", |_| 0, |_, a, b| a ^ b),
];

#[rustfmt::skip] // a table
pub(super) const FLOAT: [Operation; 4] = [
    ("FAdd", |s| s.bits_of(0.0), |s, a, b| s.bits_of(s.float(a) + s.float(b))),
    ("FMul", |s| s.bits_of(1.0), |s, a, b| s.bits_of(s.float(a) * s.float(b))),
    ("FMin", |s| s.bits_of(f64::INFINITY), |s, a, b| s.bits_of(s.float(a).min(s.float(b)))),
    ("FMax", |s| s.bits_of(f64::NEG_INFINITY), |s, a, b| s.bits_of(s.float(a).max(s.float(b)))),
];

#[rustfmt::skip] // a table
pub(super) const LOGICAL: [Operation; 3] = [
    ("LogicalAnd", |_| 1, |_, a, b| a & b),
    ("LogicalOr", |_| 0, |_, a, b| a | b),
    ("LogicalXor", |_| 0, |_, a, b| a ^ b),
];

/// All values combined. A zero sum may have either sign: the identity of addition is written -0 or
/// 0.
pub(super) fn combine_all((_, identity, combine): Operation, s: Scalar, values: &[u64]) -> Want {
    let result = values
        .iter()
        .fold(identity(s), |sum, v| combine(s, sum, *v));
    if s.is_float() && s.float(result) == 0.0 {
        Want::OneOf(vec![s.bits_of(0.0), s.bits_of(-0.0)])
    } else {
        Bits(result)
    }
}

/// One operand for each invocation. Floats are small powers of two with either sign, most of them
/// 1: sums and products of a workgroup are exact.
pub(super) fn operands(s: Scalar) -> Vec<Row> {
    if !s.is_float() {
        let seed = if s == Bool { 62 } else { 61 };
        return super::edges::rows(seed, &[s.into()]);
    }
    let value = |at: usize| match at * 13 / 5 % 16 {
        0 => 2.0,
        1 => 0.5,
        2 | 3 => -1.0,
        _ => 1.0,
    };
    (0..INVOCATIONS)
        .map(|at| vec![s.bits_of(value(at))])
        .collect()
}
