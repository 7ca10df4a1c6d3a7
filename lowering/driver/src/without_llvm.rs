//! What stands in for `splitbar_llvm` in a build without it: the same names, and `LlvmMissing` for
//! everything that would make or read machine code.

use crate::llvm_missing::llvm_missing;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::transform::Origin;
use splitbar_passes::validate::Checked;
use splitbar_plan::faults::Guards;
use splitbar_plan::{EntryPlan, Optimization, Target};
use splitbar_typed::Kernel;
use splitbar_typed::abi::{AbiForm, KernelAbi};
use std::convert::Infallible;

/// The release of LLVM: none.
pub(crate) fn version() -> Option<String> {
    None
}

/// Which of two processes this is.
#[expect(dead_code, reason = "no process is copied here")]
pub(crate) enum Fork {
    /// The one that was there before.
    Owner(u32),
    /// The copy.
    Copy,
}

/// Refuses to copy this process: its start takes no time.
pub(crate) fn fork() -> std::io::Result<Fork> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Nothing gives up here.
pub(crate) fn end_with_llvm() {}

/// Which code would carry debug lines.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Lines {
    /// None.
    None,
    /// That of [`Lowered::lined_assembly`] alone.
    Beside,
    /// All of it.
    All,
}

/// What would be lowered.
#[expect(dead_code, reason = "nobody reads it here")]
pub(crate) struct Lowering<'m> {
    pub(crate) module: Checked<'m>,
    pub(crate) target: &'static Target,
    pub(crate) kernels: &'m [Kernel<'m>],
    pub(crate) plans: &'m [EntryPlan],
    pub(crate) abi: &'m AbiForm,
    pub(crate) lines: Lines,
    pub(crate) origin: Option<&'m Origin>,
    pub(crate) optimization: Optimization,
    pub(crate) late_windows: Option<LateWindows>,
    pub(crate) ir: Option<&'m ir::IrModule>,
    pub(crate) correctly_rounded: bool,
    pub(crate) calls: bool,
    pub(crate) guards: Guards,
}

/// Which windows would be widened.
#[expect(dead_code, reason = "nobody reads it here")]
pub(crate) struct LateWindows {
    pub(crate) full_barriers: bool,
    pub(crate) all_memory: bool,
}

/// LLVM IR, which is not read.
pub(crate) mod ir {
    use super::{Lowered, llvm_missing};
    use splitbar_passes::diagnostic::Diagnostics;
    use splitbar_plan::{Optimization, Target};
    use std::convert::Infallible;

    /// A module. There is none.
    #[derive(Debug)]
    pub(crate) struct IrModule {
        never: Infallible,
    }

    impl IrModule {
        pub(crate) fn read(
            _: &[u8],
            _: &'static Target,
            _: Option<[u32; 3]>,
        ) -> Result<Option<IrModule>, Diagnostics> {
            Err(llvm_missing("reading LLVM IR").into())
        }

        pub(crate) fn skeleton(&self) -> &[u8] {
            match self.never {}
        }

        pub(crate) fn relocate(&self, _: &mut Diagnostics) {
            match self.never {}
        }
    }

    /// Reads nothing.
    pub(crate) fn unchanged(
        _: &[u8],
        _: &'static Target,
        _: Optimization,
    ) -> Result<Lowered, Diagnostics> {
        Err(llvm_missing("reading LLVM IR").into())
    }
}

/// A lowered module. There is none.
pub(crate) struct Lowered {
    never: Infallible,
}

/// An instruction of machine code. There is none.
pub(crate) struct Disassembled {
    pub(crate) offset: usize,
    pub(crate) length: usize,
    pub(crate) text: String,
}

/// Lowers nothing.
pub(crate) fn lower(_: &Lowering<'_>) -> Result<Lowered, Diagnostics> {
    Err(llvm_missing("code").into())
}

/// Translates nothing.
pub(crate) fn translate(_: &Lowering<'_>) -> Result<Vec<u8>, Diagnostics> {
    Err(llvm_missing("bitcode").into())
}

/// Prints nothing: there is no bitcode.
pub(crate) fn text(_: &[u8]) -> String {
    String::new()
}

/// Disassembles nothing.
pub(crate) fn disassemble(
    _: &Target,
    _: u32,
    _: &[u8],
    _: u64,
) -> Result<Vec<Disassembled>, Diagnostics> {
    Err(llvm_missing("reading machine code").into())
}

/// No pass runs that could be reported.
pub(crate) fn report_passes(_: &'static str) {}

impl Lowered {
    pub(crate) fn ir(&self) -> String {
        match self.never {}
    }

    pub(crate) fn bitcode(&self) -> Vec<u8> {
        match self.never {}
    }

    pub(crate) fn assembly(&self) -> Result<String, Diagnostics> {
        match self.never {}
    }

    pub(crate) fn lined_assembly(&self) -> Result<String, Diagnostics> {
        match self.never {}
    }

    pub(crate) fn has_effects(&self, _symbol: &str) -> bool {
        match self.never {}
    }

    pub(crate) fn has_late_windows(&self) -> bool {
        match self.never {}
    }

    pub(crate) fn without_late_windows(&self) -> Lowered {
        match self.never {}
    }

    pub(crate) fn object(&self) -> Result<Vec<u8>, Diagnostics> {
        match self.never {}
    }

    pub(crate) fn kernels(&self) -> &[KernelAbi] {
        match self.never {}
    }
}
