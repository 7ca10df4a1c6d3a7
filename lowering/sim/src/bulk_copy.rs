//! A bulk copy that has begun and not landed.

use crate::barrier::Name;
use crate::memory::Pending;

/// A copy on its way.
#[derive(Clone, Debug)]
pub(crate) struct BulkCopy {
    pub(crate) shared: u64,
    /// What arrives there.
    pub(crate) bytes: Vec<u8>,
    /// The mbarrier that counts it.
    pub(crate) barrier: Name,
    pub(crate) by: Pending,
}
