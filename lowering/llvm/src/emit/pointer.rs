//! Pointers as values: casts between classes, to and from integers, what a generic one points into,
//! comparison and difference.

use super::function::FunctionEmitter;
use super::slots::Pointer;
use super::types::Kind;
use super::{Handled, Result};
use crate::ffi::{IntPredicate, Opcode, Ty, Value};
use spirv::{MemorySemantics, Op, StorageClass};
use splitbar_passes::module::Inst;
use splitbar_plan::target::Arch;

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// The pointer to nothing. Workgroup memory begins at address 0 of its address space, and so
    /// does private memory on AMDGPU: there it is the last address, which on AMDGPU is what LLVM
    /// casts a null generic pointer to (AMDGPUUsage, "Address Spaces").
    pub(super) fn null(&self, ty: Ty<'c>) -> Result<Value<'c>> {
        let from_zero = match (ty.address_space(), &self.module.target.arch) {
            (3, _) => true,
            (5, Arch::Amdgpu(_)) => true,
            (_, Arch::Amdgpu(_) | Arch::Nvptx(_)) => false,
        };
        if !from_zero {
            return Ok(ty.zero());
        }
        self.b.cast(Opcode::LLVMIntToPtr, self.b.i64(u64::MAX), ty)
    }

    /// Whether a generic pointer points into memory of this class.
    fn points_into(
        &self,
        inst: Inst<'_>,
        generic: Value<'c>,
        class: StorageClass,
    ) -> Result<Value<'c>> {
        let asked = |name| self.b.intrinsic(name, &[], &[generic]);
        match (&self.module.target.arch, class) {
            (Arch::Amdgpu(_), StorageClass::Workgroup) => asked("llvm.amdgcn.is.shared"),
            (Arch::Amdgpu(_), StorageClass::Function) => asked("llvm.amdgcn.is.private"),
            (Arch::Amdgpu(_), StorageClass::CrossWorkgroup) => {
                let shared = asked("llvm.amdgcn.is.shared")?;
                let private = asked("llvm.amdgcn.is.private")?;
                self.b.not(self.b.or(shared, private)?)
            }
            (Arch::Nvptx(_), StorageClass::Workgroup) => asked("llvm.nvvm.isspacep.shared"),
            (Arch::Nvptx(_), StorageClass::CrossWorkgroup) => asked("llvm.nvvm.isspacep.global"),
            (Arch::Nvptx(_), StorageClass::Function) => asked("llvm.nvvm.isspacep.local"),
            _ => Err(self.unsupported(
                inst,
                format!("a generic pointer cannot be converted to the storage class {class:?}"),
            )),
        }
    }

    /// OpGenericCastToPtrExplicit: the pointer if it points into the class, null if not.
    fn cast_explicit(
        &mut self,
        inst: Inst<'_>,
        pointer: Pointer<'c>,
        class: StorageClass,
    ) -> Result<Value<'c>> {
        let ty = self.result_ty(inst)?;
        let inside = self.points_into(inst, pointer.address, class)?;
        let cast = self
            .b
            .cast(Opcode::LLVMAddrSpaceCast, pointer.address, ty)?;
        self.b.select(inside, cast, self.null(ty)?)
    }

    /// OpGenericPtrMemSemantics: the storage class that a pointer points into, as the bit of a
    /// memory semantics; none for an invocation's own memory.
    fn semantics_of(&mut self, inst: Inst<'_>, pointer: Pointer<'c>) -> Result<Value<'c>> {
        let ty = self.result_ty(inst)?;
        let mut semantics = ty.zero();
        for (class, bit) in [
            (StorageClass::Workgroup, MemorySemantics::WORKGROUP_MEMORY),
            (
                StorageClass::CrossWorkgroup,
                MemorySemantics::CROSS_WORKGROUP_MEMORY,
            ),
        ] {
            let inside = self.points_into(inst, pointer.address, class)?;
            let bit = self.b.int(ty, bit.bits().into())?;
            semantics = self.b.select(inside, bit, semantics)?;
        }
        Ok(semantics)
    }
}

/// Lowers what is done with pointers as such.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    let id = |index: usize| inst.id(index).map_err(Box::new);
    match op {
        Op::PtrCastToGeneric | Op::GenericCastToPtr => {
            let pointer = e.pointer(id(0)?)?;
            let address = e.b.cast(
                Opcode::LLVMAddrSpaceCast,
                pointer.address,
                e.result_ty(inst)?,
            )?;
            let Kind::Pointer { class, pointee } = *e.kind(e.result_type(inst)?)? else {
                return Err(e.mismatch(inst, "the result is not a pointer"));
            };
            e.bind_pointer(
                inst,
                Pointer {
                    address,
                    class,
                    pointee,
                    ..pointer
                },
            )?;
        }
        Op::GenericCastToPtrExplicit => {
            let pointer = e.pointer(id(0)?)?;
            let Kind::Pointer { class, .. } = *e.kind(e.result_type(inst)?)? else {
                return Err(e.mismatch(inst, "the result is not a pointer"));
            };
            let value = e.cast_explicit(inst, pointer, class)?;
            e.bind(inst, value)?;
        }
        Op::GenericPtrMemSemantics => {
            let value = e.semantics_of(inst, e.pointer(id(0)?)?)?;
            e.bind(inst, value)?;
        }
        Op::ConvertPtrToU => {
            let value = e.b.cast(
                Opcode::LLVMPtrToInt,
                e.operand(inst, 0)?,
                e.result_ty(inst)?,
            )?;
            e.bind(inst, value)?;
        }
        Op::ConvertUToPtr => {
            let value = e.b.cast(
                Opcode::LLVMIntToPtr,
                e.operand(inst, 0)?,
                e.result_ty(inst)?,
            )?;
            e.bind(inst, value)?;
        }
        Op::PtrEqual | Op::PtrNotEqual => {
            let predicate = if op == Op::PtrEqual {
                IntPredicate::LLVMIntEQ
            } else {
                IntPredicate::LLVMIntNE
            };
            let value =
                e.b.icmp(predicate, e.operand(inst, 0)?, e.operand(inst, 1)?)?;
            e.bind(inst, value)?;
        }
        Op::PtrDiff => {
            let left = id(0)?;
            let Some(pointee) = e.pointer(left)?.pointee else {
                return Err(e.unsupported(inst, "the pointers are untyped"));
            };
            let stride = e.element_stride(e.type_of(left)?, pointee)?.max(1);
            let i64 = e.b.int_type(64);
            let a = e.b.cast(Opcode::LLVMPtrToInt, e.operand(inst, 0)?, i64)?;
            let b = e.b.cast(Opcode::LLVMPtrToInt, e.operand(inst, 1)?, i64)?;
            let elements =
                e.b.binary(Opcode::LLVMSDiv, e.b.sub(a, b)?, i64.int(stride))?;
            let value = e.b.int_resize(elements, e.result_ty(inst)?, true)?;
            e.bind(inst, value)?;
        }
        _ => return Ok(Handled::No),
    }
    Ok(Handled::Yes)
}
