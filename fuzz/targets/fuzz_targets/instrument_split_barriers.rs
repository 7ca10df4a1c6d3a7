//! The pass instrument-split-barriers.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| splitbar_fuzz::pass(
    "instrument-split-barriers=set:7,binding:31",
    bytes
));
