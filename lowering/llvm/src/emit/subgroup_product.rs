//! OpSubgroupMatrixMultiplyAccumulateINTEL (SPV_INTEL_subgroup_matrix_multiply_accumulate): a
//! product of matrices that lie in a subgroup as the extension says, whatever its size.
//!
//! A lane has a column of B, C and the result: so it reads the elements of A from the lanes that
//! have them, and multiplies.

use super::Result;
use super::function::FunctionEmitter;
use super::lanes::Lanes;
use crate::ffi::{Opcode, Ty, Value};
use spirv::MatrixMultiplyAccumulateOperands as Operands;
use splitbar_passes::module::Inst;

/// Rows or columns of a matrix: more than any device has, and few enough for a small module to ask
/// for.
const MOST: u32 = 256;

/// What the elements of A or B are.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Element {
    Float { bits: u32 },
    BFloat16,
    Int { bits: u32, signed: bool },
}

impl Element {
    fn bits(self) -> u32 {
        match self {
            Element::Float { bits } | Element::Int { bits, .. } => bits,
            Element::BFloat16 => 16,
        }
    }

    fn is_float(self) -> bool {
        !matches!(self, Element::Int { .. })
    }

    /// By the flags for packed integers of 8 and of 4 bits, halves and bfloat16, or else by the
    /// type of `value`'s components.
    fn classify(
        value: Value<'_>,
        flags: Operands,
        packed: [Operands; 4],
        signed: Operands,
    ) -> Element {
        let signed = flags.contains(signed);
        let [bytes, nibbles, halves, brains] = packed;
        let bits = value.ty().scalar_bits();
        if flags.contains(bytes) {
            Element::Int { bits: 8, signed }
        } else if flags.contains(nibbles) {
            Element::Int { bits: 4, signed }
        } else if flags.contains(halves) {
            Element::Float { bits: 16 }
        } else if flags.contains(brains) {
            Element::BFloat16
        } else if value.ty().is_float() {
            Element::Float { bits }
        } else {
            Element::Int { bits, signed }
        }
    }

    /// Element `number` of a component, as a number of 32 bits.
    fn read<'c>(
        self,
        e: &FunctionEmitter<'_, 'c, '_>,
        component: Value<'c>,
        number: u32,
    ) -> Result<Value<'c>> {
        let b = e.b;
        let (word, float) = (b.int_type(32), b.float_type(32));
        if component.ty().is_float() && self.bits() == component.ty().scalar_bits() {
            return b.float_resize(component, float);
        }
        let own = b.int_type(component.ty().scalar_bits());
        let bits = b.bitcast(component, own)?;
        let down = b.lshr(bits, b.int(own, u64::from(number * self.bits()))?)?;
        let raw = b.int_resize(down, b.int_type(self.bits()), false)?;
        match self {
            Element::Float { bits } => b.float_resize(b.bitcast(raw, b.float_type(bits))?, float),
            Element::BFloat16 => from_brain(e, raw),
            Element::Int { signed, .. } => b.int_resize(raw, word, signed),
        }
    }
}

/// The float of a bfloat16's bits.
fn from_brain<'c>(e: &FunctionEmitter<'_, 'c, '_>, bits: Value<'c>) -> Result<Value<'c>> {
    let word = e.b.int_type(32);
    let wide = e.b.int_resize(bits, word, false)?;
    e.b.bitcast(e.b.shl(wide, e.b.i32(16))?, e.b.float_type(32))
}

/// A product, decoded and checked.
struct Product<'c> {
    left: Value<'c>,
    right: Value<'c>,
    start: Value<'c>,
    of_left: Element,
    of_right: Element,
    ty: Ty<'c>,
    /// Columns of A, and rows of B.
    depth: u32,
    /// Rows of A and of the result.
    rows: u32,
    /// Columns of A in a lane.
    columns: u32,
    /// Lanes that share a column's rows.
    shared: u32,
    /// Elements of B in a component.
    per_word: u32,
    /// True if the sums are floats.
    floats: bool,
    /// True if the matrix to start from has bfloat16 in integers.
    brain_start: bool,
    /// True if the result has.
    brain_result: bool,
}

/// Decodes the operands of the instruction, and checks that the matrices are in their registers.
fn decode<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Product<'c>> {
    let Some(depth) = e.constant_u32(inst.id(0)?) else {
        return Err(e.unsupported(inst, "a dimension K that is not a constant"));
    };
    let (left, right, start) = (
        e.operand(inst, 1)?,
        e.operand(inst, 2)?,
        e.operand(inst, 3)?,
    );
    let flags = inst.operands_from(4).first().copied().unwrap_or(0);
    let Some(flags) = Operands::from_bits(flags) else {
        return Err(e.unsupported(inst, format!("the operands {flags:#x}")));
    };
    let ty = e.result_ty(inst)?;
    let (rows, lanes) = (ty.lanes(), e.subgroup_size());
    if depth == 0 || depth > MOST || rows > MOST || !depth.is_power_of_two() {
        return Err(e.unsupported(inst, format!("a dimension K of {depth}")));
    }
    let of_left = Element::classify(
        left,
        flags,
        [
            Operands::MATRIX_A_PACKED_INT8_INTEL,
            Operands::MATRIX_A_PACKED_INT4_INTEL,
            Operands::MATRIX_A_PACKED_FLOAT16_INTEL,
            Operands::MATRIX_A_PACKED_B_FLOAT16_INTEL,
        ],
        Operands::MATRIX_A_SIGNED_COMPONENTS_INTEL,
    );
    let of_right = Element::classify(
        right,
        flags,
        [
            Operands::MATRIX_B_PACKED_INT8_INTEL,
            Operands::MATRIX_B_PACKED_INT4_INTEL,
            Operands::MATRIX_B_PACKED_FLOAT16_INTEL,
            Operands::MATRIX_B_PACKED_B_FLOAT16_INTEL,
        ],
        Operands::MATRIX_B_SIGNED_COMPONENTS_INTEL,
    );
    let brain_start = flags.contains(Operands::MATRIX_CB_FLOAT16_INTEL);
    let brain_result = flags.contains(Operands::MATRIX_RESULT_B_FLOAT16_INTEL);
    let floats = ty.is_float() || brain_result;
    if of_left.is_float() != floats || of_right.is_float() != floats {
        return Err(e.unsupported(inst, "integers and floating-point numbers in one product"));
    }
    if ty.scalar_bits() > 32 || start.ty().scalar_bits() > 32 {
        return Err(e.unsupported(inst, "numbers of more than 32 bits"));
    }
    // Columns of A in a lane, or lanes that share a column's rows.
    let (columns, shared) = if depth > lanes {
        (depth / lanes, 1)
    } else {
        (1, lanes / depth)
    };
    let per_word = right.ty().scalar_bits() / of_right.bits();
    let fits = columns * of_left.bits() <= left.ty().scalar_bits()
        && left.ty().lanes() >= rows.div_ceil(shared)
        && right.ty().lanes() * per_word >= depth
        && start.ty().lanes() == rows;
    if !fits {
        let message =
            format!("matrices that do not hold {rows} rows and K = {depth} in {lanes} lanes");
        return Err(e.mismatch(inst, message));
    }
    Ok(Product {
        left,
        right,
        start,
        of_left,
        of_right,
        ty,
        depth,
        rows,
        columns,
        shared,
        per_word,
        floats,
        brain_start,
        brain_result,
    })
}

/// Lowers the instruction: its value.
pub(super) fn multiply<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let b = e.b;
    let product = decode(e, inst)?;
    let Product {
        ty,
        depth,
        rows,
        columns,
        shared,
        per_word,
        floats,
        ..
    } = product;
    e.count_parts(u64::from(rows) * u64::from(depth))?;
    let mut sums = Vec::new();
    for row in 0..rows {
        let first = b.lane(product.start, row)?;
        sums.push(match (floats, product.brain_start) {
            (true, true) => from_brain(e, first)?,
            (true, false) => b.float_resize(first, b.float_type(32))?,
            (false, _) => b.int_resize(first, b.int_type(32), true)?,
        });
    }
    let subgroup = Lanes::new(e, inst)?;
    for step in (0..depth).step_by(columns as usize) {
        for (row, sum) in (0..rows).zip(&mut sums) {
            let lane = step / columns + depth * (row % shared);
            let component = b.lane(product.left, row / shared)?;
            let there = subgroup.read(component, b.i32(lane))?;
            for column in 0..columns {
                let at = step + column;
                let x = product.of_left.read(e, there, column)?;
                let y = product.of_right.read(
                    e,
                    b.lane(product.right, at / per_word)?,
                    at % per_word,
                )?;
                *sum = if floats {
                    b.intrinsic("llvm.fmuladd", &[x.ty()], &[x, y, *sum])?
                } else {
                    b.add(b.mul(x, y)?, *sum)?
                };
            }
        }
    }
    let mut results = Vec::new();
    for sum in sums {
        results.push(if product.brain_result {
            let brain = b.cast(Opcode::LLVMFPTrunc, sum, b.bfloat_type())?;
            b.bitcast(brain, ty.element_if_vector())?
        } else if floats {
            b.float_resize(sum, ty.element_if_vector())?
        } else {
            b.int_resize(sum, ty.element_if_vector(), false)?
        });
    }
    b.vector(&results)
}
