//! LLVM's disassembler.

use super::c_name;
use inkwell::llvm_sys::disassembler::{
    LLVMCreateDisasmCPUFeatures, LLVMDisasmContextRef, LLVMDisasmDispose, LLVMDisasmInstruction,
};

unsafe extern "C" {
    /// Makes the AMDGPU disassembler known to LLVM; called once, after the target itself is
    /// initialised. llvm-c/Target.h makes its name of the target's; llvm-sys leaves it out.
    pub(crate) safe fn LLVMInitializeAMDGPUDisassembler();
}

/// A disassembler for one processor.
pub(crate) struct Disassembler(LLVMDisasmContextRef);

impl Disassembler {
    /// The disassembler of a target that was initialised with one; `None` when LLVM has none for
    /// it.
    pub(crate) fn new(triple: &str, cpu: &str, features: &str) -> Option<Disassembler> {
        let (triple, cpu, features) = (c_name(triple), c_name(cpu), c_name(features));
        // SAFETY: strings that end with zero, which LLVM copies; no symbol look-up, so no context
        // for one either.
        let raw = unsafe {
            LLVMCreateDisasmCPUFeatures(
                triple.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                std::ptr::null_mut(),
                0,
                None,
                None,
            )
        };
        (!raw.is_null()).then_some(Disassembler(raw))
    }

    /// The instruction at the beginning of `bytes`, which lie at `address`: its length and its
    /// text. `None` when there is none.
    pub(crate) fn instruction(&self, bytes: &mut [u8], address: u64) -> Option<(usize, String)> {
        let mut text = [0u8; 512];
        // SAFETY: a live context; LLVM reads `bytes` within their length and writes at most the
        // given number of characters, a zero included.
        let length = unsafe {
            LLVMDisasmInstruction(
                self.0,
                bytes.as_mut_ptr(),
                bytes.len() as u64,
                address,
                text.as_mut_ptr().cast(),
                text.len(),
            )
        };
        let end = text.iter().position(|c| *c == 0)?;
        let text = String::from_utf8_lossy(text.get(..end)?);
        (length > 0).then(|| (length, text.trim().to_owned()))
    }
}

impl Drop for Disassembler {
    fn drop(&mut self) {
        // SAFETY: the context is live, and nobody uses it again.
        unsafe { LLVMDisasmDispose(self.0) }
    }
}
