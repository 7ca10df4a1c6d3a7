//! The pass move-split-barriers.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| {
    splitbar_fuzz::pass("move-split-barriers", bytes);
    splitbar_fuzz::pass("move-split-barriers=all-memory", bytes);
});
