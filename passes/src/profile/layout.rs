//! The format of the buffer: a header of [`HEADER_WORDS`] words and a ring of records of
//! [`RECORD_WORDS`] words. `docs/profile.md` describes the contents.
//!
//! All words have 32 bits; in a dump they are little-endian. A number of 64 bits is two words, the
//! low one first.

/// The first word: the letters `SBSK` in a dump.
pub const MAGIC: u32 = u32::from_le_bytes(*b"SBSK");

/// The version of this form.
pub const VERSION: u32 = 2;

/// The oldest version that is read. It has zeros in [`header::GPU`].
pub const OLDEST_VERSION: u32 = 1;

/// Words before the first record.
pub const HEADER_WORDS: u32 = 8;

/// Words of a record.
pub const RECORD_WORDS: u32 = 16;

/// Words of the header, by index.
pub mod header {
    /// [`super::MAGIC`].
    pub const MAGIC: u32 = 0;
    /// [`super::VERSION`].
    pub const VERSION: u32 = 1;
    /// [`crate::profile::module_hash`] of the module that was instrumented, two words.
    pub const HASH: u32 = 2;
    /// Records that the buffer has room for.
    pub const CAPACITY: u32 = 4;
    /// Records that were written, modulo 2^32. The next one goes to this number modulo the
    /// capacity.
    pub const COUNT: u32 = 5;
    /// [`crate::profile::Gpu::words`], two words: the GPU of the kernel. Zeros if unknown.
    pub const GPU: u32 = 6;
}

/// Words of a record, by index.
pub mod record {
    /// The number of the record: 1 for the first, modulo 2^32.
    pub const NUMBER: u32 = 0;
    /// Word offset of the arrive in the module that was instrumented; that of the OpControlBarrier
    /// for one.
    pub const ARRIVE: u32 = 1;
    /// Word offset of the wait, or of the OpControlBarrier.
    pub const WAIT: u32 = 2;
    /// The number of measured barriers that the subgroup has executed before this one, modulo 2^32.
    pub const PHASE: u32 = 3;
    /// WorkgroupId, three words.
    pub const WORKGROUP: u32 = 4;
    /// SubgroupId.
    pub const SUBGROUP: u32 = 7;
    /// NumSubgroups.
    pub const SUBGROUPS: u32 = 8;
    /// The clock before the arrive, two words.
    pub const ARRIVED: u32 = 9;
    /// The clock before the wait, two words; before the arrive for an OpControlBarrier.
    pub const WAITED: u32 = 11;
    /// The clock after the wait, two words.
    pub const PASSED: u32 = 13;
    /// The exclusive or of the words before it.
    pub const CHECK: u32 = 15;
}
