//! Functions that are more than one instruction, and the body of each.

use super::complex::{self, Kind};
use super::float::Float;
use super::signature::{Signature, Sort, by_width};
use super::write::{Body, Result};
use crate::module::{Declarations, Function, Id, Type};
use spirv::{FPRoundingMode, Op, OpenclStd100Op as Cl};

/// A function whose body is written.
#[derive(Copy, Clone)]
pub(super) enum Routine {
    /// Of complex numbers.
    Complex(Kind, u32),
    /// Quotient and remainder of integers.
    Divide,
    /// Of one scalar type.
    Scalar(Scalar),
    /// From floats to bfloat16, or back, of so many elements behind pointers; 0 for one that comes
    /// and goes by value, or comes by a pointer.
    Brain { to: bool, elements: u32 },
    /// Of bytes.
    Bytes(Bytes),
}

/// A function of scalars.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    /// 1 / x.
    Inverse,
    /// Between 0 and 1, NaN as 0.
    Saturate,
    /// `z + |x - y|`, signed or not.
    Distance { signed: bool },
    /// The place of the lowest bit that is set, from 1 on; 0 for none.
    FindFirst,
    /// The number of leading zeros as an `int`.
    LeadingZeros,
    /// The number of bits that are set as an `int`.
    Ones,
    /// The bits in reverse order.
    Reverse,
    /// The bits as another type.
    Bits,
    /// A conversion.
    Convert(Op, Option<FPRoundingMode>),
}

/// A function of bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Bytes {
    Copy,
    Fill,
    Compare,
}

/// The routine that C or the device library calls so, if it has this signature.
pub(super) fn routine(name: &str, signature: &Signature) -> Option<Routine> {
    if let Some((kind, bits)) = complex::operator(name) {
        return fits(kind, bits, signature).then_some(Routine::Complex(kind, bits));
    }
    if let Some((kind, bits)) = by_width(name, complex::named) {
        let known = matches!(bits, 32 | 64) && fits(kind, bits, signature);
        return known.then_some(Routine::Complex(kind, bits));
    }
    let pair = |bits| {
        let (result, params) = gives(signature)?;
        let right = result == Sort::Pair(bits) && *params == [Sort::Int(bits); 2];
        right.then_some(Routine::Divide)
    };
    match name {
        "div" => return pair(32),
        "ldiv" => return pair(64).or_else(|| pair(32)),
        "lldiv" => return pair(64),
        "memcpy" | "memset" | "memcmp" => return bytes(name, signature),
        _ => {} // of one of the kinds below
    }
    brain(name, signature).or_else(|| Some(Routine::Scalar(scalar(name, signature)?)))
}

/// What the function gives and what it takes: a structure is given by value, or through a pointer
/// that comes first.
fn gives(signature: &Signature) -> Option<(Sort, &[Sort])> {
    if let Some(result) = signature.result {
        return Some((result, &signature.params));
    }
    let (first, rest) = signature.params.split_first()?;
    let result = match first {
        Sort::ToComplex(bits) => Sort::Complex(*bits),
        Sort::ToPair(bits) => Sort::Pair(*bits),
        _ => return None,
    };
    Some((result, rest))
}

/// Returns true if a complex function has this signature: numbers come by value or by pointers.
fn fits(kind: Kind, bits: u32, signature: &Signature) -> bool {
    let Some((result, params)) = gives(signature) else {
        return false;
    };
    let complex = |sort: &Sort| *sort == Sort::Complex(bits) || *sort == Sort::ToComplex(bits);
    let real = |sort: &Sort| *sort == Sort::Float(bits);
    let wanted = match kind {
        Kind::Real(_) => Sort::Float(bits),
        _ => Sort::Complex(bits),
    };
    let (count, is_right) = match kind {
        Kind::One(_) | Kind::Real(_) => (1, params.iter().all(complex)),
        Kind::Two(_) => (2, params.iter().all(complex)),
        Kind::Parts(_) => (4, params.iter().all(real)),
        Kind::Polar(_) => (2, params.iter().all(real)),
    };
    result == wanted && params.len() == count && is_right
}

/// memcpy, memset and memcmp: pointers to bytes, and a size.
fn bytes(name: &str, signature: &Signature) -> Option<Routine> {
    use Sort::{Int, ToInt};
    let (kind, result, second) = match name {
        "memcpy" => (Bytes::Copy, ToInt(8), ToInt(8)),
        "memset" => (Bytes::Fill, ToInt(8), Int(32)),
        _ => (Bytes::Compare, Int(32), ToInt(8)),
    };
    let [first, other, Int(32 | 64)] = signature.params.as_slice() else {
        return None;
    };
    let right = signature.result == Some(result) && *first == ToInt(8) && *other == second;
    right.then_some(Routine::Bytes(kind))
}

/// The conversions of bfloat16.
fn brain(name: &str, signature: &Signature) -> Option<Routine> {
    let (to, rest) = match name.strip_prefix("ConvertFToBF16INTEL") {
        Some(rest) => (true, rest),
        None => (false, name.strip_prefix("ConvertBF16ToFINTEL")?),
    };
    let (float, word) = (Sort::Float(32), Sort::Int(16));
    let (from, result) = if to { (float, word) } else { (word, float) };
    let behind = |sort| match sort {
        Sort::Float(bits) => Sort::ToFloat(bits),
        _ => Sort::ToInt(16),
    };
    let elements = match rest {
        "" => 0,
        rest => rest.strip_prefix("Vec")?.parse().ok()?,
    };
    let right = match elements {
        0 => {
            let [param] = signature.params.as_slice() else {
                return None;
            };
            signature.result == Some(result) && (*param == from || *param == behind(from))
        }
        1 | 2 | 3 | 4 | 8 | 16 => {
            signature.result.is_none() && signature.params == [behind(from), behind(result)]
        }
        _ => return None,
    };
    right.then_some(Routine::Brain { to, elements })
}

/// Functions of scalars.
fn scalar(name: &str, signature: &Signature) -> Option<Scalar> {
    let is = |letters, bits| signature.is(letters, bits);
    let own = match name {
        "sad" if is("iiii", 0) => Some(Scalar::Distance { signed: true }),
        "usad" if is("iiii", 0) => Some(Scalar::Distance { signed: false }),
        "ffs" if is("ii", 0) => Some(Scalar::FindFirst),
        "ffsll" if is("il", 0) => Some(Scalar::FindFirst),
        "clzll" if is("il", 0) => Some(Scalar::LeadingZeros),
        "popcll" if is("il", 0) => Some(Scalar::Ones),
        "brev" if is("ii", 0) => Some(Scalar::Reverse),
        "brevll" if is("ll", 0) => Some(Scalar::Reverse),
        _ => None,
    };
    let of_floats = || {
        let (found, bits) = by_width(name, |name| {
            Some(match name {
                "inv" => Scalar::Inverse,
                "saturate" => Scalar::Saturate,
                _ => return None,
            })
        })?;
        is("ff", bits).then_some(found)
    };
    own.or_else(of_floats)
        .or_else(|| reinterpretation(name, signature))
        .or_else(|| conversion(name, signature))
}

/// A scalar type as the device library names it: its sort, and whether it is signed.
fn named_type(name: &str) -> Option<(Sort, bool)> {
    Some(match name {
        "half" => (Sort::Float(16), true),
        "float" => (Sort::Float(32), true),
        "double" => (Sort::Float(64), true),
        "short" => (Sort::Int(16), true),
        "ushort" => (Sort::Int(16), false),
        "int" => (Sort::Int(32), true),
        "uint" => (Sort::Int(32), false),
        "ll" | "longlong" => (Sort::Int(64), true),
        "ull" | "ulonglong" => (Sort::Int(64), false),
        _ => return None,
    })
}

/// `float_as_int`.
fn reinterpretation(name: &str, signature: &Signature) -> Option<Scalar> {
    let (from, to) = name.split_once("_as_")?;
    let ((from, _), (to, _)) = (named_type(from)?, named_type(to)?);
    let right = signature.params == [from] && signature.result == Some(to);
    right.then_some(Scalar::Bits)
}

/// `float2int_rz`.
fn conversion(name: &str, signature: &Signature) -> Option<Scalar> {
    let (types, mode) = match name.rsplit_once('_') {
        Some((types, mode)) => (types, Some(mode)),
        None => (name, None),
    };
    let mode = match mode {
        Some("rn") => Some(FPRoundingMode::RTE),
        Some("rz") => Some(FPRoundingMode::RTZ),
        Some("ru") => Some(FPRoundingMode::RTP),
        Some("rd") => Some(FPRoundingMode::RTN),
        Some(_) => return None,
        None => None,
    };
    let (from, to) = types.split_once('2')?;
    let ((from, is_signed), (to, to_signed)) = (named_type(from)?, named_type(to)?);
    let op = match (from, to) {
        (Sort::Float(from), Sort::Float(to)) if from != to => Op::FConvert,
        (Sort::Float(_), Sort::Int(_)) if to_signed => Op::ConvertFToS,
        (Sort::Float(_), Sort::Int(_)) => Op::ConvertFToU,
        (Sort::Int(_), Sort::Float(_)) if is_signed => Op::ConvertSToF,
        (Sort::Int(_), Sort::Float(_)) => Op::ConvertUToF,
        _ => return None,
    };
    let right = signature.params == [from] && signature.result == Some(to);
    right.then_some(Scalar::Convert(op, mode))
}

impl Routine {
    /// Writes the blocks of `function`.
    pub(super) fn write(
        self,
        body: &Body<'_, '_, '_>,
        declarations: &Declarations<'_>,
        function: &Function<'_>,
    ) -> Result<()> {
        let frame = Frame {
            body,
            declarations,
            function,
        };
        body.effect(Op::Label, &[body.fresh()?])?;
        match self {
            Routine::Complex(kind, bits) => frame.complex(kind, bits),
            Routine::Divide => frame.divide(),
            Routine::Scalar(scalar) => frame.scalar(scalar),
            Routine::Brain { to, elements } => frame.brain(to, elements),
            Routine::Bytes(kind) => frame.bytes(kind),
        }
    }
}

/// A function that is being written, with its own types.
struct Frame<'f, 'b, 'e, 'd, 'm> {
    body: &'f Body<'b, 'e, 'd>,
    declarations: &'f Declarations<'m>,
    function: &'f Function<'m>,
}

impl Frame<'_, '_, '_, '_, '_> {
    /// A parameter: its id and its type. The signature says that there is one.
    fn param(&self, index: usize) -> Result<(u32, u32)> {
        let param = self.function.params.get(index);
        param
            .map(|(id, ty)| (id.0, ty.0))
            .ok_or_else(|| bug("a function without the parameter that its signature has"))
    }

    fn result_type(&self) -> u32 {
        self.function.result_type.0
    }

    fn is_void(&self) -> bool {
        matches!(
            self.declarations.ty(self.function.result_type),
            Some(Type::Void)
        )
    }

    fn pointee(&self, pointer: u32) -> Result<u32> {
        match self.declarations.ty(Id(pointer)) {
            Some(Type::Pointer {
                pointee: Some(pointee),
                ..
            }) => Ok(pointee.0),
            _ => Err(bug("a pointer of a signature that points to nothing")),
        }
    }

    /// The scalar type that a structure or vector has two of, or a scalar itself.
    fn element(&self, ty: u32) -> Result<u32> {
        match self.declarations.ty(Id(ty)) {
            Some(Type::Struct { members }) => {
                let first = members.first();
                first.map(|id| id.0).ok_or_else(|| bug("an empty pair"))
            }
            Some(Type::Vector { component, .. }) => Ok(component.0),
            _ => Ok(ty),
        }
    }

    /// Returns the two values that the function gives, by value or through its first parameter.
    fn give_two(&self, values: [u32; 2], bits: u32) -> Result<()> {
        if !self.is_void() {
            let ty = self.result_type();
            let both = self.body.value(Op::CompositeConstruct, ty, &values)?;
            return self.body.effect(Op::ReturnValue, &[both]);
        }
        let (pointer, ty) = self.param(0)?;
        let ty = self.pointee(ty)?;
        let both = self.body.value(Op::CompositeConstruct, ty, &values)?;
        self.body.store(pointer, both, bits)?;
        self.body.effect(Op::Return, &[])
    }

    /// The parts of a complex parameter, whose float type is `element`.
    fn take_two(&self, index: usize, element: u32, bits: u32) -> Result<[u32; 2]> {
        let (id, ty) = self.param(index)?;
        let is_pointer = matches!(self.declarations.ty(Id(ty)), Some(Type::Pointer { .. }));
        let value = if is_pointer {
            self.body.load(self.pointee(ty)?, id, bits)?
        } else {
            id
        };
        let part = |n| self.body.value(Op::CompositeExtract, element, &[value, n]);
        Ok([part(0)?, part(1)?])
    }

    fn complex(&self, kind: Kind, bits: u32) -> Result<()> {
        // Where the result comes through a pointer, the parameters begin behind it.
        let first = usize::from(self.is_void());
        let (_, ty) = self.param(first)?;
        let is_pointer = matches!(self.declarations.ty(Id(ty)), Some(Type::Pointer { .. }));
        let whole = if is_pointer { self.pointee(ty)? } else { ty };
        let element = self.element(whole)?;
        let f = Float::new(self.body, element, bits)?;
        let real = |index: usize| Ok(self.param(first + index)?.0);
        let values = match kind {
            Kind::One(of) => of(&f, self.take_two(first, element, bits)?)?,
            Kind::Real(of) => {
                let value = of(&f, self.take_two(first, element, bits)?)?;
                return self.body.effect(Op::ReturnValue, &[value]);
            }
            Kind::Two(of) => {
                let (x, y) = (
                    self.take_two(first, element, bits)?,
                    self.take_two(first + 1, element, bits)?,
                );
                of(&f, x, y)?
            }
            Kind::Parts(of) => of(&f, [real(0)?, real(1)?], [real(2)?, real(3)?])?,
            Kind::Polar(of) => of(&f, [real(0)?, real(1)?])?,
        };
        self.give_two(values, bits)
    }

    fn divide(&self) -> Result<()> {
        let first = usize::from(self.is_void());
        let ((x, ty), (y, _)) = (self.param(first)?, self.param(first + 1)?);
        let Some(Type::Int { width, .. }) = self.declarations.ty(Id(ty)) else {
            return Err(bug("an integer of a signature that is none"));
        };
        let quotient = self.body.value(Op::SDiv, ty, &[x, y])?;
        let remainder = self.body.value(Op::SRem, ty, &[x, y])?;
        self.give_two([quotient, remainder], *width)
    }

    fn scalar(&self, scalar: Scalar) -> Result<()> {
        let (body, to) = (self.body, self.result_type());
        let (x, ty) = self.param(0)?;
        let width = match self.declarations.ty(Id(ty)) {
            Some(Type::Int { width, .. } | Type::Float { width, .. }) => *width,
            _ => return Err(bug("a scalar of a signature that is none")),
        };
        // An integer result of another width.
        let resized = |value: u32| {
            if to == ty {
                Ok(value)
            } else {
                body.value(Op::UConvert, to, &[value])
            }
        };
        let value = match scalar {
            Scalar::Inverse => {
                let f = Float::new(body, ty, width)?;
                f.div(f.number(1.0)?, x)?
            }
            Scalar::Saturate => {
                let f = Float::new(body, ty, width)?;
                let least = f.call(Cl::fmax, &[x, f.number(0.0)?])?;
                f.call(Cl::fmin, &[least, f.number(1.0)?])?
            }
            Scalar::Distance { signed } => {
                let ((y, _), (z, _)) = (self.param(1)?, self.param(2)?);
                let op = if signed {
                    Cl::s_abs_diff
                } else {
                    Cl::u_abs_diff
                };
                let distance = body.ext(op, ty, &[x, y])?;
                body.value(Op::IAdd, ty, &[distance, z])?
            }
            Scalar::FindFirst => {
                let boolean = body.bool_type()?;
                let none = body.int(ty, width, 0)?;
                let lowest = body.ext(Cl::ctz, ty, &[x])?;
                let place = body.value(Op::IAdd, ty, &[lowest, body.int(ty, width, 1)?])?;
                let is_none = body.value(Op::IEqual, boolean, &[x, none])?;
                resized(body.value(Op::Select, ty, &[is_none, none, place])?)?
            }
            Scalar::LeadingZeros => resized(body.ext(Cl::clz, ty, &[x])?)?,
            Scalar::Ones => resized(body.ext(Cl::popcount, ty, &[x])?)?,
            Scalar::Reverse => body.value(Op::BitReverse, ty, &[x])?,
            Scalar::Bits => body.value(Op::Bitcast, to, &[x])?,
            Scalar::Convert(op, mode) => {
                let value = body.value(op, to, &[x])?;
                if let Some(mode) = mode {
                    body.round(value, mode)?;
                }
                value
            }
        };
        body.effect(Op::ReturnValue, &[value])
    }

    fn brain(&self, to: bool, elements: u32) -> Result<()> {
        let op = if to {
            Op::ConvertFToBF16INTEL
        } else {
            Op::ConvertBF16ToFINTEL
        };
        let bits = if to { [32, 16] } else { [16, 32] };
        let (x, ty) = self.param(0)?;
        let is_pointer = matches!(self.declarations.ty(Id(ty)), Some(Type::Pointer { .. }));
        if elements == 0 {
            let value = if is_pointer {
                self.body.load(self.pointee(ty)?, x, bits[0])?
            } else {
                x
            };
            let value = self.body.value(op, self.result_type(), &[value])?;
            return self.body.effect(Op::ReturnValue, &[value]);
        }
        let (y, to_ty) = self.param(1)?;
        let (from, into) = (self.pointee(ty)?, self.pointee(to_ty)?);
        for index in 0..elements {
            let index = self.body.int(self.body.uint()?, 32, index.into())?;
            let place = |ty, pointer| {
                let chain = Op::InBoundsPtrAccessChain;
                self.body.value(chain, ty, &[pointer, index])
            };
            let value = self.body.load(from, place(ty, x)?, bits[0])?;
            let value = self.body.value(op, into, &[value])?;
            self.body.store(place(to_ty, y)?, value, bits[1])?;
        }
        self.body.effect(Op::Return, &[])
    }

    /// A loop over the bytes, from the first to the last.
    fn bytes(&self, kind: Bytes) -> Result<()> {
        let body = self.body;
        let ((x, x_type), (y, y_type), (size, size_type)) =
            (self.param(0)?, self.param(1)?, self.param(2)?);
        let Some(Type::Int { width, .. }) = self.declarations.ty(Id(size_type)) else {
            return Err(bug("a size of a signature that is no integer"));
        };
        let (boolean, byte) = (body.bool_type()?, self.pointee(x_type)?);
        let (zero, one) = (
            body.int(size_type, *width, 0)?,
            body.int(size_type, *width, 1)?,
        );
        let fill = match kind {
            Bytes::Fill => body.value(Op::UConvert, byte, &[y])?,
            Bytes::Copy | Bytes::Compare => zero,
        };
        let [enter, step, more, differ, done] = labels(body)?;
        let [index, next] = [body.fresh()?, body.fresh()?];
        body.effect(Op::Branch, &[enter])?;

        body.effect(Op::Label, &[enter])?;
        let is_empty = body.value(Op::IEqual, boolean, &[size, zero])?;
        body.effect(Op::BranchConditional, &[is_empty, done, step])?;

        body.effect(Op::Label, &[step])?;
        body.effect(Op::Phi, &[size_type, index, zero, enter, next, more])?;
        let place = |ty, pointer| {
            let chain = Op::InBoundsPtrAccessChain;
            body.value(chain, ty, &[pointer, index])
        };
        let to = place(x_type, x)?;
        let mut values = None;
        match kind {
            Bytes::Fill => body.store(to, fill, 8)?,
            Bytes::Copy => {
                let value = body.load(byte, place(y_type, y)?, 8)?;
                body.store(to, value, 8)?;
            }
            Bytes::Compare => {
                let left = body.load(byte, to, 8)?;
                let right = body.load(self.pointee(y_type)?, place(y_type, y)?, 8)?;
                values = Some([left, right]);
            }
        }
        match values {
            Some([left, right]) => {
                let same = body.value(Op::IEqual, boolean, &[left, right])?;
                body.effect(Op::BranchConditional, &[same, more, differ])?;
            }
            None => body.effect(Op::Branch, &[more])?,
        }

        body.effect(Op::Label, &[more])?;
        body.effect(Op::IAdd, &[size_type, next, index, one])?;
        let is_last = body.value(Op::IEqual, boolean, &[next, size])?;
        body.effect(Op::BranchConditional, &[is_last, done, step])?;

        if let Some([left, right]) = values {
            body.effect(Op::Label, &[differ])?;
            let ty = self.result_type();
            let left = body.value(Op::UConvert, ty, &[left])?;
            let right = body.value(Op::UConvert, ty, &[right])?;
            let order = body.value(Op::ISub, ty, &[left, right])?;
            body.effect(Op::ReturnValue, &[order])?;
        }
        body.effect(Op::Label, &[done])?;
        let result = match kind {
            Bytes::Copy | Bytes::Fill if self.result_type() == x_type => x,
            // The same memory through a pointer of another class.
            Bytes::Copy | Bytes::Fill => {
                body.value(Op::PtrCastToGeneric, self.result_type(), &[x])?
            }
            Bytes::Compare => body.int(self.result_type(), 32, 0)?,
        };
        body.effect(Op::ReturnValue, &[result])
    }
}

fn labels<const N: usize>(body: &Body<'_, '_, '_>) -> Result<[u32; N]> {
    let mut labels = [0; N];
    for label in &mut labels {
        *label = body.fresh()?;
    }
    Ok(labels)
}

fn bug(what: &str) -> crate::diagnostic::Diagnostic {
    crate::diagnostic::Diagnostic::bug(what)
}
