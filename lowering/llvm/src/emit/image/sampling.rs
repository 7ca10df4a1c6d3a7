//! The operands of a sample: image, sampler, coordinates and level of detail.

use super::super::function::FunctionEmitter;
use super::super::types::{self, Scalar};
use crate::ffi::{Ty, Value};
use splitbar_layout::image::{Image, Shape};

/// An image and its sampler.
#[derive(Copy, Clone)]
pub(super) struct Sampled<'c> {
    pub(super) image: Image,
    /// The address of the image's descriptor.
    pub(super) descriptor: Value<'c>,
    /// The address of the sampler's; `None`: both have one descriptor.
    pub(super) sampler: Option<Value<'c>>,
}

/// Where the level of detail comes from.
#[derive(Clone)]
pub(super) enum Level<'c> {
    /// The instruction names it, `float`.
    Of(Value<'c>),
    /// It is 0.
    Zero,
    /// From how much the coordinates grow from one invocation to the next in x and in y.
    Gradients(Gradients<'c>),
}

/// Differences of coordinates, `float` each, the layer left out.
#[derive(Clone)]
pub(super) struct Gradients<'c> {
    pub(super) x: Vec<Value<'c>>,
    pub(super) y: Vec<Value<'c>>,
    /// The least level that may be taken, `float`.
    pub(super) least: Option<Value<'c>>,
}

/// A sampling instruction.
pub(super) struct Sampling<'c> {
    pub(super) sampled: Sampled<'c>,
    /// `float` each; the layer is the last.
    pub(super) coordinates: Vec<Value<'c>>,
    pub(super) level: Level<'c>,
    /// Texels that are added to the coordinates, `i32` for each direction.
    pub(super) offset: Option<Vec<Value<'c>>>,
    /// What depths are compared with, `float`.
    pub(super) reference: Option<Value<'c>>,
    /// The component that is gathered; `None`: the texels are filtered.
    pub(super) gathered: Option<u32>,
    /// What the components are.
    pub(super) component: Scalar,
}

impl<'c> Sampling<'c> {
    pub(super) fn shape(&self) -> Shape {
        self.sampled.image.shape
    }

    /// Of what type the components are.
    pub(super) fn component_type(&self, e: &FunctionEmitter<'_, 'c, '_>) -> Ty<'c> {
        types::scalar(e.b, self.component)
    }
}

/// Coordinates of a sample in an image of this shape, the layer included. Accesses by integers name
/// a face where samples name a direction, so [`Shape::coordinates`] of an array of cubes is 3.
pub(super) fn coordinates(shape: Shape) -> u32 {
    match shape {
        Shape::CubeArray => 4,
        _ => shape.coordinates(),
    }
}

/// Coordinates of a sample in which there are neighbours: all but the layer.
pub(super) fn directions(shape: Shape) -> u32 {
    coordinates(shape) - u32::from(is_layered(shape))
}

/// Returns true if the last coordinate of a sample is a layer.
pub(super) fn is_layered(shape: Shape) -> bool {
    matches!(shape, Shape::D1Array | Shape::D2Array | Shape::CubeArray)
}
