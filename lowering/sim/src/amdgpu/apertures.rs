//! The ranges of flat addresses that mean shared and private memory.

/// The upper 32 bits of flat addresses that mean shared and private memory.
pub(super) const SHARED_APERTURE: u64 = 0x1_0000;
pub(super) const PRIVATE_APERTURE: u64 = 0x2_0000;
