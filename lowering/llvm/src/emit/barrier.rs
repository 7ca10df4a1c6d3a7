//! Barrier steps as each target spells them (the reference for every line: LLVM 23 AMDGPUUsage
//! "Memory Model" and "Execution Barriers"; PTX ISA 9.7.13).
//!
//! What makes a window and is more than an instruction (the mbarrier's and the counter's arrive and
//! wait, both ends of the window on NVPTX) is first a call of a declared function that the
//! optimiser cannot look into; [`crate::expand`] gives these functions bodies after the optimiser
//! has run. The order in which the optimiser left work between the calls is then fixed by branches
//! that nobody can fold.

use super::attributes::target_attributes;
use super::build::Build;
use super::function::FunctionEmitter;
use super::{Handled, Result, builtin, lanes};
use crate::ffi::{self, AtomicOrdering, Func, IntPredicate, Linkage, Ty, Value};
use spirv::Op;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::{Id, Inst, Scope};
use splitbar_plan::target::{Amdgpu, Arch};
use splitbar_plan::{
    AmdgpuStep, Fence, FenceMemory, FenceOrder, FenceScope, NvptxStep, Step, Target, WarpGroups,
    WarpMask,
};

/// Names of the functions that the expansion fills in, and of the mbarrier.
pub(crate) mod names {
    /// What the names of all these functions begin with.
    pub(crate) const PREFIX: &str = "splitbar.";
    /// The leader's arrival on the mbarrier.
    pub(crate) const ARRIVE: &str = "splitbar.mbarrier.arrive";
    /// Waits with `test_wait` for the phase of the given parity.
    pub(crate) const WAIT_TEST: &str = "splitbar.mbarrier.wait.test";
    /// Waits with `try_wait`.
    pub(crate) const WAIT_TRY: &str = "splitbar.mbarrier.wait.try";
    /// The window begins.
    pub(crate) const OPEN: &str = "splitbar.window.open";
    /// The window ends.
    pub(crate) const CLOSE: &str = "splitbar.window.close";
    /// Adds one to the counter (first operand), in the lane for which the second is true.
    pub(crate) const COUNTER_ARRIVE: &str = "splitbar.counter.arrive";
    /// Polls until the counter (first operand) has reached the second.
    pub(crate) const COUNTER_WAIT: &str = "splitbar.counter.wait";
    /// The mbarrier itself, in shared memory.
    pub(crate) const MBARRIER: &str = "splitbar_mbarrier";
}

/// The fence scope that a SPIR-V scope asks for.
pub(crate) fn fence_scope(scope: Scope) -> FenceScope {
    match scope {
        Scope::Invocation | Scope::Subgroup => FenceScope::Subgroup,
        Scope::Workgroup => FenceScope::Workgroup,
        Scope::Device | Scope::QueueFamily | Scope::ShaderCall => FenceScope::Device,
        Scope::CrossDevice => FenceScope::System,
    }
}

/// The number of the LLVM synchronisation scope. LLVM's NVPTX back end knows no scope below "block"
/// that orders anything, so a subgroup takes that.
pub(crate) fn sync_scope(b: &Build<'_>, target: &Target, scope: FenceScope) -> u32 {
    let name = match (&target.arch, scope) {
        (Arch::Amdgpu(_), FenceScope::Subgroup) => "wavefront",
        (Arch::Amdgpu(_), FenceScope::Workgroup) => "workgroup",
        (Arch::Amdgpu(_), FenceScope::Device) => "agent",
        (Arch::Nvptx(_), FenceScope::Subgroup | FenceScope::Workgroup) => "block",
        (Arch::Nvptx(_), FenceScope::Device) => "device",
        (Arch::Amdgpu(_) | Arch::Nvptx(_), FenceScope::System) => "",
    };
    ffi::sync_scope(b.context(), name)
}

/// LLVM's name of an order.
pub(crate) fn ordering(order: FenceOrder) -> AtomicOrdering {
    match order {
        FenceOrder::Acquire => AtomicOrdering::LLVMAtomicOrderingAcquire,
        FenceOrder::Release => AtomicOrdering::LLVMAtomicOrderingRelease,
        FenceOrder::AcquireRelease => AtomicOrdering::LLVMAtomicOrderingAcquireRelease,
        FenceOrder::SequentiallyConsistent => {
            AtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent
        }
    }
}

/// Writes a fence: every one that LLVM's optimiser sees comes from here.
///
/// On AMDGPU one that speaks of workgroup memory alone, or of everything else alone, says so in
/// `!mmra`, so that it waits for no more. LLVM takes two neighbours for one though they speak of
/// different memory (docs/llvm.md), so there something stands behind each that is kept until code
/// is generated, and then is nothing. Fences of NVPTX speak of all memory, and one for two equal
/// ones is right.
///
/// # Errors
/// `Internal` when LLVM lacks what keeps them apart.
pub(crate) fn write_fence(b: &Build<'_>, target: &Target, fence: Fence) -> Result<()> {
    let scope = sync_scope(b, target, fence.scope);
    let instruction = b.raw().fence(ordering(fence.order), scope);
    let Arch::Amdgpu(_) = &target.arch else {
        return Ok(());
    };
    b.intrinsic("llvm.sideeffect", &[], &[])?;
    let memory = match fence.memory {
        FenceMemory::Local => "local",
        FenceMemory::Global => "global",
        FenceMemory::All => return Ok(()),
    };
    let context = b.context();
    let node = ffi::meta_node(
        context,
        &[
            ffi::meta_string(context, "amdgpu-synchronize-as"),
            ffi::meta_string(context, memory),
        ],
    );
    instruction.set_metadata(context, "mmra", node);
    Ok(())
}

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// Writes a fence.
    pub(crate) fn fence(&self, fence: Fence) -> Result<()> {
        write_fence(self.b, self.module.target, fence)
    }

    /// Writes steps, in order.
    pub(crate) fn steps(&mut self, steps: &[Step]) -> Result<()> {
        for step in steps {
            self.step_at(step)?;
        }
        Ok(())
    }

    /// That the plan has a step which the target, or the kernel's state, has nothing for.
    fn lacks(&self, step: &Step) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::bug(format!(
                "the plan has the step `{step}`, which {} does not support",
                self.module.target.name
            ))
            .at_word(self.b.at.get()),
        )
    }

    /// The slot of the word that the strategy keeps between phases.
    fn word(&self, step: &Step) -> Result<Value<'c>> {
        let slot = self.barrier_state.word;
        slot.ok_or_else(|| self.lacks(step))
    }

    fn step_at(&mut self, step: &Step) -> Result<()> {
        if !step.is_on(self.module.target) {
            return Err(self.lacks(step));
        }
        let b = self.b;
        match (step, &self.module.target.arch) {
            (Step::Fence(fence), _) => self.fence(*fence)?,
            (Step::Amdgpu(own), Arch::Amdgpu(gpu)) => self.amdgpu_step(step, own, gpu)?,
            (Step::Nvptx(own), Arch::Nvptx(_)) => self.nvptx_step(step, own)?,
            (Step::Amdgpu(_) | Step::Nvptx(_), _) => return Err(self.lacks(step)),
            (Step::OpenWindow | Step::CloseWindow, Arch::Amdgpu(_)) => self.scheduling_barrier()?,
            (Step::OpenWindow, Arch::Nvptx(_)) => {
                b.call(self.placeholder(names::OPEN, &[]), &[])?;
            }
            (Step::CloseWindow, Arch::Nvptx(_)) => {
                b.call(self.placeholder(names::CLOSE, &[]), &[])?;
            }
            (Step::ClusterArrive, Arch::Amdgpu(_)) => self.objects().cluster_signal()?,
            (Step::ClusterWait, Arch::Amdgpu(_)) => self.objects().cluster_wait()?,
            (Step::ClusterArrive, Arch::Nvptx(_)) => {
                b.intrinsic("llvm.nvvm.barrier.cluster.arrive.relaxed.aligned", &[], &[])?;
            }
            (Step::ClusterWait, Arch::Nvptx(_)) => {
                b.intrinsic("llvm.nvvm.barrier.cluster.wait.aligned", &[], &[])?;
            }
            (Step::CounterInit, _) => self.counter_init()?,
            (Step::CounterArrive, _) => self.counter_arrive(self.word(step)?)?,
            (Step::CounterWait, _) => self.counter_wait(self.word(step)?)?,
            (Step::AsyncMark, _) => self.async_mark()?,
            (Step::AsyncWait(outstanding), _) => self.async_wait(*outstanding)?,
            (Step::StoreStaged(set), _) => self.store_staged(*set)?,
            (Step::SetOutstanding(value), _) => {
                let slot = self.barrier_state.outstanding;
                let slot = slot.ok_or_else(|| self.lacks(step))?;
                b.store(b.i32(u32::from(*value)), slot, 4)?;
            }
            (Step::IfFirst(steps), _) => self.steps_if(self.word(step)?, steps)?,
            (Step::IfOutstanding(steps), _) => {
                let slot = self.barrier_state.outstanding;
                self.steps_if(slot.ok_or_else(|| self.lacks(step))?, steps)?;
            }
        }
        Ok(())
    }

    /// Writes the step `own` of an AMD GPU that has it.
    fn amdgpu_step(&mut self, step: &Step, own: &AmdgpuStep, gpu: &Amdgpu) -> Result<()> {
        let b = self.b;
        match own {
            AmdgpuStep::WaitZero(counters) => self.wait_zero(counters, gpu)?,
            AmdgpuStep::Signal => self.objects().signal()?,
            AmdgpuStep::SignalFirst => {
                let slot = self.word(step)?;
                let first = self.objects().signal_is_first()?;
                b.store(b.int_resize(first, b.int_type(32), false)?, slot, 4)?;
            }
            AmdgpuStep::WaitSignal => self.objects().wait()?,
            AmdgpuStep::NamedInit => self.named_init()?,
            AmdgpuStep::NamedJoin => self.named_join()?,
            AmdgpuStep::NamedArrive => self.named_arrive()?,
            AmdgpuStep::NamedWait => self.objects().named_wait()?,
            AmdgpuStep::NamedLeave => self.objects().leave()?,
            AmdgpuStep::WorkgroupBarrier => {
                b.intrinsic("llvm.amdgcn.s.barrier", &[], &[])?;
            }
            AmdgpuStep::BareBarrier => self.bare_barrier(),
            AmdgpuStep::WaveBarrier => {
                b.intrinsic("llvm.amdgcn.wave.barrier", &[], &[])?;
            }
            AmdgpuStep::LeaveWindow => self.scheduling_barrier()?,
        }
        Ok(())
    }

    /// Writes the step `own` of an NVIDIA GPU that has it.
    fn nvptx_step(&mut self, step: &Step, own: &NvptxStep) -> Result<()> {
        let b = self.b;
        match own {
            NvptxStep::CtaSync => self.cta_sync()?,
            NvptxStep::WarpSync(mask) => {
                let mask = self.warp_mask(*mask)?;
                b.intrinsic("llvm.nvvm.bar.warp.sync", &[], &[mask])?;
            }
            NvptxStep::MbarrierInit { copies } => self.mbarrier_init(*copies)?,
            NvptxStep::CopiesArrive { noinc } => {
                let name = if *noinc {
                    "llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared"
                } else {
                    "llvm.nvvm.cp.async.mbarrier.arrive.shared"
                };
                b.intrinsic(name, &[], &[self.mbarrier()])?;
            }
            NvptxStep::MbarrierArrive => {
                self.mbarrier();
                b.call(self.placeholder(names::ARRIVE, &[]), &[])?;
            }
            NvptxStep::MbarrierWait { try_wait } => {
                let slot = self.word(step)?;
                self.mbarrier();
                let parity = b.load(b.int_type(32), slot, 4)?;
                let wait = if *try_wait {
                    names::WAIT_TRY
                } else {
                    names::WAIT_TEST
                };
                b.call(self.placeholder(wait, &[b.int_type(32)]), &[parity])?;
                b.store(b.xor(parity, b.i32(1))?, slot, 4)?;
            }
            NvptxStep::GroupArrive(groups) => {
                self.group_arrive(*groups, self.group_set(step, *groups)?)?;
            }
            NvptxStep::GroupSync(groups) => {
                self.group_sync(*groups, self.group_set(step, *groups)?)?;
            }
            NvptxStep::BulkInit(slots) => self.bulk_init(*slots)?,
            NvptxStep::BulkWait(outstanding) => self.bulk_wait(*outstanding)?,
        }
        Ok(())
    }

    fn scheduling_barrier(&self) -> Result<()> {
        let b = self.b;
        b.intrinsic("llvm.amdgcn.sched.barrier", &[], &[b.i32(0)])?;
        Ok(())
    }

    /// The slot of the set of barriers of this phase, if there is more than one set.
    fn group_set(&self, step: &Step, groups: WarpGroups) -> Result<Option<Value<'c>>> {
        (groups.sets >= 2).then(|| self.word(step)).transpose()
    }

    fn warp_mask(&self, mask: WarpMask) -> Result<Value<'c>> {
        let b = self.b;
        Ok(match mask {
            WarpMask::Lanes(mask) => b.i32(mask),
            WarpMask::Subgroup { size, existing } => {
                let first = b.and(lanes::lane_id(self)?, b.i32(!(size - 1)))?;
                let own = b.i32(lanes::ones(size) as u32);
                b.and(b.shl(own, first)?, b.i32(existing))?
            }
            WarpMask::Active => match self.tangle_mask() {
                Some(mask) => mask,
                None => b.intrinsic("llvm.nvvm.activemask", &[], &[])?,
            },
        })
    }

    /// Writes steps that are done only where the note in `slot` is not zero.
    fn steps_if(&mut self, slot: Value<'c>, steps: &[Step]) -> Result<()> {
        let b = self.b;
        let note = b.load(b.int_type(32), slot, 4)?;
        let is_set = b.icmp(IntPredicate::LLVMIntNE, note, b.i32(0))?;
        self.when(is_set, |e| e.steps(steps))
    }

    /// Does `act` in the first invocation of the workgroup.
    pub(super) fn in_first_invocation(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let b = self.b;
        let index = builtin::local_invocation_index(self)?;
        self.when(b.icmp(IntPredicate::LLVMIntEQ, index, b.i32(0))?, act)
    }

    /// Makes what this workgroup wrote to its memory known to all of it, with a full barrier.
    pub(super) fn publish(&self) -> Result<()> {
        let fence = |order| Fence {
            order,
            scope: FenceScope::Workgroup,
            memory: FenceMemory::Local,
        };
        match self.module.target.arch {
            Arch::Amdgpu(_) => {
                self.fence(fence(FenceOrder::Release))?;
                self.b.intrinsic("llvm.amdgcn.s.barrier", &[], &[])?;
                self.fence(fence(FenceOrder::Acquire))?;
            }
            // bar.sync orders by itself.
            Arch::Nvptx(_) => self.cta_sync()?,
        }
        Ok(())
    }

    fn cta_sync(&self) -> Result<()> {
        self.b.intrinsic(
            "llvm.nvvm.barrier.cta.sync.aligned.all",
            &[],
            &[self.b.i32(0)],
        )?;
        Ok(())
    }

    /// The mbarrier: eight bytes of shared memory.
    fn mbarrier(&self) -> Value<'c> {
        *self
            .module
            .barriers
            .mbarrier
            .borrow_mut()
            .get_or_insert_with(|| {
                let ty = self.b.int_type(64);
                let global = ffi::add_global(self.b.module(), ty, 3, names::MBARRIER);
                global.set_initializer(ty.poison());
                global.set_linkage(Linkage::LLVMInternalLinkage);
                global.set_alignment(8);
                global
            })
    }

    /// One invocation sets the number of arrivals of a phase, one per warp, and with `copies` one
    /// per invocation beside; a full barrier makes it known.
    fn mbarrier_init(&mut self, copies: bool) -> Result<()> {
        let b = self.b;
        let mut arrivals = builtin::num_waves(self)?;
        if copies {
            arrivals = b.add(arrivals, builtin::invocations(self)?)?;
        }
        let barrier = self.mbarrier();
        self.in_first_invocation(|_| {
            b.intrinsic("llvm.nvvm.mbarrier.init.shared", &[], &[barrier, arrivals])?;
            Ok(())
        })?;
        self.cta_sync()
    }

    /// The declaration of a function that [`crate::expand`] fills in.
    pub(super) fn placeholder(&self, name: &'static str, params: &[Ty<'c>]) -> Func<'c> {
        let mut known = self.module.barriers.placeholders.borrow_mut();
        if let Some((_, function)) = known.iter().find(|(n, _)| *n == name) {
            return *function;
        }
        let context = self.b.context();
        let function = Func::add(
            self.b.module(),
            name,
            ffi::void_type(context).function(params),
        );
        function.attribute(context, "convergent");
        function.attribute(context, "nounwind");
        // LLVM inlines no function that is compiled for waves of another size.
        target_attributes(self.b, self.module.target, self.kernel.plan, function);
        known.push((name, function));
        function
    }

    /// What a wave does that ends. LLVM brings its invocations together before they come to the
    /// block that all returns lead to.
    pub(crate) fn wave_end(&mut self) -> Result<()> {
        let Some(end) = self.end else {
            return Ok(());
        };
        let plan = self.kernel.plan;
        self.b.position(end);
        self.steps(&plan.at_end)?;
        self.b.raw().ret_void();
        Ok(())
    }

    /// Steps that stand before a return of the entry point.
    pub(super) fn before_return(&mut self, inst: Inst<'_>) -> Result<()> {
        match self.kernel.plan.at_return.get(&inst.offset) {
            Some(_) if self.module.calls => Ok(()),
            Some(steps) => self.steps(steps),
            None => Ok(()),
        }
    }
}

/// Lowers barrier instructions: their steps stand in the plan.
pub(crate) fn emit<'c>(e: &mut FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Handled> {
    if e.module.calls {
        return call(e, inst);
    }
    let plan = e.kernel.plan;
    match plan.at_instruction.get(&inst.offset) {
        Some(steps) => e.steps(steps)?,
        None => {
            return Err(e
                .b
                .internal(format!("{} has no place in the barrier plan", inst.name())));
        }
    }
    Ok(Handled::Yes)
}

/// Leaves a barrier a call, with its scopes and semantics as OpenCL has them.
fn call<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Handled> {
    let (name, scopes) = match inst.op() {
        Some(Op::ControlBarrierArriveINTEL) => ("__spirv_ControlBarrierArriveINTEL", 2),
        Some(Op::ControlBarrierWaitINTEL) => ("__spirv_ControlBarrierWaitINTEL", 2),
        Some(Op::ControlBarrier) => ("__spirv_ControlBarrier", 2),
        Some(Op::MemoryBarrier) => ("__spirv_MemoryBarrier", 1),
        _ => return Ok(Handled::No),
    };
    let mut operands = Vec::new();
    for (index, id) in inst.operands().iter().enumerate() {
        let number = e.constant_u32(Id(*id));
        let number = number.ok_or_else(|| {
            let message = format!("operand {index} of {} is not a constant", inst.name());
            Box::new(Diagnostic::error(Code::BarrierOperandNotConstant, message))
        })?;
        operands.push(e.b.i32(if index < scopes {
            opencl_scope(number)
        } else {
            opencl_semantics(number)
        }));
    }
    let types: Vec<Ty<'c>> = operands.iter().map(|operand| operand.ty()).collect();
    let ty = ffi::void_type(e.b.context()).function(&types);
    let module = e.b.module();
    let function = ffi::named_function(module, name).unwrap_or_else(|| {
        let function = Func::add(module, name, ty);
        function.attribute(e.b.context(), "convergent");
        function.attribute(e.b.context(), "nounwind");
        function
    });
    e.b.call(function, &operands)?;
    Ok(Handled::Yes)
}

/// The scope of OpenCL that holds no fewer invocations than a scope of Vulkan.
fn opencl_scope(scope: u32) -> u32 {
    match spirv::Scope::from_u32(scope) {
        Some(spirv::Scope::QueueFamily) => spirv::Scope::Device as u32,
        Some(spirv::Scope::ShaderCallKHR) => spirv::Scope::Invocation as u32,
        _ => scope,
    }
}

/// Memory semantics without what OpenCL lacks: buffers are global memory there, and what is
/// released is available.
fn opencl_semantics(semantics: u32) -> u32 {
    use spirv::MemorySemantics as Semantics;
    let vulkan = Semantics::UNIFORM_MEMORY
        | Semantics::OUTPUT_MEMORY
        | Semantics::MAKE_AVAILABLE
        | Semantics::MAKE_VISIBLE
        | Semantics::VOLATILE;
    let given = Semantics::from_bits_retain(semantics);
    let buffers = if given.contains(Semantics::UNIFORM_MEMORY) {
        Semantics::CROSS_WORKGROUP_MEMORY
    } else {
        Semantics::empty()
    };
    ((given - vulkan) | buffers).bits()
}
