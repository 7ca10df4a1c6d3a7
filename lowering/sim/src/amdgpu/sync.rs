//! Waits and barriers.

use super::counters::{bit, class, counter};
use super::inst::Op;
use super::text::Parts;
use crate::cache::{FAR, Levels, NEAR, OWN};
use crate::queue::Counters;

/// The wait, if the instruction is one: pairs of counters and how many operations may be left in
/// them. Counters of exports and ray tests are left out, which compute code does not have.
pub(super) fn wait(parts: &Parts<'_>) -> Option<Box<[(Counters, u32)]>> {
    let waits = splitbar_target::waits(parts.mnemonic, parts.rest)?;
    let counted = |(counter, left)| Some((bit(counter)?, left));
    Some(waits.into_iter().filter_map(counted).collect())
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
