//! The pass eliminate-redundant-split-barriers.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| splitbar_fuzz::pass(
    "eliminate-redundant-split-barriers",
    bytes
));
