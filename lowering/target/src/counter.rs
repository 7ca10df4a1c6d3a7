//! The counters of outstanding operations, and the instructions that wait for them.
//!
//! Sources: LLVM AMDGPUUsage, "Memory Model" (which instruction counts where); the ISA documents of
//! GCN3, Vega, RDNA 1 to 4 and CDNA 1 to 3, chapters on program control and data dependency; the
//! syntax is LLVM's (AMDGPUModifierSyntax, "waitcnt").

/// A counter. It rises when an operation is issued and falls when one has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// Vector memory: loads, and on GPUs without VScnt stores.
    Vmcnt,
    /// Vector memory stores and atomics without a result (gfx10, gfx11).
    Vscnt,
    /// LDS, GDS, scalar memory and messages.
    Lgkmcnt,
    /// Exports and GDS.
    Expcnt,
    /// Vector memory loads (gfx12).
    Loadcnt,
    /// Vector memory stores and atomics without a result (gfx12).
    Storecnt,
    /// LDS (gfx12).
    Dscnt,
    /// Scalar memory and messages (gfx12).
    Kmcnt,
    /// Image sampling (gfx12.0).
    Samplecnt,
    /// Ray queries (gfx12.0).
    Bvhcnt,
    /// Asynchronous copies between global memory and LDS (gfx12.5).
    Asynccnt,
    /// Tensor copies (gfx12.5).
    Tensorcnt,
}

impl Counter {
    /// All of them.
    pub const ALL: [Counter; 12] = [
        Counter::Vmcnt,
        Counter::Vscnt,
        Counter::Lgkmcnt,
        Counter::Expcnt,
        Counter::Loadcnt,
        Counter::Storecnt,
        Counter::Dscnt,
        Counter::Kmcnt,
        Counter::Samplecnt,
        Counter::Bvhcnt,
        Counter::Asynccnt,
        Counter::Tensorcnt,
    ];

    /// The name, as in the ISA manuals but in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Counter::Vmcnt => "vmcnt",
            Counter::Vscnt => "vscnt",
            Counter::Lgkmcnt => "lgkmcnt",
            Counter::Expcnt => "expcnt",
            Counter::Loadcnt => "loadcnt",
            Counter::Storecnt => "storecnt",
            Counter::Dscnt => "dscnt",
            Counter::Kmcnt => "kmcnt",
            Counter::Samplecnt => "samplecnt",
            Counter::Bvhcnt => "bvhcnt",
            Counter::Asynccnt => "asynccnt",
            Counter::Tensorcnt => "tensorcnt",
        }
    }

    fn by_name(name: &str) -> Option<Counter> {
        Counter::ALL
            .into_iter()
            .find(|counter| counter.name() == name)
    }
}

/// The counters for which an instruction of AMDGPU assembly waits, and the number of operations
/// that may be left in each. `None` for an instruction that waits for no counter (`xcnt` and
/// `depctr` guard registers, not memory), or whose operands are not understood.
pub fn waits(mnemonic: &str, operands: &str) -> Option<Vec<(Counter, u32)>> {
    match mnemonic {
        "s_waitcnt" => return fields(operands),
        "s_wait_idle" => return Some(Counter::ALL.map(|counter| (counter, 0)).to_vec()),
        _ => {}
    }
    // `s_waitcnt_vscnt null, 0x0`
    if let Some(name) = mnemonic.strip_prefix("s_waitcnt_") {
        let left = number(operands.rsplit(',').next()?)?;
        return Some(vec![(Counter::by_name(name)?, left)]);
    }
    let name = mnemonic.strip_prefix("s_wait_")?;
    let value = number(operands)?;
    Some(match name.split_once('_') {
        // s_wait_loadcnt_dscnt, s_wait_storecnt_dscnt: the first in bits 13:8, the second in 5:0.
        Some((first, second)) => vec![
            (Counter::by_name(first)?, value >> 8 & 0x3f),
            (Counter::by_name(second)?, value & 0x3f),
        ],
        None => vec![(Counter::by_name(name)?, value)],
    })
}

/// `vmcnt(0) lgkmcnt(3)`, `vmcnt(0) & lgkmcnt(0)`, or the number 0, which waits for everything.
fn fields(operands: &str) -> Option<Vec<(Counter, u32)>> {
    if number(operands) == Some(0) {
        let all = [Counter::Vmcnt, Counter::Expcnt, Counter::Lgkmcnt];
        return Some(all.map(|counter| (counter, 0)).to_vec());
    }
    let words = operands
        .split([' ', '&', ','])
        .filter(|word| !word.is_empty());
    words
        .map(|word| {
            let (name, left) = word.strip_suffix(')')?.split_once('(')?;
            Some((Counter::by_name(name)?, number(left)?))
        })
        .collect()
}

/// A number, decimal or with 0x.
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

    fn show(text: &str) -> Option<String> {
        let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
        let waits = waits(mnemonic, operands)?;
        let words = waits
            .iter()
            .map(|(counter, left)| format!("{} {left}", counter.name()));
        Some(words.collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn every_form() {
        for (text, expected) in [
            ("s_waitcnt vmcnt(0) lgkmcnt(3)", "vmcnt 0, lgkmcnt 3"),
            ("s_waitcnt vmcnt(63) & expcnt(0)", "vmcnt 63, expcnt 0"),
            ("s_waitcnt 0", "vmcnt 0, expcnt 0, lgkmcnt 0"),
            ("s_waitcnt_vscnt null, 0x0", "vscnt 0"),
            ("s_wait_loadcnt 0x2", "loadcnt 2"),
            ("s_wait_loadcnt_dscnt 0x103", "loadcnt 1, dscnt 3"),
            ("s_wait_storecnt_dscnt 0x0", "storecnt 0, dscnt 0"),
            ("s_wait_kmcnt 0x0", "kmcnt 0"),
            ("s_wait_asynccnt 0x4", "asynccnt 4"),
            ("s_wait_tensorcnt 0x0", "tensorcnt 0"),
        ] {
            assert_eq!(show(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "s_wait_xcnt 0x0",
            "s_wait_alu depctr_sa_sdst(0)",
            "s_waitcnt_depctr 0xfffe",
            "s_waitcnt vmcnt(x)",
            "s_waitcnt 0x3f70",
            "s_wait_event 0x2",
            "s_nop 0",
        ] {
            assert_eq!(show(text), None, "{text}");
        }
        assert!(waits("s_wait_idle", "").is_some_and(|all| all.len() == 12));
    }
}
