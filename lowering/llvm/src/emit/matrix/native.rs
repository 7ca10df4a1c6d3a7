//! OpCooperativeMatrixMulAddKHR by instructions of the target: tile by tile, which stand one after the other in an invocation's slots. So every shape that
//! tiles divide is native. Sums of 16-bit floats go through 32 bits.

use super::super::Result;
use super::super::function::FunctionEmitter;
use super::super::types::Scalar;
use super::Matrix;
use super::instructions::{self, Factor, Form, Instruction, Passed};
use super::layout::Layout;
use super::product::{Shapes, widened};
use crate::ffi::{Ty, Value};
use spirv::{CooperativeMatrixOperands as Operands, CooperativeMatrixUse as Use};
use splitbar_plan::Target;

/// How the first instruction that takes such a matrix wants it.
pub(super) fn layout(
    target: &Target,
    wave: u32,
    role: Use,
    component: Scalar,
    rows: u32,
    columns: u32,
) -> Option<Layout> {
    instructions::of(target, wave)
        .iter()
        .filter(|instruction| instruction.takes(role, component))
        .find_map(|instruction| instruction.layout(role, rows, columns))
}

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
    let both = Operands::MATRIX_A_SIGNED_COMPONENTS_KHR | Operands::MATRIX_B_SIGNED_COMPONENTS_KHR;
    let roles = [
        (Use::MatrixAKHR, shapes.a),
        (Use::MatrixBKHR, shapes.b),
        (Use::MatrixAccumulatorKHR, shapes.c),
        (Use::MatrixAccumulatorKHR, shapes.d),
    ];
    instructions::of(target, wave).iter().find(|instruction| {
        // MFMA reads its integers as signed.
        let signs = instruction.form != Form::Mfma
            || instruction.factor != Factor::I8
            || shapes.operands.contains(both);
        signs
            && roles.iter().all(|(role, matrix)| {
                instruction.takes(*role, matrix.component)
                    && instruction
                        .layout(*role, matrix.rows, matrix.columns)
                        .is_some_and(|layout| layout == matrix.layout)
            })
    })
}

/// Multiplies tile by tile.
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
        Factor::F16 | Factor::BF16 | Factor::F32 => e.b.float_type(32),
    };
    let c = widened(e, c, sum, true)?;
    let per = |matrix: &Matrix, tiles: u32| matrix.layout.slots / tiles.max(1);
    let per_a = per(shapes.a, down * deep);
    let per_b = per(shapes.b, deep * across);
    let per_c = per(shapes.d, down * across);
    let mut elements = Vec::new();
    for row in 0..down {
        for column in 0..across {
            let mut tile = part(e, c, (row * across + column) * per_c, per_c, per_c)?;
            for k in 0..deep {
                let a = part(e, a, (row * deep + k) * per_a, per_a, instruction.taken)?;
                let taken = instruction.taken / per_a * per_b;
                let b = part(e, b, (k * across + column) * per_b, per_b, taken)?;
                tile = call(e, instruction, shapes.operands, [a, b, tile])?;
            }
            for slot in 0..per_c {
                elements.push(e.b.lane(tile, slot)?);
            }
        }
    }
    let value = e.b.vector(&elements)?;
    widened(e, value, shapes.d.component.value_type(e.b), true)
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
    operands: Operands,
    [a, b, c]: [Value<'c>; 3],
) -> Result<Value<'c>> {
    let (no, zero) = (e.b.bool(false), e.b.i32(0));
    let [a_signed, b_signed] = [
        Operands::MATRIX_A_SIGNED_COMPONENTS_KHR,
        Operands::MATRIX_B_SIGNED_COMPONENTS_KHR,
    ]
    .map(|operand| operands.contains(operand));
    let [plain, a_name, b_name, both] = instruction.names;
    let name = match (a_signed, b_signed) {
        (false, false) => plain,
        (true, false) => a_name,
        (false, true) => b_name,
        (true, true) => both,
    };
    let [a_signed, b_signed] = [a_signed, b_signed].map(|signed| e.b.bool(signed));
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

/// The 32-bit registers that hold a value.
fn registers<'c>(e: &FunctionEmitter<'_, 'c, '_>, value: Value<'c>) -> Result<Vec<Value<'c>>> {
    let ty: Ty<'c> = value.ty();
    let each = 32 / ty.scalar_bits();
    (0..ty.lanes() / each)
        .map(|register| {
            let lanes = (0..each)
                .map(|lane| e.b.lane(value, register * each + lane))
                .collect::<Result<Vec<_>>>()?;
            e.b.vector(&lanes)
        })
        .collect()
}
