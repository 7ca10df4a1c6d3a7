//! The passes: the one that SPLITBAR_FUZZ_PASS names, or one that the bytes choose.
#![no_main]

splitbar_fuzz_targets::target!(splitbar_fuzz::any_pass);
