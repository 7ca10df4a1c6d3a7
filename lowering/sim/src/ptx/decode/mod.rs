//! From the shape of the text to a [`Kernel`]: names to numbers, opcodes to operations, variables
//! to addresses.
//!
//! Only what the kernel can reach is decoded. An instruction that the simulator does not know
//! becomes an operation that reports itself when it is reached.

#[cfg(test)]
mod agreement;
mod arithmetic;
mod compute;
mod control;
mod join;
mod layout;
mod matrix;
mod memory;
mod opcode;
mod operand;
mod sync;
mod texel;

use super::arith::{Function, Mode};
use super::operand::{Guard, List, Register, Source};
use super::problem::Problem;
use super::program::{Coded, Kernel, Op};
pub(super) use join::NOWHERE;
use opcode::Opcode;
use splitbar_assembly::ptx::{
    self,
    syntax::{Function as Text, Instruction, Module, StateSpace, Variable, What},
};
use std::collections::BTreeMap;

/// Registers that a kernel may have, with all that it calls. One takes 256 bytes in each warp.
const MOST_REGISTERS: u32 = 1 << 16;
/// Bytes of local memory that a kernel may have, for each lane.
const MOST_LOCAL: u64 = 1 << 20;

/// The names of the kernels in a text.
///
/// # Errors
/// The text is not PTX.
pub fn kernels(text: &str) -> Result<Vec<String>, Problem> {
    let module = ptx::module(text)?;
    Ok(module
        .functions
        .iter()
        .filter(|f| f.entry)
        .map(|f| f.name.to_owned())
        .collect())
}

/// Decodes the kernel of this name; without a name, the only one.
///
/// # Errors
/// The text is not PTX, has no such kernel, or asks for more than the limits allow.
pub fn kernel(text: &str, name: Option<&str>) -> Result<Kernel, Problem> {
    let module = ptx::module(text)?;
    let entries: Vec<&Text<'_>> = module.functions.iter().filter(|f| f.entry).collect();
    let entry = match (name, entries.as_slice()) {
        (None, [only]) => only,
        (None, all) => {
            return Err(Problem::syntax(
                0,
                format!("the file has {} kernels: name one", all.len()),
            ));
        }
        (Some(name), all) => all
            .iter()
            .find(|f| f.name == name)
            .ok_or_else(|| Problem::syntax(0, format!("no kernel `{name}`")))?,
    };
    let mut decoder = Decoder::new(&module, entry);
    decoder.kernel.lines = text.lines().map(|line| line.trim().to_owned()).collect();
    let reached = decoder.reached(entry)?;
    decoder.lay_out(entry, &reached)?;
    for function in reached {
        decoder.function(function)?;
    }
    decoder.connect_calls();
    decoder.narrow_loads();
    Ok(decoder.kernel)
}

/// What a name means.
#[derive(Copy, Clone, Debug)]
enum Symbol {
    Register {
        register: Register,
        bits: u32,
    },
    /// An address in the variable's state space.
    Address(u64),
    /// A jump table: index in [`Decoder::tables`].
    Table(usize),
}

/// Names of a block of the text.
#[derive(Clone, Debug, Default)]
struct Block<'t> {
    parent: Option<usize>,
    names: BTreeMap<&'t str, Symbol>,
    /// Registers with numbers: prefix, first register, how many, bits.
    families: Vec<(&'t str, Register, u32, u32)>,
    labels: BTreeMap<&'t str, u32>,
}

/// Where a function lies.
#[derive(Clone, Debug, Default)]
struct Callee {
    entry: u32,
    /// Local addresses and sizes of its parameters and results.
    parameters: Vec<(u32, u32)>,
    results: Vec<(u32, u32)>,
}

/// Why an instruction is not decoded.
struct Unknown;
type Decoded<T> = Result<T, Unknown>;

struct Decoder<'m, 't> {
    module: &'m Module<'t>,
    kernel: Kernel,
    constants: BTreeMap<u64, u32>,
    blocks: Vec<Block<'t>>,
    block: usize,
    callees: BTreeMap<&'t str, Callee>,
    /// Jump tables: block and labels.
    tables: Vec<(usize, Vec<&'t str>)>,
    /// Operations whose target is a label: position, block, label.
    jumps: Vec<(usize, usize, &'t str)>,
    /// Operations that go through a table: position and table.
    indexed: Vec<(usize, usize)>,
    /// Calls: position and function.
    calls: Vec<(usize, &'t str)>,
    /// The carry of `add.cc` and its like.
    carry: Register,
    local: u64,
    guard: Option<Guard>,
    line: u32,
    source: Option<u32>,
}

impl<'m, 't> Decoder<'m, 't> {
    fn new(module: &'m Module<'t>, entry: &Text<'t>) -> Self {
        let kernel = Kernel {
            name: entry.name.to_owned(),
            target: module.target.map(str::to_owned),
            code: Vec::new(),
            entry: 0,
            constants: Vec::new(),
            lists: Vec::new(),
            // Register 0 holds the carry.
            registers: 1,
            specials: Vec::new(),
            local_bytes: 0,
            shared_bytes: 0,
            has_dynamic_shared: false,
            parameters: Vec::new(),
            parameter_block: Vec::new(),
            required: entry.required,
            regions: Vec::new(),
            lines: Vec::new(),
        };
        Decoder {
            module,
            kernel,
            constants: BTreeMap::new(),
            blocks: vec![Block::default()],
            block: 0,
            callees: BTreeMap::new(),
            tables: Vec::new(),
            jumps: Vec::new(),
            indexed: Vec::new(),
            calls: Vec::new(),
            carry: 0,
            local: 0,
            guard: None,
            line: 0,
            source: None,
        }
    }

    fn function(&mut self, function: &Text<'t>) -> Result<(), Problem> {
        let start = self.kernel.code.len();
        if let Some(callee) = self.callees.get_mut(function.name) {
            callee.entry = start as u32;
        }
        if function.entry {
            self.kernel.entry = start as u32;
        }
        let outer = self.block;
        self.block = self.new_block();
        self.name_parameters(function);
        self.source = None;
        for statement in &function.body {
            self.line = statement.line;
            match &statement.what {
                What::Location(place) => {
                    let line = place.split_whitespace().nth(1);
                    let line = line.and_then(|line| line.parse().ok());
                    self.source = line.filter(|line| *line > 0); // 0: no place
                }
                What::Open => self.block = self.new_block(),
                What::Close => {
                    self.block = self
                        .blocks
                        .get(self.block)
                        .and_then(|b| b.parent)
                        .unwrap_or(0)
                }
                What::Label(name) => {
                    let here = self.kernel.code.len() as u32;
                    if let Some(block) = self.blocks.get_mut(self.block) {
                        block.labels.insert(name, here);
                    }
                }
                What::Variable(variable) => self.declare(variable)?,
                What::BranchTargets(name, labels) => {
                    self.tables.push((self.block, labels.clone()));
                    let table = Symbol::Table(self.tables.len() - 1);
                    self.name(name, table);
                }
                What::Instruction(instruction) => self.statement(instruction)?,
            }
        }
        // Falling off the end is a return.
        self.guard = None;
        self.emit(Op::Return);
        self.connect_jumps()?;
        join::set(
            &mut self.kernel.code,
            start,
            &self.kernel.lists,
            &self.kernel.constants,
        );
        self.block = outer;
        Ok(())
    }

    fn statement(&mut self, instruction: &Instruction<'t>) -> Result<(), Problem> {
        let (code, jumps, calls, indexed) = (
            self.kernel.code.len(),
            self.jumps.len(),
            self.calls.len(),
            self.indexed.len(),
        );
        self.guard = None;
        let decoded = match instruction.guard {
            Some((name, negated)) => match self.symbol(name) {
                Some(Symbol::Register { register, .. }) => {
                    self.guard = Some(Guard { register, negated });
                    self.instruction(instruction)
                }
                _ => Err(Unknown),
            },
            None => self.instruction(instruction),
        };
        if decoded.is_err() {
            self.kernel.code.truncate(code);
            self.jumps.truncate(jumps);
            self.calls.truncate(calls);
            self.indexed.truncate(indexed);
            self.emit(Op::Unsupported);
        }
        if self.kernel.registers > MOST_REGISTERS {
            return Err(Problem::limit(
                self.line,
                format!("more than {MOST_REGISTERS} registers"),
            ));
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction<'t>) -> Decoded<()> {
        let mut op = Opcode::new(instruction.opcode);
        let operands = instruction.operands.as_slice();
        match op.root {
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" => {
                self.control(&mut op, operands)
            }
            "ld" | "ldu" | "st" | "atom" | "red" | "cvta" | "isspacep" | "prefetch"
            | "prefetchu" | "cp" => self.memory(&mut op, operands),
            "bar" | "barrier" | "mbarrier" | "fence" | "membar" | "shfl" | "vote" | "match"
            | "redux" | "elect" | "activemask" | "nanosleep" => {
                self.synchronisation(&mut op, operands)
            }
            "suld" | "sust" | "tex" | "tld4" | "suq" | "txq" => self.texel(&mut op, operands),
            "mma" => self.multiply_add(&mut op, operands),
            "ldmatrix" => self.load_matrix(&mut op, operands),
            "mov" => self.move_(&mut op, operands),
            "addc" | "subc" | "madc" => self.carrying(&mut op, operands),
            "add" | "sub" | "mad" if instruction.opcode.contains(".cc.") => {
                self.carrying(&mut op, operands)
            }
            _ => self.arithmetic(&mut op, operands),
        }
    }

    fn emit(&mut self, op: Op) {
        let coded = Coded {
            guard: self.guard,
            op,
            line: self.line,
            source: self.source,
        };
        self.kernel.code.push(coded);
    }

    fn compute(&mut self, function: Function, mode: Mode, to: Register, from: [Source; 4]) {
        self.emit(Op::Compute {
            function,
            mode,
            to,
            from,
        });
    }

    fn constant(&mut self, value: u64) -> Source {
        let constants = &mut self.kernel.constants;
        let index = *self.constants.entry(value).or_insert_with(|| {
            constants.push([value; 32]);
            constants.len() as u32 - 1
        });
        Source::Constant(index)
    }

    fn list(&mut self, sources: &[Source]) -> List {
        let start = self.kernel.lists.len() as u32;
        self.kernel.lists.extend_from_slice(sources);
        List {
            start,
            count: sources.len() as u32,
        }
    }

    fn new_register(&mut self) -> Register {
        let register = self.kernel.registers;
        self.kernel.registers = register.saturating_add(1);
        register
    }

    fn new_block(&mut self) -> usize {
        self.blocks.push(Block {
            parent: Some(self.block),
            ..Block::default()
        });
        self.blocks.len() - 1
    }

    fn name(&mut self, name: &'t str, symbol: Symbol) {
        if let Some(block) = self.blocks.get_mut(self.block) {
            block.names.insert(name, symbol);
        }
    }

    fn declare(&mut self, variable: &Variable<'t>) -> Result<(), Problem> {
        match variable.space {
            StateSpace::Register => self.declare_registers(variable),
            StateSpace::Local | StateSpace::Param => {
                let value = self.take_local(variable)?;
                self.name_address(variable, value);
                Ok(())
            }
            StateSpace::Shared => Ok(()), // laid out before
            StateSpace::Global | StateSpace::Const => self.add_region(variable),
        }
    }
}
