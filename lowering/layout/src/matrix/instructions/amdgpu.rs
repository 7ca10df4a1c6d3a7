//! MFMA and WMMA. Sources: AMD matrix instruction calculator; ISA manuals of CDNA3 and CDNA4,
//! "Matrix Arithmetic Instructions", and of RDNA3 and RDNA4, "WMMA"; in waves of 64 as in Mesa's
//! RADV, `radv_nir_lower_cooperative_matrix`; LLVM 23.1.1 measured: the overloads that select.

use super::{Axis, Digits, Factor, Form, Instruction, Passed, digits, lane, slot};
use Passed::{Elements, Integers};
use splitbar_target::Matrix;

/// A factor: lane % 16 is the row of A or the column of B, `groups` groups of lanes hold `slots`
/// neighbours along k each.
const fn factor(groups: u32, slots: u32, axis: Axis) -> Digits {
    let k = match axis {
        Axis::Row => Axis::Column,
        Axis::Column => Axis::Row,
    };
    digits([
        lane(1, 16, axis, 1),
        lane(16, groups, k, slots),
        slot(1, slots, k, 1),
    ])
}

/// A sum: lane % 16 is the column; slots count rows in steps of `slot_weight`, groups of lanes in
/// steps of `lane_weight`.
const fn sum(groups: u32, lane_weight: u32, slots: u32, slot_weight: u32) -> Digits {
    digits([
        lane(1, 16, Axis::Column, 1),
        lane(16, groups, Axis::Row, lane_weight),
        slot(1, slots, Axis::Row, slot_weight),
    ])
}

/// WMMA of gfx11.7 and later in waves of 64: the second 16 lanes hold the lower half of the rows,
/// and each half is shared by the two halves of the wave.
const CROSSED: Digits = digits([
    lane(1, 16, Axis::Column, 1),
    lane(16, 2, Axis::Row, 8),
    lane(32, 2, Axis::Row, 4),
    slot(1, 4, Axis::Row, 1),
]);

struct Row {
    names: [&'static str; 4],
    form: Form,
    factor: Factor,
    /// Groups of 16 lanes that hold different k; 1: all lanes hold copies.
    groups: u32,
    /// Elements of a tile of A or B in each lane.
    slots: u32,
    sum: Digits,
    passed: Passed,
    taken: u32,
}

const fn instruction(row: Row) -> Instruction {
    Instruction {
        names: row.names,
        form: row.form,
        factor: row.factor,
        rows: 16,
        columns: 16,
        depth: row.groups * row.slots,
        a: factor(row.groups, row.slots, Axis::Row),
        b: factor(row.groups, row.slots, Axis::Column),
        sum: row.sum,
        passed: row.passed,
        taken: row.taken,
    }
}

macro_rules! table {
    ($(#[$doc:meta])* $table:ident; $($names:expr, $form:ident, $factor:ident, $groups:literal x $slots:literal, $sum:expr, $passed:expr, $taken:literal;)*) => {
        $(#[$doc])*
        static $table: &[Instruction] = &[$(instruction(Row {
            names: $names, form: Form::$form, factor: Factor::$factor, groups: $groups, slots: $slots, sum: $sum, passed: $passed, taken: $taken,
        })),*];
    };
}

/// An instruction with one name for all kinds of factors.
const fn one(name: &'static str) -> [&'static str; 4] {
    [name; 4]
}

/// An instruction whose name says which 8-bit floats the factors are.
macro_rules! float8 {
    ($stem:literal) => {
        [
            concat!($stem, ".fp8.fp8"),
            concat!($stem, ".bf8.fp8"),
            concat!($stem, ".fp8.bf8"),
            concat!($stem, ".bf8.bf8"),
        ]
    };
}

const MFMA_SUM: Digits = sum(4, 4, 4, 1);
/// Doubles: neighbouring rows are in neighbouring groups of lanes.
const MFMA_DOUBLES: Digits = sum(4, 1, 4, 4);

table! { /// gfx908.
    CDNA1;
    one("llvm.amdgcn.mfma.f32.16x16x16f16"), Mfma, F16, 4 x 4, MFMA_SUM, Elements, 4;
    one("llvm.amdgcn.mfma.f32.16x16x8bf16"), Mfma, BF16, 4 x 2, MFMA_SUM, Integers(16), 2;
    one("llvm.amdgcn.mfma.f32.16x16x4f32"), Mfma, F32, 4 x 1, MFMA_SUM, Elements, 1;
    one("llvm.amdgcn.mfma.i32.16x16x16i8"), Mfma, I8, 4 x 4, MFMA_SUM, Integers(32), 4;
}

table! { /// gfx90a.
    CDNA2;
    one("llvm.amdgcn.mfma.f32.16x16x16f16"), Mfma, F16, 4 x 4, MFMA_SUM, Elements, 4;
    one("llvm.amdgcn.mfma.f32.16x16x16bf16.1k"), Mfma, BF16, 4 x 4, MFMA_SUM, Integers(16), 4;
    one("llvm.amdgcn.mfma.f32.16x16x4f32"), Mfma, F32, 4 x 1, MFMA_SUM, Elements, 1;
    one("llvm.amdgcn.mfma.f64.16x16x4f64"), Mfma, F64, 4 x 1, MFMA_DOUBLES, Elements, 1;
    one("llvm.amdgcn.mfma.i32.16x16x16i8"), Mfma, I8, 4 x 4, MFMA_SUM, Integers(32), 4;
}

table! { /// gfx942; its 8-bit floats are not those of OCP, which SPIR-V has.
    CDNA3;
    one("llvm.amdgcn.mfma.f32.16x16x16f16"), Mfma, F16, 4 x 4, MFMA_SUM, Elements, 4;
    one("llvm.amdgcn.mfma.f32.16x16x16bf16.1k"), Mfma, BF16, 4 x 4, MFMA_SUM, Integers(16), 4;
    one("llvm.amdgcn.mfma.f32.16x16x4f32"), Mfma, F32, 4 x 1, MFMA_SUM, Elements, 1;
    one("llvm.amdgcn.mfma.f64.16x16x4f64"), Mfma, F64, 4 x 1, MFMA_DOUBLES, Elements, 1;
    one("llvm.amdgcn.mfma.i32.16x16x32.i8"), Mfma, I8, 4 x 8, MFMA_SUM, Integers(64), 8;
}

table! { /// gfx950.
    CDNA4;
    one("llvm.amdgcn.mfma.f32.16x16x32.f16"), Mfma, F16, 4 x 8, MFMA_SUM, Elements, 8;
    one("llvm.amdgcn.mfma.f32.16x16x16f16"), Mfma, F16, 4 x 4, MFMA_SUM, Elements, 4;
    one("llvm.amdgcn.mfma.f32.16x16x32.bf16"), Mfma, BF16, 4 x 8, MFMA_SUM, Elements, 8;
    one("llvm.amdgcn.mfma.f32.16x16x16bf16.1k"), Mfma, BF16, 4 x 4, MFMA_SUM, Integers(16), 4;
    one("llvm.amdgcn.mfma.f32.16x16x4f32"), Mfma, F32, 4 x 1, MFMA_SUM, Elements, 1;
    one("llvm.amdgcn.mfma.f64.16x16x4f64"), Mfma, F64, 4 x 1, MFMA_DOUBLES, Elements, 1;
    one("llvm.amdgcn.mfma.i32.16x16x64.i8"), Mfma, I8, 4 x 16, MFMA_SUM, Integers(32), 16;
    one("llvm.amdgcn.mfma.i32.16x16x32.i8"), Mfma, I8, 4 x 8, MFMA_SUM, Integers(64), 8;
    float8!("llvm.amdgcn.mfma.f32.16x16x32"), Mfma, F8, 4 x 8, MFMA_SUM, Integers(64), 8;
}

table! { /// gfx11, waves of 32.
    DUPLICATED_32;
    one("llvm.amdgcn.wmma.f32.16x16x16.f16"), Wmma, F16, 1 x 16, sum(2, 1, 8, 2), Elements, 16;
    one("llvm.amdgcn.wmma.f32.16x16x16.bf16"), Wmma, BF16, 1 x 16, sum(2, 1, 8, 2), Integers(16), 16;
    one("llvm.amdgcn.wmma.i32.16x16x16.iu8"), WmmaSigned, I8, 1 x 16, sum(2, 1, 8, 2), Integers(32), 16;
}

table! { /// gfx11, waves of 64.
    DUPLICATED_64;
    one("llvm.amdgcn.wmma.f32.16x16x16.f16"), Wmma, F16, 1 x 16, sum(4, 1, 4, 4), Elements, 16;
    one("llvm.amdgcn.wmma.f32.16x16x16.bf16"), Wmma, BF16, 1 x 16, sum(4, 1, 4, 4), Integers(16), 16;
    one("llvm.amdgcn.wmma.i32.16x16x16.iu8"), WmmaSigned, I8, 1 x 16, sum(4, 1, 4, 4), Integers(32), 16;
}

table! { /// gfx11.7 and gfx12, waves of 32.
    WMMA_32;
    one("llvm.amdgcn.wmma.f32.16x16x16.f16"), Wmma, F16, 2 x 8, sum(2, 8, 8, 1), Elements, 8;
    one("llvm.amdgcn.wmma.f32.16x16x16.bf16"), Wmma, BF16, 2 x 8, sum(2, 8, 8, 1), Integers(16), 8;
    one("llvm.amdgcn.wmma.i32.16x16x16.iu8"), WmmaSigned, I8, 2 x 8, sum(2, 8, 8, 1), Integers(32), 8;
    float8!("llvm.amdgcn.wmma.f32.16x16x16"), Wmma, F8, 2 x 8, sum(2, 8, 8, 1), Integers(32), 8;
}

table! { /// gfx11.7 and gfx12, waves of 64.
    WMMA_64;
    one("llvm.amdgcn.wmma.f32.16x16x16.f16"), Wmma, F16, 4 x 4, CROSSED, Elements, 4;
    one("llvm.amdgcn.wmma.f32.16x16x16.bf16"), Wmma, BF16, 4 x 4, CROSSED, Integers(16), 4;
    one("llvm.amdgcn.wmma.i32.16x16x16.iu8"), WmmaSigned, I8, 4 x 4, CROSSED, Integers(32), 4;
    float8!("llvm.amdgcn.wmma.f32.16x16x16"), Wmma, F8, 4 x 4, CROSSED, Integers(32), 4;
}

table! { /// gfx12.5: tiles half or a quarter as deep as the instruction are filled up with zeros.
    WMMA_K32;
    one("llvm.amdgcn.wmma.f32.16x16x32.f16"), WmmaReuse, F16, 2 x 16, sum(2, 8, 8, 1), Elements, 16;
    one("llvm.amdgcn.wmma.f32.16x16x32.f16"), WmmaReuse, F16, 2 x 8, sum(2, 8, 8, 1), Elements, 16;
    one("llvm.amdgcn.wmma.f32.16x16x32.bf16"), WmmaReuse, BF16, 2 x 16, sum(2, 8, 8, 1), Elements, 16;
    one("llvm.amdgcn.wmma.f32.16x16x32.bf16"), WmmaReuse, BF16, 2 x 8, sum(2, 8, 8, 1), Elements, 16;
    one("llvm.amdgcn.wmma.i32.16x16x64.iu8"), WmmaSignedReuse, I8, 2 x 32, sum(2, 8, 8, 1), Integers(32), 32;
    one("llvm.amdgcn.wmma.i32.16x16x64.iu8"), WmmaSignedReuse, I8, 2 x 16, sum(2, 8, 8, 1), Integers(32), 32;
    one("llvm.amdgcn.wmma.i32.16x16x64.iu8"), WmmaSignedReuse, I8, 2 x 8, sum(2, 8, 8, 1), Integers(32), 32;
    float8!("llvm.amdgcn.wmma.f32.16x16x64"), WmmaReuse, F8, 2 x 32, sum(2, 8, 8, 1), Integers(32), 32;
    float8!("llvm.amdgcn.wmma.f32.16x16x64"), WmmaReuse, F8, 2 x 16, sum(2, 8, 8, 1), Integers(32), 32;
    float8!("llvm.amdgcn.wmma.f32.16x16x64"), WmmaReuse, F8, 2 x 8, sum(2, 8, 8, 1), Integers(32), 32;
    one("llvm.amdgcn.wmma.f32.16x16x4.f32"), WmmaReuse, F32, 2 x 2, sum(2, 8, 8, 1), Elements, 2;
}

/// The instructions of a GPU in waves of so many lanes.
pub(super) fn of(matrix: Matrix, wave: u32) -> &'static [Instruction] {
    match (matrix, wave) {
        (Matrix::MfmaCdna1, 64) => CDNA1,
        (Matrix::MfmaCdna2, 64) => CDNA2,
        (Matrix::MfmaCdna3, 64) => CDNA3,
        (Matrix::MfmaCdna4, 64) => CDNA4,
        (Matrix::WmmaDuplicated, 32) => DUPLICATED_32,
        (Matrix::WmmaDuplicated, 64) => DUPLICATED_64,
        (Matrix::Wmma, 32) => WMMA_32,
        (Matrix::Wmma, 64) => WMMA_64,
        (Matrix::WmmaK32, 32) => WMMA_K32,
        (
            Matrix::None
            | Matrix::MfmaCdna1
            | Matrix::MfmaCdna2
            | Matrix::MfmaCdna3
            | Matrix::MfmaCdna4
            | Matrix::WmmaDuplicated
            | Matrix::Wmma
            | Matrix::WmmaK32,
            _,
        ) => &[],
    }
}
