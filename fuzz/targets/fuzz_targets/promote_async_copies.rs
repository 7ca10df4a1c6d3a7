//! The pass promote-async-copies.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| splitbar_fuzz::pass("promote-async-copies", bytes));
