//! What a caller can ask of a [`Compiler`](crate::Compiler).

use splitbar_passes::analysis::phases::Aliasing;
use splitbar_passes::module::{SpecValues, WordOffset};
use splitbar_passes::validate::Validation;
use splitbar_plan::{FuseAt, Optimization, Placement, PlanOptions, Strategy, Target, Waits};
use splitbar_typed::abi::AbiForm;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// How the strategy of workgroup-scope pairs is chosen.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Choice {
    /// The best one that splits, wherever one fits. The program's `auto` is not this one.
    #[default]
    AlwaysSplit,
    /// That one, or a full barrier in place of each pair whose window in SPIR-V is narrower than
    /// the target's row asks for. Compiles once; what registers a kernel takes is not looked at.
    Fast,
    /// That one, or a full barrier in place of each pair whose window in the final code is narrower
    /// than the target's row asks for, and of all pairs of an entry point that leave fewer
    /// workgroups resident at once. The module is compiled with every pair split, and once more if
    /// that leaves something open. On NVIDIA GPUs ptxas says what a kernel takes; without it
    /// bounds of that decide.
    Balanced,
}

/// Whether the OpControlBarriers of the workgroup are split.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum SplitBarriers {
    /// They stay as they are, and so do written pairs.
    #[default]
    Never,
    /// As [`SplitBarriers::Always`], but barriers that are not worth it stay as they are: by
    /// [`Choice::Fast`] where the options say that, else as by [`Choice::Balanced`].
    Auto,
    /// Those that order nothing go. Each of the others becomes a pair; arrives move up and waits
    /// down, those of written pairs as well, past work that the barrier need not order; and pairs
    /// whose window stays small become OpControlBarriers again.
    Always,
}

/// The memory that workgroup barriers order: all that their semantics name, or only memory on which
/// two invocations can conflict around the barrier
/// ([`Narrowed`](splitbar_passes::analysis::phases::Narrowed)).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum NarrowBarriers {
    /// All that the semantics name.
    Never,
    /// Memory with conflicts; any two buffers, images and pointers may be the same memory.
    Aliased,
    /// Memory with conflicts; buffers, images and pointers are separate memory where SPIR-V says so
    /// (2.18.2): without the decoration Aliased, and in OpenCL with Restrict.
    #[default]
    Declared,
}

/// How a module is compiled. [`Options::new`] gives the defaults; fields may then be set.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Options {
    /// The GPU that code is made for.
    #[serde(with = "by_name")]
    pub target: &'static Target,
    /// The name of the one entry point to compile; `None` compiles all of them.
    pub entry: Option<String>,
    /// Values of specialization constants by SpecId. Those that are not named keep their defaults.
    pub spec: SpecValues,
    /// The strategy of workgroup-scope pairs; `None` lets `choice` decide.
    pub strategy: Option<Strategy>,
    /// How a strategy is chosen where none is named.
    pub choice: Choice,
    /// Whether OpControlBarriers are split.
    pub split_barriers: SplitBarriers,
    /// With [`Options::split_barriers`], takes every barrier to order all memory, whatever its
    /// semantics say: for shaders that count on `barrier()` to order buffers. No barrier is
    /// narrowed then ([`Options::narrow_barriers`]).
    pub barriers_order_all_memory: bool,
    /// The memory that workgroup barriers order.
    pub narrow_barriers: NarrowBarriers,
    /// With [`Options::split_barriers`], moves other instructions into the windows too, as long as
    /// at most so many 32-bit words of results are live at an arrive or a wait.
    pub fill_windows: Option<u32>,
    /// With [`Options::split_barriers`], loads one iteration ahead what a loop stores to shared
    /// memory in front of its first barrier. Takes registers, as many as a lane loads.
    pub stage_loop_loads: bool,
    /// With [`Options::split_barriers`], unrolls loops that have barriers and a constant number of
    /// iterations, if all iterations have at most so many instructions of SPIR-V together.
    pub unroll_barrier_loops: Option<u32>,
    /// A profile of the module ([`splitbar_passes::profile`]), as the kernel left it: with it a
    /// barrier that was measured is split where its window hides more of the time by which waves
    /// differ than a phase costs. Of another module it is refused (`ForeignProfile`), of another
    /// GPU, wave size or number of waves in a workgroup, too (`ProfileTarget`); one that names no
    /// GPU is a warning. With [`Choice::AlwaysSplit`] it chooses as
    /// [`Choice::Balanced`]; where a strategy is named it is not looked at.
    pub profile: Option<Vec<u8>>,
    /// Barriers of the workgroup that are full barriers whatever else is chosen, by their word
    /// offsets in the module: those of arrives, and with [`Options::split_barriers`] those of
    /// OpControlBarriers, which then stay as they are. Words at which neither stands mean nothing.
    pub full_barriers: BTreeSet<WordOffset>,
    /// Where a fused barrier stands.
    pub fuse_at: FuseAt,
    /// Keeps compilers from closing the window of really split pairs. On by default; off is for
    /// measurements.
    pub window_guards: bool,
    /// Waits for outstanding memory operations at barriers (AMDGPU).
    pub waits: Waits,
    /// Where the waves of a workgroup run (AMDGPU).
    pub placement: Placement,
    /// Workgroups of a cluster in x, y and z; `None`: the kernel is not launched in clusters. With
    /// [`Strategy::Cluster`] all of them meet at each split barrier.
    pub cluster: Option<[u32; 3]>,
    /// Makes copies from global to workgroup memory asynchronous where the target has instructions
    /// for it and the program cannot tell.
    pub promote_async_copies: bool,
    /// LLVM's optimisation level, -O2 by default.
    pub optimization: Optimization,
    /// Rounds quotients and square roots of 32 and 16 bits correctly. Without it they have the
    /// errors that the environment allows (docs/features.md): Vulkan 2.5 ULP for a quotient,
    /// OpenCL 2.5 ULP and 3 ULP for a root.
    pub correctly_rounded_divide_sqrt: bool,
    /// The wave size; `None` is the target's default.
    pub wave_size: Option<u32>,
    /// The invocations of a subgroup, a power of two up to the wave size; `None` is what the entry
    /// point asks for (SubgroupSize), else the wave size.
    pub subgroup_size: Option<u32>,
    /// The workgroup size of entry points that leave it open (OpenCL kernels without
    /// `reqd_work_group_size`), and the value of each specialization constant that is a dimension
    /// of a workgroup and has no value in `spec`.
    pub workgroup_size: Option<[u32; 3]>,
    /// Which rules the module has to keep: those of the environment that it is meant for, of
    /// another one, or none.
    pub validation: Validation,
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
    ///     include_bytes!("../../../fixtures/kernels/buffer_exchange/buffer_exchange.spv");
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
    pub abi: AbiForm,
    /// Measures how much of every window is left in the final assembly. This generates assembly.
    pub measure: bool,
    /// Debug lines in assembly and objects: each number is the word offset, in the module, of the
    /// SPIR-V instruction that code came from, plus 1. The columns say which loads and stores are
    /// atomic ([`splitbar_plan::AccessMark`]).
    pub lines: bool,
    /// The ptxas for cubins and for windows in machine code (NVIDIA); `None` searches one:
    /// `SPLITBAR_PTXAS`, then PATH.
    pub ptxas: Option<PathBuf>,
    /// The linker for code objects: a path to `ld.lld`, `lld` or `rust-lld`; `None` searches one:
    /// `SPLITBAR_LLD`, then PATH, then Rust's tool chain.
    pub lld: Option<PathBuf>,
    /// Audits the final assembly, the same that is measured. A barrier that can be reached with
    /// operations outstanding that it releases is an error then, and so is a fence of the plan that
    /// left no invalidation, write-back or fence of PTX where it is needed.
    pub audit: bool,
}

impl Options {
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
        let plan = PlanOptions::default();
        Options {
            target,
            entry: None,
            spec: SpecValues::default(),
            strategy: plan.strategy,
            choice: Choice::default(),
            split_barriers: SplitBarriers::default(),
            barriers_order_all_memory: false,
            narrow_barriers: NarrowBarriers::default(),
            fill_windows: None,
            stage_loop_loads: false,
            unroll_barrier_loops: None,
            profile: None,
            full_barriers: BTreeSet::new(),
            fuse_at: plan.fuse_at,
            window_guards: plan.window_guards,
            waits: plan.waits,
            placement: plan.placement,
            cluster: plan.cluster,
            promote_async_copies: false,
            optimization: Optimization::O2,
            correctly_rounded_divide_sqrt: false,
            wave_size: plan.wave_size,
            subgroup_size: plan.subgroup_size,
            workgroup_size: None,
            validation: Validation::Default,
            abi: AbiForm::Arguments,
            measure: false,
            lines: false,
            ptxas: None,
            lld: None,
            audit: false,
        }
    }
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
