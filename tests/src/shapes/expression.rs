//! Expressions of 32-bit words: what they are worth, and their text.

use fastrand::Rng;
use std::fmt::Write;

/// An operation on two words.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of operations")]
pub enum Operation {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    /// By the low five bits.
    Shl,
    /// By the low five bits.
    Shr,
    /// By the low five bits, with the sign.
    Sar,
    /// By the second word with its lowest bit set.
    Div,
    /// By the second word with its lowest bit set.
    Rem,
    UMin,
    UMax,
    SMin,
    SMax,
    /// 1 where the sum needs more than 32 bits.
    Carry,
    /// The upper word of the product.
    MulHigh,
    /// The first word where it is above the second, else the second.
    Above,
}

use Operation::*;

const OPERATIONS: [Operation; 18] = [
    Add, Sub, Mul, And, Or, Xor, Shl, Shr, Sar, Div, Rem, UMin, UMax, SMin, SMax, Carry, MulHigh,
    Above,
];

/// A word.
#[derive(Clone, Debug)]
pub enum Expression {
    /// One of the four words of the environment.
    Input(usize),
    /// A constant.
    Word(u32),
    /// An operation.
    Binary(Operation, Box<Expression>, Box<Expression>),
    /// An operation on the low 16 bits, whose result has 16 bits: one of those up to `Xor`, or
    /// `Above`.
    Half(Operation, Box<Expression>, Box<Expression>),
    /// Some bits, with or without sign: from where, and how many.
    Bits(bool, u32, u32, Box<Expression>),
    /// The sum of the three low bytes, in 8 bits.
    ByteSum(Box<Expression>),
}

use Expression::*;

impl Expression {
    pub(crate) fn binary(operation: Operation, a: Expression, b: Expression) -> Expression {
        Binary(operation, Box::new(a), Box::new(b))
    }

    pub(crate) fn half(operation: Operation, a: Expression, b: Expression) -> Expression {
        Half(operation, Box::new(a), Box::new(b))
    }

    /// Byte `number` of `word`.
    pub(crate) fn byte(number: u32, word: Expression) -> Expression {
        let moved = match number {
            0 => word,
            _ => Expression::binary(Shr, word, Word(8 * number)),
        };
        Expression::binary(And, moved, Word(255))
    }

    /// A random expression of at most `depth` operations in a path.
    pub(crate) fn random(rng: &mut Rng, depth: u32) -> Expression {
        if depth == 0 || rng.u32(..8) == 0 {
            return match rng.u32(..4) {
                0 => Word([0, 1, 16, 255, 0xffff, 0x8000_0000, !0, rng.u32(..)][rng.usize(..8)]),
                _ => Input(rng.usize(..4)),
            };
        }
        let mut next = || Expression::random(rng, depth - 1);
        let (a, b) = (next(), next());
        match rng.u32(..10) {
            0 | 1 => {
                let low = [Add, Sub, Mul, And, Or, Xor, Above];
                Expression::half(low[rng.usize(..low.len())], a, b)
            }
            2 => {
                let first = rng.u32(..32);
                Bits(rng.bool(), first, 1 + rng.u32(..32 - first), Box::new(a))
            }
            3 if rng.bool() => ByteSum(Box::new(a)),
            3 | 4 => {
                let mut byte = |word| Expression::byte(rng.u32(..4), word);
                Expression::binary(Mul, byte(a), byte(b))
            }
            5 | 6 => Expression::binary(Add, a, b),
            _ => Expression::binary(OPERATIONS[rng.usize(..OPERATIONS.len())], a, b),
        }
    }

    /// What it is worth where the environment is `inputs`.
    pub(crate) fn value(&self, inputs: [u32; 4]) -> u32 {
        match self {
            Input(number) => inputs[*number],
            Word(word) => *word,
            Binary(operation, a, b) => combine(*operation, a.value(inputs), b.value(inputs)),
            Half(operation, a, b) => {
                let [a, b] = [a, b].map(|side| side.value(inputs) & 0xffff);
                combine(*operation, a, b) & 0xffff
            }
            Bits(signed, first, count, word) => {
                let word = word.value(inputs) >> first << (32 - count);
                match signed {
                    true => (word as i32 >> (32 - count)) as u32,
                    false => word >> (32 - count),
                }
            }
            ByteSum(word) => {
                let bytes = word.value(inputs).to_le_bytes();
                let sum = bytes[..3]
                    .iter()
                    .fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
                sum.into()
            }
        }
    }

    /// Writes it; gives the name of its value. `inputs` are the names of the environment.
    pub(crate) fn text(&self, inputs: &[String; 4], out: &mut Text) -> String {
        match self {
            Input(number) => inputs[*number].clone(),
            Word(word) => out.constant(*word),
            Binary(operation, a, b) => {
                let (a, b) = (a.text(inputs, out), b.text(inputs, out));
                combined(*operation, &a, &b, "u32", out)
            }
            Half(operation, a, b) => {
                let [a, b] = [a, b].map(|side| {
                    let side = side.text(inputs, out);
                    out.push(&format!("OpUConvert %u16 {side}"))
                });
                let half = combined(*operation, &a, &b, "u16", out);
                out.push(&format!("OpUConvert %u32 {half}"))
            }
            Bits(signed, first, count, word) => {
                let word = word.text(inputs, out);
                let (first, count) = (out.constant(*first), out.constant(*count));
                if *signed {
                    let word = out.push(&format!("OpBitcast %i32 {word}"));
                    let bits = out.push(&format!("OpBitFieldSExtract %i32 {word} {first} {count}"));
                    return out.push(&format!("OpBitcast %u32 {bits}"));
                }
                out.push(&format!("OpBitFieldUExtract %u32 {word} {first} {count}"))
            }
            ByteSum(word) => {
                let word = word.text(inputs, out);
                let bytes = out.push(&format!("OpBitcast %bytes {word}"));
                let [a, b, c] =
                    [0, 1, 2].map(|at| out.push(&format!("OpCompositeExtract %u8 {bytes} {at}")));
                let sum = out.push(&format!("OpIAdd %u8 {a} {b}"));
                let sum = out.push(&format!("OpIAdd %u8 {sum} {c}"));
                out.push(&format!("OpUConvert %u32 {sum}"))
            }
        }
    }
}

fn combine(operation: Operation, a: u32, b: u32) -> u32 {
    match operation {
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Mul => a.wrapping_mul(b),
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        Shl => a << (b & 31),
        Shr => a >> (b & 31),
        Sar => (a as i32 >> (b & 31)) as u32,
        Div => a / (b | 1),
        Rem => a % (b | 1),
        UMin => a.min(b),
        UMax | Above => a.max(b),
        SMin => (a as i32).min(b as i32) as u32,
        SMax => (a as i32).max(b as i32) as u32,
        Carry => u32::from(a.checked_add(b).is_none()),
        MulHigh => ((u64::from(a) * u64::from(b)) >> 32) as u32,
    }
}

fn combined(operation: Operation, a: &str, b: &str, ty: &str, out: &mut Text) -> String {
    let plain = |name: &str, b: &str| format!("{name} %{ty} {a} {b}");
    let line = match operation {
        Add => plain("OpIAdd", b),
        Sub => plain("OpISub", b),
        Mul => plain("OpIMul", b),
        And => plain("OpBitwiseAnd", b),
        Or => plain("OpBitwiseOr", b),
        Xor => plain("OpBitwiseXor", b),
        Shl | Shr | Sar => {
            let mask = out.constant(31);
            let by = out.push(&format!("OpBitwiseAnd %u32 {b} {mask}"));
            let name = match operation {
                Shl => "OpShiftLeftLogical",
                Shr => "OpShiftRightLogical",
                _ => "OpShiftRightArithmetic",
            };
            plain(name, &by)
        }
        Div | Rem => {
            let one = out.constant(1);
            let by = out.push(&format!("OpBitwiseOr %u32 {b} {one}"));
            plain(if operation == Div { "OpUDiv" } else { "OpUMod" }, &by)
        }
        UMin => format!("OpExtInst %u32 %glsl UMin {a} {b}"),
        UMax => format!("OpExtInst %u32 %glsl UMax {a} {b}"),
        SMin => format!("OpExtInst %u32 %glsl SMin {a} {b}"),
        SMax => format!("OpExtInst %u32 %glsl SMax {a} {b}"),
        Carry | MulHigh => {
            let name = match operation {
                Carry => "OpIAddCarry",
                _ => "OpUMulExtended",
            };
            let both = out.push(&format!("{name} %pair {a} {b}"));
            format!("OpCompositeExtract %u32 {both} 1")
        }
        Above => {
            let above = out.push(&format!("OpUGreaterThan %bool {a} {b}"));
            format!("OpSelect %{ty} {above} {a} {b}")
        }
    };
    out.push(&line)
}

/// The text of a function's body, and the constants that it names.
#[derive(Default)]
pub(crate) struct Text {
    pub(crate) lines: String,
    pub(crate) constants: std::collections::BTreeSet<u32>,
    names: u32,
}

impl Text {
    /// A name that nothing has.
    pub(crate) fn name(&mut self) -> String {
        self.names += 1;
        format!("%n{}", self.names)
    }

    /// Adds an instruction that has a result; gives its name.
    pub(crate) fn push(&mut self, instruction: &str) -> String {
        let name = self.name();
        self.line(&format!("{name} = {instruction}"));
        name
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, line: &str) {
        writeln!(self.lines, "{line}").unwrap_or_default();
    }

    /// The name of a constant.
    pub(crate) fn constant(&mut self, word: u32) -> String {
        self.constants.insert(word);
        format!("%c{word}")
    }
}
