//! The pass scalarize-pointer-vectors.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| splitbar_fuzz::pass("scalarize-pointer-vectors", bytes));
