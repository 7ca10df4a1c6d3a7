//! Integer arithmetic: wrapping, division and remainders of either sign, results of two words.

use super::feature::Feature;
use super::ty::{INTEGERS, Scalar, Ty};
use super::want::Want::{self, Any, Bits};

/// An operation on two operands of one type.
type Two = fn(Scalar, u64, u64) -> Want;

fn wrap(s: Scalar, value: u64) -> Want {
    Bits(value & s.mask())
}

/// The smallest integer divided by -1, and anything by 0, is undefined (SPIR-V 3.49.13).
fn divides(s: Scalar, a: u64, b: u64) -> bool {
    b != 0 && !(a == 1 << (s.bits() - 1) && b == s.mask())
}

fn signed_division(s: Scalar, a: u64, b: u64, f: fn(i64, i64) -> i64) -> Want {
    if divides(s, a, b) {
        wrap(s, f(s.signed(a), s.signed(b)) as u64)
    } else {
        Any
    }
}

const TWO: [(&str, Two); 8] = [
    ("OpIAdd", |s, a, b| wrap(s, a.wrapping_add(b))),
    ("OpISub", |s, a, b| wrap(s, a.wrapping_sub(b))),
    ("OpIMul", |s, a, b| wrap(s, a.wrapping_mul(b))),
    ("OpUDiv", |_, a, b| a.checked_div(b).map_or(Any, Bits)),
    ("OpUMod", |_, a, b| a.checked_rem(b).map_or(Any, Bits)),
    ("OpSDiv", |s, a, b| signed_division(s, a, b, |a, b| a / b)),
    ("OpSRem", |s, a, b| signed_division(s, a, b, |a, b| a % b)),
    // The sign of the divisor.
    ("OpSMod", |s, a, b| {
        signed_division(s, a, b, |a, b| {
            let rest = a % b;
            if rest != 0 && (rest < 0) != (b < 0) {
                rest + b
            } else {
                rest
            }
        })
    }),
];

/// The two results of an instruction with a structure of two members.
type Pair = fn(Scalar, u64, u64) -> (u64, u64);

const PAIRS: [(&str, Pair); 4] = [
    ("OpIAddCarry", |s, a, b| {
        let sum = u128::from(a) + u128::from(b);
        (sum as u64, (sum >> s.bits()) as u64)
    }),
    ("OpISubBorrow", |_, a, b| {
        (a.wrapping_sub(b), u64::from(a < b))
    }),
    ("OpUMulExtended", |s, a, b| {
        let product = u128::from(a) * u128::from(b);
        (product as u64, (product >> s.bits()) as u64)
    }),
    ("OpSMulExtended", |s, a, b| {
        let product = i128::from(s.signed(a)) * i128::from(s.signed(b));
        (product as u64, (product >> s.bits()) as u64)
    }),
];

/// All of them at all widths.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    for s in INTEGERS {
        let ty = Ty::from(s);
        for (op, host) in TWO {
            all.push(Feature::simple(op, &[ty, ty], ty, move |row| {
                host(s, row[0], row[1])
            }));
        }
        all.push(Feature::simple("OpSNegate", &[ty], ty, move |row| {
            wrap(s, row[0].wrapping_neg())
        }));
        for (op, host) in PAIRS {
            let name = s.name();
            let body = format!(
                "$x = {op} %s_{name}_{name} $a $b\n$r = OpCompositeExtract %{name} $x 0\n$s = OpCompositeExtract %{name} $x 1"
            );
            all.push(Feature::new(op, &[ty, ty], &[ty, ty], &body, move |row| {
                let (low, high) = host(s, row[0], row[1]);
                vec![wrap(s, low), wrap(s, high)]
            }));
        }
    }
    all
}
