//! The content of a report. Its JSON is docs/schemas/report.json; the page and the text are two
//! renderings of it.

use crate::usage::ResourceUsage;
use crate::window::Window;
use serde::Serialize;

/// The version of the keys (docs/schemas/report.json). It grows when one goes or changes its
/// meaning, not when one is added.
pub const SCHEMA_VERSION: u32 = 1;

/// A report on a module: each kernel on each GPU.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The splitbar that wrote it.
    pub tool_version: &'static str,
    /// The module.
    pub module: ModuleFacts,
    /// The launch that the estimates are for.
    pub launch: LaunchFacts,
    /// The source files whose text the module carries.
    pub source: Vec<SourceText>,
    /// The instructions of the module's functions.
    pub spirv: Vec<SpirvLine>,
    /// The findings of `check`.
    pub findings: Vec<Finding>,
    /// One for each kernel and GPU: the kernels in the module's order, for one GPU after the other.
    pub results: Vec<KernelResult>,
    /// GPUs for which the module cannot be compiled.
    pub failed: Vec<FailedTarget>,
    /// Parts that are left out because the report would be too large.
    pub cut: Vec<String>,
    /// The differences from an older report; `None` where there is none to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Differences>,
}

/// The module that a report is about.
#[derive(Clone, Debug, Serialize)]
pub struct ModuleFacts {
    /// Its name, as the caller gives it.
    pub name: String,
    /// Its size.
    pub bytes: usize,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

/// The launch that estimates are for.
#[derive(Clone, Debug, Serialize)]
pub struct LaunchFacts {
    /// True if no launch was given, so that one was made up.
    pub made_up: bool,
    /// The launch in words.
    pub words: String,
}

/// A source file.
#[derive(Clone, Debug, Serialize)]
pub struct SourceText {
    /// Its name.
    pub name: String,
    /// Its lines, from line 1 on.
    pub lines: Vec<String>,
}

/// An instruction of the module.
#[derive(Clone, Debug, Serialize)]
pub struct SpirvLine {
    /// Its word offset.
    pub word: u32,
    /// The instruction in assembler form.
    pub text: String,
    /// Its source line: the number of the file in [`Report::source`], and the line from 1 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<[u32; 2]>,
}

/// A GPU for which the module cannot be compiled.
#[derive(Clone, Debug, Serialize)]
pub struct FailedTarget {
    /// The GPU.
    pub target: &'static str,
    /// The reasons.
    pub findings: Vec<Finding>,
}

/// A kernel on a GPU.
#[derive(Clone, Debug, Serialize)]
pub struct KernelResult {
    /// The entry point.
    pub entry: String,
    /// The GPU.
    pub target: &'static str,
    /// The vendor and form of its code: `amdgpu` or `ptx`.
    pub code: &'static str,
    /// Lanes of a wave.
    pub wavefront_size: u32,
    /// Invocations of a workgroup in x, y and z; `None` when only the launch knows.
    pub workgroup_size: Option<[u32; 3]>,
    /// The answer.
    pub verdict: Verdict,
    /// The versions that were compiled; the first one has full barriers.
    pub versions: Vec<VersionResult>,
    /// Versions that do not fit, or differ in nothing from another one.
    pub refused: Vec<Refused>,
    /// The decision about each barrier, where it was left to the compiler.
    pub barriers: Vec<BarrierOutcome>,
    /// Plan, code and timeline of the best version and of the one that it is compared with.
    pub shown: Vec<Shown>,
    /// The findings of the compilation, the audit and the simulator.
    pub findings: Vec<Finding>,
    /// Parts that were not looked at, each with the reason.
    pub not_looked_at: Vec<NotLookedAt>,
}

/// The answer to the question whether the barriers of a kernel should be split.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The answer.
    pub outcome: Outcome,
    /// The version to take, by its name in [`KernelResult::versions`].
    pub version: Option<String>,
    /// Its estimated cycles over those of full barriers; below 1 it is faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_full: Option<f64>,
    /// The answer in a sentence.
    pub sentence: String,
    /// The reasons.
    pub because: Vec<String>,
    /// Facts that speak against it, or that the estimate does not contain.
    pub cautions: Vec<String>,
    /// The options that make this version.
    pub settings: Vec<Setting>,
}

/// The kinds of answers.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// A version with split barriers is faster.
    Split,
    /// A version with pipelined loops is faster.
    Pipeline,
    /// A version with fewer or other full barriers is faster.
    Change,
    /// None is.
    Full,
    /// The kernel has no barrier of the workgroup.
    NoBarrier,
    /// There is no estimate that tells.
    Unknown,
}

impl Outcome {
    /// Returns true if there is a version to take.
    pub fn has_settings(self) -> bool {
        match self {
            Outcome::Split | Outcome::Pipeline | Outcome::Change | Outcome::Full => true,
            Outcome::NoBarrier | Outcome::Unknown => false,
        }
    }
}

/// An option that differs from its default, by the names of the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The option.
    pub option: &'static str,
    /// Its value.
    pub value: String,
}

/// A version of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct VersionResult {
    /// Its name: `full`, `auto`, `pipelined-1`, `pipelined-2`, `pipelined-2-always-store`,
    /// `pipelined-2-async`, `pipelined-3`, `pipelined-3-stage`, or a strategy.
    pub name: String,
    /// The strategies of its pairs.
    pub strategies: Vec<&'static str>,
    /// The options that make it.
    pub settings: Vec<Setting>,
    /// Registers and workgroup memory; `None` on NVIDIA GPUs without ptxas.
    pub resource_usage: Option<ResourceUsage>,
    /// Registers of a thread, measured or estimated.
    pub registers: Option<u32>,
    /// Workgroups that are resident at once, measured or estimated.
    pub workgroups: Option<u32>,
    /// Their waves over the places for waves, 0 to 1.
    pub occupancy: Option<f64>,
    /// The resource that allows no more.
    pub limiter: Option<String>,
    /// True if registers and what follows from them are estimates.
    pub is_estimated: bool,
    /// Instructions of its windows in the source and in the code.
    pub window: Option<Window>,
    /// Machine instructions of the kernel.
    pub instructions: u32,
    /// Estimated cycles.
    pub cycles: Option<u64>,
    /// Workgroups that run together in the estimate.
    pub running: Option<u32>,
    /// True if the estimate contains the whole launch.
    pub is_complete: bool,
    /// Estimated cycles over those of full barriers, for the same work.
    pub of_full: Option<f64>,
    /// Why there are no cycles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// A version that does not fit.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// The decision about one barrier of the module.
#[derive(Clone, Debug, Serialize)]
pub struct BarrierOutcome {
    /// Its place.
    pub place: Place,
    /// The decision: `split`, `full barrier` or `removed`.
    pub outcome: &'static str,
    /// Why.
    pub reason: String,
}

/// A place in the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The place in words.
    pub text: String,
    /// The word offset of the instruction.
    pub word: Option<u32>,
}

/// Plan, code and timeline of a version.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// The version, by its name.
    pub version: String,
    /// Its plan.
    pub plan: Vec<PlanLine>,
    /// Words of the module that are in the window of a pair, with the number of the pair.
    pub windows: Vec<WindowWords>,
    /// Its code.
    pub assembly: Vec<AsmLine>,
    /// The timeline of its estimate.
    pub timeline: Option<TimelineFacts>,
}

/// The window of a pair.
#[derive(Clone, Debug, Serialize)]
pub struct WindowWords {
    /// The number of the pair.
    pub pair: u32,
    /// Words of instructions of the module.
    pub words: Vec<u32>,
}

/// A line of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct PlanLine {
    /// The line.
    pub text: String,
    /// The instruction of the module that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub word: Option<u32>,
    /// The meaning of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

/// A line of assembly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AsmLine {
    /// The line, without comment.
    pub text: String,
    /// True for an instruction, false for a label or a declaration.
    #[serde(skip)]
    pub is_instruction: bool,
    /// The instruction of the module that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub word: Option<u32>,
    /// Its part in a barrier: `arrive`, `wait`, `full` or `window`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<&'static str>,
    /// The meaning of a wait, a fence or a barrier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

/// The activities of each wave of an estimate, with their times.
#[derive(Clone, Debug, Serialize)]
pub struct TimelineFacts {
    /// The first cycle after all that is shown.
    pub until: u64,
    /// The waves.
    pub tracks: Vec<TrackFacts>,
    /// The names of the kinds of slices.
    pub kinds: Vec<&'static str>,
    /// Five numbers for each slice: its track, its first cycle, its length, its kind, and the word
    /// of its instruction plus 1, or 0.
    pub slices: Vec<u64>,
    /// Four numbers for each phase that another wave completed: the track and cycle of the last
    /// arrival, and those of a wave that waited.
    pub completions: Vec<u64>,
    /// A cycle and the number of outstanding loads from there on, for each change; the largest
    /// numbers of short parts of the time.
    pub loads: Vec<u64>,
    /// The same for the number of resident waves.
    pub waves: Vec<u64>,
    /// Cycles of all waves together by kind, of the whole estimate.
    pub spent: Spent,
    /// The cycle from which on nothing is shown; `None` if all is shown.
    pub cut_off: Option<u64>,
}

/// A wave.
#[derive(Copy, Clone, Debug, Serialize)]
pub struct TrackFacts {
    /// Its workgroup.
    pub workgroup: u32,
    /// Its number in the workgroup.
    pub wave: u16,
}

/// Cycles of all waves together.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Issuing, or waiting some cycles for a result or a unit.
    pub issue: u64,
    /// Waiting for memory.
    pub memory: u64,
    /// Waiting for other waves at a barrier.
    pub barrier: u64,
    /// Sleeping.
    pub sleep: u64,
}

impl Spent {
    /// All of them.
    pub fn total(self) -> u64 {
        self.issue + self.memory + self.barrier + self.sleep
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its origin: `check`, `compile`, `audit`, `sim` or `estimate`.
    pub from: &'static str,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// Its code, if it has one.
    pub code: Option<String>,
    /// The message.
    pub message: String,
    /// The reasons, and what to do.
    pub details: Vec<String>,
    /// Its place.
    pub place: Option<Place>,
}

/// A part that was not looked at.
#[derive(Clone, Debug, Serialize)]
pub struct NotLookedAt {
    /// The part.
    pub part: String,
    /// Why.
    pub reason: String,
}

/// The differences from an older report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Differences {
    /// The splitbar that wrote the older report.
    pub tool_version: String,
    /// The SHA-256 of its module.
    pub sha256: String,
    /// True if the module is the same.
    pub same_module: bool,
    /// True if the estimates are for the same launch.
    pub same_launch: bool,
    /// The differences, by kernel and GPU.
    pub differences: Vec<Difference>,
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The kernel; empty for the module.
    pub entry: String,
    /// The GPU; empty for all.
    pub target: String,
    /// The part that differs: `verdict`, `cycles of native`, `finding`.
    pub what: String,
    /// Its value in the older report.
    pub before: String,
    /// Its value now.
    pub after: String,
}
