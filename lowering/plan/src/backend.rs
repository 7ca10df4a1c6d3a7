//! The interface between the driver and the back end that lowers planned kernels. A build has one
//! implementation: LLVM's, or one that refuses everything that needs code.

use crate::faults::Guards;
use crate::{EntryPlan, Optimization, Target};
use splitbar_layout::Kernel;
use splitbar_layout::abi::{AbiForm, KernelAbi};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::transform::SourceMap;
use splitbar_passes::validate::Checked;
use std::{fmt, io};

/// The code of a compilation that carries debug lines.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum DebugLines {
    /// None does.
    #[default]
    None,
    /// Only that of [`LoweredModule::lined_assembly`].
    Separate,
    /// All of it.
    All,
}

/// The windows to widen in final code, on GPUs with split barriers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LateWindows {
    /// Those of full barriers too, not of pairs alone.
    pub full_barriers: bool,
    /// Assumes that every barrier orders all memory, whatever its fences are.
    pub all_memory: bool,
}

/// A kernel and its barrier plan.
#[derive(Copy, Clone, Debug)]
pub struct LowerKernel<'m> {
    /// The kernel.
    pub kernel: &'m Kernel<'m>,
    /// Its plan.
    pub plan: &'m EntryPlan,
}

/// The input of a lowering.
#[derive(Copy, Clone, Debug)]
pub struct LowerInput<'m> {
    /// The module, checked or waived, with its constants under the specialization that is wanted.
    pub module: Checked<'m>,
    /// For which target.
    pub target: &'static Target,
    /// The entry points that become kernels, in the module's order.
    pub kernels: &'m [LowerKernel<'m>],
    /// The code that carries debug lines. A line is the word offset of the SPIR-V instruction plus
    /// one.
    pub lines: DebugLines,
    /// The source map of the declarations' module, if a pass has written it: lines then count the
    /// words of the module before the pass.
    pub source_map: Option<&'m SourceMap>,
    /// LLVM's optimisation level.
    pub optimization: Optimization,
    /// The binary interface for buffers and images.
    pub abi: &'m AbiForm,
    /// The windows to widen in final code; `None` widens none.
    pub late_windows: Option<LateWindows>,
    /// Rounds divisions and square roots of 32 and 16 bits correctly, where the environment would
    /// be content with less.
    pub correctly_rounded: bool,
    /// Leaves barriers as calls of functions that nothing defines, and writes no steps.
    pub calls: bool,
    /// The guards against faults of LLVM.
    pub guards: Guards,
}

impl<'m> LowerInput<'m> {
    /// The plans of the kernels, in their order.
    pub fn plans(&self) -> impl Iterator<Item = &'m EntryPlan> + Clone {
        self.kernels.iter().map(|kernel| kernel.plan)
    }
}

/// Lowers planned kernels: their SPIR-V bodies, or those of a module in LLVM IR whose barriers
/// were planned ([`IrModule`]).
pub trait Lower {
    /// Lowers the kernels into one module and optimises it.
    ///
    /// # Errors
    /// Everything that is not lowered, each with its place (`UnsupportedInstruction`,
    /// `UnsupportedType`, ...), what LLVM refused (`LlvmFailed`), or that there is no LLVM
    /// (`LlvmMissing`).
    fn lower(&self, input: &LowerInput<'_>) -> Result<Box<dyn LoweredModule>, Diagnostics>;

    /// Lowers the kernels and gives the bitcode as it was written: nothing is linked, optimised or
    /// expanded.
    ///
    /// # Errors
    /// As [`Lower::lower`].
    fn translate(&self, input: &LowerInput<'_>) -> Result<Vec<u8>, Diagnostics>;
}

/// A lowered module: verified LLVM IR that the mid-level optimiser has been over.
pub trait LoweredModule: fmt::Debug + Send + Sync {
    /// The final LLVM IR as text.
    fn ir(&self) -> String;

    /// The final LLVM IR as bitcode.
    fn bitcode(&self) -> Vec<u8>;

    /// Assembly: AMDGPU assembly or PTX.
    ///
    /// # Errors
    /// `LlvmFailed` with LLVM's reason.
    fn assembly(&self) -> Result<String, Diagnostics>;

    /// The assembly with debug lines, if [`LowerInput::lines`] asked for them, and with LLVM's
    /// comments: for AMD GPUs these alone say where inlined code was inlined.
    ///
    /// # Errors
    /// `LlvmFailed` with LLVM's reason.
    fn lined_assembly(&self) -> Result<String, Diagnostics>;

    /// A relocatable AMDGPU ELF object; for NVPTX the PTX text, which is what drivers and ptxas
    /// take.
    ///
    /// # Errors
    /// `LlvmFailed` with LLVM's reason.
    fn object(&self) -> Result<Vec<u8>, Diagnostics>;

    /// The object of assembly with the module's code, such as [`LoweredModule::lined_assembly`];
    /// for NVPTX the text itself.
    ///
    /// # Errors
    /// `LlvmFailed` with LLVM's reason.
    fn assemble(&self, text: String) -> Result<Vec<u8>, Diagnostics>;

    /// Returns true if the code of the kernel with this symbol writes anything that others can see.
    fn has_effects(&self, symbol: &str) -> bool;

    /// Returns true if windows are widened in final code.
    fn has_late_windows(&self) -> bool;

    /// The same with final code as LLVM makes it.
    fn without_late_windows(&self) -> Box<dyn LoweredModule>;

    /// The binary interface of each kernel, in the order of the input's.
    fn kernels(&self) -> &[KernelAbi];
}

/// An LLVM module whose kernels call split barriers.
pub trait IrModule: Lower {
    /// The lowering that puts the steps of the plans into its kernels.
    fn as_lower(&self) -> &dyn Lower;

    /// A SPIR-V module with the control flow of the kernels, their barriers, and what decides which
    /// way invocations go. Its entry points have the kernels' names.
    fn skeleton(&self) -> &[u8];

    /// Names the instructions of the LLVM module in place of words of the skeleton.
    fn relocate(&self, diagnostics: &mut Diagnostics);
}

/// An instruction of machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disassembled {
    /// Bytes from the beginning of the code.
    pub offset: usize,
    /// Bytes that it takes.
    pub length: usize,
    /// As LLVM's disassembler prints it. Bytes that are no instruction are `.long` and their value.
    pub text: String,
}

/// The side of a fork: parent or child.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Fork {
    /// The one that was there before, and the number of the copy.
    Owner(u32),
    /// The copy.
    Copy,
}

/// A back end.
pub trait Backend: Lower + Sync {
    /// The release of LLVM, such as `23.1.1`; `None` in a build without it.
    fn version(&self) -> Option<String>;

    /// Bitcode that this back end wrote, as text; if LLVM could not read it back, its reason as a
    /// comment.
    fn text(&self, bitcode: &[u8]) -> String;

    /// Reads bitcode or the text of a module for `target`; `workgroup_size` is that of kernels that
    /// do not say it. `None` where no function calls a barrier: there is nothing to do then.
    ///
    /// # Errors
    /// `UnreadableIr` for what LLVM cannot read or verify, `ForeignIr` for a module that was made
    /// for another target, what the calls of barriers ask and the module does not have, and
    /// `LlvmMissing`.
    fn read_ir(
        &self,
        bytes: &[u8],
        target: &'static Target,
        workgroup_size: Option<[u32; 3]>,
    ) -> Result<Option<Box<dyn IrModule>>, Diagnostics>;

    /// A module in LLVM IR that calls no barriers, as it is.
    ///
    /// # Errors
    /// As [`Backend::read_ir`].
    fn unchanged_ir(
        &self,
        bytes: &[u8],
        target: &'static Target,
        optimization: Optimization,
    ) -> Result<Box<dyn LoweredModule>, Diagnostics>;

    /// Disassembles AMDGPU machine code that lies at `address`. `wave_size` is that of the kernel
    /// (it decides how masks are printed).
    ///
    /// # Errors
    /// `LlvmFailed`, and `LlvmMissing`.
    fn disassemble(
        &self,
        target: &Target,
        wave_size: u32,
        code: &[u8],
        address: u64,
    ) -> Result<Vec<Disassembled>, Diagnostics>;

    /// Copies this process. The copy has its memory and its open files.
    ///
    /// # Errors
    /// `Unsupported` where the system cannot do it, where this process has other threads, and in a
    /// build without LLVM, whose start takes no time.
    fn fork(&self) -> io::Result<Fork>;

    /// From now on this process ends where LLVM gives up, instead of losing a thread: for processes
    /// whose owner starts others.
    fn end_with_llvm(&self);

    /// Lets LLVM say on the standard error which pass begins, whenever one does on a module that is
    /// not small; the line `no_pass` says that all have ended. It sets options of LLVM that hold
    /// for the process: it is for processes that compile one module after the other, and nothing
    /// else.
    fn report_passes(&self, no_pass: &'static str);
}
