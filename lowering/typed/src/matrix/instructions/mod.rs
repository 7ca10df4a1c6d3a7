//! Matrix multiply-add instructions: which targets have which, how lanes hold their operands, and
//! how LLVM spells them. `docs/matrix.md` lists them.
//!
//! To add one, add a row to its table. An instruction computes a tile of `rows` x `columns`,
//! `depth` products deep.
//!
//! Rows of A and columns of B are where the hardware wants them. The position of a lane's elements
//! along k is free as long as A and B agree, since a sum does not depend on its order: on AMD each
//! lane holds neighbours.

mod amdgpu;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod list;
mod nvptx;

use super::layout::{Axis, Digit, Holder, Layout};
use crate::types::Scalar;
use spirv::CooperativeMatrixUse as Use;
use splitbar_passes::module::FloatFormat;
use splitbar_target::{Arch, Target};

/// What the factors are made of.
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
    fn of(component: Scalar) -> Option<Factor> {
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

    /// Whether products of these can be added to elements of this type: 16-bit floats are widened
    /// and rounded again.
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

/// How LLVM spells an instruction.
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
type Digits = [Digit; 8];

/// A matrix multiply-add instruction.
#[derive(Debug)]
pub struct Instruction {
    /// The intrinsic; where the name says what the factors are, by that: neither, A, B, both are
    /// the other kind (signed integers, E5M2).
    pub names: [&'static str; 4],
    /// Its operands.
    pub form: Form,
    /// What the factors are made of.
    pub factor: Factor,
    /// Rows of A and of the sum.
    pub rows: u32,
    /// Columns of B and of the sum.
    pub columns: u32,
    /// Columns of A, rows of B.
    pub depth: u32,
    a: Digits,
    b: Digits,
    sum: Digits,
    /// The type of the factors.
    pub passed: Passed,
    /// Elements of a factor that the instruction takes from each lane; those that a tile does not
    /// have are zero.
    pub taken: u32,
}

const fn lane(place: u32, radix: u32, axis: Axis, weight: u32) -> Digit {
    Digit {
        holder: Holder::Lane,
        place,
        radix,
        axis,
        weight,
    }
}

const fn slot(place: u32, radix: u32, axis: Axis, weight: u32) -> Digit {
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
const fn digits<const N: usize>(some: [Digit; N]) -> Digits {
    let mut all = [slot(1, 1, Axis::Row, 1); 8];
    let mut at = 0;
    while at < N {
        all[at] = some[at];
        at += 1;
    }
    all
}

/// The instructions of a target in waves of so many lanes, the deepest first.
pub fn of(target: &Target, wave: u32) -> &'static [Instruction] {
    match &target.arch {
        Arch::Amdgpu(gpu) => amdgpu::of(gpu.matrix, wave),
        Arch::Nvptx(gpu) => nvptx::of(gpu.mma),
    }
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

    /// Whether matrices of this type in this use are this instruction's business.
    pub fn takes(&self, role: Use, component: Scalar) -> bool {
        match role {
            Use::MatrixAKHR | Use::MatrixBKHR => Factor::of(component) == Some(self.factor),
            Use::MatrixAccumulatorKHR => self.factor.adds_to(component),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::layout::Element;
    use super::*;

    /// Elements are where they are said to be, and a lane passes as much as the instruction takes.
    #[test]
    fn layouts_are_sound() {
        for target in Target::all() {
            for wave in target.wave_sizes {
                of(target, *wave).iter().for_each(|i| check(i, *wave));
            }
        }
    }

    fn check(i: &Instruction, wave: u32) {
        for (role, rows, columns) in [
            (Use::MatrixAKHR, i.rows, i.depth),
            (Use::MatrixBKHR, i.depth, i.columns),
            (Use::MatrixAccumulatorKHR, i.rows, i.columns),
        ] {
            let layout = i.layout(role, rows, columns).unwrap();
            for row in 0..rows {
                for column in 0..columns {
                    let element = Element { row, column };
                    let place = layout.place(element);
                    assert!(place.lane < wave && place.slot < layout.slots, "{i:?}");
                    assert_eq!(layout.element(place), element, "{i:?} {role:?}");
                }
            }
        }
        let a = i.layout(Use::MatrixAKHR, i.rows, i.depth).unwrap();
        assert!(
            a.slots <= i.taken && i.taken.is_multiple_of(a.slots),
            "{i:?}"
        );
    }
}
