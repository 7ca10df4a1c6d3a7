//! The scalar registers that still hold the values of the launch. A scalar load from one of their
//! addresses reads arguments or the dispatch packet, which do not change while the kernel runs: it
//! may be placed after a release, too. Source: LLVM AMDGPUUsage, "Initial Kernel Execution State".

use crate::asm::{Function, Instruction};

/// Scalar registers, a bit each.
type Registers = u128;

/// Whether the scalar load at each position reads what the launch prepared.
pub(super) fn loads(function: &Function) -> Vec<bool> {
    let instructions = &function.instructions;
    let mut before: Vec<Option<Registers>> = vec![None; instructions.len()];
    let mut todo = Vec::new();
    if let Some(entry) = before.first_mut() {
        *entry = Some(Registers::MAX);
        todo.push(0);
    }
    while let Some(position) = todo.pop() {
        let (Some(inst), Some(Some(held))) = (instructions.get(position), before.get(position))
        else {
            debug_assert!(false, "nothing is known before instruction {position}");
            continue;
        };
        let after = after(inst, *held);
        for next in function.successors(position) {
            if let Some(state) = before.get_mut(next) {
                let joined = state.map_or(after, |state| state & after);
                if *state != Some(joined) {
                    *state = Some(joined);
                    todo.push(next);
                }
            }
        }
    }
    let facts = instructions.iter().zip(before);
    facts
        .map(|(inst, held)| {
            let address = inst.operands.split(',').nth(1).and_then(registers);
            let by = |address: Registers| held.is_some_and(|held| address & !held == 0);
            inst.mnemonic.starts_with("s_load_") && address.is_some_and(by)
        })
        .collect()
}

/// What begins so writes no scalar register, although its first operand may be one.
const WITHOUT_RESULT: &[&str] = &[
    "s_cmp",
    "s_bitcmp",
    "s_cbranch",
    "s_branch",
    "s_setreg",
    "s_wait",
    "s_barrier",
    "buffer_",
    "global_",
    "ds_",
    "flat_",
    "scratch_",
    "image_",
    "tbuffer_",
];

/// What is held after an instruction.
fn after(inst: &Instruction, held: Registers) -> Registers {
    let name = inst.mnemonic.as_str();
    if WITHOUT_RESULT.iter().any(|start| name.starts_with(start)) {
        return held;
    }
    if name.starts_with("s_swappc") || name.starts_with("s_call") {
        return 0;
    }
    // Vector instructions may have a second result.
    let results = if name.starts_with("v_") { 2 } else { 1 };
    let mut operands = inst.operands.split(',').map(registers);
    let written = operands.by_ref().take(results).flatten();
    let written = written.fold(0, |all, one| all | one);
    let copied = name.starts_with("s_mov_b")
        && operands
            .next()
            .flatten()
            .is_some_and(|from| from & !held == 0);
    if copied {
        held | written
    } else {
        held & !written
    }
}

/// The registers that an operand names: `s7`, `s[4:5]`; `None` if it is something else.
fn registers(operand: &str) -> Option<Registers> {
    let register = operand.trim().strip_prefix('s')?;
    let range = register
        .strip_prefix('[')
        .and_then(|it| it.strip_suffix(']'));
    let (first, last) = match range {
        Some(range) => range.split_once(':')?,
        None => (register, register),
    };
    let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last < Registers::BITS).then(|| (first..=last).fold(0, |all, n| all | 1 << n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::amdgpu;
    use pretty_assertions::assert_eq;

    #[test]
    fn an_address_is_of_the_launch_until_it_is_written() {
        let text = "\
\t.type\tk,@function
k:
\ts_load_b64 s[0:1], s[4:5], 0x8 nv
\ts_load_b32 s2, s[0:1], 0x0
\ts_mov_b64 s[8:9], s[4:5]
\ts_cmp_eq_u32 s4, 0
\ts_load_b64 s[6:7], s[8:9], 0x10
.LBB0_1:
\ts_load_b64 s[6:7], s[4:5], 0x10
\ts_load_b64 s[6:7], s[8:9], 0x10
\tv_readfirstlane_b32 s4, v0
\ts_cbranch_scc1 .LBB0_1
\ts_endpgm
";
        let function = &amdgpu::parse(text)[0];
        let found: Vec<usize> = loads(function)
            .iter()
            .enumerate()
            .filter(|(_, is)| **is)
            .map(|(position, _)| position)
            .collect();
        assert_eq!(found, [0, 4, 6]);
    }
}
