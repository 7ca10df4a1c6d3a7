//! The pass fill-split-barrier-windows.
#![no_main]

splitbar_fuzz_targets::target!(|bytes: &[u8]| {
    splitbar_fuzz::pass("fill-split-barrier-windows", bytes);
    splitbar_fuzz::pass("fill-split-barrier-windows=live:2,all-memory", bytes);
});
