//! Values of lanes as bits: which types instructions read and write, and the rows of the
//! instruction tables that are functions of such values.

use half::f16;

/// Type of an operand of a table row.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    B16,
    B32,
    B64,
    F16,
    F32,
    F64,
}

impl Ty {
    /// Registers that a value takes.
    pub(super) fn registers(self) -> u16 {
        match self {
            Ty::B16 | Ty::B32 | Ty::F16 | Ty::F32 => 1,
            Ty::B64 | Ty::F64 => 2,
        }
    }

    pub(super) fn is_half(self) -> bool {
        match self {
            Ty::B16 | Ty::F16 => true,
            Ty::B32 | Ty::B64 | Ty::F32 | Ty::F64 => false,
        }
    }

    /// The bit of the sign, for types that are floats.
    pub(super) fn sign(self) -> Option<u64> {
        match self {
            Ty::F16 => Some(1 << 15),
            Ty::F32 => Some(1 << 31),
            Ty::F64 => Some(1 << 63),
            Ty::B16 | Ty::B32 | Ty::B64 => None,
        }
    }

    /// A float of this type, or the inline constant that an operand of this type makes of it.
    pub(super) fn float(self, value: f64) -> u64 {
        match self {
            Ty::F16 | Ty::B16 => f16::from_f64(value).to_bits().into(),
            Ty::F32 | Ty::B32 => (value as f32).to_bits().into(),
            Ty::F64 | Ty::B64 => value.to_bits(),
        }
    }

    /// Does `change` to a float of this type; other types stay as they are.
    pub(super) fn map_float(self, bits: u64, change: impl Fn(f64) -> f64) -> u64 {
        match self {
            Ty::F16 => f16::from_f64(change(f16::from_bits(bits as u16).to_f64()))
                .to_bits()
                .into(),
            Ty::F32 => ((change(f32::from_bits(bits as u32).into())) as f32)
                .to_bits()
                .into(),
            Ty::F64 => change(f64::from_bits(bits)).to_bits(),
            Ty::B16 | Ty::B32 | Ty::B64 => bits,
        }
    }
}

/// A Rust type that a row's function takes or gives.
pub(super) trait Bits: Copy {
    const TY: Ty;
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($rust:ty, $ty:ident, $of:expr, $to:expr;)*) => {
        $(impl Bits for $rust {
            const TY: Ty = Ty::$ty;
            fn of(bits: u64) -> Self { let of: fn(u64) -> $rust = $of; of(bits) }
            fn bits(self) -> u64 { let to: fn($rust) -> u64 = $to; to(self) }
        })*
    };
}

bits! {
    u16, B16, |b| b as u16, u64::from;
    i16, B16, |b| b as i16, |v| (v as u16).into();
    u32, B32, |b| b as u32, u64::from;
    i32, B32, |b| b as i32, |v| (v as u32).into();
    u64, B64, |b| b, |v| v;
    i64, B64, |b| b as i64, |v| v as u64;
    f16, F16, |b| f16::from_bits(b as u16), |v| v.to_bits().into();
    f32, F32, |b| f32::from_bits(b as u32), |v| v.to_bits().into();
    f64, F64, f64::from_bits, f64::to_bits;
}

/// Up to three sources of one lane.
pub(super) type Sources = [u64; 3];

/// What a row computes for one lane.
#[derive(Copy, Clone)]
pub(super) enum Compute {
    /// A value of the sources.
    Value(fn(&Sources) -> u64),
    /// A value and a lane of a mask, of the sources and a lane of a mask.
    Carry(fn(&Sources, bool) -> (u64, bool)),
    /// A lane of a mask.
    Test(fn(&Sources) -> bool),
    /// A value and perhaps the scalar condition code, of the sources and the condition code.
    Scalar(fn(&Sources, bool) -> (u64, Option<bool>)),
}

/// One row of an instruction table.
#[derive(Clone)]
pub(super) struct Row {
    /// The mnemonic without its encoding suffix.
    pub name: &'static str,
    pub dst: Ty,
    pub src: &'static [Ty],
    pub compute: Compute,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// An operand of a row: decoding gives as many as the row has.
pub(super) fn taken(source: Option<u64>) -> u64 {
    debug_assert!(source.is_some(), "an operand is missing");
    source.unwrap_or(0)
}

/// Rows that compute a value: `"name" result (a: type, ...) => expression;`.
macro_rules! values {
    ($($name:literal $dst:ty, ($($arg:ident: $src:ty),*) => $value:expr;)*) => {
        &[$($crate::amdgpu::bits::Row {
            name: $name,
            dst: <$dst as $crate::amdgpu::bits::Bits>::TY,
            src: &[$(<$src as $crate::amdgpu::bits::Bits>::TY),*],
            compute: $crate::amdgpu::bits::Compute::Value(|sources| {
                use $crate::amdgpu::bits::Bits;
                let mut sources = sources.iter().copied();
                $(let $arg = <$src>::of($crate::amdgpu::bits::taken(sources.next()));)*
                let _ = sources;
                let value: $dst = $value;
                Bits::bits(value)
            }),
        }),*]
    };
}

/// Rows with a mask in and out: `"name" result (a: type, ...; carry) => (value, carry out);`.
macro_rules! carries {
    ($($name:literal $dst:ty, ($($arg:ident: $src:ty),*; $carry:pat) => $value:expr;)*) => {
        &[$($crate::amdgpu::bits::Row {
            name: $name,
            dst: <$dst as $crate::amdgpu::bits::Bits>::TY,
            src: &[$(<$src as $crate::amdgpu::bits::Bits>::TY),*],
            compute: $crate::amdgpu::bits::Compute::Carry(|sources, carry| {
                use $crate::amdgpu::bits::Bits;
                let mut sources = sources.iter().copied();
                $(let $arg = <$src>::of($crate::amdgpu::bits::taken(sources.next()));)*
                let _ = sources;
                let $carry = carry;
                let (value, out): ($dst, bool) = $value;
                (Bits::bits(value), out)
            }),
        }),*]
    };
}

/// Rows that test: `"name" (a: type, ...) => condition;`.
macro_rules! tests {
    ($($name:literal ($($arg:ident: $src:ty),*) => $value:expr;)*) => {
        &[$($crate::amdgpu::bits::Row {
            name: $name,
            dst: $crate::amdgpu::bits::Ty::B32,
            src: &[$(<$src as $crate::amdgpu::bits::Bits>::TY),*],
            compute: $crate::amdgpu::bits::Compute::Test(|sources| {
                use $crate::amdgpu::bits::Bits;
                let mut sources = sources.iter().copied();
                $(let $arg = <$src>::of($crate::amdgpu::bits::taken(sources.next()));)*
                let _ = sources;
                $value
            }),
        }),*]
    };
}

/// Rows of the scalar unit:
/// `"name" result (a: type, ...; scc) => (value, new scc if it is written);`.
macro_rules! scalars {
    ($($name:literal $dst:ty, ($($arg:ident: $src:ty),*; $scc:pat) => $value:expr;)*) => {
        &[$($crate::amdgpu::bits::Row {
            name: $name,
            dst: <$dst as $crate::amdgpu::bits::Bits>::TY,
            src: &[$(<$src as $crate::amdgpu::bits::Bits>::TY),*],
            compute: $crate::amdgpu::bits::Compute::Scalar(|sources, scc| {
                use $crate::amdgpu::bits::Bits;
                let mut sources = sources.iter().copied();
                $(let $arg = <$src>::of($crate::amdgpu::bits::taken(sources.next()));)*
                let _ = sources;
                let $scc = scc;
                let (value, out): ($dst, Option<bool>) = $value;
                (Bits::bits(value), out)
            }),
        }),*]
    };
}

pub(super) use {carries, scalars, tests, values};
