//! `mma.sync`. Source: PTX ISA, "Matrix Fragments for mma" of each shape; LLVM 23.1.1 measured: the
//! intrinsics that select.

use super::{Axis, Digits, Factor, Form, Instruction, Passed, digits, lane, slot};
use Passed::{Elements, Integers};
use splitbar_target::Mma;

/// The sum of m16n8k*: the lane's group of four and slot 2 are the row, the rest the column.
const SUM_16X8: Digits = digits([
    lane(4, 8, Axis::Row, 1),
    slot(2, 2, Axis::Row, 8),
    lane(1, 4, Axis::Column, 2),
    slot(1, 2, Axis::Column, 1),
]);

/// The sum of m8n8k*, of which m16n8k* has two.
const SUM_8X8: Digits = digits([
    lane(4, 8, Axis::Row, 1),
    lane(1, 4, Axis::Column, 2),
    slot(1, 2, Axis::Column, 1),
]);

/// A of m16n8k*: registers of `packed` elements along k, two of them for the two halves of the
/// rows, `halves` of that along k.
const fn a_of_16(packed: u32, halves: u32) -> Digits {
    digits([
        lane(4, 8, Axis::Row, 1),
        slot(packed, 2, Axis::Row, 8),
        lane(1, 4, Axis::Column, packed),
        slot(1, packed, Axis::Column, 1),
        slot(packed * 2, halves, Axis::Column, packed * 4),
    ])
}

/// A of m8n8k*: one register.
const fn a_of_8(packed: u32) -> Digits {
    digits([
        lane(4, 8, Axis::Row, 1),
        lane(1, 4, Axis::Column, packed),
        slot(1, packed, Axis::Column, 1),
    ])
}

/// B, whose columns are always eight.
const fn b(packed: u32, halves: u32) -> Digits {
    digits([
        lane(4, 8, Axis::Column, 1),
        lane(1, 4, Axis::Row, packed),
        slot(1, packed, Axis::Row, 1),
        slot(packed, halves, Axis::Row, packed * 4),
    ])
}

/// m16n8k*.
const fn rows_16(
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
        a: a_of_16(packed, halves),
        b: b(packed, halves),
        sum: SUM_16X8,
        passed,
        taken: packed * 2 * halves,
    }
}

/// m8n8k*.
const fn rows_8(
    names: [&'static str; 4],
    factor: Factor,
    packed: u32,
    passed: Passed,
) -> Instruction {
    Instruction {
        names,
        form: Form::Mma,
        factor,
        rows: 8,
        columns: 8,
        depth: packed * 4,
        a: a_of_8(packed),
        b: b(packed, 1),
        sum: SUM_8X8,
        passed,
        taken: packed,
    }
}

/// m8n8k4 of 16-bit floats: the four lanes from 4 * q on and those 16 further on multiply by
/// themselves, for q = 0 to 3. Their four products are the quarters of one of 16 x 16: bit 2 of the
/// lane says which rows of A, bit 3 which columns of B, so every factor is held twice.
const QUARTERS: Instruction = Instruction {
    names: ["llvm.nvvm.mma.m8n8k4.row.col.f32.f32"; 4],
    form: Form::Mma,
    factor: Factor::F16,
    rows: 16,
    columns: 16,
    depth: 4,
    a: digits([
        lane(1, 4, Axis::Row, 1),
        lane(16, 2, Axis::Row, 4),
        lane(4, 2, Axis::Row, 8),
        slot(1, 4, Axis::Column, 1),
    ]),
    b: digits([
        lane(1, 4, Axis::Column, 1),
        lane(16, 2, Axis::Column, 4),
        lane(8, 2, Axis::Column, 8),
        slot(1, 4, Axis::Row, 1),
    ]),
    sum: digits([
        lane(1, 2, Axis::Row, 1),
        slot(2, 2, Axis::Row, 2),
        lane(16, 2, Axis::Row, 4),
        lane(4, 2, Axis::Row, 8),
        slot(1, 2, Axis::Column, 1),
        lane(2, 2, Axis::Column, 2),
        slot(4, 2, Axis::Column, 4),
        lane(8, 2, Axis::Column, 8),
    ]),
    passed: Elements,
    taken: 4,
};

/// sm_70.
static K4: &[Instruction] = &[QUARTERS];

const BYTES_K16: [&str; 4] = [
    "llvm.nvvm.mma.m16n8k16.row.col.u8",
    "llvm.nvvm.mma.m16n8k16.row.col.s8.u8",
    "llvm.nvvm.mma.m16n8k16.row.col.u8.s8",
    "llvm.nvvm.mma.m16n8k16.row.col.s8",
];

const BYTES_K32: [&str; 4] = [
    "llvm.nvvm.mma.m16n8k32.row.col.u8",
    "llvm.nvvm.mma.m16n8k32.row.col.s8.u8",
    "llvm.nvvm.mma.m16n8k32.row.col.u8.s8",
    "llvm.nvvm.mma.m16n8k32.row.col.s8",
];

const BYTES_8X8: [&str; 4] = [
    "llvm.nvvm.mma.m8n8k16.row.col.u8",
    "llvm.nvvm.mma.m8n8k16.row.col.s8.u8",
    "llvm.nvvm.mma.m8n8k16.row.col.u8.s8",
    "llvm.nvvm.mma.m8n8k16.row.col.s8",
];

const HALVES_K8: Instruction = rows_16(
    ["llvm.nvvm.mma.m16n8k8.row.col.f32.f32"; 4],
    Factor::F16,
    2,
    1,
    Elements,
);

/// sm_75.
static K8: &[Instruction] = &[HALVES_K8, rows_8(BYTES_8X8, Factor::I8, 4, Integers(32))];

const FLOAT8_K32: [&str; 4] = [
    "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e4m3.f32",
    "llvm.nvvm.mma.m16n8k32.row.col.f32.e5m2.e4m3.f32",
    "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e5m2.f32",
    "llvm.nvvm.mma.m16n8k32.row.col.f32.e5m2.e5m2.f32",
];

/// sm_89 and later; those from sm_80 on have all but the first.
static FROM_SM_80: [Instruction; 8] = [
    rows_16(FLOAT8_K32, Factor::F8, 4, 2, Integers(32)),
    rows_16(
        ["llvm.nvvm.mma.m16n8k16.row.col.f32.f32"; 4],
        Factor::F16,
        2,
        2,
        Elements,
    ),
    HALVES_K8,
    rows_16(
        ["llvm.nvvm.mma.m16n8k16.row.col.bf16"; 4],
        Factor::BF16,
        2,
        2,
        Integers(32),
    ),
    rows_16(
        ["llvm.nvvm.mma.m16n8k8.row.col.bf16"; 4],
        Factor::BF16,
        2,
        1,
        Integers(32),
    ),
    rows_8(
        ["llvm.nvvm.mma.m8n8k4.row.col.f64"; 4],
        Factor::F64,
        1,
        Elements,
    ),
    rows_16(BYTES_K32, Factor::I8, 4, 2, Integers(32)),
    rows_16(BYTES_K16, Factor::I8, 4, 1, Integers(32)),
];

/// The instructions of a GPU.
pub(super) fn of(mma: Mma) -> &'static [Instruction] {
    match mma {
        Mma::None => &[],
        Mma::K4 => K4,
        Mma::K8 => K8,
        Mma::K16 => {
            let [_, from_sm_80 @ ..] = &FROM_SM_80;
            from_sm_80
        }
        Mma::Float8 => &FROM_SM_80,
    }
}
