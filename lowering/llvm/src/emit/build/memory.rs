//! Loads, stores, addresses and atomics. The emitter's memory.rs is the usual caller; families use
//! it for atomics and element access.

use super::super::Result;
use super::Build;
use crate::ffi::{AtomicOrdering, RmwOp, Ty, TypeKind, Value};

impl<'c> Build<'c> {
    /// Loads a scalar or vector with `align` bytes of alignment.
    pub(crate) fn load(&self, ty: Ty<'c>, pointer: Value<'c>, align: u32) -> Result<Value<'c>> {
        self.want_pointer(pointer)?;
        let load = self.raw.load(ty, pointer);
        load.set_alignment(align);
        Ok(load)
    }

    /// Stores a scalar or vector with `align` bytes of alignment; gives the store.
    pub(crate) fn store(
        &self,
        value: Value<'c>,
        pointer: Value<'c>,
        align: u32,
    ) -> Result<Value<'c>> {
        self.want_pointer(pointer)?;
        let store = self.raw.store(value, pointer);
        store.set_alignment(align);
        Ok(store)
    }

    /// `pointer + bytes`; `bytes` is an integer.
    pub(crate) fn offset(
        &self,
        pointer: Value<'c>,
        bytes: Value<'c>,
        in_bounds: bool,
    ) -> Result<Value<'c>> {
        self.want_pointer(pointer)?;
        if bytes.as_u64() == Some(0) {
            return Ok(pointer);
        }
        if !bytes.ty().is_int() || bytes.ty().is_vector() {
            return Err(self.mismatch(format!("an offset of type {}", bytes.ty().print())));
        }
        Ok(self.raw.offset(pointer, bytes, in_bounds))
    }

    fn want_pointer(&self, value: Value<'c>) -> Result<()> {
        if value.ty().kind() == TypeKind::LLVMPointerTypeKind {
            Ok(())
        } else {
            Err(self.mismatch(format!(
                "{} where a pointer is asked for",
                value.ty().print()
            )))
        }
    }

    /// Atomic read-modify-write; the old value.
    pub(crate) fn rmw(
        &self,
        op: RmwOp,
        pointer: Value<'c>,
        value: Value<'c>,
        ordering: AtomicOrdering,
        scope: u32,
    ) -> Result<Value<'c>> {
        use RmwOp::*;
        self.want_pointer(pointer)?;
        let ty = value.ty();
        let float = matches!(
            op,
            LLVMAtomicRMWBinOpFAdd
                | LLVMAtomicRMWBinOpFSub
                | LLVMAtomicRMWBinOpFMax
                | LLVMAtomicRMWBinOpFMin
        );
        let ok = if op == LLVMAtomicRMWBinOpXchg {
            ty.is_int() || ty.is_float()
        } else if float {
            ty.is_float()
        } else {
            ty.is_int()
        };
        if !ok || ty.is_vector() {
            return Err(self.mismatch(format!("{op:?} of {}", ty.print())));
        }
        Ok(self.raw.rmw(op, pointer, value, ordering, scope))
    }

    /// Atomic compare and exchange of integers: `{ old, i1 success }`.
    pub(crate) fn cmpxchg(
        &self,
        pointer: Value<'c>,
        expected: Value<'c>,
        new: Value<'c>,
        success: AtomicOrdering,
        failure: AtomicOrdering,
        scope: u32,
    ) -> Result<Value<'c>> {
        self.want_pointer(pointer)?;
        self.same("compare and exchange", expected, new)?;
        if !expected.ty().is_int() || expected.ty().is_vector() {
            return Err(self.mismatch(format!("compare and exchange of {}", expected.ty().print())));
        }
        Ok(self
            .raw
            .cmpxchg(pointer, expected, new, success, failure, scope))
    }
}
