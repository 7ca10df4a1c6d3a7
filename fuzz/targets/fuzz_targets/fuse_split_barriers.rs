//! The pass fuse-split-barriers.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| {
    splitbar_fuzz::pass("fuse-split-barriers", bytes);
    splitbar_fuzz::pass("fuse-split-barriers=arrive", bytes);
});
