//! `splitbar lower-ir`.

use super::code::CodeArgs;
use super::emit::{self, Output};
use super::given;
use super::lower::{Request, fits};
use super::options::{OptionArgs, Takes};
use super::stop::Stop;
use super::values::{Format, parse_target};
use super::write::Places;
use super::{report, write};
use clap::Args;
use splitbar::{Choice, OptionInfo, Options, Source, Target, Worker, exit};
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  splitbar lower-ir k.ll --target gfx1201                      assembly to standard output
  splitbar lower-ir k.bc --target sm_90 --emit plan            why each barrier is split or not
  splitbar lower-ir k.bc --target gfx1100 --emit bitcode -o k2.bc     for the rest of a tool chain
  clang-22 -x cl -target amdgcn-amd-amdhsa -mcpu=gfx1201 -nogpulib -O1 -emit-llvm -c k.cl -o - |
    splitbar lower-ir - --target gfx1201 --emit hsaco -o k.co

Exit codes: 0 success, 1 invalid module, 2 wrong usage or a file that cannot be read or written,
3 unsupported by this target or build, or a limit was exceeded, 4 a bug in splitbar.";

/// `lower-ir` takes what counts for LLVM IR.
#[derive(Clone, Debug)]
struct LowerIr;

impl Takes for LowerIr {
    type Options = Options;

    fn takes(option: &OptionInfo<Options>) -> bool {
        option.llvm_ir
    }
}

#[derive(Debug, Args)]
pub(super) struct LowerIrArgs {
    /// The LLVM module, as bitcode or text; `-` is standard input
    input: PathBuf,
    /// The GPU, such as gfx1201 or sm_90a; `splitbar targets` lists all
    #[arg(long, value_parser = parse_target)]
    target: &'static Target,
    #[command(flatten)]
    options: OptionArgs<LowerIr>,
    #[command(flatten)]
    code: CodeArgs,
}

impl LowerIrArgs {
    /// The form of its diagnostics.
    pub(super) fn format(&self) -> Format {
        self.code.format
    }
}

/// Compiles as `args` ask and gives the exit code.
pub(super) fn run(args: &LowerIrArgs) -> u8 {
    match lower(args) {
        Ok(code) => code,
        Err(Stop::Problems(failure)) => {
            let failure = args.code.warnings.failure(&failure);
            report::show(&failure.diagnostics, &args.input, args.code.format);
            failure.exit_code()
        }
        Err(Stop::Usage(text)) => report::usage(&text, &args.input, args.code.format),
    }
}

fn lower(args: &LowerIrArgs) -> Result<u8, Stop> {
    let outputs = emit::outputs(&args.code.emit, args.code.output.as_deref(), false)?;
    fits(args.target, &outputs)?;
    check_places(args, &outputs)?;
    let request = Request {
        source: Source::llvm_ir(given::llvm_ir(&args.input)?),
        options: options(args)?,
        products: outputs.iter().map(|one| one.kind.into()).collect(),
    };
    let mut worker = Worker::new(args.code.limits.isolation());
    let made = request.perform(&mut worker, &mut ())?;
    let warnings = args.code.warnings.judge(&made.warnings);
    if warnings.has_errors() {
        return Err(warnings.into());
    }
    report::show(&warnings, &args.input, args.code.format);
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

fn options(args: &LowerIrArgs) -> Result<Options, String> {
    let mut options = Options::new(args.target);
    options.choice = Choice::AUTO;
    args.options.set(&mut options)?;
    options.measure |= args.code.reflects();
    Ok(options)
}
