//! The pass narrow-barrier-semantics.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| {
    splitbar_fuzz::pass("narrow-barrier-semantics", bytes);
    splitbar_fuzz::pass("narrow-barrier-semantics=aliased", bytes);
});
