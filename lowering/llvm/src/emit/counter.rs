//! A split barrier made of a word of workgroup memory: every wave adds one when it arrives, and a wait polls until all waves of its phase have.
//!
//! The word only grows, so a phase needs no reset and no second word: after the n-th arrive it is complete once the word has reached n times the number of waves.
//! No wave can be a whole phase ahead of another one that still waits, so the distance between word and target stays within the number of waves and the sign of their
//! difference tells, also after both have wrapped around. The additions and the polls are relaxed; the fences that the plan puts around them order memory (LLVM
//! AMDGPUUsage, "Memory Model": a release fence before a relaxed atomic, an acquire fence after one that read it).

use super::function::FunctionEmitter;
use super::{Result, barrier, builtin};
use crate::ffi::{self, AtomicOrdering, IntPredicate, Linkage, RmwOp, Value};
use splitbar_plan::FenceScope;
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
        let b = self.b;
        let index = builtin::local_invocation_index(self)?;
        let counter = self.counter();
        let (first, on) = (self.new_block(), self.new_block());
        b.cond_br(b.icmp(IntPredicate::LLVMIntEQ, index, b.i32(0))?, first, on)?;
        b.position(first);
        b.store(b.i32(0), counter, 4)?;
        b.br(on);
        b.position(on);
        self.publish()
    }

    /// The next phase's target is one addition per wave away; the lowest active lane of this wave makes this wave's.
    pub(super) fn counter_arrive(&mut self, target: Value<'c>) -> Result<()> {
        let b = self.b;
        let word = b.int_type(32);
        let waves = builtin::num_subgroups(self)?;
        b.store(b.add(b.load(word, target, 4)?, waves)?, target, 4)?;
        let lowest = self.is_lowest_active_lane()?;
        let counter = self.one_address(self.counter())?;
        let (elected, on) = (self.new_block(), self.new_block());
        b.cond_br(lowest, elected, on)?;
        b.position(elected);
        let scope = barrier::sync_scope(b, self.target, FenceScope::Workgroup);
        b.rmw(
            RmwOp::LLVMAtomicRMWBinOpAdd,
            counter,
            b.i32(1),
            AtomicOrdering::LLVMAtomicOrderingMonotonic,
            scope,
        )?;
        b.br(on);
        b.position(on);
        Ok(())
    }

    /// Polls until the counter has reached the target; between two polls the wave sleeps for 64 clocks, in which others have the LDS.
    pub(super) fn counter_wait(&mut self, target: Value<'c>) -> Result<()> {
        let b = self.b;
        let word = b.int_type(32);
        let (counter, scope) = (
            self.counter(),
            barrier::sync_scope(b, self.target, FenceScope::Workgroup),
        );
        let (poll, sleep, done) = (self.new_block(), self.new_block(), self.new_block());
        let wanted = self.uniform(b.load(word, target, 4)?)?;
        b.br(poll);
        b.position(poll);
        let count = b.load(word, counter, 4)?;
        count.set_ordering(AtomicOrdering::LLVMAtomicOrderingMonotonic, scope);
        let ahead = b.sub(self.uniform(count)?, wanted)?;
        b.cond_br(
            b.icmp(IntPredicate::LLVMIntSGE, ahead, b.i32(0))?,
            done,
            sleep,
        )?;
        b.position(sleep);
        if let Arch::Amdgpu(_) = self.target.arch {
            b.intrinsic("llvm.amdgcn.s.sleep", &[], &[b.i32(1)])?;
        }
        b.br(poll);
        b.position(done);
        Ok(())
    }

    fn is_lowest_active_lane(&self) -> Result<Value<'c>> {
        let b = self.b;
        match self.target.arch {
            Arch::Amdgpu(_) => {
                let wide = b.int_type(self.wave_size.max(32));
                let active = b.intrinsic("llvm.amdgcn.ballot", &[wide], &[b.bool(true)])?;
                let low = b.int_resize(active, b.int_type(32), false)?;
                let mut below = b.intrinsic("llvm.amdgcn.mbcnt.lo", &[], &[low, b.i32(0)])?;
                if self.wave_size > 32 {
                    let high =
                        b.int_resize(b.lshr(active, wide.int(32))?, b.int_type(32), false)?;
                    below = b.intrinsic("llvm.amdgcn.mbcnt.hi", &[], &[high, below])?;
                }
                b.icmp(IntPredicate::LLVMIntEQ, below, b.i32(0))
            }
            Arch::Nvptx(_) => b.icmp(IntPredicate::LLVMIntEQ, builtin::lane(self)?, b.i32(0)),
        }
    }

    /// The address, in a register of each lane. LLVM's AMDGPU atomic optimiser elects a lane for atomics on what it sees to be one address; here one is elected.
    fn one_address(&self, address: Value<'c>) -> Result<Value<'c>> {
        match self.target.arch {
            Arch::Amdgpu(_) => {
                let ty = address.ty();
                let function = ty.function(&[ty]);
                let register = ffi::inline_assembly(function, "", "=v,0");
                Ok(self.b.raw().call(function, register, &[address]))
            }
            Arch::Nvptx(_) => Ok(address),
        }
    }

    /// A value that is the same in all lanes, in a scalar register where there are any.
    fn uniform(&self, value: Value<'c>) -> Result<Value<'c>> {
        match self.target.arch {
            Arch::Amdgpu(_) => {
                self.b
                    .intrinsic("llvm.amdgcn.readfirstlane", &[value.ty()], &[value])
            }
            Arch::Nvptx(_) => Ok(value),
        }
    }
}
