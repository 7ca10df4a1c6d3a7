//! What we say beside what programs say that are not ours: spirv-val, and a C compiler. Without the
//! program a test is ignored.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod agreement;
#[path = "../corpus/mod.rs"]
mod corpus;
#[path = "../validate/fixtures.rs"]
#[allow(dead_code, reason = "the tests of rules need more of it")]
mod fixtures;
mod invalid;
mod passes;
mod printf;
mod spirv_val;
#[path = "../transform/support.rs"]
#[allow(dead_code, reason = "the tests of passes need more of it")]
mod support;

use splitbar_harness::{Missing, trial};
use std::process::ExitCode;

/// A test and its name.
type Test = (&'static str, fn() -> Result<(), Missing>);

const TESTS: &[Test] = &[
    (
        "spirv_val/what_passes_leave_is_valid",
        passes::what_passes_leave_is_valid,
    ),
    (
        "spirv_val/inlining_leaves_structured_control_flow",
        passes::inlining_leaves_structured_control_flow,
    ),
    (
        "spirv_val/agrees_where_it_knows_the_rule",
        invalid::spirv_val_agrees_where_it_knows_the_rule,
    ),
    (
        "spirv_val/verdicts_on_all_combinations_agree",
        agreement::verdicts_on_all_combinations_agree,
    ),
    (
        "c/values_are_printed_as_c_prints_them",
        printf::values_are_printed_as_c_prints_them,
    ),
];

fn main() -> ExitCode {
    let trials = TESTS
        .iter()
        .map(|(name, run)| trial((*name).to_owned(), run));
    splitbar_harness::main(trials.collect())
}
