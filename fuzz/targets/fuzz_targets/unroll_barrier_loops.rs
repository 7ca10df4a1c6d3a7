//! The pass unroll-barrier-loops.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| splitbar_fuzz::pass("unroll-barrier-loops=1000", bytes));
