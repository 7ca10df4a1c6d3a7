//! Random compute shaders from a seed: arithmetic of all widths, vectors, memory, branches, loops and the ways out of them, functions, subgroup operations, barriers in
//! one piece and split, free of races by construction.
//!
//! A program is a tree (`Top`, `Statement`, `Expression`). [`text`] writes it as a module, [`run`] executes it on the host.

mod expression;
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

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// What the invocations of a workgroup do, one thing after the other.
    tops: Vec<Top>,
    /// Functions; each calls only those before it.
    functions: Vec<Function>,
}

/// A function of two words with variables and an array of its own, which begin as those of an invocation do.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// What it does.
    body: Vec<Statement>,
    /// What it returns when it gets to its end.
    result: usize,
}

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
    /// `to` becomes the value of one lane.
    Broadcast { to: usize, from: usize, lane: u32 },
    /// `to` becomes the number of lanes, before this one or in all, in whose `from` this bit is set.
    Count {
        to: usize,
        from: usize,
        bit: u32,
        before: bool,
    },
    /// Each leaves `from` in workgroup memory, works on its own, and takes what the invocation `distance` further left. The barrier is split around the work, or in one piece
    /// in front of it.
    Exchange {
        to: usize,
        from: usize,
        distance: u32,
        split: bool,
        between: Vec<Statement>,
    },
    /// `to` becomes the sum over the workgroup, by an atomic addition.
    Sum { to: usize, from: usize },
    /// The workgroups with even numbers do one thing, the others another.
    ByGroup(Vec<Top>, Vec<Top>),
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
    /// One of three branches, by the low bits of a variable; the selector has so many bits.
    Switch(usize, u32, [Vec<Statement>; 3]),
    /// Out of the loop or the function around it, or on with the next turn, if a bit of a variable is set.
    Leave {
        how: Leave,
        variable: usize,
        bit: u32,
    },
    /// A variable becomes what a function makes of two.
    Call {
        to: usize,
        function: usize,
        a: usize,
        b: usize,
    },
}

/// How control leaves.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// Out of the innermost loop.
    Break,
    /// To its next turn.
    Continue,
    /// Out of the function, with the variable that was looked at.
    Return,
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
    /// Of the low bytes, signed.
    Mul8,
    /// Both as one number of 64 bits, divided by an odd number.
    Divide64,
    /// The same, shifted to the right by the low six bits of the second; the low word of it.
    Shift64,
    /// `a * b` and `a ^ b` as a vector of four with the operands, turned and added; the sum of its components.
    Vector,
    /// As signed numbers; the divisor is made odd and positive.
    SignedRemainder,
    /// A bit field of the first into the second, where the low bits say.
    Insert,
}

const OPERATIONS: [Operation; 22] = [
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
    Operation::Mul8,
    Operation::Divide64,
    Operation::Shift64,
    Operation::Vector,
    Operation::SignedRemainder,
    Operation::Insert,
];

/// Functions of a program.
const FUNCTIONS: usize = 2;

/// Where a statement stands, for what it may be.
#[derive(Copy, Clone)]
struct Place {
    /// Statements around it.
    depth: u32,
    /// Whether one of them is a loop.
    in_loop: bool,
    /// Functions that it may call.
    callable: usize,
    /// Whether it is in a function.
    in_function: bool,
}

/// In an invocation's own code.
const MAIN: Place = Place {
    depth: 0,
    in_loop: false,
    callable: FUNCTIONS,
    in_function: false,
};

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
    let functions = (0..FUNCTIONS)
        .map(|callable| Function {
            body: statements(
                &mut rng,
                Place {
                    depth: 1,
                    callable,
                    in_function: true,
                    ..MAIN
                },
            ),
            result: variable(&mut rng),
        })
        .collect();
    // One exchange at least.
    let mut tops = tops(&mut rng, 6, 0);
    tops.push(exchange(&mut rng, true));
    Program { tops, functions }
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
        .map(|_| match rng.u8(0..16) {
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
            2 => Top::Broadcast {
                to: variable(rng),
                from: variable(rng),
                lane: rng.u32(0..32),
            },
            3 => Top::Count {
                to: variable(rng),
                from: variable(rng),
                bit: rng.u32(0..32),
                before: rng.bool(),
            },
            4..7 => {
                let split = rng.u8(0..3) != 0;
                exchange(rng, split)
            }
            7 => Top::Sum {
                to: variable(rng),
                from: variable(rng),
            },
            8 if depth < 2 => Top::Repeat(rng.u32(1..4), tops(rng, 3, depth + 1)),
            9 if depth < 2 => Top::ByGroup(tops(rng, 2, depth + 1), tops(rng, 2, depth + 1)),
            _ => Top::Local(statement(rng, MAIN)),
        })
        .collect()
}

fn exchange(rng: &mut Rng, split: bool) -> Top {
    Top::Exchange {
        to: variable(rng),
        from: variable(rng),
        distance: rng.u32(1..WORKGROUP as u32),
        split,
        between: statements(rng, Place { depth: 2, ..MAIN }),
    }
}

fn statements(rng: &mut Rng, place: Place) -> Vec<Statement> {
    (0..rng.usize(1..4))
        .map(|_| statement(rng, place))
        .collect()
}

fn statement(rng: &mut Rng, place: Place) -> Statement {
    let deep = place.depth < 3;
    let inside = Place {
        depth: place.depth + 1,
        ..place
    };
    match rng.u8(0..16) {
        0 if deep => Statement::If {
            variable: variable(rng),
            bit: rng.u32(0..32),
            yes: statements(rng, inside),
            no: statements(rng, inside),
        },
        1 | 2 if deep => Statement::Loop {
            variable: variable(rng),
            body: statements(
                rng,
                Place {
                    in_loop: true,
                    ..inside
                },
            ),
        },
        3 if deep => Statement::Switch(
            variable(rng),
            [8, 16, 32, 64][rng.usize(..4)],
            std::array::from_fn(|_| statements(rng, inside)),
        ),
        4 => Statement::Put {
            index: variable(rng),
            from: variable(rng),
        },
        5 => Statement::Get {
            to: variable(rng),
            index: variable(rng),
        },
        6 if place.in_loop => Statement::Leave {
            how: if rng.bool() {
                Leave::Break
            } else {
                Leave::Continue
            },
            variable: variable(rng),
            bit: rng.u32(0..32),
        },
        7 if place.in_function => Statement::Leave {
            how: Leave::Return,
            variable: variable(rng),
            bit: rng.u32(0..32),
        },
        8 if place.callable > 0 => Statement::Call {
            to: variable(rng),
            function: rng.usize(..place.callable),
            a: variable(rng),
            b: variable(rng),
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
