//! Waits and barriers.

use super::inst::Op;
use super::text::Parts;
use crate::cache::{FAR, Levels, NEAR, OWN};
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

/// The wait, if the instruction is one: pairs of counters and how many operations may be left in
/// them. Counters of exports and ray tests are left out, which compute code does not have.
pub(super) fn wait(parts: &Parts<'_>) -> Option<Box<[(Counters, u32)]>> {
    let waits = splitbar_target::waits(parts.mnemonic, parts.rest)?;
    let counted = |(counter, left)| Some((bit(counter)?, left));
    Some(waits.into_iter().filter_map(counted).collect())
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

/// The operation on caches, if the instruction is one. Source: LLVM AMDGPUUsage, "Memory Model" of
/// each generation.
pub(super) fn cache(parts: &Parts<'_>) -> Option<Op> {
    const ALL: Levels = OWN | NEAR | FAR;
    let has = |modifier| parts.modifiers.has(modifier);
    let (invalidates, writes_back) = match parts.mnemonic {
        "buffer_gl0_inv" => (OWN | NEAR, false),
        "buffer_gl1_inv" | "s_gl1_inv" => (FAR, false),
        "buffer_wbinvl1" | "buffer_wbinvl1_vol" => (ALL, false),
        "buffer_inv" if has("sc1") => (ALL, false),
        "buffer_inv" => (OWN, false),
        "buffer_wbl2" => (0, has("sc1")),
        "global_inv" | "global_wb" | "global_wbinv" => {
            let (invalidates, writes_back) = match parts.modifiers.get("scope") {
                Some("SCOPE_SE") => (OWN | NEAR, false),
                Some("SCOPE_DEV" | "SCOPE_SYS") => (ALL, true),
                _ => (0, false),
            };
            match parts.mnemonic {
                "global_inv" => (invalidates, false),
                "global_wb" => (0, writes_back),
                _ => (invalidates, writes_back),
            }
        }
        _ => return None,
    };
    // As loads and stores, and in order with them: LLVM's SIInsertWaitcnts, `counterOutOfOrder`.
    // Those before gfx12 count nowhere.
    let counts = match parts.mnemonic {
        "global_inv" => Some((counter::LOAD, class::LOADS)),
        "global_wb" | "global_wbinv" => Some((counter::STORE, class::STORES)),
        _ => None,
    };
    Some(Op::Cache {
        invalidates,
        writes_back,
        counts,
    })
}
