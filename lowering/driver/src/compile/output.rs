//! The result of a compilation.

use super::annotations::{annotations, comments};
use super::entry::Entry;
use super::lower::Code as Lowered;
use super::measure::Measured;
use super::places::PlanPlaces;
use super::reasons::Reasons;
use super::reflect;
use super::request::Request;
use crate::annotate::{Annotations, KernelComments};
use crate::failure::Failure;
use crate::link;
use crate::options::Options;
use crate::ptxas;
use crate::refusal;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_plan::Target;
use splitbar_plan::backend::LoweredModule;
use splitbar_plan::target::Arch;
use std::path::PathBuf;

/// A compiled module. Code is generated when it is asked for.
pub struct Output {
    pub(crate) target: &'static Target,
    entries: Vec<Entry>,
    lowered: Box<dyn LoweredModule>,
    /// The final assembly that was measured.
    #[cfg_attr(
        not(feature = "llvm"),
        expect(dead_code, reason = "nothing is measured")
    )]
    measured: Option<String>,
    ptxas: Option<PathBuf>,
    lld: Option<PathBuf>,
    /// True if the assembly may have debug lines.
    #[cfg_attr(
        not(any(feature = "llvm", feature = "sim")),
        expect(dead_code, reason = "only the simulator asks")
    )]
    pub(crate) lines: bool,
    /// What did not stop the compilation; until the output is accepted, what the audit finds wrong
    /// as well.
    pub(crate) warnings: Diagnostics,
    /// True if others wrote its module for LLVM.
    is_ir: bool,
    /// The places of its code, if its assembly is to have them.
    annotations: Option<Annotations>,
    /// Why it is this version.
    pub(super) reasons: Reasons,
}

impl Output {
    /// What came of `code`, with what was `measured` of its kernels.
    pub(super) fn new(code: Lowered<'_, '_>, measured: Measured, request: Request<'_>) -> Output {
        let Measured {
            facts,
            found,
            assembly,
        } = measured;
        let Lowered {
            candidate, lowered, ..
        } = code;
        let mut problems = candidate.problems;
        problems.add(found);
        let module = candidate.prepared.module;
        let kernels = candidate.kernels.into_iter().zip(facts);
        let entries = kernels
            .zip(lowered.kernels())
            .map(|((kernel, facts), abi)| Entry {
                windows: facts.windows,
                machine_windows: facts.machine_windows,
                usage: facts.usage,
                resident: facts.resident,
                resident_between: facts.resident_between,
                resident_estimate: facts.resident_estimate,
                audit: facts.audit.map(|mut audit| {
                    if !request.is_ir {
                        audit.map_words(&|word| problems.source_word(word));
                    }
                    audit
                }),
                ..Entry::planned(kernel, abi.clone(), &problems)
            });
        let mut entries: Vec<Entry> = entries.collect();
        if request.is_ir {
            // Words of the skeleton lead nowhere.
            for entry in &mut entries {
                entry.places = PlanPlaces::default();
            }
        }
        let annotations = if request.is_ir {
            None
        } else {
            annotations(request.options, module.declarations(), &problems, &entries)
        };
        Output {
            annotations,
            entries,
            measured: assembly,
            warnings: problems.take_all(),
            ..Output::unchanged(lowered, request.is_ir, request.options)
        }
    }

    /// A module without kernels of ours.
    pub(crate) fn unchanged(
        lowered: Box<dyn LoweredModule>,
        is_ir: bool,
        options: &Options,
    ) -> Output {
        Output {
            is_ir,
            target: options.target,
            entries: Vec::new(),
            lowered,
            measured: None,
            ptxas: options.ptxas.clone(),
            lld: options.lld.clone(),
            lines: options.lines,
            annotations: None,
            warnings: Diagnostics::new(),
            reasons: Reasons::default(),
        }
    }

    /// Why this version of the module was taken.
    pub fn reasons(&self) -> &Reasons {
        &self.reasons
    }

    /// The output, if the audit finds nothing wrong.
    ///
    /// # Errors
    /// All problems, warnings included.
    pub(super) fn accept(self) -> Result<Output, Failure> {
        if self.warnings.has_errors() {
            Err(self.warnings.into())
        } else {
            Ok(self)
        }
    }

    /// The entry points, to be changed.
    pub(super) fn entries_mut(&mut self) -> &mut [Entry] {
        &mut self.entries
    }

    /// The entry points, in the module's order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The warnings of the compilation.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The plan of every entry point, with the windows where they were measured.
    pub fn plan(&self) -> String {
        let plans = self.entries.iter().map(Entry::plan_text);
        plans.collect::<Vec<_>>().join("\n")
    }

    /// The reflection: a JSON array with one object per entry point.
    pub fn reflect(&self) -> String {
        reflect::json(&self.entries, self.target)
    }

    /// LLVM IR as text, optimised.
    pub fn ir(&self) -> String {
        self.lowered.ir()
    }

    /// LLVM IR as bitcode, optimised.
    pub fn bitcode(&self) -> Vec<u8> {
        self.lowered.bitcode()
    }

    /// Assembly: GCN or PTX.
    ///
    /// # Errors
    /// `LlvmFailed`.
    pub fn assembly(&self) -> Result<String, Diagnostics> {
        let text = self.lowered.assembly();
        let text = text.map_err(|refused| self.of_ir(refused))?;
        let Some(annotations) = &self.annotations else {
            return Ok(text);
        };
        let lined = self.lowered.lined_assembly()?;
        let comments: Vec<KernelComments> = self.entries.iter().map(comments).collect();
        Ok(annotations.apply(&text, &lined, &self.target.arch, &comments))
    }

    /// A relocatable ELF object (AMDGPU).
    ///
    /// # Errors
    /// `UnsupportedOnTarget` for NVPTX, whose objects only NVIDIA's own assembler makes;
    /// `LlvmFailed`.
    pub fn object(&self) -> Result<Vec<u8>, Diagnostics> {
        self.only_amdgpu("object")?;
        if self.has_debug_info() {
            return self.lowered.assemble(self.assembly()?);
        }
        self.lowered.object().map_err(|refused| self.of_ir(refused))
    }

    /// The object of the assembly that was measured; for NVPTX its text.
    #[cfg(feature = "llvm")]
    pub(crate) fn measured_object(&self) -> Result<Vec<u8>, Diagnostics> {
        let text = match &self.measured {
            Some(text) => text.clone(),
            None => self.lowered.lined_assembly()?,
        };
        self.lowered.assemble(text)
    }

    /// Returns true if the assembly has debug information that leads to the source.
    fn has_debug_info(&self) -> bool {
        let annotations = self.annotations.as_ref();
        annotations.is_some_and(|annotations| annotations.additions.debug_info)
    }

    /// A code object that the ROCm loader takes (AMDGPU). Runs a linker.
    ///
    /// # Errors
    /// As [`Output::object`], and `LinkerMissing`, `LinkerFailed`, `ToolFailed`.
    pub fn hsaco(&self) -> Result<Vec<u8>, Diagnostics> {
        self.only_amdgpu("code object")?;
        link::code_object(&self.object()?, self.lld.as_deref())
            .map_err(|refused| self.of_ir(refused))
    }

    /// Machine code in NVIDIA's container (NVPTX). Runs ptxas.
    ///
    /// # Errors
    /// `UnsupportedOnTarget` for AMDGPU; `LlvmFailed`, `AssemblerMissing`, `AssemblerFailed`,
    /// `ToolFailed`.
    pub fn cubin(&self) -> Result<Vec<u8>, Diagnostics> {
        match self.target.arch {
            Arch::Nvptx(_) => ptxas::cubin(
                &self.assembly()?,
                self.target,
                self.ptxas.as_deref(),
                self.has_debug_info(),
            )
            .map_err(|refused| self.of_ir(refused)),
            Arch::Amdgpu(_) => Err(Diagnostic::error(
                Code::UnsupportedOnTarget,
                format!("there is no cubin for {}", self.target.name),
            )
            .because("cubins are for NVIDIA GPUs")
            .help("use `Output::hsaco`")
            .into()),
        }
    }

    /// What is refused, if others wrote the module for LLVM, is no bug.
    fn of_ir(&self, refused: Diagnostics) -> Diagnostics {
        if self.is_ir {
            refusal::of_foreign_ir(refused)
        } else {
            refused
        }
    }

    fn only_amdgpu(&self, what: &str) -> Result<(), Diagnostics> {
        match self.target.arch {
            Arch::Amdgpu(_) => Ok(()),
            Arch::Nvptx(_) => Err(Diagnostic::error(Code::UnsupportedOnTarget, format!("there is no {what} for {}", self.target.name))
                .because("LLVM makes PTX for NVIDIA GPUs; machine code comes from NVIDIA's ptxas or from the driver")
                .help("use `Output::cubin` where ptxas is installed, or `Output::assembly` and load the PTX as it is")
                .into()),
        }
    }
}
