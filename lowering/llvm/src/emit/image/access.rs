//! An access to an image by whole coordinates.

use crate::ffi::Value;
use splitbar_layout::image::Image;
use splitbar_passes::module::Scope;

/// An access to an image.
pub(super) struct Access<'c> {
    pub(super) image: Image,
    /// The address of the descriptor.
    pub(super) descriptor: Value<'c>,
    /// `i32` each; the layer is the last.
    pub(super) coordinates: Vec<Value<'c>>,
    /// The mip level, if the instruction names one that is not 0.
    pub(super) level: Option<Value<'c>>,
    /// The sample.
    pub(super) sample: Option<Value<'c>>,
}

/// The image operands of an instruction that this lowering knows.
#[derive(Default)]
pub(super) struct Extra<'c> {
    pub(super) level: Option<Value<'c>>,
    pub(super) offset: Option<Value<'c>>,
    pub(super) sample: Option<Value<'c>>,
    pub(super) available: Option<Scope>,
    pub(super) visible: Option<Scope>,
    /// No access is left out, doubled, or made one with another.
    pub(super) volatile: bool,
}
