//! Loads, stores and copies. Memory is bytes: a composite is taken apart into scalars and vectors
//! at the offsets of its layout.
//!
//! Coherence (SPIR-V 1.6 section 2.18, Vulkan memory model): an access with MakePointerAvailable or
//! MakePointerVisible becomes a relaxed atomic access of each component in that scope, which every
//! cache between the invocations of the scope lets through. Workgroup variables need nothing of the
//! kind: on both vendors workgroup memory has one copy, and order between invocations is the
//! business of the barriers and fences.

use super::function::FunctionEmitter;
use super::layout;
use super::layout::MatrixLayout;
use super::slots::Pointer;
use super::types::{self, Kind, Scalar, VectorType};
use super::{Handled, Result, barrier, facts};
use crate::ffi::{AtomicOrdering, IntPredicate, Opcode, Ty, Value};
use spirv::MemoryAccess;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::{Id, Inst, Scope};

/// Most scalars and vectors that the loads and stores of one LLVM module are taken apart into.
const MAX_TOTAL_LEAVES: u64 = 1 << 22;
/// A constant with more parts than this is copied from constant memory instead of stored part by
/// part.
pub(super) const INLINE_LEAVES: u64 = 16;

/// How an access is made.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Access {
    /// Volatile.
    pub(crate) volatile: bool,
    /// The Aligned operand.
    pub(crate) aligned: Option<u32>,
    /// The scope in which the access is coherent, if it asks for it.
    pub(crate) coherent: Option<Scope>,
}

/// The scope of an access to coherent memory that asks for `asked` itself: the queue family's, as
/// the environments have it for the decoration Coherent (Vulkan, "Memory Model": what GLSL450 says
/// is translated to Vulkan's model with the scope QueueFamily).
pub(super) fn coherent_scope(asked: Option<Scope>) -> Scope {
    match asked {
        Some(Scope::CrossDevice) => Scope::CrossDevice,
        _ => Scope::QueueFamily,
    }
}

/// The memory operands of an instruction (SPIR-V 3.26).
#[derive(Copy, Clone, Default)]
struct MemoryOperands {
    volatile: bool,
    aligned: Option<u32>,
    available: Option<Scope>,
    visible: Option<Scope>,
    /// The index behind them.
    next: usize,
}

impl MemoryOperands {
    fn as_access(&self, coherent: Option<Scope>) -> Access {
        Access {
            volatile: self.volatile,
            aligned: self.aligned,
            coherent,
        }
    }
}

impl Access {
    /// Returns true if it is more than a plain access.
    pub(super) fn is_special(self) -> bool {
        self.volatile || self.coherent.is_some()
    }
}

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// Stores a value of type `ty` to `pointer`.
    pub(crate) fn store(&mut self, pointer: &Pointer<'c>, ty: Id, value: Value<'c>) -> Result<()> {
        self.store_with(pointer, ty, value, Access::default())
    }

    /// Loads a value of type `ty` (any composite too) from `pointer`.
    pub(crate) fn load_with(
        &mut self,
        pointer: &Pointer<'c>,
        ty: Id,
        access: Access,
    ) -> Result<Value<'c>> {
        self.check_leaves(ty)?;
        let (pointer, access) = self.with_access(&self.of_type(pointer, ty), access)?;
        self.load_part(pointer, ty, access)
    }

    /// As [`FunctionEmitter::store`], with memory operands.
    pub(crate) fn store_with(
        &mut self,
        pointer: &Pointer<'c>,
        ty: Id,
        value: Value<'c>,
        access: Access,
    ) -> Result<()> {
        self.check_leaves(ty)?;
        if self.ty(ty)? != value.ty() {
            return Err(self.b.mismatch(format!(
                "a store of {} as {}",
                value.ty().print(),
                self.ty(ty)?.print()
            )));
        }
        let (pointer, access) = self.with_access(&self.of_type(pointer, ty), access)?;
        self.store_part(pointer, ty, value, access)
    }

    /// The pointer as an access to a value of type `ty` takes it: an untyped one does not know the
    /// members' decorations.
    fn of_type(&self, pointer: &Pointer<'c>, ty: Id) -> Pointer<'c> {
        let inside = self.module.qualifiers.of_type(ty);
        let mut pointer = *pointer;
        pointer.qualifiers.coherent |= pointer.pointee.is_none() && inside.coherent;
        pointer.qualifiers.volatile |= pointer.pointee.is_none() && inside.volatile;
        pointer
    }

    /// The pointer and the access as they are together. A generic pointer is refused where the
    /// target cannot follow it: LLVM would end the process.
    pub(super) fn with_access(
        &self,
        pointer: &Pointer<'c>,
        access: Access,
    ) -> Result<(Pointer<'c>, Access)> {
        if pointer.address.ty().address_space() == 0
            && !facts::has_generic_access(self.module.target)
        {
            return Err(Box::new(
                Diagnostic::error(
                    Code::UnsupportedOnTarget,
                    format!(
                        "{} cannot access memory through generic pointers",
                        self.module.target.name
                    ),
                )
                .at_word(self.b.at.get())
                .help("use pointers of a named storage class, or a newer target"),
            ));
        }
        use spirv::StorageClass::{Function, Private, Workgroup};
        let decorated = pointer.qualifiers.coherent;
        let volatile = access.volatile || pointer.qualifiers.volatile;
        let coherent = match pointer.class {
            // Nobody else sees it.
            Function | Private => None,
            // There is one copy: what is left to say is that others change it.
            Workgroup => decorated.then_some(Scope::Workgroup),
            _ if decorated => Some(coherent_scope(access.coherent)),
            _ => access.coherent,
        };
        let access = Access {
            volatile,
            // On both vendors a volatile access passes by every cache.
            coherent: coherent.filter(|_| !volatile),
            ..access
        };
        let align = pointer.align.max(access.aligned.unwrap_or(1));
        Ok((Pointer { align, ..*pointer }, access))
    }

    /// Counts the parts of an access, so that a small module cannot ask for an endless one.
    fn check_leaves(&self, ty: Id) -> Result<()> {
        self.ty(ty)?;
        self.count_parts(self.type_info(ty)?.leaves)
    }

    /// Counts `parts` scalars and vectors that are loaded or stored.
    pub(super) fn count_parts(&self, parts: u64) -> Result<()> {
        let total = self.b.parts.get().saturating_add(parts);
        self.b.parts.set(total);
        if total <= MAX_TOTAL_LEAVES {
            return Ok(());
        }
        Err(Box::new(
            Diagnostic::error(Code::ModuleTooLarge, format!("the module's loads and stores of composites have more than {MAX_TOTAL_LEAVES} parts"))
                .at_word(self.b.at.get())
                .help("copy large composites with OpCopyMemory"),
        ))
    }

    /// The place `bytes` behind `pointer`.
    pub(crate) fn part(
        &self,
        pointer: Pointer<'c>,
        bytes: u64,
        matrix: Option<MatrixLayout>,
    ) -> Result<Pointer<'c>> {
        let index = self
            .b
            .int_type(if pointer.address.ty().address_space() == 3 {
                32
            } else {
                64
            });
        let address = self.b.offset(pointer.address, index.int(bytes), true)?;
        Ok(Pointer {
            address,
            align: layout::alignment_of_offset(pointer.align, bytes),
            matrix,
            ..pointer
        })
    }

    fn load_part(&mut self, pointer: Pointer<'c>, ty: Id, access: Access) -> Result<Value<'c>> {
        let info = self.type_info(ty)?;
        let llvm = self.ty(ty)?;
        let parts: u64 = match &info.kind {
            Kind::ScalarOrVector(shape) => return self.load_plain(pointer, *shape, access),
            Kind::Cooperative(matrix) => return self.load_plain(pointer, matrix.shape(), access),
            Kind::TensorObject(tensor) => return self.load_plain(pointer, tensor.shape(), access),
            // What is known of an image or a sampler is where its descriptor is. A variable of a
            // function holds that; other places are descriptors.
            Kind::Image(_) | Kind::SampledImage(_) | Kind::Sampler if !pointer.is_in_function() => {
                return Ok(pointer.address);
            }
            // A tensor in other memory would be a copy of it.
            Kind::Tensor(_) if pointer.class == spirv::StorageClass::UniformConstant => {
                return Ok(pointer.address);
            }
            Kind::Tensor(_) => return Err(self.tensor_value(ty)),
            Kind::Pointer { .. } | Kind::Image(_) | Kind::SampledImage(_) | Kind::Sampler => {
                return self.leaf_load(
                    llvm,
                    pointer.address,
                    pointer.align.max(if access.aligned.is_some() {
                        1
                    } else {
                        layout::POINTER_BYTES as u32
                    }),
                    access,
                );
            }
            Kind::Matrix { column, columns } => {
                let mut value = llvm.poison();
                for index in 0..*columns {
                    let place = self.column_place(pointer, info.stride, *column, index)?;
                    let part = self.load_plain(place, *column, access)?;
                    value = self.b.with_member(value, part, index)?;
                }
                return Ok(value);
            }
            Kind::Array { length, .. } => *length,
            Kind::Struct { members } => members.len() as u64,
            Kind::Void
            | Kind::RuntimeArray { .. }
            | Kind::NamedBarrier
            | Kind::Function
            | Kind::Other(_) => {
                return Err(self.b.mismatch(format!("a load of type {ty}")));
            }
        };
        let mut value = llvm.poison();
        for index in 0..parts {
            let (place, part_type) = self.member_place(pointer, ty, index)?;
            let part = self.load_part(place, part_type, access)?;
            value = self.b.with_member(value, part, index as u32)?;
        }
        Ok(value)
    }

    fn store_part(
        &mut self,
        pointer: Pointer<'c>,
        ty: Id,
        value: Value<'c>,
        access: Access,
    ) -> Result<()> {
        let info = self.type_info(ty)?;
        let parts: u64 = match &info.kind {
            Kind::ScalarOrVector(shape) => return self.store_plain(pointer, *shape, value, access),
            Kind::Cooperative(matrix) => {
                return self.store_plain(pointer, matrix.shape(), value, access);
            }
            Kind::TensorObject(tensor) => {
                return self.store_plain(pointer, tensor.shape(), value, access);
            }
            Kind::Image(_) | Kind::SampledImage(_) | Kind::Sampler if !pointer.is_in_function() => {
                return Err(self.b.mismatch(format!("a store of type {ty}")));
            }
            Kind::Tensor(_) => return Err(self.tensor_value(ty)),
            Kind::Pointer { .. } | Kind::Image(_) | Kind::SampledImage(_) | Kind::Sampler => {
                return self.leaf_store(
                    value,
                    pointer.address,
                    pointer.align.max(if access.aligned.is_some() {
                        1
                    } else {
                        layout::POINTER_BYTES as u32
                    }),
                    access,
                );
            }
            Kind::Matrix { column, columns } => {
                for index in 0..*columns {
                    let place = self.column_place(pointer, info.stride, *column, index)?;
                    let part = self.b.member(value, index)?;
                    self.store_plain(place, *column, part, access)?;
                }
                return Ok(());
            }
            Kind::Array { length, .. } => *length,
            Kind::Struct { members } => members.len() as u64,
            Kind::NamedBarrier
            | Kind::Void
            | Kind::RuntimeArray { .. }
            | Kind::Function
            | Kind::Other(_) => {
                return Err(self.b.mismatch(format!("a store of type {ty}")));
            }
        };
        for index in 0..parts {
            let (place, part_type) = self.member_place(pointer, ty, index)?;
            let part = self.b.member(value, index as u32)?;
            self.store_part(place, part_type, part, access)?;
        }
        Ok(())
    }

    /// The place and type of member `index` of an array or structure.
    pub(crate) fn member_place(
        &self,
        pointer: Pointer<'c>,
        ty: Id,
        index: u64,
    ) -> Result<(Pointer<'c>, Id)> {
        let info = self.type_info(ty)?;
        match &info.kind {
            Kind::Array { element, .. } | Kind::RuntimeArray { element } => {
                let place =
                    self.part(pointer, info.stride.saturating_mul(index), pointer.matrix)?;
                Ok((
                    Pointer {
                        pointee: Some(*element),
                        ..place
                    },
                    *element,
                ))
            }
            Kind::Struct { members } => {
                let at = usize::try_from(index)
                    .ok()
                    .and_then(|i| Some((*info.places.get(i)?, *members.get(i)?)));
                let Some(((offset, matrix), member)) = at else {
                    return Err(self.b.mismatch(format!("member {index} of structure {ty}")));
                };
                let place = self.part(pointer, offset, matrix)?;
                Ok((
                    Pointer {
                        pointee: Some(member),
                        ..place
                    },
                    member,
                ))
            }
            _ => Err(self.b.mismatch(format!("member {index} of {ty}"))),
        }
    }

    /// The place of column `index` of a matrix.
    fn column_place(
        &self,
        pointer: Pointer<'c>,
        natural: u64,
        column: VectorType,
        index: u32,
    ) -> Result<Pointer<'c>> {
        match pointer.matrix {
            Some(MatrixLayout {
                row_major: true, ..
            }) => self.part(
                pointer,
                u64::from(index) * u64::from(column.scalar.bytes()),
                pointer.matrix,
            ),
            Some(MatrixLayout {
                stride,
                row_major: false,
            }) => self.part(pointer, u64::from(index) * u64::from(stride), None),
            None => self.part(pointer, u64::from(index) * natural, None),
        }
    }

    /// The type of a scalar or vector in memory: a Boolean is a byte.
    fn memory_type(&self, scalar: Scalar, lanes: u32) -> Ty<'c> {
        match scalar {
            Scalar::Bool => self.b.int_type(8),
            Scalar::Int { .. } | Scalar::Float { .. } => types::scalar(self.b, scalar),
        }
        .vector(lanes)
    }

    fn leaf_align(&self, pointer: &Pointer<'c>, scalar: Scalar, access: Access) -> u32 {
        if access.aligned.is_some() {
            pointer.align
        } else {
            pointer.align.max(scalar.bytes())
        }
    }

    fn load_plain(
        &mut self,
        pointer: Pointer<'c>,
        shape: VectorType,
        access: Access,
    ) -> Result<Value<'c>> {
        let scattered = pointer.matrix.is_some_and(|m| m.row_major) && shape.lanes > 1;
        if scattered || (access.coherent.is_some() && shape.lanes > 1) {
            let step = pointer
                .matrix
                .filter(|m| m.row_major)
                .map_or(shape.scalar.bytes(), |m| m.stride);
            let scalar = VectorType {
                scalar: shape.scalar,
                lanes: 1,
            };
            let parts = (0..shape.lanes)
                .map(|lane| {
                    let place = self.part(pointer, u64::from(lane) * u64::from(step), None)?;
                    self.load_plain(place, scalar, access)
                })
                .collect::<Result<Vec<_>>>()?;
            return self.b.vector(&parts);
        }
        let ty = self.memory_type(shape.scalar, shape.lanes);
        let align = self.leaf_align(&pointer, shape.scalar, access);
        let value = self.leaf_load(ty, pointer.address, align, access)?;
        if shape.scalar == Scalar::Bool {
            self.b.icmp(IntPredicate::LLVMIntNE, value, ty.zero())
        } else {
            Ok(value)
        }
    }

    fn store_plain(
        &mut self,
        pointer: Pointer<'c>,
        shape: VectorType,
        value: Value<'c>,
        access: Access,
    ) -> Result<()> {
        let scattered = pointer.matrix.is_some_and(|m| m.row_major) && shape.lanes > 1;
        if scattered || (access.coherent.is_some() && shape.lanes > 1) {
            let step = pointer
                .matrix
                .filter(|m| m.row_major)
                .map_or(shape.scalar.bytes(), |m| m.stride);
            for lane in 0..shape.lanes {
                let place = self.part(pointer, u64::from(lane) * u64::from(step), None)?;
                let part = self.b.lane(value, lane)?;
                self.store_plain(
                    place,
                    VectorType {
                        scalar: shape.scalar,
                        lanes: 1,
                    },
                    part,
                    access,
                )?;
            }
            return Ok(());
        }
        let align = self.leaf_align(&pointer, shape.scalar, access);
        let value = if shape.scalar == Scalar::Bool {
            self.b.cast(
                Opcode::LLVMZExt,
                value,
                self.memory_type(shape.scalar, shape.lanes),
            )?
        } else {
            value
        };
        self.leaf_store(value, pointer.address, align, access)
    }

    /// The scope number of a coherent access; `None` when nothing special is needed.
    fn coherence(&self, access: Access) -> Option<u32> {
        match access.coherent? {
            Scope::Invocation | Scope::Subgroup => None,
            scope => Some(barrier::sync_scope(
                self.b,
                self.module.target,
                barrier::fence_scope(scope),
            )),
        }
    }

    pub(super) fn leaf_load(
        &self,
        ty: Ty<'c>,
        address: Value<'c>,
        align: u32,
        access: Access,
    ) -> Result<Value<'c>> {
        let asked = self.coherence(access);
        let coherent = asked.filter(|_| is_atomic(ty, align));
        let integer = if coherent.is_some() && ty.is_float() {
            self.b.int_type(ty.scalar_bits())
        } else {
            ty
        };
        let value = self.b.load(integer, address, align)?;
        // An atomic access must be aligned; one that is not is made volatile, which is coherent
        // everywhere.
        if access.volatile || (asked.is_some() && coherent.is_none()) {
            value.set_volatile();
        }
        if let Some(scope) = coherent {
            value.set_ordering(AtomicOrdering::LLVMAtomicOrderingMonotonic, scope);
        }
        if integer == ty {
            Ok(value)
        } else {
            self.b.bitcast(value, ty)
        }
    }

    pub(super) fn leaf_store(
        &self,
        value: Value<'c>,
        address: Value<'c>,
        align: u32,
        access: Access,
    ) -> Result<()> {
        let ty = value.ty();
        let asked = self.coherence(access);
        let coherent = asked.filter(|_| is_atomic(ty, align));
        let value = if coherent.is_some() && ty.is_float() {
            self.b.bitcast(value, self.b.int_type(ty.scalar_bits()))?
        } else {
            value
        };
        let store = self.b.store(value, address, align)?;
        if access.volatile || (asked.is_some() && coherent.is_none()) {
            store.set_volatile();
        }
        if let Some(scope) = coherent {
            store.set_ordering(AtomicOrdering::LLVMAtomicOrderingMonotonic, scope);
        }
        Ok(())
    }

    /// Decodes memory operands that start at operand `first`; gives the access and the index behind
    /// them.
    pub(crate) fn access(&self, inst: Inst<'_>, first: usize) -> Result<(Access, usize)> {
        let operands = self.memory_operands(inst, first)?;
        let access = operands.as_access(operands.available.or(operands.visible));
        Ok((access, operands.next))
    }

    /// How a copy whose memory operands start at operand `first` writes and reads: one set of
    /// operands is for both sides, of two the first is for the target.
    fn copy_access(&self, inst: Inst<'_>, first: usize) -> Result<(Access, Access)> {
        let target = self.memory_operands(inst, first)?;
        let source = self.memory_operands(inst, target.next)?;
        let source = if source.next == target.next {
            &target
        } else {
            &source
        };
        Ok((
            target.as_access(target.available),
            source.as_access(source.visible),
        ))
    }

    fn memory_operands(&self, inst: Inst<'_>, first: usize) -> Result<MemoryOperands> {
        let mut operands = MemoryOperands {
            next: first,
            ..MemoryOperands::default()
        };
        let Some(bits) = inst.operands().get(first).copied() else {
            return Ok(operands);
        };
        let mut next = first + 1;
        let mut operand = |bit: MemoryAccess| -> Result<Option<u32>> {
            if bits & bit.bits() == 0 {
                return Ok(None);
            }
            next += 1;
            inst.operand(next - 1).map(Some).map_err(Box::new)
        };
        let scope = |id: Option<u32>| {
            id.map(|id| Scope::evaluate(Id(id), inst, self.module.constants).map_err(Box::new))
                .transpose()
        };
        let aligned = operand(MemoryAccess::ALIGNED)?;
        operands.available = scope(operand(MemoryAccess::MAKE_POINTER_AVAILABLE)?)?;
        operands.visible = scope(operand(MemoryAccess::MAKE_POINTER_VISIBLE)?)?;
        for bit in [
            MemoryAccess::ALIAS_SCOPE_INTEL_MASK,
            MemoryAccess::NO_ALIAS_INTEL_MASK,
        ] {
            operand(bit)?;
        }
        operands.volatile = bits & MemoryAccess::VOLATILE.bits() != 0;
        operands.aligned = aligned
            .filter(|a| a.is_power_of_two())
            .map(|a| a.min(1 << 16));
        operands.next = next;
        Ok(operands)
    }

    /// Copies bytes. What is volatile or coherent on either side is read and written by volatile
    /// accesses, which pass by every cache.
    fn copy_memory(&self, to: &Pointer<'c>, from: &Pointer<'c>, size: Value<'c>, is_special: bool) {
        let raw = self.b.raw();
        let copy = raw.memcpy(to.address, to.align, from.address, from.align, size);
        if is_special {
            copy.set_volatile_copy();
        }
    }
}

/// Returns true if LLVM has an atomic access of one `ty`: scalars, aligned to their size.
fn is_atomic(ty: Ty<'_>, align: u32) -> bool {
    !ty.is_vector() && align >= ty.scalar_bits().div_ceil(8)
}

/// Lowers loads, stores and copies.
pub(crate) fn emit<'c>(e: &mut FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Handled> {
    use spirv::Op;
    let id = |index: usize| inst.id(index).map_err(Box::new);
    match inst.op() {
        // The store of its value copies it.
        Some(Op::Load) if e.kernel.plan.copied_loads.contains(&inst.offset) => {}
        Some(Op::Load) => {
            let pointer = e.pointer(id(0)?)?;
            let (access, _) = e.access(inst, 1)?;
            let ty = e.result_type(inst)?;
            let value = e.load_with(&pointer, ty, access)?;
            e.bind(inst, value)?;
            e.note_source(inst)?;
        }
        Some(Op::Store) => {
            let pointer = e.pointer(id(0)?)?;
            let object = id(1)?;
            let (access, _) = e.access(inst, 2)?;
            let ty = e.type_of(object)?;
            let (place, plain) = e.with_access(&e.of_type(&pointer, ty), access)?;
            if e.type_info(ty)?.leaves > INLINE_LEAVES
                && e.module.constants.get(object).is_some()
                && !plain.is_special()
                && pointer.matrix.is_none()
            {
                e.store_constant(&place, ty, object)?;
            } else {
                let value = e.value(object)?;
                e.store_with(&pointer, ty, value, access)?;
            }
        }
        Some(Op::CopyMemory) => {
            let (target, source) = (e.pointer(id(0)?)?, e.pointer(id(1)?)?);
            let (write, read) = e.copy_access(inst, 2)?;
            let Some(ty) = source.pointee else {
                return Err(e.unsupported(inst, "the pointers are untyped"));
            };
            let info = e.type_info(ty)?;
            let ((to, write_as), (from, read_as)) = (
                e.with_access(&target, write)?,
                e.with_access(&source, read)?,
            );
            let is_special = write_as.is_special() || read_as.is_special();
            let whole = if is_special {
                types::MAX_PARTS
            } else {
                INLINE_LEAVES
            };
            if info.leaves > whole && target.matrix == source.matrix {
                e.copy_memory(&to, &from, e.b.i64(info.size), is_special);
            } else {
                let value = e.load_with(&source, ty, read)?;
                e.store_with(&target, ty, value, write)?;
            }
        }
        Some(Op::CopyMemorySized) => {
            let (target, source) = (e.pointer(id(0)?)?, e.pointer(id(1)?)?);
            let size =
                e.b.int_resize(e.operand(inst, 2)?, e.b.int_type(64), false)?;
            let (write, read) = e.copy_access(inst, 3)?;
            let ((to, write), (from, read)) = (
                e.with_access(&target, write)?,
                e.with_access(&source, read)?,
            );
            e.copy_memory(&to, &from, size, write.is_special() || read.is_special());
        }
        _ => return Ok(Handled::No),
    }
    Ok(Handled::Yes)
}
