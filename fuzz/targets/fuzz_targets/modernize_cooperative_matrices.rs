//! The pass modernize-cooperative-matrices.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| splitbar_fuzz::pass(
    "modernize-cooperative-matrices",
    bytes
));
