//! The pass stage-barrier-loop-loads.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| splitbar_fuzz::pass("stage-barrier-loop-loads", bytes));
