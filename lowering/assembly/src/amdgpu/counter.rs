//! The counters of outstanding operations as the audit tells them apart. The instructions that
//! wait for them are read by [`splitbar_target::waits`].

use serde::{Deserialize, Serialize};
use splitbar_target as target;

/// A counter. It rises when an operation is issued and falls when one has finished.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counter {
    /// VMcnt; on gfx12 and later LOADcnt: vector memory loads, and stores where they have no
    /// counter of their own.
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

/// The counters that an instruction waits for. It is empty if no counter of data is among them
/// (`expcnt`, `xcnt` and `depctr` guard registers, not memory).
pub fn waits(mnemonic: &str, operands: &str) -> Vec<Wait> {
    // An instruction that is no wait has none.
    let all = target::waits(mnemonic, operands).unwrap_or_default();
    let moves_data = |(counter, at_most)| {
        let counter = Counter::from_target(counter)?;
        Some(Wait { counter, at_most })
    };
    all.into_iter().filter_map(moves_data).collect()
}

impl Counter {
    /// The counter of the hardware; `None` for one that guards registers.
    fn from_target(counter: target::Counter) -> Option<Counter> {
        Some(match counter {
            target::Counter::Vmcnt | target::Counter::Loadcnt => Counter::Load,
            target::Counter::Vscnt | target::Counter::Storecnt => Counter::Store,
            target::Counter::Lgkmcnt => Counter::Lgkm,
            target::Counter::Dscnt => Counter::Ds,
            target::Counter::Kmcnt => Counter::Km,
            target::Counter::Samplecnt => Counter::Sample,
            target::Counter::Bvhcnt => Counter::Bvh,
            target::Counter::Asynccnt => Counter::Async,
            target::Counter::Tensorcnt => Counter::Tensor,
            target::Counter::Expcnt => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_registers_are_left_out() {
        let load = Wait {
            counter: Counter::Load,
            at_most: 63,
        };
        assert_eq!(waits("s_waitcnt", "vmcnt(63) & expcnt(0)"), [load]);
        assert_eq!(waits("s_wait_loadcnt", "0x3f"), [load]);
        assert_eq!(waits("s_waitcnt_depctr", "0xfffe"), []);
    }
}
