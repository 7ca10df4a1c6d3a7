//! What a caller can ask of a [`Compiler`](crate::Compiler).

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
    /// How a module is compiled. [`Options::new`] gives the defaults; fields may then be set.
    #[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
    #[non_exhaustive]
    pub struct Options(target: &'static Target);

    /// The GPU that code is made for.
    #[serde(with = "by_name")]
    target: &'static Target = target;
    /// The name of the one entry point to compile; `None` compiles all of them.
    entry: Option<String> = None => {
        "entry": {
            part: Part::Module,
            value: ValueForm::Text("NAME"),
            summary: "Compiles this entry point alone",
            set: |options, text| put(&mut options.entry, Ok(Some(text.to_owned()))),
        }
    };
    /// Values of specialization constants by SpecId. Those that are not named keep their defaults.
    spec: SpecValues = SpecValues::default();
    /// The strategy of workgroup-scope pairs; `None` lets `choice` decide.
    strategy: Option<Strategy> = None => {
        "strategy": {
            heading: Heading::Barriers,
            llvm_ir: true,
            value: ValueForm::OneOf("STRATEGY", || names(CHOICES).into_iter().chain(strategies()).collect()),
            default: Some("auto"),
            summary: "How workgroup-scope split barriers are lowered",
            set: set_strategy,
        }
    };
    /// How a strategy is chosen where none is named.
    choice: Choice = Choice::default();
    /// Whether OpControlBarriers are split.
    split_barriers: SplitBarriers = SplitBarriers::default() => {
        "split-barriers": {
            heading: Heading::Barriers,
            part: Part::Module,
            value: ValueForm::OneOf("WHEN", || names(SPLIT_BARRIERS)),
            default: Some("never"),
            summary: "Splits OpControlBarriers, and moves the halves of all pairs apart",
            details: "As far as no access can tell: docs/splitting.md.",
            set: |options, text| put(&mut options.split_barriers, one_of(SPLIT_BARRIERS, text)),
        }
    };
    /// With [`Options::split_barriers`], takes every barrier to order all memory, whatever its
    /// semantics say: for shaders that count on `barrier()` to order buffers. No barrier is
    /// narrowed then ([`Options::narrow_barriers`]).
    barriers_order_all_memory: bool = false => {
        "assume-barriers-order-all-memory": {
            heading: Heading::Barriers,
            part: Part::Module,
            summary: "With --split-barriers: every barrier orders all memory",
            details: "For shaders that count on barrier() to order buffers though it names workgroup memory alone. No barrier is narrowed then.",
            set: |options, text| put(&mut options.barriers_order_all_memory, flag(text)),
        }
    };
    /// The memory that workgroup barriers order.
    narrow_barriers: NarrowBarriers = NarrowBarriers::default() => {
        "narrow-barriers": {
            heading: Heading::Barriers,
            part: Part::Module,
            value: ValueForm::OneOf("MEMORY", || names(NARROW_BARRIERS)),
            default: Some("declared"),
            summary: "The memory that a workgroup barrier orders",
            details: "All that its semantics name, or only memory on which two invocations can conflict around the barrier.",
            set: |options, text| put(&mut options.narrow_barriers, one_of(NARROW_BARRIERS, text)),
        }
    };
    /// With [`Options::split_barriers`], moves other instructions into the windows too, as long as
    /// at most so many 32-bit words of results are live at an arrive or a wait.
    fill_windows: Option<u32> = None => {
        "fill-windows": {
            heading: Heading::Barriers,
            part: Part::Module,
            value: ValueForm::Optional { name: "N", missing: "96" },
            summary: "With --split-barriers: moves other instructions into the windows too",
            details: "As long as at most N registers of results are live at an arrive or a wait, 96 without =N.",
            set: |options, text| put(&mut options.fill_windows, number(text)),
        }
    };
    /// With [`Options::split_barriers`], loads one iteration ahead what a loop stores to shared
    /// memory in front of its first barrier. Takes registers, as many as a lane loads.
    prefetch_loop_loads: bool = false => {
        "prefetch-loop-loads": {
            aliases: &["stage-loop-loads"],
            heading: Heading::Barriers,
            part: Part::Module,
            summary: "With --split-barriers: loads of a loop run one iteration ahead",
            details: "Those whose results the loop stores to workgroup memory before its first barrier.",
            set: |options, text| put(&mut options.prefetch_loop_loads, flag(text)),
        }
    };
    /// Whether loops are pipelined that fill workgroup arrays before a barrier and read them after
    /// it: the next iteration is loaded while one works. Specialization constants get their values
    /// first.
    pipeline_loops: PipelineLoops = PipelineLoops::default() => {
        "pipeline-loops": {
            heading: Heading::Barriers,
            part: Part::Module,
            value: ValueForm::OneOf("N", || names(PIPELINE_LOOPS)),
            default: Some("never"),
            summary: "Pipelines loops",
            details: "Loops that fill workgroup arrays before a barrier and read them after it load the next iteration while one works: with two buffers and one split barrier an iteration, or with one buffer and two barriers (docs/pipelining.md).",
            set: |options, text| put(&mut options.pipeline_loops, one_of(PIPELINE_LOOPS, text)),
        }
    };
    /// With [`Options::split_barriers`], unrolls loops that have barriers and a constant number of
    /// iterations, if all iterations have at most so many instructions of SPIR-V together.
    unroll_barrier_loops: Option<u32> = None => {
        "unroll-barrier-loops": {
            heading: Heading::Barriers,
            part: Part::Module,
            value: ValueForm::Text("N"),
            summary: "With --split-barriers: unrolls loops that have barriers",
            details: "Those with a constant number of iterations, up to N instructions of SPIR-V for each loop.",
            set: |options, text| put(&mut options.unroll_barrier_loops, number(text)),
        }
    };
    /// A profile of the module ([`splitbar_passes::profile`]), as the kernel left it: with it a
    /// barrier that was measured is split where its window hides more of the time by which waves
    /// differ than a phase costs. Of another module it is refused (`ForeignProfile`), of another
    /// GPU, wave size or number of waves in a workgroup, too (`ProfileTarget`); one that names no
    /// GPU is a warning. With [`Choice::AlwaysSplit`] it chooses as
    /// [`Choice::Balanced`]; where a strategy is named it is not looked at.
    profile: Option<Vec<u8>> = None;
    /// The launch by which [`Choice::Measured`] goes; without one that is refused
    /// (`UnsupportedStrategy`).
    launch: Option<Launch> = None;
    /// Barriers of the workgroup that are full barriers whatever else is chosen, by their word
    /// offsets in the module: those of arrives, and with [`Options::split_barriers`] those of
    /// OpControlBarriers, which then stay as they are. Words at which neither stands mean nothing.
    full_barriers: BTreeSet<WordOffset> = BTreeSet::new();
    /// Where a fused barrier stands.
    fuse_at: FuseAt = FuseAt::Wait => {
        "fuse-at": {
            heading: Heading::Barriers,
            value: ValueForm::OneOf("PLACE", || names(FUSE_AT)),
            default: Some("wait"),
            summary: "Where a fused barrier stands",
            set: |options, text| put(&mut options.fuse_at, one_of(FUSE_AT, text)),
        }
    };
    /// Keeps compilers from closing the window of really split pairs. On by default; off is for
    /// measurements.
    scheduling_barriers: bool = true => {
        "no-scheduling-barriers": {
            aliases: &["no-window-guards"],
            heading: Heading::Barriers,
            part: Part::Code,
            llvm_ir: true,
            summary: "Writes no scheduling barriers at arrives and waits, to see the effect",
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
            summary: "Waits for outstanding memory at barriers (AMDGPU)",
            set: |options, text| put(&mut options.waits, one_of(WAITS, text)),
        }
    };
    /// Where the waves of a workgroup run (AMDGPU).
    placement: Placement = Placement::Default => {
        "cu-mode": {
            heading: Heading::Code,
            excluded_by: &["tgsplit"],
            summary: "Runs a workgroup on one compute unit (gfx10 to gfx12.0)",
            set: |options, text| place(options, Placement::CuMode, text),
        }
        "tgsplit": {
            heading: Heading::Code,
            excluded_by: &["cu-mode"],
            summary: "Spreads a workgroup over compute units (gfx90a, gfx942, gfx950)",
            details: "It then has no workgroup memory.",
            set: |options, text| place(options, Placement::ThreadgroupSplit, text),
        }
    };
    /// Workgroups of a cluster in x, y and z; `None`: the kernel is not launched in clusters. With
    /// [`Strategy::Cluster`] all of them meet at each split barrier.
    cluster: Option<[u32; 3]> = None => {
        "cluster-size": {
            heading: Heading::Barriers,
            value: ValueForm::Text("X,Y,Z"),
            summary: "Workgroups of a cluster, in which the kernel is launched",
            details: "With --strategy cluster all of a cluster meet at each split barrier.",
            set: |options, text| put(&mut options.cluster, parse_size(text).map(Some)),
        }
    };
    /// Makes copies from global to workgroup memory asynchronous where the target has instructions
    /// for it and the program cannot tell.
    promote_async_copies: bool = false => {
        "promote-async-copies": {
            heading: Heading::Barriers,
            part: Part::Code,
            summary: "Makes copies to workgroup memory asynchronous",
            details: "Where the target can and the program cannot tell: docs/async.md.",
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
    /// Rounds divisions and square roots of 32 and 16 bits correctly. Without it they have the
    /// errors that the environment allows (docs/features.md): Vulkan 2.5 ULP for a quotient,
    /// OpenCL 2.5 ULP and 3 ULP for a root.
    correctly_rounded_divide_sqrt: bool = false => {
        "correctly-rounded-divide-sqrt": {
            heading: Heading::Code,
            part: Part::Code,
            llvm_ir: true,
            summary: "Rounds divisions and square roots of 32 and 16 bits correctly",
            details: "Without it they have the errors that Vulkan and OpenCL allow: docs/features.md.",
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
            summary: "Invocations of a wave",
            details: "Without it, the target's default.",
            set: |options, text| put(&mut options.wave_size, one_of(WAVES, text)),
        }
    };
    /// The invocations of a subgroup, a power of two up to the wave size; `None` is what the entry
    /// point asks for (SubgroupSize), else the wave size.
    subgroup_size: Option<u32> = None => {
        "subgroup-size": {
            heading: Heading::Code,
            value: ValueForm::Text("SIZE"),
            summary: "Invocations of a subgroup, a wave or a part of one",
            details: "Without it, what the module asks for (SubgroupSize), else a wave.",
            set: |options, text| put(&mut options.subgroup_size, subgroup(text)),
        }
    };
    /// The workgroup size of entry points that leave it open (OpenCL kernels without
    /// `reqd_work_group_size`), and the value of each specialization constant that is a dimension
    /// of a workgroup and has no value in `spec`.
    workgroup_size: Option<[u32; 3]> = None => {
        "workgroup-size": {
            llvm_ir: true,
            value: ValueForm::Text("X,Y,Z"),
            summary: "The workgroup size of kernels that leave it open",
            details: "In SPIR-V also that of specialization constants without a --spec.",
            set: |options, text| put(&mut options.workgroup_size, parse_size(text).map(Some)),
        }
    };
    /// Which rules the module has to keep: those of the environment that it is meant for, of
    /// another one, or none.
    validation: Validation = Validation::Default => {
        "target-env": {
            heading: Heading::Rules,
            part: Part::Module,
            value: ValueForm::Text("ENV"),
            excluded_by: &["no-validate"],
            summary: "Whose rules: universal, vulkan1.0 to 1.4, opencl1.2 to 3.0",
            details: "Without it vulkan1.3, or universal for OpenCL modules.",
            set: |options, text| put(&mut options.validation, text.parse().map(Validation::Environment)),
        }
        "no-validate": {
            heading: Heading::Rules,
            part: Part::Module,
            excluded_by: &["target-env"],
            summary: "Does not check the rules of `splitbar check` first",
            details: "But for those that code cannot be made without.",
            set: waive,
        }
    };
    /// How the buffers and images of a shader are handed over (docs/abi.md).
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
            summary: "How buffers are passed: arguments, descriptor-sets, descriptor-sets:16",
            details: "The number is the bytes of a descriptor, 32 without it: docs/abi.md.",
            set: |options, text| put(&mut options.abi, text.parse()),
        }
    };
    /// Measures how much of every window is left in the final assembly. This generates assembly.
    measure: bool = false => {
        "measure": {
            heading: Heading::Output,
            part: Part::Output,
            llvm_ir: true,
            summary: "With --emit plan: counts what is left of each window",
            details: "--emit reflect always does.",
            set: |options, text| put(&mut options.measure, flag(text)),
        }
    };
    /// Debug information in assembly and objects that leads to the source of the module, where
    /// that has lines (OpLine, DebugLine): DWARF 5 for AMD GPUs, `.loc` directives of PTX for
    /// NVIDIA GPUs. The instructions are those of code without it. With [`Options::lines`] it has
    /// no effect, nor have [`Options::source`] and [`Options::comments`]; nor for LLVM IR.
    debug_info: bool = false => {
        "g": {
            heading: Heading::Output,
            part: Part::Output,
            summary: "Writes debug information that leads to the source",
            details: "DWARF in objects and assembly of AMD GPUs, line directives in PTX. The module needs lines, as glslangValidator -g writes them.",
            set: |options, text| put(&mut options.debug_info, flag(text)),
        }
    };
    /// Lines of the source as comments in assembly, where the module has lines.
    source: bool = false => {
        "source": {
            heading: Heading::Output,
            part: Part::Output,
            summary: "With --emit asm: shows source lines between the instructions",
            details: "As llvm-objdump --source does. The module needs lines, as glslangValidator -g writes them.",
            set: |options, text| put(&mut options.source, flag(text)),
        }
    };
    /// Comments in assembly: the strategy of each barrier, where windows begin and end, what fences
    /// and waits order.
    comments: bool = false => {
        "comments": {
            heading: Heading::Output,
            part: Part::Output,
            summary: "With --emit asm: explains barriers, windows, fences and waits",
            set: |options, text| put(&mut options.comments, flag(text)),
        }
    };
    /// Debug lines in assembly and objects: each number is the word offset, in the module, of the
    /// SPIR-V instruction that code came from, plus 1. The columns say which loads and stores are
    /// atomic ([`splitbar_plan::AccessMark`]).
    lines: bool = false;
    /// The ptxas for cubins and for windows in machine code (NVIDIA); `None` searches one:
    /// `SPLITBAR_PTXAS`, then PATH.
    ptxas: Option<PathBuf> = None => {
        "ptxas": {
            heading: Heading::Code,
            part: Part::Output,
            llvm_ir: true,
            value: ValueForm::File,
            summary: "The ptxas, if not that of SPLITBAR_PTXAS or PATH",
            details: "For --emit cubin, for windows in machine code, and for the resource usage of a kernel on NVIDIA GPUs.",
            set: |options, text| put(&mut options.ptxas, Ok(Some(text.into()))),
        }
    };
    /// The linker for code objects: a path to `ld.lld`, `lld` or `rust-lld`; `None` searches one:
    /// `SPLITBAR_LLD`, then PATH, then Rust's tool chain.
    lld: Option<PathBuf> = None => {
        "lld": {
            heading: Heading::Code,
            part: Part::Output,
            llvm_ir: true,
            value: ValueForm::File,
            summary: "The linker, if not that of SPLITBAR_LLD or PATH",
            details: "For --emit hsaco: a path to ld.lld, lld or rust-lld; without one, that of Rust's tool chain.",
            set: |options, text| put(&mut options.lld, Ok(Some(text.into()))),
        }
    };
    /// Audits the final assembly, the same that is measured. A barrier that can be reached with
    /// operations outstanding that it releases is an error then, and so is a fence of the plan that
    /// left no invalidation, write-back or fence of PTX where it is needed.
    audit: bool = false => {
        "audit": {
            heading: Heading::Output,
            part: Part::Output,
            llvm_ir: true,
            summary: "Fails if the assembly lacks a wait or a fence that the plan promises",
            details: "Or an invalidation, or a write-back. --emit reflect shows the audit: docs/audit.md.",
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

    /// Which memory may be the same where barriers are narrowed; `None` where they are not.
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

/// A strategy, or how one is chosen.
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
            ("O", "4", "none of 0, 1, 2, 3"),
            ("audit", "yes", "none of true, false"),
            ("workgroup-size", "1,2", "is not X,Y,Z"),
            ("workgroup-size", "1,2,0", "is not X,Y,Z"),
            ("workgroup-size", "1,2,3,x", "is not X,Y,Z"),
            ("fill-windows", "all", "is not a number"),
            ("strategy", "none", "no strategy is called"),
            ("target-env", "opengl", "is none of"),
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
