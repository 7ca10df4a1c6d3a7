//! `splitbar advise`: what each strategy costs a kernel on some GPUs.

mod picture;
mod remarks;

use super::flags;
use super::launch::{FullLaunchArgs, requiring};
use super::limits::LimitArgs;
use super::options::{OptionArgs, SpecArgs, Takes};
use super::stop::Stop;
use super::table::columns;
use super::values::{Format, parse_target};
use super::warnings::WarningArgs;
use super::{given, input::read};
use super::{report, write};
use clap::{Arg, Args, ValueEnum};
use splitbar::simulate::{Inputs, Job, Refusal};
use splitbar::{
    Advice, Candidate, Estimated, OptionInfo, Options, Output, Part, SplitBarriers, Target,
    require_llvm,
};
use std::path::{Path, PathBuf};

/// The end of the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  splitbar advise kernel.spv
  splitbar advise kernel.spv --targets gfx1201
  splitbar advise kernel.spv --targets sm_80,sm_90 --ptxas /opt/cuda/bin/ptxas --format json
  splitbar advise kernel.spv --targets sm_90,gfx1201 --format svg > advice.svg
  splitbar advise kernel.spv --targets gfx1201 --profile dump.bin
  splitbar advise k.spv --targets gfx1201,gfx942 --estimate --groups 8,1,1 --buffer 0:0=zeros:4096

By default, --split-barriers auto applies only to entry points without split barriers. The others
are compiled as written. The first row of a table is the kernel with full barriers.

A split is faster if it does not lower the occupancy, if enough instructions remain in the window,
and if the skew between waves is larger than the cost of a phase, that is, of an arrive and its
wait. A profile (docs/profile.md) measures the skew. The cycles of a phase come from a timing
simulator. Register counts on NVIDIA GPUs need ptxas. --estimate runs the code of each strategy on
splitbar's simulator, and names a strategy that is faster there (docs/timing.md).
Exit codes: 0 success, 1 invalid module, 2 wrong usage or a file that cannot be read, 3 unsupported
by a target or this build, or a limit was exceeded, 4 a bug in splitbar.";

/// The default GPUs: several generations of both vendors.
const GPUS: &str = "gfx942,gfx1100,gfx1201,sm_80,sm_90";

/// `advise` compiles, with each strategy in turn.
#[derive(Clone, Debug)]
struct Advise;

impl Takes for Advise {
    type Options = Options;

    fn takes(option: &OptionInfo<Options>) -> bool {
        match option.name {
            "strategy" => false,
            "ptxas" => true,
            _ => option.part <= Part::Code,
        }
    }

    fn flag(arg: Arg) -> Arg {
        if arg.get_id() == "split-barriers" {
            arg.default_value("auto")
        } else {
            arg
        }
    }
}

/// What the command line says.
#[derive(Debug, Args)]
#[command(mut_args(of_launch))]
pub(super) struct AdviseArgs {
    /// The SPIR-V module; `-` is standard input
    input: PathBuf,
    /// The GPUs, separated by commas
    #[arg(long, visible_alias = "target", default_value = GPUS, value_name = "GPU,...", value_delimiter = ',', value_parser = parse_target)]
    targets: Vec<&'static Target>,
    /// Uses the measurements in this profile to decide what to split
    ///
    /// A dump of `sim --profile`, or of an instrumented kernel: docs/profile.md.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Estimates each strategy's time for a launch, as `sim --timing` does
    #[arg(long, requires = "groups")]
    estimate: bool,
    #[command(flatten)]
    launch: FullLaunchArgs,
    /// Format of the advice
    #[arg(long, value_enum, default_value_t = AdviceFormat::Text)]
    format: AdviceFormat,
    #[command(flatten)]
    warnings: WarningArgs,
    #[command(flatten)]
    spec: SpecArgs,
    #[command(flatten)]
    options: OptionArgs<Advise>,
    #[command(flatten)]
    limits: LimitArgs,
}

/// The format of advice.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum AdviceFormat {
    /// A table for each entry point and GPU
    Text,
    /// A JSON array
    Json,
    /// A bar chart of the strategies
    Svg,
}

impl From<AdviceFormat> for Format {
    fn from(format: AdviceFormat) -> Format {
        match format {
            AdviceFormat::Text | AdviceFormat::Svg => Format::Text,
            AdviceFormat::Json => Format::Json,
        }
    }
}

impl AdviseArgs {
    /// What limits the command, the module that its problems are about, and how they are printed.
    pub(super) fn limited(&self) -> (&LimitArgs, &Path, Format) {
        (&self.limits, &self.input, self.format.into())
    }
}

/// Advises as `args` ask and gives the exit code.
pub(super) fn run(args: &AdviseArgs) -> u8 {
    match all(args) {
        Ok(advice) => {
            let printed = match args.format {
                AdviceFormat::Text if advice.is_empty() => "no workgroup barriers\n".to_owned(),
                AdviceFormat::Text => advice.iter().map(text).collect::<Vec<_>>().join("\n"),
                AdviceFormat::Json => format!("{}\n", serde_json::json!(advice)),
                AdviceFormat::Svg => picture::svg(&advice),
            };
            write::to_stdout(printed.as_bytes())
        }
        Err(Stop::Problems(failure)) => {
            let failure = args.warnings.failure(&failure);
            report::show(&failure.diagnostics, &args.input, args.format.into());
            failure.exit_code()
        }
        Err(Stop::Usage(text)) => report::usage(&text, &args.input, args.format.into()),
    }
}

fn all(args: &AdviseArgs) -> Result<Vec<Advice>, Stop> {
    require_llvm("advice, which compiles the module").map_err(splitbar::Failure::from)?;
    let bytes = given::module(&args.input)?;
    let mut options = args
        .targets
        .iter()
        .map(|target| {
            let mut options = Options::new(target);
            options.split_barriers = SplitBarriers::Auto;
            args.options.set(&mut options).map(|()| options)
        })
        .collect::<Result<Vec<Options>, String>>()?;
    let inputs = if args.estimate {
        let size = options.first().and_then(|options| options.workgroup_size);
        let inputs = args.launch.base.inputs(size)?;
        inputs.check()?;
        args.launch.check()?;
        Some(inputs)
    } else {
        None
    };
    let profile = args.profile.as_ref().map(|file| read(file)).transpose()?;
    let spec = args.spec.resolve(&bytes)?;
    let mut advice = Vec::new();
    for (position, options) in options.iter_mut().enumerate() {
        options.profile.clone_from(&profile);
        options.spec.clone_from(&spec);
        options.lines = args.estimate; // which accesses are atomic
        let (of_target, warnings) = match &inputs {
            None => splitbar::advise(&bytes, options, None)?,
            Some(inputs) => {
                let mut estimate = |output: &Output, entry| estimated(args, inputs, output, entry);
                splitbar::advise(&bytes, options, Some(&mut estimate))?
            }
        };
        if position == 0 {
            // They are about the module.
            let warnings = args.warnings.judge(&warnings);
            if warnings.has_errors() {
                return Err(warnings.into());
            }
            report::show(&warnings, &args.input, args.format.into());
        }
        advice.extend(of_target);
    }
    Ok(advice)
}

/// The flags of a launch are for an estimate alone.
fn of_launch(arg: Arg) -> Arg {
    requiring::<FullLaunchArgs>(arg, "estimate")
}

/// How long the launch takes on the simulator, or why that cannot be said.
fn estimated(args: &AdviseArgs, inputs: &Inputs, output: &Output, entry: usize) -> Estimated {
    let run = || -> Result<Estimated, String> {
        let refused = |refusal: Refusal| flags::named(&refusal.to_string());
        let job = args
            .launch
            .describe(Job::compiled(output, entry).map_err(refused)?)?;
        job.takes(inputs).map_err(refused)?;
        let estimate = job
            .estimate(inputs, args.launch.base.resident)
            .map_err(refused)?;
        match estimate.findings.first() {
            None => Ok(Estimated::Cycles {
                cycles: estimate.cycles,
                range: estimate.range,
                resident: estimate.resident,
            }),
            Some(finding) => Err(format!("the simulator finds {}", finding.message)),
        }
    };
    run().unwrap_or_else(|refused| Estimated::Refused { refused })
}

fn text(advice: &Advice) -> String {
    let waves = advice.waves.map_or_else(
        || "a number of waves that depends on the launch".to_owned(),
        |waves| format!("{waves} waves of {}", advice.wave_size),
    );
    let mut lines = vec![
        [
            "strategy",
            "registers",
            "workgroups",
            "occupancy",
            "limited by",
            "left in windows",
            "cycles of a phase",
            "estimated cycles",
        ]
        .map(str::to_owned),
    ];
    lines.extend(advice.candidates.iter().map(line));
    let is_estimated = advice.candidates.iter().any(|one| one.estimate.is_some());
    let table = if is_estimated {
        columns(&lines)
    } else {
        columns(&lines.into_iter().map(without_estimate).collect::<Vec<_>>())
    };
    let indented: String = table.lines().map(|line| format!("  {line}\n")).collect();
    let reasons: String = advice
        .reasons
        .iter()
        .map(|why| format!("  because {why}\n"))
        .collect();
    let refused: String = advice
        .refused
        .iter()
        .map(|refused| format!("  not {}: {}\n", refused.strategy, refused.reason))
        .collect();
    let not_estimated: String = remarks::not_estimated(advice)
        .iter()
        .map(|why| format!("  {why}\n"))
        .collect();
    let faster = remarks::faster(advice).map_or_else(String::new, |faster| format!("  {faster}\n"));
    let outcomes: String = remarks::unsplit(advice)
        .iter()
        .chain(&remarks::improvements(advice))
        .map(|line| format!("  {line}\n"))
        .collect();
    format!(
        "entry {} on {}, {waves}{}: {}\n{reasons}{faster}{indented}{refused}{not_estimated}{outcomes}",
        advice.entry,
        advice.target,
        remarks::split_barriers(advice),
        advice.choice
    )
}

fn without_estimate(line: [String; 8]) -> [String; 7] {
    let [
        strategy,
        registers,
        at_once,
        occupancy,
        bound,
        left,
        phase,
        _,
    ] = line;
    [strategy, registers, at_once, occupancy, bound, left, phase]
}

/// One strategy. A dash: not known, or not measured.
fn line(candidate: &Candidate) -> [String; 8] {
    let dash = || "-".to_owned();
    let version = &candidate.version;
    let resident = version.resident.as_ref();
    let about = version.resident_estimate.as_ref();
    [
        candidate.strategy.to_owned(),
        match (version.usage, about) {
            (Some(usage), _) => usage.registers.to_string(),
            (None, Some(about)) => format!("about {}", about.registers),
            (None, None) => dash(),
        },
        match (resident, version.resident_between, about) {
            (Some(resident), ..) => resident.workgroups.to_string(),
            (None, Some([least, most]), _) if least == most => least.to_string(),
            (None, Some([least, most]), Some(about)) => {
                format!("about {} ({least} to {most})", about.workgroups)
            }
            (None, Some([least, most]), None) => format!("{least} to {most}"),
            (None, None, Some(about)) => format!("about {}", about.workgroups),
            (None, None, None) => dash(),
        },
        match (resident, about) {
            (Some(resident), _) => format!("{:.0} %", resident.occupancy * 100.0),
            (None, Some(about)) => format!("about {:.0} %", about.occupancy * 100.0),
            (None, None) => dash(),
        },
        match (resident, about) {
            (Some(resident), _) => resident.limiter.clone(),
            (None, Some(about)) => about.limiter.clone(),
            (None, None) => dash(),
        },
        format!("{} of {}", candidate.window.kept, candidate.window.source),
        candidate
            .phase_cycles
            .map_or_else(dash, |cost| match (cost.min, cost.max) {
                (least, most) if least == most => most.to_string(),
                (least, most) => format!("{least} to {most}"),
            }),
        remarks::cycles(candidate).unwrap_or_else(dash),
    ]
}
