//! The input of the analysis of a function's copies.

use crate::analysis::cfg::Cfg;
use crate::analysis::uniformity::memory::Memory;
use crate::module::{Constants, Declarations, Function};

/// A function, and what is known of it.
#[derive(Copy, Clone)]
pub struct Input<'i, 'm> {
    /// The declarations of its module.
    pub declarations: &'i Declarations<'m>,
    /// The constants of the module.
    pub constants: &'i Constants,
    /// The memory of the module.
    pub memory: &'i Memory,
    /// The function: that of an entry point, with its barriers inlined.
    pub function: &'i Function<'m>,
    /// Its control flow.
    pub cfg: &'i Cfg,
    /// The size of the workgroup, where the module fixes it.
    pub size: Option<[u32; 3]>,
}
