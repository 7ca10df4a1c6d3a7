//! Operands: the values at the edges of a type, each with each, and random ones to fill up.

use super::launch::INVOCATIONS;
use super::ty::{Bool, Scalar, Ty};
use fastrand::Rng;

/// The values of a type at which things go wrong.
pub fn edges(scalar: Scalar) -> Vec<u64> {
    if scalar == Bool {
        return vec![0, 1];
    }
    if scalar.is_float() {
        return float_edges(scalar);
    }
    let (bits, mask) = (scalar.bits(), scalar.mask());
    let sign = 1u64 << (bits - 1);
    [
        0,
        1,
        mask,
        sign,
        sign - 1,
        2,
        3,
        u64::from(bits) - 1,
        u64::from(bits),
        sign + 1,
        mask - 1,
        0x5555_5555_5555_5555 & mask,
        0xaaaa_aaaa_aaaa_aaaa & mask,
        10,
    ]
    .to_vec()
}

fn float_edges(scalar: Scalar) -> Vec<u64> {
    let least = scalar.least_normal();
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        0.5,
        -1.5,
        2.5,
        scalar.most(),
        -scalar.most(),
        least,
        -least * 0.75,
        least * super::ty::power_of_two(1 - scalar.precision()),
        3.0,
    ];
    values.iter().map(|v| scalar.bits_of(*v)).collect()
}

/// A random value: any bits for an integer; for a float a magnitude that is common as often as any
/// other.
pub fn random(rng: &mut Rng, scalar: Scalar) -> u64 {
    if !scalar.is_float() {
        let bits = rng.u64(..) & scalar.mask();
        // Short numbers come often: their sums and products do not overflow.
        return if rng.bool() {
            bits
        } else {
            bits >> rng.u32(0..scalar.bits())
        };
    }
    let value = (rng.f64() + 1.0) * if rng.bool() { 1.0 } else { -1.0 };
    let reach = if rng.u8(0..4) == 0 {
        -scalar.least_exponent() - 1
    } else {
        8
    };
    scalar.bits_of(value * super::ty::power_of_two(rng.i32(-reach..reach)))
}

/// One row of operands for each invocation: the edges of all parameters against each other as far
/// as there is room for them, then random values.
pub fn rows(seed: u64, params: &[Ty]) -> Vec<Vec<u64>> {
    let scalars: Vec<Scalar> = params
        .iter()
        .flat_map(|ty| std::iter::repeat_n(ty.scalar, ty.components()))
        .collect();
    let tables: Vec<Vec<u64>> = scalars.iter().map(|s| edges(*s)).collect();
    let mut rng = Rng::with_seed(seed);
    let regular = tables
        .iter()
        .fold(1usize, |product, table| product.saturating_mul(table.len()));
    (0..INVOCATIONS)
        .map(|row| {
            let mut at = row;
            let mut operand = |table: &Vec<u64>, scalar: Scalar| {
                if regular <= INVOCATIONS && row < regular {
                    let value = table[at % table.len()];
                    at /= table.len();
                    value
                } else if regular > INVOCATIONS && rng.u8(0..6) != 0 {
                    table[rng.usize(..table.len())]
                } else {
                    random(&mut rng, scalar)
                }
            };
            let pairs = tables.iter().zip(&scalars);
            pairs
                .map(|(table, scalar)| operand(table, *scalar))
                .collect()
        })
        .collect()
}

/// Rows of random numbers without edges, each parameter between its bounds.
pub fn between(seed: u64, ranges: &[(Scalar, f64, f64)]) -> Vec<Vec<u64>> {
    let mut rng = Rng::with_seed(seed);
    (0..INVOCATIONS)
        .map(|_| {
            ranges
                .iter()
                .map(|(scalar, low, high)| scalar.bits_of(low + (high - low) * rng.f64()))
                .collect()
        })
        .collect()
}
