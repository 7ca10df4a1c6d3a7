//! The outputs that can be requested from a worker.

use serde::{Deserialize, Serialize};

/// A product that can be requested from a compilation.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Product {
    /// LLVM IR as text, optimised.
    Ir,
    /// LLVM IR as bitcode, optimised.
    Bitcode,
    /// Assembly: GCN or PTX.
    Assembly,
    /// A relocatable ELF object (AMDGPU).
    Object,
    /// A code object that the ROCm loader takes (AMDGPU).
    CodeObject,
    /// Machine code in NVIDIA's container (NVPTX).
    Cubin,
    /// The plan of every entry point, with the windows where they were measured.
    Plan,
    /// The reflection, as JSON.
    Reflect,
}
