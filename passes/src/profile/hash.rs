//! The hash that ties a profile to a module.

use crate::module::Module;
use fnv::FnvHasher;
use std::hash::Hasher;

/// The hash by which dumps name a module: 64-bit FNV-1a of the bytes of its words, little-endian,
/// from the magic number on. A file in the other byte order has the same hash.
pub fn module_hash(module: &Module<'_>) -> u64 {
    let mut hasher = FnvHasher::default();
    for word in module.words() {
        hasher.write(&word.to_le_bytes());
    }
    hasher.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// Test vectors of the algorithm's authors (draft-eastlake-fnv, appendix C).
    #[test]
    fn the_hash_is_fnv_1a() {
        for (text, hash) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            let mut hasher = FnvHasher::default();
            hasher.write(text.as_bytes());
            assert_eq!(hasher.finish(), hash, "{text}");
        }
    }

    #[test]
    fn byte_order_does_not_matter_and_every_word_does() {
        let words = [0x0723_0203, 0x0001_0300, 0, 7, 0, 2 << 16 | 17, 1];
        let bytes = |to: fn(u32) -> [u8; 4]| words.into_iter().flat_map(to).collect::<Vec<u8>>();
        let (little, big) = (bytes(u32::to_le_bytes), bytes(u32::to_be_bytes));
        let hash = |bytes: &[u8]| module_hash(&Module::parse(bytes).unwrap());
        let mut hasher = FnvHasher::default();
        hasher.write(&little);
        assert_eq!(hash(&little), hasher.finish());
        assert_eq!(hash(&big), hash(&little));
        let mut other = little.clone();
        other[8] = 1; // the generator
        assert_ne!(hash(&other), hash(&little));
    }
}
