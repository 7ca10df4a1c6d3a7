//! The counters of outstanding operations, and the instructions that wait for them.
//!
//! Sources: LLVM AMDGPUUsage, "Memory Model" (which instruction counts where); the ISA documents of GCN3, Vega, RDNA 1 to 4 and CDNA 1 to 3, chapters on
//! program control and data dependency; the syntax is LLVM's (AMDGPUModifierSyntax, "waitcnt").

use serde::{Deserialize, Serialize};

/// A counter. It rises when an operation is issued and falls when one has finished.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counter {
    /// VMcnt; on gfx12 and later LOADcnt: vector memory loads, and stores where they have no counter of their own.
    Load,
    /// VScnt, STOREcnt: vector memory stores and atomics without a result.
    Store,
    /// LGKMcnt before gfx12: LDS operations, scalar loads and messages together.
    Lgkm,
    /// DScnt: LDS operations.
    Ds,
    /// KMcnt: scalar loads and messages.
    Km,
    /// SAMPLEcnt: image instructions with a sampler.
    Sample,
    /// BVHcnt: ray intersection.
    Bvh,
    /// ASYNCcnt: asynchronous copies between global memory and LDS.
    Async,
    /// TENSORcnt: tensor copies.
    Tensor,
}

/// Waits until a counter is at most a value.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The counter.
    pub counter: Counter,
    /// The value.
    pub at_most: u32,
}

/// Instructions that wait for one counter, and `s_waitcnt`'s fields.
const NAMES: &[(&str, Counter)] = &[
    ("vmcnt", Counter::Load),
    ("loadcnt", Counter::Load),
    ("vscnt", Counter::Store),
    ("storecnt", Counter::Store),
    ("lgkmcnt", Counter::Lgkm),
    ("dscnt", Counter::Ds),
    ("kmcnt", Counter::Km),
    ("samplecnt", Counter::Sample),
    ("bvhcnt", Counter::Bvh),
    ("asynccnt", Counter::Async),
    ("tensorcnt", Counter::Tensor),
];

fn named(name: &str) -> Option<Counter> {
    NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, counter)| *counter)
}

/// What an instruction waits for. Empty: nothing that moves data (`expcnt`, `xcnt` and `depctr` guard registers, not memory).
pub fn waits(mnemonic: &str, operands: &str) -> Vec<Wait> {
    let one = |name: &str, at_most| {
        named(name)
            .map(|counter| Wait { counter, at_most })
            .into_iter()
            .collect()
    };
    if mnemonic == "s_waitcnt" {
        return fields(operands);
    }
    // `s_waitcnt_vscnt null, 0x0`
    if let Some(name) = mnemonic.strip_prefix("s_waitcnt_") {
        return match operands.rsplit(',').next().and_then(number) {
            Some(value) => one(name, value),
            None => Vec::new(),
        };
    }
    let Some(name) = mnemonic.strip_prefix("s_wait_") else {
        return Vec::new();
    };
    let Some(value) = number(operands) else {
        return Vec::new();
    };
    match name.split_once('_') {
        // s_wait_loadcnt_dscnt and s_wait_storecnt_dscnt: the first in bits 13:8, the second in 5:0.
        Some((first, second)) => {
            [one(first, value >> 8 & 0x3f), one(second, value & 0x3f)].concat()
        }
        None => one(name, value),
    }
}

/// `vmcnt(0) lgkmcnt(3)`, `vmcnt(0) & lgkmcnt(0)`, or the number 0, which waits for everything.
fn fields(operands: &str) -> Vec<Wait> {
    if number(operands) == Some(0) {
        return [Counter::Load, Counter::Lgkm]
            .map(|counter| Wait {
                counter,
                at_most: 0,
            })
            .to_vec();
    }
    operands
        .split([' ', '&', ','])
        .filter_map(|field| {
            let (name, value) = field.trim().strip_suffix(')')?.split_once('(')?;
            Some(Wait {
                counter: named(name)?,
                at_most: number(value)?,
            })
        })
        .collect()
}

fn number(text: &str) -> Option<u32> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> String {
        let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
        waits(mnemonic, operands)
            .iter()
            .map(|wait| format!("{:?} {}", wait.counter, wait.at_most))
            .collect::<Vec<_>>()
            .join(", ")
    }

    #[test]
    fn every_form() {
        for (text, expected) in [
            ("s_waitcnt vmcnt(0) lgkmcnt(3)", "Load 0, Lgkm 3"),
            ("s_waitcnt vmcnt(63) & expcnt(0)", "Load 63"),
            ("s_waitcnt 0", "Load 0, Lgkm 0"),
            ("s_waitcnt_vscnt null, 0x0", "Store 0"),
            ("s_wait_loadcnt 0x2", "Load 2"),
            ("s_wait_loadcnt_dscnt 0x103", "Load 1, Ds 3"),
            ("s_wait_storecnt_dscnt 0x0", "Store 0, Ds 0"),
            ("s_wait_kmcnt 0x0", "Km 0"),
            ("s_wait_asynccnt 0x4", "Async 4"),
            ("s_wait_xcnt 0x0", ""),
            ("s_wait_alu depctr_sa_sdst(0)", ""),
            ("s_waitcnt_depctr 0xfffe", ""),
            ("s_nop 0", ""),
        ] {
            assert_eq!(show(text), expected, "{text}");
        }
    }
}
