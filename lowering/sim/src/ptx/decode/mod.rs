//! From the shape of the text to a [`Kernel`]: names to numbers, opcodes to operations, variables to addresses.
//!
//! Only what the kernel can reach is decoded. An instruction that the simulator does not know becomes an operation that reports itself when it is reached.

mod arithmetic;
mod control;
mod join;
mod layout;
mod matrix;
mod memory;
mod opcode;
mod sync;

use super::arith::{self, Function, Mode, mask};
use super::exec::special::Special;
use super::problem::Problem;
use super::program::{Address, Coded, Guard, Kernel, List, Op, Register, Source};
use super::syntax::{
    Base, Function as Text, Instruction, Module, Operand, StateSpace, Variable, What,
};
use super::types::{Class, Type};
use super::{lex, parse};
pub(super) use join::NOWHERE;
use opcode::Opcode;
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
    let tokens = lex::tokens(text)?;
    let module = parse::module(&tokens)?;
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
    let tokens = lex::tokens(text)?;
    let module = parse::module(&tokens)?;
    let entries: Vec<&Text<'_>> = module.functions.iter().filter(|f| f.entry).collect();
    let entry = match (name, entries.as_slice()) {
        (None, [only]) => only,
        (None, all) => {
            return Err(Problem::syntax(
                0,
                format!("{} kernels: which one has to be said", all.len()),
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
        for statement in &function.body {
            self.line = statement.line;
            self.source = statement.source;
            match &statement.what {
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

    // Arithmetic.

    fn arithmetic(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        let root = op.root;
        let computed = arithmetic::computed(op).ok_or(Unknown)?;
        let mut mode = computed.mode;
        let (to, mut from) = operands.split_first().ok_or(Unknown)?;
        if root == "lop3" {
            let (table, rest) = from.split_last().ok_or(Unknown)?;
            let Operand::Integer(table) = table else {
                return Err(Unknown);
            };
            mode.table = u8::try_from(*table).map_err(|_| Unknown)?;
            from = rest;
        }
        if from.len() != computed.from.len() {
            return Err(Unknown);
        }
        let mut sources = [self.constant(0); 4];
        for ((source, operand), kind) in sources.iter_mut().zip(from).zip(&computed.from) {
            *source = self.source(operand, *kind)?;
        }
        if root == "setp"
            && let Operand::Pair(yes, no) = to
        {
            let (yes, no) = (self.register(yes)?.0, self.register(no)?.0);
            // The first result may be an operand of the second.
            let held = self.new_register();
            self.compute(computed.function, mode, held, sources);
            self.compute(arith::compare_not, mode, no, sources);
            let held = [Source::Register(held), sources[1], sources[2], sources[3]];
            self.compute(arith::first, Mode::of(Type::PREDICATE), yes, held);
            return Ok(());
        }
        let (to, width) = self.destination(to)?;
        self.compute(computed.function, mode, to, sources);
        // A conversion to a small number with a sign fills the whole register with the sign.
        if root == "cvt" && computed.to.is_signed() && width < 64 {
            let low = Mode::of(Type::of(Class::Bits, width));
            let zero = self.zero();
            self.compute(
                arith::integer::or,
                low,
                to,
                [Source::Register(to), zero, zero, zero],
            );
        }
        Ok(())
    }

    fn zero(&mut self) -> Source {
        self.constant(0)
    }

    /// `add.cc`, `addc`, `mad.lo.cc` and so on: the carry is a register of its own.
    fn carrying(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        let sets = op.flag("cc");
        let reads = op.root.ends_with('c') && op.root != "mad";
        let low = op.flag("lo");
        let high = op.flag("hi");
        let kind = op.kind().ok_or(Unknown)?;
        if !op.is_empty() || kind.is_float() {
            return Err(Unknown);
        }
        let (to, from) = operands.split_first().ok_or(Unknown)?;
        let (to, _) = self.destination(to)?;
        let mode = Mode::of(kind);
        let mut sources = Vec::new();
        for operand in from {
            sources.push(self.source(operand, kind)?);
        }
        let zero = self.zero();
        let (a, b) = match (op.root, sources.as_slice()) {
            ("mad" | "madc", [a, b, c]) if low || high => {
                let product = self.new_register();
                let function: Function = if low {
                    arith::integer::mad_low
                } else {
                    arith::integer::mad_high
                };
                self.compute(function, mode, product, [*a, *b, zero, zero]);
                (Source::Register(product), *c)
            }
            (_, [a, b]) => (*a, *b),
            _ => return Err(Unknown),
        };
        let (sum, over): (Function, Function) = match op.root {
            "sub" | "subc" => (arith::integer::sub_borrow, arith::integer::borrow),
            _ => (arith::integer::add_carry, arith::integer::carry),
        };
        let carry = if reads {
            Source::Register(self.carry)
        } else {
            zero
        };
        let held = self.new_register();
        self.compute(sum, mode, held, [a, b, carry, zero]);
        if sets {
            self.compute(over, mode, self.carry, [a, b, carry, zero]);
        }
        self.compute(
            arith::first,
            mode,
            to,
            [Source::Register(held), zero, zero, zero],
        );
        Ok(())
    }

    /// `mov`, between registers, from addresses and special registers, and to and from vectors.
    fn move_(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        let kind = op.kind().ok_or(Unknown)?;
        let [to, from] = operands else {
            return Err(Unknown);
        };
        if !op.is_empty() || kind.bits() > 64 {
            return Err(Unknown);
        }
        let zero = self.zero();
        let mode = Mode::of(Type::of(Class::Bits, kind.bits()));
        match (to, from) {
            (Operand::List(parts), from) => {
                let whole = self.source(from, kind)?;
                let bits = kind.bits() / parts.len().max(1) as u32;
                for (index, part) in (0u32..)
                    .zip(parts)
                    .filter(|(_, part)| **part != Operand::Nothing)
                {
                    let (to, _) = self.destination(part)?;
                    let position = self.constant((index * bits).into());
                    let length = self.constant(bits.into());
                    let mode = Mode::of(Type::of(Class::Unsigned, kind.bits()));
                    self.compute(
                        arith::integer::bfe,
                        mode,
                        to,
                        [whole, position, length, zero],
                    );
                }
            }
            (to, Operand::List(parts)) => {
                let (to, _) = self.destination(to)?;
                let bits = kind.bits() / parts.len().max(1) as u32;
                let part_kind = Type::of(Class::Bits, bits);
                let mut whole = zero;
                let held = self.new_register();
                for (index, part) in (0u32..).zip(parts) {
                    let part = self.source(part, part_kind)?;
                    let position = self.constant((index * bits).into());
                    let length = self.constant(bits.into());
                    self.compute(
                        arith::integer::bfi,
                        mode,
                        held,
                        [part, whole, position, length],
                    );
                    whole = Source::Register(held);
                }
                self.compute(arith::first, mode, to, [whole, zero, zero, zero]);
            }
            (
                to,
                Operand::Name(
                    "%clock" | "%clock64" | "%clock_hi" | "%globaltimer" | "%globaltimer_lo",
                    0,
                ),
            ) => {
                let (to, _) = self.destination(to)?;
                self.emit(Op::Clock { to });
            }
            (to, from) => {
                let from = self.source(from, kind)?;
                let (to, _) = self.destination(to)?;
                self.compute(arith::first, mode, to, [from, zero, zero, zero]);
            }
        }
        Ok(())
    }

    // Operands.

    fn source(&mut self, operand: &Operand<'t>, kind: Type) -> Decoded<Source> {
        let bits = match operand {
            Operand::Name("WARP_SZ", 0) => 32,
            Operand::Name(name, offset) => match self.symbol(name) {
                Some(Symbol::Register { register, .. }) if *offset == 0 => {
                    return Ok(Source::Register(register));
                }
                Some(Symbol::Address(value)) => value.wrapping_add_signed(*offset),
                _ => return Err(Unknown),
            },
            Operand::Not(name) => {
                let (register, _) = self.register(name)?;
                let not = self.new_register();
                let zero = self.zero();
                self.compute(
                    arith::integer::not,
                    Mode::of(Type::PREDICATE),
                    not,
                    [Source::Register(register), zero, zero, zero],
                );
                return Ok(Source::Register(not));
            }
            Operand::Integer(value) => *value,
            Operand::Single(bits) if kind.class == Class::Double => {
                f64::from(f32::from_bits(*bits)).to_bits()
            }
            Operand::Single(bits) => (*bits).into(),
            Operand::Double(bits) if kind.class == Class::Single => {
                (f64::from_bits(*bits) as f32).to_bits().into()
            }
            Operand::Double(bits) => *bits,
            Operand::Pair(..)
            | Operand::Nothing
            | Operand::Address(..)
            | Operand::List(_)
            | Operand::Other => {
                return Err(Unknown);
            }
        };
        // A predicate may be given as any number but 0.
        let bits = if kind == Type::PREDICATE {
            u64::from(bits != 0)
        } else {
            bits & mask(kind.bits())
        };
        Ok(self.constant(bits))
    }

    fn predicate(&mut self, operand: &Operand<'t>) -> Decoded<Source> {
        self.source(operand, Type::PREDICATE)
    }

    fn word(&mut self, operand: &Operand<'t>) -> Decoded<Source> {
        self.source(operand, Type::B32)
    }

    fn address(&mut self, operand: &Operand<'t>) -> Decoded<Address> {
        let Operand::Address(base, offset) = operand else {
            return Err(Unknown);
        };
        Ok(match base {
            Base::Number => Address {
                base: self.constant(*offset as u64),
                offset: 0,
            },
            Base::Name(name) => match self.symbol(name).ok_or(Unknown)? {
                Symbol::Register { register, .. } => Address {
                    base: Source::Register(register),
                    offset: *offset,
                },
                Symbol::Address(value) => Address {
                    base: self.constant(value),
                    offset: *offset,
                },
                Symbol::Table(_) => return Err(Unknown),
            },
        })
    }

    /// A register that is written, and its bits.
    fn destination(&mut self, operand: &Operand<'t>) -> Decoded<(Register, u32)> {
        match operand {
            Operand::Name(name, 0) => self.register(name),
            Operand::Nothing => Ok((self.new_register(), 64)),
            _ => Err(Unknown),
        }
    }

    /// `d|p` or `d`.
    fn pair(&mut self, operand: &Operand<'t>) -> Decoded<(Option<Register>, Option<Register>)> {
        match operand {
            Operand::Pair(a, b) => {
                let mut one = |name: &str| {
                    if name == "_" {
                        Ok(None)
                    } else {
                        self.register(name).map(|r| Some(r.0))
                    }
                };
                Ok((one(a)?, one(b)?))
            }
            other => Ok((Some(self.destination(other)?.0), None)),
        }
    }

    fn register(&mut self, name: &str) -> Decoded<(Register, u32)> {
        match self.symbol(name) {
            Some(Symbol::Register { register, bits }) => Ok((register, bits)),
            _ => Err(Unknown),
        }
    }

    fn symbol(&mut self, name: &str) -> Option<Symbol> {
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (prefix, number) = name.split_at_checked(name.len() - digits)?;
        let number: Option<u32> = number.parse().ok();
        let mut at = Some(self.block);
        while let Some(block) = at.and_then(|at| self.blocks.get(at)) {
            if let Some(symbol) = block.names.get(name) {
                return Some(*symbol);
            }
            let family = block
                .families
                .iter()
                .find(|f| f.0 == prefix && number.is_some_and(|n| n < f.2));
            if let (Some((_, first, _, bits)), Some(number)) = (family, number) {
                return Some(Symbol::Register {
                    register: first + number,
                    bits: *bits,
                });
            }
            at = block.parent;
        }
        let special = Special::named(name)?;
        let known = self
            .kernel
            .specials
            .iter()
            .find(|(_, s)| *s == special)
            .map(|(register, _)| *register);
        let register = known.unwrap_or_else(|| {
            let register = self.new_register();
            self.kernel.specials.push((register, special));
            register
        });
        Some(Symbol::Register { register, bits: 64 })
    }

    // Emitting.

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
