//! Cooperative vectors (SPV_NV_cooperative_vector). Each invocation has vectors of its own, so a
//! product with a matrix in memory is a loop over rows and columns.
//!
//! The vector and the result are on the stack meanwhile, where loops reach their elements; LLVM
//! keeps small ones in registers. Products and sums of floats are computed in 32 bits, those of
//! integers in the 32 bits of the result. Matrices whose layout is the driver's own
//! (InferencingOptimalNV, TrainingOptimalNV) are refused.

use super::casts::{clamp_resize, saturating_to_int};
use super::function::FunctionEmitter;
use super::slots::Pointer;
use super::small_float::{self, SmallFloat};
use super::types::{Kind, Scalar};
use super::{Handled, Result};
use crate::ffi::{self, AtomicOrdering, IntPredicate, Opcode, RmwOp, Ty, Value};
use spirv::{ComponentType, CooperativeMatrixOperands, CooperativeVectorMatrixLayout, Op};
use splitbar_passes::module::{Constant, Id, Inst};
use splitbar_plan::target::Arch;

/// How numbers in memory, or those of the input, are read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Number {
    Float { bits: u32 },
    Small(SmallFloat),
    Int { bits: u32, signed: bool },
}

/// An interpretation of the input or of a matrix.
#[derive(Copy, Clone, Debug)]
struct Interpretation {
    number: Number,
    /// True if each word of the input has several numbers in it.
    packed: bool,
}

/// The interpretation of this value of ComponentType; `None` for one that is not lowered.
fn interpretation(value: u32) -> Option<Interpretation> {
    use ComponentType as T;
    let int = |bits, signed| Number::Int { bits, signed };
    let (number, packed) = match T::from_u32(value)? {
        T::Float16NV => (Number::Float { bits: 16 }, false),
        T::Float32NV => (Number::Float { bits: 32 }, false),
        T::SignedInt8NV => (int(8, true), false),
        T::SignedInt16NV => (int(16, true), false),
        T::SignedInt32NV => (int(32, true), false),
        T::UnsignedInt8NV => (int(8, false), false),
        T::UnsignedInt16NV => (int(16, false), false),
        T::UnsignedInt32NV => (int(32, false), false),
        T::SignedInt8PackedNV => (int(8, true), true),
        T::UnsignedInt8PackedNV => (int(8, false), true),
        T::FloatE4M3NV => (Number::Small(SmallFloat::E4M3), false),
        T::FloatE5M2NV => (Number::Small(SmallFloat::E5M2), false),
        // What products of 32 bits do not hold.
        T::Float64NV | T::SignedInt64NV | T::UnsignedInt64NV => return None,
    };
    Some(Interpretation { number, packed })
}

impl Number {
    fn bytes(self) -> u32 {
        match self {
            Number::Float { bits } | Number::Int { bits, .. } => bits / 8,
            Number::Small(_) => 1,
        }
    }

    fn is_float(self) -> bool {
        !matches!(self, Number::Int { .. })
    }

    /// The type in memory.
    fn ty<'c>(self, e: &FunctionEmitter<'_, 'c, '_>) -> Ty<'c> {
        match self {
            Number::Float { bits } => e.b.float_type(bits),
            Number::Int { bits, .. } => e.b.int_type(bits),
            Number::Small(_) => e.b.int_type(8),
        }
    }

    /// The number of 32 bits that is computed with.
    fn widened<'c>(self, e: &FunctionEmitter<'_, 'c, '_>, raw: Value<'c>) -> Result<Value<'c>> {
        match self {
            Number::Float { .. } => e.b.float_resize(raw, e.b.float_type(32)),
            Number::Small(format) => small_float::decode(e.b, format, raw),
            Number::Int { signed, .. } => e.b.int_resize(raw, e.b.int_type(32), signed),
        }
    }
}

/// Lowers the instructions on cooperative vectors.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    match op {
        Op::CooperativeVectorLoadNV => load(e, inst)?,
        Op::CooperativeVectorStoreNV => store(e, inst)?,
        Op::CooperativeVectorMatrixMulNV => multiply(e, inst, false)?,
        Op::CooperativeVectorMatrixMulAddNV => multiply(e, inst, true)?,
        Op::CooperativeVectorOuterProductAccumulateNV => outer_product(e, inst)?,
        Op::CooperativeVectorReduceSumAccumulateNV => sum(e, inst)?,
        _ => return Ok(Handled::No),
    }
    Ok(Handled::Yes)
}

/// The place `offset` bytes behind operand `pointer`, whose own alignment is that of one element of
/// `bytes`.
fn place<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    [pointer, offset]: [usize; 2],
    bytes: u32,
) -> Result<Pointer<'c>> {
    let pointer = e.pointer(inst.id(pointer)?)?;
    let index_bits = match pointer.address.ty().address_space() {
        3 => 32,
        _ => 64,
    };
    let offset = e.operand(inst, offset)?;
    let offset = e.b.int_resize(offset, e.b.int_type(index_bits), false)?;
    Ok(Pointer {
        address: e.b.offset(pointer.address, offset, true)?,
        align: pointer.align.min(bytes),
        pointee: None,
        matrix: None,
        ..pointer
    })
}

/// The bytes of an element of the vector that operand or result type `ty` is.
fn element_bytes(e: &FunctionEmitter<'_, '_, '_>, ty: Id) -> Result<u32> {
    match e.kind(ty)? {
        Kind::ScalarOrVector(shape) => Ok(shape.scalar.bytes()),
        _ => Err(e.b.mismatch(format!("{ty} is not a vector"))),
    }
}

fn load(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let ty = e.result_type(inst)?;
    let place = place(e, inst, [0, 1], element_bytes(e, ty)?)?;
    let (access, _) = e.access(inst, 2)?;
    let value = e.load_with(&place, ty, access)?;
    e.bind(inst, value)
}

fn store(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let object = inst.id(2)?;
    let ty = e.type_of(object)?;
    let place = place(e, inst, [0, 1], element_bytes(e, ty)?)?;
    let (access, _) = e.access(inst, 3)?;
    let value = e.value(object)?;
    e.store_with(&place, ty, value, access)
}

/// The interpretation that operand `index` says.
fn interpretation_at(
    e: &FunctionEmitter<'_, '_, '_>,
    inst: Inst<'_>,
    index: usize,
) -> Result<Interpretation> {
    let value = e.constant_u32(inst.id(index)?);
    value.and_then(interpretation).ok_or_else(|| {
        e.unsupported(
            inst,
            format!("operand {index} is not an interpretation of at most 32 bits"),
        )
    })
}

/// Operand `index`, which must be a constant.
fn constant(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>, index: usize) -> Result<u32> {
    e.constant_u32(inst.id(index)?)
        .ok_or_else(|| e.unsupported(inst, format!("operand {index} is not a constant")))
}

/// Whether operand `index` says that rows follow each other, and not columns.
fn is_row_major(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>, index: usize) -> Result<bool> {
    use CooperativeVectorMatrixLayout::{ColumnMajorNV, RowMajorNV};
    match CooperativeVectorMatrixLayout::from_u32(constant(e, inst, index)?) {
        Some(RowMajorNV) => Ok(true),
        Some(ColumnMajorNV) => Ok(false),
        _ => Err(e.unsupported(
            inst,
            "only the driver knows the memory layout of a matrix with an optimal layout",
        )),
    }
}

/// A loop over `count` numbers from 0 on; `body` is given the number, `i32`, and what the iteration
/// before it left of `carried`.
fn count<'c>(
    e: &mut FunctionEmitter<'_, 'c, '_>,
    count: u32,
    carried: Option<Value<'c>>,
    body: impl FnOnce(
        &mut FunctionEmitter<'_, 'c, '_>,
        Value<'c>,
        Option<Value<'c>>,
    ) -> Result<Option<Value<'c>>>,
) -> Result<Option<Value<'c>>> {
    let (before, head, after) = (e.b.block()?, e.new_block(), e.new_block());
    e.b.br(head);
    e.b.position(head);
    let at = e.b.phi(&[(e.b.i32(0), before)])?;
    let kept = match carried {
        Some(value) => Some(e.b.phi(&[(value, before)])?),
        None => None,
    };
    let left = body(e, at, kept)?;
    let end = e.b.block()?;
    let next = e.b.add(at, e.b.i32(1))?;
    at.add_incoming(next, end);
    if let (Some(phi), Some(value)) = (kept, left) {
        phi.add_incoming(value, end);
    }
    let more = e.b.icmp(IntPredicate::LLVMIntULT, next, e.b.i32(count))?;
    e.b.cond_br(more, head, after)?;
    e.b.position(after);
    Ok(left)
}

/// Element `index` of an array at `base`.
fn element<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    base: Value<'c>,
    index: Value<'c>,
    bytes: u32,
) -> Result<Value<'c>> {
    let bits = match (&e.module.target.arch, base.ty().address_space()) {
        (_, 3) | (Arch::Amdgpu(_), 5) => 32,
        _ => 64,
    };
    let bytes = e.b.mul(index, e.b.i32(bytes))?;
    let offset = e.b.int_resize(bytes, e.b.int_type(bits), false)?;
    e.b.offset(base, offset, true)
}

/// The input as `wanted` numbers of 32 bits.
fn input<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    of_input: Interpretation,
    signed: bool,
    wanted: u32,
) -> Result<Vec<Value<'c>>> {
    let Interpretation { number, packed } = of_input;
    let b = e.b;
    let id = inst.id(0)?;
    let mut vector = e.value(id)?;
    let Kind::ScalarOrVector(shape) = *e.kind(e.type_of(id)?)? else {
        return Err(e.mismatch(inst, "the input is not a vector"));
    };
    if packed {
        let bytes = vector.ty().scalar_bits() / 8 * vector.ty().lanes();
        vector = b.bitcast(vector, b.int_type(8).vector(bytes))?;
    }
    if vector.ty().lanes() < wanted || !packed && vector.ty().lanes() != wanted {
        return Err(e.mismatch(inst, format!("the input does not have {wanted} components")));
    }
    let (float, int) = (b.float_type(32), b.int_type(32));
    let own = SmallFloat::from_scalar(shape.scalar);
    let is_float = matches!(shape.scalar, Scalar::Float { .. });
    let one = |lane: u32| {
        let x = b.lane(vector, lane)?;
        if packed {
            return number.widened(e, x);
        }
        let x = match own {
            Some(format) => small_float::decode(b, format, x)?,
            None => x,
        };
        match number {
            Number::Int { bits, signed: to } if is_float => {
                let nearest = b.intrinsic("llvm.roundeven", &[x.ty()], &[x])?;
                let value = saturating_to_int(b, nearest, b.int_type(bits), to)?;
                b.int_resize(value, int, to)
            }
            Number::Int { bits, signed: to } => {
                let value = clamp_resize(b, x, b.int_type(bits), signed, to)?;
                b.int_resize(value, int, to)
            }
            Number::Float { .. } | Number::Small(_) if !is_float => {
                let cast = if signed {
                    Opcode::LLVMSIToFP
                } else {
                    Opcode::LLVMUIToFP
                };
                b.cast(cast, x, float)
            }
            Number::Float { bits } => {
                let narrow = b.float_resize(x, b.float_type(bits.min(x.ty().scalar_bits())))?;
                b.float_resize(narrow, float)
            }
            Number::Small(format) => {
                small_float::decode(b, format, small_float::encode(b, format, x, true)?)
            }
        }
    };
    (0..wanted).map(one).collect()
}

/// The product of a matrix in memory and a vector.
struct Product<'c> {
    /// The type of the result.
    ty: Ty<'c>,
    /// True if it is computed in floats.
    floats: bool,
    rows: u32,
    columns: u32,
    /// The vector, in numbers of 32 bits.
    input: Vec<Value<'c>>,
    of_matrix: Number,
    matrix: Pointer<'c>,
    /// Bytes from a row, or a column, to the next.
    stride: Value<'c>,
    row_major: bool,
    /// The summand, and the place where it lies.
    bias: Option<(Number, Pointer<'c>)>,
}

/// Decodes the operands of a product, and loads its input.
fn product<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    has_bias: bool,
) -> Result<Product<'c>> {
    let of_input = interpretation_at(e, inst, 1)?;
    let of_matrix = interpretation_at(e, inst, 4)?.number;
    let bias = if has_bias {
        Some(interpretation_at(e, inst, 7)?.number)
    } else {
        None
    };
    // Operands behind the bias, if there is one.
    let at = if has_bias { 8 } else { 5 };
    let (rows, columns) = (constant(e, inst, at)?, constant(e, inst, at + 1)?);
    let row_major = is_row_major(e, inst, at + 2)?;
    let transposed = e.module.constants.get(inst.id(at + 3)?);
    if transposed.and_then(Constant::as_bool) != Some(false) {
        return Err(e.unsupported(inst, "a transposed matrix of this layout"));
    }
    let ty = e.result_ty(inst)?;
    let floats = ty.is_float();
    let kinds = [Some(of_input.number), Some(of_matrix), bias];
    if kinds.into_iter().flatten().any(|n| n.is_float() != floats) {
        return Err(e.unsupported(inst, "integers and floating-point numbers in one product"));
    }
    if ty.lanes() != rows || columns == 0 {
        return Err(e.mismatch(inst, format!("a result that does not have {rows} numbers")));
    }
    let operands = inst.operands_from(at + 5).first().copied().unwrap_or(0);
    let signed = CooperativeMatrixOperands::MATRIX_B_SIGNED_COMPONENTS_KHR.bits() & operands != 0;
    let input = input(e, inst, of_input, signed, columns)?;
    let matrix = place(e, inst, [2, 3], of_matrix.bytes())?;
    let (matrix, _) = e.with_access(&matrix, Default::default())?;
    let stride = match inst.operands().get(at + 4) {
        Some(_) => {
            e.b.int_resize(e.operand(inst, at + 4)?, e.b.int_type(32), false)?
        }
        None => return Err(e.mismatch(inst, "a matrix without a stride")),
    };
    let bias = match bias {
        Some(number) => {
            let place = place(e, inst, [5, 6], number.bytes())?;
            let (place, _) = e.with_access(&place, Default::default())?;
            Some((number, place))
        }
        None => None,
    };
    Ok(Product {
        ty,
        floats,
        rows,
        columns,
        input,
        of_matrix,
        matrix,
        stride,
        row_major,
        bias,
    })
}

/// OpCooperativeVectorMatrixMulNV and OpCooperativeVectorMatrixMulAddNV.
fn multiply(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>, has_bias: bool) -> Result<()> {
    let Product {
        ty,
        floats,
        rows,
        columns,
        input,
        of_matrix,
        matrix,
        stride,
        row_major,
        bias,
    } = product(e, inst, has_bias)?;
    let word = if floats {
        e.b.float_type(32)
    } else {
        e.b.int_type(32)
    };
    let vector = e.stack_slot(word.array(columns.into()), 16)?;
    super::place::take_stack(e.b, u64::from(columns + rows) * 4)?;
    for (lane, value) in (0..).zip(input) {
        let to = element(e, vector, e.b.i32(lane), 4)?;
        e.b.store(value, to, 4)?;
    }
    let result = e.stack_slot(word.array(rows.into()), 16)?;
    // Bytes from a row to the next, and from a column to the next.
    let step = e.b.i32(of_matrix.bytes());
    let (down, along) = if row_major {
        (stride, step)
    } else {
        (step, stride)
    };
    count(e, rows, None, |e, row, _| {
        let start = match bias {
            Some((number, place)) => {
                let from = element(e, place.address, row, number.bytes())?;
                let raw =
                    e.b.load(number.ty(e), from, place.align.min(number.bytes()))?;
                number.widened(e, raw)?
            }
            None => word.zero(),
        };
        let behind = e.b.mul(row, down)?;
        let sum = count(e, columns, Some(start), |e, column, sum| {
            let bytes = e.b.add(behind, e.b.mul(column, along)?)?;
            let from = element(e, matrix.address, bytes, 1)?;
            let raw =
                e.b.load(of_matrix.ty(e), from, matrix.align.min(of_matrix.bytes()))?;
            let x = of_matrix.widened(e, raw)?;
            let y = e.b.load(word, element(e, vector, column, 4)?, 4)?;
            let sum = sum.ok_or_else(|| e.b.internal("a sum that is not carried"))?;
            Ok(Some(if floats {
                e.b.intrinsic("llvm.fmuladd", &[word], &[x, y, sum])?
            } else {
                e.b.add(e.b.mul(x, y)?, sum)?
            }))
        })?;
        let sum = sum.ok_or_else(|| e.b.internal("a sum that is not carried"))?;
        e.b.store(sum, element(e, result, row, 4)?, 4)?;
        Ok(None)
    })?;
    let mut lanes = Vec::new();
    for row in 0..rows {
        let from = element(e, result, e.b.i32(row), 4)?;
        let value = e.b.load(word, from, 4)?;
        lanes.push(if floats {
            e.b.float_resize(value, ty.element_if_vector())?
        } else {
            e.b.int_resize(value, ty.element_if_vector(), false)?
        });
    }
    let value = e.b.vector(&lanes)?;
    e.bind(inst, value)
}

/// Adds `value` to the number at `address`, relaxed and at device scope.
fn accumulate<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    address: Value<'c>,
    value: Value<'c>,
) -> Result<()> {
    let scope = match e.module.target.arch {
        Arch::Amdgpu(_) => "agent",
        Arch::Nvptx(_) => "device",
    };
    let op = if value.ty().is_float() {
        RmwOp::LLVMAtomicRMWBinOpFAdd
    } else {
        RmwOp::LLVMAtomicRMWBinOpAdd
    };
    let scope = ffi::sync_scope(e.b.context(), scope);
    let order = AtomicOrdering::LLVMAtomicOrderingMonotonic;
    e.b.rmw(op, address, value, order, scope)?;
    Ok(())
}

/// OpCooperativeVectorOuterProductAccumulateNV: every product of an element of A and one of B is
/// added to the matrix in memory.
fn outer_product(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let row_major = is_row_major(e, inst, 4)?;
    let of_matrix = interpretation_at(e, inst, 5)?.number;
    let Number::Float { bits: 16 | 32 } = of_matrix else {
        return Err(e.unsupported(inst, "a matrix that is not of floats of 16 or 32 bits"));
    };
    let (a, b) = (e.operand(inst, 2)?, e.operand(inst, 3)?);
    if !a.ty().is_float() || a.ty().element_if_vector() != b.ty().element_if_vector() {
        return Err(e.unsupported(inst, "vectors that are not of floats of one type"));
    }
    let stride = match inst.operands().get(6) {
        Some(_) => {
            e.b.int_resize(e.operand(inst, 6)?, e.b.int_type(32), false)?
        }
        None => return Err(e.mismatch(inst, "a matrix without a stride")),
    };
    let matrix = place(e, inst, [0, 1], of_matrix.bytes())?;
    let (matrix, _) = e.with_access(&matrix, Default::default())?;
    e.count_parts(u64::from(a.ty().lanes()) * u64::from(b.ty().lanes()))?;
    let step = e.b.i32(of_matrix.bytes());
    let (down, along) = if row_major {
        (stride, step)
    } else {
        (step, stride)
    };
    let to = of_matrix.ty(e);
    for row in 0..a.ty().lanes() {
        let x = e.b.float_resize(e.b.lane(a, row)?, to)?;
        let behind = e.b.mul(e.b.i32(row), down)?;
        for column in 0..b.ty().lanes() {
            let y = e.b.float_resize(e.b.lane(b, column)?, to)?;
            let bytes = e.b.add(behind, e.b.mul(e.b.i32(column), along)?)?;
            let address = element(e, matrix.address, bytes, 1)?;
            accumulate(e, address, e.b.fmul(x, y)?)?;
        }
    }
    Ok(())
}

/// OpCooperativeVectorReduceSumAccumulateNV: each element is added to its own in memory.
fn sum(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let vector = e.operand(inst, 2)?;
    let bytes = vector.ty().scalar_bits() / 8;
    if !matches!(bytes, 2 | 4) || bytes == 2 && vector.ty().is_int() {
        return Err(e.unsupported(
            inst,
            "numbers that are neither floats nor integers of 32 bits",
        ));
    }
    let array = place(e, inst, [0, 1], bytes)?;
    let (array, _) = e.with_access(&array, Default::default())?;
    e.count_parts(vector.ty().lanes().into())?;
    for lane in 0..vector.ty().lanes() {
        let address = element(e, array.address, e.b.i32(lane), bytes)?;
        accumulate(e, address, e.b.lane(vector, lane)?)?;
    }
    Ok(())
}
