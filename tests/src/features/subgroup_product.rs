//! Products of matrices that a subgroup holds (SPV_INTEL_subgroup_matrix_multiply_accumulate), for
//! subgroups of any size: with integers, packed bytes, 16-bit floats and bfloat16.

use super::feature::Feature;
use super::launch::INVOCATIONS;
use super::ty::{F32, Scalar, Ty, U16, U32};
use super::want::Want::{self, Bits};
use super::want::float;

/// Rows of A, C and the result.
const ROWS: usize = 4;

/// A product.
struct Case {
    name: &'static str,
    /// The dimension K.
    depth: usize,
    /// Scalars of A, B, C and the result; all but B have a component for each row.
    scalars: [Scalar; 4],
    /// Components of B.
    right: usize,
    /// The operand mask.
    flags: &'static str,
    /// The value of element `n` of a component, and the number of elements in a component of B.
    element: fn(u64, usize) -> f64,
    per_word: usize,
    /// The value of a component of C and of the result.
    start: fn(u64) -> f64,
    result: fn(f64) -> Want,
    /// Some bits of a component.
    bits: fn(&mut fastrand::Rng, Scalar) -> u64,
}

fn byte(bits: u64, n: usize) -> f64 {
    f64::from((bits >> (8 * n)) as u8 as i8)
}

fn half(bits: u64, n: usize) -> f64 {
    half::f16::from_bits((bits >> (16 * n)) as u16).to_f64()
}

fn brain(bits: u64, n: usize) -> f64 {
    half::bf16::from_bits((bits >> (16 * n)) as u16).to_f64()
}

fn wrapped(value: f64) -> Want {
    Bits(u64::from(value as i64 as u32))
}

/// 0 to 3 and their negatives, of 16 bits each.
fn of_halves(rng: &mut fastrand::Rng, s: Scalar, numbers: [u64; 4]) -> u64 {
    let mut one = || numbers[rng.usize(0..4)] | u64::from(rng.bool()) << 15;
    match s {
        U16 => one(),
        _ => one() | one() << 16,
    }
}

#[rustfmt::skip] // a table
const CASES: &[Case] = &[
    Case { name: "u32", depth: 8, scalars: [U32, U32, U32, U32], right: 8, flags: "",
        element: |bits, _| bits as f64, per_word: 1, start: |bits| bits as f64, result: wrapped,
        bits: |rng, _| rng.u64(0..1 << 14) },
    Case { name: "i8", depth: 8, scalars: [U32, U32, U32, U32], right: 2,
        flags: "MatrixASignedComponentsINTEL|MatrixBSignedComponentsINTEL|MatrixAPackedInt8INTEL|MatrixBPackedInt8INTEL",
        element: byte, per_word: 4, start: |bits| f64::from(bits as u32 as i32), result: wrapped,
        bits: |rng, _| rng.u64(0..1 << 32) },
    Case { name: "i8.deep", depth: 16, scalars: [U16, U32, U32, U32], right: 4,
        flags: "MatrixASignedComponentsINTEL|MatrixBSignedComponentsINTEL|MatrixAPackedInt8INTEL|MatrixBPackedInt8INTEL",
        element: byte, per_word: 4, start: |bits| f64::from(bits as u32 as i32), result: wrapped,
        bits: |rng, s| rng.u64(..) & s.mask() },
    Case { name: "f16", depth: 8, scalars: [U16, U32, F32, F32], right: 4,
        flags: "MatrixAPackedFloat16INTEL|MatrixBPackedFloat16INTEL",
        element: half, per_word: 2, start: |bits| F32.float(bits), result: |value| float(F32, value),
        bits: |rng, s| match s {
            F32 => F32.bits_of(rng.f64().round() * 8.0),
            s => of_halves(rng, s, [0x3c00, 0x4000, 0x4200, 0x4400]),
        } },
    Case { name: "bf16", depth: 8, scalars: [U16, U32, U16, U16], right: 4,
        flags: "MatrixAPackedBFloat16INTEL|MatrixBPackedBFloat16INTEL|MatrixCBFloat16INTEL|MatrixResultBFloat16INTEL",
        element: brain, per_word: 2, start: |bits| brain(bits, 0),
        result: |value| super::extensions::brain(value),
        bits: |rng, s| of_halves(rng, s, [0x3f80, 0x4000, 0x4040, 0x4080]) },
];

fn product(case: &'static Case) -> Feature {
    let [left, right, start, result] = case.scalars;
    let rows = |scalar| Ty::vector(scalar, ROWS);
    let params = [rows(left), Ty::vector(right, case.right), rows(start)];
    let op = "OpSubgroupMatrixMultiplyAccumulateINTEL";
    let body = format!(
        "$r = {op} %{} %u32_{} $a $b $c {}",
        rows(result).name(),
        case.depth,
        case.flags
    );
    let mut rng = fastrand::Rng::with_seed(3);
    let scalars = [(left, ROWS), (right, case.right), (start, ROWS)];
    let inputs = (0..INVOCATIONS)
        .map(|_| {
            let parts = scalars.iter().flat_map(|(s, count)| vec![*s; *count]);
            parts.map(|s| (case.bits)(&mut rng, s)).collect()
        })
        .collect();
    let feature = Feature::new(op, &params, &[rows(result)], &body, |_| Vec::new());
    let feature = feature.collectively(move |launch, inputs| {
        let lanes = launch.subgroup;
        let (columns, shared) = if case.depth > lanes {
            (case.depth / lanes, 1)
        } else {
            (1, lanes / case.depth)
        };
        let of_lane = |lane: usize| {
            let first = lane / lanes * lanes;
            let own = &inputs[lane];
            let row = |row: usize| {
                let term = |k: usize| {
                    let there = &inputs[first + k / columns + case.depth * (row % shared)];
                    let x = (case.element)(there[row / shared], k % columns);
                    let word = own[ROWS + k / case.per_word];
                    x * (case.element)(word, k % case.per_word)
                };
                let start = (case.start)(own[ROWS + case.right + row]);
                (case.result)((0..case.depth).map(term).sum::<f64>() + start)
            };
            (0..ROWS).map(row).collect()
        };
        (0..inputs.len()).map(of_lane).collect()
    });
    feature
        .with_inputs(inputs)
        .called(case.name)
        .needing(&["SubgroupMatrixMultiplyAccumulateINTEL"])
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    CASES.iter().map(product).collect()
}
