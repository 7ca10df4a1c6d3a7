//! The program `splitbar`: what its command line accepts. Each command has a file.

mod advise;
mod arguments;
mod audit;
mod batch;
mod buffer_name;
mod check;
mod code;
mod compare;
mod depfile;
mod described;
mod emit;
mod estimate;
mod explain;
mod explanations;
mod flags;
mod help;
mod input;
mod launch;
mod limits;
mod lower;
mod lower_ir;
mod meter;
mod model;
mod profile;
mod report;
mod shell;
mod sim;
mod split;
mod stop;
mod strategy;
mod table;
mod targets;
mod validation;
mod warnings;
mod worker;
mod write;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, FromArgMatches, Parser, Subcommand, ValueEnum};
use code::CodeArgs;
use limits::LimitArgs;
use split::SplitArgs;
use splitbar::spec::Setting;
use splitbar::{AbiForm, FuseAt, Optimization, Placement, Target, Waits};
use splitbar_passes::validate::Environment;
use splitbar_plan::{FenceMemory, FenceScope};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;
use std::time::Duration;
use strategy::{Choice, strategies};
use validation::ValidationArgs;
use warnings::WarningArgs;

/// Compiles SPIR-V compute modules with split barriers for AMD and NVIDIA GPUs.
#[derive(Debug, Parser)]
#[command(name = "splitbar", version = version(), propagate_version = true, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    colour: colorchoice_clap::Color,
}

/// The release, the commit that it was built of, and its LLVM.
fn version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let llvm = match splitbar::llvm_version() {
            Some(llvm) => format!("LLVM {llvm}"),
            None => "no LLVM".to_owned(),
        };
        let (release, commit) = (env!("CARGO_PKG_VERSION"), env!("SPLITBAR_COMMIT"));
        format!("{release} (commit {commit}; {llvm})")
    });
    &TEXT
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 the module is invalid, 2 wrong usage or a file that cannot be read or written,
3 unsupported by this target or build (limits included), 4 a bug in splitbar.";

const LOWER_EXAMPLES: &str = "\
Examples:
  splitbar lower k.spv --target gfx1201                        assembly to the standard output
  splitbar lower k.spv --target sm_90 --emit plan              why each barrier is split or not
  splitbar lower k.spv --target sm_90 --emit ptx=k.ptx --emit reflect=k.json    PTX, and its launch
  splitbar lower k.spv --target gfx1100 --emit hsaco=k.co --emit reflect=k.json -MD -MF k.d
  splitbar lower k.spv --target sm_80 --spec 0=128 --spec 1=1.5 --strategy fused
  glslangValidator -V --quiet -o /dev/stdout k.comp | splitbar lower - --target gfx1201

Exit codes: 0 done, 1 the module is invalid, 2 wrong usage or a file that cannot be read or written,
3 unsupported by this target or build (limits included), 4 a bug in splitbar.";

const AUDIT_EXAMPLES: &str = "\
Examples:
  splitbar lower kernel.spv --target gfx1201 --audit --emit reflect -o kernel.json
  splitbar lower kernel.spv --target gfx1201 --emit obj -o kernel.o
  splitbar audit kernel.o --target gfx1201 --plan kernel.json   against what the barriers ask
  splitbar audit other.s --target gfx942 --release local        another compiler's code
  splitbar audit other.s --target gfx1201 --release all --acquire all --scope device
  splitbar audit other.ptx --target sm_90 --release all --acquire all --scope device

Exit codes: 0 nothing found, 1 a wait, an invalidation, a write-back or a fence is missing, 2 wrong
usage or a file that cannot be read.";

const MODEL_EXAMPLES: &str = "\
Examples:
  splitbar model kernel.spv --target gfx1201                          what is lowered by default
  splitbar model kernel.spv --target gfx1100 --strategy counter --waves 4 --unroll 2
  splitbar model kernel.spv --target gfx1250 --strategy cluster --cluster-size 2,1,1 --waves 2
  splitbar model kernel.spv --target sm_90 --format json

The model has the barriers alone, without loads and stores. At a branch around barriers all waves go
the same way, and every way is explored. Where the rules on control flow cannot show that waves do
so, nothing is proved, and the verdict is \"undecided\". A loop goes back up to --unroll times. The
output lists what was not explored.

Exit codes: 0 proved, 1 refuted (with the shortest path to it) or the module is invalid, 2 wrong
usage or a file that cannot be read, 3 undecided, too many states, or unsupported by this target,
4 a bug in splitbar.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Compiles a module for one GPU
    #[command(after_help = LOWER_EXAMPLES)]
    Lower(Box<LowerArgs>),
    /// Compiles an LLVM module whose kernels call split barriers: for compilers that bring their
    /// own IR
    #[command(after_help = lower_ir::EXAMPLES)]
    LowerIr(Box<lower_ir::LowerIrArgs>),
    /// Compiles many modules for several GPUs, by worker processes side by side; takes up where an
    /// earlier run was interrupted
    #[command(after_help = batch::EXAMPLES)]
    Batch(Box<batch::BatchArgs>),
    /// Checks a module against the rules of SPIR-V, Vulkan and OpenCL for barriers; exit code 0
    /// without errors, 1 with
    Check(Box<CheckArgs>),
    /// Audits final code: operations that may be outstanding at each barrier, waits that retire
    /// nothing, and parts of fences that are missing; exit code 1 if it finds something
    #[command(after_help = AUDIT_EXAMPLES)]
    Audit(AuditArgs),
    /// Explores a module's barriers, lowered for one GPU, in every interleaving of a few waves
    #[command(after_help = MODEL_EXAMPLES)]
    Model(Box<ModelArgs>),
    /// Runs a kernel on a simulated GPU under hostile schedules; exit code 1 if a race, a missing
    /// wait, a deadlock or another misuse is found
    #[command(after_help = sim::EXAMPLES)]
    Sim(Box<sim::SimArgs>),
    /// Compiles a module with every strategy and recommends one, by registers, workgroups that are
    /// resident at once, windows and the cost of a phase
    #[command(after_help = advise::EXAMPLES)]
    Advise(Box<advise::AdviseArgs>),
    /// Shows how far apart the subgroups of a workgroup arrived at each barrier: reads the buffer
    /// that `splitbar-opt --instrument-barrier-skew` makes a kernel write
    #[command(after_help = profile::EXAMPLES)]
    Profile(profile::ProfileArgs),
    /// Lists the GPUs: wave size, barrier strategy chosen by default, async copies, minimum PTX
    Targets {
        /// How the list is printed
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Compiles what another process asks for on the standard input
    #[command(hide = true)]
    Worker(Served),
    /// Explains a diagnostic code
    Explain {
        /// The code, such as SB0205
        code: String,
    },
    /// Writes what completes the arguments in a shell
    #[command(after_help = shell::EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Writes a manual page for the program and for each command
    Manual {
        /// The folder that gets them
        folder: PathBuf,
    },
}

/// What a worker is told.
#[derive(Debug, Args)]
struct Served {
    /// The memory that it may use
    #[arg(long, value_name = "BYTES")]
    memory: Option<u64>,
    /// The process that has asked for the command, and whose end is this one's
    #[arg(long, value_name = "PROCESS", requires = "command")]
    owner: Option<u32>,
    /// The command to run, in place of requests
    #[arg(last = true, requires = "owner")]
    command: Vec<OsString>,
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// The SPIR-V module; `-` is the standard input
    input: PathBuf,
    /// Whose rules: universal, vulkan1.0 to 1.4, opencl1.2 to 3.0
    ///
    /// Without it, by the module's capabilities.
    #[arg(long, value_name = "ENV", value_parser = parse_environment)]
    target_env: Option<Environment>,
    /// A GPU whose limits the module must keep
    ///
    /// With what its lowering reserves for split barriers.
    #[arg(long, value_parser = parse_target)]
    target: Option<&'static Target>,
    /// How the lowering for --target takes split barriers
    #[arg(long, default_value = "auto", value_parser = strategies(), requires = "target")]
    strategy: Choice,
    /// A specialization constant: decimal, 0x bits, a float, true, false
    #[arg(long, value_name = "ID=VALUE", value_parser = parse_setting, allow_hyphen_values = true)]
    spec: Vec<Setting>,
    /// Takes specialization constants without --spec at their defaults
    ///
    /// As `lower` does; else a branch on one is undecided.
    #[arg(long)]
    assume_default_spec: bool,
    /// Reports what can be neither proved nor refuted as an error
    #[arg(long)]
    strict: bool,
    /// A limit, such as maxComputeSharedMemorySize=32768
    #[arg(long, value_name = "NAME=N", value_parser = check::parse_limit)]
    limit: Vec<(String, u64)>,
    /// How problems are printed
    ///
    /// On the standard error.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    diagnostics: Format,
    #[command(flatten)]
    warnings: WarningArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Debug, Args)]
struct AuditArgs {
    /// An object, assembly as LLVM prints it, or PTX; `-`: standard input
    input: PathBuf,
    /// The GPU that the code is for
    #[arg(long, value_parser = parse_target)]
    target: &'static Target,
    /// What the barriers ask: of `splitbar lower --audit --emit reflect`
    ///
    /// With the same options.
    #[arg(long, value_name = "FILE", conflicts_with = "release")]
    plan: Option<PathBuf>,
    /// The memory that every barrier releases
    ///
    /// Without this, --acquire and --plan nothing is judged.
    #[arg(long, value_enum)]
    release: Option<Memory>,
    /// The memory that every barrier acquires
    #[arg(long, value_enum, conflicts_with = "plan")]
    acquire: Option<Memory>,
    /// The scope of --release and --acquire
    #[arg(long, value_enum, default_value_t = MemoryScope::Workgroup, conflicts_with = "plan")]
    scope: MemoryScope,
    /// The code is for workgroups on one compute unit (gfx10 to gfx12.0)
    #[arg(long, conflicts_with = "plan")]
    cu_mode: bool,
    /// The code is for spread workgroups (gfx90a, gfx942, gfx950)
    #[arg(long, conflicts_with_all = ["cu_mode", "plan"])]
    tgsplit: bool,
    /// How the audit is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    report: Format,
    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Debug, Args)]
struct ModelArgs {
    /// The SPIR-V module; `-` is the standard input
    input: PathBuf,
    /// The GPU that the barriers are lowered for
    #[arg(long, value_parser = parse_target)]
    target: &'static Target,
    /// Explores this entry point alone
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// How workgroup-scope split barriers are lowered
    #[arg(long, default_value = "auto", value_parser = strategies())]
    strategy: Choice,
    /// Where a fused barrier stands
    #[arg(long, value_enum, default_value_t = FuseAtArg::Wait)]
    fuse_at: FuseAtArg,
    /// Workgroups of a cluster, in which the kernel is launched
    ///
    /// With --strategy cluster all of a cluster are explored.
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_size)]
    cluster_size: Option<[u32; 3]>,
    /// Waves of a workgroup that are explored, 1 to 16; no more than it has
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=16))]
    waves: u8,
    /// How many times a loop repeats at most
    #[arg(long, value_name = "N", default_value_t = 3)]
    unroll: u8,
    /// Ends the exploration without a verdict after this many states
    #[arg(long, value_name = "N", default_value_t = splitbar::Bounds::default().most_states)]
    states: usize,
    /// Invocations of a wave
    ///
    /// Without it, the target's default.
    #[arg(long, value_name = "SIZE", value_parser = wave_sizes())]
    wave: Option<u32>,
    /// Invocations of a subgroup, a wave or a part of one
    ///
    /// Without it, what the module asks for (SubgroupSize), else a wave.
    #[arg(long, value_name = "SIZE", value_parser = clap::value_parser!(u32).range(1..=64))]
    subgroup_size: Option<u32>,
    /// The workgroup size of kernels that leave it open
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_size)]
    workgroup_size: Option<[u32; 3]>,
    /// A specialization constant: decimal, 0x bits, a float, true, false
    #[arg(long, value_name = "ID=VALUE", value_parser = parse_setting, allow_hyphen_values = true)]
    spec: Vec<Setting>,
    /// How the verdicts are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    warnings: WarningArgs,
    #[command(flatten)]
    split: SplitArgs,
    #[command(flatten)]
    validation: ValidationArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Memory {
    /// LDS, shared memory
    Local,
    /// Everything else
    Global,
    /// All memory
    All,
}

impl From<Memory> for FenceMemory {
    fn from(memory: Memory) -> FenceMemory {
        match memory {
            Memory::Local => FenceMemory::Local,
            Memory::Global => FenceMemory::Global,
            Memory::All => FenceMemory::All,
        }
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum MemoryScope {
    /// One workgroup
    Workgroup,
    /// One device
    Device,
    /// All devices and the host
    System,
}

impl From<MemoryScope> for FenceScope {
    fn from(scope: MemoryScope) -> FenceScope {
        match scope {
            MemoryScope::Workgroup => FenceScope::Workgroup,
            MemoryScope::Device => FenceScope::Device,
            MemoryScope::System => FenceScope::System,
        }
    }
}

/// Where the waves of a workgroup run, by what was asked for.
fn placement(cu_mode: bool, tgsplit: bool) -> Placement {
    match (cu_mode, tgsplit) {
        (true, _) => Placement::CuMode,
        (false, true) => Placement::ThreadgroupSplit,
        (false, false) => Placement::Default,
    }
}

fn parse_environment(text: &str) -> Result<Environment, String> {
    text.parse()
}

#[derive(Clone, Debug, Args)]
struct LowerArgs {
    /// The SPIR-V module; `-` is the standard input
    input: PathBuf,
    /// More modules, which are linked with the first one
    ///
    /// They export what the first one imports, or the other way round.
    #[arg(value_name = "MODULE")]
    linked: Vec<PathBuf>,
    /// The GPU: gfx1201, gfx90a:xnack+, sm_90, sm_90a (`splitbar targets`)
    #[arg(long, value_parser = parse_target)]
    target: &'static Target,
    /// Compiles this entry point alone
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// A specialization constant: decimal, 0x bits, a float, true, false
    #[arg(long, value_name = "ID=VALUE", value_parser = parse_setting, allow_hyphen_values = true)]
    spec: Vec<Setting>,
    /// Goes by this profile of the module where it measured a barrier
    ///
    /// A dump of `sim --profile`, or of an instrumented kernel: docs/profile.md.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Where a fused barrier stands
    #[arg(long, value_enum, default_value_t = FuseAtArg::Wait)]
    fuse_at: FuseAtArg,
    /// Invocations of a subgroup, a wave or a part of one
    ///
    /// Without it, what the module asks for (SubgroupSize), else a wave.
    #[arg(long, value_name = "SIZE", value_parser = clap::value_parser!(u32).range(1..=64))]
    subgroup_size: Option<u32>,
    /// Runs a workgroup on one compute unit (gfx10 to gfx12.0)
    #[arg(long)]
    cu_mode: bool,
    /// Spreads a workgroup over compute units (gfx90a, gfx942, gfx950)
    ///
    /// It then has no workgroup memory.
    #[arg(long, conflicts_with = "cu_mode")]
    tgsplit: bool,
    /// Makes copies to workgroup memory asynchronous
    ///
    /// Where the target can and the program cannot tell: docs/async.md.
    #[arg(long)]
    promote_async_copies: bool,
    /// Workgroups of a cluster, in which the kernel is launched
    ///
    /// With --strategy cluster all of a cluster meet at each split barrier.
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_size)]
    cluster_size: Option<[u32; 3]>,
    /// Writes what the output was made of, for make and ninja; also -MD
    ///
    /// Beside the output, with the extension d.
    #[arg(long)]
    write_dependencies: bool,
    /// Writes them to FILE; also -MF FILE
    #[arg(long, value_name = "FILE", requires = "write_dependencies")]
    dependency_file: Option<PathBuf>,
    /// What they say is made of these files; also -MT NAME
    ///
    /// In place of the outputs.
    #[arg(long, value_name = "NAME", requires = "write_dependencies")]
    dependency_target: Option<String>,
    /// Writes every stage into this folder, each before the next begins
    ///
    /// Without --emit nothing else is written.
    #[arg(long, value_name = "DIR")]
    emit_dir: Option<PathBuf>,
    /// How buffers are passed: arguments, descriptor-sets, descriptor-sets:16
    ///
    /// The number is the bytes of a descriptor, 32 without it: docs/abi.md.
    #[arg(long, value_name = "FORM", default_value = "arguments", value_parser = str::parse::<AbiForm>)]
    abi: AbiForm,
    #[command(flatten)]
    code: CodeArgs,
    #[command(flatten)]
    split: SplitArgs,
    #[command(flatten)]
    validation: ValidationArgs,
    /// Prints the time of each stage, and what runs
    ///
    /// Every five seconds the stage and, unless the module is small, LLVM's pass.
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum FuseAtArg {
    /// At the arrive: before the window
    Arrive,
    /// At the wait: after the window
    Wait,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum WaitsArg {
    /// What the fences need, placed by LLVM
    Auto,
    /// The same as instructions ahead of each fence, and barriers without waits of LLVM's own
    Explicit,
    /// For everything, at every barrier, for comparison
    Conservative,
}

impl From<WaitsArg> for Waits {
    fn from(arg: WaitsArg) -> Waits {
        match arg {
            WaitsArg::Auto => Waits::Auto,
            WaitsArg::Explicit => Waits::Explicit,
            WaitsArg::Conservative => Waits::Conservative,
        }
    }
}

impl From<FuseAtArg> for FuseAt {
    fn from(arg: FuseAtArg) -> FuseAt {
        match arg {
            FuseAtArg::Arrive => FuseAt::Arrive,
            FuseAtArg::Wait => FuseAt::Wait,
        }
    }
}

fn levels() -> impl TypedValueParser<Value = Optimization> {
    PossibleValuesParser::new(["0", "1", "2", "3"]).map(|level| match level.as_str() {
        "0" => Optimization::O0,
        "1" => Optimization::O1,
        "3" => Optimization::O3,
        _ => Optimization::O2,
    })
}

fn wave_sizes() -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(["32", "64"]).map(|size| if size == "64" { 64 } else { 32 })
}

fn parse_target(name: &str) -> Result<&'static Target, String> {
    Target::spelled(name).map_err(|why| {
        if let Some(why) = why {
            return why;
        }
        let nearest: Vec<&str> = Target::nearest(name)
            .iter()
            .map(|target| target.name)
            .collect();
        let hint = if nearest.is_empty() {
            String::new()
        } else {
            format!("; did you mean {}?", nearest.join(" or "))
        };
        format!("no such target{hint} (`splitbar targets` lists them)")
    })
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| !time.is_zero())
        .ok_or_else(|| format!("{text:?} is not a number of seconds above 0"))
}

fn parse_setting(text: &str) -> Result<Setting, String> {
    text.parse()
}

fn parse_size(text: &str) -> Result<[u32; 3], String> {
    let wrong = || format!("{text:?} is not X,Y,Z, three numbers from 1");
    let numbers = text
        .split(',')
        .map(|number| number.trim().parse::<u32>().ok().filter(|n| *n > 0))
        .collect::<Option<Vec<u32>>>()
        .ok_or_else(wrong)?;
    numbers.try_into().map_err(|_| wrong())
}

/// Runs the command that the arguments name.
fn main() -> ExitCode {
    if let Err(text) = arguments::expand() {
        return ExitCode::from(report::usage(&text, Path::new("-"), report::asked()));
    }
    let given = arguments::given();
    let matches = help::command(&given).try_get_matches_from(&given);
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(report::arguments(&error)),
    };
    cli.colour.write_global();
    ExitCode::from(match cli.command.limited() {
        Some((limits, input, format)) if !limits::in_process() => {
            limits::isolated(limits, input, format, || cli.command.run_here())
        }
        _ => cli.command.run_here(),
    })
}

impl Command {
    /// What limits a command that runs in a process of its own, the module that its problems are
    /// about, and how they are printed. `lower` has a worker for its work alone.
    fn limited(&self) -> Option<(&LimitArgs, &Path, Format)> {
        match self {
            Command::Check(args) => Some((&args.limits, &args.input, args.diagnostics)),
            Command::Audit(args) => Some((&args.limits, &args.input, Format::Text)),
            Command::Model(args) => Some((&args.limits, &args.input, Format::Text)),
            Command::Sim(args) => Some(args.limited()),
            Command::Advise(args) => Some(args.limited()),
            Command::Profile(args) => Some(args.limited()),
            Command::Lower(_)
            | Command::LowerIr(_)
            | Command::Batch(_)
            | Command::Targets { .. }
            | Command::Worker(_)
            | Command::Explain { .. }
            | Command::Completions { .. }
            | Command::Manual { .. } => None,
        }
    }

    /// Runs it in this process and gives the exit code.
    fn run_here(&self) -> u8 {
        match self {
            Command::Lower(args) => lower::run(args),
            Command::LowerIr(args) => lower_ir::run(args),
            Command::Batch(args) => batch::run(args),
            Command::Check(args) => check::run(args),
            Command::Audit(args) => audit::run(args),
            Command::Model(args) => model::run(args),
            Command::Sim(args) => sim::run(args),
            Command::Advise(args) => advise::run(args),
            Command::Profile(args) => profile::run(args),
            Command::Targets { format } => targets::run(*format),
            Command::Worker(served) => worker::run(served),
            Command::Explain { code } => explain::run(code),
            Command::Completions { shell } => shell::completions(*shell),
            Command::Manual { folder } => shell::manual(folder),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::strategy::StrategyArg;
    use super::*;
    use clap::CommandFactory;
    use splitbar::Strategy;

    fn lower(args: &[&str]) -> Result<LowerArgs, clap::Error> {
        let all = ["splitbar", "lower", "k.spv"].iter().chain(args);
        match Cli::try_parse_from(all)?.command {
            Command::Lower(args) => Ok(*args),
            Command::LowerIr(_)
            | Command::Batch(_)
            | Command::Check(_)
            | Command::Audit(_)
            | Command::Model(_)
            | Command::Sim(_)
            | Command::Advise(_)
            | Command::Profile(_)
            | Command::Targets { .. }
            | Command::Worker(_)
            | Command::Explain { .. }
            | Command::Completions { .. }
            | Command::Manual { .. } => {
                Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand))
            }
        }
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    /// Every flag of `lower` can be given as a string too (`Options::set`), unless it is about
    /// files or about what the program prints.
    #[test]
    fn flags_that_are_options_have_a_string_form() {
        const OF_THE_PROGRAM: &[&str] = &[
            "allow",
            "dependency-file",
            "dependency-target",
            "diagnostics",
            "emit",
            "emit-dir",
            "memory-limit",
            "no-warnings",
            "output",
            "profile", // bytes of a file
            "spec",    // its own function in each interface
            "target",  // a value of its own in each interface
            "time-limit",
            "verbose",
            "warn",
            "write-dependencies",
        ];
        let all = Cli::command();
        let lower = all.find_subcommand("lower").unwrap();
        let flags = lower.get_arguments().filter_map(|flag| flag.get_long());
        let flags = flags.filter(|flag| !OF_THE_PROGRAM.contains(flag));
        let flags: std::collections::BTreeSet<&str> = flags.collect();
        let names = splitbar::Options::names().filter(|name| *name != "O");
        assert_eq!(flags, names.collect());
    }

    #[test]
    fn every_command_with_a_module_has_the_same_limits() {
        let all = Cli::command();
        let mut texts = Vec::new();
        for name in [
            "lower", "batch", "check", "audit", "model", "sim", "advise", "profile",
        ] {
            let command = all.find_subcommand(name).unwrap();
            for flag in ["time-limit", "memory-limit"] {
                let mut arguments = command.get_arguments();
                let argument = arguments.find(|argument| argument.get_long() == Some(flag));
                texts.push(argument.and_then(|a| a.get_help()).unwrap().to_string());
            }
        }
        let (first, rest) = texts.split_at(2);
        assert!(rest.chunks(2).all(|texts| texts == first), "{texts:?}");
    }

    #[test]
    fn arguments_as_people_write_them() {
        let args = lower(&[
            "--target",
            "gfx1201",
            "-O3",
            "--spec",
            "1=-5",
            "--spec",
            "2=0x10",
            "--workgroup-size",
            "8,8,1",
            "--strategy",
            "fused",
            "--fuse-at",
            "arrive",
        ])
        .unwrap();
        assert_eq!(args.target.name, "gfx1201");
        assert_eq!(args.code.optimization, Optimization::O3);
        assert_eq!(args.spec.len(), 2);
        assert_eq!(args.code.workgroup_size, Some([8, 8, 1]));
        assert_eq!(args.code.strategy, StrategyArg::Named(Strategy::Fused));
        assert_eq!(FuseAt::from(args.fuse_at), FuseAt::Arrive);
        let args = lower(&["--target", "sm_90"]).unwrap();
        assert_eq!(
            (args.code.strategy, args.code.emit, args.code.optimization),
            (
                StrategyArg::Chosen(if cfg!(feature = "llvm") {
                    splitbar::Choice::Balanced
                } else {
                    splitbar::Choice::Fast
                }),
                Vec::new(),
                Optimization::O2
            )
        );
        for (name, choice) in [
            ("auto=fast", splitbar::Choice::Fast),
            ("auto=balanced", splitbar::Choice::Balanced),
            ("auto=always-split", splitbar::Choice::AlwaysSplit),
        ] {
            let args = lower(&["--target", "sm_90", "--strategy", name]).unwrap();
            assert_eq!(args.code.strategy, StrategyArg::Chosen(choice));
        }
    }

    #[test]
    fn wrong_arguments_are_usage_errors() {
        for wrong in [
            &["--target", "gfx9999"][..],
            &["--target", "gfx1201", "-O4"],
            &["--target", "gfx1201", "--spec", "x"],
            &["--target", "gfx1201", "--workgroup-size", "8,8"],
            &["--target", "gfx1201", "--workgroup-size", "0,1,1"],
            &["--target", "gfx1201", "--strategy", "none"],
            &["--target", "gfx1201", "--wave", "16"],
            &[],
        ] {
            assert_eq!(lower(wrong).unwrap_err().exit_code(), 2, "{wrong:?}");
        }
    }
}
