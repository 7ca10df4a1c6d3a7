//! Expressions of a random program: their values on the host, and their instructions.

use super::sizes::VARIABLES;
use super::statement::{Expression, Operation};
use super::text::Writer;

/// The value of an expression.
pub(super) fn value(Expression { op, a, b }: Expression, variables: &[u32; VARIABLES]) -> u32 {
    let (a, b) = (variables[a], variables[b]);
    let both = u64::from(a) << 32 | u64::from(b);
    match op {
        Operation::Add => a.wrapping_add(b),
        Operation::Sub => a.wrapping_sub(b),
        Operation::Mul => a.wrapping_mul(b),
        Operation::And => a & b,
        Operation::Or => a | b,
        Operation::Xor => a ^ b,
        Operation::ShiftLeft => a << (b & 31),
        Operation::ShiftRight => ((a as i32) >> (b & 31)) as u32,
        Operation::Divide => a / (b | 1),
        Operation::Remainder => a % (b | 1),
        Operation::SignedRemainder => (a as i32).wrapping_rem((b & 0x7fff_ffff | 1) as i32) as u32,
        Operation::Reverse => a.reverse_bits(),
        Operation::Count => a.count_ones(),
        Operation::Least => a.min(b),
        Operation::MulHigh => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        Operation::Add16 => u32::from((a as u16).wrapping_add(b as u16)),
        Operation::Mul8 => i32::from((a as i8).wrapping_mul(b as i8)) as u32,
        Operation::Divide64 => (both / u64::from(a | 1)) as u32,
        Operation::Shift64 => (both >> (b & 63)) as u32,
        Operation::Vector => {
            let vector = [a.wrapping_mul(b), a ^ b, a, b];
            let turned = [vector[2], vector[0], vector[3], vector[1]];
            let sums = vector
                .iter()
                .zip(turned)
                .map(|(v, t)| v.wrapping_mul(3) ^ t);
            sums.fold(0, u32::wrapping_add)
        }
        Operation::Insert => {
            let (offset, count) = (b & 15, a & 15);
            let mask = ((1u32 << count) - 1) << offset;
            b & !mask | a << offset & mask
        }
        Operation::Float => {
            let (x, y) = ((a & 0xffff) as f32, (b & 0xffff) as f32);
            (x * y + x).to_bits()
        }
    }
}

impl Writer {
    /// The same as instructions; the id of the result.
    pub(super) fn expression(&mut self, Expression { op, a, b }: Expression) -> String {
        let (a, b) = (self.get(a), self.get(b));
        let simple = match op {
            Operation::Add => "OpIAdd",
            Operation::Sub => "OpISub",
            Operation::Mul => "OpIMul",
            Operation::And => "OpBitwiseAnd",
            Operation::Or => "OpBitwiseOr",
            Operation::Xor => "OpBitwiseXor",
            Operation::ShiftLeft => {
                let amount = self.id(&format!("OpBitwiseAnd %u32 {b} %c31"));
                return self.id(&format!("OpShiftLeftLogical %u32 {a} {amount}"));
            }
            Operation::ShiftRight => {
                let amount = self.id(&format!("OpBitwiseAnd %u32 {b} %c31"));
                return self.id(&format!("OpShiftRightArithmetic %u32 {a} {amount}"));
            }
            Operation::Divide => {
                let divisor = self.id(&format!("OpBitwiseOr %u32 {b} %c1"));
                return self.id(&format!("OpUDiv %u32 {a} {divisor}"));
            }
            Operation::Remainder => {
                let divisor = self.id(&format!("OpBitwiseOr %u32 {b} %c1"));
                return self.id(&format!("OpUMod %u32 {a} {divisor}"));
            }
            Operation::SignedRemainder => {
                let positive = self.id(&format!("OpBitwiseAnd %u32 {b} %positive"));
                let divisor = self.id(&format!("OpBitwiseOr %u32 {positive} %c1"));
                return self.id(&format!("OpSRem %u32 {a} {divisor}"));
            }
            Operation::Reverse => return self.id(&format!("OpBitReverse %u32 {a}")),
            Operation::Count => return self.id(&format!("OpBitCount %u32 {a}")),
            Operation::Least => {
                let less = self.id(&format!("OpULessThan %bool {a} {b}"));
                return self.id(&format!("OpSelect %u32 {less} {a} {b}"));
            }
            Operation::MulHigh => {
                let [a, b] = [a, b].map(|v| self.id(&format!("OpUConvert %u64 {v}")));
                let product = self.id(&format!("OpIMul %u64 {a} {b}"));
                let high = self.id(&format!("OpShiftRightLogical %u64 {product} %wide32"));
                return self.id(&format!("OpUConvert %u32 {high}"));
            }
            Operation::Add16 => {
                let [a, b] = [a, b].map(|v| self.id(&format!("OpUConvert %u16 {v}")));
                let sum = self.id(&format!("OpIAdd %u16 {a} {b}"));
                return self.id(&format!("OpUConvert %u32 {sum}"));
            }
            Operation::Mul8 => {
                let [a, b] = [a, b].map(|v| self.id(&format!("OpUConvert %u8 {v}")));
                let product = self.id(&format!("OpIMul %u8 {a} {b}"));
                return self.id(&format!("OpSConvert %u32 {product}"));
            }
            Operation::Divide64 => {
                let both = self.both(&a, &b);
                let odd = self.id(&format!("OpBitwiseOr %u32 {a} %c1"));
                let divisor = self.id(&format!("OpUConvert %u64 {odd}"));
                let quotient = self.id(&format!("OpUDiv %u64 {both} {divisor}"));
                return self.id(&format!("OpUConvert %u32 {quotient}"));
            }
            Operation::Shift64 => {
                let both = self.both(&a, &b);
                let amount = self.id(&format!("OpBitwiseAnd %u32 {b} %c63"));
                let shifted = self.id(&format!("OpShiftRightLogical %u64 {both} {amount}"));
                return self.id(&format!("OpUConvert %u32 {shifted}"));
            }
            Operation::Vector => return self.vector(&a, &b),
            Operation::Insert => {
                let offset = self.id(&format!("OpBitwiseAnd %u32 {b} %c15"));
                let count = self.id(&format!("OpBitwiseAnd %u32 {a} %c15"));
                return self.id(&format!("OpBitFieldInsert %u32 {b} {a} {offset} {count}"));
            }
            Operation::Float => {
                let [x, y] = [a, b].map(|v| {
                    let low = self.id(&format!("OpBitwiseAnd %u32 {v} %c65535"));
                    self.id(&format!("OpConvertUToF %f32 {low}"))
                });
                let product = self.id(&format!("OpFMul %f32 {x} {y}"));
                let sum = self.id(&format!("OpFAdd %f32 {product} {x}"));
                self.contracted.extend([product, sum.clone()]);
                return self.id(&format!("OpBitcast %u32 {sum}"));
            }
        };
        self.id(&format!("{simple} %u32 {a} {b}"))
    }

    /// Both words as one number, the first one on top.
    fn both(&mut self, a: &str, b: &str) -> String {
        let pair = self.id(&format!("OpCompositeConstruct %u32v2 {b} {a}"));
        self.id(&format!("OpBitcast %u64 {pair}"))
    }

    fn vector(&mut self, a: &str, b: &str) -> String {
        let product = self.id(&format!("OpIMul %u32 {a} {b}"));
        let difference = self.id(&format!("OpBitwiseXor %u32 {a} {b}"));
        let vector = self.id(&format!(
            "OpCompositeConstruct %u32v4 {product} {difference} {a} {b}"
        ));
        let turned = self.id(&format!("OpVectorShuffle %u32v4 {vector} {vector} 2 4 3 5"));
        let tripled = self.id(&format!("OpIMul %u32v4 {vector} %threes"));
        let mixed = self.id(&format!("OpBitwiseXor %u32v4 {tripled} {turned}"));
        let mut sum = self.id(&format!("OpCompositeExtract %u32 {mixed} 0"));
        for at in 1..4 {
            let part = self.id(&format!("OpCompositeExtract %u32 {mixed} {at}"));
            sum = self.id(&format!("OpIAdd %u32 {sum} {part}"));
        }
        sum
    }
}
