//! The instructions that make tensor layouts and tensor views. Each copies the state of its operand
//! and changes a part of it.

use super::super::super::function::FunctionEmitter;
use super::super::super::{Handled, Result};
use crate::ffi::{IntPredicate, Value};
use spirv::Op;
use splitbar_layout::tensor_layout::{Clip, LayoutPart, TensorLayout, TensorView, ViewPart};
use splitbar_passes::module::Inst;

/// Lowers them.
pub(super) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    let value = match op {
        Op::CreateTensorLayoutNV => new_layout(e, inst)?,
        Op::TensorLayoutSetBlockSizeNV => {
            let numbers = numbers(e, inst, layout(e, inst)?.dimensions)?;
            with_layout(e, inst, &[(LayoutPart::BlockSize, &numbers)])?
        }
        Op::TensorLayoutSetDimensionNV => sized(e, inst)?,
        Op::TensorLayoutSetStrideNV => {
            let numbers = numbers(e, inst, layout(e, inst)?.dimensions)?;
            with_layout(e, inst, &[(LayoutPart::Stride, &numbers)])?
        }
        Op::TensorLayoutSliceNV => sliced(e, inst)?,
        Op::TensorLayoutSetClampValueNV => {
            let at = layout(e, inst)?.clamp_value();
            let numbers = numbers(e, inst, 1)?;
            with_lanes(e, inst, (at..).zip(numbers))?
        }
        Op::CreateTensorViewNV => new_view(e, inst)?,
        Op::TensorViewSetDimensionNV => {
            let count = view(e, inst)?.dimensions();
            let sizes = numbers(e, inst, count)?;
            let mut strides = vec![e.b.i32(1)];
            for size in sizes.iter().skip(1).rev() {
                let inner = strides.last().copied().unwrap_or(*size);
                strides.push(e.b.mul(inner, *size)?);
            }
            strides.reverse();
            with_view(
                e,
                inst,
                &[(ViewPart::Dimension, &sizes), (ViewPart::Stride, &strides)],
            )?
        }
        Op::TensorViewSetStrideNV => {
            let numbers = numbers(e, inst, view(e, inst)?.dimensions())?;
            with_view(e, inst, &[(ViewPart::Stride, &numbers)])?
        }
        Op::TensorViewSetClipNV => {
            let at = view(e, inst)?.clip(Clip::RowOffset);
            let numbers = numbers(e, inst, 4)?;
            with_lanes(e, inst, (at..).zip(numbers))?
        }
        _ => return Ok(Handled::No),
    };
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

fn layout<'e>(e: &FunctionEmitter<'e, '_, '_>, inst: Inst<'_>) -> Result<&'e TensorLayout> {
    e.tensor_layout(e.result_type(inst)?)
}

fn view<'e>(e: &FunctionEmitter<'e, '_, '_>, inst: Inst<'_>) -> Result<&'e TensorView> {
    e.tensor_view(e.result_type(inst)?)
}

/// The `count` integers behind the layout or view that is changed.
fn numbers<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    count: u32,
) -> Result<Vec<Value<'c>>> {
    let numbers = e.operands(inst, 1)?;
    if numbers.len() != count as usize || numbers.iter().any(|n| n.ty() != e.b.int_type(32)) {
        return Err(e.mismatch(
            inst,
            format!(
                "{} does not have {count} operands of 32-bit integers after the first",
                inst.name()
            ),
        ));
    }
    Ok(numbers)
}

/// The value of the first operand, with other values in some lanes.
fn with_lanes<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    lanes: impl Iterator<Item = (u32, Value<'c>)>,
) -> Result<Value<'c>> {
    let mut value = e.operand(inst, 0)?;
    if value.ty() != e.result_ty(inst)? {
        return Err(e.mismatch(inst, "the type of the operand is not the result type"));
    }
    for (lane, number) in lanes {
        value = e.b.with_lane(value, number, e.b.i32(lane))?;
    }
    Ok(value)
}

/// The layout of the first operand with other `parts`.
fn with_layout<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    parts: &[(LayoutPart, &[Value<'c>])],
) -> Result<Value<'c>> {
    let layout = layout(e, inst)?;
    let lanes = parts.iter().flat_map(|(part, numbers)| {
        let of_dimension = (0..).zip(numbers.iter());
        of_dimension.map(|(dimension, number)| (layout.lane(*part, dimension), *number))
    });
    with_lanes(e, inst, lanes)
}

/// The view of the first operand with other `parts`.
fn with_view<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    parts: &[(ViewPart, &[Value<'c>])],
) -> Result<Value<'c>> {
    let view = view(e, inst)?;
    let lanes = parts.iter().flat_map(|(part, numbers)| {
        let of_dimension = (0..).zip(numbers.iter());
        of_dimension.map(|(dimension, number)| (view.lane(*part, dimension), *number))
    });
    with_lanes(e, inst, lanes)
}

/// All zero, but for blocks of one element.
fn new_layout<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let layout = layout(e, inst)?;
    let mut value = e.result_ty(inst)?.zero();
    for dimension in 0..layout.dimensions {
        let lane = layout.lane(LayoutPart::BlockSize, dimension);
        value = e.b.with_lane(value, e.b.i32(1), e.b.i32(lane))?;
    }
    Ok(value)
}

/// All zero, and clipped to nothing less than the matrix.
fn new_view<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let view = view(e, inst)?;
    let mut value = e.result_ty(inst)?.zero();
    for clip in [Clip::RowSpan, Clip::ColumnSpan] {
        value =
            e.b.with_lane(value, e.b.i32(u32::MAX), e.b.i32(view.clip(clip)))?;
    }
    Ok(value)
}

/// OpTensorLayoutSetDimensionNV: the slice becomes all of the tensor, and rows of blocks follow
/// each other without gaps.
fn sized<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let layout = layout(e, inst)?;
    let sizes = numbers(e, inst, layout.dimensions)?;
    let old = e.operand(inst, 0)?;
    let mut strides = vec![e.b.i32(1)];
    for (dimension, size) in (0..)
        .zip(&sizes)
        .skip(1)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
    {
        let inner = strides.last().copied().unwrap_or(*size);
        let block =
            e.b.lane(old, layout.lane(LayoutPart::BlockSize, dimension))?;
        let blocks = blocks(e, *size, block)?;
        strides.push(e.b.mul(inner, blocks)?);
    }
    strides.reverse();
    let zeros = vec![e.b.i32(0); sizes.len()];
    with_layout(
        e,
        inst,
        &[
            (LayoutPart::Dimension, &sizes),
            (LayoutPart::Span, &sizes),
            (LayoutPart::Offset, &zeros),
            (LayoutPart::Stride, &strides),
        ],
    )
}

/// Blocks of `block` elements that `size` elements begin.
fn blocks<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    size: Value<'c>,
    block: Value<'c>,
) -> Result<Value<'c>> {
    let block = e.divisor(block)?;
    let rest = e.remainder(size, block)?;
    let begun = e.b.icmp(IntPredicate::LLVMIntNE, rest, e.b.i32(0))?;
    let whole = e.quotient(size, block)?;
    e.b.add(whole, e.b.int_resize(begun, e.b.int_type(32), false)?)
}

/// OpTensorLayoutSliceNV: offsets add up, spans are set.
fn sliced<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let layout = layout(e, inst)?;
    let numbers = numbers(e, inst, layout.dimensions * 2)?;
    let old = e.operand(inst, 0)?;
    let (mut offsets, mut spans) = (Vec::new(), Vec::new());
    for (dimension, pair) in (0..).zip(numbers.chunks_exact(2)) {
        let [offset, span] = pair else { continue };
        let first = e.b.lane(old, layout.lane(LayoutPart::Offset, dimension))?;
        offsets.push(e.b.add(first, *offset)?);
        spans.push(*span);
    }
    with_layout(
        e,
        inst,
        &[(LayoutPart::Offset, &offsets), (LayoutPart::Span, &spans)],
    )
}
