//! The types of an imported function, as far as functions of C have them.

use crate::module::{Declarations, FloatFormat, Function, Id, Type};
use spirv::StorageClass;

/// A type of a parameter or result.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// A float of so many bits.
    Float(u32),
    /// An integer of so many bits.
    Int(u32),
    /// A structure or vector of two floats.
    Complex(u32),
    /// A structure of two integers.
    Pair(u32),
    /// A pointer to a float of so many bits.
    ToFloat(u32),
    /// A pointer to an integer.
    ToInt(u32),
    /// A pointer to a structure of two floats.
    ToComplex(u32),
    /// A pointer to a structure of two integers.
    ToPair(u32),
    /// Any other.
    Other,
}

/// The types of a function.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    /// `None`: the function gives nothing back.
    pub(super) result: Option<Sort>,
    pub(super) params: Vec<Sort>,
}

impl Signature {
    pub(super) fn from_function(
        declarations: &Declarations<'_>,
        function: &Function<'_>,
    ) -> Signature {
        let is_void = matches!(declarations.ty(function.result_type), Some(Type::Void));
        Signature {
            result: (!is_void).then(|| sort(declarations, function.result_type)),
            params: function
                .params
                .iter()
                .map(|(_, ty)| sort(declarations, *ty))
                .collect(),
        }
    }

    /// Returns true if result and parameters are those of `letters`, with `f` of so many bits: `i`
    /// and `l` integers of 32 and 64 bits, capitals pointers.
    pub(super) fn is(&self, letters: &str, bits: u32) -> bool {
        let sort = |letter: char| match letter {
            'f' => Sort::Float(bits),
            'F' => Sort::ToFloat(bits),
            'i' => Sort::Int(32),
            'I' => Sort::ToInt(32),
            'l' => Sort::Int(64),
            _ => Sort::Other,
        };
        let all: Vec<Sort> = letters.chars().map(sort).collect();
        let Some((result, params)) = all.split_first() else {
            return false;
        };
        self.result == Some(*result) && self.params == params
    }
}

/// What the type `id` is.
fn sort(declarations: &Declarations<'_>, id: Id) -> Sort {
    match declarations.ty(id) {
        Some(Type::Pointer {
            class,
            pointee: Some(pointee),
        }) if is_data(*class) => match data(declarations, *pointee) {
            Sort::Float(bits) => Sort::ToFloat(bits),
            Sort::Int(bits) => Sort::ToInt(bits),
            Sort::Complex(bits) => Sort::ToComplex(bits),
            Sort::Pair(bits) => Sort::ToPair(bits),
            _ => Sort::Other,
        },
        _ => data(declarations, id),
    }
}

/// What the type `id` is, which is not a pointer.
fn data(declarations: &Declarations<'_>, id: Id) -> Sort {
    match declarations.ty(id) {
        Some(Type::Struct { members }) => match members.as_slice() {
            [one, other] if one == other => two(declarations, *one),
            _ => Sort::Other,
        },
        Some(Type::Vector {
            component,
            count: 2,
        }) => two(declarations, *component),
        _ => scalar(declarations, id),
    }
}

/// Classes of memory that a function of C may be given a pointer to.
fn is_data(class: StorageClass) -> bool {
    matches!(
        class,
        StorageClass::Generic
            | StorageClass::Function
            | StorageClass::CrossWorkgroup
            | StorageClass::Workgroup
            | StorageClass::UniformConstant
    )
}

fn scalar(declarations: &Declarations<'_>, id: Id) -> Sort {
    match declarations.ty(id) {
        Some(Type::Float {
            width,
            format: FloatFormat::Ieee,
        }) => Sort::Float(*width),
        Some(Type::Int { width, .. }) => Sort::Int(*width),
        _ => Sort::Other,
    }
}

fn two(declarations: &Declarations<'_>, id: Id) -> Sort {
    match scalar(declarations, id) {
        Sort::Float(bits) => Sort::Complex(bits),
        Sort::Int(bits) => Sort::Pair(bits),
        _ => Sort::Other,
    }
}

/// What `find` knows under the name of a function of C, and the width of its floats: the name is
/// that of the function for doubles, or has `f` or `f16` behind it; integers of 64 bits `ll`.
pub(super) fn by_width<R>(name: &str, find: impl Fn(&str) -> Option<R>) -> Option<(R, u32)> {
    let doubles = find(name).map(|found| (found, 64));
    let with = |suffix: &str, bits| Some((find(name.strip_suffix(suffix)?)?, bits));
    doubles
        .or_else(|| with("f16", 16))
        .or_else(|| with("f", 32))
}
