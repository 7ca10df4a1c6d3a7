//! Scalars, and vectors of them.

use splitbar_passes::module::FloatFormat;

/// A scalar type.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Scalar {
    /// `i1` as a value, one byte in memory.
    Bool,
    /// An integer.
    Int {
        /// Bits: 8, 16, 32 or 64.
        width: u32,
        /// The signedness operand of OpTypeInt (it has no meaning for most instructions).
        signed: bool,
    },
    /// A floating-point number.
    Float {
        /// Bits: 8, 16, 32 or 64. Values of 8 bits are integers in LLVM.
        width: u32,
        /// Encoding.
        format: FloatFormat,
    },
}

impl Scalar {
    /// Bits; a Boolean has 1.
    pub fn bits(self) -> u32 {
        match self {
            Scalar::Bool => 1,
            Scalar::Int { width, .. } | Scalar::Float { width, .. } => width,
        }
    }

    /// Bytes in memory; a Boolean has 1.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }
}

/// A scalar or a vector of them.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct VectorType {
    /// The component.
    pub scalar: Scalar,
    /// Number of components: 1 for a scalar.
    pub lanes: u32,
}
