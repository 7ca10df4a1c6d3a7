//! The instruction tables: a row per mnemonic, with the types of its operands and what it computes.

pub(super) mod compare;
pub(super) mod float;
pub(super) mod float8;
pub(super) mod integer;
pub(super) mod matrix;
pub(super) mod memory;
pub(super) mod packed;
pub(super) mod rounding;
pub(super) mod saturating;
pub(super) mod scalar;
