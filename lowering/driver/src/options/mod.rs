//! The options of a [`Compiler`](crate::Compiler).

mod choices;
pub(crate) mod declare;
pub(crate) mod values;

pub(crate) use choices::strategies;
pub use choices::{Choice, NarrowBarriers, PipelineLoops, SplitBarriers};
pub use declare::{DeclaredOptions, Heading, OptionInfo, Part, ValueForm};

use crate::launch::Launch;
use choices::{
    CHOICES, FUSE_AT, LEVELS, NARROW_BARRIERS, PIPELINE_LOOPS, SPLIT_BARRIERS, WAITS, WAVES,
};
use declare::declare_options;
use splitbar_layout::abi::AbiForm;
use splitbar_passes::analysis::phases::Aliasing;
use splitbar_passes::module::{SpecValues, WordOffset};
use splitbar_passes::validate::Validation;
use splitbar_plan::{FuseAt, Optimization, Placement, Strategy, Target, Waits};
use std::collections::BTreeSet;
use std::path::PathBuf;
pub use values::parse_size;
use values::{flag, names, number, one_of, put};

declare_options! {
    /// The options of a compilation. [`Options::new`] returns the defaults; then set fields.
    #[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
    #[non_exhaustive]
    pub struct Options(target: &'static Target);

    /// The GPU to compile for.
    #[serde(with = "by_name")]
    target: &'static Target = target;
    /// The name of the one entry point to compile; `None` compiles all of them.
    entry: Option<String> = None => {
        "entry": {
            part: Part::Module,
            value: ValueForm::Text("NAME"),
            summary: "Compiles only this entry point",
            set: |options, text| put(&mut options.entry, Ok(Some(text.to_owned()))),
        }
    };
    /// Values of specialization constants by SpecId. Constants without a value keep their defaults.
    spec: SpecValues = SpecValues::default();
    /// The strategy of workgroup-scope pairs; `None` lets `choice` decide.
    strategy: Option<Strategy> = None => {
        "strategy": {
            heading: Heading::Barriers,
            llvm_ir: true,
            value: ValueForm::OneOf("STRATEGY", || names(CHOICES).into_iter().chain(strategies()).collect()),
            default: Some("auto"),
            summary: "How split barriers of scope Workgroup are lowered",
            set: set_strategy,
        }
    };
    /// The way to choose a strategy if none is named.
    choice: Choice = Choice::default();
    /// Controls the splitting of OpControlBarriers.
    split_barriers: SplitBarriers = SplitBarriers::default() => {
        "split-barriers": {
            heading: Heading::Barriers,
            part: Part::Module,
            value: ValueForm::OneOf("WHEN", || names(SPLIT_BARRIERS)),
            default: Some("never"),
            summary: "Splits OpControlBarriers, and moves all arrives up and all waits down",
            details: "Moves past accesses that the barrier does not have to order: docs/splitting.md.",
            set: |options, text| put(&mut options.split_barriers, one_of(SPLIT_BARRIERS, text)),
        }
    };
    /// With [`Options::split_barriers`], assumes that every barrier orders all memory, even if its
    /// memory semantics do not: for shaders that rely on `barrier()` to order buffers. No barrier
    /// is narrowed then ([`Options::narrow_barriers`]).
    barriers_order_all_memory: bool = false => {
        "assume-barriers-order-all-memory": {
            heading: Heading::Barriers,
            part: Part::Module,
            summary: "When splitting, assumes that every barrier orders all memory",
            details: "For shaders that rely on barrier() to order buffers, although its semantics name only workgroup memory. Barriers are then not narrowed, neither to less memory nor to the subgroup.",
            set: |options, text| put(&mut options.barriers_order_all_memory, flag(text)),
        }
    };
    /// The memory that workgroup barriers order, and whether those that keep only accesses of one
    /// wave apart become barriers of the subgroup.
    narrow_barriers: NarrowBarriers = NarrowBarriers::default() => {
        "narrow-barriers": {
            heading: Heading::Barriers,
            part: Part::Module,
            value: ValueForm::OneOf("MEMORY", || names(NARROW_BARRIERS)),
            default: Some("declared"),
            summary: "When barriers skip memory without conflicts (aliased: assuming that buffers can alias)",
            details: "With `never`, a barrier orders all memory that its semantics name; otherwise only memory on which two invocations can conflict around the barrier. If they can only conflict inside a wave, the barrier becomes one of the subgroup.",
            set: |options, text| put(&mut options.narrow_barriers, one_of(NARROW_BARRIERS, text)),
        }
    };
    /// With [`Options::split_barriers`], moves other instructions into the windows too, as long as
    /// at most this many 32-bit words of results are live at an arrive or a wait.
    fill_windows: Option<u32> = None => {
        "fill-windows": {
            heading: Heading::Barriers,
            part: Part::Module,
            value: ValueForm::Optional { name: "N", missing: "96" },
            summary: "When splitting, fills windows with results in at most N registers",
            details: "The window is the code between an arrive and its wait. The option moves instructions that do not depend on the barrier into it. At an arrive or a wait, at most N registers hold results; the default is 96.",
            set: |options, text| put(&mut options.fill_windows, number(text)),
        }
    };
    /// With [`Options::split_barriers`], prefetches, one iteration ahead, the values that a loop
    /// stores to workgroup memory before its first barrier. Each loaded value needs a register.
    prefetch_loop_loads: bool = false => {
        "prefetch-loop-loads": {
            aliases: &["stage-loop-loads"],
            heading: Heading::Barriers,
            part: Part::Module,
            summary: "When splitting, prefetches loads one iteration ahead",
            details: "Applies to loads in a loop whose results the loop stores to workgroup memory before its first barrier.",
            set: |options, text| put(&mut options.prefetch_loop_loads, flag(text)),
        }
    };
    /// Controls the pipelining of loops that fill workgroup arrays before a barrier and read them
    /// after it: data of the next iteration is loaded during this one. Specialization constants get
    /// their values first.
    pipeline_loops: PipelineLoops = PipelineLoops::default() => {
        "pipeline-loops": {
            heading: Heading::Barriers,
            part: Part::Module,
            value: ValueForm::OneOf("HOW", || names(PIPELINE_LOOPS)),
            default: Some("never"),
            summary: "Pipelines loops, with 1 to 4 buffers for each workgroup array",
            details: "Applies to loops that fill workgroup arrays before a barrier and read them after it. Each iteration then loads the data of the next one: with two buffers and one split barrier for each iteration, or with one buffer and two barriers. With `2-always-store`, the last iteration stores too, so no branch is needed around the stores. With `2-async`, the data of the next iteration is copied asynchronously, on targets that can. With 3 or 4 buffers, the window of the split barrier contains the work of an iteration, and the data is loaded up to two iterations ahead (docs/pipelining.md).",
            set: |options, text| put(&mut options.pipeline_loops, one_of(PIPELINE_LOOPS, text)),
        }
    };
    /// With [`Options::split_barriers`], unrolls loops with barriers and a constant number of
    /// iterations, if all iterations together have at most this many SPIR-V instructions.
    unroll_barrier_loops: Option<u32> = None => {
        "unroll-barrier-loops": {
            heading: Heading::Barriers,
            part: Part::Module,
            value: ValueForm::Text("N"),
            summary: "When splitting, unrolls barrier loops to at most N instructions",
            details: "Applies to loops with barriers and a constant trip count. An unrolled loop has at most N SPIR-V instructions.",
            set: |options, text| put(&mut options.unroll_barrier_loops, number(text)),
        }
    };
    /// A profile of the module ([`splitbar_passes::profile`]), as the kernel wrote it. A measured
    /// barrier is split if its window hides more of the skew between waves than a phase costs. A
    /// profile of another module is an error (`ForeignProfile`), and so is one of another GPU, wave
    /// size or number of waves in a workgroup (`ProfileTarget`); one without a GPU is a warning.
    /// With [`Choice::AlwaysSplit`] it chooses as [`Choice::Balanced`]; it is ignored if a strategy
    /// is named.
    profile: Option<Vec<u8>> = None;
    /// The launch that [`Choice::Measured`] needs; without one that choice is an error
    /// (`UnsupportedStrategy`).
    launch: Option<Launch> = None;
    /// Workgroup barriers that are always full barriers, by their word offsets in the module: those
    /// of arrives and, with [`Options::split_barriers`], those of OpControlBarriers, which are then
    /// not split. Other word offsets have no effect.
    full_barriers: BTreeSet<WordOffset> = BTreeSet::new();
    /// The place of a fused barrier.
    fuse_at: FuseAt = FuseAt::Wait => {
        "fuse-at": {
            heading: Heading::Barriers,
            value: ValueForm::OneOf("PLACE", || names(FUSE_AT)),
            default: Some("wait"),
            summary: "Where to place a fused barrier",
            set: |options, text| put(&mut options.fuse_at, one_of(FUSE_AT, text)),
        }
    };
    /// Keeps compilers from moving instructions out of the windows of split pairs. Turn it off only
    /// for measurements.
    scheduling_barriers: bool = true => {
        "no-scheduling-barriers": {
            aliases: &["no-window-guards"],
            heading: Heading::Barriers,
            part: Part::Code,
            llvm_ir: true,
            summary: "Omits the scheduling barriers at arrives and waits, for measurements",
            set: |options, text| put(&mut options.scheduling_barriers, flag(text).map(|no| !no)),
        }
    };
    /// Waits for outstanding memory operations at barriers (AMDGPU).
    waits: Waits = Waits::Auto => {
        "waits": {
            heading: Heading::Code,
            part: Part::Code,
            llvm_ir: true,
            value: ValueForm::OneOf("WAITS", || names(WAITS)),
            default: Some("auto"),
            summary: "How barriers wait for outstanding memory operations (AMDGPU)",
            set: |options, text| put(&mut options.waits, one_of(WAITS, text)),
        }
    };
    /// The placement of the waves of a workgroup (AMDGPU).
    placement: Placement = Placement::Default => {
        "cu-mode": {
            heading: Heading::Code,
            excluded_by: &["tgsplit"],
            summary: "Runs each workgroup on one compute unit (gfx10 to gfx12.0)",
            set: |options, text| place(options, Placement::CuMode, text),
        }
        "tgsplit": {
            heading: Heading::Code,
            excluded_by: &["cu-mode"],
            summary: "Runs each workgroup on several CUs (gfx90a, gfx942, gfx950)",
            details: "A kernel then cannot use workgroup memory.",
            set: |options, text| place(options, Placement::ThreadgroupSplit, text),
        }
    };
    /// Workgroups of a cluster in x, y and z; `None`: the kernel is not launched in clusters. With
    /// [`Strategy::Cluster`] all of them synchronise at each split barrier.
    cluster: Option<[u32; 3]> = None => {
        "cluster-size": {
            heading: Heading::Barriers,
            value: ValueForm::Text("X,Y,Z"),
            summary: "Launches the kernel in clusters of this many workgroups",
            details: "With --strategy cluster, the workgroups of a cluster synchronise at each split barrier.",
            set: |options, text| put(&mut options.cluster, parse_size(text).map(Some)),
        }
    };
    /// Makes copies from global to workgroup memory asynchronous if the target supports it and the
    /// result of the program does not change.
    promote_async_copies: bool = false => {
        "promote-async-copies": {
            heading: Heading::Barriers,
            part: Part::Code,
            summary: "Makes copies to workgroup memory asynchronous",
            details: "Only if the target supports it and the result does not change: docs/async.md.",
            set: |options, text| put(&mut options.promote_async_copies, flag(text)),
        }
    };
    /// LLVM's optimisation level, -O2 by default.
    optimization: Optimization = Optimization::O2 => {
        "O": {
            heading: Heading::Code,
            part: Part::Code,
            llvm_ir: true,
            value: ValueForm::OneOf("LEVEL", || names(LEVELS)),
            default: Some("2"),
            summary: "LLVM's optimisation level",
            set: |options, text| put(&mut options.optimization, one_of(LEVELS, text)),
        }
    };
    /// Rounds 32-bit and 16-bit divisions and square roots correctly. Without it they have the
    /// errors that the environment allows (docs/features.md): in Vulkan 2.5 ULP for a division, in
    /// OpenCL 2.5 ULP and 3 ULP for a square root.
    correctly_rounded_divide_sqrt: bool = false => {
        "correctly-rounded-divide-sqrt": {
            heading: Heading::Code,
            part: Part::Code,
            llvm_ir: true,
            summary: "Rounds 32-bit and 16-bit divisions and square roots correctly",
            details: "Without it, results have the errors that Vulkan and OpenCL allow: docs/features.md.",
            set: |options, text| put(&mut options.correctly_rounded_divide_sqrt, flag(text)),
        }
    };
    /// The wave size; `None` is the target's default.
    wave_size: Option<u32> = None => {
        "wavefront-size": {
            aliases: &["wave"],
            heading: Heading::Code,
            llvm_ir: true,
            value: ValueForm::OneOf("SIZE", || names(WAVES)),
            summary: "Number of invocations in a wave",
            details: "The default is the target's.",
            set: |options, text| put(&mut options.wave_size, one_of(WAVES, text)),
        }
    };
    /// The invocations of a subgroup, a power of two up to the wave size; `None` is the size that
    /// the entry point requires (SubgroupSize), otherwise the wave size.
    subgroup_size: Option<u32> = None => {
        "subgroup-size": {
            heading: Heading::Code,
            value: ValueForm::Text("SIZE"),
            summary: "Number of invocations in a subgroup, at most the size of a wave",
            details: "The default is the size that the module requires (SubgroupSize), otherwise the wave size.",
            set: |options, text| put(&mut options.subgroup_size, subgroup(text)),
        }
    };
    /// The workgroup size of entry points without a required one (OpenCL kernels without
    /// `reqd_work_group_size`), and the value of each specialization constant that is a dimension
    /// of a workgroup and has no value in `spec`.
    workgroup_size: Option<[u32; 3]> = None => {
        "workgroup-size": {
            llvm_ir: true,
            value: ValueForm::Text("X,Y,Z"),
            summary: "Workgroup size of kernels that do not declare one",
            details: "In SPIR-V, it also sets the specialization constants of the workgroup size, unless --spec sets them.",
            set: |options, text| put(&mut options.workgroup_size, parse_size(text).map(Some)),
        }
    };
    /// The rules to check: those of the module's environment, of another environment, or none.
    validation: Validation = Validation::Default => {
        "target-env": {
            heading: Heading::Rules,
            part: Part::Module,
            value: ValueForm::Text("ENV"),
            excluded_by: &["no-validate"],
            summary: "Environment: universal, vulkan1.0 to 1.4, opencl1.2 to 3.0",
            details: "The default is vulkan1.3, or universal for OpenCL modules.",
            set: |options, text| put(&mut options.validation, text.parse().map(Validation::Environment)),
        }
        "no-validate": {
            heading: Heading::Rules,
            part: Part::Module,
            excluded_by: &["target-env"],
            summary: "Skips the checks of `splitbar check`",
            details: "The rules that code generation depends on are still checked.",
            set: waive,
        }
    };
    /// The binary interface for the buffers and images of a shader (docs/abi.md).
    ///
    /// An embedder can write its own table. Here one argument is the address of a root table, which
    /// holds the address of set 0 at byte 8; another is the address of a buffer. The kernel stores
    /// `src[127 - i] + 13 * src[i]` and runs on the simulator.
    ///
    #[cfg_attr(all(feature = "llvm", feature = "sim"), doc = "```")]
    #[cfg_attr(not(all(feature = "llvm", feature = "sim")), doc = "```ignore")]
    /// use splitbar::simulate::machine::Schedule;
    /// use splitbar::simulate::{Inputs, Job, BufferName};
    /// use splitbar::{
    ///     AbiForm, AbiTable, Compiler, DescriptorPlace, Options, Reach, TableArgument, Target,
    /// };
    ///
    /// let reach = |binding, argument, descriptor| Reach { set: 0, binding, argument, descriptor };
    /// let in_set = |offset| Some(DescriptorPlace { loads: vec![8], offset, length: None });
    /// let target = Target::by_name("sm_90").ok_or("no such target")?;
    /// let mut options = Options::new(target);
    /// options.abi = AbiForm::Table(AbiTable {
    ///     arguments: vec![TableArgument::default(); 2],
    ///     bindings: vec![reach(0, 0, in_set(0)), reach(1, 0, in_set(24)), reach(2, 1, None)],
    ///     stride: 8,
    /// });
    /// let module =
    ///     include_bytes!("../../../../fixtures/kernels/buffer_exchange/buffer_exchange.spv");
    /// let output = Compiler::new(&options).compile(module)?;
    ///
    /// let source: Vec<u8> = (0..128u32).flat_map(u32::to_le_bytes).collect();
    /// let buffers = vec![
    ///     (BufferName::Binding(0, 0), source),
    ///     (BufferName::Binding(0, 1), vec![0; 512]),
    ///     (BufferName::Binding(0, 2), vec![0; 512]),
    /// ];
    /// let inputs = Inputs::new([1, 1, 1], buffers);
    /// let outcome = Job::compiled(&output, 0)?.run(&inputs, Schedule::nth(0, 1))?;
    /// let expected = (0..128u32).map(|i| 127 - i + 13 * i).flat_map(u32::to_le_bytes);
    /// assert!(outcome.report.findings.is_empty());
    /// assert_eq!(outcome.buffers[2], expected.collect::<Vec<u8>>());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    abi: AbiForm = AbiForm::Arguments => {
        "abi": {
            heading: Heading::Code,
            part: Part::Code,
            value: ValueForm::Text("FORM"),
            default: Some("arguments"),
            summary: "Passes buffers as: arguments, descriptor-sets[:BYTES]",
            details: "BYTES is the size of a descriptor, 16 or 32; the default is 32: docs/abi.md.",
            set: |options, text| put(&mut options.abi, text.parse()),
        }
    };
    /// Counts the instructions of every window in the final assembly. This generates assembly.
    measure: bool = false => {
        "measure": {
            heading: Heading::Output,
            part: Part::Output,
            llvm_ir: true,
            summary: "With --emit plan: counts the instructions between arrive and wait",
            details: "They are counted in the generated assembly. --emit reflect always counts them.",
            set: |options, text| put(&mut options.measure, flag(text)),
        }
    };
    /// Debug information in assembly and objects with the source lines of the module, if the module
    /// has them (OpLine, DebugLine): DWARF 5 for AMD GPUs, `.loc` directives of PTX for NVIDIA
    /// GPUs. It does not change the instructions. It has no effect with [`Options::lines`], nor for
    /// LLVM IR; the same is true for [`Options::source`] and [`Options::comments`].
    debug_info: bool = false => {
        "g": {
            heading: Heading::Output,
            part: Part::Output,
            summary: "Writes debug information with source lines",
            details: "DWARF in objects and assembly for AMD GPUs, line directives in PTX. The module must have line information; glslangValidator -g writes it.",
            set: |options, text| put(&mut options.debug_info, flag(text)),
        }
    };
    /// Lines of the source as comments in assembly, where the module has lines.
    source: bool = false => {
        "source": {
            heading: Heading::Output,
            part: Part::Output,
            summary: "With --emit asm: shows source lines between the instructions",
            details: "Like llvm-objdump --source. The module must have line information; glslangValidator -g writes it.",
            set: |options, text| put(&mut options.source, flag(text)),
        }
    };
    /// Comments in assembly about the strategy of each barrier, the bounds of windows, and the
    /// memory that fences and waits order.
    comments: bool = false => {
        "comments": {
            heading: Heading::Output,
            part: Part::Output,
            summary: "With --emit asm: explains barriers, windows, fences and waits",
            set: |options, text| put(&mut options.comments, flag(text)),
        }
    };
    /// Debug lines in assembly and objects: each number is the word offset of a SPIR-V instruction
    /// in the module, plus 1. The columns mark atomic loads and stores
    /// ([`splitbar_plan::AccessMark`]).
    lines: bool = false;
    /// The path of ptxas, for cubins and for windows in machine code (NVIDIA); `None` uses
    /// `SPLITBAR_PTXAS`, then PATH.
    ptxas: Option<PathBuf> = None => {
        "ptxas": {
            heading: Heading::Code,
            part: Part::Output,
            llvm_ir: true,
            value: ValueForm::File,
            summary: "Path of ptxas; overrides SPLITBAR_PTXAS and PATH",
            details: "For --emit cubin, for windows in machine code, and for the resource usage of a kernel on NVIDIA GPUs.",
            set: |options, text| put(&mut options.ptxas, Ok(Some(text.into()))),
        }
    };
    /// The linker for code objects: a path to `ld.lld`, `lld` or `rust-lld`; `None` uses
    /// `SPLITBAR_LLD`, then PATH, then Rust's tool chain.
    lld: Option<PathBuf> = None => {
        "lld": {
            heading: Heading::Code,
            part: Part::Output,
            llvm_ir: true,
            value: ValueForm::File,
            summary: "Path of the linker; overrides SPLITBAR_LLD and PATH",
            details: "For --emit hsaco: a path to ld.lld, lld or rust-lld. If no linker is found, the one of Rust's tool chain is used.",
            set: |options, text| put(&mut options.lld, Ok(Some(text.into()))),
        }
    };
    /// Audits the final assembly. It is an error if a barrier can be reached while operations that
    /// it releases are outstanding, or if an invalidation, write-back or PTX fence that a fence of
    /// the plan requires is missing.
    audit: bool = false => {
        "audit": {
            heading: Heading::Output,
            part: Part::Output,
            llvm_ir: true,
            summary: "Fails if the assembly lacks a wait or a fence that the plan requires",
            details: "Also if it lacks an invalidation or a write-back. --emit reflect includes the audit: docs/audit.md.",
            set: |options, text| put(&mut options.audit, flag(text)),
        }
    };
}

impl Options {
    /// The launch that decides between versions of a module, if one does.
    pub(crate) fn deciding_launch(&self) -> Option<&Launch> {
        self.launch
            .as_ref()
            .filter(|_| self.choice == Choice::Measured)
    }

    /// Returns true if plain copies to workgroup memory are made asynchronous.
    pub(crate) fn promotes_async_copies(&self) -> bool {
        self.promote_async_copies || self.pipeline_loops == PipelineLoops::TwoBuffersAsync
    }

    /// The aliasing to assume when barriers are narrowed; `None` if they are not.
    pub(crate) fn narrowing(&self) -> Option<Aliasing> {
        match self.narrow_barriers {
            _ if self.barriers_order_all_memory => None,
            NarrowBarriers::Never => None,
            NarrowBarriers::Aliased => Some(Aliasing::Possible),
            NarrowBarriers::Declared => Some(Aliasing::Declared),
        }
    }

    /// The defaults for `target`.
    pub fn new(target: &'static Target) -> Self {
        Options::defaults(target)
    }
}

impl DeclaredOptions for Options {
    fn declared() -> impl Iterator<Item = &'static OptionInfo<Options>> {
        Options::DECLARED.iter()
    }

    fn scratch() -> Option<Options> {
        Target::all().first().map(Options::new)
    }
}

fn subgroup(value: &str) -> Result<Option<u32>, String> {
    match number(value)? {
        size @ Some(1..=64) => Ok(size),
        _ => Err(format!("{value:?} is not a number from 1 to 64")),
    }
}

fn place(options: &mut Options, placement: Placement, value: &str) -> Result<(), String> {
    if flag(value)? {
        options.placement = placement;
    }
    Ok(())
}

fn waive(options: &mut Options, value: &str) -> Result<(), String> {
    if flag(value)? {
        options.validation = Validation::Waived;
    }
    Ok(())
}

/// Sets a strategy, or the way to choose one.
fn set_strategy(options: &mut Options, value: &str) -> Result<(), String> {
    match one_of(CHOICES, value) {
        Ok(choice) => (options.strategy, options.choice) = (None, choice),
        Err(_) => options.strategy = Some(value.parse()?),
    }
    Ok(())
}

/// A target is known by its name in every process.
mod by_name {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use splitbar_plan::Target;

    pub(super) fn serialize<S: Serializer>(
        target: &&'static Target,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        target.name.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<&'static Target, D::Error> {
        let name = String::deserialize(deserializer)?;
        Target::by_name(&name).ok_or_else(|| D::Error::custom(format!("no target {name}")))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::CheckOptions;

    fn options() -> Options {
        Options::new(Target::by_name("gfx1201").unwrap())
    }

    #[test]
    fn values_are_those_of_the_command_line() {
        let mut options = options();
        for (name, value) in [
            ("O", "3"),
            ("strategy", "counter"),
            ("fill-windows", "96"),
            ("unroll-barrier-loops", "512"),
            ("prefetch-loop-loads", "true"),
            ("workgroup-size", "64, 1,1"),
            ("no-scheduling-barriers", "true"),
            ("abi", "descriptor-sets:16"),
            ("target-env", "vulkan1.1"),
        ] {
            options.set(name, value).unwrap();
        }
        assert_eq!(options.optimization, Optimization::O3);
        assert_eq!(options.strategy, Some(Strategy::Counter));
        assert_eq!(options.workgroup_size, Some([64, 1, 1]));
        assert!(!options.scheduling_barriers && options.prefetch_loop_loads);
        assert_eq!(options.fill_windows, Some(96));
        assert_eq!(options.unroll_barrier_loops, Some(512));
        options.set("strategy", "auto=fast").unwrap();
        assert_eq!((options.strategy, options.choice), (None, Choice::Fast));
    }

    #[test]
    fn wrong_ones_say_what_is_right() {
        for (name, value, says) in [
            ("poem", "1", "there is no option \"poem\""),
            ("O", "4", "not one of 0, 1, 2, 3"),
            ("audit", "yes", "not one of true, false"),
            ("workgroup-size", "1,2", "is not X,Y,Z"),
            ("workgroup-size", "1,2,0", "is not X,Y,Z"),
            ("workgroup-size", "1,2,3,x", "is not X,Y,Z"),
            ("fill-windows", "all", "is not a number"),
            ("strategy", "none", "there is no strategy"),
            ("target-env", "opengl", "is not one of"),
        ] {
            let said = options().set(name, value).unwrap_err();
            assert!(said.contains(says), "{said}");
        }
        let names: BTreeSet<&str> = Options::declared().map(|option| option.name).collect();
        assert_eq!(names.len(), Options::declared().count());
        let mut check = CheckOptions::default();
        check.set("strict", "true").unwrap();
        assert!(check.strict && check.set("audit", "true").is_err());
    }
}
