//! The parts of every target: a body of `splitbar-fuzz`, and a mutator in addition to libFuzzer's.

use fastrand::Rng;
use splitbar_passes::module::Module;

/// Damages the module in the first `size` bytes of `data`, and gives its new length: every other
/// time by instructions, else by bytes. What is not a module is left to libFuzzer.
pub fn mutate(data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let by_bytes = |data: &mut [u8]| libfuzzer_sys::fuzzer_mutate(data, size, most);
    let mut random = Rng::with_seed(u64::from(seed));
    let Some(module) = data.get(..size).and_then(|bytes| Module::parse(bytes).ok()) else {
        return by_bytes(data);
    };
    if random.u8(..8) == 0 {
        return by_bytes(data);
    }
    let new = splitbar_fuzz::mutate::mutate(&module, &module, &mut random);
    match data.get_mut(..new.len()).filter(|_| new.len() <= most) {
        Some(room) => {
            room.copy_from_slice(&new);
            new.len()
        }
        None => by_bytes(data),
    }
}

/// A target that runs `$body` on bytes.
#[macro_export]
macro_rules! target {
    ($body:expr) => {
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $body(bytes));
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
            $crate::mutate(data, size, most, seed)
        });
    };
}
