//! The back end of a build without LLVM: it refuses what needs code.

use crate::llvm_missing::llvm_missing;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_plan::backend::{
    Backend, Disassembled, Fork, IrModule, Lower, LowerInput, LoweredModule,
};
use splitbar_plan::{Optimization, Target};
use std::io;

/// No LLVM.
pub(crate) struct WithoutLlvm;

impl Lower for WithoutLlvm {
    fn lower(&self, _: &LowerInput<'_>) -> Result<Box<dyn LoweredModule>, Diagnostics> {
        Err(llvm_missing("code").into())
    }

    fn translate(&self, _: &LowerInput<'_>) -> Result<Vec<u8>, Diagnostics> {
        Err(llvm_missing("bitcode").into())
    }
}

impl Backend for WithoutLlvm {
    fn version(&self) -> Option<String> {
        None
    }

    fn text(&self, _: &[u8]) -> String {
        String::new() // there is no bitcode
    }

    fn read_ir(
        &self,
        _: &[u8],
        _: &'static Target,
        _: Option<[u32; 3]>,
    ) -> Result<Option<Box<dyn IrModule>>, Diagnostics> {
        Err(llvm_missing("reading LLVM IR").into())
    }

    fn unchanged_ir(
        &self,
        _: &[u8],
        _: &'static Target,
        _: Optimization,
    ) -> Result<Box<dyn LoweredModule>, Diagnostics> {
        Err(llvm_missing("reading LLVM IR").into())
    }

    fn disassemble(
        &self,
        _: &Target,
        _: u32,
        _: &[u8],
        _: u64,
    ) -> Result<Vec<Disassembled>, Diagnostics> {
        Err(llvm_missing("reading machine code").into())
    }

    fn fork(&self) -> io::Result<Fork> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn end_with_llvm(&self) {}

    fn report_passes(&self, _: &'static str) {}
}
