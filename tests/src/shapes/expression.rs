//! Expressions of 32-bit words: their values, and their text.

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
    /// 1 where the second word is above the first.
    Borrow,
    /// The upper word of the signed product.
    SMulHigh,
    /// The quotient of half the first word (signed) and the second word with its lowest bit set.
    SDiv,
    /// The remainder of that, with the sign of the dividend.
    SRem,
    /// The remainder of that, with the sign of the divisor.
    SMod,
}

use Operation::*;

const OPERATIONS: [Operation; 18] = [
    Add, Sub, Mul, And, Or, Xor, Shl, Shr, Sar, Div, Rem, UMin, UMax, SMin, SMax, Carry, MulHigh,
    Above,
];

/// Operations of numbers of 8, 16 and 64 bits.
const NARROW: [Operation; 20] = [
    Add, Sub, Mul, And, Or, Xor, Shl, Shr, Sar, Div, Rem, UMin, UMax, SMin, SMax, Above, SDiv,
    SRem, SMod, Mul,
];

/// The way to combine two words into two 64-bit numbers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Each word by itself, without sign.
    Zeros,
    /// Each word by itself, with its sign.
    Signs,
    /// The first word with the second word above it, and vice versa.
    Both,
    /// The first word with the second above it; the second by itself.
    Mixed,
}

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
    /// An operation on the low 8 or 16 bits; the result has as many.
    Narrow(u32, Operation, Box<Expression>, Box<Expression>),
    /// An operation on 64-bit numbers; true if the upper word is the result.
    Wide(Operation, Pairs, bool, Box<Expression>, Box<Expression>),
    /// The upper word of a sum, or of a difference, of pairs of words, word by word with carry.
    Long(bool, Box<Expression>, Box<Expression>),
    /// The low bits, extended with or without sign to 64 bits and back.
    Extended(u32, bool, Box<Expression>),
    /// The second word's bits in the place of some of the first: from where, and how many.
    Insert(u32, u32, Box<Expression>, Box<Expression>),
    /// As [`Expression::Insert`], from the low four bits of the third word on, as many as its next
    /// four bits say.
    InsertBy(Box<Expression>, Box<Expression>, Box<Expression>),
    /// As [`Expression::Bits`], from the low four bits of the second word on, as many as its next
    /// four bits say.
    BitsBy(bool, Box<Expression>, Box<Expression>),
    /// The first of three numbers of 16 or 32 bits, not below the lesser and not above the greater
    /// of the others, with or without sign.
    Clamp(u32, bool, [Box<Expression>; 3]),
    /// The low bits as a floating-point number of 16, 32 or 64 bits that has so many, with or
    /// without sign, times 2 to the power of minus this, and what is before its point.
    Number(u32, bool, u32, Box<Expression>),
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

    /// A random expression of at most `depth` operations in a path, of every kind.
    pub(crate) fn any(rng: &mut Rng, depth: u32) -> Expression {
        if depth == 0 || rng.u32(..3) == 0 {
            return Expression::random(rng, depth);
        }
        let mut next = || Box::new(Expression::any(rng, depth - 1));
        let (a, b) = (next(), next());
        let operation = NARROW[rng.usize(..NARROW.len())];
        let (signed, at) = (rng.bool(), rng.u32(..32));
        match rng.u32(..16) {
            0..3 => Narrow([8, 16][rng.usize(..2)], operation, a, b),
            3..6 => {
                let pairs = [Pairs::Zeros, Pairs::Signs, Pairs::Both, Pairs::Mixed];
                Wide(operation, pairs[rng.usize(..4)], signed, a, b)
            }
            6 => Long(signed, a, b),
            7 => Extended([8, 16, 32][rng.usize(..3)], signed, a),
            8 => Insert(at, rng.u32(..=32 - at), a, b),
            9 => InsertBy(Box::new(Expression::random(rng, 1)), a, b),
            10 => BitsBy(signed, a, b),
            11 => {
                let third = Box::new(Expression::random(rng, 1));
                Clamp([16, 32][rng.usize(..2)], signed, [a, b, third])
            }
            12 | 13 => Number([16, 32, 64][rng.usize(..3)], signed, at % 5, a),
            _ => {
                let more = [Borrow, SMulHigh, SDiv, SRem, SMod, Carry];
                Binary(more[rng.usize(..more.len())], a, b)
            }
        }
    }

    /// A random expression of at most `depth` operations in a path, of 32-bit and 16-bit words.
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

    /// The value of the expression for `inputs`.
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
                if *signed {
                    (word as i32 >> (32 - count)) as u32
                } else {
                    word >> (32 - count)
                }
            }
            ByteSum(word) => {
                let bytes = word.value(inputs).to_le_bytes();
                let sum = bytes[..3]
                    .iter()
                    .fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
                sum.into()
            }
            Narrow(bits, operation, a, b) => {
                let [a, b] = [a, b].map(|side| side.value(inputs).into());
                sized(*operation, *bits, a, b) as u32
            }
            Wide(operation, pairs, high, a, b) => {
                let [a, b] = [a, b].map(|side| side.value(inputs));
                let (a, b) = pairs.value(a, b);
                let result = sized(*operation, 64, a, b);
                (if *high { result >> 32 } else { result }) as u32
            }
            Long(is_sum, a, b) => {
                let [a, b] = [a, b].map(|side| side.value(inputs));
                let (a, b) = Pairs::Both.value(a, b);
                let operation = if *is_sum { Add } else { Sub };
                (sized(operation, 64, a, b) >> 32) as u32
            }
            Extended(bits, signed, word) => {
                let number = low(*bits, word.value(inputs).into());
                (if *signed {
                    sign(*bits, number) as u64
                } else {
                    number
                }) as u32
            }
            Insert(first, count, base, field) => {
                let [base, field] = [base, field].map(|side| side.value(inputs));
                insert(base, field, *first, *count)
            }
            InsertBy(base, field, by) => {
                let [base, field, by] = [base, field, by].map(|side| side.value(inputs));
                insert(base, field, by & 15, by >> 4 & 15)
            }
            BitsBy(signed, word, by) => {
                let (word, by) = (word.value(inputs), by.value(inputs));
                let (first, count) = (by & 15, by >> 4 & 15);
                let field = low(count, (word >> first).into());
                (if *signed {
                    sign(count, field) as u64
                } else {
                    field
                }) as u32
            }
            Clamp(bits, signed, three) => {
                let three = three.each_ref();
                let [x, a, b] = three.map(|side| low(*bits, side.value(inputs).into()));
                let within = if *signed {
                    let [x, a, b] = [x, a, b].map(|number| sign(*bits, number));
                    x.clamp(a.min(b), a.max(b)) as u64
                } else {
                    x.clamp(a.min(b), a.max(b))
                };
                low(*bits, within) as u32
            }
            // All of it is exact.
            Number(bits, signed, down, word) => {
                let digits = digits(*bits);
                let number = low(digits, word.value(inputs).into());
                if *signed {
                    (sign(digits, number) / (1 << down)) as u32
                } else {
                    (number >> down) as u32
                }
            }
        }
    }

    /// Writes the expression, and returns the name of its value. `inputs` are the names of the
    /// environment.
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
            Narrow(bits, operation, a, b) => {
                let [a, b] = [a, b].map(|side| {
                    let side = side.text(inputs, out);
                    out.push(&format!("OpUConvert %u{bits} {side}"))
                });
                let narrow = sized_text(*operation, *bits, &a, &b, out);
                out.push(&format!("OpUConvert %u32 {narrow}"))
            }
            Wide(operation, pairs, high, a, b) => {
                let (a, b) = (a.text(inputs, out), b.text(inputs, out));
                let (a, b) = pairs.text(&a, &b, out);
                let mut result = sized_text(*operation, 64, &a, &b, out);
                if *high {
                    result = out.push(&format!("OpShiftRightLogical %u64 {result} %u64_32"));
                }
                out.push(&format!("OpUConvert %u32 {result}"))
            }
            Long(is_sum, a, b) => {
                let (a, b) = (a.text(inputs, out), b.text(inputs, out));
                let (first, second) = if *is_sum {
                    ("OpIAddCarry", "OpIAdd")
                } else {
                    ("OpISubBorrow", "OpISub")
                };
                let low = out.push(&format!("{first} %pair {a} {b}"));
                let carry = out.push(&format!("OpCompositeExtract %u32 {low} 1"));
                let high = out.push(&format!("{second} %u32 {b} {a}"));
                out.push(&format!("{second} %u32 {high} {carry}"))
            }
            Extended(bits, signed, word) => {
                let mut word = word.text(inputs, out);
                if *bits != 32 {
                    word = out.push(&format!("OpUConvert %u{bits} {word}"));
                }
                let name = if *signed { "OpSConvert" } else { "OpUConvert" };
                let wide = out.push(&format!("{name} %u64 {word}"));
                out.push(&format!("OpUConvert %u32 {wide}"))
            }
            Insert(first, count, base, field) => {
                let (base, field) = (base.text(inputs, out), field.text(inputs, out));
                let (first, count) = (out.constant(*first), out.constant(*count));
                out.push(&format!(
                    "OpBitFieldInsert %u32 {base} {field} {first} {count}"
                ))
            }
            InsertBy(base, field, by) => {
                let [base, field, by] = [base, field, by].map(|side| side.text(inputs, out));
                let (first, count) = place(&by, out);
                out.push(&format!(
                    "OpBitFieldInsert %u32 {base} {field} {first} {count}"
                ))
            }
            BitsBy(signed, word, by) => {
                let (word, by) = (word.text(inputs, out), by.text(inputs, out));
                let (first, count) = place(&by, out);
                let name = if *signed { "S" } else { "U" };
                out.push(&format!(
                    "OpBitField{name}Extract %u32 {word} {first} {count}"
                ))
            }
            Clamp(bits, signed, three) => {
                let [x, a, b] = three.each_ref().map(|side| {
                    let side = side.text(inputs, out);
                    match bits {
                        32 => side,
                        _ => out.push(&format!("OpUConvert %u{bits} {side}")),
                    }
                });
                let kind = if *signed { "S" } else { "U" };
                let [least, most] = ["Min", "Max"].map(|name| {
                    out.push(&format!("OpExtInst %u{bits} %glsl {kind}{name} {a} {b}"))
                });
                let within = out.push(&format!(
                    "OpExtInst %u{bits} %glsl {kind}Clamp {x} {least} {most}"
                ));
                match bits {
                    32 => within,
                    _ => out.push(&format!("OpUConvert %u32 {within}")),
                }
            }
            Number(bits, signed, down, word) => {
                let word = word.text(inputs, out);
                let kind = if *signed { "S" } else { "U" };
                let (zero, digits) = (out.constant(0), out.constant(digits(*bits)));
                let low = out.push(&format!(
                    "OpBitField{kind}Extract %u32 {word} {zero} {digits}"
                ));
                let float = out.push(&format!("OpConvert{kind}ToF %f{bits} {low}"));
                let less = out.push(&format!("OpFMul %f{bits} {float} %f{bits}_{down}"));
                out.push(&format!("OpConvertFTo{kind} %u32 {less}"))
            }
        }
    }
}

/// Bits of an integer that a floating-point number of `bits` bits has; all that a word has, at
/// most.
fn digits(bits: u32) -> u32 {
    match bits {
        16 => 11,
        32 => 24,
        _ => 32,
    }
}

/// The first bit and the number of bits of a field, both below 16.
fn place(by: &str, out: &mut Text) -> (String, String) {
    let (mask, four) = (out.constant(15), out.constant(4));
    let first = out.push(&format!("OpBitwiseAnd %u32 {by} {mask}"));
    let count = out.push(&format!("OpShiftRightLogical %u32 {by} {four}"));
    let count = out.push(&format!("OpBitwiseAnd %u32 {count} {mask}"));
    (first, count)
}

/// `base` with the low `count` bits of `field` from bit `first` on.
fn insert(base: u32, field: u32, first: u32, count: u32) -> u32 {
    let mask = (low(count, u64::MAX) << first) as u32;
    base & !mask | ((u64::from(field) << first) as u32) & mask
}

/// The low bits of a number.
fn low(bits: u32, number: u64) -> u64 {
    match bits {
        0 => 0,
        _ => number << (64 - bits) >> (64 - bits),
    }
}

/// A number of `bits` bits with its sign.
fn sign(bits: u32, number: u64) -> i64 {
    match bits {
        0 => 0,
        _ => (number << (64 - bits)) as i64 >> (64 - bits),
    }
}

impl Pairs {
    fn value(self, a: u32, b: u32) -> (u64, u64) {
        let both = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        match self {
            Pairs::Zeros => (a.into(), b.into()),
            Pairs::Signs => (sign(32, a.into()) as u64, sign(32, b.into()) as u64),
            Pairs::Both => (both(a, b), both(b, a)),
            Pairs::Mixed => (both(a, b), b.into()),
        }
    }

    fn text(self, a: &str, b: &str, out: &mut Text) -> (String, String) {
        let mut one = |name: &str, word: &str| out.push(&format!("{name} %u64 {word}"));
        match self {
            Pairs::Zeros => (one("OpUConvert", a), one("OpUConvert", b)),
            Pairs::Signs => (one("OpSConvert", a), one("OpSConvert", b)),
            Pairs::Both => {
                let (low, high) = (one("OpUConvert", a), one("OpUConvert", b));
                let mut both = |low: &str, high: &str| {
                    let high = out.push(&format!("OpShiftLeftLogical %u64 {high} %u64_32"));
                    out.push(&format!("OpBitwiseOr %u64 {low} {high}"))
                };
                (both(&low, &high), both(&high, &low))
            }
            Pairs::Mixed => {
                let pair = out.push(&format!("OpCompositeConstruct %u32v2 {a} {b}"));
                let first = out.push(&format!("OpBitcast %u64 {pair}"));
                (first, out.push(&format!("OpUConvert %u64 {b}")))
            }
        }
    }
}

/// An operation on numbers of 8, 16 or 64 bits. Shifts are by the low bits of the amount.
fn sized(operation: Operation, bits: u32, a: u64, b: u64) -> u64 {
    let (a, b) = (low(bits, a), low(bits, b));
    let (s, t) = (sign(bits, a), sign(bits, b));
    let by = b & u64::from(bits - 1);
    let (half, divisor) = (s >> 1, sign(bits, b | 1));
    let result = match operation {
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Mul => a.wrapping_mul(b),
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        Shl => a << by,
        Shr => a >> by,
        Sar => (s >> by) as u64,
        Div => a / (b | 1),
        Rem => a % (b | 1),
        UMin => a.min(b),
        UMax | Above => a.max(b),
        SMin => s.min(t) as u64,
        SMax => s.max(t) as u64,
        SDiv => (half / divisor) as u64,
        SRem => (half % divisor) as u64,
        SMod => modulo(half, divisor) as u64,
        Carry | Borrow | MulHigh | SMulHigh => 0,
    };
    low(bits, result)
}

/// The remainder with the sign of the divisor.
fn modulo(dividend: i64, divisor: i64) -> i64 {
    let rest = dividend % divisor;
    if rest != 0 && (rest < 0) != (divisor < 0) {
        rest + divisor
    } else {
        rest
    }
}

fn sized_text(operation: Operation, bits: u32, a: &str, b: &str, out: &mut Text) -> String {
    let ty = format!("%u{bits}");
    let (name, b) = match operation {
        Shl | Shr | Sar => {
            let by = out.push(&format!("OpBitwiseAnd {ty} {b} {ty}_{}", bits - 1));
            let name = match operation {
                Shl => "OpShiftLeftLogical",
                Shr => "OpShiftRightLogical",
                _ => "OpShiftRightArithmetic",
            };
            (name, by)
        }
        Div | Rem => {
            let by = out.push(&format!("OpBitwiseOr {ty} {b} {ty}_1"));
            (if operation == Div { "OpUDiv" } else { "OpUMod" }, by)
        }
        SDiv | SRem | SMod => {
            let half = out.push(&format!("OpShiftRightArithmetic {ty} {a} {ty}_1"));
            let by = out.push(&format!("OpBitwiseOr {ty} {b} {ty}_1"));
            let name = match operation {
                SDiv => "OpSDiv",
                SRem => "OpSRem",
                _ => "OpSMod",
            };
            return out.push(&format!("{name} {ty} {half} {by}"));
        }
        UMin | UMax | SMin | SMax => {
            return out.push(&format!("OpExtInst {ty} %glsl {operation:?} {a} {b}"));
        }
        _ => return combined(operation, a, b, &ty[1..], out),
    };
    out.push(&format!("{name} {ty} {a} {b}"))
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
        Borrow => u32::from(b > a),
        SMulHigh => ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32,
        SDiv | SRem | SMod => {
            let (half, divisor) = (i64::from(a as i32 >> 1), i64::from((b | 1) as i32));
            let result = match operation {
                SDiv => half / divisor,
                SRem => half % divisor,
                _ => modulo(half, divisor),
            };
            result as u32
        }
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
        SDiv | SRem | SMod => {
            let one = out.constant(1);
            let half = out.push(&format!("OpShiftRightArithmetic %u32 {a} {one}"));
            let by = out.push(&format!("OpBitwiseOr %u32 {b} {one}"));
            format!("Op{operation:?} %u32 {half} {by}")
        }
        Carry | MulHigh | Borrow | SMulHigh => {
            let name = match operation {
                Carry => "OpIAddCarry",
                Borrow => "OpISubBorrow",
                SMulHigh => "OpSMulExtended",
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

    /// Adds an instruction with a result, and returns the name of the result.
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
