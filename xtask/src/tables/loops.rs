//! What stands in the loops of AMDGPU assembly.

/// Waits of a kernel.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Waits {
    /// Instructions in loops that wait for a counter of memory operations.
    pub in_loops: u32,
    /// Those of them that wait until no load from global memory is outstanding.
    pub for_all_loads: u32,
}

/// Counts the waits in the loops of the kernel `symbol`: between a label and a later branch back to
/// it.
pub(super) fn waits(assembly: &str, symbol: &str) -> Waits {
    let body: Vec<&str> = assembly
        .lines()
        .map(|line| line.split(';').next().unwrap_or_default().trim())
        .skip_while(|line| line.strip_suffix(':') != Some(symbol))
        .take_while(|line| !line.starts_with(".Lfunc_end"))
        .collect();
    let mut in_loop = vec![false; body.len()];
    for (at, line) in body.iter().enumerate() {
        let Some(label) = branch_target(line) else {
            continue;
        };
        let target = body
            .iter()
            .take(at)
            .position(|l| l.strip_suffix(':') == Some(label));
        if let Some(part) = target.and_then(|target| in_loop.get_mut(target..at)) {
            part.fill(true);
        }
    }
    let mut waits = Waits::default();
    for (line, _) in body.iter().zip(in_loop).filter(|(_, in_loop)| *in_loop) {
        if waits_for_memory(line) {
            waits.in_loops += 1;
            waits.for_all_loads += u32::from(waits_for_all_loads(line));
        }
    }
    waits
}

fn branch_target(line: &str) -> Option<&str> {
    let (mnemonic, target) = line.split_once(char::is_whitespace)?;
    (mnemonic == "s_branch" || mnemonic.starts_with("s_cbranch")).then(|| target.trim())
}

/// `s_wait_alu`, `s_wait_xcnt` and their like guard registers and translations, not memory.
fn waits_for_memory(line: &str) -> bool {
    let counters = [
        "vmcnt",
        "lgkmcnt",
        "vscnt",
        "loadcnt",
        "storecnt",
        "dscnt",
        "kmcnt",
        "asynccnt",
        "tensorcnt",
    ];
    line.starts_with("s_wait") && counters.iter().any(|counter| line.contains(counter))
}

fn waits_for_all_loads(line: &str) -> bool {
    let Some((mnemonic, operands)) = line.split_once(char::is_whitespace) else {
        return false;
    };
    let value = || {
        let digits = operands.trim().strip_prefix("0x")?;
        u32::from_str_radix(digits, 16).ok()
    };
    match mnemonic {
        "s_waitcnt" => operands.contains("vmcnt(0)"),
        "s_wait_loadcnt" => value() == Some(0),
        // loadcnt stands in bits 8 to 13 (RDNA4 ISA, S_WAIT_LOADCNT_DSCNT).
        "s_wait_loadcnt_dscnt" => value().is_some_and(|value| value >> 8 == 0),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loops_count() {
        let text = "\
other:
.LBB1_1:
\ts_wait_loadcnt 0x0
\ts_branch .LBB1_1
.Lfunc_end1:
k:                                      ; @k
\ts_wait_loadcnt 0x0
.LBB0_1:                                ; loop
\ts_wait_loadcnt 0x2                   ; not all
\ts_wait_alu depctr_va_vcc(0)
\ts_wait_loadcnt_dscnt 0x3
\ts_waitcnt vmcnt(0) lgkmcnt(1)
\ts_cbranch_scc1 .LBB0_1
\ts_waitcnt vmcnt(0)
\ts_cbranch_scc1 .LBB0_2
.LBB0_2:
\ts_endpgm
.Lfunc_end0:
";
        let expected = Waits {
            in_loops: 3,
            for_all_loads: 2,
        };
        assert_eq!(waits(text, "k"), expected);
    }
}
