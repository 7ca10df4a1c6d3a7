//! Final assembly text, read back: functions, labels, instructions, and which SPIR-V instruction
//! each machine instruction came from.
//!
//! The text must have been generated with debug lines whose number is a word offset plus one
//! (`.loc FILE LINE COLUMN` in front of the instructions it speaks of, in force until the next
//! one). One reader per notation, because they share nothing but `.loc`; the functions that they
//! read are the same for all. Of PTX there is also the whole module ([`ptx::module`]), which can be
//! executed; and of AMDGPU's text, windows are widened ([`amdgpu::late_windows`]).
//!
//! ```
//! use splitbar_assembly::{Role, parse};
//! use splitbar_target::Target;
//!
//! let target = Target::by_name("gfx1201").ok_or("no such target")?;
//! let text = "\t.type k,@function\nk:\n\ts_barrier_signal -1\n\ts_barrier_wait -1\n\ts_endpgm\n";
//! let functions = parse(text, &target.arch).map_err(|error| error.to_string())?;
//! let roles: Vec<Role> = functions[0].instructions.iter().map(|inst| inst.role).collect();
//! assert_eq!(roles[..2], [Role::Arrive, Role::Wait]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(test), warn(clippy::indexing_slicing))] // input must never reach one

pub mod amdgpu;
pub mod ptx;
pub mod sass;

use ptx::SyntaxError;
use splitbar_target::Arch;
use std::collections::BTreeMap;

/// What a machine instruction is to a barrier.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Does the kernel's work: arithmetic, moves, memory accesses, calls.
    Work,
    /// Tells a workgroup barrier that this wave is here, and goes on.
    Arrive,
    /// Waits for a workgroup barrier.
    Wait,
    /// Arrives at a workgroup barrier and waits for it.
    ArriveAndWait,
    /// Housekeeping that no SPIR-V instruction asked for as work: waits for counters, fences, cache
    /// maintenance, branches, returns, scheduling hints, the synchronisation of one wave with
    /// itself.
    Housekeeping,
}

impl Role {
    /// What `mnemonic` is by a table of first letters; the first row that fits counts, and no row
    /// means work.
    fn of(mnemonic: &str, rows: &[(&str, Role)]) -> Role {
        rows.iter()
            .find(|(prefix, _)| mnemonic.starts_with(prefix))
            .map_or(Role::Work, |(_, role)| *role)
    }
}

/// Where control goes after an instruction. Targets are positions in [`Function::instructions`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To one of the targets.
    Jump(Vec<usize>),
    /// To the next instruction or to one of the targets.
    Branch(Vec<usize>),
    /// Nowhere: the end of the function, or an address that the text does not give.
    End,
}

/// A machine instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its mnemonic, without predicate and operands.
    pub mnemonic: String,
    /// What follows the mnemonic on its line, without comment.
    pub operands: String,
    /// Word offset of the SPIR-V instruction that it came from; `None` where the compiler merged
    /// several or made it itself. Of what was inlined, this is the call in the kernel's own
    /// function, as far as the text tells.
    pub word: Option<u32>,
    /// The column of its own place, of what was inlined too; 0 where there is none.
    pub column: u32,
    /// What it is to a barrier.
    pub role: Role,
    /// Where control goes.
    pub flow: Flow,
}

impl Instruction {
    /// Adds to a word of workgroup memory, atomically.
    pub fn is_local_add(&self) -> bool {
        let name = &self.mnemonic;
        let ptx = (name.starts_with("red.") || name.starts_with("atom.")) && name.contains(".add");
        name.starts_with("ds_add")
            || name.starts_with("ATOMS.ADD")
            || name.starts_with("ATOMS.POPC.INC")
            || (ptx && name.contains(".shared"))
    }

    /// Loads from workgroup memory.
    pub fn is_local_load(&self) -> bool {
        let ds = ["ds_read", "ds_load", "LDS"];
        ds.iter().any(|start| self.mnemonic.starts_with(start))
            || (self.mnemonic.starts_with("ld.") && self.mnemonic.contains(".shared"))
    }
}

/// A function of the assembly text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its symbol.
    pub name: String,
    /// Its instructions, in order.
    pub instructions: Vec<Instruction>,
}

impl Function {
    /// The positions that control can reach right after the instruction at `position`.
    pub fn successors(&self, position: usize) -> Vec<usize> {
        let next = position + 1;
        let exists = |p: &usize| *p < self.instructions.len();
        match self.instructions.get(position).map(|i| &i.flow) {
            None | Some(Flow::End) => Vec::new(),
            Some(Flow::Next) => Some(next).into_iter().filter(exists).collect(),
            Some(Flow::Jump(targets)) => targets.iter().copied().filter(exists).collect(),
            Some(Flow::Branch(targets)) => std::iter::once(next)
                .chain(targets.iter().copied())
                .filter(exists)
                .collect(),
        }
    }
}

/// Reads assembly text of `arch`: its functions in order.
///
/// # Errors
/// The first place of what should be PTX and is not. In AMDGPU assembly every line is something.
pub fn parse(text: &str, arch: &Arch) -> Result<Vec<Function>, SyntaxError> {
    match arch {
        Arch::Amdgpu(_) => Ok(amdgpu::parse(text)),
        Arch::Nvptx(_) => ptx::functions(text),
    }
}

/// A control transfer whose targets are still names.
#[derive(Clone, Debug)]
enum Pending {
    Next,
    Jump(Vec<String>),
    Branch(Vec<String>),
    End,
}

/// Collects the instructions of one function; labels may be used before they are defined.
#[derive(Debug, Default)]
struct Builder {
    name: String,
    instructions: Vec<(Instruction, Pending)>,
    labels: BTreeMap<String, usize>,
    /// The line of the `.loc` in force.
    line: Option<u32>,
    /// The line of the outermost call that what is in force was inlined by, or its own.
    outermost: Option<u32>,
    /// The column of the `.loc` in force.
    column: u32,
}

impl Builder {
    fn named(name: &str) -> Self {
        Builder {
            name: name.to_owned(),
            ..Builder::default()
        }
    }

    /// A label in front of the next instruction.
    fn label(&mut self, label: &str) {
        self.labels
            .insert(label.to_owned(), self.instructions.len());
    }

    /// What follows `.loc`: `FILE LINE COLUMN` and options, the comment included. Line 0 is "no
    /// place".
    ///
    /// Inlined code says where it was inlined: PTX with
    /// `, function_name NAME, inlined_at FILE LINE COLUMN`, after a `.loc` of that place; both
    /// vendors, where comments are printed, with `FILE:LINE:COLUMN @[ FILE:LINE:COLUMN ]` once for
    /// every level. A column of 0 is left out of the comment.
    fn location(&mut self, operands: &str) {
        let number = |text: &str, at: usize| {
            text.split_whitespace()
                .nth(at)
                .and_then(|number| number.trim_end_matches(',').parse::<u32>().ok())
        };
        let second = |text: &str| number(text, 1);
        let line = second(operands);
        self.column = number(operands, 2).unwrap_or(0);
        let commented = operands.rsplit_once("@[ ").and_then(|(_, outermost)| {
            let place = outermost.split(' ').next()?;
            let mut numbers = place.rsplit(':').map_while(|part| part.parse().ok());
            let last = numbers.next();
            numbers.next().or(last)
        });
        let inlined_at = operands
            .split_once("inlined_at")
            .and_then(|(_, place)| second(place));
        self.outermost = match (commented, inlined_at) {
            (Some(outermost), _) => Some(outermost),
            (None, Some(at)) if self.line == Some(at) => self.outermost,
            (None, Some(at)) => Some(at),
            (None, None) => line,
        };
        self.line = line;
    }

    fn push(&mut self, mnemonic: &str, operands: &str, role: Role, flow: Pending) {
        let instruction = Instruction {
            mnemonic: mnemonic.to_owned(),
            operands: operands.to_owned(),
            word: self.outermost.and_then(|line| line.checked_sub(1)),
            column: self.column,
            role,
            flow: Flow::Next,
        };
        self.instructions.push((instruction, flow));
    }

    fn finish(self) -> Function {
        let labels = self.labels;
        let resolve = |names: Vec<String>| {
            names
                .iter()
                .filter_map(|name| labels.get(name).copied())
                .collect()
        };
        let instructions = self
            .instructions
            .into_iter()
            .map(|(mut instruction, flow)| {
                instruction.flow = match flow {
                    Pending::Next => Flow::Next,
                    Pending::Jump(names) => Flow::Jump(resolve(names)),
                    Pending::Branch(names) => Flow::Branch(resolve(names)),
                    Pending::End => Flow::End,
                };
                instruction
            })
            .collect();
        Function {
            name: self.name,
            instructions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(directives: &[&str]) -> Vec<Option<u32>> {
        let mut builder = Builder::named("k");
        for directive in directives {
            builder.location(directive);
            builder.push("x", "", Role::Work, Pending::Next);
        }
        builder
            .finish()
            .instructions
            .iter()
            .map(|i| i.word)
            .collect()
    }

    #[test]
    fn inlined_code_belongs_to_the_outermost_call() {
        assert_eq!(words(&["1 8 0", "1 0 0 is_stmt 0"]), [Some(7), None]);
        assert_eq!(
            words(&[
                "1 8 0",
                "1 90 0, function_name $L__info_string0, inlined_at 1 8 0"
            ]),
            [Some(7), Some(7)]
        );
        let nested = [
            "1 8 0",
            "1 50 0, function_name $a, inlined_at 1 8 0",
            "1 90 0, function_name $b, inlined_at 1 50 0",
            "1 9 0",
        ];
        assert_eq!(words(&nested), [Some(7), Some(7), Some(7), Some(8)]);
        assert_eq!(
            words(&["1 90 0 is_stmt 0   ; m.spv:90:0 @[ m.spv:50:0 @[ m.spv:8:0 ] ]"]),
            [Some(7)]
        );
        assert_eq!(
            words(&["1 90 2   ; m.spv:90:2 @[ m.spv:50:1 @[ m.spv:8 ] ]"]),
            [Some(7)]
        );
    }
}
