//! SPIR-V to SPIR-V: one file (or folder) per pass, and the layer that they write new modules with.

pub mod inline;
mod rewrite;

pub use rewrite::{Edited, Origin, Writer};
