//! Types of operands and results, and the meaning of their bits on the host.

/// A scalar type. Integers have no sign: instructions say how they read them.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scalar {
    /// In memory a word that is 0 or 1.
    Bool,
    /// 8 bits.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
    /// IEEE 754 binary16.
    F16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

pub use Scalar::{Bool, F16, F32, F64, U8, U16, U32, U64};

/// The integers, narrow ones first.
pub const INTEGERS: [Scalar; 4] = [U8, U16, U32, U64];
/// The floats, narrow ones first.
pub const FLOATS: [Scalar; 3] = [F16, F32, F64];

impl Scalar {
    /// The name in the text of a module.
    pub fn name(self) -> &'static str {
        match self {
            Bool => "bool",
            U8 => "u8",
            U16 => "u16",
            U32 => "u32",
            U64 => "u64",
            F16 => "f16",
            F32 => "f32",
            F64 => "f64",
        }
    }

    /// The scalar of this name.
    pub fn by_name(name: &str) -> Option<Scalar> {
        [Bool, U8, U16, U32, U64, F16, F32, F64]
            .into_iter()
            .find(|s| s.name() == name)
    }

    /// The width in bits; a Boolean has one.
    pub fn bits(self) -> u32 {
        match self {
            Bool => 1,
            U8 => 8,
            U16 | F16 => 16,
            U32 | F32 => 32,
            U64 | F64 => 64,
        }
    }

    /// The type that represents it in memory.
    pub fn memory(self) -> Scalar {
        match self {
            Bool => U32,
            other => other,
        }
    }

    /// Returns true for a floating-point type.
    pub fn is_float(self) -> bool {
        FLOATS.contains(&self)
    }

    /// All bits of the width.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The integer of the same width.
    pub fn integer(self) -> Scalar {
        match self {
            F16 => U16,
            F32 => U32,
            F64 => U64,
            other => other,
        }
    }

    /// The bits of a small whole number.
    pub fn bits_of_number(self, value: u8) -> u64 {
        if self.is_float() {
            self.bits_of(f64::from(value))
        } else {
            u64::from(value)
        }
    }

    /// `bits` read as a signed integer.
    pub fn signed(self, bits: u64) -> i64 {
        let unused = 64 - self.bits();
        (bits << unused) as i64 >> unused
    }

    /// `bits` read as a float.
    pub fn float(self, bits: u64) -> f64 {
        match self {
            F16 => half::f16::from_bits(bits as u16).to_f64(),
            F32 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    }

    /// The bits of the float that is next to `value`, the even one of two.
    pub fn bits_of(self, value: f64) -> u64 {
        match self {
            F16 => u64::from(half::f16::from_f64(round_to_half(value)).to_bits()),
            F32 => u64::from((value as f32).to_bits()),
            _ => value.to_bits(),
        }
    }

    /// Bits of the significand, the implied one included.
    pub fn precision(self) -> i32 {
        match self {
            F16 => 11,
            F32 => 24,
            _ => 53,
        }
    }

    /// The exponent of the smallest normal number.
    pub fn least_exponent(self) -> i32 {
        match self {
            F16 => -14,
            F32 => -126,
            _ => -1022,
        }
    }

    /// The smallest normal number.
    pub fn least_normal(self) -> f64 {
        power_of_two(self.least_exponent())
    }

    /// The largest finite number.
    pub fn most(self) -> f64 {
        match self {
            F16 => 65504.0,
            F32 => f64::from(f32::MAX),
            _ => f64::MAX,
        }
    }

    /// The distance of neighbouring numbers at `value`.
    pub fn ulp(self, value: f64) -> f64 {
        let exponent = exponent(value).max(self.least_exponent());
        power_of_two(exponent - self.precision() + 1)
    }
}

/// 2 to the power of `n`, denormals included.
pub fn power_of_two(n: i32) -> f64 {
    libm::ldexp(1.0, n)
}

/// The exponent of a finite number: 0 of 1.5.
pub fn exponent(value: f64) -> i32 {
    if value == 0.0 {
        -1100
    } else {
        libm::ilogb(value)
    }
}

/// `value` as a 16-bit float, still in 64 bits: it is rounded only once.
fn round_to_half(value: f64) -> f64 {
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    let step = F16.ulp(value);
    let rounded = (value / step).round_ties_even() * step;
    if rounded.abs() > F16.most() {
        f64::INFINITY.copysign(value)
    } else {
        rounded.copysign(value)
    }
}

/// A scalar, vector or matrix.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Ty {
    /// The scalar that it consists of.
    pub scalar: Scalar,
    /// Components of a vector, of each column of a matrix; 1 for a scalar.
    pub lanes: usize,
    /// Columns of a matrix; 1 for anything else.
    pub columns: usize,
}

impl From<Scalar> for Ty {
    fn from(scalar: Scalar) -> Ty {
        Ty {
            scalar,
            lanes: 1,
            columns: 1,
        }
    }
}

impl Ty {
    /// A vector; of one lane a scalar.
    pub fn vector(scalar: Scalar, lanes: usize) -> Ty {
        Ty {
            scalar,
            lanes,
            columns: 1,
        }
    }

    /// A matrix.
    pub fn matrix(scalar: Scalar, columns: usize, lanes: usize) -> Ty {
        Ty {
            scalar,
            lanes,
            columns,
        }
    }

    /// The number of scalars.
    pub fn components(self) -> usize {
        self.lanes * self.columns
    }

    /// The name in the text of a module: `f32`, `f32v4`, `f32m4x3`.
    pub fn name(self) -> String {
        let scalar = self.scalar.name();
        match (self.columns, self.lanes) {
            (1, 1) => scalar.to_owned(),
            (1, lanes) => format!("{scalar}v{lanes}"),
            (columns, lanes) => format!("{scalar}m{columns}x{lanes}"),
        }
    }
}
