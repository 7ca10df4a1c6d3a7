//! The pass freeze-specialization-constants.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| splitbar_fuzz::pass("freeze-specialization-constants", bytes));
