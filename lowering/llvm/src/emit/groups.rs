//! A split barrier made of named hardware barriers, one for each group of warps (NVPTX): see
//! [`WarpGroups`].
//!
//! All warps execute the same instructions, with the barrier's number in a register: that is what
//! `.aligned` asks for (PTX ISA, `bar`), and it needs no branch.

use super::function::FunctionEmitter;
use super::{Result, builtin};
use crate::ffi::{IntPredicate, Opcode, Value};
use splitbar_plan::WarpGroups;

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// The group of this warp.
    fn warp_group(&self, groups: WarpGroups) -> Result<Value<'c>> {
        let warp = builtin::wave_id(self)?;
        if groups.groups >= groups.warps {
            return Ok(warp);
        }
        self.b
            .binary(Opcode::LLVMURem, warp, self.b.i32(groups.groups.max(1)))
    }

    /// The number of the first barrier in the set of this phase. `set` holds what to add for it;
    /// there is none when one set serves all phases.
    fn first_barrier(&self, set: Option<Value<'c>>) -> Result<Value<'c>> {
        let b = self.b;
        let first = b.i32(WarpGroups::FIRST);
        match set {
            Some(slot) => b.add(b.load(b.int_type(32), slot, 4)?, first),
            None => Ok(first),
        }
    }

    /// Arrives at the barriers of all other groups, beginning with the next one, so that not all
    /// warps begin with the same.
    pub(super) fn group_arrive(&self, groups: WarpGroups, set: Option<Value<'c>>) -> Result<()> {
        let b = self.b;
        let own = self.warp_group(groups)?;
        let first = self.first_barrier(set)?;
        let count = b.i32(groups.groups);
        for step in 1..groups.groups {
            let next = b.add(own, b.i32(step))?;
            let wraps = b.icmp(IntPredicate::LLVMIntUGE, next, count)?;
            let group = b.select(wraps, b.sub(next, count)?, next)?;
            b.intrinsic(
                "llvm.nvvm.barrier.cta.arrive.aligned.count",
                &[],
                &[b.add(group, first)?, b.i32(groups.threads())],
            )?;
        }
        Ok(())
    }

    /// Syncs on the barrier of this warp's group; the next phase takes the other set.
    pub(super) fn group_sync(&self, groups: WarpGroups, set: Option<Value<'c>>) -> Result<()> {
        let b = self.b;
        let own = b.add(self.warp_group(groups)?, self.first_barrier(set)?)?;
        b.intrinsic(
            "llvm.nvvm.barrier.cta.sync.aligned.count",
            &[],
            &[own, b.i32(groups.threads())],
        )?;
        if let Some(slot) = set {
            let now = b.load(b.int_type(32), slot, 4)?;
            b.store(b.sub(b.i32(groups.groups), now)?, slot, 4)?;
        }
        Ok(())
    }
}
