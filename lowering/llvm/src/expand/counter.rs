//! The counter's arrive and wait on AMDGPU.
//!
//! LLVM's code sinking would move the window's work behind the loop that polls, where nothing
//! overlaps with it any more. `llvm.fake.use` keeps the values that leave a window on its side: it
//! is no machine instruction, and needs what it names.

use super::{Expansion, missing, pair};
use crate::emit::Result;
use crate::emit::barrier::names;
use crate::ffi::{self, AtomicOrdering, IntPredicate, Opcode, RmwOp, Value};
use crate::leaving::leaving;

impl<'c> Expansion<'c> {
    /// Gives the counter's functions their bodies. Whether there was one.
    pub(super) fn counter(&self) -> Result<bool> {
        let arrive = self.counter_arrive()?;
        let wait = self.counter_wait()?;
        Ok(arrive || wait)
    }

    /// One lane adds one.
    fn counter_arrive(&self) -> Result<bool> {
        let Some(function) = self.begin(names::COUNTER_ARRIVE) else {
            return Ok(false);
        };
        let (counter, elected) = pair(function)?;
        let [entry, add, on] = self.blocks(function);
        self.b.position(entry);
        let counter = self.in_lanes(counter);
        self.b.cond_br(elected, add, on);
        self.b.position(add);
        self.b.rmw(
            RmwOp::LLVMAtomicRMWBinOpAdd,
            counter,
            self.word().int(1),
            AtomicOrdering::LLVMAtomicOrderingMonotonic,
            ffi::sync_scope(self.context, "workgroup"),
        );
        self.b.br(on);
        self.b.position(on);
        self.b.ret_void();
        Ok(true)
    }

    /// Polls until the counter has reached the target; between two polls the wave sleeps for 64
    /// clocks, in which others have the LDS.
    fn counter_wait(&self) -> Result<bool> {
        let Some(function) = self.begin(names::COUNTER_WAIT) else {
            return Ok(false);
        };
        let (counter, target) = pair(function)?;
        let [entry, again, done] = self.blocks(function);
        self.b.position(entry);
        let target = self.first_lane(target)?;
        self.b.cond_br(self.reached(counter, target)?, done, again);
        self.b.position(again);
        self.intrinsic("llvm.amdgcn.s.sleep", &[self.word().int(1)])?;
        self.b.cond_br(self.reached(counter, target)?, done, again);
        self.b.position(done);
        self.b.ret_void();
        let calls = function.value().users();
        let held = leaving(&calls);
        for call in calls {
            self.keep_window(call, held.get(&call).map_or(&[], Vec::as_slice))?;
        }
        Ok(true)
    }

    /// Whether the counter is at the target or past it.
    fn reached(&self, counter: Value<'c>, target: Value<'c>) -> Result<Value<'c>> {
        let count = self.b.load(self.word(), counter);
        count.set_alignment(4);
        count.set_ordering(
            AtomicOrdering::LLVMAtomicOrderingMonotonic,
            ffi::sync_scope(self.context, "workgroup"),
        );
        let ahead = self
            .b
            .binary(Opcode::LLVMSub, self.first_lane(count)?, target);
        let zero = self.word().int(0);
        Ok(self.b.icmp(IntPredicate::LLVMIntSGE, ahead, zero))
    }

    /// Keeps `left`, which the window that ends at `call` leaves, from being computed behind it.
    fn keep_window(&self, call: Value<'c>, left: &[Value<'c>]) -> Result<()> {
        const NAME: &str = "llvm.fake.use";
        let (id, _) = ffi::intrinsic_id(NAME).ok_or_else(|| missing(NAME))?;
        let keep = ffi::intrinsic(self.module, id, &[]);
        self.b.position_before(call);
        // A phi may stand for what is still being loaded; here to hold a value is to wait for it.
        for value in left.iter().filter(|value| !value.is_phi()) {
            self.b.call(keep.ty(), keep.value(), &[*value]);
        }
        Ok(())
    }

    /// The value, which is the same in all lanes, in a scalar register.
    fn first_lane(&self, value: Value<'c>) -> Result<Value<'c>> {
        const NAME: &str = "llvm.amdgcn.readfirstlane";
        let (id, _) = ffi::intrinsic_id(NAME).ok_or_else(|| missing(NAME))?;
        let function = ffi::intrinsic(self.module, id, &[value.ty()]);
        Ok(self.b.call(function.ty(), function.value(), &[value]))
    }

    /// The address in a register of each lane: for what it sees to be one address, LLVM's atomic
    /// optimiser would elect a lane once more.
    fn in_lanes(&self, address: Value<'c>) -> Value<'c> {
        let ty = address.ty().function(&[address.ty()]);
        self.b
            .call(ty, ffi::inline_assembly(ty, "", "=v,0", true), &[address])
    }
}
