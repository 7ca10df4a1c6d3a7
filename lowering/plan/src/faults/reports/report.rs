//! The contents of a report on a fault.

/// A folder of the collection FuzzX (<https://github.com/SemiAnalysisAI/FuzzX>).
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Folder {
    /// `amdgpu`: LLVM's code generator for AMD GPUs.
    Amdgpu,
    /// `x86`: x86, and what LLVM does for all targets.
    X86,
    /// `ptx`: NVIDIA's assembler ptxas.
    Ptx,
}

impl Folder {
    /// The name of the folder.
    pub fn name(self) -> &'static str {
        match self {
            Folder::Amdgpu => "amdgpu",
            Folder::X86 => "x86",
            Folder::Ptx => "ptx",
        }
    }
}

/// The source of a report.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// An entry of FuzzX.
    FuzzX {
        /// Its folder.
        folder: Folder,
        /// Its number in the folder.
        number: u32,
    },
    /// An issue or a pull request of llvm-project.
    Llvm(u32),
}

/// The verdict on a report. Texts are Markdown.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// LLVM is wrong; this row of [`super::super::FAULTS`] says what keeps code from it.
    Guarded(&'static str),
    /// The code that was tried is right; how it was tried.
    Right(&'static str),
    /// SPIR-V leaves the result open; why.
    Free(&'static str),
    /// LLVM was corrected before the pinned release.
    Fixed {
        /// The pull request of llvm-project.
        pull: u32,
        /// What was tried; none: nothing.
        tried: Option<&'static str>,
    },
    /// Nothing was tried; why.
    NotTried(&'static str),
}

/// A report that a SPIR-V module can reach. Texts are Markdown.
#[derive(Copy, Clone, Debug)]
pub struct Report {
    /// The source.
    pub origin: Origin,
    /// The wrong behaviour.
    pub what: &'static str,
    /// The GPUs where it may go wrong.
    pub gpus: &'static str,
    /// The verdict of splitbar.
    pub verdict: Verdict,
}
