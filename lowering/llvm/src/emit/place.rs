//! Pointers: variables, access chains, casts, comparisons, the length of runtime arrays.
//!
//! An access chain becomes one byte offset that is computed from the layouts of the types that it
//! walks through. In logical addressing an object is smaller than 4 GiB and an index stays inside
//! it, so the offset into a buffer is computed in 32 bits and widened without sign, which lets
//! AMDGPU use a scalar base with a 32-bit offset; physical pointers take 64-bit signed arithmetic.

use super::function::FunctionEmitter;
use super::layout::{self, MatrixLayout};
use super::slots::Pointer;
use super::types::Kind;
use super::uses;
use super::{Handled, Result, build::Build};
use crate::ffi::{Opcode, Value};
use spirv::{Op, StorageClass};
use splitbar_layout::pointers::is_descriptor_array;
use splitbar_passes::analysis::layout::Alignment;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::{Id, Inst};
use splitbar_plan::target::Arch;

/// Stack bytes of one invocation that a kernel's variables, and copies of what is passed by value,
/// may take together.
const MAX_STACK_BYTES: u64 = 1 << 20;

/// Takes `bytes` of the invocation's stack for a variable or a copy, which the instruction at
/// `b.at` asks for. The sum is one of the kernel: each of its functions counts once.
///
/// # Errors
/// `StackTooLarge` when it is too large by itself, or when it is the first that does not fit beside
/// the others.
pub(super) fn take_stack(b: &Build<'_>, bytes: u64) -> Result<()> {
    let before = b.stack_bytes.get();
    let sum = before.saturating_add(bytes);
    let message = if bytes > MAX_STACK_BYTES {
        format!(
            "a variable of {bytes} bytes; at most {MAX_STACK_BYTES} are kept on an invocation's stack"
        )
    } else {
        b.stack_bytes.set(sum);
        if before > MAX_STACK_BYTES || sum <= MAX_STACK_BYTES {
            return Ok(());
        }
        format!(
            "with this variable of {bytes} bytes an invocation has {sum} bytes of variables; at most {MAX_STACK_BYTES} are kept on its stack"
        )
    };
    Err(Box::new(
        Diagnostic::error(Code::StackTooLarge, message)
            .at_word(b.at.get())
            .help("keep large data in a buffer or in workgroup memory"),
    ))
}

/// So many types of an object are looked at for its narrowest scalar.
const MOST_TYPES: usize = 64;

/// Position of an access chain on its way.
struct Walk<'c> {
    /// The type of what it has come to.
    ty: Id,
    /// The layout of the matrix there, if it is one or part of one.
    matrix: Option<MatrixLayout>,
    offset: Offset<'c>,
}

/// A byte offset that grows along an access chain.
struct Offset<'c> {
    fixed: i64,
    dynamic: Option<Value<'c>>,
    align: u32,
}

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// A stack slot of `bytes`, as many as the module says, for an object of type `pointee`.
    ///
    /// It is an array of integers as wide as the narrowest scalar of the object: where LLVM makes a
    /// vector of the slot, it takes this width for the components, and an array of bytes would take
    /// words apart.
    ///
    /// # Errors
    /// `StackTooLarge`.
    pub(super) fn declared_slot(
        &mut self,
        pointee: Id,
        bytes: u64,
        align: u32,
    ) -> Result<Value<'c>> {
        take_stack(self.b, bytes)?;
        let narrowest = u64::from(self.narrowest(pointee).min(align));
        let unit = if bytes.is_multiple_of(narrowest) {
            narrowest
        } else {
            1
        };
        let ty = self.b.int_type(8 * unit as u32);
        self.stack_slot(ty.array(bytes / unit), align)
    }

    /// The bytes, at most 4, of the narrowest scalar in an object of type `ty`; 1 where there are
    /// many types to look at.
    fn narrowest(&self, ty: Id) -> u32 {
        let mut todo = vec![ty];
        let mut narrowest = 4;
        for _ in 0..MOST_TYPES {
            let Some(ty) = todo.pop() else {
                return narrowest;
            };
            let bytes = match self.module.types.get(ty).map(|info| &info.kind) {
                Some(Kind::ScalarOrVector(shape) | Kind::Matrix { column: shape, .. }) => {
                    shape.scalar.bytes()
                }
                Some(Kind::Array { element, .. }) => {
                    todo.push(*element);
                    continue;
                }
                Some(Kind::Struct { members }) => {
                    todo.extend(members);
                    continue;
                }
                Some(
                    Kind::Pointer { .. }
                    | Kind::Image(_)
                    | Kind::SampledImage(_)
                    | Kind::Sampler
                    | Kind::Tensor(_)
                    | Kind::NamedBarrier,
                ) => 4, // addresses have 4 or 8
                Some(
                    Kind::Cooperative(_)
                    | Kind::TensorObject(_)
                    | Kind::Void
                    | Kind::RuntimeArray { .. }
                    | Kind::Function
                    | Kind::Other(_),
                )
                | None => 1,
            };
            narrowest = narrowest.min(bytes);
        }
        1
    }

    /// Returns true if a pointer of class `class` to `pointee` is one to an array of descriptors.
    pub(super) fn is_descriptor_array(&self, class: StorageClass, pointee: Option<Id>) -> bool {
        is_descriptor_array(&self.module.types, self.module.declarations, class, pointee)
    }

    /// `index * stride` in the width of the address space's offsets.
    fn scaled(
        &self,
        pointer: &Pointer<'c>,
        index: Value<'c>,
        stride: u64,
        signed: bool,
    ) -> Result<Value<'c>> {
        if !index.ty().is_int() || index.ty().is_vector() {
            return Err(self
                .b
                .mismatch(format!("an index of type {}", index.ty().print())));
        }
        let narrow = self.offset_bits(pointer, signed) == 32;
        let ty = self.b.int_type(if narrow { 32 } else { 64 });
        let index = self.b.int_resize(index, ty, true)?;
        self.b.mul(index, ty.int(stride))
    }

    /// Bits in which offsets from `pointer` are computed.
    fn offset_bits(&self, pointer: &Pointer<'c>, signed: bool) -> u32 {
        let small_space = matches!(
            (
                &self.module.target.arch,
                pointer.address.ty().address_space()
            ),
            (_, 3) | (Arch::Amdgpu(_), 5)
        );
        let buffer = matches!(
            pointer.class,
            StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::PushConstant
        ) && !signed;
        if small_space || buffer { 32 } else { 64 }
    }

    fn add_dynamic(&self, offset: &mut Offset<'c>, value: Value<'c>) -> Result<()> {
        offset.dynamic = Some(match offset.dynamic {
            Some(sum) => self.b.add(sum, value)?,
            None => value,
        });
        Ok(())
    }

    /// Advances `offset` by `index` elements of `stride` bytes.
    fn step(
        &self,
        pointer: &Pointer<'c>,
        offset: &mut Offset<'c>,
        index: Id,
        stride: u64,
        signed: bool,
    ) -> Result<()> {
        let value = self.value(index)?;
        offset.align = layout::alignment_of_offset(offset.align, stride);
        match value.as_u64() {
            Some(bits) => {
                let width = value.ty().int_width();
                let number = if width < 64 {
                    ((bits << (64 - width)) as i64) >> (64 - width)
                } else {
                    bits as i64
                };
                let bytes = number.wrapping_mul(stride as i64);
                offset.align = layout::alignment_of_offset(offset.align, bytes.unsigned_abs());
                offset.fixed = offset.fixed.wrapping_add(bytes);
            }
            None => {
                let scaled = self.scaled(pointer, value, stride, signed)?;
                self.add_dynamic(offset, scaled)?;
            }
        }
        Ok(())
    }

    /// Ends a walk: the address `offset` behind `pointer`.
    fn finish(
        &self,
        pointer: &Pointer<'c>,
        offset: &Offset<'c>,
        in_bounds: bool,
        signed: bool,
    ) -> Result<Value<'c>> {
        let bits = self.offset_bits(pointer, signed);
        let ty = self.b.int_type(bits);
        let mut address = pointer.address;
        if let Some(dynamic) = offset.dynamic {
            let small_space = matches!(
                (&self.module.target.arch, address.ty().address_space()),
                (_, 3) | (Arch::Amdgpu(_), 5)
            );
            let dynamic = if bits == 32 && !small_space {
                self.b.int_resize(dynamic, self.b.int_type(64), false)?
            } else {
                dynamic
            };
            address = self.b.offset(address, dynamic, in_bounds)?;
        }
        if offset.fixed != 0 {
            let ty = if bits == 32
                && address.ty().address_space() != 3
                && offset.fixed > i64::from(i32::MAX)
            {
                self.b.int_type(64)
            } else {
                ty
            };
            let fixed = if ty.int_width() == 32 && !matches!(address.ty().address_space(), 3 | 5) {
                self.b.i64(offset.fixed as u64)
            } else {
                ty.int(offset.fixed as u64)
            };
            address = self.b.offset(address, fixed, in_bounds)?;
        }
        Ok(address)
    }

    /// The place that `indexes` lead to from `pointer`.
    pub(crate) fn walk(
        &self,
        pointer: Pointer<'c>,
        indexes: &[u32],
        in_bounds: bool,
    ) -> Result<Pointer<'c>> {
        let mut pointer = pointer;
        let mut indexes = indexes;
        while self.is_descriptor_array(pointer.class, pointer.pointee) && !indexes.is_empty() {
            (pointer, indexes) = self.descriptor(pointer, indexes)?;
        }
        let signed = self.is_physical(pointer.class);
        let Some(ty) = pointer.pointee else {
            return Err(self.b.mismatch("an access chain from an untyped pointer"));
        };
        let mut walk = Walk {
            ty,
            matrix: pointer.matrix,
            offset: Offset {
                fixed: 0,
                dynamic: None,
                align: pointer.align,
            },
        };
        for index in indexes {
            self.walk_into(&pointer, &mut walk, Id(*index), signed)?;
        }
        let address = self.finish(&pointer, &walk.offset, in_bounds, signed)?;
        Ok(Pointer {
            address,
            pointee: Some(walk.ty),
            align: walk.offset.align,
            matrix: walk.matrix,
            ..pointer
        })
    }

    /// Goes on into the part `index` of where the walk is.
    fn walk_into(
        &self,
        pointer: &Pointer<'c>,
        walk: &mut Walk<'c>,
        index: Id,
        signed: bool,
    ) -> Result<()> {
        let ty = walk.ty;
        let info = self.type_info(ty)?;
        match &info.kind {
            Kind::Struct { members } => {
                let number = self.constant_u32(index);
                let at = number
                    .and_then(|n| Some((*info.places.get(n as usize)?, *members.get(n as usize)?)));
                let Some(((bytes, layout), member)) = at else {
                    return Err(self.b.mismatch(format!(
                        "{index} is not the constant number of a member of {ty}"
                    )));
                };
                walk.offset.fixed = walk.offset.fixed.wrapping_add(bytes as i64);
                walk.offset.align = layout::alignment_of_offset(walk.offset.align, bytes);
                walk.matrix = layout;
                walk.ty = member;
            }
            Kind::Array { element, .. } | Kind::RuntimeArray { element } => {
                self.step(pointer, &mut walk.offset, index, info.stride, signed)?;
                walk.ty = *element;
            }
            Kind::Matrix { column, .. } => {
                let stride = match walk.matrix {
                    Some(MatrixLayout {
                        row_major: true, ..
                    }) => u64::from(column.scalar.bytes()),
                    Some(MatrixLayout {
                        stride,
                        row_major: false,
                    }) => u64::from(stride),
                    None => info.stride,
                };
                walk.matrix = walk.matrix.filter(|m| m.row_major);
                self.step(pointer, &mut walk.offset, index, stride, signed)?;
                walk.ty = self
                    .component_type(ty)
                    .ok_or_else(|| self.b.mismatch(format!("{ty} has no columns")))?;
            }
            Kind::Cooperative(_) => {
                self.step(pointer, &mut walk.offset, index, info.stride, signed)?;
                walk.ty = self
                    .component_type(ty)
                    .ok_or_else(|| self.b.mismatch(format!("{ty} has no elements")))?;
            }
            Kind::ScalarOrVector(shape) if shape.lanes > 1 || self.component_type(ty).is_some() => {
                let stride = walk
                    .matrix
                    .filter(|m| m.row_major)
                    .map_or(u64::from(shape.scalar.bytes()), |m| u64::from(m.stride));
                walk.matrix = None;
                self.step(pointer, &mut walk.offset, index, stride, signed)?;
                walk.ty = self
                    .component_type(ty)
                    .ok_or_else(|| self.b.mismatch(format!("{ty} has no components")))?;
            }
            Kind::ScalarOrVector(_)
            | Kind::TensorObject(_)
            | Kind::Pointer { .. }
            | Kind::Image(_)
            | Kind::SampledImage(_)
            | Kind::Sampler
            | Kind::Tensor(_)
            | Kind::Void
            | Kind::NamedBarrier
            | Kind::Function
            | Kind::Other(_) => {
                return Err(self.b.mismatch(format!(
                    "an access chain indexes {ty}, which has no members or elements"
                )));
            }
        }
        Ok(())
    }

    fn is_physical(&self, class: StorageClass) -> bool {
        self.module.opencl || class == StorageClass::PhysicalStorageBuffer
    }

    /// The number of a descriptor in the table of the array of descriptors `ty`, `i64`; the type of
    /// what it describes; the indexes that are left.
    fn descriptor_number<'i>(
        &self,
        ty: Option<Id>,
        indexes: &'i [u32],
    ) -> Result<(Value<'c>, Option<Id>, &'i [u32])> {
        let mut ty = ty;
        let mut rest = indexes;
        let mut number: Option<Value<'c>> = None;
        let i64 = self.b.int_type(64);
        while let Some(info) = ty.and_then(|t| self.module.types.get(t)) {
            let (element, length) = match &info.kind {
                Kind::Array { element, length } => (*element, *length),
                Kind::RuntimeArray { element } => (*element, 0),
                _ => break,
            };
            let Some((index, tail)) = rest.split_first() else {
                return Err(self
                    .b
                    .mismatch("an access chain ends inside an array of descriptors"));
            };
            let index = self.b.int_resize(self.value(Id(*index))?, i64, false)?;
            number = Some(match number {
                Some(outer) => self.b.add(self.b.mul(outer, i64.int(length))?, index)?,
                None => index,
            });
            rest = tail;
            ty = Some(element);
        }
        let number =
            number.ok_or_else(|| self.b.internal("an array of descriptors without an index"))?;
        Ok((number, ty, rest))
    }

    /// Takes one descriptor out of a table of them.
    fn descriptor<'i>(
        &self,
        pointer: Pointer<'c>,
        indexes: &'i [u32],
    ) -> Result<(Pointer<'c>, &'i [u32])> {
        let (number, ty, rest) = self.descriptor_number(pointer.pointee, indexes)?;
        let bytes = self
            .b
            .mul(number, self.b.i64(self.module.arrays.addresses.into()))?;
        let entry = self.b.offset(pointer.address, bytes, true)?;
        let align = self.buffer_align(ty);
        let address = if self.module.arrays.constant {
            self.load_address(pointer.address.ty(), entry, align)?
        } else {
            let natural = layout::POINTER_BYTES as u32;
            self.b.load(pointer.address.ty(), entry, natural)?
        };
        Ok((
            Pointer {
                address,
                pointee: ty,
                align: align.bytes(),
                matrix: None,
                ..pointer
            },
            rest,
        ))
    }

    /// Bytes between the elements that a pointer of type `pointer_type` to `pointee` counts.
    pub(super) fn element_stride(&self, pointer_type: Id, pointee: Id) -> Result<u64> {
        let element = self.type_info(pointee)?.extent();
        Ok(layout::stride(
            self.module.declarations,
            pointer_type,
            element,
        ))
    }

    /// A Function variable: a stack slot.
    fn variable(&mut self, inst: Inst<'_>) -> Result<()> {
        let ty = self.result_type(inst)?;
        let Kind::Pointer { class, pointee } = *self.kind(ty)? else {
            return Err(self.mismatch(inst, "a variable whose type is not a pointer"));
        };
        let Some(pointee) = pointee else {
            return Err(self.unsupported(inst, "its type is unknown"));
        };
        let info = self.type_info(pointee)?;
        let align = info.align.max(Alignment::WORD);
        let align = match inst.result() {
            Some(id) => layout::variable_align(self.module.declarations, id, align),
            None => align,
        };
        let align = align.bytes();
        let size = info.size;
        let slot = self.declared_slot(pointee, size, align)?;
        let pointer = Pointer {
            address: slot,
            pointee: Some(pointee),
            class,
            align,
            matrix: None,
            qualifiers: Default::default(),
        };
        if let Some(initializer) = inst.operands().get(1) {
            self.store_constant(&pointer, pointee, Id(*initializer))?;
        } else if let Some(id) = inst.result() {
            self.give_contents(id, slot, info.size, align);
        }
        self.bind_pointer(inst, pointer)
    }

    /// OpRawAccessChainNV: `offset + stride * index` bytes behind the beginning of a buffer, in 32
    /// bits without sign. What robustness asks for is the environment's, which has no bounds here.
    fn raw_chain(&mut self, inst: Inst<'_>) -> Result<()> {
        let base = self.pointer(inst.id(0).map_err(Box::new)?)?;
        if self.is_descriptor_array(base.class, base.pointee) {
            return Err(self.unsupported(inst, "its base is an array of descriptors"));
        }
        let ty = self.result_type(inst)?;
        let Kind::Pointer {
            pointee: Some(pointee),
            ..
        } = *self.kind(ty)?
        else {
            return Err(self.mismatch(inst, "its result is not a pointer to something"));
        };
        let (b, word) = (self.b, self.b.int_type(32));
        let part = |index| b.int_resize(self.operand(inst, index)?, word, false);
        let (stride, index, offset) = (part(1)?, part(2)?, part(3)?);
        let bytes = b.add(b.mul(stride, index)?, offset)?;
        // What is not known of the sum each access says (it must have Aligned).
        let align = match bytes.as_u64() {
            Some(bytes) => layout::alignment_of_offset(base.align, bytes),
            None => 1,
        };
        let bytes = b.int_resize(bytes, b.int_type(64), false)?;
        let address = b.offset(base.address, bytes, false)?;
        self.bind_pointer(
            inst,
            Pointer {
                address,
                pointee: Some(pointee),
                align,
                matrix: None,
                ..base
            },
        )
    }

    /// The length in bytes, `i32`, of the buffer that `structure` points to.
    fn buffer_length(&self, inst: Inst<'_>, structure: Id) -> Result<Value<'c>> {
        let refused = || self.unsupported(inst, "its structure is not in a variable");
        let (variable, indexes) =
            uses::described(self.module.declarations, structure).ok_or_else(refused)?;
        let length = self
            .arguments
            .lengths
            .iter()
            .find(|(known, _)| *known == variable)
            .map(|(_, length)| *length)
            .ok_or_else(refused)?;
        let pointer = self.pointer(variable)?;
        if !self.is_descriptor_array(pointer.class, pointer.pointee) {
            return Ok(length);
        }
        // Then it is a table with a length for each descriptor.
        let word = self.b.int_type(32);
        let (number, _, _) = self.descriptor_number(pointer.pointee, indexes)?;
        let bytes = self
            .b
            .mul(number, self.b.i64(self.module.arrays.lengths.into()))?;
        let entry = self.b.offset(length, bytes, true)?;
        if self.module.arrays.constant {
            self.load_length(entry)
        } else {
            self.b.load(word, entry, 4)
        }
    }

    /// The number of elements in the runtime array that ends a buffer's structure.
    fn array_length(&mut self, inst: Inst<'_>) -> Result<()> {
        let structure = inst.id(0).map_err(Box::new)?;
        let member = inst.operand(1).map_err(Box::new)?;
        let length = self.buffer_length(inst, structure)?;
        let Some(ty) = self.pointer(structure)?.pointee else {
            return Err(self.mismatch(inst, "the buffer has no type"));
        };
        let info = self.type_info(ty)?;
        let Kind::Struct { members } = &info.kind else {
            return Err(self.mismatch(inst, "the buffer is not a structure"));
        };
        let at = info
            .places
            .get(member as usize)
            .zip(members.get(member as usize));
        let Some(((offset, _), array)) = at else {
            return Err(self.mismatch(inst, format!("the structure has no member {member}")));
        };
        let stride = self.type_info(*array)?.stride;
        let (Ok(offset), Ok(stride @ 1..)) = (u32::try_from(*offset), u32::try_from(stride)) else {
            return Err(self.mismatch(inst, "the member is not a runtime array"));
        };
        let bytes = self.b.sub(length, self.b.i32(offset))?;
        let count = self.b.binary(Opcode::LLVMUDiv, bytes, self.b.i32(stride))?;
        // 64 bits with SPV_EXT_shader_64bit_indexing.
        let count = self.b.int_resize(count, self.result_ty(inst)?, false)?;
        self.bind(inst, count)
    }
}

/// Lowers what makes pointers into memory.
pub(crate) fn emit<'c>(e: &mut FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Handled> {
    let id = |index: usize| inst.id(index).map_err(Box::new);
    let Some(op) = inst.op() else {
        return Ok(Handled::No);
    };
    match op {
        Op::Variable => e.variable(inst)?,
        Op::AccessChain | Op::InBoundsAccessChain => {
            let base = e.pointer(id(0)?)?;
            let in_bounds = op == Op::InBoundsAccessChain || !e.is_physical(base.class);
            let place = e.walk(base, inst.operands_from(1), in_bounds)?;
            e.bind_pointer(inst, place)?;
        }
        Op::PtrAccessChain | Op::InBoundsPtrAccessChain => {
            let base_id = id(0)?;
            let base = e.pointer(base_id)?;
            let Some(pointee) = base.pointee else {
                return Err(e.unsupported(inst, "the base pointer is untyped"));
            };
            let stride = e.element_stride(e.type_of(base_id)?, pointee)?;
            let mut offset = Offset {
                fixed: 0,
                dynamic: None,
                align: base.align,
            };
            e.step(&base, &mut offset, id(1)?, stride, true)?;
            let in_bounds = op == Op::InBoundsPtrAccessChain;
            let address = e.finish(&base, &offset, in_bounds, true)?;
            let element = Pointer {
                address,
                align: offset.align,
                ..base
            };
            let place = e.walk(element, inst.operands_from(2), in_bounds)?;
            e.bind_pointer(inst, place)?;
        }
        Op::UntypedAccessChainKHR | Op::UntypedInBoundsAccessChainKHR => {
            let base = Pointer {
                pointee: Some(id(0)?),
                ..e.pointer(id(1)?)?
            };
            let in_bounds = op == Op::UntypedInBoundsAccessChainKHR || !e.is_physical(base.class);
            let place = e.walk(base, inst.operands_from(2), in_bounds)?;
            e.bind_pointer(inst, place)?;
        }
        Op::RawAccessChainNV => e.raw_chain(inst)?,
        Op::CopyObject => match e.pointer(id(0)?) {
            Ok(pointer) => e.bind_pointer(inst, pointer)?,
            Err(_) => {
                e.cascade.set(false);
                let value = e.operand(inst, 0)?;
                e.bind(inst, value)?;
            }
        },
        Op::ArrayLength => e.array_length(inst)?,
        Op::SizeOf => {
            let Some(pointee) = e.pointer(id(0)?)?.pointee else {
                return Err(e.unsupported(inst, "the pointer is untyped"));
            };
            let bytes = e.type_info(pointee)?.size;
            let value = e.b.int(e.result_ty(inst)?, bytes)?;
            e.bind(inst, value)?;
        }
        _ => return Ok(Handled::No),
    }
    Ok(Handled::Yes)
}
