//! The pass order-split-barriers.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| splitbar_fuzz::pass("order-split-barriers", bytes));
