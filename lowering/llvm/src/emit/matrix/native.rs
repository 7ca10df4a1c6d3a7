//! OpCooperativeMatrixMulAddKHR by instructions of the target: tile by tile, which stand one after
//! the other in an invocation's slots. So every shape that tiles divide is native. Sums of 16-bit
//! floats go through 32 bits.

use super::super::Result;
use super::super::function::FunctionEmitter;
use super::super::small_float::SmallFloat;
use super::super::types;
use super::shapes::{Shapes, widened};
use crate::ffi::{Ty, Value};
use spirv::{CooperativeMatrixOperands as Operands, CooperativeMatrixUse as Use};
use splitbar_layout::matrix::Matrix;
use splitbar_layout::matrix::instructions::{self, Factor, Form, Instruction, Passed};
use splitbar_plan::Target;

/// The instruction for this product, if there is one for the shapes, the types and the layouts.
pub(super) fn find(
    target: &Target,
    wave: u32,
    shapes: &Shapes<'_>,
) -> Option<&'static Instruction> {
    if shapes
        .operands
        .contains(Operands::SATURATING_ACCUMULATION_KHR)
    {
        return None;
    }
    let roles = [
        (Use::MatrixAKHR, shapes.a),
        (Use::MatrixBKHR, shapes.b),
        (Use::MatrixAccumulatorKHR, shapes.c),
        (Use::MatrixAccumulatorKHR, shapes.d),
    ];
    instructions::of(target, wave).iter().find(|instruction| {
        roles.iter().all(|(role, matrix)| {
            instruction.takes(*role, matrix.component)
                && instruction
                    .layout(*role, matrix.rows, matrix.columns)
                    .is_some_and(|layout| layout == matrix.layout)
        })
    })
}

/// Whether the components of A and of B are of the other kind that the instruction knows: signed
/// integers, or E5M2.
fn kinds(shapes: &Shapes<'_>) -> [bool; 2] {
    [
        (shapes.a, Operands::MATRIX_A_SIGNED_COMPONENTS_KHR),
        (shapes.b, Operands::MATRIX_B_SIGNED_COMPONENTS_KHR),
    ]
    .map(
        |(matrix, signed)| match SmallFloat::from_scalar(matrix.component) {
            Some(format) => format == SmallFloat::E5M2,
            None => shapes.operands.contains(signed),
        },
    )
}

/// Multiplies tile by tile.
///
/// MFMA reads its integers as signed. An unsigned factor is given with 128 less in each element,
/// and 128 times the sum of the other factor's elements is added, which is a product with ones:
/// `(a + 128) * b = a * b + 128 * (1 * b)`.
pub(super) fn multiply_add<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    instruction: &Instruction,
    shapes: &Shapes<'_>,
    [a, b, c]: [Value<'c>; 3],
) -> Result<Value<'c>> {
    let (down, across, deep) = (
        shapes.d.rows / instruction.rows,
        shapes.d.columns / instruction.columns,
        shapes.a.columns / instruction.depth,
    );
    let sum = match instruction.factor {
        Factor::I8 => e.b.int_type(32),
        Factor::F16 | Factor::BF16 | Factor::F32 | Factor::F8 => e.b.float_type(32),
        Factor::F64 => e.b.float_type(64),
    };
    let kinds = kinds(shapes);
    let only_signed = instruction.form == Form::Mfma && instruction.factor == Factor::I8;
    let [a_biased, b_biased] = kinds.map(|signed| only_signed && !signed);
    let (a, b) = (biased(e, a, a_biased)?, biased(e, b, b_biased)?);
    let c = widened(e, c, sum, true)?;
    let per = |matrix: &Matrix, tiles: u32| matrix.layout.slots / tiles.max(1);
    let per_a = per(shapes.a, down * deep);
    let per_b = per(shapes.b, deep * across);
    let per_c = per(shapes.d, down * across);
    let mut elements = Vec::new();
    for row in 0..down {
        for column in 0..across {
            let mut tile = part(e, c, (row * across + column) * per_c, per_c, per_c)?;
            let mut sums = tile.ty().zero();
            for k in 0..deep {
                let a = part(e, a, (row * deep + k) * per_a, per_a, instruction.taken)?;
                let taken = instruction.taken / per_a * per_b;
                let b = part(e, b, (k * across + column) * per_b, per_b, taken)?;
                tile = call(e, instruction, kinds, [a, b, tile])?;
                if a_biased {
                    sums = call(e, instruction, kinds, [e.b.int(a.ty(), 1)?, b, sums])?;
                }
                if b_biased {
                    sums = call(e, instruction, kinds, [a, e.b.int(b.ty(), 1)?, sums])?;
                }
            }
            if a_biased || b_biased {
                let ty = tile.ty();
                tile = e.b.add(tile, e.b.mul(sums, e.b.int(ty, 128)?)?)?;
                if a_biased && b_biased {
                    let constant = u64::from(128 * 128 * shapes.a.columns);
                    tile = e.b.add(tile, e.b.int(ty, constant)?)?;
                }
            }
            for slot in 0..per_c {
                elements.push(e.b.lane(tile, slot)?);
            }
        }
    }
    let value = e.b.vector(&elements)?;
    widened(e, value, types::scalar(e.b, shapes.d.component), true)
}

/// Bytes that are read as unsigned, 128 less.
fn biased<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    value: Value<'c>,
    biased: bool,
) -> Result<Value<'c>> {
    if biased {
        e.b.xor(value, e.b.int(value.ty(), 0x80)?)
    } else {
        Ok(value)
    }
}

/// `count` elements of `value` from `first` on, filled up with zeros to `length`.
fn part<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    value: Value<'c>,
    first: u32,
    count: u32,
    length: u32,
) -> Result<Value<'c>> {
    if length == 1 {
        return e.b.lane(value, first);
    }
    let zero = value.ty().zero();
    let mask: Vec<Option<u32>> = (0..length)
        .map(|i| {
            Some(if i < count {
                first + i
            } else {
                value.ty().lanes()
            })
        })
        .collect();
    e.b.shuffle(value, zero, &mask)
}

/// One instruction.
fn call<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    instruction: &Instruction,
    kinds: [bool; 2],
    [a, b, c]: [Value<'c>; 3],
) -> Result<Value<'c>> {
    let (no, zero) = (e.b.bool(false), e.b.i32(0));
    let [plain, a_name, b_name, both] = instruction.names;
    let name = match kinds.into() {
        (false, false) => plain,
        (true, false) => a_name,
        (false, true) => b_name,
        (true, true) => both,
    };
    let [a_signed, b_signed] = kinds.map(|signed| e.b.bool(signed));
    let passed = |value: Value<'c>| match instruction.passed {
        Passed::Elements => Ok(value),
        Passed::Integers(bits) => {
            let all = value.ty().lanes() * value.ty().scalar_bits();
            e.b.bitcast(value, e.b.int_type(bits).vector(all / bits))
        }
    };
    let (a, b) = (passed(a)?, passed(b)?);
    let types = [c.ty(), a.ty()];
    match instruction.form {
        Form::Wmma => e.b.intrinsic(name, &types, &[a, b, c]),
        Form::WmmaSigned => {
            e.b.intrinsic(name, &types, &[a_signed, a, b_signed, b, c, no])
        }
        Form::WmmaReuse => {
            let modifiers = e.b.int_type(16).zero();
            e.b.intrinsic(name, &types, &[a, b, modifiers, c, no, no])
        }
        Form::WmmaSignedReuse => {
            e.b.intrinsic(name, &types, &[a_signed, a, b_signed, b, c, no, no, no])
        }
        Form::Mfma => e.b.intrinsic(name, &[], &[a, b, c, zero, zero, zero]),
        Form::Mma => {
            let mut registers = registers(e, a)?;
            registers.extend(self::registers(e, b)?);
            registers.extend(self::registers(e, c)?);
            let result = e.b.intrinsic(name, &[], &registers)?;
            // Without it LLVM may sink the instruction to where only some lanes are active.
            result.set_convergent(e.b.context());
            let members = (0..c.ty().lanes())
                .map(|index| e.b.member(result, index))
                .collect::<Result<Vec<_>>>()?;
            e.b.vector(&members)
        }
    }
}

/// The registers that hold a value: of 32 bits, or of 64 for doubles.
fn registers<'c>(e: &FunctionEmitter<'_, 'c, '_>, value: Value<'c>) -> Result<Vec<Value<'c>>> {
    let ty: Ty<'c> = value.ty();
    let each = (32 / ty.scalar_bits()).max(1);
    (0..ty.lanes() / each)
        .map(|register| {
            let lanes = (0..each)
                .map(|lane| e.b.lane(value, register * each + lane))
                .collect::<Result<Vec<_>>>()?;
            e.b.vector(&lanes)
        })
        .collect()
}
