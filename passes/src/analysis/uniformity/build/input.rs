//! The input from which a model is built.

use super::super::memory::Memory;
use super::super::promote::Variables;
use super::super::slice::Slice;
use crate::module::{Constants, Declarations, Function};

/// The input from which a model is built.
#[derive(Copy, Clone)]
pub(crate) struct Input<'b, 'm> {
    pub(crate) declarations: &'b Declarations<'m>,
    pub(crate) constants: &'b Constants,
    pub(crate) memory: &'b Memory,
    pub(crate) function: &'b Function<'m>,
    pub(crate) variables: &'b Variables<'m>,
    pub(crate) slice: &'b Slice<'m>,
    /// Size of the workgroup, where the module fixes it.
    pub(crate) size: Option<[u32; 3]>,
}
