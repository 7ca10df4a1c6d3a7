//! A lowered module: verified IR, and final code on demand.

use crate::printed::text;
use crate::{assemble, codegen};
use inkwell::targets::FileType;
use splitbar_assembly::amdgpu::dual_issue;
use splitbar_assembly::amdgpu::late_windows::{Ordered, widen};
use splitbar_layout::abi::KernelAbi;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_plan::backend::LoweredModule;
use splitbar_plan::target::Arch;
use splitbar_plan::{Optimization, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// A lowered module.
#[derive(Clone, Debug)]
pub(crate) struct Lowered {
    #[cfg(test)]
    pub(crate) unoptimized: Vec<u8>,
    pub(crate) bitcode: Vec<u8>,
    /// The assembly of the chosen schedule; `None` if there was nothing to choose.
    pub(crate) assembly: Option<String>,
    /// The assembly of `bitcode` before windows are widened, if it has been generated since.
    pub(crate) generated: OnceLock<String>,
    /// The same code with debug lines, where `bitcode` has none.
    pub(crate) lined: Option<Vec<u8>>,
    /// The assembly of that, where it has been generated already, before windows are widened.
    pub(crate) lined_assembly: OnceLock<String>,
    pub(crate) kernels: Vec<KernelAbi>,
    pub(crate) target: &'static Target,
    pub(crate) optimization: Optimization,
    /// Features of the kernels besides the target's own.
    pub(crate) features: Option<String>,
    /// The kernels whose windows are widened in final code, by symbol.
    pub(crate) widened: BTreeMap<String, Ordered>,
    /// The kernels whose code leaves nothing that others can see, by symbol.
    pub(crate) idle: BTreeSet<String>,
}

impl Lowered {
    /// A module that somebody else wrote, without kernels of ours.
    pub(crate) fn of_bitcode(
        bitcode: Vec<u8>,
        target: &'static Target,
        optimization: Optimization,
    ) -> Lowered {
        Lowered {
            #[cfg(test)]
            unoptimized: bitcode.clone(),
            bitcode,
            assembly: None,
            generated: OnceLock::new(),
            lined: None,
            lined_assembly: OnceLock::new(),
            kernels: Vec::new(),
            target,
            optimization,
            features: None,
            widened: BTreeMap::new(),
            idle: BTreeSet::new(),
        }
    }

    /// The LLVM IR as it was written, before the mid-level optimiser and with the NVPTX barriers as
    /// calls, as text.
    #[cfg(test)]
    pub(crate) fn unoptimized(&self) -> String {
        text(&self.unoptimized)
    }

    /// The assembly of `bitcode`, before windows are widened.
    fn assembly_of(&self, bitcode: &[u8], comments: bool) -> Result<String, Diagnostics> {
        codegen::assembly(bitcode, self.target, self.optimization, comments)
    }

    /// Returns true if the assembly has been generated.
    fn has_assembly(&self) -> bool {
        self.assembly.is_some() || self.generated.get().is_some()
    }

    /// Assembly with its windows widened.
    fn widened(&self, text: String) -> String {
        if self.widened.is_empty() {
            text
        } else {
            widen(&text, self.target, &self.widened).into_owned()
        }
    }

    /// The object as LLVM makes it of the bitcode.
    pub(crate) fn generated_object(&self) -> Result<Vec<u8>, Diagnostics> {
        let file = FileType::Object;
        codegen::generate(&self.bitcode, self.target, self.optimization, file, false)
    }
}

impl LoweredModule for Lowered {
    fn ir(&self) -> String {
        text(&self.bitcode)
    }

    fn bitcode(&self) -> Vec<u8> {
        self.bitcode.clone()
    }

    fn assembly(&self) -> Result<String, Diagnostics> {
        let text = match self.assembly.as_ref().or_else(|| self.generated.get()) {
            Some(text) => text.clone(),
            None => {
                let text = self.assembly_of(&self.bitcode, false)?;
                self.generated.get_or_init(|| text).clone()
            }
        };
        Ok(self.widened(text))
    }

    fn lined_assembly(&self) -> Result<String, Diagnostics> {
        let text = match self.lined_assembly.get() {
            Some(text) => text.clone(),
            None => {
                let lined = self.lined.as_ref().unwrap_or(&self.bitcode);
                let text = self.assembly_of(lined, true)?;
                self.lined_assembly.get_or_init(|| text).clone()
            }
        };
        Ok(self.widened(text))
    }

    fn assemble(&self, text: String) -> Result<Vec<u8>, Diagnostics> {
        let features = self.features.as_deref();
        match self.target.arch {
            Arch::Amdgpu(_) => assemble::assemble(&text, self.target, features, self.optimization),
            Arch::Nvptx(_) => Ok(text.into_bytes()),
        }
    }

    fn has_effects(&self, symbol: &str) -> bool {
        !self.idle.contains(symbol)
    }

    fn has_late_windows(&self) -> bool {
        !self.widened.is_empty()
    }

    fn without_late_windows(&self) -> Box<dyn LoweredModule> {
        Box::new(Lowered {
            widened: BTreeMap::new(),
            ..self.clone()
        })
    }

    fn object(&self) -> Result<Vec<u8>, Diagnostics> {
        match self.target.arch {
            // Windows are widened and pairs separated in the text. Assembling a text takes less
            // time than generating the code again, and LLVM does not always generate the same code
            // (docs/code_generation.md).
            Arch::Amdgpu(_)
                if self.has_late_windows()
                    || self.has_assembly()
                    || dual_issue::is_affected(self.target) =>
            {
                self.assemble(self.assembly()?)
            }
            Arch::Amdgpu(_) => self.generated_object(),
            Arch::Nvptx(_) => self.assembly().map(String::into_bytes),
        }
    }

    fn kernels(&self) -> &[KernelAbi] {
        &self.kernels
    }
}
