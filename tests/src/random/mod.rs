//! Random compute shaders from a seed: arithmetic, memory, branches, loops, subgroup operations and split barriers, free of races by construction.
//!
//! A program is a tree (`Top`, `Statement`, `Expression`). [`text`] writes it as a module, [`run`] executes it on the host.

mod run;
mod text;

pub use run::run;
pub use text::text;

use fastrand::Rng;

/// Variables of an invocation.
pub const VARIABLES: usize = 6;
/// Elements of an invocation's array.
pub(crate) const ARRAY: u32 = 8;
/// Invocations of a workgroup.
pub const WORKGROUP: usize = 64;
/// Workgroups.
pub const GROUPS: usize = 2;

/// A program: what the invocations of a workgroup do, one thing after the other.
#[derive(Clone, Debug)]
pub struct Program(Vec<Top>);

/// What all invocations of a workgroup do together.
#[derive(Clone, Debug)]
pub(crate) enum Top {
    /// Each for itself.
    Local(Statement),
    /// `to` becomes the combination over the subgroup.
    Reduce {
        /// How values are combined.
        with: Combine,
        /// Whether lane by lane, or over all.
        scan: bool,
        /// Destination and source.
        to: usize,
        from: usize,
    },
    /// `to` becomes the value of the lane whose number differs in these bits.
    ShuffleXor { to: usize, from: usize, mask: u32 },
    /// Each leaves `from` in workgroup memory, works on its own between arrive and wait, and takes what the invocation `distance` further left.
    Exchange {
        to: usize,
        from: usize,
        distance: u32,
        between: Vec<Statement>,
    },
    /// The same several times over.
    Repeat(u32, Vec<Top>),
}

/// What an invocation does.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// A variable becomes a value.
    Set(usize, Expression),
    /// An element of the array becomes a variable; the index is another one.
    Put { index: usize, from: usize },
    /// A variable becomes an element of the array.
    Get { to: usize, index: usize },
    /// One of two branches, as a bit of a variable says.
    If {
        variable: usize,
        bit: u32,
        yes: Vec<Statement>,
        no: Vec<Statement>,
    },
    /// As often as the low bits of a variable say.
    Loop {
        variable: usize,
        body: Vec<Statement>,
    },
    /// One of three branches, by the low bits of a variable.
    Switch(usize, [Vec<Statement>; 3]),
}

/// A value out of two variables.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Expression {
    /// What is done.
    op: Operation,
    /// The operands.
    a: usize,
    /// See `a`.
    b: usize,
}

/// Operations on words; [`text`] and [`run`] say what they are.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    /// By the low five bits.
    ShiftLeft,
    /// See `ShiftLeft`; the sign follows.
    ShiftRight,
    /// The divisor is made odd.
    Divide,
    /// See `Divide`.
    Remainder,
    Reverse,
    Count,
    /// `a < b ? a : b`.
    Least,
    /// The upper word of the product.
    MulHigh,
    /// Of the low halves, in 16 bits.
    Add16,
    /// The low halves as floats: product and sum, rounded each, as bits.
    Float,
}

const OPERATIONS: [Operation; 16] = [
    Operation::Add,
    Operation::Sub,
    Operation::Mul,
    Operation::And,
    Operation::Or,
    Operation::Xor,
    Operation::ShiftLeft,
    Operation::ShiftRight,
    Operation::Divide,
    Operation::Remainder,
    Operation::Reverse,
    Operation::Count,
    Operation::Least,
    Operation::MulHigh,
    Operation::Add16,
    Operation::Float,
];

/// How a subgroup combines.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    Add,
    Xor,
    Max,
}

/// A program of this seed.
pub fn program(seed: u64) -> Program {
    let mut rng = Rng::with_seed(seed);
    // One exchange at least.
    let mut program = tops(&mut rng, 6, 0);
    program.push(exchange(&mut rng));
    Program(program)
}

/// The operands of all invocations: two words each.
pub fn inputs(seed: u64) -> Vec<u32> {
    let mut rng = Rng::with_seed(!seed);
    (0..WORKGROUP * GROUPS * 2).map(|_| rng.u32(..)).collect()
}

fn variable(rng: &mut Rng) -> usize {
    rng.usize(..VARIABLES)
}

fn tops(rng: &mut Rng, count: usize, depth: u32) -> Vec<Top> {
    (0..count)
        .map(|_| match rng.u8(0..10) {
            0 => Top::Reduce {
                with: [Combine::Add, Combine::Xor, Combine::Max][rng.usize(..3)],
                scan: rng.bool(),
                to: variable(rng),
                from: variable(rng),
            },
            1 => Top::ShuffleXor {
                to: variable(rng),
                from: variable(rng),
                mask: rng.u32(1..32),
            },
            2 | 3 => exchange(rng),
            4 if depth < 2 => Top::Repeat(rng.u32(1..4), tops(rng, 3, depth + 1)),
            _ => Top::Local(statement(rng, 0)),
        })
        .collect()
}

fn exchange(rng: &mut Rng) -> Top {
    Top::Exchange {
        to: variable(rng),
        from: variable(rng),
        distance: rng.u32(1..WORKGROUP as u32),
        between: statements(rng, 2),
    }
}

fn statements(rng: &mut Rng, depth: u32) -> Vec<Statement> {
    (0..rng.usize(1..4))
        .map(|_| statement(rng, depth))
        .collect()
}

fn statement(rng: &mut Rng, depth: u32) -> Statement {
    let deep = depth < 3;
    match rng.u8(0..12) {
        0 if deep => Statement::If {
            variable: variable(rng),
            bit: rng.u32(0..32),
            yes: statements(rng, depth + 1),
            no: statements(rng, depth + 1),
        },
        1 if deep => Statement::Loop {
            variable: variable(rng),
            body: statements(rng, depth + 1),
        },
        2 if deep => Statement::Switch(
            variable(rng),
            std::array::from_fn(|_| statements(rng, depth + 1)),
        ),
        3 => Statement::Put {
            index: variable(rng),
            from: variable(rng),
        },
        4 => Statement::Get {
            to: variable(rng),
            index: variable(rng),
        },
        _ => Statement::Set(
            variable(rng),
            Expression {
                op: OPERATIONS[rng.usize(..OPERATIONS.len())],
                a: variable(rng),
                b: variable(rng),
            },
        ),
    }
}
