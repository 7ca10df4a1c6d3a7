//! Atomic instructions (SPIR-V 1.6, section 3.52.18).
//!
//! AMDGPU: `atomicrmw` and friends with the order and the synchronisation scope of the operands;
//! LLVM's memory model for the target inserts the cache operations. NVPTX: relaxed operations
//! between explicit fences, on every `sm_`: LLVM 23 gives `atomicrmw` with an order no fence below
//! sm_70, and a `load atomic acquire` there ends the process; from sm_70 on the two forms make the
//! same code. Sequential consistency is a `seq_cst` fence before and an acquire fence after the
//! operation, as the PTX memory model maps it.
//!
//! A memory order takes effect whatever storage classes the semantics name: stronger than asked
//! for, never weaker.

use super::barrier::fence_scope;
use super::facts;
use super::function::FunctionEmitter;
use super::slots::Pointer;
use super::{Handled, Result};
use crate::ffi::{self, AtomicOrdering, IntPredicate, RmwOp, Ty, Value};
use spirv::Op;
use splitbar_passes::module::{Inst, Order, Scope, Semantics};
use splitbar_plan::target::Arch;
use splitbar_plan::{Fence, FenceMemory, FenceOrder, FenceScope, release_waits};

/// Lowers the atomic instructions.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    use RmwOp::*;
    let rmw = match op {
        Op::AtomicExchange => LLVMAtomicRMWBinOpXchg,
        Op::AtomicIAdd | Op::AtomicIIncrement => LLVMAtomicRMWBinOpAdd,
        Op::AtomicISub | Op::AtomicIDecrement => LLVMAtomicRMWBinOpSub,
        Op::AtomicSMin => LLVMAtomicRMWBinOpMin,
        Op::AtomicUMin => LLVMAtomicRMWBinOpUMin,
        Op::AtomicSMax => LLVMAtomicRMWBinOpMax,
        Op::AtomicUMax => LLVMAtomicRMWBinOpUMax,
        Op::AtomicAnd => LLVMAtomicRMWBinOpAnd,
        Op::AtomicOr => LLVMAtomicRMWBinOpOr,
        Op::AtomicXor => LLVMAtomicRMWBinOpXor,
        Op::AtomicFAddEXT => LLVMAtomicRMWBinOpFAdd,
        Op::AtomicFMinEXT => LLVMAtomicRMWBinOpFMin,
        Op::AtomicFMaxEXT => LLVMAtomicRMWBinOpFMax,
        Op::AtomicLoad => return load(e, inst),
        Op::AtomicStore => return store(e, inst),
        Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => {
            return compare_exchange(e, inst);
        }
        Op::AtomicFlagTestAndSet => return flag_test_and_set(e, inst),
        Op::AtomicFlagClear => return flag_clear(e, inst),
        _ => return Ok(Handled::No),
    };
    let place = AtomicAccess::decode(e, inst, 0, 1, 2)?;
    let value = match op {
        Op::AtomicIIncrement | Op::AtomicIDecrement => e.b.int(e.result_ty(inst)?, 1)?,
        _ => e.operand(inst, 3)?,
    };
    let old = place.rmw(e, rmw, value)?;
    e.bind(inst, old)?;
    Ok(Handled::Yes)
}

/// How an atomic operation is ordered.
pub(super) struct Ordering {
    scope: u32,
    reach: FenceScope,
    semantics: Semantics,
    /// Fences stand apart from the operation.
    fenced: bool,
}

impl Ordering {
    /// From the operands at these indices.
    pub(super) fn from_semantics(
        e: &FunctionEmitter<'_, '_, '_>,
        inst: Inst<'_>,
        scope: usize,
        semantics: usize,
        fenced: bool,
    ) -> Result<Ordering> {
        let scope = Scope::evaluate(inst.id(scope)?, inst, e.module.constants)?;
        let semantics = Semantics::evaluate(inst.id(semantics)?, inst, e.module.constants)?;
        Ok(Ordering {
            scope: ffi::sync_scope(e.b.context(), scope_name(e, scope)),
            reach: fence_scope(scope),
            semantics,
            fenced,
        })
    }

    /// The order that the operation itself carries.
    fn order(&self) -> AtomicOrdering {
        use AtomicOrdering::*;
        if self.fenced {
            return LLVMAtomicOrderingMonotonic;
        }
        match self.semantics.order {
            Order::Relaxed => LLVMAtomicOrderingMonotonic,
            Order::Acquire => LLVMAtomicOrderingAcquire,
            Order::Release => LLVMAtomicOrderingRelease,
            Order::AcquireRelease => LLVMAtomicOrderingAcquireRelease,
            Order::SequentiallyConsistent => LLVMAtomicOrderingSequentiallyConsistent,
        }
    }

    /// What stands in front of the operation: the fence where fences stand apart, else the waits
    /// that LLVM may lose ([`release_waits`]).
    pub(super) fn before(&self, e: &FunctionEmitter<'_, '_, '_>) -> Result<()> {
        if let Arch::Amdgpu(gpu) = &e.module.target.arch
            && self.semantics.order.releases()
        {
            e.wait_zero(
                &release_waits(
                    self.reach,
                    e.module.target,
                    e.kernel.plan.placement,
                    e.kernel.plan.releases_cumulatively,
                ),
                gpu,
            )?;
        }
        if !self.fenced {
            return Ok(());
        }
        match self.semantics.order {
            Order::Relaxed | Order::Acquire => Ok(()),
            Order::Release | Order::AcquireRelease => self.fence(e, FenceOrder::Release),
            Order::SequentiallyConsistent => self.fence(e, FenceOrder::SequentiallyConsistent),
        }
    }

    /// A fence of all memory at the operation's scope.
    fn fence(&self, e: &FunctionEmitter<'_, '_, '_>, order: FenceOrder) -> Result<()> {
        e.fence(Fence {
            order,
            scope: self.reach,
            memory: FenceMemory::All,
        })
    }

    /// The fence behind the operation, where fences stand apart.
    pub(super) fn after(&self, e: &FunctionEmitter<'_, '_, '_>) -> Result<()> {
        if self.fenced && self.semantics.order.acquires() {
            self.fence(e, FenceOrder::Acquire)?;
        }
        Ok(())
    }

    /// Gives a load or store its order.
    fn finish(&self, access: Value<'_>, order: AtomicOrdering) {
        access.set_ordering(order, self.scope);
        if self.semantics.volatile {
            access.set_volatile();
        }
    }
}

/// Where an atomic operation happens and how it is ordered.
struct AtomicAccess<'c> {
    pointer: Pointer<'c>,
    ordering: Ordering,
}

impl<'c> AtomicAccess<'c> {
    /// From the operands at these indices: pointer, scope, semantics.
    fn decode(
        e: &FunctionEmitter<'_, 'c, '_>,
        inst: Inst<'_>,
        pointer: usize,
        scope: usize,
        semantics: usize,
    ) -> Result<AtomicAccess<'c>> {
        let pointer = e.pointer(inst.id(pointer)?)?;
        if pointer.address.ty().address_space() == 0 && !facts::has_generic_access(e.module.target)
        {
            return Err(e.unsupported_on_target(inst, "generic pointers"));
        }
        let fenced = matches!(e.module.target.arch, Arch::Nvptx(_));
        let mut ordering = Ordering::from_semantics(e, inst, scope, semantics, fenced)?;
        ordering.semantics.volatile |= pointer.qualifiers.volatile;
        Ok(AtomicAccess { pointer, ordering })
    }

    fn rmw(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        op: RmwOp,
        value: Value<'c>,
    ) -> Result<Value<'c>> {
        self.ordering.before(e)?;
        let old = e.b.rmw(
            op,
            self.pointer.address,
            value,
            self.ordering.order(),
            self.ordering.scope,
        )?;
        if self.ordering.semantics.volatile {
            old.set_volatile();
        }
        self.ordering.after(e)?;
        Ok(old)
    }

    /// A load; the releasing part of an order has no meaning for it.
    fn load(&self, e: &FunctionEmitter<'_, 'c, '_>, ty: Ty<'c>) -> Result<Value<'c>> {
        use AtomicOrdering::*;
        if self.ordering.semantics.order == Order::SequentiallyConsistent {
            self.ordering.before(e)?;
        }
        let value =
            e.b.load(ty, self.pointer.address, ty.scalar_bits().div_ceil(8))?;
        let order = match self.ordering.order() {
            LLVMAtomicOrderingSequentiallyConsistent => LLVMAtomicOrderingSequentiallyConsistent,
            LLVMAtomicOrderingAcquire | LLVMAtomicOrderingAcquireRelease => {
                LLVMAtomicOrderingAcquire
            }
            _ => LLVMAtomicOrderingMonotonic,
        };
        self.ordering.finish(value, order);
        self.ordering.after(e)?;
        Ok(value)
    }

    /// A store; the acquiring part of an order has no meaning for it.
    fn store(&self, e: &FunctionEmitter<'_, 'c, '_>, value: Value<'c>) -> Result<()> {
        use AtomicOrdering::*;
        self.ordering.before(e)?;
        let store = e.b.store(
            value,
            self.pointer.address,
            value.ty().scalar_bits().div_ceil(8),
        )?;
        let order = match self.ordering.order() {
            LLVMAtomicOrderingSequentiallyConsistent => LLVMAtomicOrderingSequentiallyConsistent,
            LLVMAtomicOrderingRelease | LLVMAtomicOrderingAcquireRelease => {
                LLVMAtomicOrderingRelease
            }
            _ => LLVMAtomicOrderingMonotonic,
        };
        self.ordering.finish(store, order);
        if self.ordering.semantics.order == Order::SequentiallyConsistent {
            self.ordering.after(e)?;
        }
        Ok(())
    }
}

/// The name of the synchronisation scope on the target; the empty name is the whole system. NVPTX
/// knows nothing narrower than the block.
fn scope_name(e: &FunctionEmitter<'_, '_, '_>, scope: Scope) -> &'static str {
    let (amdgpu, nvptx) = match scope {
        Scope::Invocation => ("singlethread", "block"),
        Scope::Subgroup => ("wavefront", "block"),
        Scope::Workgroup => ("workgroup", "block"),
        Scope::QueueFamily | Scope::Device | Scope::ShaderCall => ("agent", "device"),
        Scope::CrossDevice => ("", ""),
    };
    match e.module.target.arch {
        Arch::Amdgpu(_) => amdgpu,
        Arch::Nvptx(_) => nvptx,
    }
}

/// The result type, which must be a number of 32 bits or more (LLVM would widen a smaller load with
/// a loop).
fn number<'c>(e: &FunctionEmitter<'_, 'c, '_>, ty: Ty<'c>) -> Result<Ty<'c>> {
    if (ty.is_int() || ty.is_float()) && !ty.is_vector() && ty.scalar_bits() >= 8 {
        Ok(ty)
    } else {
        Err(e.b.mismatch(format!("an atomic access of {}", ty.print())))
    }
}

fn load(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<Handled> {
    let place = AtomicAccess::decode(e, inst, 0, 1, 2)?;
    let value = place.load(e, number(e, e.result_ty(inst)?)?)?;
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

fn store(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<Handled> {
    let place = AtomicAccess::decode(e, inst, 0, 1, 2)?;
    let value = e.operand(inst, 3)?;
    number(e, value.ty())?;
    place.store(e, value)?;
    Ok(Handled::Yes)
}

/// Operands: pointer, scope, semantics if equal, semantics if unequal, value, comparator. The
/// result is the old value.
fn compare_exchange(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<Handled> {
    use AtomicOrdering::*;
    let place = AtomicAccess::decode(e, inst, 0, 1, 2)?;
    let unequal = Semantics::evaluate(inst.id(3)?, inst, e.module.constants)?;
    let (value, comparator) = (e.operand(inst, 4)?, e.operand(inst, 5)?);
    let failure = match (place.ordering.fenced, unequal.order) {
        (true, _) | (false, Order::Relaxed | Order::Release) => LLVMAtomicOrderingMonotonic,
        (false, Order::Acquire | Order::AcquireRelease) => LLVMAtomicOrderingAcquire,
        (false, Order::SequentiallyConsistent) => LLVMAtomicOrderingSequentiallyConsistent,
    };
    place.ordering.before(e)?;
    let pair = e.b.cmpxchg(
        place.pointer.address,
        comparator,
        value,
        place.ordering.order(),
        failure,
        place.ordering.scope,
    )?;
    if place.ordering.semantics.volatile {
        pair.set_volatile();
    }
    if place.ordering.semantics.order.acquires() || !unequal.order.acquires() {
        place.ordering.after(e)?;
    } else if place.ordering.fenced {
        place.ordering.fence(e, FenceOrder::Acquire)?;
    }
    let old = e.b.member(pair, 0)?;
    e.bind(inst, old)?;
    Ok(Handled::Yes)
}

/// A flag is a 32-bit integer, set when it is not 0.
fn flag_test_and_set(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<Handled> {
    let place = AtomicAccess::decode(e, inst, 0, 1, 2)?;
    let old = place.rmw(e, RmwOp::LLVMAtomicRMWBinOpXchg, e.b.i32(1))?;
    let set = e.b.icmp(IntPredicate::LLVMIntNE, old, e.b.i32(0))?;
    e.bind(inst, set)?;
    Ok(Handled::Yes)
}

fn flag_clear(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<Handled> {
    let place = AtomicAccess::decode(e, inst, 0, 1, 2)?;
    place.store(e, e.b.i32(0))?;
    Ok(Handled::Yes)
}
