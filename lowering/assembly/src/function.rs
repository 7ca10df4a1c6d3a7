//! A function of assembly text, line by line.

use std::collections::BTreeMap;

/// The role of a machine instruction in barriers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Does the kernel's work: arithmetic, moves, memory accesses, calls.
    Work,
    /// Signals a workgroup barrier that this wave has arrived, and continues.
    Arrive,
    /// Waits for a workgroup barrier.
    Wait,
    /// Arrives at a workgroup barrier and waits for it.
    ArriveAndWait,
    /// Housekeeping that corresponds to no work in SPIR-V: waits for counters, fences, cache
    /// maintenance, branches, returns, scheduling hints, the synchronisation of one wave with
    /// itself.
    Housekeeping,
}

impl Role {
    /// The role of `mnemonic` by a table of first letters. The first matching row counts; a
    /// mnemonic without a row is work.
    pub(super) fn from_mnemonic(mnemonic: &str, rows: &[(&str, Role)]) -> Role {
        rows.iter()
            .find(|(prefix, _)| mnemonic.starts_with(prefix))
            .map_or(Role::Work, |(_, role)| *role)
    }
}

/// The successors of an instruction. Targets are positions in [`Function::instructions`].
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
    /// The text of the line after the mnemonic, without comments.
    pub operands: String,
    /// Word offset of the SPIR-V instruction that it was generated from; `None` if the compiler
    /// merged several or added the instruction itself. For inlined code, the word offset of the
    /// call in the kernel's own function, if the text has it.
    pub word: Option<u32>,
    /// The column of its own place, even in inlined code; 0 if there is none.
    pub column: u32,
    /// Its role in barriers.
    pub role: Role,
    /// Its successors.
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

/// A control transfer whose targets are still names.
#[derive(Clone, Debug)]
pub(super) enum Pending {
    Next,
    Jump(Vec<String>),
    Branch(Vec<String>),
    End,
}

/// Collects the instructions of one function; labels may be used before they are defined.
#[derive(Debug, Default)]
pub(super) struct Builder {
    name: String,
    instructions: Vec<(Instruction, Pending)>,
    labels: BTreeMap<String, usize>,
    /// The line of the `.loc` in force.
    line: Option<u32>,
    /// The line of the outermost call through which the current place was inlined, or its own line.
    outermost: Option<u32>,
    /// The column of the `.loc` in force.
    column: u32,
}

impl Builder {
    pub(super) fn named(name: &str) -> Self {
        Builder {
            name: name.to_owned(),
            ..Builder::default()
        }
    }

    /// Adds a label before the next instruction.
    pub(super) fn label(&mut self, label: &str) {
        self.labels
            .insert(label.to_owned(), self.instructions.len());
    }

    /// Reads the operands of `.loc`: `FILE LINE COLUMN`, options and the comment. Line 0 means "no
    /// place".
    ///
    /// Inlined code says where it was inlined: PTX with
    /// `, function_name NAME, inlined_at FILE LINE COLUMN`, after a `.loc` of that place; both
    /// vendors, where comments are printed, with `FILE:LINE:COLUMN @[ FILE:LINE:COLUMN ]` once for
    /// every level. A column of 0 is left out of the comment.
    pub(super) fn location(&mut self, operands: &str) {
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

    pub(super) fn push(&mut self, mnemonic: &str, operands: &str, role: Role, flow: Pending) {
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

    pub(super) fn finish(self) -> Function {
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
