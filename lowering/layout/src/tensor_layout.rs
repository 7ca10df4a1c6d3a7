//! Tensor layouts and tensor views (SPV_NV_tensor_addressing): their types, and the place of each
//! part of their state in a value. A value is a vector of 32-bit integers.

use crate::scalar::{Scalar, VectorType};
use spirv::{Op, TensorClampMode};
use splitbar_passes::module::{Constants, Inst};

/// Most dimensions of a tensor.
pub const MAX_DIMENSIONS: u32 = 5;

/// The type of a tensor layout.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct TensorLayout {
    /// Dimensions, 1 to [`MAX_DIMENSIONS`].
    pub dimensions: u32,
    /// The clamp mode for accesses outside of the tensor.
    pub clamp: TensorClampMode,
}

/// The type of a tensor view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorView {
    /// True if it has dimensions of its own; else those of the slice are used.
    pub has_dimensions: bool,
    /// The order of its dimensions: a permutation of all numbers below their count.
    pub permutation: Vec<u32>,
}

/// State of a tensor layout that each dimension has.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum LayoutPart {
    /// Elements that one block has.
    BlockSize,
    /// Elements.
    Dimension,
    /// Blocks from one to the next.
    Stride,
    /// Where the slice begins.
    Offset,
    /// Elements of the slice.
    Span,
}

/// State of a tensor view that each dimension has.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ViewPart {
    /// Elements.
    Dimension,
    /// Elements of the slice from one to the next.
    Stride,
}

/// The region of a matrix that a view takes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Clip {
    /// The first row.
    RowOffset,
    /// Rows.
    RowSpan,
    /// The first column.
    ColumnOffset,
    /// Columns.
    ColumnSpan,
}

impl TensorLayout {
    /// Decodes OpTypeTensorLayoutNV; `None`: its operands have no values that it may have.
    pub fn decode(inst: Inst<'_>, constants: &Constants) -> Option<TensorLayout> {
        let constant = |index| constants.as_u32(inst.id(index).ok()?);
        Some(TensorLayout {
            dimensions: constant(0).filter(|count| (1..=MAX_DIMENSIONS).contains(count))?,
            clamp: TensorClampMode::from_u32(constant(1)?)?,
        })
    }

    /// The lane of the value that holds `part` of a dimension.
    pub fn lane(&self, part: LayoutPart, dimension: u32) -> u32 {
        part as u32 * self.dimensions + dimension
    }

    /// The lane that holds what loads give beyond the tensor.
    pub fn clamp_value(&self) -> u32 {
        self.lane(LayoutPart::Span, self.dimensions)
    }

    /// The value.
    pub fn shape(&self) -> VectorType {
        words(self.clamp_value() + 1)
    }
}

impl TensorView {
    /// Decodes OpTypeTensorViewNV; `None`: its operands have no values that it may have.
    pub fn decode(inst: Inst<'_>, constants: &Constants) -> Option<TensorView> {
        let constant = |index| constants.as_u32(inst.id(index).ok()?);
        let count = constant(0).filter(|count| (1..=MAX_DIMENSIONS).contains(count))?;
        let has_dimensions = constants.get(inst.id(1).ok()?)?.as_bool()?;
        if inst.operands().len() != count as usize + 2 {
            return None;
        }
        let permutation: Vec<u32> = (0..count as usize)
            .map(|index| constant(index + 2))
            .collect::<Option<_>>()?;
        (0..count)
            .all(|dimension| permutation.contains(&dimension))
            .then_some(TensorView {
                has_dimensions,
                permutation,
            })
    }

    /// The number of dimensions.
    pub fn dimensions(&self) -> u32 {
        self.permutation.len() as u32
    }

    /// The lane of the value that holds `part` of a dimension.
    pub fn lane(&self, part: ViewPart, dimension: u32) -> u32 {
        part as u32 * self.dimensions() + dimension
    }

    /// The lane that holds a part of the clip region.
    pub fn clip(&self, clip: Clip) -> u32 {
        self.lane(ViewPart::Stride, self.dimensions()) + clip as u32
    }

    /// The value.
    pub fn shape(&self) -> VectorType {
        words(self.clip(Clip::ColumnSpan) + 1)
    }
}

/// The type of a tensor layout or of a tensor view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TensorObject {
    /// OpTypeTensorLayoutNV.
    Layout(TensorLayout),
    /// OpTypeTensorViewNV.
    View(TensorView),
}

impl TensorObject {
    /// Decodes a type; `None`: it is another, or is not lowered.
    pub fn decode(inst: Inst<'_>, constants: &Constants) -> Option<TensorObject> {
        match inst.op()? {
            Op::TypeTensorLayoutNV => {
                TensorLayout::decode(inst, constants).map(TensorObject::Layout)
            }
            Op::TypeTensorViewNV => TensorView::decode(inst, constants).map(TensorObject::View),
            _ => None,
        }
    }

    /// The value.
    pub fn shape(&self) -> VectorType {
        match self {
            TensorObject::Layout(layout) => layout.shape(),
            TensorObject::View(view) => view.shape(),
        }
    }
}

fn words(lanes: u32) -> VectorType {
    let scalar = Scalar::Int {
        width: 32,
        signed: false,
    };
    VectorType { scalar, lanes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_part_has_its_own_lane() {
        use LayoutPart::{BlockSize, Dimension, Offset, Span, Stride};
        for dimensions in 1..=MAX_DIMENSIONS {
            let layout = TensorLayout {
                dimensions,
                clamp: TensorClampMode::Undefined,
            };
            let mut lanes: BTreeSet<u32> = [BlockSize, Dimension, Stride, Offset, Span]
                .iter()
                .flat_map(|part| (0..dimensions).map(|at| layout.lane(*part, at)))
                .collect();
            lanes.insert(layout.clamp_value());
            assert_eq!(lanes, (0..layout.shape().lanes).collect());
            let view = TensorView {
                has_dimensions: true,
                permutation: (0..dimensions).collect(),
            };
            let mut lanes: BTreeSet<u32> = [ViewPart::Dimension, ViewPart::Stride]
                .iter()
                .flat_map(|part| (0..dimensions).map(|at| view.lane(*part, at)))
                .collect();
            let clips = [
                Clip::RowOffset,
                Clip::RowSpan,
                Clip::ColumnOffset,
                Clip::ColumnSpan,
            ];
            lanes.extend(clips.map(|clip| view.clip(clip)));
            assert_eq!(lanes, (0..view.shape().lanes).collect());
        }
    }
}
