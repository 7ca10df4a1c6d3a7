//! Operations on scalar constants: integers, Booleans and floating-point numbers of every width.

use super::FloatFormat;
use super::float;
use super::{Constant, Type};
use crate::diagnostic::Diagnostic;

/// The low `width` bits.
pub(super) fn mask(width: u32) -> u64 {
    1u64.checked_shl(width).map_or(u64::MAX, |bit| bit - 1)
}

/// The low `width` bits as a signed number.
pub(super) fn sign_extend(bits: u64, width: u32) -> i64 {
    let unused = 64u32.saturating_sub(width).min(63);
    ((bits << unused) as i64) >> unused
}

/// A scalar operand with its type.
#[derive(Copy, Clone)]
pub(super) struct Scalar<'a> {
    pub(super) value: &'a Constant,
    pub(super) ty: &'a Type,
}

/// Width of a type of numbers.
pub(super) fn numeric_width(ty: &Type) -> Option<u32> {
    match ty {
        Type::Int { width, .. } | Type::Float { width, .. } => Some(*width),
        _ => None, // no number
    }
}

/// The result of an operation on scalars of these types; `None` where it is not defined, or the
/// operation is none of those that specialization constants may have.
pub(crate) fn folded(
    op: spirv::Op,
    result: &Type,
    operands: &[(&Constant, &Type)],
) -> Option<Constant> {
    if arity(op)? != operands.len() {
        return None;
    }
    let scalars = operands.iter().map(|(value, ty)| Scalar { value, ty });
    let scalars: Vec<Scalar<'_>> = scalars.collect();
    let value = evaluate(op, result, &scalars).ok()?;
    (value != Constant::Undef).then_some(value)
}

/// The number of type `ty` with the low bits of `bits`.
pub(super) fn number(ty: &Type, bits: u64) -> Constant {
    match ty {
        Type::Float { width, .. } => Constant::Float {
            bits: bits & mask(*width),
            width: *width,
        },
        Type::Int { width, .. } => Constant::Int {
            bits: bits & mask(*width),
            width: *width,
        },
        _ => Constant::Bool(bits & 1 == 1), // callers pass scalars
    }
}

impl Scalar<'_> {
    /// The bits of a number; those of OpConstantNull are 0.
    pub(super) fn bits(self) -> Result<u64, Stop> {
        match self.value {
            Constant::Int { bits, .. } | Constant::Float { bits, .. } => Ok(*bits),
            Constant::Null => Ok(0),
            Constant::Undef => Err(Stop::Undefined),
            Constant::Bool(_) | Constant::Composite(_) => Err(Stop::NoValue),
        }
    }

    fn unsigned(self) -> Result<u64, Stop> {
        if matches!(self.ty, Type::Int { .. }) {
            self.bits()
        } else {
            Err(Stop::NoValue)
        }
    }

    fn signed(self) -> Result<i64, Stop> {
        match self.ty {
            Type::Int { width, .. } => Ok(sign_extend(self.bits()?, *width)),
            _ => Err(Stop::NoValue), // not an integer
        }
    }

    fn float(self) -> Result<f64, Stop> {
        match self.ty {
            Type::Float { width, format } => Ok(float::decode(self.bits()?, *width, *format)),
            _ => Err(Stop::NoValue), // not a floating-point number
        }
    }

    fn boolean(self) -> Result<bool, Stop> {
        match self.value {
            Constant::Undef => Err(Stop::Undefined),
            value => value
                .as_bool()
                .filter(|_| *self.ty == Type::Bool)
                .ok_or(Stop::NoValue),
        }
    }
}

/// How many operands an operation on scalars takes; `None` for operations that are not evaluated
/// here.
pub(super) fn arity(op: spirv::Op) -> Option<usize> {
    use spirv::Op;
    Some(match op {
        Op::SConvert
        | Op::UConvert
        | Op::FConvert
        | Op::SNegate
        | Op::Not
        | Op::LogicalNot
        | Op::QuantizeToF16 => 1,
        Op::ConvertFToS | Op::ConvertSToF | Op::ConvertFToU | Op::ConvertUToF | Op::FNegate => 1,
        Op::IAdd | Op::ISub | Op::IMul | Op::UDiv | Op::SDiv | Op::UMod | Op::SRem | Op::SMod => 2,
        Op::ShiftRightLogical
        | Op::ShiftRightArithmetic
        | Op::ShiftLeftLogical
        | Op::BitwiseOr
        | Op::BitwiseXor
        | Op::BitwiseAnd => 2,
        Op::LogicalOr
        | Op::LogicalAnd
        | Op::LogicalEqual
        | Op::LogicalNotEqual
        | Op::IEqual
        | Op::INotEqual => 2,
        Op::ULessThan
        | Op::SLessThan
        | Op::UGreaterThan
        | Op::SGreaterThan
        | Op::ULessThanEqual
        | Op::SLessThanEqual
        | Op::UGreaterThanEqual
        | Op::SGreaterThanEqual => 2,
        Op::FAdd | Op::FSub | Op::FMul | Op::FDiv | Op::FRem | Op::FMod => 2,
        _ => return None, // addresses and what only run time knows
    })
}

/// `op` on scalars. `NoValue` when an operand is of the wrong kind.
pub(super) fn evaluate(
    op: spirv::Op,
    result: &Type,
    arguments: &[Scalar<'_>],
) -> Result<Constant, Stop> {
    use spirv::Op;
    match (op, arguments) {
        (Op::LogicalNot, [a]) => boolean(result, !a.boolean()?),
        (Op::LogicalOr | Op::LogicalAnd | Op::LogicalEqual | Op::LogicalNotEqual, [a, b]) => {
            logical(op, result, a.boolean()?, b.boolean()?)
        }
        (Op::SConvert, [a]) => integer(result, a.signed()? as u64),
        (Op::UConvert, [a]) => integer(result, a.unsigned()?),
        (Op::SNegate, [a]) => integer(result, a.unsigned()?.wrapping_neg()),
        (Op::Not, [a]) => integer(result, !a.unsigned()?),
        (Op::FConvert, [a]) => floating(result, a.float()?),
        (Op::FNegate, [a]) => floating(result, -a.float()?),
        (Op::QuantizeToF16, [a]) => floating(result, quantize_to_f16(a.float()?)),
        (Op::ConvertFToS | Op::ConvertFToU, [a]) => {
            to_integer(result, op == Op::ConvertFToS, a.float()?)
        }
        (Op::ConvertSToF, [a]) => from_integer(result, a.signed()?.unsigned_abs(), a.signed()? < 0),
        (Op::ConvertUToF, [a]) => from_integer(result, a.unsigned()?, false),
        (Op::FAdd | Op::FSub | Op::FMul | Op::FDiv | Op::FRem | Op::FMod, [a, b]) => {
            floating(result, float_binary(op, a.float()?, b.float()?)?)
        }
        (_, [a, b]) => integer_binary(op, result, *a, *b),
        _ => Err(Stop::NoValue), // `arity` lets no other count through
    }
}

fn logical(op: spirv::Op, result: &Type, a: bool, b: bool) -> Result<Constant, Stop> {
    use spirv::Op;
    let value = match op {
        Op::LogicalOr => a || b,
        Op::LogicalAnd => a && b,
        Op::LogicalEqual => a == b,
        Op::LogicalNotEqual => a != b,
        _ => return Err(Stop::NoValue), // not logical
    };
    boolean(result, value)
}

fn boolean(result: &Type, value: bool) -> Result<Constant, Stop> {
    if *result == Type::Bool {
        Ok(Constant::Bool(value))
    } else {
        Err(Stop::NoValue)
    }
}

fn integer(result: &Type, bits: u64) -> Result<Constant, Stop> {
    if matches!(result, Type::Int { .. }) {
        Ok(number(result, bits))
    } else {
        Err(Stop::NoValue)
    }
}

fn integer_binary(
    op: spirv::Op,
    result: &Type,
    a: Scalar<'_>,
    b: Scalar<'_>,
) -> Result<Constant, Stop> {
    use spirv::Op;
    let (ua, ub, sa, sb) = (a.unsigned()?, b.unsigned()?, a.signed()?, b.signed()?);
    let width = numeric_width(a.ty).unwrap_or(64);
    let shift = u32::try_from(ub).ok().filter(|shift| *shift < width);
    let compared = match op {
        Op::IEqual => Some(ua == ub),
        Op::INotEqual => Some(ua != ub),
        Op::ULessThan => Some(ua < ub),
        Op::SLessThan => Some(sa < sb),
        Op::UGreaterThan => Some(ua > ub),
        Op::SGreaterThan => Some(sa > sb),
        Op::ULessThanEqual => Some(ua <= ub),
        Op::SLessThanEqual => Some(sa <= sb),
        Op::UGreaterThanEqual => Some(ua >= ub),
        Op::SGreaterThanEqual => Some(sa >= sb),
        _ => None, // arithmetic
    };
    if let Some(value) = compared {
        return boolean(result, value);
    }
    let bits = match op {
        Op::IAdd => Some(ua.wrapping_add(ub)),
        Op::ISub => Some(ua.wrapping_sub(ub)),
        Op::IMul => Some(ua.wrapping_mul(ub)),
        Op::UDiv => ua.checked_div(ub),
        Op::UMod => ua.checked_rem(ub),
        // The quotient of the least value and -1 does not fit: undefined, as a division by zero.
        Op::SDiv => sa
            .checked_div(sb)
            .filter(|quotient| fits(*quotient, width))
            .map(|quotient| quotient as u64),
        Op::SRem => {
            if sb == 0 {
                None
            } else {
                Some(sa.wrapping_rem(sb) as u64)
            }
        }
        Op::SMod => {
            if sb == 0 {
                None
            } else {
                Some(floor_modulo(sa, sb) as u64)
            }
        }
        Op::ShiftRightLogical => shift.map(|shift| ua >> shift),
        Op::ShiftRightArithmetic => shift.map(|shift| (sa >> shift) as u64),
        Op::ShiftLeftLogical => shift.map(|shift| ua << shift),
        Op::BitwiseOr => Some(ua | ub),
        Op::BitwiseXor => Some(ua ^ ub),
        Op::BitwiseAnd => Some(ua & ub),
        _ => return Err(Stop::NoValue), // `arity` lets no other through
    };
    integer(result, bits.ok_or(Stop::Undefined)?)
}

/// Returns true if `value` is a signed number of `width` bits.
fn fits(value: i64, width: u32) -> bool {
    sign_extend(value as u64, width) == value
}

/// The remainder with the sign of the divisor (OpSMod).
fn floor_modulo(a: i64, b: i64) -> i64 {
    let rest = a.wrapping_rem(b);
    if rest != 0 && (rest < 0) != (b < 0) {
        rest.wrapping_add(b)
    } else {
        rest
    }
}

fn floating(result: &Type, value: f64) -> Result<Constant, Stop> {
    match result {
        Type::Float { width, format } => Ok(Constant::Float {
            bits: float::encode(value, *width, *format),
            width: *width,
        }),
        _ => Err(Stop::NoValue), // not a floating-point type
    }
}

fn from_integer(result: &Type, magnitude: u64, negative: bool) -> Result<Constant, Stop> {
    match result {
        Type::Float { width, format } => Ok(Constant::Float {
            bits: float::from_integer(magnitude, negative, *width, *format),
            width: *width,
        }),
        _ => Err(Stop::NoValue), // not a floating-point type
    }
}

/// Toward zero; undefined when the value does not fit (SPIR-V 3.49.11).
fn to_integer(result: &Type, signed: bool, value: f64) -> Result<Constant, Stop> {
    let Type::Int { width, .. } = result else {
        return Err(Stop::NoValue);
    };
    let whole = value.trunc();
    let limit = 2f64.powi(if signed {
        *width as i32 - 1
    } else {
        *width as i32
    });
    let least = if signed { -limit } else { 0.0 };
    if !(whole >= least && whole < limit) {
        return Err(Stop::Undefined);
    }
    integer(
        result,
        if signed {
            whole as i64 as u64
        } else {
            whole as u64
        },
    )
}

/// Rounds to a 16-bit number; what would be subnormal becomes zero (SPIR-V 3.49.11,
/// OpQuantizeToF16).
fn quantize_to_f16(value: f64) -> f64 {
    let narrow = float::decode(
        float::encode(value, 16, FloatFormat::Ieee),
        16,
        FloatFormat::Ieee,
    );
    let least_normal = 2f64.powi(-14);
    if narrow.abs() < least_normal {
        0f64.copysign(value)
    } else {
        narrow
    }
}

/// In double precision: rounding the result once more to a format of at most half of its digits
/// gives what one rounding would.
fn float_binary(op: spirv::Op, a: f64, b: f64) -> Result<f64, Stop> {
    use spirv::Op;
    let with_sign_of_divisor = |rest: f64| {
        if rest != 0.0 && (rest < 0.0) != (b < 0.0) {
            rest + b
        } else {
            rest
        }
    };
    Ok(match op {
        Op::FAdd => a + b,
        Op::FSub => a - b,
        Op::FMul => a * b,
        Op::FDiv => a / b,
        Op::FRem => a % b,
        Op::FMod => with_sign_of_divisor(a % b),
        _ => return Err(Stop::NoValue), // not arithmetic
    })
}

/// Why an operation has no result.
pub(super) enum Stop {
    /// An operand has no value here, or the operation is not evaluated here.
    NoValue,
    /// SPIR-V leaves the result undefined.
    Undefined,
    /// A rule is broken.
    Wrong(Diagnostic),
}

impl From<Diagnostic> for Stop {
    fn from(diagnostic: Diagnostic) -> Self {
        Stop::Wrong(diagnostic)
    }
}
