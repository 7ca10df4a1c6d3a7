//! Waits and barriers.

use super::inst::Op;
use super::operand::Kind;
use super::text::{Parts, number};
use crate::cache::{FAR, Levels, NEAR, OWN};
use crate::queue::Counters;

/// Counters of outstanding operations. Where a generation has one counter for two kinds, the operations carry the same bit.
pub(super) mod counter {
    use crate::queue::Counters;

    /// VMcnt, LOADcnt.
    pub const LOAD: Counters = 1;
    /// VScnt, STOREcnt.
    pub const STORE: Counters = 2;
    /// LGKMcnt, DScnt.
    pub const LDS: Counters = 4;
    /// KMcnt.
    pub const SCALAR: Counters = 8;
    /// ASYNCcnt.
    pub const ASYNC: Counters = 16;
    /// TENSORcnt.
    pub const TENSOR: Counters = 32;
    pub const ALL: Counters = 63;
}

/// Operations of one class are counted down in order.
pub(super) mod class {
    pub const LOADS: u8 = 0;
    pub const STORES: u8 = 1;
    pub const LDS: u8 = 2;
    pub const SCALAR: u8 = 3;
    pub const FLAT: u8 = 4;
    pub const ASYNC: u8 = 5;
}

/// The wait, if the instruction is one: pairs of counters and how many operations may be left in them.
pub(super) fn wait(parts: &Parts<'_>) -> Option<Box<[(Counters, u32)]>> {
    let name = parts.mnemonic;
    if name == "s_wait_idle" {
        return Some([(counter::ALL, 0)].into());
    }
    if name == "s_waitcnt" {
        return waitcnt(parts.rest);
    }
    let single = |counter| -> Option<Box<[(Counters, u32)]>> {
        // The old ones have a register, always `null`, before the number.
        let left = match parts.operands.last()?.kind {
            Kind::Integer(n) => n as u32,
            Kind::Literal(n) => n,
            _ => return None,
        };
        Some([(counter, left)].into())
    };
    let both = |counter| -> Option<Box<[(Counters, u32)]>> {
        let packed = single(counter)?.first()?.1;
        Some([(counter, packed >> 8 & 63), (counter::LDS, packed & 63)].into())
    };
    match name {
        "s_waitcnt_vscnt" | "s_wait_storecnt" => single(counter::STORE),
        "s_waitcnt_vmcnt" | "s_wait_loadcnt" => single(counter::LOAD),
        "s_waitcnt_lgkmcnt" | "s_wait_dscnt" => single(counter::LDS),
        "s_wait_kmcnt" => single(counter::SCALAR),
        "s_wait_asynccnt" => single(counter::ASYNC),
        "s_wait_tensorcnt" => single(counter::TENSOR),
        "s_wait_loadcnt_dscnt" => both(counter::LOAD),
        "s_wait_storecnt_dscnt" => both(counter::STORE),
        // Counters of exports, samples and ray tests, which compute code does not have.
        "s_waitcnt_expcnt" | "s_wait_expcnt" | "s_wait_samplecnt" | "s_wait_bvhcnt" => {
            Some([].into())
        }
        _ => None,
    }
}

/// The operation on caches, if the instruction is one. Source: LLVM AMDGPUUsage, "Memory Model" of each generation.
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
    // As loads and stores, and in order with them: LLVM's SIInsertWaitcnts, `counterOutOfOrder`. Those before
    // gfx12 count nowhere.
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

/// `vmcnt(0) lgkmcnt(0)`.
fn waitcnt(text: &str) -> Option<Box<[(Counters, u32)]>> {
    let mut waits = Vec::new();
    let separators = |c: char| c.is_whitespace() || c == '&' || c == ',';
    for word in text.split(separators).filter(|w| !w.is_empty()) {
        let (name, left) = word.strip_suffix(')')?.split_once('(')?;
        let left = u32::try_from(number(left)?).ok()?;
        match name {
            "vmcnt" => waits.push((counter::LOAD, left)),
            "lgkmcnt" => waits.push((counter::LDS, left)),
            "expcnt" => {}
            _ => return None,
        }
    }
    Some(waits.into())
}
