//! From an element's row and column to its place in the tensor, as SPV_NV_cooperative_matrix2 has
//! it (section "Tensor Layout and View"): the number of the element in the matrix, or in the
//! region that a view takes; through the view, whose dimensions may be in another order; the
//! coordinates in the slice; those in the tensor, where the clamp mode says what lies beyond; and
//! the block.
//!
//! All arithmetic is in 32 bits and wraps, as there.

use super::super::super::Result;
use super::super::super::function::FunctionEmitter;
use super::super::element::At;
use crate::ffi::{IntPredicate, Opcode, Value};
use spirv::{Op, TensorClampMode};
use splitbar_layout::tensor_layout::{Clip, LayoutPart, TensorLayout, TensorView, ViewPart};
use splitbar_passes::module::{Id, TensorAccess};

/// Definitions of a view that are followed to see whether it clips.
const MOST_STEPS: u32 = 64;

/// The state of a tensor layout, by dimension.
struct Slice<'c> {
    block_size: Value<'c>,
    dimension: Value<'c>,
    stride: Value<'c>,
    offset: Value<'c>,
    span: Value<'c>,
    /// Coordinates from here on are outside: the dimension, or the first that is negative.
    bound: Value<'c>,
}

/// The region of the matrix that is accessed.
struct Region<'c> {
    row: Value<'c>,
    end_row: Value<'c>,
    column: Value<'c>,
    end_column: Value<'c>,
    width: Value<'c>,
}

/// The state of a tensor view.
struct View<'e, 'c> {
    ty: &'e TensorView,
    dimensions: Vec<Value<'c>>,
    strides: Vec<Value<'c>>,
    /// `None`: the whole matrix.
    region: Option<Region<'c>>,
}

/// How a matrix lies in a tensor.
pub(super) struct Mapping<'e, 'c> {
    layout: &'e TensorLayout,
    slice: Vec<Slice<'c>>,
    /// What is done beyond the tensor: stores leave out what loads clamp.
    clamp: TensorClampMode,
    clamp_value: Value<'c>,
    view: Option<View<'e, 'c>>,
    /// Columns of the matrix.
    columns: Value<'c>,
}

/// Where an element is.
pub(super) struct Located<'c> {
    /// Whether the view takes it; `None`: it does.
    pub(super) taken: Option<Value<'c>>,
    /// Whether it is in the tensor; `None`: it is.
    pub(super) within: Option<Value<'c>>,
    /// Its number, or that of its block.
    pub(super) index: Value<'c>,
    /// Its block, by dimension.
    pub(super) block: Vec<Value<'c>>,
    /// Its place in the block, by dimension.
    pub(super) in_block: Vec<Value<'c>>,
}

impl<'e, 'c> Mapping<'e, 'c> {
    /// Takes the layout and the view of `access` apart, for a matrix of `columns`.
    pub(super) fn decode(
        e: &FunctionEmitter<'e, 'c, '_>,
        access: &TensorAccess,
        columns: u32,
    ) -> Result<Mapping<'e, 'c>> {
        let layout = e.tensor_layout(e.type_of(access.layout)?)?;
        let value = e.value(access.layout)?;
        let part = |part, dimension| e.b.lane(value, layout.lane(part, dimension));
        let negative = e.b.i32(1 << 31);
        let slice = (0..layout.dimensions)
            .map(|at| {
                let dimension = part(LayoutPart::Dimension, at)?;
                Ok(Slice {
                    block_size: e.divisor(part(LayoutPart::BlockSize, at)?)?,
                    dimension,
                    stride: part(LayoutPart::Stride, at)?,
                    offset: part(LayoutPart::Offset, at)?,
                    span: e.divisor(part(LayoutPart::Span, at)?)?,
                    bound: e.extreme("llvm.umin", dimension, negative)?,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let clamp = match layout.clamp {
            TensorClampMode::Undefined => TensorClampMode::Undefined,
            _ if access.is_store => TensorClampMode::Constant,
            clamp => clamp,
        };
        let columns = e.b.i32(columns);
        let view = access
            .view
            .map(|id| View::decode(e, id, &slice, columns))
            .transpose()?;
        Ok(Mapping {
            layout,
            slice,
            clamp,
            clamp_value: e.b.lane(value, layout.clamp_value())?,
            view,
            columns,
        })
    }

    /// The number of dimensions of the tensor.
    pub(super) fn dimensions(&self) -> u32 {
        self.layout.dimensions
    }

    /// The bits of what a load gives beyond the tensor.
    pub(super) fn clamp_value(&self) -> Value<'c> {
        self.clamp_value
    }

    /// Where the element in this row and column of the matrix is.
    pub(super) fn locate(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        at: At<'c>,
    ) -> Result<Located<'c>> {
        let region = self.view.as_ref().and_then(|view| view.region.as_ref());
        let (taken, row, column, width) = match region {
            None => (None, at.row, at.column, self.columns),
            Some(region) => {
                let rows = between(e, at.row, region.row, region.end_row)?;
                let columns = between(e, at.column, region.column, region.end_column)?;
                (
                    Some(e.b.and(rows, columns)?),
                    e.b.sub(at.row, region.row)?,
                    e.b.sub(at.column, region.column)?,
                    region.width,
                )
            }
        };
        let mut index = e.b.add(e.b.mul(row, width)?, column)?;
        if let Some(view) = &self.view {
            index = view.reordered(e, index)?;
        }
        let spans: Vec<Value<'c>> = self.slice.iter().map(|slice| slice.span).collect();
        let order: Vec<u32> = (0..self.dimensions()).collect();
        let coordinates = coordinates(e, index, &spans, &order)?;
        let mut located = Located {
            taken,
            within: None,
            index: e.b.i32(0),
            block: Vec::new(),
            in_block: Vec::new(),
        };
        for (slice, coordinate) in self.slice.iter().zip(coordinates) {
            let coordinate = e.b.add(coordinate, slice.offset)?;
            let (coordinate, within) = self.clamped(e, slice, coordinate)?;
            located.within = match (located.within, within) {
                (Some(before), Some(within)) => Some(e.b.and(before, within)?),
                (before, within) => before.or(within),
            };
            let block = e.quotient(coordinate, slice.block_size)?;
            let steps = e.b.mul(block, slice.stride)?;
            located.index = e.b.add(located.index, steps)?;
            located.block.push(block);
            let in_block = e.remainder(coordinate, slice.block_size)?;
            located.in_block.push(in_block);
        }
        Ok(located)
    }

    /// The coordinate along one dimension that is accessed, and whether that is in the tensor.
    fn clamped(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        slice: &Slice<'c>,
        coordinate: Value<'c>,
    ) -> Result<(Value<'c>, Option<Value<'c>>)> {
        if self.clamp == TensorClampMode::Undefined {
            return Ok((coordinate, None));
        }
        let within =
            e.b.icmp(IntPredicate::LLVMIntULT, coordinate, slice.bound)?;
        let (one, two) = (e.b.i32(1), e.b.i32(2));
        let instead = match self.clamp {
            TensorClampMode::Undefined | TensorClampMode::Constant => {
                return Ok((coordinate, Some(within)));
            }
            TensorClampMode::ClampToEdge => {
                let last = e.b.sub(slice.dimension, one)?;
                let above = e.extreme("llvm.smax", coordinate, e.b.i32(0))?;
                return Ok((e.extreme("llvm.smin", above, last)?, None));
            }
            TensorClampMode::Repeat => modulo(e, coordinate, slice.dimension)?,
            TensorClampMode::RepeatMirrored => {
                let period = e.b.sub(e.b.mul(slice.dimension, two)?, two)?;
                let place = modulo(e, coordinate, period)?;
                let is_back = e.b.icmp(IntPredicate::LLVMIntUGE, place, slice.dimension)?;
                e.b.select(is_back, e.b.sub(period, place)?, place)?
            }
        };
        Ok((e.b.select(within, coordinate, instead)?, None))
    }
}

impl<'e, 'c> View<'e, 'c> {
    fn decode(
        e: &FunctionEmitter<'e, 'c, '_>,
        id: Id,
        slice: &[Slice<'c>],
        columns: Value<'c>,
    ) -> Result<View<'e, 'c>> {
        let ty = e.tensor_view(e.type_of(id)?)?;
        let value = e.value(id)?;
        let (dimensions, strides) = if ty.has_dimensions {
            let part =
                |part| (0..ty.dimensions()).map(move |at| e.b.lane(value, ty.lane(part, at)));
            let sizes = part(ViewPart::Dimension).map(|size| e.divisor(size?));
            (
                sizes.collect::<Result<Vec<_>>>()?,
                part(ViewPart::Stride).collect::<Result<Vec<_>>>()?,
            )
        } else {
            if ty.dimensions() as usize != slice.len() {
                return Err(e.b.mismatch(
                    "a tensor view without HasDimensions has another number of dimensions than the layout",
                ));
            }
            let mut strides = vec![e.b.i32(1)];
            for slice in slice.iter().skip(1).rev() {
                let inner = strides.last().copied().unwrap_or(slice.span);
                strides.push(e.b.mul(inner, slice.span)?);
            }
            strides.reverse();
            (slice.iter().map(|slice| slice.span).collect(), strides)
        };
        let clip = |clip| e.b.lane(value, ty.clip(clip));
        let region = if takes_all(e, id) {
            None
        } else {
            let (row, column) = (clip(Clip::RowOffset)?, clip(Clip::ColumnOffset)?);
            let column_span = clip(Clip::ColumnSpan)?;
            Some(Region {
                row,
                end_row: e.b.add(row, clip(Clip::RowSpan)?)?,
                column,
                end_column: e.b.add(column, column_span)?,
                width: e.extreme("llvm.umin", columns, column_span)?,
            })
        };
        Ok(View {
            ty,
            dimensions,
            strides,
            region,
        })
    }

    /// The number in the slice of element `index` of the view.
    fn reordered(&self, e: &FunctionEmitter<'_, 'c, '_>, index: Value<'c>) -> Result<Value<'c>> {
        let coordinates = coordinates(e, index, &self.dimensions, &self.ty.permutation)?;
        let mut sum = e.b.i32(0);
        for (coordinate, stride) in coordinates.into_iter().zip(&self.strides) {
            sum = e.b.add(sum, e.b.mul(coordinate, *stride)?)?;
        }
        Ok(sum)
    }
}

/// The coordinates of element `index` of a region of these sizes, by dimension; `order` names the
/// dimensions from the outermost to the innermost.
fn coordinates<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    index: Value<'c>,
    sizes: &[Value<'c>],
    order: &[u32],
) -> Result<Vec<Value<'c>>> {
    let mut rest = index;
    let mut coordinates = vec![e.b.i32(0); sizes.len()];
    for dimension in order.iter().rev() {
        let at = *dimension as usize;
        if let (Some(size), Some(coordinate)) = (sizes.get(at), coordinates.get_mut(at)) {
            *coordinate = e.remainder(rest, *size)?;
            rest = e.quotient(rest, *size)?;
        }
    }
    Ok(coordinates)
}

/// Whether `value` is at least `first` and below `end`.
fn between<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    value: Value<'c>,
    first: Value<'c>,
    end: Value<'c>,
) -> Result<Value<'c>> {
    let behind = e.b.icmp(IntPredicate::LLVMIntUGE, value, first)?;
    e.b.and(behind, e.b.icmp(IntPredicate::LLVMIntULT, value, end)?)
}

/// The remainder of OpSMod: it has the sign of the divisor, which is positive here.
fn modulo<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    value: Value<'c>,
    divisor: Value<'c>,
) -> Result<Value<'c>> {
    let divisor = e.divisor(divisor)?;
    let rest = e.b.binary(Opcode::LLVMSRem, value, divisor)?;
    let is_negative = e.b.icmp(IntPredicate::LLVMIntSLT, rest, e.b.i32(0))?;
    e.b.select(is_negative, e.b.add(rest, divisor)?, rest)
}

/// Returns true if nothing clips the view `id`, as far as its definitions tell.
fn takes_all(e: &FunctionEmitter<'_, '_, '_>, mut id: Id) -> bool {
    for _ in 0..MOST_STEPS {
        let Some(inst) = e.module.declarations.module.def(id) else {
            return false;
        };
        match (inst.op(), inst.id(0)) {
            (Some(Op::CreateTensorViewNV), _) => return true,
            (Some(Op::TensorViewSetDimensionNV | Op::TensorViewSetStrideNV), Ok(view)) => id = view,
            _ => return false,
        }
    }
    false
}
