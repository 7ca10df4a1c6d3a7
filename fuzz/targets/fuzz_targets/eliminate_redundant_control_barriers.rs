//! The pass eliminate-redundant-control-barriers.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| {
    splitbar_fuzz::pass("eliminate-redundant-control-barriers", bytes);
    splitbar_fuzz::pass("eliminate-redundant-control-barriers=all-memory", bytes);
});
