//! Counters of outstanding operations, and the classes of those that they count.

use crate::queue::Counters;
use splitbar_target::Counter;

/// Counters of outstanding operations. Where a generation has one counter for two kinds, the
/// operations carry the same bit.
pub(super) mod counter {
    use crate::queue::Counters;

    /// VMcnt, LOADcnt.
    pub(crate) const LOAD: Counters = 1;
    /// VScnt, STOREcnt.
    pub(crate) const STORE: Counters = 2;
    /// LGKMcnt, DScnt.
    pub(crate) const LDS: Counters = 4;
    /// KMcnt.
    pub(crate) const SCALAR: Counters = 8;
    /// ASYNCcnt.
    pub(crate) const ASYNC: Counters = 16;
    /// TENSORcnt.
    pub(crate) const TENSOR: Counters = 32;
    /// SAMPLEcnt.
    pub(crate) const SAMPLE: Counters = 64;
    pub(crate) const ALL: Counters = 127;
}

/// Operations of one class are counted down in order.
pub(super) mod class {
    pub(crate) const LOADS: u8 = 0;
    pub(crate) const STORES: u8 = 1;
    pub(crate) const LDS: u8 = 2;
    pub(crate) const SCALAR: u8 = 3;
    pub(crate) const FLAT: u8 = 4;
    pub(crate) const ASYNC: u8 = 5;
    /// Out of order with loads also where one counter has both.
    pub(crate) const SAMPLES: u8 = 6;
}

/// The bit of a counter; `None`: compute code has nothing that counts in it.
pub(super) fn bit(counter: Counter) -> Option<Counters> {
    match counter {
        Counter::Vmcnt | Counter::Loadcnt => Some(counter::LOAD),
        Counter::Vscnt | Counter::Storecnt => Some(counter::STORE),
        Counter::Lgkmcnt | Counter::Dscnt => Some(counter::LDS),
        Counter::Kmcnt => Some(counter::SCALAR),
        Counter::Asynccnt => Some(counter::ASYNC),
        Counter::Tensorcnt => Some(counter::TENSOR),
        Counter::Samplecnt => Some(counter::SAMPLE),
        Counter::Expcnt | Counter::Bvhcnt => None,
    }
}
