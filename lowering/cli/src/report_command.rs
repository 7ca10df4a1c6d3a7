//! `splitbar report`: one document on a module: what to do about its barriers, and why.

use super::given;
use super::launch::{FullLaunchArgs, requiring};
use super::limits::LimitArgs;
use super::options::{OptionArgs, SpecArgs, Takes};
use super::stop::Stop;
use super::values::{Format, parse_target};
use super::{flags, input, report, write};
use clap::{Arg, Args, ValueEnum};
use splitbar::report::{GivenLaunch, Launch, Report, Request};
use splitbar::simulate::Job;
use splitbar::{CheckOptions, OptionInfo, Options, Part, Target, exit, require_llvm};
use std::path::{Path, PathBuf};

/// The examples at the end of the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  splitbar report kernel.spv --targets gfx1201,sm_90 -o report.html
  splitbar report kernel.spv --targets gfx1201 --format text
  splitbar report kernel.spv --targets sm_90 --groups 8,1,1 --buffer 0:0=zeros:4096 -o report.html
  splitbar report kernel.spv --targets gfx1201 --format json -o new.json --against old.json

Without --groups, the estimates assume a synthetic launch, as --strategy auto does.
Exit codes: 0 success, 1 invalid module, 2 wrong usage or a file that cannot be read or written,
3 unsupported by all targets or this build, or a limit was exceeded, 4 a bug in splitbar.";

/// The GPUs if none is named.
const GPUS: &str = "gfx1201,sm_90";

/// Schedules under which a given launch is searched for races.
const SCHEDULES: u32 = 4;

/// `report` compiles several versions: it compares strategies, splitting and pipelining.
#[derive(Clone, Debug)]
struct Compares;

impl Takes for Compares {
    type Options = Options;

    fn takes(option: &OptionInfo<Options>) -> bool {
        match option.name {
            "strategy" | "split-barriers" | "pipeline-loops" => false,
            "ptxas" => true,
            _ => option.part <= Part::Code,
        }
    }
}

/// The arguments of `report`.
#[derive(Debug, Args)]
#[command(mut_args(of_launch))]
pub(super) struct ReportArgs {
    /// The SPIR-V module; `-` is standard input
    input: PathBuf,
    /// The GPUs, separated by commas
    #[arg(long, visible_alias = "target", default_value = GPUS, value_name = "GPU,...", value_delimiter = ',', value_parser = parse_target)]
    targets: Vec<&'static Target>,
    /// Format of the report, by default from the extension of the --output file
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Compares with an earlier report that was written with --format json
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    #[command(flatten)]
    launch: FullLaunchArgs,
    #[command(flatten)]
    spec: SpecArgs,
    #[command(flatten)]
    options: OptionArgs<Compares>,
    #[command(flatten)]
    limits: LimitArgs,
}

/// The form of a report.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// Text; the default for standard output
    Text,
    /// JSON, for --against and for programs
    Json,
    /// A self-contained page; the default for names that end with .html
    Html,
}

impl ReportArgs {
    /// The limits of the command, the module that its problems are about, and their form.
    pub(super) fn limited(&self) -> (&LimitArgs, &Path, Format) {
        (&self.limits, &self.input, Format::Text)
    }

    /// The form that is asked for, or that the name of the output has.
    fn form(&self) -> ReportFormat {
        let extension = self.output.extension().and_then(|name| name.to_str());
        self.format.unwrap_or(match extension {
            Some("html" | "htm") => ReportFormat::Html,
            Some("json") => ReportFormat::Json,
            Some(_) | None => ReportFormat::Text,
        })
    }
}

/// The flags of a launch mean something only with a launch.
fn of_launch(arg: Arg) -> Arg {
    requiring::<FullLaunchArgs>(arg, "groups")
}

/// Writes a report and gives the exit code.
pub(super) fn run(args: &ReportArgs) -> u8 {
    match written(args) {
        Ok(code) => code,
        Err(Stop::Problems(failure)) => {
            report::show(&failure.diagnostics, &args.input, Format::Text);
            failure.exit_code()
        }
        Err(Stop::Usage(text)) => {
            write::error(&text);
            exit::USAGE
        }
    }
}

fn written(args: &ReportArgs) -> Result<u8, Stop> {
    require_llvm("a report, which compiles the module").map_err(splitbar::Failure::from)?;
    let is_file = args.output != Path::new("-");
    if is_file {
        let read: Vec<&Path> = std::iter::once(args.input.as_path())
            .chain(args.against.as_deref())
            .chain(args.launch.base.files())
            .collect();
        write::check(&args.output, &read)?;
    }
    let older = args
        .against
        .as_ref()
        .map(|file| input::read(file))
        .transpose()?;
    let mut report = made(args)?;
    if let (Some(file), Some(older)) = (&args.against, &older) {
        let compared = report.compare(older);
        compared.map_err(|why| format!("{}: {why}", file.display()))?;
    }
    let text = match args.form() {
        ReportFormat::Text => flags::named(&report.text()),
        ReportFormat::Json => report.json(),
        ReportFormat::Html => report.html(),
    };
    if is_file {
        write::to_file(&args.output, text.as_bytes())?;
        Ok(exit::DONE)
    } else {
        Ok(write::to_stdout(text.as_bytes()))
    }
}

fn made(args: &ReportArgs) -> Result<Report, Stop> {
    let bytes = given::module(&args.input)?;
    let spec = args.spec.resolve(&bytes)?;
    let mut options = Vec::new();
    for target in &args.targets {
        let mut one = Options::new(target);
        args.options.set(&mut one)?;
        one.spec.clone_from(&spec);
        options.push(one);
    }
    let mut check = CheckOptions::default();
    check.spec = spec;
    let name = args
        .input
        .file_name()
        .map_or("-".into(), |name| name.to_string_lossy());
    let request = Request {
        name: &name,
        bytes: &bytes,
        options: &options,
        check: &check,
        launch: Launch::MadeUp,
    };
    if !args.launch.base.is_given() {
        return Ok(splitbar::report::report(request)?);
    }
    let size = options.first().and_then(|options| options.workgroup_size);
    let inputs = args.launch.base.inputs(size)?;
    inputs.check()?;
    args.launch.check()?;
    let describe = |job: Job| args.launch.describe(job);
    let words = args.launch.base.words();
    let launch = GivenLaunch {
        inputs: &inputs,
        resident: args.launch.base.resident,
        describe: &describe,
        words: &words,
        schedules: SCHEDULES,
    };
    Ok(splitbar::report::report(Request {
        launch: Launch::Given(launch),
        ..request
    })?)
}
