//! The pass instrument-barrier-skew.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| splitbar_fuzz::pass(
    "instrument-barrier-skew=set:7,binding:31",
    bytes
));
