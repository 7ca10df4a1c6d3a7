//! Tensors (SPV_ARM_tensors): elements that are read and written by coordinates, and sizes.
//!
//! What descriptors and shapes are: [`splitbar_layout::tensor`]. Nobody writes them while a kernel
//! runs.
//!
//! Outside of a tensor a read gives the OutOfBoundsValueARM of the instruction, or zeros where it
//! has none, and a write changes nothing. The extension leaves what it does not say to the client's
//! interface. Reads take no branch: one outside of the tensor reads the shape, which is always
//! there, and drops what it has read.

use super::function::FunctionEmitter;
use super::memory::Access;
use super::slots::Pointer;
use super::types::{Kind, Scalar};
use super::{Handled, Result};
use crate::ffi::{self, IntPredicate, Opcode, Value};
use spirv::{Op, StorageClass, TensorOperands as T};
use splitbar_layout::tensor::{self, MOST_DIMENSIONS, Tensor};
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::{Id, Inst, Scope};

/// LLVM's number of the global address space, on both targets.
const GLOBAL: u32 = 1;

/// Instructions that an access takes for each element, about: what is counted of it is a multiple
/// of its elements.
const ELEMENT_PARTS: u64 = 8;

/// Most elements of one access. Each that is written has a branch, and LLVM's time for a function
/// grows with the square of its blocks.
const MOST_ELEMENTS: u64 = 512;

/// The tensor operands of an access.
#[derive(Default)]
struct Extra {
    /// What is read outside of the tensor.
    outside: Option<Id>,
    /// The scope in which the access is coherent.
    coherent: Option<Scope>,
}

impl Extra {
    /// Decodes the tensor operands that begin at operand `first`.
    fn decode(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>, first: usize) -> Result<Extra> {
        let mut extra = Extra::default();
        let Some(bits) = inst.operands().get(first).copied() else {
            return Ok(extra);
        };
        let mask = T::from_bits_retain(bits);
        let mut next = first;
        let mut id = |bit: T| -> Result<Option<Id>> {
            if !mask.contains(bit) {
                return Ok(None);
            }
            next += 1;
            inst.id(next).map(Some).map_err(Box::new)
        };
        extra.outside = id(T::OUT_OF_BOUNDS_VALUE_ARM)?;
        for bit in [T::MAKE_ELEMENT_AVAILABLE_ARM, T::MAKE_ELEMENT_VISIBLE_ARM] {
            if let Some(scope) = id(bit)? {
                extra.coherent =
                    Some(Scope::evaluate(scope, inst, e.module.constants).map_err(Box::new)?);
            }
        }
        Ok(extra)
    }
}

/// A tensor that an instruction names.
struct Named<'c> {
    tensor: Tensor,
    descriptor: Value<'c>,
    /// The address of its shape, in the address space of its descriptor.
    shape: Value<'c>,
}

/// The elements that an instruction accesses: they follow each other along the last dimension.
struct Row<'c> {
    /// Whether the coordinates but the last are inside of the tensor.
    inside: Value<'c>,
    /// The last coordinate of the first element, `i64`.
    first: Value<'c>,
    /// The number of elements of the last dimension, `i64`.
    last: Value<'c>,
    /// Where the first element lies, or would lie.
    place: Value<'c>,
    /// Bytes from one to the next, `i64`.
    stride: Value<'c>,
}

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// The tensor that operand 0 names.
    fn named_tensor(&self, inst: Inst<'_>) -> Result<Named<'c>> {
        let id = inst.id(0).map_err(Box::new)?;
        let Kind::Tensor(tensor) = *self.kind(self.type_of(id)?)? else {
            return Err(self.mismatch(inst, format!("{id} is not a tensor")));
        };
        if tensor.rank == 0 {
            return Err(self.mismatch(inst, format!("the tensor {id} has no dimensions")));
        }
        if tensor.rank > MOST_DIMENSIONS {
            return Err(too_large(
                inst,
                format!(
                    "the tensor {id} has {} dimensions; the limit is {MOST_DIMENSIONS}",
                    tensor.rank
                ),
            ));
        }
        let descriptor = self.value(id)?;
        let place = self.behind_bytes(descriptor, tensor::SHAPE_OFFSET)?;
        let shape = self.load_address(descriptor.ty(), place, tensor::DESCRIPTOR_ALIGN)?;
        Ok(Named {
            tensor,
            descriptor,
            shape,
        })
    }

    fn behind_bytes(&self, place: Value<'c>, bytes: u64) -> Result<Value<'c>> {
        self.b.offset(place, self.b.i64(bytes), true)
    }

    /// A number of the shape, `i64`.
    fn of_shape(&self, named: &Named<'c>, offset: u64) -> Result<Value<'c>> {
        let place = self.behind_bytes(named.shape, offset)?;
        self.load_constant(self.b.int_type(64), place, tensor::DESCRIPTOR_ALIGN.bytes())
    }

    /// The number of elements of dimension `dimension`, `i64`.
    fn dimension(&self, named: &Named<'c>, dimension: u64) -> Result<Value<'c>> {
        self.of_shape(named, tensor::dimension_offset(dimension))
    }

    /// The coordinates in operand 1, `i64` each, and whether they have a sign.
    fn tensor_coordinates(&self, inst: Inst<'_>, tensor: Tensor) -> Result<(Vec<Value<'c>>, bool)> {
        let ty = self.type_of(inst.id(1).map_err(Box::new)?)?;
        let wrong = || self.mismatch(inst, "coordinates that do not fit the tensor");
        let Kind::Array { element, length } = *self.kind(ty)? else {
            return Err(wrong());
        };
        let signed = match self.kind(element)? {
            Kind::ScalarOrVector(shape) if shape.lanes == 1 && length == tensor.rank => {
                match shape.scalar {
                    Scalar::Int { signed, .. } => signed,
                    Scalar::Bool | Scalar::Float { .. } => return Err(wrong()),
                }
            }
            _ => return Err(wrong()),
        };
        let array = self.operand(inst, 1)?;
        let wide = self.b.int_type(64);
        let coordinates = (0..length as u32)
            .map(|at| self.b.int_resize(self.b.member(array, at)?, wide, signed))
            .collect::<Result<_>>()?;
        Ok((coordinates, signed))
    }

    /// The elements of `named` from the coordinates of `inst` on.
    fn row(&self, inst: Inst<'_>, named: &Named<'c>) -> Result<Row<'c>> {
        let tensor = named.tensor;
        let (coordinates, signed) = self.tensor_coordinates(inst, tensor)?;
        let element = self.type_info(tensor.element)?;
        let global = ffi::pointer_type(self.b.context(), GLOBAL);
        let base = self.load_address(global, named.descriptor, element.align)?;
        let mut inside = self.b.bool(true);
        let mut offset = self.b.i64(0);
        let mut row = None;
        for (at, coordinate) in (0..).zip(coordinates) {
            let size = self.dimension(named, at)?;
            let stride = self.of_shape(named, tensor::stride_offset(tensor.rank, at))?;
            offset = self.b.add(offset, self.b.mul(coordinate, stride)?)?;
            let is_inside = self.b.icmp(IntPredicate::LLVMIntULT, coordinate, size)?;
            let is_last = at + 1 == tensor.rank;
            if is_last {
                row = Some((coordinate, size, stride));
            }
            // What begins behind the end stays there: coordinates without a sign do not come back
            // to 0. Those below 0 come to the first element.
            if !(is_last && signed) {
                inside = self.b.and(inside, is_inside)?;
            }
        }
        let (first, last, stride) =
            row.ok_or_else(|| self.b.internal("a tensor without dimensions"))?;
        Ok(Row {
            inside,
            first,
            last,
            place: self.b.offset(base, offset, false)?,
            stride,
        })
    }

    /// Whether element `at` of `row` is inside of the tensor in its last dimension, and where it
    /// lies.
    fn element(&self, row: &Row<'c>, at: u64) -> Result<(Value<'c>, Value<'c>)> {
        let coordinate = self.b.add(row.first, self.b.i64(at))?;
        let inside = self
            .b
            .icmp(IntPredicate::LLVMIntULT, coordinate, row.last)?;
        let bytes = self.b.mul(row.stride, self.b.i64(at))?;
        Ok((inside, self.b.offset(row.place, bytes, false)?))
    }

    /// The number of elements in a value of type `ty` that `inst` reads or writes: one for a scalar
    /// (`None`), else those of an array.
    fn element_count(&self, inst: Inst<'_>, tensor: Tensor, ty: Id) -> Result<Option<u64>> {
        if ty == tensor.element {
            return Ok(None);
        }
        self.ty(ty)?;
        match *self.kind(ty)? {
            Kind::Array { element, length } if element == tensor.element => {
                if length > MOST_ELEMENTS {
                    let message = format!(
                        "{} has {length} elements; the limit is {MOST_ELEMENTS}",
                        inst.name()
                    );
                    return Err(Box::new(
                        Diagnostic::error(Code::TensorTooLarge, message)
                            .at_word(inst.offset)
                            .help("access fewer elements at a time, in a loop"),
                    ));
                }
                self.count_parts(length.saturating_mul(ELEMENT_PARTS))?;
                Ok(Some(length))
            }
            _ => Err(self.mismatch(inst, format!("{ty} does not match the tensor's elements"))),
        }
    }

    /// The memory at `address`, which holds an element of the tensor that operand 0 of `inst`
    /// names.
    fn element_place(
        &self,
        inst: Inst<'_>,
        tensor: Tensor,
        address: Value<'c>,
    ) -> Result<Pointer<'c>> {
        let id = inst.id(0).map_err(Box::new)?;
        Ok(Pointer {
            address,
            pointee: Some(tensor.element),
            class: StorageClass::UniformConstant,
            align: self.type_info(tensor.element)?.align.bytes(),
            matrix: None,
            qualifiers: self.module.qualifiers.get(self.module.declarations, id),
        })
    }

    /// `UnsupportedType`: a tensor of type `ty` is more than what a descriptor names.
    pub(super) fn tensor_value(&self, ty: Id) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::error(
                Code::UnsupportedType,
                format!(
                    "the tensor type {ty} is not lowered for constants and variables of a function"
                ),
            )
            .at_word(self.b.at.get())
            .help("keep tensors in variables of the storage class UniformConstant"),
        )
    }

    fn read_elements(&mut self, inst: Inst<'_>) -> Result<()> {
        let named = self.named_tensor(inst)?;
        let extra = Extra::decode(self, inst, 2)?;
        let ty = self.result_type(inst)?;
        let count = self.element_count(inst, named.tensor, ty)?;
        let row = self.row(inst, &named)?;
        let element = self.ty(named.tensor.element)?;
        let outside = match extra.outside {
            Some(id) => self.value(id)?,
            None => element.zero(),
        };
        let access = Access {
            coherent: extra.coherent,
            ..Access::default()
        };
        let global = row.place.ty();
        let nowhere = if named.shape.ty() == global {
            named.shape
        } else {
            self.b
                .cast(Opcode::LLVMAddrSpaceCast, named.shape, global)?
        };
        let mut value = self.ty(ty)?.poison();
        for at in 0..count.unwrap_or(1) {
            let (inside, place) = self.element(&row, at)?;
            let inside = self.b.and(row.inside, inside)?;
            let address = self.b.select(inside, place, nowhere)?;
            let place = self.element_place(inst, named.tensor, address)?;
            let read = self.load_with(&place, named.tensor.element, access)?;
            let read = self.b.select(inside, read, outside)?;
            value = match count {
                Some(_) => self.b.with_member(value, read, at as u32)?,
                None => read,
            };
        }
        self.bind(inst, value)
    }

    fn write_elements(&mut self, inst: Inst<'_>) -> Result<()> {
        let named = self.named_tensor(inst)?;
        let extra = Extra::decode(self, inst, 3)?;
        let object = inst.id(2).map_err(Box::new)?;
        let count = self.element_count(inst, named.tensor, self.type_of(object)?)?;
        let value = self.value(object)?;
        let row = self.row(inst, &named)?;
        let access = Access {
            coherent: extra.coherent,
            ..Access::default()
        };
        self.when(row.inside, |e| {
            for at in 0..count.unwrap_or(1) {
                let part = match count {
                    Some(_) => e.b.member(value, at as u32)?,
                    None => value,
                };
                let (inside, place) = e.element(&row, at)?;
                let place = e.element_place(inst, named.tensor, place)?;
                e.when(inside, |e| {
                    e.store_with(&place, named.tensor.element, part, access)
                })?;
            }
            Ok(())
        })
    }

    fn query_size(&mut self, inst: Inst<'_>) -> Result<()> {
        let named = self.named_tensor(inst)?;
        let dimension = self
            .constant_u32(inst.id(1).map_err(Box::new)?)
            .map(u64::from)
            .filter(|dimension| *dimension < named.tensor.rank)
            .ok_or_else(|| self.mismatch(inst, "a dimension that the tensor does not have"))?;
        let size = self.dimension(&named, dimension)?;
        let ty = self.result_ty(inst)?;
        if !ty.is_int() || ty.is_vector() {
            return Err(self.mismatch(inst, "a size that is not an integer"));
        }
        let size = self.b.int_resize(size, ty, false)?;
        self.bind(inst, size)
    }
}

fn too_large(inst: Inst<'_>, message: String) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(Code::TensorTooLarge, message)
            .at_word(inst.offset)
            .help("merge several contiguous dimensions into one"),
    )
}

/// Lowers the tensor instructions.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    match op {
        Op::TensorReadARM => e.read_elements(inst)?,
        Op::TensorWriteARM => e.write_elements(inst)?,
        Op::TensorQuerySizeARM => e.query_size(inst)?,
        _ => return Ok(Handled::No),
    }
    Ok(Handled::Yes)
}
