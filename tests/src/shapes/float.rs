//! Shapes of floating-point numbers of 32 bits.

use super::expression::Text;
use fastrand::Rng;

/// The constant that numbers are compared with: no instruction has it as an inline operand.
pub(crate) const CONSTANT: f32 = 2.75;

/// A number from two others, x and y.
#[derive(Copy, Clone, Debug)]
pub enum Float {
    /// y where x is ordered and not equal to the constant, else the constant.
    SelectUnequal,
    /// The constant where x is unordered or equal to it, else y.
    SelectUnorderedEqual,
    /// A comparison of x and the constant, by number, selects y or the constant, or vice versa.
    Select(usize, bool),
    /// (0 - x) * y.
    ZeroMinus,
    /// min(0 - x, y).
    ZeroMinusMin,
    /// (0 - x) and the sign of y's product with 0.
    ZeroProduct,
    /// x * y, rounded to 16 bits.
    HalfProduct,
    /// -(x * y), rounded to 16 bits.
    HalfNegated,
    /// The second component of (y, x) * (x, y), rounded to 16 bits.
    HalfOfVector,
    /// The minimum or the maximum of x and y, one of which may be NaN.
    Extreme {
        /// True for 16-bit floats.
        half: bool,
        /// True for the maximum, false for the minimum.
        most: bool,
    },
    /// x, clamped to [-2, 3], and -2 if it is NaN.
    Clamp {
        /// True for a 16-bit float.
        half: bool,
    },
    /// As [`Float::Select`], for 16-bit floats.
    SelectHalf(usize, bool),
    /// The lesser or the greater of numbers that are not NaN, by the instruction that may take
    /// either where one is.
    Plain {
        /// True for 16-bit floats.
        half: bool,
        /// True for the maximum, false for the minimum.
        most: bool,
    },
}

/// A comparison of numbers.
type Comparison = (&'static str, fn(f32, f32) -> bool);

/// Comparisons, ordered and unordered.
#[expect(
    clippy::double_comparisons,
    clippy::neg_cmp_op_on_partial_ord,
    reason = "the forms differ for a NaN"
)]
const COMPARISONS: [Comparison; 12] = [
    ("OpFOrdEqual", |a, b| a == b),
    ("OpFOrdNotEqual", |a, b| a < b || a > b),
    ("OpFOrdLessThan", |a, b| a < b),
    ("OpFOrdGreaterThan", |a, b| a > b),
    ("OpFOrdLessThanEqual", |a, b| a <= b),
    ("OpFOrdGreaterThanEqual", |a, b| a >= b),
    ("OpFUnordEqual", |a, b| !(a < b || a > b)),
    ("OpFUnordNotEqual", |a, b| a != b),
    ("OpFUnordLessThan", |a, b| !(a >= b)),
    ("OpFUnordGreaterThan", |a, b| !(a <= b)),
    ("OpFUnordLessThanEqual", |a, b| !(a > b)),
    ("OpFUnordGreaterThanEqual", |a, b| !(a < b)),
];

impl Float {
    pub(crate) fn random(rng: &mut Rng) -> Float {
        let (half, most) = (rng.bool(), rng.bool());
        match rng.u32(..14) {
            9 | 10 => Float::Extreme { half, most },
            11 => Float::Clamp { half },
            12 => Float::SelectHalf(rng.usize(..COMPARISONS.len()), most),
            13 => Float::Plain { half, most },
            0 => Float::ZeroMinus,
            1 => Float::ZeroMinusMin,
            2 => Float::ZeroProduct,
            6 => Float::HalfProduct,
            7 => Float::HalfNegated,
            8 => Float::HalfOfVector,
            _ => Float::Select(rng.usize(..COMPARISONS.len()), rng.bool()),
        }
    }

    /// The comparison of a select, and true if the constant is the result where it holds.
    fn select(self) -> Option<(Comparison, bool)> {
        match self {
            Float::SelectUnequal => Some((COMPARISONS[1], false)),
            Float::SelectUnorderedEqual => Some((COMPARISONS[6], true)),
            Float::Select(number, constant) => Some((COMPARISONS[number], constant)),
            _ => None,
        }
    }

    pub(crate) fn value(self, [x, y, ..]: [f32; 4]) -> f32 {
        if let Some(((_, holds), constant)) = self.select() {
            return if holds(x, CONSTANT) == constant {
                CONSTANT
            } else {
                y
            };
        }
        let normal = |half: bool| {
            [x, y].map(|number| {
                if half {
                    from_half(number.to_bits() as u16 | 0x0400)
                } else {
                    f32::from_bits(number.to_bits() | 0x0080_0000)
                }
            })
        };
        match self {
            Float::Extreme { half, most } => return extreme(normal(half), most),
            Float::Clamp { half } => {
                let [x, _] = normal(half);
                return if x.is_nan() { -2.0 } else { x.clamp(-2.0, 3.0) };
            }
            Float::SelectHalf(number, constant) => {
                let [x, y] = normal(true);
                let (_, holds) = COMPARISONS[number];
                return if holds(x, CONSTANT) == constant {
                    CONSTANT
                } else {
                    y
                };
            }
            _ => {}
        }
        // Small whole numbers: nothing is rounded or denormal.
        let [x, y] = [x, y].map(small);
        match self {
            Float::ZeroMinusMin => {
                let (a, b) = (0.0 - x, y + 0.5);
                if a < b { a } else { b }
            }
            Float::ZeroProduct => (0.0 - x) * (y * 0.0),
            // Such products are halves.
            Float::HalfProduct | Float::HalfOfVector => x * y,
            Float::HalfNegated => -(x * y),
            Float::Plain { most, .. } => extreme([x, y + 0.5], most),
            _ => (0.0 - x) * y,
        }
    }

    pub(crate) fn text(self, inputs: &[String; 4], out: &mut Text) -> String {
        let [x, y] = [0, 1].map(|at: usize| out.push(&format!("OpBitcast %f32 {}", inputs[at])));
        let number = if let Some(((name, _), constant)) = self.select() {
            let holds = out.push(&format!("{name} %bool {x} %constant"));
            if constant {
                out.push(&format!("OpSelect %f32 {holds} %constant {y}"))
            } else {
                out.push(&format!("OpSelect %f32 {holds} {y} %constant"))
            }
        } else if let Float::Extreme { half, .. } | Float::Clamp { half } = self {
            let (ty, [x, y]) = normal_text(half, inputs, out);
            let number = match self {
                Float::Extreme { most: true, .. } => format!("NMax {x} {y}"),
                Float::Extreme { .. } => format!("NMin {x} {y}"),
                _ => format!("NClamp {x} {ty}_least {ty}_most"),
            };
            let number = out.push(&format!("OpExtInst {ty} %glsl {number}"));
            widened(half, number, out)
        } else if let Float::SelectHalf(number, constant) = self {
            let (ty, [x, y]) = normal_text(true, inputs, out);
            let (name, _) = COMPARISONS[number];
            let holds = out.push(&format!("{name} %bool {x} %f16_constant"));
            let (yes, no) = if constant {
                ("%f16_constant", y.as_str())
            } else {
                (y.as_str(), "%f16_constant")
            };
            let number = out.push(&format!("OpSelect {ty} {holds} {yes} {no}"));
            widened(true, number, out)
        } else {
            let [x, y] = [0, 1].map(|at: usize| {
                let (mask, bias) = (out.constant(7), out.constant(3));
                let low = out.push(&format!("OpBitwiseAnd %u32 {} {mask}", inputs[at]));
                let signed = out.push(&format!("OpISub %u32 {low} {bias}"));
                out.push(&format!("OpConvertSToF %f32 {signed}"))
            });
            let zero = "%fzero";
            let minus = out.push(&format!("OpFSub %f32 {zero} {x}"));
            match self {
                Float::Plain { half, most } => {
                    let y = out.push(&format!("OpFAdd %f32 {y} %fhalf"));
                    let name = if most { "FMax" } else { "FMin" };
                    let (ty, [x, y]) = if half {
                        {
                            let halves =
                                [x, y].map(|number| out.push(&format!("OpFConvert %f16 {number}")));
                            ("%f16", halves)
                        }
                    } else {
                        ("%f32", [x, y])
                    };
                    let number = out.push(&format!("OpExtInst {ty} %glsl {name} {x} {y}"));
                    widened(half, number, out)
                }
                Float::ZeroMinusMin => {
                    let y = out.push(&format!("OpFAdd %f32 {y} %fhalf"));
                    out.push(&format!("OpExtInst %f32 %glsl NMin {minus} {y}"))
                }
                Float::HalfProduct => {
                    let product = out.push(&format!("OpFMul %f32 {x} {y}"));
                    halved(&product, out)
                }
                Float::HalfNegated => {
                    let product = out.push(&format!("OpFMul %f32 {x} {y}"));
                    let negated = out.push(&format!("OpFNegate %f32 {product}"));
                    halved(&negated, out)
                }
                Float::HalfOfVector => {
                    let [a, b] = [(&y, &x), (&x, &y)].map(|(one, other)| {
                        out.push(&format!("OpCompositeConstruct %f32v2 {one} {other}"))
                    });
                    let product = out.push(&format!("OpFMul %f32v2 {a} {b}"));
                    let second = out.push(&format!("OpCompositeExtract %f32 {product} 1"));
                    halved(&second, out)
                }
                Float::ZeroProduct => {
                    let product = out.push(&format!("OpFMul %f32 {y} {zero}"));
                    out.push(&format!("OpFMul %f32 {minus} {product}"))
                }
                _ => out.push(&format!("OpFMul %f32 {minus} {y}")),
            }
        };
        out.push(&format!("OpBitcast %u32 {number}"))
    }
}

/// `number` rounded to 16 bits, as a 32-bit float.
fn halved(number: &str, out: &mut Text) -> String {
    let half = out.push(&format!("OpFConvert %f16 {number}"));
    out.push(&format!("OpFConvert %f32 {half}"))
}

/// A number from -3 to 4 from the low bits.
fn small(number: f32) -> f32 {
    ((number.to_bits() & 7) as i32 - 3) as f32
}

/// A 16-bit float as a 32-bit float; it is not denormal.
fn from_half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 31, bits & 0x3ff);
    let exponent = match exponent {
        31 => 255,
        _ => u32::from(exponent) + 127 - 15,
    };
    f32::from_bits(u32::from(sign) << 31 | exponent << 23 | u32::from(fraction) << 13)
}

/// The lesser or the greater: the other one if one is NaN.
fn extreme([x, y]: [f32; 2], most: bool) -> f32 {
    if x.is_nan() || !y.is_nan() && (if most { y > x } else { y < x }) {
        return y;
    }
    x
}

/// The type, and x and y as numbers that are neither zeros nor denormal.
fn normal_text(half: bool, inputs: &[String; 4], out: &mut Text) -> (&'static str, [String; 2]) {
    if half {
        {
            let bit = out.constant(0x0400);
            let numbers = [0, 1].map(|at: usize| {
                let word = out.push(&format!("OpBitwiseOr %u32 {} {bit}", inputs[at]));
                let low = out.push(&format!("OpUConvert %u16 {word}"));
                out.push(&format!("OpBitcast %f16 {low}"))
            });
            ("%f16", numbers)
        }
    } else {
        {
            let bit = out.constant(0x0080_0000);
            let numbers = [0, 1].map(|at: usize| {
                let word = out.push(&format!("OpBitwiseOr %u32 {} {bit}", inputs[at]));
                out.push(&format!("OpBitcast %f32 {word}"))
            });
            ("%f32", numbers)
        }
    }
}

/// A 16-bit float as a 32-bit float.
fn widened(half: bool, number: String, out: &mut Text) -> String {
    if half {
        out.push(&format!("OpFConvert %f32 {number}"))
    } else {
        number
    }
}
