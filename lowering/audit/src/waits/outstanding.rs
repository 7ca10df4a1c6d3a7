//! Computes the memory operations that may be outstanding at each place: a dataflow over the
//! machine code.
//!
//! A fact is an operation with its age, the least number of operations of its order that any path
//! has issued after it. A wait for `counter <= n` proves an operation of age n or more finished:
//! were it outstanding, so would be the n younger ones of its order, and it would be one too many.
//! Operations without an order overtake each other, so only a wait for 0 proves anything of them.
//! Facts of several paths are united, ages take the smaller. Sharing of a counter with operations
//! of another order changes nothing: these can only make the counter higher.

use super::counter::{Counter, waits};
use super::launch;
use super::operation::{Memory, Operation, Order, operation};
use crate::asm::{Function, Instruction};
use splitbar_plan::target::Amdgpu;
use std::collections::BTreeSet;

/// The highest age that is told apart: no counter has more than six bits (LLVM AMDGPUUsage;
/// `loadcnt` 6).
const OLDEST: u8 = 63;

/// Most facts that are kept at one place. A function with more outstanding operations than this is
/// not audited.
const MOST_FACTS: usize = 1 << 14;

/// Most facts that are kept at all places together: 128 MiB of them. Where nothing is waited for,
/// their number grows with the square of the code.
const MOST_FACTS_IN_ALL: usize = 1 << 24;

/// An operation that may be outstanding under a counter.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    /// Its number in the kernel.
    position: u32,
    /// The counter.
    pub counter: Counter,
    /// The least number of operations of its order that were issued after it, at most [`OLDEST`].
    age: u8,
}

impl Fact {
    /// The operation's number in the kernel.
    pub(crate) fn position(self) -> usize {
        self.position as usize
    }

    /// What a list of facts is sorted by; unique in it.
    fn key(self) -> (u32, Counter) {
        (self.position, self.counter)
    }
}

/// What may be outstanding at a place, sorted by position and counter.
pub(crate) type Facts = Vec<Fact>;

/// What is outstanding before each instruction.
#[derive(Clone, Debug)]
pub(crate) struct Outstanding {
    /// By position; `None` for unreachable instructions.
    pub before: Vec<Option<Facts>>,
    /// The memory operation at each position, if it is one.
    pub operations: Vec<Option<Operation>>,
}

impl Outstanding {
    /// Solves the dataflow for `function`; `None` if there is more outstanding at one place than is
    /// kept.
    pub(crate) fn analyze(function: &Function, gpu: &Amdgpu) -> Option<Outstanding> {
        u32::try_from(function.instructions.len()).ok()?; // a position fits a fact
        let stack = has_stack_in_buffer(function);
        let instructions = function.instructions.iter();
        let operations: Vec<Option<Operation>> = instructions
            .zip(launch::loads(function))
            .map(|(inst, of_launch)| {
                let mut operation = operation(gpu, &inst.mnemonic, &inst.operands)?;
                if of_launch || stack && is_of_buffer(inst) {
                    operation.memory = Memory::Own;
                }
                Some(operation)
            })
            .collect();
        let mut solution = Outstanding {
            before: vec![None; function.instructions.len()],
            operations,
        };
        let mut in_all = 0;
        let mut todo = BTreeSet::new();
        if let Some(entry) = solution.before.first_mut() {
            *entry = Some(Facts::new());
            todo.insert(0);
        }
        while let Some(position) = todo.pop_first() {
            let after = solution.after(function, position);
            if after.len() > MOST_FACTS {
                return None;
            }
            for next in function.successors(position) {
                let state = &mut solution.before[next];
                let known = state.as_ref().map_or(0, Vec::len);
                if join(state, &after) {
                    in_all += state.as_ref().map_or(0, Vec::len) - known;
                    todo.insert(next);
                }
                if in_all > MOST_FACTS_IN_ALL {
                    return None;
                }
            }
        }
        Some(solution)
    }

    /// What is outstanding after the instruction at `position`.
    fn after(&self, function: &Function, position: usize) -> Facts {
        debug_assert!(
            self.at(position).is_some(),
            "nothing is known before instruction {position}"
        );
        let mut facts = self.at(position).cloned().unwrap_or_default();
        if let Some(inst) = function.instructions.get(position) {
            for wait in waits(&inst.mnemonic, &inst.operands) {
                facts.retain(|fact| !self.retires(*fact, wait.counter, wait.at_most));
            }
        }
        if let Some(operation) = self.operation(position) {
            for (counter, order) in operation.counted {
                if *order != Order::None {
                    for older in &mut facts {
                        if older.counter == *counter
                            && self.order(older.position(), *counter) == *order
                        {
                            older.age = older.age.saturating_add(1).min(OLDEST);
                        }
                    }
                }
            }
            for (counter, _) in operation.counted {
                let issued = Fact {
                    position: position as u32,
                    counter: *counter,
                    age: 0,
                };
                match facts.binary_search_by_key(&issued.key(), |fact| fact.key()) {
                    Ok(at) => facts[at] = issued,
                    Err(at) => facts.insert(at, issued),
                }
            }
        }
        facts
    }

    /// Returns true if a wait for `counter <= at_most` proves that the operation has finished.
    fn retires(&self, fact: Fact, counter: Counter, at_most: u32) -> bool {
        fact.counter == counter
            && match self.order(fact.position(), counter) {
                Order::None => at_most == 0,
                Order::Load | Order::Store | Order::Lds | Order::Async => {
                    u32::from(fact.age) >= at_most
                }
            }
    }

    /// Whether any of what may be outstanding before `position` is certainly finished after the
    /// wait there. `None`: the instruction is no wait.
    pub(crate) fn is_useful_wait(&self, function: &Function, position: usize) -> Option<bool> {
        let inst = function.instructions.get(position)?;
        let waits = waits(&inst.mnemonic, &inst.operands);
        if waits.is_empty() {
            return None;
        }
        let facts = self.at(position)?;
        Some(waits.iter().any(|wait| {
            facts
                .iter()
                .any(|fact| self.retires(*fact, wait.counter, wait.at_most))
        }))
    }

    /// The facts before `position`.
    pub(crate) fn at(&self, position: usize) -> Option<&Facts> {
        self.before.get(position)?.as_ref()
    }

    /// The operation at `position`.
    pub(crate) fn operation(&self, position: usize) -> Option<&Operation> {
        self.operations.get(position)?.as_ref()
    }

    fn order(&self, position: usize, counter: Counter) -> Order {
        self.operation(position)
            .and_then(|operation| {
                operation
                    .counted
                    .iter()
                    .find(|(of, _)| *of == counter)
                    .map(|(_, order)| *order)
            })
            .unwrap_or(Order::None)
    }
}

/// Where the buffer of the wave's scratch is at the beginning, where there is one. Source: LLVM
/// AMDGPUUsage, "Private Segment Buffer".
const STACK: &str = "s[0:3]";

/// Returns true if [`STACK`] is the wave's scratch all over the function: nobody puts another
/// buffer there. The address in its first two words grows by the wave's offset; the last two stay.
fn has_stack_in_buffer(function: &Function) -> bool {
    let mut instructions = function.instructions.iter();
    !instructions.any(|inst| {
        // Vector instructions may have a second result.
        let results = if inst.mnemonic.starts_with("v_") {
            2
        } else {
            1
        };
        let mut operands = inst.operands.split(',').take(results);
        !inst.mnemonic.starts_with("buffer_")
            && operands.any(|operand| names_2_or_3(operand.trim()))
    })
}

/// Returns true if an operand is the scalar register 2 or 3, or has one of them.
fn names_2_or_3(operand: &str) -> bool {
    let Some(register) = operand.strip_prefix('s') else {
        return false; // not a scalar register
    };
    let range = register
        .strip_prefix('[')
        .and_then(|it| it.strip_suffix(']'));
    let (first, last) = range
        .and_then(|range| range.split_once(':'))
        .unwrap_or((register, register));
    match (first.parse::<u32>(), last.parse::<u32>()) {
        (Ok(first), Ok(last)) => first <= 3 && last >= 2,
        _ => false, // no register by number
    }
}

/// Returns true if an instruction accesses the buffer in [`STACK`].
fn is_of_buffer(inst: &Instruction) -> bool {
    inst.mnemonic.starts_with("buffer_")
        && inst.operands.split(", ").any(|operand| operand == STACK)
}

/// Adds `more` to the facts of a place; says whether they have changed.
fn join(state: &mut Option<Facts>, more: &Facts) -> bool {
    let Some(facts) = state else {
        *state = Some(more.clone());
        return true;
    };
    let mut united = [facts.as_slice(), more.as_slice()].concat();
    // A stable sort merges two sorted runs in linear time.
    united.sort_by_key(|fact| (fact.key(), fact.age));
    united.dedup_by_key(|fact| fact.key());
    let changed = united != *facts;
    *facts = united;
    changed
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::asm::amdgpu;
    use pretty_assertions::assert_eq;
    use splitbar_plan::Target;

    /// Per barrier of the code, what may be outstanding: `position mnemonic`.
    fn at_barriers(target: &str, code: &str) -> Vec<Vec<String>> {
        let text = format!("\t.type\tk,@function\nk:\n{code}\n\ts_endpgm\n");
        let function = &amdgpu::parse(&text)[0];
        let solution =
            Outstanding::analyze(function, Target::by_name(target).unwrap().amdgpu().unwrap())
                .unwrap();
        let is_barrier = |position: &usize| {
            function.instructions[*position]
                .mnemonic
                .starts_with("s_barrier")
        };
        (0..function.instructions.len())
            .filter(is_barrier)
            .map(|position| {
                let positions: BTreeSet<usize> = solution
                    .at(position)
                    .unwrap()
                    .iter()
                    .map(|fact| fact.position())
                    .collect();
                positions
                    .into_iter()
                    .map(|p| format!("{p} {}", function.instructions[p].mnemonic))
                    .collect()
            })
            .collect()
    }

    #[test]
    fn scratch_in_a_buffer_is_the_waves_own() {
        let memory = |before: &str| {
            let text = format!(
                "\t.type\tk,@function\nk:\n{before}\nbuffer_store_dword v1, off, s[0:3], 0 offset:4\ns_endpgm\n"
            );
            let gpu = Target::by_name("gfx1030").unwrap().amdgpu().unwrap();
            let function = &amdgpu::parse(&text)[0];
            let solution = Outstanding::analyze(function, gpu).unwrap();
            let mut operations = solution.operations.iter().rev().flatten();
            operations.next().unwrap().memory
        };
        assert_eq!(
            memory("s_add_u32 s0, s0, s17\ns_addc_u32 s1, s1, 0"),
            Memory::Own
        );
        assert_eq!(memory("s_load_dwordx4 s[0:3], s[4:5], 0x0"), Memory::Global);
        assert_eq!(memory("s_mov_b32 s2, -1"), Memory::Global);
    }

    #[test]
    fn a_wait_retires_what_is_old_enough() {
        let loads = "global_load_b32 v1, v0, s[0:1]\nglobal_load_b32 v2, v0, s[0:1]\nglobal_load_b32 v3, v0, s[0:1]\n";
        let left =
            |wait: &str| at_barriers("gfx1201", &format!("{loads}{wait}\ns_barrier_signal -1"));
        assert_eq!(
            left("s_wait_loadcnt 0x1"),
            [["2 global_load_b32".to_owned()]]
        );
        assert_eq!(left("s_wait_loadcnt 0x0"), [Vec::<String>::new()]);
        assert_eq!(left("s_wait_dscnt 0x0")[0].len(), 3);
    }

    #[test]
    fn orders_that_share_a_counter_do_not_age_each_other() {
        // One LDS store, then a scalar load: a wait for one proves nothing of the store.
        let code =
            "ds_write_b32 v0, v1\ns_load_dword s0, s[0:1], 0x0\ns_waitcnt lgkmcnt(1)\ns_barrier";
        assert_eq!(
            at_barriers("gfx1030", code),
            [["0 ds_write_b32".to_owned(), "1 s_load_dword".to_owned()]]
        );
        // Two LDS operations: it does.
        let code = "ds_write_b32 v0, v1\nds_read_b32 v2, v3\ns_waitcnt lgkmcnt(1)\ns_barrier";
        assert_eq!(at_barriers("gfx1030", code), [["1 ds_read_b32".to_owned()]]);
    }

    #[test]
    fn stores_have_their_own_counter_from_gfx10_on() {
        let code = "global_store_dword v0, v1, s[0:1]\ns_waitcnt vmcnt(0)\ns_barrier";
        assert_eq!(at_barriers("gfx906", code), [Vec::<String>::new()]);
        assert_eq!(
            at_barriers("gfx1030", code),
            [["0 global_store_dword".to_owned()]]
        );
        let returning = "global_atomic_add v1, v0, v1, s[0:1] glc\ns_waitcnt vmcnt(0)\ns_barrier";
        assert_eq!(at_barriers("gfx1030", returning), [Vec::<String>::new()]);
    }

    #[test]
    fn paths_join_and_loops_carry() {
        // The load of the loop body is outstanding at the head's barrier from the second turn on.
        let code =
            ".LBB0_1:\ns_barrier\nglobal_load_dword v1, v0, s[0:1]\ns_cbranch_scc1 .LBB0_1\n";
        assert_eq!(
            at_barriers("gfx90a", code),
            [["1 global_load_dword".to_owned()]]
        );
        let one_arm = "s_cbranch_scc1 .LBB0_1\nds_write_b32 v0, v1\n.LBB0_1:\ns_barrier";
        assert_eq!(
            at_barriers("gfx90a", one_arm),
            [["1 ds_write_b32".to_owned()]]
        );
    }

    #[test]
    fn flat_accesses_wait_for_zero_of_both_counters() {
        let code = |waits: &str| {
            format!("flat_load_dword v0, v[0:1]\nds_read_b32 v2, v3\n{waits}\ns_barrier")
        };
        assert!(
            at_barriers("gfx90a", &code("s_waitcnt vmcnt(0)"))[0]
                .contains(&"0 flat_load_dword".to_owned())
        );
        assert_eq!(
            at_barriers("gfx90a", &code("s_waitcnt vmcnt(0) lgkmcnt(0)")),
            [Vec::<String>::new()]
        );
    }

    #[test]
    fn more_facts_than_are_kept_are_refused() {
        let solved = |pairs: usize| {
            let pair = "global_store_b32 v0, v1, s[0:1]\ns_barrier_signal -1\n";
            let text = format!("\t.type\tk,@function\nk:\n{}s_endpgm\n", pair.repeat(pairs));
            let gpu = Target::by_name("gfx1201").unwrap().amdgpu().unwrap();
            let solution = Outstanding::analyze(&amdgpu::parse(&text)[0], gpu)?;
            Some(
                solution
                    .before
                    .iter()
                    .flatten()
                    .map(Vec::len)
                    .sum::<usize>(),
            )
        };
        assert_eq!(solved(1_000), Some(1_000 * 1_000 + 1_000));
        assert_eq!(solved(6_000), None);
    }

    #[test]
    fn a_wait_that_retires_nothing_is_known() {
        let text = "\t.type\tk,@function\nk:\ns_load_b32 s0, s[0:1], 0x0\ns_wait_kmcnt 0x0\ns_wait_kmcnt 0x0\ns_endpgm\n";
        let function = &amdgpu::parse(text)[0];
        let gpu = Target::by_name("gfx1201").unwrap().amdgpu().unwrap();
        let solution = Outstanding::analyze(function, gpu).unwrap();
        let useful: Vec<_> = (0..4)
            .map(|position| solution.is_useful_wait(function, position))
            .collect();
        assert_eq!(useful, [None, Some(true), Some(false), None]);
    }
}
