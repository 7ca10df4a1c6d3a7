//! SPIR-V types as LLVM types.
//!
//! Value types: bool `i1`, integers `iN`, floats `half`/`bfloat`/`float`/`double`, vectors
//! `<n x T>`, matrices `[columns x <rows x T>]`, arrays `[n x T]`, structures `{ ... }`, pointers
//! `ptr addrspace(n)`.

use super::build::Build;
use crate::ffi::Ty;
use spirv::StorageClass;
use splitbar_layout::types;
use splitbar_passes::module::{FloatFormat, Id};
use splitbar_plan::Target;
use std::ops::Deref;

pub(crate) use splitbar_layout::pointers::address_space;
pub(crate) use splitbar_layout::types::{
    Kind, MAX_PARTS, Scalar, TypeInfo, VectorType, require, too_many_parts,
};

/// The types of a module, each with its LLVM value type.
pub(crate) struct Types<'c> {
    table: types::Types,
    values: Vec<Option<Ty<'c>>>,
}

impl<'c> Types<'c> {
    /// Makes the value types.
    pub(crate) fn build(table: types::Types, target: &Target, b: &Build<'c>) -> Types<'c> {
        let mut types = Types {
            values: Vec::new(),
            table,
        };
        for (id, info) in types.table.iter() {
            let at = id.0 as usize;
            let value = if info.is_value {
                types.make(info, target, b)
            } else {
                None
            };
            if types.values.len() <= at {
                types.values.resize(at + 1, None);
            }
            if let Some(slot) = types.values.get_mut(at) {
                *slot = value;
            }
        }
        types
    }

    /// The value type of the type `id`; `None` for what is not a value (void, runtime arrays,
    /// functions, what is not lowered).
    pub(crate) fn value(&self, id: Id) -> Option<Ty<'c>> {
        *self.values.get(id.0 as usize)?
    }

    /// The value type of a type whose parts have theirs.
    fn make(&self, info: &TypeInfo, target: &Target, b: &Build<'c>) -> Option<Ty<'c>> {
        let plain = |shape: VectorType| scalar(b, shape.scalar).vector(shape.lanes);
        let pointer = |class| Some(b.pointer_type(address_space(target, class)?));
        match &info.kind {
            Kind::ScalarOrVector(shape) => Some(plain(*shape)),
            Kind::Matrix { column, columns } => Some(plain(*column).array(u64::from(*columns))),
            Kind::Array { element, length } => Some(self.value(*element)?.array(*length)),
            Kind::Struct { members } => {
                let values = members.iter().map(|member| self.value(*member));
                Some(b.struct_type(&values.collect::<Option<Vec<_>>>()?))
            }
            Kind::Cooperative(matrix) => Some(plain(matrix.shape())),
            Kind::Image(_) | Kind::SampledImage(_) | Kind::Sampler | Kind::Tensor(_) => {
                pointer(StorageClass::UniformConstant)
            }
            Kind::TensorObject(tensor) => Some(plain(tensor.shape())),
            Kind::Pointer { class, .. } => pointer(*class),
            Kind::NamedBarrier => pointer(StorageClass::Workgroup),
            Kind::Void | Kind::RuntimeArray { .. } | Kind::Function | Kind::Other(_) => None,
        }
    }
}

impl Deref for Types<'_> {
    type Target = types::Types;

    fn deref(&self) -> &types::Types {
        &self.table
    }
}

/// The LLVM type of a scalar.
pub(crate) fn scalar<'c>(b: &Build<'c>, scalar: Scalar) -> Ty<'c> {
    match scalar {
        Scalar::Bool => b.int_type(1),
        Scalar::Int { width, .. } => b.int_type(width),
        Scalar::Float {
            format: FloatFormat::BFloat16,
            ..
        } => b.bfloat_type(),
        Scalar::Float { width: ..=8, .. } => b.int_type(8),
        Scalar::Float { width, .. } => b.float_type(width),
    }
}
