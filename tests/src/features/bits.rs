//! Shifts, bitwise operations, bit fields, counts and reversal.

use super::feature::Feature;
use super::ty::{INTEGERS, Scalar, Ty, U8, U16, U32};
use super::want::Want::{self, Any, Bits};

/// A shift; an amount of the width or more is undefined.
type Shift = fn(Scalar, u64, u64) -> u64;

const SHIFTS: [(&str, Shift); 3] = [
    ("OpShiftLeftLogical", |_, a, n| a << n),
    ("OpShiftRightLogical", |_, a, n| a >> n),
    ("OpShiftRightArithmetic", |s, a, n| {
        (s.signed(a) >> n) as u64
    }),
];

type Two = fn(u64, u64) -> u64;

const TWO: [(&str, Two); 3] = [
    ("OpBitwiseAnd", |a, b| a & b),
    ("OpBitwiseOr", |a, b| a | b),
    ("OpBitwiseXor", |a, b| a ^ b),
];

type One = fn(Scalar, u64) -> u64;

const ONE: [(&str, One); 3] = [
    ("OpNot", |_, a| !a),
    ("OpBitReverse", |s, a| a.reverse_bits() >> (64 - s.bits())),
    ("OpBitCount", |_, a| u64::from(a.count_ones())),
];

/// The lowest `count` bits.
fn ones(count: u64) -> u64 {
    1u64.checked_shl(count as u32)
        .map_or(u64::MAX, |bit| bit - 1)
}

/// Offset and count of a bit field; they are undefined when they name bits that are not there.
fn field(s: Scalar, offset: u64, count: u64) -> Option<(u64, u64)> {
    (offset + count <= u64::from(s.bits())).then_some((offset, count))
}

fn wrap(s: Scalar, value: u64) -> Want {
    Bits(value & s.mask())
}

/// Operands of a bit field: offset and count that mostly fit.
fn fields(s: Scalar, values: usize) -> Vec<Vec<u64>> {
    let ty = Ty::from(s);
    let mut rows = super::edges::rows(11, &vec![ty; values]);
    let width = u64::from(s.bits());
    for (row, values) in rows.iter_mut().enumerate() {
        let offset = row as u64 * 7 % (width + 1);
        let count = row as u64 * 5 / 3 % (width + 1 - offset + u64::from(row % 8 == 0));
        values.extend([offset, count]);
    }
    rows
}

/// All of them at all widths.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    for s in INTEGERS {
        let ty = Ty::from(s);
        // The amount may be of any width.
        for amount in [U8, U16, U32, s] {
            for (op, host) in SHIFTS {
                let shift = move |row: &[u64]| {
                    if row[1] < u64::from(s.bits()) {
                        wrap(s, host(s, row[0], row[1]))
                    } else {
                        Any
                    }
                };
                let inputs = super::edges::rows(5, &[ty])
                    .into_iter()
                    .zip(0..)
                    .map(|(row, at)| vec![row[0], at * 3 % (u64::from(s.bits()) + 1)])
                    .collect();
                let name = format!("{}.{}", s.name(), amount.name());
                let amount = Ty::from(amount);
                let feature = Feature::simple(op, &[ty, amount], ty, shift);
                all.push(feature.called(&name).with_inputs(inputs));
            }
            if amount == s {
                break;
            }
        }
        for (op, host) in TWO {
            all.push(Feature::simple(op, &[ty, ty], ty, move |row| {
                wrap(s, host(row[0], row[1]))
            }));
        }
        for (op, host) in ONE {
            all.push(Feature::simple(op, &[ty], ty, move |row| {
                wrap(s, host(s, row[0]))
            }));
        }
        let word = Ty::from(U32);
        let insert = Feature::simple("OpBitFieldInsert", &[ty, ty, word, word], ty, move |row| {
            let Some((offset, count)) = field(s, row[2], row[3]) else {
                return Any;
            };
            let mask = ones(count) << offset.min(63) & if offset < 64 { u64::MAX } else { 0 };
            wrap(s, row[0] & !mask | row[1] << offset.min(63) & mask)
        });
        all.push(insert.with_inputs(fields(s, 2)));
        let extract = |op: &str, signed: bool| {
            let feature = Feature::simple(op, &[ty, word, word], ty, move |row| {
                let Some((offset, count)) = field(s, row[1], row[2]) else {
                    return Any;
                };
                if count == 0 {
                    return Bits(0);
                }
                let bits = row[0] >> offset & ones(count);
                let negative = signed && bits >> (count - 1) & 1 == 1;
                wrap(s, if negative { bits | !ones(count) } else { bits })
            });
            feature.with_inputs(fields(s, 1))
        };
        all.push(extract("OpBitFieldSExtract", true));
        all.push(extract("OpBitFieldUExtract", false));
    }
    all
}
