//! The pass split-control-barriers.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| splitbar_fuzz::pass("split-control-barriers", bytes));
