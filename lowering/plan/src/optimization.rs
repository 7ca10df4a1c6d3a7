//! The optimisation level of the code generator.

/// LLVM's optimisation level; `default<O2>` of its pass builder and the same level of the code
/// generator for [`Optimization::O2`], and so on. The level of AMDGPU's code generator is at least
/// 1 (docs/llvm.md).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Optimization {
    /// Nothing but what must be inlined.
    O0,
    /// A little.
    O1,
    /// The usual.
    #[default]
    O2,
    /// More, for longer.
    O3,
}
