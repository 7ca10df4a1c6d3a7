//! The value of one constant.

/// A constant's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// A Boolean.
    Bool(bool),
    /// An integer: its bits, zero-extended, and its width in bits.
    Int {
        /// Zero-extended bits.
        bits: u64,
        /// Width.
        width: u32,
    },
    /// A floating-point number: its bits and its width.
    Float {
        /// Bits.
        bits: u64,
        /// Width.
        width: u32,
    },
    /// A vector, matrix, array or structure.
    Composite(Vec<Constant>),
    /// OpConstantNull of any type.
    Null,
    /// OpUndef, or a value that cannot matter.
    Undef,
}

impl Constant {
    /// The value as an unsigned number of at most 32 bits (OpConstantNull is 0); an integer wider
    /// than that must fit.
    pub fn as_u32(&self) -> Option<u32> {
        self.as_u64().and_then(|bits| u32::try_from(bits).ok())
    }

    /// The value as an unsigned number (OpConstantNull is 0).
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Constant::Int { bits, .. } => Some(*bits),
            Constant::Null => Some(0),
            Constant::Bool(_)
            | Constant::Float { .. }
            | Constant::Composite(_)
            | Constant::Undef => None,
        }
    }

    /// The value as a Boolean (OpConstantNull is false).
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Constant::Bool(value) => Some(*value),
            Constant::Null => Some(false),
            Constant::Int { .. }
            | Constant::Float { .. }
            | Constant::Composite(_)
            | Constant::Undef => None,
        }
    }

    /// How many scalars it holds, with one for each composite. Constants are nested as deep as
    /// types at the most.
    pub(super) fn scalars(&self) -> usize {
        match self {
            Constant::Composite(parts) => 1 + parts.iter().map(Constant::scalars).sum::<usize>(),
            Constant::Bool(_)
            | Constant::Int { .. }
            | Constant::Float { .. }
            | Constant::Null
            | Constant::Undef => 1,
        }
    }
}

/// Returns true if an instruction with the opcode `op` has a value here, unless it breaks a rule.
pub(super) fn has_value(op: spirv::Op) -> bool {
    use spirv::Op;
    matches!(
        op,
        Op::ConstantTrue
            | Op::ConstantFalse
            | Op::SpecConstantTrue
            | Op::SpecConstantFalse
            | Op::Constant
            | Op::SpecConstant
            | Op::ConstantNull
            | Op::Undef
            | Op::ConstantComposite
            | Op::SpecConstantComposite
            | Op::ConstantCompositeReplicateEXT
            | Op::SpecConstantCompositeReplicateEXT
            | Op::SpecConstantOp
    )
}
