//! Bulk copies: one invocation asks for all of a group's copy, and an mbarrier counts its bytes
//! (PTX ISA, "cp.async.bulk"; `splitbar_plan`'s `bulk_copies.rs` says how the mbarriers are taken
//! in turn).
//!
//! The copy unit is another proxy. What threads have written to the same bytes must be before it,
//! and the initialised mbarriers too, so `fence.proxy.async` stands behind the one and before the
//! other (PTX ISA, "Async proxy"). There are two before a copy, one for each memory: shared memory
//! is written by the copy, and the source the kernel itself may have written. The form for all
//! memory would make ptxas wait for everything that the thread has in flight to the whole GPU
//! (MEMBAR.ALL.GPU). The way back needs none: the completion of a bulk copy on an mbarrier has its
//! own.

use super::Result;
use super::function::FunctionEmitter;
use super::state::Bulk;
use crate::ffi::{self, IntPredicate, Linkage, Value};

/// Bytes of an mbarrier.
const MBARRIER: u32 = 8;

impl<'c> FunctionEmitter<'_, 'c, '_> {
    fn bulk(&self) -> Result<Bulk<'c>> {
        let bulk = self.barrier_state.bulk;
        bulk.ok_or_else(|| self.b.internal("a bulk copy without its mbarriers"))
    }

    /// The mbarrier of copy `number`.
    fn bulk_barrier(&self, number: Value<'c>, slots: u32) -> Result<Value<'c>> {
        let b = self.b;
        let name = format!("splitbar_copies_{slots}");
        let ring = ffi::named_global(b.module(), &name).unwrap_or_else(|| {
            let ty = b.int_type(64).array(slots.into());
            let global = ffi::add_global(b.module(), ty, 3, &name);
            global.set_initializer(ty.poison());
            global.set_linkage(Linkage::LLVMInternalLinkage);
            global.set_alignment(MBARRIER);
            global
        });
        let slot = b.and(number, b.i32(slots - 1))?;
        b.offset(ring, b.mul(slot, b.i32(MBARRIER))?, true)
    }

    /// One invocation initialises the mbarriers, each for one arrival in a phase: that of the
    /// invocation which asks for a copy. A full barrier makes them known.
    pub(super) fn bulk_init(&mut self, slots: u32) -> Result<()> {
        let b = self.b;
        self.in_first_invocation(|e| {
            for slot in 0..slots {
                let barrier = e.bulk_barrier(b.i32(slot), slots)?;
                b.intrinsic("llvm.nvvm.mbarrier.init.shared", &[], &[barrier, b.i32(1)])?;
            }
            b.intrinsic("llvm.nvvm.fence.proxy.async.shared_cta", &[], &[])?;
            Ok(())
        })?;
        self.publish()
    }

    /// Copies `bytes` from `global` to `local`, both the same in all invocations.
    pub(super) fn bulk_copy(
        &mut self,
        global: Value<'c>,
        local: Value<'c>,
        bytes: u32,
    ) -> Result<()> {
        let b = self.b;
        let bulk = self.bulk()?;
        let number = b.load(b.int_type(32), bulk.begun, 4)?;
        let barrier = self.bulk_barrier(number, bulk.slots)?;
        self.in_first_invocation(|_| {
            let bytes = b.i32(bytes);
            b.intrinsic("llvm.nvvm.fence.proxy.async.shared_cta", &[], &[])?;
            b.intrinsic("llvm.nvvm.fence.proxy.async.global", &[], &[])?;
            b.intrinsic(
                "llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta",
                &[],
                &[barrier, bytes],
            )?;
            b.intrinsic(
                "llvm.nvvm.cp.async.bulk.global.to.shared.cta",
                &[],
                &[local, barrier, global, bytes, b.i64(0), b.bool(false)],
            )?;
            Ok(())
        })?;
        b.store(b.add(number, b.i32(1))?, bulk.begun, 4).map(|_| ())
    }

    /// Waits until at most `outstanding` copies, the newest, are outstanding.
    pub(super) fn bulk_wait(&mut self, outstanding: u8) -> Result<()> {
        let b = self.b;
        let bulk = self.bulk()?;
        let word = b.int_type(32);
        let (begun, complete) = (
            b.load(word, bulk.begun, 4)?,
            b.load(word, bulk.complete, 4)?,
        );
        let before = b.block()?;
        let (head, poll, next, done) = (
            self.new_block(),
            self.new_block(),
            self.new_block(),
            self.new_block(),
        );
        b.br(head);
        b.position(head);
        let number = b.phi(&[(complete, before)])?;
        let left = b.sub(begun, number)?;
        let most = b.i32(outstanding.into());
        b.cond_br(b.icmp(IntPredicate::LLVMIntUGT, left, most)?, poll, done)?;
        b.position(poll);
        let barrier = self.bulk_barrier(number, bulk.slots)?;
        let phase = b.lshr(number, b.i32(bulk.slots.trailing_zeros()))?;
        let parity = b.and(phase, b.i32(1))?;
        let is_complete = b.intrinsic(
            "llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta",
            &[],
            &[barrier, parity],
        )?;
        b.cond_br(is_complete, next, poll)?;
        b.position(next);
        number.add_incoming(b.add(number, b.i32(1))?, next);
        b.br(head);
        b.position(done);
        b.store(number, bulk.complete, 4).map(|_| ())
    }
}
