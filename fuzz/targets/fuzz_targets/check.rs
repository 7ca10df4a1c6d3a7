//! The rules.
#![no_main]

splitbar_fuzz_targets::target!(splitbar_fuzz::check);
