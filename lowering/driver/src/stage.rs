//! The stages of a compilation, and who watches them go by.

use std::fmt;
use std::time::Duration;

/// A stage. They follow one another in this order.
#[derive(
    Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[non_exhaustive]
pub enum Stage {
    /// Bytes to instructions, declarations and constants.
    Read,
    /// OpControlBarriers into arrives and waits; only if that was asked for and has changed
    /// something.
    Split,
    /// Functions with barriers into their callers; arrives, waits and their windows.
    Inline,
    /// The rules of SPIR-V and of the client API.
    Validate,
    /// Strategies and steps.
    Plan,
    /// SPIR-V and steps to optimised LLVM IR.
    Lower,
    /// A second lowering with debug lines, to count what is left of the windows.
    Measure,
    /// LLVM IR to assembly, objects, bitcode or text.
    Generate,
    /// An object to a code object.
    Link,
}

impl Stage {
    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Read => "read",
            Stage::Split => "split",
            Stage::Inline => "inline",
            Stage::Validate => "validate",
            Stage::Plan => "plan",
            Stage::Lower => "lower",
            Stage::Measure => "measure",
            Stage::Generate => "generate",
            Stage::Link => "link",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The intermediate result of a stage.
#[derive(Copy, Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Artefact {
    /// The module as it was read.
    Input,
    /// The module as text, one instruction on a line.
    Disassembly,
    /// The module after barriers were split; only if one was.
    Split,
    /// The module after barrier functions were inlined; only if one was.
    Inlined,
    /// The barrier plan.
    Plan,
    /// LLVM IR as the emitter wrote it.
    UnoptimizedIr,
    /// LLVM IR as code is generated from it.
    Ir,
    /// The assembly that windows are counted in: lines are word offsets, plus one, of the module
    /// (of the inlined one, if there is one).
    MeasuredAssembly,
    /// Assembly, or PTX.
    Assembly,
    /// The relocatable object (AMDGPU).
    Object,
    /// The reflection.
    Reflect,
}

impl Artefact {
    /// Every artefact.
    pub const ALL: [Artefact; 11] = [
        Artefact::Input,
        Artefact::Disassembly,
        Artefact::Split,
        Artefact::Inlined,
        Artefact::Plan,
        Artefact::UnoptimizedIr,
        Artefact::Ir,
        Artefact::MeasuredAssembly,
        Artefact::Assembly,
        Artefact::Object,
        Artefact::Reflect,
    ];

    /// The name of the file in `--emit-dir`.
    pub fn file_name(self) -> &'static str {
        match self {
            Artefact::Input => "input.spv",
            Artefact::Disassembly => "input.txt",
            Artefact::Split => "split.spv",
            Artefact::Inlined => "inlined.spv",
            Artefact::Plan => "plan.txt",
            Artefact::UnoptimizedIr => "unoptimized.ll",
            Artefact::Ir => "out.ll",
            Artefact::MeasuredAssembly => "measured.s",
            Artefact::Assembly => "out.s",
            Artefact::Object => "out.o",
            Artefact::Reflect => "reflect.json",
        }
    }
}

/// Watches a compilation. Each stage's artefacts are shown before the next stage begins, so that
/// they are there even if that one never ends.
pub trait Observer {
    /// `stage` begins; the one before it has ended.
    fn begin(&mut self, _stage: Stage) {}

    /// `stage` goes on, for so long by now, in this pass of LLVM's if one is running and the module
    /// is not small. Told every five seconds, by a [`crate::Worker`] only.
    fn waits(&mut self, _stage: Stage, _since: Duration, _pass: Option<&str>) {}

    /// Returns true if [`Observer::produced`] is worth calling: artefacts cost time to print.
    fn wants_artefacts(&self) -> bool {
        false
    }

    /// A stage has produced something.
    fn produced(&mut self, _artefact: Artefact, _bytes: &[u8]) {}
}

/// Nobody watches.
impl Observer for () {}

/// Shows what a stage has produced to an observer that wants to see it.
pub(crate) fn show(
    observer: &mut dyn Observer,
    artefact: Artefact,
    bytes: impl FnOnce() -> Vec<u8>,
) {
    if observer.wants_artefacts() {
        observer.produced(artefact, &bytes());
    }
}
