//! The reader of modules.
#![no_main]

splitbar_fuzz_targets::target!(splitbar_fuzz::load);
