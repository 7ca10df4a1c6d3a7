//! A decoded matrix instruction.

use super::operand::Operand;
use super::table::matrix::{Family, Shape};
use crate::matrix::Element;

/// A matrix instruction.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    pub shape: Shape,
    pub family: Family,
    /// Of A and B, where integers may be signed or not.
    pub factors: [Element; 2],
    /// Integer sums saturate.
    pub clamp: bool,
    pub dst: u16,
    /// First registers of A and B.
    pub sources: [u16; 2],
    /// The addend: registers, or a constant for all elements.
    pub addend: Operand,
}
