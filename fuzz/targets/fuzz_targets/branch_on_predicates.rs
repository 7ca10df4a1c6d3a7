//! The pass branch-on-predicates.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| splitbar_fuzz::pass("branch-on-predicates", bytes));
