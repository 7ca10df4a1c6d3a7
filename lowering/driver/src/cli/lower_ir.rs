//! `splitbar lower-ir`.

use super::emit::{self, Emit, EmitArg, EmitParser, Output};
use super::input::read;
use super::limits::LimitArgs;
use super::lower::{Request, fits};
use super::stop::Stop;
use super::strategy::{StrategyArg, strategies_and_choices};
use super::warnings::WarningArgs;
use super::write::Places;
use super::{Format, WaitsArg, levels, parse_size, parse_target, report, wave_sizes, write};
use clap::Args;
use splitbar::{Optimization, Options, Source, Target, Worker, exit};
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  splitbar lower-ir k.ll --target gfx1201                      assembly to the standard output
  splitbar lower-ir k.bc --target sm_90 --emit plan            why each barrier is split or not
  splitbar lower-ir k.bc --target gfx1100 --emit bitcode -o k2.bc     for the rest of a tool chain
  clang-22 -x cl -target amdgcn-amd-amdhsa -mcpu=gfx1201 -nogpulib -O1 -emit-llvm -c k.cl -o - |
    splitbar lower-ir - --target gfx1201 --emit hsaco -o k.co

Exit codes: 0 done, 1 the module is invalid, 2 wrong usage or a file that cannot be read or written,
3 unsupported by this target or build (limits included), 4 a bug in splitbar.";

#[derive(Debug, Args)]
pub(super) struct LowerIrArgs {
    /// The LLVM module, bitcode or text; `-` is the standard input
    input: PathBuf,
    /// The GPU: gfx1201, sm_90, sm_90a (`splitbar targets`)
    #[arg(long, value_parser = parse_target)]
    target: &'static Target,
    /// How workgroup-scope split barriers are lowered
    #[arg(long, default_value = "auto", value_parser = strategies_and_choices())]
    strategy: StrategyArg,
    /// LLVM's optimisation level
    #[arg(short = 'O', value_name = "LEVEL", default_value = "2", value_parser = levels())]
    optimization: Optimization,
    /// Invocations of a wave
    ///
    /// Without it, the target's default.
    #[arg(long, value_name = "SIZE", value_parser = wave_sizes())]
    wave: Option<u32>,
    /// Waits for outstanding memory at barriers (AMDGPU)
    #[arg(long, value_enum, default_value_t = WaitsArg::Auto)]
    waits: WaitsArg,
    /// The workgroup size of kernels that leave it open
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_size)]
    workgroup_size: Option<[u32; 3]>,
    /// What is written, and where if not to -o; may be repeated
    ///
    /// Without it asm. Several outputs are of one compilation.
    #[arg(long, value_name = "KIND[=FILE]", value_parser = EmitParser)]
    emit: Vec<EmitArg>,
    /// Where an output without a file of its own goes; `-`: standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// With --emit plan: counts what is left of each window
    ///
    /// --emit reflect always does.
    #[arg(long)]
    measure: bool,
    /// Fails if the assembly lacks a wait or a fence that the plan promises
    #[arg(long)]
    audit: bool,
    /// Lets the compiler close windows, to see the effect
    #[arg(long)]
    no_window_guards: bool,
    /// The ptxas, if not that of SPLITBAR_PTXAS or PATH
    #[arg(long, value_name = "FILE")]
    ptxas: Option<PathBuf>,
    /// The linker, if not that of SPLITBAR_LLD or PATH
    #[arg(long, value_name = "FILE")]
    lld: Option<PathBuf>,
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

/// Compiles as `args` ask and gives the exit code.
pub(super) fn run(args: &LowerIrArgs) -> u8 {
    match lower(args) {
        Ok(code) => code,
        Err(Stop::Problems(failure)) => {
            let failure = args.warnings.failure(&failure);
            report::show(&failure.diagnostics, &args.input, args.diagnostics);
            failure.exit_code()
        }
        Err(Stop::Usage(text)) => report::usage(&text, &args.input, args.diagnostics),
    }
}

fn lower(args: &LowerIrArgs) -> Result<u8, Stop> {
    let outputs = emit::outputs(&args.emit, args.output.as_deref(), false)?;
    fits(args.target, &outputs)?;
    check_places(args, &outputs)?;
    let request = Request {
        source: Source::llvm_ir(read(&args.input)?),
        options: options(args),
        products: outputs.iter().map(|one| one.kind.into()).collect(),
    };
    let mut worker = Worker::new(args.limits.isolation());
    let made = request.perform(&mut worker, &mut ())?;
    let warnings = args.warnings.judge(&made.warnings);
    if warnings.has_errors() {
        return Err(warnings.into());
    }
    report::show(&warnings, &args.input, args.diagnostics);
    for (output, product) in outputs.iter().zip(&made.products) {
        match &output.file {
            Some(path) => write::to_file(path, product)?,
            None => write::stdout(product)?,
        }
    }
    Ok(exit::DONE)
}

/// That the files to be written can be, and that none of them is the one that is read.
fn check_places(args: &LowerIrArgs, outputs: &[Output]) -> Result<(), String> {
    let mut places = Places::default();
    for file in outputs.iter().filter_map(|output| output.file.as_deref()) {
        write::check(file, &[&args.input])?;
        places.add(file)?;
    }
    Ok(())
}

fn options(args: &LowerIrArgs) -> Options {
    let mut options = Options::new(args.target);
    args.strategy.set(&mut options);
    options.window_guards = !args.no_window_guards;
    options.optimization = args.optimization;
    options.wave_size = args.wave;
    options.waits = args.waits.into();
    options.ptxas.clone_from(&args.ptxas);
    options.lld.clone_from(&args.lld);
    options.workgroup_size = args.workgroup_size;
    options.audit = args.audit;
    let reflects = args.emit.iter().any(|one| one.kind == Emit::Reflect);
    options.measure = args.measure || reflects;
    options
}
