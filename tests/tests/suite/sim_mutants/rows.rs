//! The ways to make mutants, each with its targets.

use super::mutant::Mutant;
use super::{amdgpu, ptx, steps};
use anyhow::Result;
use splitbar_tests::fixture::Fixture;

/// A way to make mutants of a kernel.
pub(super) type Maker = fn(&Fixture, &'static str) -> Result<Vec<Mutant>>;

/// Ways and targets: the rows of the table.
pub(super) const ROWS: &[(&str, &[&str], Maker)] = &[
    ("machine code", &amdgpu::TARGETS, amdgpu::mutants),
    ("PTX", &ptx::TARGETS, ptx::mutants),
    ("steps", &steps::TARGETS, steps::mutants),
];

/// Kernels in LLVM IR, which are judged the same and are not in the table.
pub(super) const IR_ROWS: &[(&str, &[&str], Maker)] =
    &[("steps of LLVM IR", &steps::IR_TARGETS, steps::ir_mutants)];
