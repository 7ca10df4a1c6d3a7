//! What a compilation gives.

use crate::ir;
use crate::link;
use crate::llvm::Lowered;
use crate::ptxas;
use crate::reflect;
use crate::split::Moved;
use crate::usage::{Resident, Usage};
use crate::weigh::{Weighed, Written};
use crate::window::Window;
use splitbar_audit::verdict::Audit;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_plan::target::Arch;
use splitbar_plan::{EntryPlan, Target};
use splitbar_typed::abi::KernelAbi;
use std::fmt::Write;
use std::path::PathBuf;

/// One compiled entry point.
#[derive(Clone, Debug)]
pub struct Entry {
    /// How its barriers were lowered.
    pub plan: EntryPlan,
    /// How it is launched.
    pub abi: KernelAbi,
    /// What is left of each pair's window, in the order of the plan's pairs; `None` when it was not
    /// measured.
    pub windows: Option<Vec<Window>>,
    /// The same in NVIDIA's machine code, after ptxas; `None` too where ptxas or nvdisasm is not
    /// installed, and for AMD GPUs, whose assembly is final.
    pub machine_windows: Option<Vec<Window>>,
    /// What the kernel takes of a compute unit or a multiprocessor; `None` when it was not
    /// measured, and on NVIDIA GPUs where ptxas is not installed.
    pub usage: Option<Usage>,
    /// What a compute unit or a multiprocessor holds of it at once, where `usage` says what it
    /// takes.
    pub resident: Option<Resident>,
    /// How many workgroups that are at least, and at most, on NVIDIA GPUs where ptxas is not
    /// installed; `None` too where the kernel calls functions or has local memory.
    pub resident_between: Option<[u32; 2]>,
    /// The audit of waits, caches and fences; `None` when it was not asked for.
    pub audit: Option<Audit>,
    /// What led to the choice among strategies; `None` where none was to be made.
    pub weighed: Option<Weighed>,
    /// What became of its barriers, and of pairs that people wrote, when barriers were split.
    pub moves: Vec<Moved>,
    /// The plan's pairs, as the given module has them.
    pub(crate) written: Vec<Written>,
}

/// A compiled module. Code is generated when it is asked for.
pub struct Output {
    pub(crate) target: &'static Target,
    pub(crate) entries: Vec<Entry>,
    pub(crate) lowered: Lowered,
    pub(crate) ptxas: Option<PathBuf>,
    pub(crate) lld: Option<PathBuf>,
    /// Whether the assembly may have debug lines.
    #[cfg_attr(
        not(feature = "sim"),
        expect(dead_code, reason = "only the simulator asks")
    )]
    pub(crate) lines: bool,
    pub(crate) warnings: Diagnostics,
    /// True if others wrote its module for LLVM.
    pub(crate) is_ir: bool,
}

impl Output {
    /// The entry points, in the module's order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What did not stop the compilation but should be looked at.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The plan of every entry point, with the windows where they were measured.
    pub fn plan(&self) -> String {
        let plans: Vec<EntryPlan> = self
            .entries
            .iter()
            .map(|entry| entry.plan.clone())
            .collect();
        let windows: Vec<Option<&[Window]>> = self
            .entries
            .iter()
            .map(|entry| entry.windows.as_deref())
            .collect();
        let weighed: Vec<Option<Weighed>> = self
            .entries
            .iter()
            .map(|entry| entry.weighed.clone())
            .collect();
        let moves = self.entries.iter().map(|entry| entry.moves.clone());
        let moves: Vec<Vec<Moved>> = moves.collect();
        plan_text(&plans, Some(&windows), &weighed, &moves)
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
        self.lowered
            .assembly()
            .map_err(|refused| self.of_ir(refused))
    }

    /// A relocatable ELF object (AMDGPU).
    ///
    /// # Errors
    /// `UnsupportedOnTarget` for NVPTX, whose objects only NVIDIA's own assembler makes;
    /// `LlvmFailed`.
    pub fn object(&self) -> Result<Vec<u8>, Diagnostics> {
        self.only_amdgpu("object")?;
        self.lowered.object().map_err(|refused| self.of_ir(refused))
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
            Arch::Nvptx(_) => ptxas::cubin(&self.assembly()?, self.target, self.ptxas.as_deref())
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
        match self.is_ir {
            true => ir::refused_all(refused),
            false => refused,
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

/// Plans as text, one after the other, each with a line per measured window and one per barrier
/// that something was chosen for.
pub(crate) fn plan_text(
    plans: &[EntryPlan],
    windows: Option<&[Option<&[Window]>]>,
    weighed: &[Option<Weighed>],
    moves: &[Vec<Moved>],
) -> String {
    let mut text = String::new();
    for (position, plan) in plans.iter().enumerate() {
        if position > 0 {
            text.push('\n');
        }
        let _ = write!(text, "{plan}");
        let measured = windows
            .and_then(|windows| windows.get(position).copied().flatten())
            .unwrap_or(&[]);
        for (pair, window) in plan.pairs.iter().zip(measured) {
            let _ = writeln!(
                text,
                "  window of pair {}: {} of {} instructions kept",
                pair.id.0, window.kept, window.source
            );
        }
        for moved in moves.get(position).into_iter().flatten() {
            let outcome = match moved.split {
                true => "split",
                false => "not split, the window is too narrow",
            };
            let _ = writeln!(
                text,
                "  barrier at word {}: {outcome}, {} operations in the window; the arrive is stopped by {}, the wait by {}",
                moved.word, moved.operations, moved.arrive, moved.wait
            );
        }
        let weighed = weighed.get(position).and_then(Option::as_ref);
        let said: Vec<&str> = plan.pairs.iter().map(|pair| pair.reason.as_str()).collect();
        for line in weighed
            .map(|weighed| weighed.lines(&said))
            .unwrap_or_default()
        {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}
