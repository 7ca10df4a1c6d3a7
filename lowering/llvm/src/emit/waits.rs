//! Explicit waits for counters of outstanding operations, and the barrier without any, on AMDGPU.

use super::Result;
use super::function::FunctionEmitter;
use crate::ffi;
use splitbar_plan::target::{Amdgpu, Counter};

/// How a wait for one counter is written where it is not a field of `s_waitcnt`.
enum Wait {
    /// An intrinsic that takes the count.
    Intrinsic(&'static str),
    /// There is no intrinsic.
    Assembly(&'static str),
    /// It is a field of `s_waitcnt`.
    Field,
}

/// LLVM 23 IntrinsicsAMDGPU. VScnt has no intrinsic; LLVM does not see the instruction and may
/// write a second one.
fn spelling(counter: Counter, gpu: &Amdgpu) -> Wait {
    match counter {
        Counter::Vmcnt | Counter::Lgkmcnt => Wait::Field,
        Counter::Expcnt if gpu.waitcnt.is_some() => Wait::Field,
        Counter::Expcnt => Wait::Intrinsic("llvm.amdgcn.s.wait.expcnt"),
        Counter::Vscnt => Wait::Assembly("s_waitcnt_vscnt null, 0x0"),
        Counter::Loadcnt => Wait::Intrinsic("llvm.amdgcn.s.wait.loadcnt"),
        Counter::Storecnt => Wait::Intrinsic("llvm.amdgcn.s.wait.storecnt"),
        Counter::Dscnt => Wait::Intrinsic("llvm.amdgcn.s.wait.dscnt"),
        Counter::Kmcnt => Wait::Intrinsic("llvm.amdgcn.s.wait.kmcnt"),
        Counter::Samplecnt => Wait::Intrinsic("llvm.amdgcn.s.wait.samplecnt"),
        Counter::Bvhcnt => Wait::Intrinsic("llvm.amdgcn.s.wait.bvhcnt"),
        Counter::Asynccnt => Wait::Intrinsic("llvm.amdgcn.s.wait.asynccnt"),
        Counter::Tensorcnt => Wait::Intrinsic("llvm.amdgcn.s.wait.tensorcnt"),
    }
}

impl FunctionEmitter<'_, '_, '_> {
    /// Waits until each of `counters` is zero. Counters that the GPU lacks have nothing
    /// outstanding.
    pub(super) fn wait_zero(&self, counters: &[Counter], gpu: &Amdgpu) -> Result<()> {
        let b = self.b;
        let here: Vec<Counter> = counters
            .iter()
            .copied()
            .filter(|counter| gpu.most_outstanding(*counter).is_some())
            .collect();
        if let Some(waitcnt) = &gpu.waitcnt
            && here
                .iter()
                .any(|c| matches!(spelling(*c, gpu), Wait::Field))
        {
            b.intrinsic("llvm.amdgcn.s.waitcnt", &[], &[b.i32(waitcnt.zero(&here))])?;
        }
        for counter in here {
            match spelling(counter, gpu) {
                Wait::Field => {}
                Wait::Intrinsic(name) => {
                    b.intrinsic(name, &[], &[b.int_type(16).zero()])?;
                }
                Wait::Assembly(text) => self.assembly(text),
            }
        }
        Ok(())
    }

    /// `s_barrier` in a form in which LLVM's code generator does not see a barrier: it adds no wait
    /// for what is outstanding.
    pub(super) fn bare_barrier(&self) {
        self.assembly("s_barrier");
    }

    fn assembly(&self, text: &str) {
        let ty = ffi::void_type(self.b.context()).function(&[]);
        let call = self
            .b
            .raw()
            .call(ty, ffi::inline_assembly(ty, text, "~{memory}", true), &[]);
        call.set_call_attribute(self.b.context(), "convergent");
    }
}
