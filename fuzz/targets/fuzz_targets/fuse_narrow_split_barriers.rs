//! The pass fuse-narrow-split-barriers.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| {
    splitbar_fuzz::pass("fuse-narrow-split-barriers=4", bytes);
});
