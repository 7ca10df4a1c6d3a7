//! The pass link-device-library.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| splitbar_fuzz::pass("link-device-library", bytes));
