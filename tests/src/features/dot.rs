//! Integer dot products: vectors and packed bytes, of either sign and both, without and with a
//! saturating sum.

use super::edges;
use super::feature::Feature;
use super::ty::{INTEGERS, Scalar, Ty, U8, U16, U32};
use super::want::Want::{self, Any, Bits};

/// The opcode, without `AccSat`, and which of the two vectors have signs.
const FORMS: [(&str, bool, bool); 3] = [
    ("OpSDot", true, true),
    ("OpUDot", false, false),
    ("OpSUDot", true, false),
];

const NEEDS: [&str; 4] = [
    "DotProduct",
    "DotProductInputAll",
    "DotProductInput4x8Bit",
    "DotProductInput4x8BitPacked",
];

fn value(s: Scalar, bits: u64, signed: bool) -> i128 {
    if signed {
        i128::from(s.signed(bits))
    } else {
        i128::from(bits)
    }
}

/// The products of the components of `x` and `y`.
fn products(s: Scalar, x: &[u64], y: &[u64], signs: (bool, bool)) -> Vec<i128> {
    x.iter()
        .zip(y)
        .map(|(x, y)| value(s, *x, signs.0).wrapping_mul(value(s, *y, signs.1)))
        .collect()
}

/// The sum, of which the low bits count (SPV_KHR_integer_dot_product).
fn sum(to: Scalar, products: &[i128]) -> Want {
    let sum = products.iter().fold(0i128, |sum, p| sum.wrapping_add(*p));
    Bits(sum as u64 & to.mask())
}

/// The sum and an accumulator, added with saturation; undefined if the sum alone can overflow.
fn saturated(to: Scalar, products: &[i128], accumulator: u64, signed: bool) -> Want {
    let (least, most) = if signed {
        (-(1i128 << (to.bits() - 1)), (1i128 << (to.bits() - 1)) - 1)
    } else {
        (0, i128::from(to.mask()))
    };
    let all = |keep: fn(i128) -> bool| {
        let kept = products.iter().copied().filter(|p| keep(*p));
        kept.fold(0i128, i128::saturating_add)
    };
    let (above, below) = (all(|p| p > 0), all(|p| p < 0));
    if above > most || below < least {
        return Any;
    }
    let sum = above + below + value(to, accumulator, signed);
    Bits(sum.clamp(least, most) as u64 & to.mask())
}

/// Both forms of one opcode: `x` and `y` are `lanes` components of `s`, in one word if `packed`.
fn forms(all: &mut Vec<Feature>, s: Scalar, lanes: usize, to: Scalar, packed: bool) {
    let operand = if packed {
        Ty::from(U32)
    } else {
        Ty::vector(s, lanes)
    };
    let parts = move |row: &[u64]| -> (Vec<u64>, Vec<u64>) {
        if packed {
            let bytes = |word: u64| (word as u32).to_le_bytes().map(u64::from).to_vec();
            (bytes(row[0]), bytes(row[1]))
        } else {
            (row[..lanes].to_vec(), row[lanes..2 * lanes].to_vec())
        }
    };
    let format = if packed {
        " PackedVectorFormat4x8Bit"
    } else {
        ""
    };
    let variant = format!(
        "{}{}.{}",
        operand.name(),
        if packed { "packed" } else { "" },
        to.name()
    );
    for (op, x_signed, y_signed) in FORMS {
        let signs = (x_signed, y_signed);
        let body = format!("$r = {op} %{} $a $b{format}", to.name());
        let plain = Feature::new(op, &[operand, operand], &[to.into()], &body, move |row| {
            let (x, y) = parts(row);
            vec![sum(to, &products(s, &x, &y, signs))]
        });
        all.push(plain.called(&variant).needing(&NEEDS));
        let body = format!("$r = {op}AccSat %{} $a $b $c{format}", to.name());
        let params = [operand, operand, to.into()];
        let op = format!("{op}AccSat");
        let saturating = Feature::new(&op, &params, &[to.into()], &body, move |row| {
            let (x, y) = parts(row);
            let accumulator = row[row.len() - 1];
            vec![saturated(
                to,
                &products(s, &x, &y, signs),
                accumulator,
                x_signed,
            )]
        });
        // Products of whole ranges overflow, which leaves the result open: half of the rows are
        // short.
        let mut inputs = edges::rows(81, &params);
        for row in inputs.iter_mut().step_by(2) {
            let last = row.len() - 1;
            if !packed {
                for part in &mut row[..last] {
                    *part &= 7;
                }
            }
        }
        all.push(
            saturating
                .called(&variant)
                .needing(&NEEDS)
                .with_inputs(inputs),
        );
    }
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    for s in INTEGERS {
        let wide = INTEGERS
            .into_iter()
            .filter(|to| to.bits() == s.bits() || to.bits() == 64 || to.bits() == 2 * s.bits());
        for to in wide {
            for lanes in [2, 3, 4] {
                forms(&mut all, s, lanes, to, false);
            }
        }
    }
    for to in [U8, U16, U32, super::ty::U64] {
        forms(&mut all, U8, 4, to, true);
    }
    all
}
