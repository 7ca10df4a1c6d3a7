//! Statements of a single invocation of a random program, and their random choice.

use super::sizes::VARIABLES;
use fastrand::Rng;

/// A statement of an invocation.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// A variable becomes a value.
    Set(usize, Expression),
    /// An element of the array becomes a variable; the index is another one.
    Put { index: usize, from: usize },
    /// A variable becomes an element of the array.
    Get { to: usize, index: usize },
    /// One of two branches, by a bit of a variable.
    If {
        variable: usize,
        bit: u32,
        yes: Vec<Statement>,
        no: Vec<Statement>,
    },
    /// A loop whose number of iterations is the low bits of a variable.
    Loop {
        variable: usize,
        body: Vec<Statement>,
    },
    /// One of three branches, by the low bits of a variable; the selector has so many bits.
    Switch(usize, u32, [Vec<Statement>; 3]),
    /// Out of the loop or the function around it, or on with the next iteration, if a bit of a
    /// variable is set.
    Leave {
        how: Leave,
        variable: usize,
        bit: u32,
    },
    /// A variable is replaced by a function of two.
    Call {
        to: usize,
        function: usize,
        a: usize,
        b: usize,
    },
}

/// A way to leave a construct.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// Out of the innermost loop.
    Break,
    /// To its next iteration.
    Continue,
    /// Out of the function, with the variable that was looked at.
    Return,
}

/// A value out of two variables.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Expression {
    /// The operation.
    pub(super) op: Operation,
    /// The operands.
    pub(super) a: usize,
    /// See `a`.
    pub(super) b: usize,
}

/// Operations on words; [`text`] and [`run`] define them.
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
    /// The sum of the lower 16 bits, in 16 bits.
    Add16,
    /// The lower 16 bits as floats: product and sum, each rounded, as bits.
    Float,
    /// Of the low bytes, signed.
    Mul8,
    /// Both as one number of 64 bits, divided by an odd number.
    Divide64,
    /// The same, shifted to the right by the low six bits of the second; the low word of it.
    Shift64,
    /// `a * b` and `a ^ b` as a vector of four with the operands, turned and added; the sum of its
    /// components.
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
pub(super) const FUNCTIONS: usize = 2;

/// The surroundings of a statement, which restrict it.
#[derive(Copy, Clone)]
pub(super) struct Surroundings {
    /// Statements around it.
    pub depth: u32,
    /// True if one of them is a loop.
    pub in_loop: bool,
    /// Functions that it may call.
    pub callable: usize,
    /// True if it is in a function.
    pub in_function: bool,
}

/// In an invocation's own code.
pub(super) const MAIN: Surroundings = Surroundings {
    depth: 0,
    in_loop: false,
    callable: FUNCTIONS,
    in_function: false,
};

/// One of the variables.
pub(super) fn variable(rng: &mut Rng) -> usize {
    rng.usize(..VARIABLES)
}

/// Some statements.
pub(super) fn statements(rng: &mut Rng, place: Surroundings) -> Vec<Statement> {
    (0..rng.usize(1..4))
        .map(|_| statement(rng, place))
        .collect()
}

/// One statement.
pub(super) fn statement(rng: &mut Rng, place: Surroundings) -> Statement {
    let deep = place.depth < 3;
    let inside = Surroundings {
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
                Surroundings {
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
