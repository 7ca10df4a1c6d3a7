//! Matrix multiply-add instructions: which targets have which, how lanes hold their operands, and how LLVM spells them.
//!
//! To add one, add a row to its table. An instruction computes a tile of `rows` x `columns`, `depth` products deep.
//!
//! Rows of A and columns of B are where the hardware wants them. The position of a lane's elements along k is free as long as A and B agree, since a sum
//! does not depend on its order: on AMD each lane holds neighbours. Sources: AMD matrix instruction calculator and RDNA3, RDNA4 ISA "WMMA"; PTX ISA,
//! "Matrix Fragments for mma".

use super::super::types::Scalar;
use super::layout::{Axis, Digit, Holder, Layout};
use spirv::CooperativeMatrixUse as Use;
use splitbar_passes::module::FloatFormat;
use splitbar_plan::Target;
use splitbar_plan::target::{Arch, Matrix as Amd, Mma};

/// What the factors are made of.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Factor {
    F16,
    BF16,
    F32,
    I8,
}

impl Factor {
    fn of(component: Scalar) -> Option<Factor> {
        Some(match component {
            Scalar::Float {
                width: 16,
                format: FloatFormat::Ieee,
            } => Factor::F16,
            Scalar::Float {
                width: 16,
                format: FloatFormat::BFloat16,
            } => Factor::BF16,
            Scalar::Float { width: 32, .. } => Factor::F32,
            Scalar::Int { width: 8, .. } => Factor::I8,
            Scalar::Bool | Scalar::Int { .. } | Scalar::Float { .. } => return None,
        })
    }

    /// Whether products of these can be added to elements of this type.
    fn adds_to(self, component: Scalar) -> bool {
        match self {
            Factor::F16 | Factor::BF16 => {
                matches!(component, Scalar::Float { width: 16 | 32, .. })
            }
            Factor::F32 => matches!(component, Scalar::Float { width: 32, .. }),
            Factor::I8 => matches!(component, Scalar::Int { width: 32, .. }),
        }
    }
}

/// How LLVM spells an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// `(A, B, C)`, overloaded by sum and factor.
    Wmma,
    /// `(signed A, A, signed B, B, C, clamp)`, overloaded.
    WmmaSigned,
    /// `(A, B, modifiers of C, C, reuse A, reuse B)`, overloaded.
    WmmaReuse,
    /// `(signed A, A, signed B, B, C, reuse A, reuse B, clamp)`, overloaded.
    WmmaSignedReuse,
    /// `(A, B, C, cbsz, abid, blgp)`.
    Mfma,
    /// Registers of A, of B and of C one by one; a structure of registers comes back. The signedness is in the name.
    Mma,
}

/// The type in which factors are passed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Passed {
    /// As they are.
    Elements,
    /// As integers of this many bits.
    Integers(u32),
}

/// A matrix multiply-add instruction.
#[derive(Debug)]
pub(super) struct Instruction {
    /// The intrinsic; for [`Form::Mma`] on integers by signedness: neither, A, B, both.
    pub(super) names: [&'static str; 4],
    pub(super) form: Form,
    pub(super) factor: Factor,
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) depth: u32,
    a: [Digit; 5],
    b: [Digit; 5],
    sum: [Digit; 5],
    pub(super) passed: Passed,
    /// Elements of a factor that the instruction takes from each lane; those that a tile does not have are zero.
    pub(super) taken: u32,
}

const fn digit(holder: Holder, place: u32, radix: u32, axis: Axis, weight: u32) -> Digit {
    Digit {
        holder,
        place,
        radix,
        axis,
        weight,
    }
}

const fn lane(place: u32, radix: u32, axis: Axis, weight: u32) -> Digit {
    digit(Holder::Lane, place, radix, axis, weight)
}

const fn slot(place: u32, radix: u32, axis: Axis, weight: u32) -> Digit {
    digit(Holder::Slot, place, radix, axis, weight)
}

/// A digit that counts nothing.
const NO: Digit = slot(1, 1, Axis::Row, 1);

/// An AMD factor: lane % 16 is the row of A or the column of B, `groups` groups of lanes hold `slots` neighbours along k each.
const fn amd(groups: u32, slots: u32, axis: Axis) -> [Digit; 5] {
    let k = match axis {
        Axis::Row => Axis::Column,
        Axis::Column => Axis::Row,
    };
    [
        lane(1, 16, axis, 1),
        lane(16, groups, k, slots),
        slot(1, slots, k, 1),
        NO,
        NO,
    ]
}

/// An AMD sum: lane % 16 is the column; slots count rows in steps of `slot_weight`, groups of lanes in steps of `lane_weight`.
const fn amd_sum(groups: u32, lane_weight: u32, slots: u32, slot_weight: u32) -> [Digit; 5] {
    [
        lane(1, 16, Axis::Column, 1),
        lane(16, groups, Axis::Row, lane_weight),
        slot(1, slots, Axis::Row, slot_weight),
        NO,
        NO,
    ]
}

struct AmdRow {
    name: &'static str,
    form: Form,
    factor: Factor,
    /// Groups of 16 lanes that hold different k; 1: all lanes hold copies.
    groups: u32,
    /// Elements of a tile of A or B in each lane.
    slots: u32,
    sum: [Digit; 5],
    passed: Passed,
    taken: u32,
}

const fn amd_instruction(row: AmdRow) -> Instruction {
    Instruction {
        names: [row.name; 4],
        form: row.form,
        factor: row.factor,
        rows: 16,
        columns: 16,
        depth: row.groups * row.slots,
        a: amd(row.groups, row.slots, Axis::Row),
        b: amd(row.groups, row.slots, Axis::Column),
        sum: row.sum,
        passed: row.passed,
        taken: row.taken,
    }
}

macro_rules! amd_table {
    ($(#[$doc:meta])* $table:ident, $sum:expr; $($name:literal, $form:ident, $factor:ident, $groups:literal x $slots:literal, $passed:expr, $taken:literal;)*) => {
        $(#[$doc])*
        static $table: &[Instruction] = &[$(amd_instruction(AmdRow {
            name: $name, form: Form::$form, factor: Factor::$factor, groups: $groups, slots: $slots, sum: $sum, passed: $passed, taken: $taken,
        })),*];
    };
}

use Passed::{Elements, Integers};

amd_table! { /// gfx11, waves of 32.
    WMMA_DUPLICATED, amd_sum(2, 1, 8, 2);
    "llvm.amdgcn.wmma.f32.16x16x16.f16", Wmma, F16, 1 x 16, Elements, 16;
    "llvm.amdgcn.wmma.f32.16x16x16.bf16", Wmma, BF16, 1 x 16, Integers(16), 16;
    "llvm.amdgcn.wmma.i32.16x16x16.iu8", WmmaSigned, I8, 1 x 16, Integers(32), 16;
}

amd_table! { /// gfx11.7 and gfx12, waves of 32.
    WMMA, amd_sum(2, 8, 8, 1);
    "llvm.amdgcn.wmma.f32.16x16x16.f16", Wmma, F16, 2 x 8, Elements, 8;
    "llvm.amdgcn.wmma.f32.16x16x16.bf16", Wmma, BF16, 2 x 8, Integers(16), 8;
    "llvm.amdgcn.wmma.i32.16x16x16.iu8", WmmaSigned, I8, 2 x 8, Integers(32), 8;
}

amd_table! { /// gfx12.5: tiles half or a quarter as deep as the instruction are filled up with zeros.
    WMMA_K32, amd_sum(2, 8, 8, 1);
    "llvm.amdgcn.wmma.f32.16x16x32.f16", WmmaReuse, F16, 2 x 16, Elements, 16;
    "llvm.amdgcn.wmma.f32.16x16x32.f16", WmmaReuse, F16, 2 x 8, Elements, 16;
    "llvm.amdgcn.wmma.f32.16x16x32.bf16", WmmaReuse, BF16, 2 x 16, Elements, 16;
    "llvm.amdgcn.wmma.f32.16x16x32.bf16", WmmaReuse, BF16, 2 x 8, Elements, 16;
    "llvm.amdgcn.wmma.i32.16x16x64.iu8", WmmaSignedReuse, I8, 2 x 32, Integers(32), 32;
    "llvm.amdgcn.wmma.i32.16x16x64.iu8", WmmaSignedReuse, I8, 2 x 16, Integers(32), 32;
    "llvm.amdgcn.wmma.i32.16x16x64.iu8", WmmaSignedReuse, I8, 2 x 8, Integers(32), 32;
    "llvm.amdgcn.wmma.f32.16x16x4.f32", WmmaReuse, F32, 2 x 2, Elements, 2;
}

amd_table! { /// gfx908, gfx90a, gfx942.
    MFMA, amd_sum(4, 4, 4, 1);
    "llvm.amdgcn.mfma.f32.16x16x16f16", Mfma, F16, 4 x 4, Elements, 4;
    "llvm.amdgcn.mfma.f32.16x16x4f32", Mfma, F32, 4 x 1, Elements, 1;
}

amd_table! { /// gfx950.
    MFMA_K32, amd_sum(4, 4, 4, 1);
    "llvm.amdgcn.mfma.f32.16x16x32.f16", Mfma, F16, 4 x 8, Elements, 8;
    "llvm.amdgcn.mfma.f32.16x16x16f16", Mfma, F16, 4 x 4, Elements, 4;
    "llvm.amdgcn.mfma.f32.16x16x32.bf16", Mfma, BF16, 4 x 8, Elements, 8;
    "llvm.amdgcn.mfma.f32.16x16x16bf16.1k", Mfma, BF16, 4 x 4, Integers(16), 4;
    "llvm.amdgcn.mfma.i32.16x16x64.i8", Mfma, I8, 4 x 16, Integers(32), 16;
    "llvm.amdgcn.mfma.i32.16x16x32.i8", Mfma, I8, 4 x 8, Integers(64), 8;
    "llvm.amdgcn.mfma.f32.16x16x4f32", Mfma, F32, 4 x 1, Elements, 1;
}

/// The sum of mma.m16n8k*: the lane's group of four and slot 2 are the row, the rest the column.
const MMA_SUM: [Digit; 5] = [
    lane(4, 8, Axis::Row, 1),
    slot(2, 2, Axis::Row, 8),
    lane(1, 4, Axis::Column, 2),
    slot(1, 2, Axis::Column, 1),
    NO,
];

/// A of mma.m16n8k*: registers of `packed` elements along k, two of them for the two halves of the rows, `halves` of that along k.
const fn mma_a(packed: u32, halves: u32) -> [Digit; 5] {
    [
        lane(4, 8, Axis::Row, 1),
        slot(packed, 2, Axis::Row, 8),
        lane(1, 4, Axis::Column, packed),
        slot(1, packed, Axis::Column, 1),
        slot(packed * 2, halves, Axis::Column, packed * 4),
    ]
}

/// B of mma.m16n8k*.
const fn mma_b(packed: u32, halves: u32) -> [Digit; 5] {
    [
        lane(4, 8, Axis::Column, 1),
        lane(1, 4, Axis::Row, packed),
        slot(1, packed, Axis::Row, 1),
        slot(packed, halves, Axis::Row, packed * 4),
        NO,
    ]
}

const fn mma(
    names: [&'static str; 4],
    factor: Factor,
    packed: u32,
    halves: u32,
    passed: Passed,
) -> Instruction {
    Instruction {
        names,
        form: Form::Mma,
        factor,
        rows: 16,
        columns: 8,
        depth: packed * 4 * halves,
        a: mma_a(packed, halves),
        b: mma_b(packed, halves),
        sum: MMA_SUM,
        passed,
        taken: packed * 2 * halves,
    }
}

/// sm_75.
static MMA_K8: &[Instruction] = &[mma(
    ["llvm.nvvm.mma.m16n8k8.row.col.f32.f32"; 4],
    Factor::F16,
    2,
    1,
    Elements,
)];

/// sm_80 and later.
static MMA_K16: &[Instruction] = &[
    mma(
        ["llvm.nvvm.mma.m16n8k16.row.col.f32.f32"; 4],
        Factor::F16,
        2,
        2,
        Elements,
    ),
    mma(
        ["llvm.nvvm.mma.m16n8k8.row.col.f32.f32"; 4],
        Factor::F16,
        2,
        1,
        Elements,
    ),
    mma(
        ["llvm.nvvm.mma.m16n8k16.row.col.bf16"; 4],
        Factor::BF16,
        2,
        2,
        Integers(32),
    ),
    mma(
        ["llvm.nvvm.mma.m16n8k8.row.col.bf16"; 4],
        Factor::BF16,
        2,
        1,
        Integers(32),
    ),
    mma(
        [
            "llvm.nvvm.mma.m16n8k32.row.col.u8",
            "llvm.nvvm.mma.m16n8k32.row.col.s8.u8",
            "llvm.nvvm.mma.m16n8k32.row.col.u8.s8",
            "llvm.nvvm.mma.m16n8k32.row.col.s8",
        ],
        Factor::I8,
        4,
        2,
        Integers(32),
    ),
    mma(
        [
            "llvm.nvvm.mma.m16n8k16.row.col.u8",
            "llvm.nvvm.mma.m16n8k16.row.col.s8.u8",
            "llvm.nvvm.mma.m16n8k16.row.col.u8.s8",
            "llvm.nvvm.mma.m16n8k16.row.col.s8",
        ],
        Factor::I8,
        4,
        1,
        Integers(32),
    ),
];

/// The instructions of a target, the deepest first.
pub(super) fn of(target: &Target, wave: u32) -> &'static [Instruction] {
    match &target.arch {
        Arch::Amdgpu(gpu) => match (gpu.matrix, wave) {
            (Amd::Mfma, 64) => MFMA,
            (Amd::MfmaK32, 64) => MFMA_K32,
            (Amd::WmmaDuplicated, 32) => WMMA_DUPLICATED,
            (Amd::Wmma, 32) => WMMA,
            (Amd::WmmaK32, 32) => WMMA_K32,
            // In waves of 64, WMMA holds its operands in other ways, which are not in the tables.
            (
                Amd::None
                | Amd::Mfma
                | Amd::MfmaK32
                | Amd::WmmaDuplicated
                | Amd::Wmma
                | Amd::WmmaK32,
                _,
            ) => &[],
        },
        Arch::Nvptx(gpu) => match gpu.mma {
            Mma::None => &[],
            Mma::K8 => MMA_K8,
            Mma::K16 => MMA_K16,
        },
    }
}

impl Instruction {
    /// The layout of a matrix of this size in this use, if tiles divide it.
    pub(super) fn layout(&self, role: Use, rows: u32, columns: u32) -> Option<Layout> {
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
    pub(super) fn takes(&self, role: Use, component: Scalar) -> bool {
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

    /// Elements are where they are said to be, A and B agree on the place of k, and a lane passes as much as the instruction takes.
    #[test]
    fn layouts_are_sound() {
        for (table, wave) in [
            (WMMA_DUPLICATED, 32),
            (WMMA, 32),
            (WMMA_K32, 32),
            (MFMA, 64),
            (MFMA_K32, 64),
            (MMA_K8, 32),
            (MMA_K16, 32),
        ] {
            for i in table {
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
                assert!(a.slots <= i.taken && i.taken % a.slots == 0, "{i:?}");
            }
        }
    }
}
