//! Asynchronous copies between global and workgroup memory: OpGroupAsyncCopy, OpGroupWaitEvents,
//! and the marks and waits of the plan.
//!
//! Element `i` of a group's copy is moved by invocation `i` modulo the size of the workgroup, so
//! that neighbours move neighbours. What is wider than an instruction copies is moved in units.
//! Where the plan knows how many rounds that takes, and they are few, they stand one after the
//! other, so that waits can be counted exactly; else there is a loop.
//!
//! Instructions: LLVM AMDGPUDMAOperations (LDS DMA), AMDGPUAsyncOperations (marks),
//! IntrinsicsAMDGPU (gfx12.5); PTX ISA 9.7.9.25 (cp.async). No immediate offset is ever used: LLVM
//! 23.1 wraps one that is too large without a word.

use super::function::FunctionEmitter;
use super::staged::{Rounds, if_there, plain};
use super::{Handled, Result, builtin, group};
use crate::ffi::{self, IntPredicate, Opcode, Value};
use spirv::Op;
use splitbar_passes::analysis::group_copies::Direction;
use splitbar_passes::diagnostic::Diagnostic;
use splitbar_passes::module::{Inst, Scope};
use splitbar_plan::async_copies::MOST_ROUNDS;
use splitbar_plan::target::Arch;
use splitbar_plan::{CopyPlan, Engine};

/// Lowers a copy of a group, or a wait for some.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    let scope = Scope::evaluate(inst.id(0)?, inst, e.module.constants)?;
    if scope != Scope::Workgroup {
        return Err(e.unsupported(
            inst,
            format!("the scope is {scope}; only Workgroup is supported"),
        ));
    }
    match op {
        Op::GroupAsyncCopy => {
            copy(e, inst)?;
            let event = e.result_ty(inst)?.zero();
            e.bind(inst, event)?;
        }
        Op::GroupWaitEvents if group::may_be_open(e, inst) => {
            return Err(e.unsupported(inst, "it may be executed between an arrive and a wait of the target's own split barrier; choose the strategy fused, or named where the target has it"));
        }
        Op::GroupWaitEvents => {}
        _ => return Ok(Handled::No),
    }
    let plan = e.kernel.plan;
    if let Some(steps) = plan.at_instruction.get(&inst.offset) {
        e.steps(steps)?;
    } else if op == Op::GroupWaitEvents {
        return Err(e.b.internal("a wait for copies has no place in the plan"));
    }
    Ok(Handled::Yes)
}

/// Global and workgroup side of a copy, from one unit to the next.
struct Transfer<'c> {
    plan: CopyPlan,
    /// Where elements begin, by side.
    global: Value<'c>,
    local: Value<'c>,
    /// Bytes between elements in global memory, `i64`.
    stride: Value<'c>,
    /// Units in all, `i32`: workgroup memory has fewer bytes than that counts.
    units: Value<'c>,
    /// What the units of this invocation have in common over its wave: the unit is `first` of the
    /// round and this further on, `i32`.
    lane: Value<'c>,
}

/// Operands: destination, source, number of elements, stride in elements, event.
fn copy(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let Some(plan) = e.kernel.plan.copies.get(&inst.offset).copied() else {
        return Err(e.unsupported(inst, "supported are copies between CrossWorkgroup and Workgroup memory of integers, floats, and vectors of them"));
    };
    let b = e.b;
    let (to, from) = (e.operand(inst, 1)?, e.operand(inst, 2)?);
    let (global, local) = match plan.direction {
        Direction::ToWorkgroup => (from, to),
        Direction::FromWorkgroup => (to, from),
    };
    if plan.unit == 0 || (global.ty().address_space(), local.ty().address_space()) != (1, 3) {
        return Err(b.internal("the memories of the copy are not supported"));
    }
    for operand in [1, 2] {
        if e.pointer(inst.id(operand)?)?.qualifiers.any() {
            return Err(e.unsupported(inst, "it copies volatile or coherent memory"));
        }
    }
    if plan.engine == Engine::Bulk {
        return e.bulk_copy(global, local, plan.unit);
    }
    let long = b.int_type(64);
    let stride = b.int_resize(e.operand(inst, 4)?, long, false)?;
    let elements = b.int_resize(e.operand(inst, 3)?, b.int_type(32), false)?;
    let index = builtin::local_invocation_index(e)?;
    // LDS DMA has one destination for the wave.
    let (first, lane) = match plan.engine {
        Engine::LdsDma => {
            let wave = b.mul(builtin::wave_id(e)?, b.i32(e.wave_size()))?;
            (wave, b.sub(index, wave)?)
        }
        Engine::Registers | Engine::AsyncLds | Engine::CpAsync | Engine::Bulk => (index, b.i32(0)),
    };
    let transfer = Transfer {
        plan,
        global,
        local,
        stride: b.mul(stride, b.i64(u64::from(plan.element_bytes)))?,
        units: b.mul(elements, b.i32(plan.element_bytes / plan.unit))?,
        lane,
    };
    let each = builtin::invocations(e)?;
    match plan.rounds {
        Some(count) if count <= MOST_ROUNDS => {
            let rounds = Rounds {
                first,
                lane,
                each,
                units: transfer.units,
                count,
            };
            rounds.each(e, |e, round, first| transfer.unit(e, round, first))?;
            match plan.staged {
                Some(set) => e.hold(set, local),
                None => Ok(()),
            }
        }
        _ => transfer.all(e, first, each),
    }
}

impl<'c> Transfer<'c> {
    /// A loop over the rounds that begin at `first`, `each` units apart.
    fn all(
        &self,
        e: &mut FunctionEmitter<'_, 'c, '_>,
        first: Value<'c>,
        each: Value<'c>,
    ) -> Result<()> {
        let b = e.b;
        let before = b.block()?;
        let (head, body, done) = (e.new_block(), e.new_block(), e.new_block());
        b.br(head);
        b.position(head);
        let at = b.phi(&[(first, before)])?;
        let more = b.icmp(IntPredicate::LLVMIntULT, at, self.units)?;
        b.cond_br(more, body, done)?;
        b.position(body);
        match self.plan.engine {
            Engine::LdsDma => {
                let unit = b.add(at, self.lane)?;
                if_there(e, unit, self.units, |e| self.unit(e, 0, at))?;
            }
            Engine::Registers | Engine::AsyncLds | Engine::CpAsync | Engine::Bulk => {
                self.unit(e, 0, at)?
            }
        }
        let next = b.add(at, each)?;
        at.add_incoming(next, b.block()?);
        b.br(head);
        b.position(done);
        Ok(())
    }

    /// Moves the unit of this invocation in round `round`, which begins at `first`, or loads it
    /// when the copy is held.
    fn unit(
        &self,
        e: &mut FunctionEmitter<'_, 'c, '_>,
        round: u32,
        first: Value<'c>,
    ) -> Result<()> {
        let b = e.b;
        let unit = b.add(first, self.lane)?;
        let per_element = self.plan.element_bytes / self.plan.unit;
        let (element, part) = (
            b.binary(Opcode::LLVMUDiv, unit, b.i32(per_element))?,
            b.binary(Opcode::LLVMURem, unit, b.i32(per_element))?,
        );
        let long = |value| b.int_resize(value, b.int_type(64), false);
        let bytes = b.i32(self.plan.unit);
        let global = b.add(
            b.mul(long(element)?, self.stride)?,
            long(b.mul(part, bytes)?)?,
        )?;
        let global = b.offset(self.global, global, false)?;
        let local = |unit| b.offset(self.local, b.mul(unit, bytes)?, false);
        match self.plan.engine {
            Engine::Registers => {
                let local = local(unit)?;
                let (from, to) = match self.plan.direction {
                    Direction::ToWorkgroup => (global, local),
                    Direction::FromWorkgroup => (local, global),
                };
                let ty = plain(e, self.plan.unit);
                let value = b.load(ty, from, self.plan.unit)?;
                match self.plan.staged {
                    Some(set) => e.hold_value(set, round, value),
                    None => b.store(value, to, self.plan.unit).map(|_| ()),
                }
            }
            Engine::LdsDma => e.lds_dma(global, local(first)?, self.plan.unit),
            Engine::AsyncLds => {
                e.async_lds(self.plan.direction, global, local(unit)?, self.plan.unit)
            }
            Engine::CpAsync => e.cp_async(global, local(unit)?, self.plan.unit, None),
            Engine::Bulk => Err(b.internal("a bulk copy unit by unit")),
        }
    }
}

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// Steps of the plan before an instruction.
    pub(super) fn steps_before(&mut self, inst: Inst<'_>) -> Result<()> {
        let plan = self.kernel.plan;
        match plan.before_instruction.get(&inst.offset) {
            Some(steps) => self.steps(steps),
            None => Ok(()),
        }
    }

    /// What the target lacks: LLVM would end the process.
    fn no_async(&self, what: &str) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::bug(format!(
                "the plan has {what}, which {} cannot do",
                self.module.target.name
            ))
            .at_word(self.b.at.get()),
        )
    }

    /// LDS DMA of `bytes` for each lane from its `global` to `local` and what follows that; `local`
    /// is the same in all lanes.
    pub(super) fn lds_dma(&self, global: Value<'c>, local: Value<'c>, bytes: u32) -> Result<()> {
        let b = self.b;
        match &self.module.target.arch {
            Arch::Amdgpu(gpu)
                if gpu.async_marks
                    && !gpu.async_counter
                    && bytes != 8
                    && gpu.lds_dma_bytes.contains(&bytes) =>
            {
                let global = self.opaque(global);
                b.intrinsic(
                    "llvm.amdgcn.load.async.to.lds",
                    &[global.ty()],
                    &[global, local, b.i32(bytes), b.i32(0), b.i32(0)],
                )?;
                Ok(())
            }
            Arch::Amdgpu(_) | Arch::Nvptx(_) => Err(self.no_async("LDS DMA")),
        }
    }

    /// The same address, of which the code generator does not know how far it is from others. Where
    /// it knows, LLVM 23.1 (SILoadStoreOptimizer) puts the difference into the instruction's
    /// offset, which LDS DMA adds to the destination as well: the copy would go elsewhere. For
    /// gfx12.5 it corrects the destination (llvm-project pull requests 176816, 180220).
    fn opaque(&self, address: Value<'c>) -> Value<'c> {
        let ty = address.ty().function(&[address.ty()]);
        let identity = ffi::inline_assembly(ty, "", "=v,0", false);
        self.b.raw().call(ty, identity, &[address])
    }

    /// A copy of `bytes` between `global` and `local` of each lane, counted by ASYNCcnt.
    pub(super) fn async_lds(
        &self,
        direction: Direction,
        global: Value<'c>,
        local: Value<'c>,
        bytes: u32,
    ) -> Result<()> {
        let b = self.b;
        let name = match (direction, bytes) {
            (Direction::ToWorkgroup, 1) => "llvm.amdgcn.global.load.async.to.lds.b8",
            (Direction::ToWorkgroup, 4) => "llvm.amdgcn.global.load.async.to.lds.b32",
            (Direction::ToWorkgroup, 8) => "llvm.amdgcn.global.load.async.to.lds.b64",
            (Direction::ToWorkgroup, 16) => "llvm.amdgcn.global.load.async.to.lds.b128",
            (Direction::FromWorkgroup, 1) => "llvm.amdgcn.global.store.async.from.lds.b8",
            (Direction::FromWorkgroup, 4) => "llvm.amdgcn.global.store.async.from.lds.b32",
            (Direction::FromWorkgroup, 8) => "llvm.amdgcn.global.store.async.from.lds.b64",
            (Direction::FromWorkgroup, 16) => "llvm.amdgcn.global.store.async.from.lds.b128",
            _ => return Err(self.no_async("an asynchronous copy of this size")),
        };
        match &self.module.target.arch {
            Arch::Amdgpu(gpu) if gpu.async_counter => {
                b.intrinsic(name, &[], &[global, local, b.i32(0), b.i32(0)])?;
                Ok(())
            }
            Arch::Amdgpu(_) | Arch::Nvptx(_) => Err(self.no_async("asynchronous copies of LDS")),
        }
    }

    /// `cp.async` of `bytes` from `global` to `local`, past the L1 cache where it can. With `read`,
    /// an `i32`, only so many bytes are read and zeros fill the others.
    pub(super) fn cp_async(
        &self,
        global: Value<'c>,
        local: Value<'c>,
        bytes: u32,
        read: Option<Value<'c>>,
    ) -> Result<()> {
        let (whole, part) = match (&self.module.target.arch, bytes) {
            (Arch::Nvptx(gpu), 4) if gpu.cp_async => (
                "llvm.nvvm.cp.async.ca.shared.global.4",
                "llvm.nvvm.cp.async.ca.shared.global.4.s",
            ),
            (Arch::Nvptx(gpu), 8) if gpu.cp_async => (
                "llvm.nvvm.cp.async.ca.shared.global.8",
                "llvm.nvvm.cp.async.ca.shared.global.8.s",
            ),
            (Arch::Nvptx(gpu), 16) if gpu.cp_async => (
                "llvm.nvvm.cp.async.cg.shared.global.16",
                "llvm.nvvm.cp.async.cg.shared.global.16.s",
            ),
            _ => return Err(self.no_async("cp.async")),
        };
        let name = if read.is_some() { part } else { whole };
        let operands: Vec<Value<'c>> = [local, global].into_iter().chain(read).collect();
        self.b.intrinsic(name, &[], &operands)?;
        Ok(())
    }

    /// A mark over all copies before it.
    pub(super) fn async_mark(&self) -> Result<()> {
        let name = match &self.module.target.arch {
            Arch::Amdgpu(gpu) if gpu.async_marks => "llvm.amdgcn.asyncmark",
            Arch::Nvptx(gpu) if gpu.cp_async => "llvm.nvvm.cp.async.commit.group",
            Arch::Amdgpu(_) | Arch::Nvptx(_) => return Err(self.no_async("a mark")),
        };
        self.b.intrinsic(name, &[], &[])?;
        Ok(())
    }

    /// Waits until at most `outstanding` marks are outstanding. Unlike a wait for the counter it
    /// also keeps LLVM from moving accesses over it.
    pub(super) fn async_wait(&self, outstanding: u8) -> Result<()> {
        let b = self.b;
        let outstanding = u64::from(outstanding);
        match &self.module.target.arch {
            Arch::Amdgpu(gpu) if gpu.async_marks => {
                let count = b.int(b.int_type(16), outstanding)?;
                b.intrinsic("llvm.amdgcn.wait.asyncmark", &[], &[count])?;
            }
            Arch::Nvptx(gpu) if gpu.cp_async => {
                let count = b.int(b.int_type(32), outstanding)?;
                b.intrinsic("llvm.nvvm.cp.async.wait.group", &[], &[count])?;
            }
            Arch::Amdgpu(_) | Arch::Nvptx(_) => return Err(self.no_async("a wait for marks")),
        }
        Ok(())
    }
}
