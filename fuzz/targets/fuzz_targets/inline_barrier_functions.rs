//! The pass inline-barrier-functions.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| splitbar_fuzz::pass(
    "inline-barrier-functions",
    bytes
));
