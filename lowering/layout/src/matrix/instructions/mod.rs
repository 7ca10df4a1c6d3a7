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
mod instruction;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod list;
mod nvptx;

use super::layout::Axis;
use instruction::{Digits, digits, lane, slot};
pub use instruction::{Factor, Form, Instruction, Passed};
use splitbar_target::{Arch, Target};

/// The instructions of a target in waves of so many lanes, the deepest first.
pub fn of(target: &Target, wave: u32) -> &'static [Instruction] {
    match &target.arch {
        Arch::Amdgpu(gpu) => amdgpu::of(gpu.matrix, wave),
        Arch::Nvptx(gpu) => nvptx::of(gpu.mma),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::layout::Element;
    use super::*;
    use spirv::CooperativeMatrixUse as Use;

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
