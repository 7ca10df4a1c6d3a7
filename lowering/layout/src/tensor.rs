//! Tensors (SPV_ARM_tensors), and what describes them.
//!
//! A tensor is the address of its descriptor. A kernel gets it as an argument, as it gets an image:
//! a pointer to the descriptor of each (set, binding), or to the first one of an array of them;
//! other forms of the interface place them otherwise (docs/abi.md). The descriptor is the same for
//! all targets, 16 bytes:
//!
//! | bytes | |
//! |---|---|
//! | 0 to 7 | the address of the element whose coordinates are all 0, a multiple of the element's size |
//! | 8 to 15 | the address of the shape, a multiple of 8 |
//!
//! The shape of a tensor of rank r is 2r numbers of 64 bits: the dimensions in elements, then the
//! distances in bytes from one element to the next along each dimension, the outermost dimension
//! first (Vulkan, `VkTensorDescriptionARM`). Distances are multiples of the element's size; they
//! may be negative or 0.

mod decode;

use splitbar_passes::analysis::layout::Alignment;
use splitbar_passes::module::Id;

/// Bytes of a descriptor.
pub const DESCRIPTOR_BYTES: u64 = 16;

/// The alignment of a descriptor, and of a shape.
pub const DESCRIPTOR_ALIGN: Alignment = Alignment::POINTER;

/// Bytes from the start of a descriptor to the address of the shape.
pub const SHAPE_OFFSET: u64 = 8;

/// The most dimensions that are lowered. Vulkan asks implementations for 4.
pub const MOST_DIMENSIONS: u64 = 32;

/// A tensor type.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    /// The type of its elements, a scalar.
    pub element: Id,
    /// The number of its dimensions.
    pub rank: u64,
}

/// Bytes from the start of a shape to the number of elements of dimension `dimension`.
pub fn dimension_offset(dimension: u64) -> u64 {
    dimension.saturating_mul(8)
}

/// Bytes from the start of the shape of a tensor of rank `rank` to the distance of elements along
/// dimension `dimension`.
pub fn stride_offset(rank: u64, dimension: u64) -> u64 {
    rank.saturating_add(dimension).saturating_mul(8)
}
