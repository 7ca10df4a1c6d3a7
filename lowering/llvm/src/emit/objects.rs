//! The barrier objects of AMD GPUs from gfx12 on, instruction by instruction, each behind the
//! target fact that it needs: LLVM ends the process on some of what a target lacks and silently
//! encodes the rest.
//!
//! Source: LLVM AMDGPUExecutionSynchronization, "s_barrier GFX12" (operations and ids),
//! AMDGPUUsage, "LLVM IR Intrinsics". No operation orders memory.

use super::Result;
use super::build::Build;
use crate::ffi::{self, Linkage, Value};
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_plan::Target;
use splitbar_plan::target::Amdgpu;

/// The workgroup's own barrier.
const WORKGROUP: i32 = -1;
/// The barrier of a workgroup cluster.
const CLUSTER: i32 = -3;
/// What `s_barrier_wait` names to wait for the named barrier that was joined last: any number from
/// 1 on.
const JOINED: i32 = 1;

/// Barrier operations at the place where `b` stands.
pub(crate) struct Objects<'b, 'c> {
    pub(crate) b: &'b Build<'c>,
    pub(crate) target: &'static Target,
}

impl<'c> Objects<'_, 'c> {
    /// The target, if `has` says that it has `what`.
    fn gate(&self, what: &str, has: impl Fn(&Amdgpu) -> bool) -> Result<()> {
        match self.target.amdgpu() {
            Some(gpu) if has(gpu) => Ok(()),
            _ => Err(Box::new(
                Diagnostic::error(
                    Code::UnsupportedOnTarget,
                    format!("{} has no {what}", self.target.name),
                )
                .at_word(self.b.at.get())
                .help("choose a target that has it (`splitbar targets`)"),
            )),
        }
    }

    fn split(&self) -> Result<()> {
        self.gate("split barrier", |gpu| gpu.split_barrier)
    }

    fn cluster(&self) -> Result<()> {
        self.gate("cluster barrier", |gpu| gpu.cluster_barrier)
    }

    fn named(&self) -> Result<()> {
        self.gate("named barriers", |gpu| gpu.named_barriers > 0)
    }

    fn id(&self, id: i32) -> Value<'c> {
        self.b.i32(id.cast_unsigned())
    }

    fn half(&self, id: i32) -> Value<'c> {
        self.b
            .int_type(16)
            .int(u64::from((id as i16).cast_unsigned()))
    }

    /// Arrives at the workgroup's barrier.
    pub(crate) fn signal(&self) -> Result<()> {
        self.split()?;
        let id = self.id(WORKGROUP);
        self.b
            .intrinsic("llvm.amdgcn.s.barrier.signal", &[], &[id])?;
        Ok(())
    }

    /// Arrives at the workgroup's barrier and says whether this wave is the first of the phase,
    /// `i1`.
    pub(crate) fn signal_is_first(&self) -> Result<Value<'c>> {
        self.split()?;
        let id = self.id(WORKGROUP);
        self.b
            .intrinsic("llvm.amdgcn.s.barrier.signal.isfirst", &[], &[id])
    }

    /// Waits for the workgroup's barrier.
    pub(crate) fn wait(&self) -> Result<()> {
        self.split()?;
        let id = self.half(WORKGROUP);
        self.b.intrinsic("llvm.amdgcn.s.barrier.wait", &[], &[id])?;
        Ok(())
    }

    /// Arrives at the cluster's barrier for the whole workgroup: one wave of each workgroup may.
    pub(crate) fn cluster_signal(&self) -> Result<()> {
        self.cluster()?;
        let id = self.id(CLUSTER);
        self.b
            .intrinsic("llvm.amdgcn.s.barrier.signal", &[], &[id])?;
        Ok(())
    }

    /// Waits for the cluster's barrier.
    pub(crate) fn cluster_wait(&self) -> Result<()> {
        self.cluster()?;
        let id = self.half(CLUSTER);
        self.b.intrinsic("llvm.amdgcn.s.barrier.wait", &[], &[id])?;
        Ok(())
    }

    /// All waves of all workgroups of the cluster meet: the workgroup meets, its first wave arrives
    /// for it, all wait.
    pub(crate) fn cluster_barrier(&self) -> Result<()> {
        self.cluster()?;
        self.b
            .intrinsic("llvm.amdgcn.s.cluster.barrier", &[], &[])?;
        Ok(())
    }

    /// A named barrier object of the workgroup, which is a global variable of the module and takes
    /// no LDS.
    ///
    /// # Errors
    /// `UnsupportedOnTarget` where the target has none, or the module has taken all that there are.
    pub(crate) fn named_object(&self, name: &str) -> Result<Value<'c>> {
        const TYPE: &str = "amdgcn.named.barrier";
        self.named()?;
        if let Some(global) = ffi::named_global(self.b.module(), name) {
            return Ok(global);
        }
        let ty = ffi::target_type(self.b.context(), TYPE, &[0]);
        let taken = ffi::globals_of_type(self.b.module(), ty);
        self.gate("named barrier left", |gpu| {
            taken < gpu.named_barriers as usize
        })?;
        let global = ffi::add_global(self.b.module(), ty, 3, name);
        global.set_initializer(ty.poison());
        global.set_linkage(Linkage::LLVMInternalLinkage);
        Ok(global)
    }

    /// Sets the number of waves whose arrivals complete a phase (`i32`, uniform, 1 to 63), and that
    /// none has arrived. Once, by one wave, before any other use.
    pub(crate) fn init(&self, object: Value<'c>, members: Value<'c>) -> Result<()> {
        self.named()?;
        self.b
            .intrinsic("llvm.amdgcn.s.barrier.init", &[], &[object, members])?;
        Ok(())
    }

    /// This wave may wait for the object from here on; it leaves the one that it joined before
    /// without dropping it.
    pub(crate) fn join(&self, object: Value<'c>) -> Result<()> {
        self.named()?;
        self.b
            .intrinsic("llvm.amdgcn.s.barrier.join", &[], &[object])?;
        Ok(())
    }

    /// Drops the object that was joined last: its phases need one arrival less.
    pub(crate) fn leave(&self) -> Result<()> {
        self.named()?;
        let unused = self.half(JOINED);
        self.b
            .intrinsic("llvm.amdgcn.s.barrier.leave", &[], &[unused])?;
        Ok(())
    }

    /// Arrives at the object. `members` (`i32`, uniform) above 0 sets the number of arrivals of a
    /// phase first; 0 keeps it.
    pub(crate) fn named_signal(&self, object: Value<'c>, members: Value<'c>) -> Result<()> {
        self.named()?;
        self.b
            .intrinsic("llvm.amdgcn.s.barrier.signal.var", &[], &[object, members])?;
        Ok(())
    }

    /// Waits for the object that was joined last.
    pub(crate) fn named_wait(&self) -> Result<()> {
        self.named()?;
        let id = self.half(JOINED);
        self.b.intrinsic("llvm.amdgcn.s.barrier.wait", &[], &[id])?;
        Ok(())
    }
}
