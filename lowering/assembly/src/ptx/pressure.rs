//! The register pressure of PTX: the number of virtual registers that are live at the same time, in
//! the order of the text.
//!
//! ptxas schedules anew and gives out registers itself, so that this is no prediction of what it
//! takes: splits and full barriers of one kernel differ in ways that the text does not show. It
//! bounds it from above, though (`MARGIN`).
//!
//! Backward data flow over bit sets: a register is live from its definition to the last use of its
//! value on any path.

use super::registers::{Role, each_register};
use super::syntax::{Function, Instruction, Operand, StateSpace, Statement, Variable, What};
use std::collections::HashMap;

/// The number of registers that ptxas adds to the live registers of its input. In 559 compilations
/// of the fixtures (33 kernels, six strategies, sm_75, sm_80, sm_90, sm_120; ptxas 12.9.86) none
/// needed more.
const MARGIN: u32 = 10;

/// Words of the bit sets of a function, all together: 64 MiB.
const MOST_WORDS: usize = 1 << 23;

/// An upper bound for the resources that ptxas uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pressure {
    /// The kernel.
    pub name: String,
    /// 32-bit registers of each thread.
    pub registers: u32,
    /// Hardware barriers: the largest number in the text plus one, or all sixteen if a number is in
    /// a register.
    pub barriers: u32,
}

/// Returns an upper bound for the resources of each kernel of `text`. It leaves out kernels that
/// call functions, kernels with local memory (ptxas may hold it in registers), and kernels with too
/// many registers and blocks to analyse.
///
/// # Errors
/// The first place where the text is not PTX.
pub fn pressure(text: &str) -> Result<Vec<Pressure>, super::SyntaxError> {
    let module = super::module(text)?;
    let kernels = module.functions.iter().filter(|function| function.entry);
    Ok(kernels.filter_map(of).collect())
}

/// An estimate of the resources that ptxas uses for a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterEstimate {
    /// The kernel.
    pub name: String,
    /// 32-bit registers of each thread: the maximum that is live at the same time in the text.
    pub registers: u32,
    /// Hardware barriers, as for [`Pressure`].
    pub barriers: u32,
}

/// Estimates the resources of the kernels of `text`: from the data flow if [`pressure`] supports
/// the kernel, otherwise by one pass over the text. In that pass a register is live from its first
/// to its last mention.
///
/// # Errors
/// The first place where the text is not PTX.
pub fn estimate_registers(text: &str) -> Result<Vec<RegisterEstimate>, super::SyntaxError> {
    let module = super::module(text)?;
    let kernels = module.functions.iter().filter(|function| function.entry);
    let estimates = kernels.map(|kernel| match of(kernel) {
        Some(known) => RegisterEstimate {
            name: known.name,
            registers: known.registers - MARGIN,
            barriers: known.barriers,
        },
        None => RegisterEstimate {
            name: kernel.name.to_owned(),
            registers: linear(&kernel.body).min(MOST_REGISTERS),
            barriers: insts(&kernel.body).map(barriers).max().unwrap_or(0),
        },
    });
    Ok(estimates.collect())
}

/// The maximum number of registers that ptxas gives a thread; above that it spills.
const MOST_REGISTERS: u32 = 255;

/// The instructions of `body`.
fn insts<'t>(body: &'t [Statement<'t>]) -> impl Iterator<Item = &'t Instruction<'t>> {
    body.iter().filter_map(|statement| match &statement.what {
        What::Instruction(inst) => Some(inst),
        _ => None,
    })
}

/// The maximum of live words, if each register is live from its first to its last mention.
fn linear(body: &[Statement<'_>]) -> u32 {
    let registers = Registers::collect(body);
    let mut spans: Vec<Option<(usize, usize)>> = vec![None; registers.words.len()];
    let mut end = 0;
    for (place, inst) in insts(body).enumerate() {
        end = place + 1;
        each_register(inst, &mut |name, _| {
            let number = registers.numbers.get(name);
            if let Some(span) = number.and_then(|number| spans.get_mut(*number)) {
                *span = Some((span.map_or(place, |(first, _)| first), place));
            }
        });
    }
    let mut changes = vec![(0_u32, 0_u32); end + 1]; // words that begin, and that have ended
    for (span, words) in spans.iter().zip(&registers.words) {
        let Some((first, last)) = span else { continue };
        if let Some((begin, _)) = changes.get_mut(*first) {
            *begin += words;
        }
        if let Some((_, ended)) = changes.get_mut(last + 1) {
            *ended += words;
        }
    }
    let mut live = 0;
    let mut most = 0;
    for (begin, ended) in changes {
        live = live + begin - ended;
        most = most.max(live);
    }
    most
}

fn of(kernel: &Function<'_>) -> Option<Pressure> {
    let has_local_memory = |statement: &Statement<'_>| match &statement.what {
        What::Variable(variable) => variable.space == StateSpace::Local,
        _ => false,
    };
    if kernel.body.iter().any(has_local_memory) {
        return None;
    }
    let blocks = blocks(&kernel.body)?;
    let registers = Registers::collect(&kernel.body);
    let most = most_live(&blocks, &registers)?;
    let insts = blocks.iter().flat_map(|block| &block.insts);
    Some(Pressure {
        name: kernel.name.to_owned(),
        registers: most + MARGIN,
        barriers: insts.copied().map(barriers).max().unwrap_or(0),
    })
}

/// The number of hardware barriers that `inst` needs.
fn barriers(inst: &Instruction<'_>) -> u32 {
    let is_barrier = inst.opcode.starts_with("bar.") || inst.opcode.starts_with("barrier.");
    let other = ["bar.warp", "barrier.cluster"];
    if !is_barrier || other.iter().any(|other| inst.opcode.starts_with(other)) {
        return 0;
    }
    // Of a reduction the barrier is the second operand.
    let place = usize::from(inst.opcode.contains(".red."));
    match inst.operands.get(place) {
        Some(Operand::Integer(number)) => u32::try_from(*number).map_or(16, |n| n.min(15) + 1),
        _ => 16,
    }
}

/// The registers of a function: numbers and sizes by name.
struct Registers<'t> {
    numbers: HashMap<&'t str, usize>,
    /// By number, in words of 32 bits. Predicates lie in a file of their own.
    words: Vec<u32>,
}

impl<'t> Registers<'t> {
    fn collect(body: &'t [Statement<'t>]) -> Registers<'t> {
        let mut families: Vec<&Variable<'t>> = Vec::new();
        let mut registers = Registers {
            numbers: HashMap::new(),
            words: Vec::new(),
        };
        for statement in body {
            match &statement.what {
                What::Variable(variable) if variable.space == StateSpace::Register => {
                    families.push(variable);
                }
                What::Instruction(inst) => {
                    each_register(inst, &mut |name, _| registers.see(name, &families));
                }
                _ => {}
            }
        }
        registers
    }

    fn see(&mut self, name: &'t str, families: &[&Variable<'t>]) {
        if self.numbers.contains_key(name) {
            return;
        }
        let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let declared = families
            .iter()
            .rev()
            .find(|variable| match variable.family {
                Some(_) => variable.name == digits,
                None => variable.name == name,
            });
        if let Some(variable) = declared {
            self.numbers.insert(name, self.words.len());
            self.words.push(words(variable.kind));
        }
    }
}

/// 32-bit words of a register of type `kind`; a 16-bit register counts as one word.
fn words(kind: &str) -> u32 {
    match kind.trim_start_matches(|c: char| c.is_ascii_alphabetic()) {
        "128" => 4,
        "64" => 2,
        _ if kind == "pred" => 0,
        _ => 1,
    }
}

/// A sequence of instructions that control enters only at its beginning.
#[derive(Default)]
struct Block<'t> {
    insts: Vec<&'t Instruction<'t>>,
    successors: Vec<usize>,
}

/// The blocks of `body` in order; `None` if it calls a function, or jumps through anything but its
/// own table.
fn blocks<'t>(body: &'t [Statement<'t>]) -> Option<Vec<Block<'t>>> {
    let mut blocks = vec![Block::default()];
    let mut labels: HashMap<&str, usize> = HashMap::new();
    let mut tables: HashMap<&str, &[&str]> = HashMap::new();
    for statement in body {
        match &statement.what {
            What::Label(label) => {
                blocks.push(Block::default());
                labels.insert(label, blocks.len() - 1);
            }
            What::BranchTargets(table, targets) => {
                tables.insert(table, targets);
            }
            What::Instruction(inst) => {
                if inst.opcode.starts_with("call") {
                    return None;
                }
                blocks.last_mut()?.insts.push(inst);
                if transfers(inst) {
                    blocks.push(Block::default());
                }
            }
            What::Open | What::Close | What::Variable(_) | What::Location(_) => {}
        }
    }
    let last = blocks.len() - 1;
    for (index, block) in blocks.iter_mut().enumerate() {
        let inst = block.insts.last().copied().filter(|inst| transfers(inst));
        if inst.is_none_or(|inst| inst.guard.is_some()) && index < last {
            block.successors.push(index + 1);
        }
        let Some(inst) = inst else { continue };
        match (inst.opcode.split('.').next(), inst.operands.as_slice()) {
            (Some("bra"), [Operand::Name(label, _), ..]) => {
                block.successors.push(*labels.get(label)?);
            }
            (Some("brx"), [.., Operand::Name(table, _)]) => {
                for label in *tables.get(table)? {
                    block.successors.push(*labels.get(label)?);
                }
            }
            (Some("ret" | "exit" | "trap"), _) => {}
            _ => return None,
        }
    }
    Some(blocks)
}

/// Returns true if `inst` ends a block.
fn transfers(inst: &Instruction<'_>) -> bool {
    let base = inst.opcode.split('.').next();
    matches!(base, Some("bra" | "brx" | "ret" | "exit" | "trap"))
}

/// The registers that are live at one place.
struct Live<'r> {
    registers: &'r Registers<'r>,
    bits: Vec<u64>,
    /// The words of all of them.
    words: u32,
}

impl<'r> Live<'r> {
    fn analyze(registers: &'r Registers<'r>, bits: Vec<u64>) -> Live<'r> {
        let mut live = Live {
            registers,
            bits: vec![0; bits.len()],
            words: 0,
        };
        for (word, mut set) in bits.into_iter().enumerate() {
            while set != 0 {
                live.change(64 * word + set.trailing_zeros() as usize, true);
                set &= set - 1;
            }
        }
        live
    }

    fn change(&mut self, number: usize, live: bool) {
        let size = self.registers.words.get(number);
        let (Some(size), Some(word)) = (size, self.bits.get_mut(number / 64)) else {
            debug_assert!(false, "the sets are as wide as the registers are many");
            return;
        };
        let bit = 1 << (number % 64);
        if (*word & bit != 0) != live {
            *word ^= bit;
            self.words = if live {
                self.words + size
            } else {
                self.words - size
            };
        }
    }

    /// Steps backwards over `inst`, and returns the maximum of live words that it needs.
    fn back(&mut self, inst: &Instruction<'_>) -> u32 {
        // A result takes its register, whether anybody reads it or not.
        self.each(inst, Role::Definition, true);
        let behind = self.words;
        // Lanes that a guard leaves out keep the old value.
        if inst.guard.is_none() {
            self.each(inst, Role::Definition, false);
        }
        self.each(inst, Role::Use, true);
        behind.max(self.words)
    }

    fn each(&mut self, inst: &Instruction<'_>, kind: Role, live: bool) {
        let registers = self.registers;
        each_register(inst, &mut |name, act| {
            if let Some(number) = registers.numbers.get(name).filter(|_| act == kind) {
                self.change(*number, live);
            }
        });
    }
}

/// The maximum number of live words; `None` if the function is too large to analyse.
fn most_live(blocks: &[Block<'_>], registers: &Registers<'_>) -> Option<u32> {
    let width = registers.words.len().div_ceil(64);
    if blocks.len().checked_mul(width)? > MOST_WORDS {
        return None;
    }
    let mut predecessors = vec![Vec::new(); blocks.len()];
    for (index, block) in blocks.iter().enumerate() {
        for successor in &block.successors {
            predecessors.get_mut(*successor)?.push(index);
        }
    }
    let mut at_start = vec![vec![0u64; width]; blocks.len()];
    let mut most = vec![0; blocks.len()];
    let mut queue: Vec<usize> = (0..blocks.len()).collect();
    let mut queued = vec![true; blocks.len()];
    while let Some(index) = queue.pop() {
        *queued.get_mut(index)? = false;
        let block = blocks.get(index)?;
        let mut behind = vec![0u64; width];
        for start in block.successors.iter().filter_map(|s| at_start.get(*s)) {
            let words = behind.iter_mut().zip(start);
            words.for_each(|(word, more)| *word |= more);
        }
        let mut live = Live::analyze(registers, behind);
        let steps = block.insts.iter().rev().map(|inst| live.back(inst));
        *most.get_mut(index)? = steps.max().unwrap_or(0); // no instructions
        let start = at_start.get_mut(index)?;
        if *start != live.bits {
            *start = live.bits;
            for before in predecessors.get(index)? {
                if !std::mem::replace(queued.get_mut(*before)?, true) {
                    queue.push(*before);
                }
            }
        }
    }
    most.into_iter().max()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn kernel(body: &str) -> String {
        let head = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\
            .reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<4>;\n";
        format!("{head}{body}\nret;\n}}\n")
    }

    fn of(body: &str) -> Vec<Pressure> {
        pressure(&kernel(body)).unwrap()
    }

    fn live(body: &str) -> u32 {
        of(body)[0].registers - MARGIN
    }

    #[test]
    fn registers_live_from_definition_to_use() {
        assert_eq!(live(""), 0);
        let two = "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 1;\nadd.s32 %r3, %r1, %r2;\n";
        assert_eq!(live(two), 2);
        // A register of 64 bits counts twice, a predicate not at all.
        let wide = "mov.u64 %rd1, 4;\nmov.u32 %r1, 1;\nsetp.eq.s32 %p1, %r1, 0;\n\
            @%p1 st.global.u32 [%rd1], %r1;\n";
        assert_eq!(live(wide), 3);
        // A result that nobody reads has a register.
        assert_eq!(live("mov.u32 %r1, 1;\n"), 1);
        assert_eq!(live("ld.global.v2.b32 {%r1, %r2}, [%rd1];\n"), 2);
    }

    #[test]
    fn a_loop_keeps_what_its_next_iteration_reads() {
        let body = "mov.u32 %r1, 0;\nmov.u32 %r2, 7;\n$L:\nadd.s32 %r3, %r1, %r2;\n\
            mov.u32 %r1, %r3;\nsetp.lt.s32 %p1, %r1, 9;\n@%p1 bra $L;\n";
        assert_eq!(live(body), 2);
        // Lanes that the guard leaves out keep %r2.
        let kept = "mov.u32 %r1, 0;\nmov.u32 %r2, 7;\n@%p1 mov.u32 %r2, %r1;\n\
            add.s32 %r3, %r1, %r2;\n";
        assert_eq!(live(kept), 2);
        // The value of one arm does not live through the other.
        let arms = "mov.u32 %r1, 0;\n@%p1 bra $A;\nmov.u32 %r4, 1;\nmov.u32 %r5, 2;\n\
            add.s32 %r2, %r4, %r5;\nbra.uni $B;\n$A:\nmov.u32 %r2, 3;\n$B:\n\
            add.s32 %r3, %r1, %r2;\n";
        assert_eq!(live(arms), 3);
    }

    #[test]
    fn barriers_are_counted_by_their_numbers() {
        let barriers = |body| of(body)[0].barriers;
        assert_eq!(barriers(""), 0);
        assert_eq!(barriers("bar.sync 0;\nbar.warp.sync -1;\n"), 1);
        assert_eq!(barriers("bar.arrive 3, 64;\nbarrier.sync 5, 64;\n"), 6);
        assert_eq!(barriers("bar.red.popc.u32 %r1, 2, 64, %p1;\n"), 3);
        assert_eq!(barriers("mov.u32 %r1, 1;\nbar.sync %r1, 64;\n"), 16);
        assert_eq!(barriers("barrier.cluster.arrive;\n"), 0);
    }

    #[test]
    fn every_kernel_has_an_estimate() {
        let estimate = |body: &str| {
            let found = estimate_registers(&kernel(body)).unwrap();
            (found[0].registers, found[0].barriers)
        };
        // As the data flow says: the value of one arm does not live through the other.
        assert_eq!(estimate("mov.u32 %r1, 0;\nadd.s32 %r2, %r1, 1;\n"), (1, 0));
        // By one pass, in which a 64-bit register counts twice.
        let local = ".local .align 4 .b8 depot[16];\nmov.u32 %r1, 0;\nmov.u64 %rd1, 7;\n\
            bar.sync 2;\nadd.s32 %r2, %r1, 1;\nadd.s64 %rd2, %rd1, 1;\n";
        assert_eq!(estimate(local), (4, 3));
        assert_eq!(estimate("call f, ();\n"), (0, 0));
    }

    #[test]
    fn kernels_with_calls_or_local_memory_are_left_out() {
        assert_eq!(of(".local .align 4 .b8 depot[16];\n"), []);
        assert_eq!(of("call f, ();\n"), []);
        assert_eq!(of("bra $nowhere;\n"), []);
    }
}
