//! Random compute shaders with undefined values of SPIR-V, and their results on the host. Only
//! outputs that depend on an undefined value may be arbitrary: all others have one value, whatever
//! the rest of the shader does.
//!
//! A program is a list of `Statement`s on the variables of one invocation. [`text`] writes it as a
//! module, [`run`] executes it on numbers that may be undefined.

mod run;
mod text;

pub use run::run;
pub use text::{filled, guarded, text};

use fastrand::Rng;

/// Invocations.
pub const INVOCATIONS: usize = 64;
/// Variables of an invocation.
pub const VARIABLES: usize = 5;

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The statements of an invocation.
    pub(crate) statements: Vec<Statement>,
    /// Places that it writes, each at most once: word `place * INVOCATIONS + id` of the results.
    pub outputs: usize,
}

/// A statement of an invocation.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// Computes a variable from two others and a number.
    Set {
        to: usize,
        operation: Operation,
        a: usize,
        b: usize,
        number: u32,
    },
    /// Two branches, by a bit of a variable.
    If {
        variable: usize,
        bit: u32,
        yes: Vec<Statement>,
        no: Vec<Statement>,
    },
    /// A loop whose number of iterations is the lowest two bits of a variable.
    Loop {
        variable: usize,
        body: Vec<Statement>,
    },
    /// Writes a variable to a place of the results.
    Write { place: usize, from: usize },
}

/// The operation that computes a variable from variables `a` and `b` and a number.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// The number.
    Number,
    Add,
    Mul,
    And,
    Or,
    Xor,
    /// The remainder by 40: amounts of shifts, most of them small enough.
    Small,
    ShiftLeft,
    ShiftRight,
    ShiftArithmetic,
    /// `a` shifted by the number, a constant.
    ShiftByNumber,
    Divide,
    DivideSigned,
    Modulo,
    Remainder,
    ModuloSigned,
    /// The bits of `a` as a float, which is converted.
    FloatToUnsigned,
    FloatToSigned,
    /// Bits of `a` from `b` on, as many as the number says, in the place of those of `b`.
    Insert,
    Extract,
    ExtractSigned,
    /// Component `b` of a vector of the first four variables.
    Component,
    /// `a` in the place of component `b` of that vector, of which the first component is taken.
    InsertComponent,
    /// Component 0 or 1, as the number says, of a shuffle whose second component is undefined.
    Shuffle,
    /// OpUndef.
    Undefined,
    /// A variable that nothing is written to.
    Unwritten,
    /// `a` becomes the element of an array that the number says, then element `b` is taken. All
    /// elements begin without a value; indexes are by their lowest two bits.
    Element,
}

impl Operation {
    const ALL: [Operation; 27] = {
        use Operation::*;
        [
            Number,
            Add,
            Mul,
            And,
            Or,
            Xor,
            Small,
            ShiftLeft,
            ShiftRight,
            ShiftArithmetic,
            ShiftByNumber,
            Divide,
            DivideSigned,
            Modulo,
            Remainder,
            ModuloSigned,
            FloatToUnsigned,
            FloatToSigned,
            Insert,
            Extract,
            ExtractSigned,
            Component,
            InsertComponent,
            Shuffle,
            Undefined,
            Unwritten,
            Element,
        ]
    };
}

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut walk = Walk {
        rng: Rng::with_seed(seed),
        outputs: 0,
    };
    let mut statements = walk.list(14, 0);
    // Whatever became of them, the invocation's own number is written last.
    let from = VARIABLES - 1;
    let number = Statement::Write {
        place: walk.outputs,
        from,
    };
    statements.push(number);
    Program {
        statements,
        outputs: walk.outputs + 1,
    }
}

/// The initial values of the invocations of the program of a seed: variable after variable, except
/// the last one, which is the number of the invocation.
pub fn inputs(seed: u64) -> Vec<u32> {
    let mut rng = Rng::with_seed(seed ^ 0x5eed);
    let mut one = || match rng.u32(..6) {
        0 => rng.u32(..),
        1 => u32::MAX - rng.u32(..3),
        2 => 1 << rng.u32(..32),
        3 => (rng.f32() * 100.0).to_bits(),
        _ => rng.u32(..40),
    };
    (0..INVOCATIONS * (VARIABLES - 1)).map(|_| one()).collect()
}

struct Walk {
    rng: Rng,
    outputs: usize,
}

impl Walk {
    fn list(&mut self, most: usize, depth: u32) -> Vec<Statement> {
        let count = self.rng.usize(1..=most);
        (0..count).map(|_| self.statement(depth)).collect()
    }

    /// A variable to assign; the last one never changes.
    fn target(&mut self) -> usize {
        self.rng.usize(..VARIABLES - 1)
    }

    fn statement(&mut self, depth: u32) -> Statement {
        match self.rng.u32(..12) {
            0 | 1 if depth < 3 => Statement::If {
                variable: self.rng.usize(..VARIABLES),
                bit: self.rng.u32(..4),
                yes: self.list(4, depth + 1),
                no: self.list(3, depth + 1),
            },
            2 if depth < 2 => Statement::Loop {
                variable: self.rng.usize(..VARIABLES),
                body: self.list(4, depth + 1),
            },
            3 | 4 => {
                self.outputs += 1;
                Statement::Write {
                    place: self.outputs - 1,
                    from: self.rng.usize(..VARIABLES),
                }
            }
            _ => Statement::Set {
                to: self.target(),
                operation: self.rng.choice(Operation::ALL).unwrap_or(Operation::Add),
                a: self.rng.usize(..VARIABLES),
                b: self.rng.usize(..VARIABLES),
                number: match self.rng.u32(..3) {
                    0 => self.rng.u32(..),
                    _ => self.rng.u32(..40),
                },
            },
        }
    }
}
