//! One instruction on matrices, and where its lanes hold the elements.

use super::super::layout::{Axis, Digit, Holder, Layout};
use crate::scalar::Scalar;
use spirv::CooperativeMatrixUse as Use;
use splitbar_passes::module::FloatFormat;

/// The element type of A and B.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Factor {
    /// Floats of 16 bits.
    F16,
    /// bfloat16.
    BF16,
    /// Floats of 32 bits.
    F32,
    /// Floats of 64 bits.
    F64,
    /// 8-bit floats of OCP: E4M3, or E5M2 as the other kind.
    F8,
    /// Integers of 8 bits.
    I8,
}

impl Factor {
    fn from_component(component: Scalar) -> Option<Factor> {
        Some(match component {
            Scalar::Float { width, format } => match (format, width) {
                (FloatFormat::Ieee, 16) => Factor::F16,
                (FloatFormat::Ieee, 32) => Factor::F32,
                (FloatFormat::Ieee, 64) => Factor::F64,
                (FloatFormat::Ieee, _) => return None,
                (FloatFormat::BFloat16, _) => Factor::BF16,
                (FloatFormat::Float8E4M3 | FloatFormat::Float8E5M2, _) => Factor::F8,
                (
                    FloatFormat::Float6E2M3
                    | FloatFormat::Float6E3M2
                    | FloatFormat::Float4E2M1
                    | FloatFormat::Float8E8M0
                    | FloatFormat::MxInt8,
                    _,
                ) => return None,
            },
            Scalar::Int { width: 8, .. } => Factor::I8,
            Scalar::Bool | Scalar::Int { .. } => return None,
        })
    }

    /// Returns true if products of these can be added to elements of this type: 16-bit floats are
    /// widened and rounded again.
    fn adds_to(self, component: Scalar) -> bool {
        match self {
            Factor::F16 | Factor::BF16 | Factor::F8 => {
                matches!(component, Scalar::Float { width: 16 | 32, .. })
            }
            Factor::F32 => matches!(component, Scalar::Float { width: 32, .. }),
            Factor::F64 => matches!(component, Scalar::Float { width: 64, .. }),
            Factor::I8 => matches!(component, Scalar::Int { width: 32, .. }),
        }
    }
}

/// The form of an instruction in LLVM.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// `(A, B, C)`, overloaded by sum and factor.
    Wmma,
    /// `(signed A, A, signed B, B, C, clamp)`, overloaded.
    WmmaSigned,
    /// `(A, B, modifiers of C, C, reuse A, reuse B)`, overloaded.
    WmmaReuse,
    /// `(signed A, A, signed B, B, C, reuse A, reuse B, clamp)`, overloaded.
    WmmaSignedReuse,
    /// `(A, B, C, cbsz, abid, blgp)`. Integers are signed.
    Mfma,
    /// Registers of A, of B and of C one by one; a structure of registers comes back. What the
    /// factors are is in the name.
    Mma,
}

/// The type in which factors are passed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Passed {
    /// As they are.
    Elements,
    /// As integers of this many bits.
    Integers(u32),
}

/// Where the lanes hold a matrix.
pub(super) type Digits = [Digit; 8];

/// A matrix multiply-add instruction.
#[derive(Debug)]
pub struct Instruction {
    /// The intrinsic; if the name depends on the element types, one for each: neither, A, B, both
    /// are the other kind (signed integers, E5M2).
    pub names: [&'static str; 4],
    /// Its operands.
    pub form: Form,
    /// The element type of A and B.
    pub factor: Factor,
    /// Rows of A and of the sum.
    pub rows: u32,
    /// Columns of B and of the sum.
    pub columns: u32,
    /// Columns of A, rows of B.
    pub depth: u32,
    pub(super) a: Digits,
    pub(super) b: Digits,
    pub(super) sum: Digits,
    /// The type of the factors.
    pub passed: Passed,
    /// Elements of a factor that the instruction takes from each lane; those that a tile does not
    /// have are zero.
    pub taken: u32,
}

pub(super) const fn lane(place: u32, radix: u32, axis: Axis, weight: u32) -> Digit {
    Digit {
        holder: Holder::Lane,
        place,
        radix,
        axis,
        weight,
    }
}

pub(super) const fn slot(place: u32, radix: u32, axis: Axis, weight: u32) -> Digit {
    Digit {
        holder: Holder::Slot,
        place,
        radix,
        axis,
        weight,
    }
}

/// These digits, and others that count nothing.
#[expect(
    clippy::indexing_slicing,
    reason = "a constant function, and no input reaches it"
)]
pub(super) const fn digits<const N: usize>(some: [Digit; N]) -> Digits {
    let mut all = [slot(1, 1, Axis::Row, 1); 8];
    let mut at = 0;
    while at < N {
        all[at] = some[at];
        at += 1;
    }
    all
}

impl Instruction {
    /// The layout of a matrix of this size in this use, if tiles divide it.
    pub fn layout(&self, role: Use, rows: u32, columns: u32) -> Option<Layout> {
        let (digits, down, across) = match role {
            Use::MatrixAKHR => (self.a, self.rows, self.depth),
            Use::MatrixBKHR => (self.b, self.depth, self.columns),
            Use::MatrixAccumulatorKHR => (self.sum, self.rows, self.columns),
        };
        let whole = rows.is_multiple_of(down)
            && columns.is_multiple_of(across)
            && rows.is_power_of_two()
            && columns.is_power_of_two();
        whole.then(|| {
            Layout::new(digits.to_vec()).tiled(down, across, rows / down, columns / across)
        })
    }

    /// Returns true if matrices of this type in this use are this instruction's business.
    pub fn takes(&self, role: Use, component: Scalar) -> bool {
        match role {
            Use::MatrixAKHR | Use::MatrixBKHR => {
                Factor::from_component(component) == Some(self.factor)
            }
            Use::MatrixAccumulatorKHR => self.factor.adds_to(component),
        }
    }
}
