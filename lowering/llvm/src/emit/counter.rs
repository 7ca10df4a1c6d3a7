//! A split barrier made of a word of workgroup memory: every wave adds one when it arrives, and a
//! wait polls until all waves of its phase have.
//!
//! The word only grows, so a phase needs no reset and no second word: after the n-th arrive it is
//! complete once the word has reached n times the number of waves. No wave can be a whole phase
//! ahead of another one that still waits, so the distance between word and target stays within the
//! number of waves and the sign of their difference tells, also after both have wrapped around. The
//! additions and the polls are relaxed; the fences that the plan puts around them order memory
//! (LLVM AMDGPUUsage, "Memory Model": a release fence before a relaxed atomic, an acquire fence
//! after one that read it).
//!
//! Arrival and wait are calls until the mid-level optimiser has run; [`crate::expand`] writes them
//! out then.

use super::barrier::names;
use super::function::FunctionEmitter;
use super::{Result, builtin, lanes};
use crate::ffi::{self, IntPredicate, Linkage, Value};
use splitbar_plan::target::Arch;

/// The counter's name in the module.
const NAME: &str = "splitbar_counter";

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// The counter: four bytes of workgroup memory, shared by the kernels of the module.
    fn counter(&self) -> Value<'c> {
        ffi::named_global(self.b.module(), NAME).unwrap_or_else(|| {
            let ty = self.b.int_type(32);
            let global = ffi::add_global(self.b.module(), ty, 3, NAME);
            global.set_initializer(ty.poison());
            global.set_linkage(Linkage::LLVMInternalLinkage);
            global.set_alignment(4);
            global
        })
    }

    /// One invocation clears the counter; a full barrier makes that known.
    pub(super) fn counter_init(&mut self) -> Result<()> {
        self.in_first_invocation(|e| {
            e.b.store(e.b.i32(0), e.counter(), 4)?;
            Ok(())
        })?;
        self.publish()
    }

    /// The next phase's target is one addition per wave away; the lowest active lane of this wave
    /// makes this wave's.
    pub(super) fn counter_arrive(&mut self, target: Value<'c>) -> Result<()> {
        let b = self.b;
        let word = b.int_type(32);
        let waves = builtin::num_waves(self)?;
        b.store(b.add(b.load(word, target, 4)?, waves)?, target, 4)?;
        let (counter, elected) = (self.counter(), self.is_lowest_active_lane()?);
        let arrive = self.placeholder(names::COUNTER_ARRIVE, &[counter.ty(), elected.ty()]);
        b.call(arrive, &[counter, elected])?;
        Ok(())
    }

    /// Waits until the counter has reached the target.
    pub(super) fn counter_wait(&mut self, target: Value<'c>) -> Result<()> {
        let b = self.b;
        let (counter, target) = (self.counter(), b.load(b.int_type(32), target, 4)?);
        let wait = self.placeholder(names::COUNTER_WAIT, &[counter.ty(), target.ty()]);
        b.call(wait, &[counter, target])?;
        Ok(())
    }

    fn is_lowest_active_lane(&self) -> Result<Value<'c>> {
        let b = self.b;
        match self.module.target.arch {
            Arch::Amdgpu(_) => {
                let wide = b.int_type(self.wave_size().max(32));
                let active = b.intrinsic("llvm.amdgcn.ballot", &[wide], &[b.bool(true)])?;
                let low = b.int_resize(active, b.int_type(32), false)?;
                let mut below = b.intrinsic("llvm.amdgcn.mbcnt.lo", &[], &[low, b.i32(0)])?;
                if self.wave_size() > 32 {
                    let high =
                        b.int_resize(b.lshr(active, wide.int(32))?, b.int_type(32), false)?;
                    below = b.intrinsic("llvm.amdgcn.mbcnt.hi", &[], &[high, below])?;
                }
                b.icmp(IntPredicate::LLVMIntEQ, below, b.i32(0))
            }
            Arch::Nvptx(_) => b.icmp(IntPredicate::LLVMIntEQ, lanes::lane_id(self)?, b.i32(0)),
        }
    }
}
