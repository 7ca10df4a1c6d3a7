//! The pass strip-split-barrier-spelling.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| {
    splitbar_fuzz::pass("strip-split-barrier-spelling=ext", bytes);
    splitbar_fuzz::pass("strip-split-barrier-spelling=intel", bytes);
});
