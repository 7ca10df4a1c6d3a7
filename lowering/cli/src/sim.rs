//! `splitbar sim`: a kernel on the simulated machine, under many schedules.

use super::buffer_name::split;
use super::compare::Comparison;
use super::estimate;
use super::findings::{Findings, Ran, words_of};
use super::given;
use super::launch::FullLaunchArgs;
use super::limits::LimitArgs;
use super::meter::Meter;
use super::options::{OptionArgs, SpecArgs, Takes};
use super::places::Places;
use super::problem::{Problem, github};
use super::stop::Stop;
use super::values::{Format, parse_target};
use super::warnings::WarningArgs;
use super::{report, trace, write};
use clap::{Args, value_parser};
use splitbar::simulate::machine::{Clocks, Schedule};
use splitbar::simulate::profile::{self, Measured};
use splitbar::simulate::{BufferName, Inputs, Job, Outcome};
use splitbar::{Choice, OptionInfo, Options, Part, Target, exit, require_llvm};
use splitbar_passes::module::FileKind;
use std::path::{Path, PathBuf};

/// The end of the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  splitbar sim k.spv --target gfx1201 --groups 4,1,1 --buffer 0:0=seq:u32:512 --dump 0:0=out.bin
  splitbar sim k.spv --target gfx942 --groups 2,2,1 --push 4000000040000000 --schedules 64 --seed 7
  splitbar sim k.spv --target sm_80 --groups 8,1,1 --timing --resident 4 --compare
  splitbar sim other.hsaco --target gfx1100 --entry k --groups 1,1,1 --workgroup-size 64,1,1

A schedule chooses the wave that runs next and the delay of memory operations. A finding names its
schedule; the same seed reproduces it. The printf output is that of the last schedule.
Exit codes: 0 nothing found, 1 findings, 2 usage or file error, 3 unsupported or limit exceeded.";

/// `sim` compiles where the input is a module, and splits what can be split unless it is told
/// otherwise.
#[derive(Clone, Debug)]
struct Sim;

impl Takes for Sim {
    type Options = Options;

    fn takes(option: &OptionInfo<Options>) -> bool {
        option.part <= Part::Code
    }
}

/// What the command line says.
#[derive(Debug, Args)]
#[command(mut_arg("groups", |arg| arg.required(true)))]
#[command(mut_arg("resident", |arg| arg.requires("timing")))]
pub(super) struct SimArgs {
    /// A SPIR-V module, an AMDGPU code object, or PTX; `-`: standard input
    ///
    /// A module is compiled first.
    input: PathBuf,
    /// The GPU
    #[arg(long, value_parser = parse_target)]
    target: &'static Target,
    #[command(flatten)]
    launch: FullLaunchArgs,
    /// Writes the buffer at PLACE to FILE after the last schedule
    #[arg(long, value_name = "PLACE=FILE", value_parser = parse_dump)]
    dump: Vec<DumpArg>,
    /// Records the skew between waves, for `splitbar profile`
    ///
    /// The clock counts the instructions of the last schedule. Findings then refer to the
    /// instrumented module.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Maximum number of records in the profile
    ///
    /// Each wave needs one record for each barrier that it executes.
    #[arg(long, value_name = "N", default_value_t = 1 << 14, value_parser = value_parser!(u32).range(1..1 << 21))]
    profile_records: u32,
    /// Estimates the time of the launch
    ///
    /// The estimate is for one multiprocessor, compute unit or WGP that runs all workgroups. No
    /// schedules are run.
    #[arg(long, conflicts_with_all = ["profile", "dump", "schedules"])]
    timing: bool,
    /// Writes a timeline of all waves: trace events for Perfetto, or .svg
    ///
    /// In cycles with --timing; otherwise in steps of the first schedule with a finding, or of the
    /// first schedule if there is none.
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    trace: Option<PathBuf>,
    /// With --timing: compares every strategy with full barriers
    #[arg(long, requires = "timing", conflicts_with = "strategy")]
    compare: bool,
    /// Number of schedules
    #[arg(long, default_value_t = 16, value_parser = value_parser!(u32).range(1..))]
    schedules: u32,
    /// Random seed of the schedules
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    spec: SpecArgs,
    #[command(flatten)]
    options: OptionArgs<Sim>,
    /// Format of the findings
    #[arg(long, alias = "report", value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Prints progress even if standard error is not a terminal
    ///
    /// Only with `--format text`.
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    warnings: WarningArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

impl SimArgs {
    /// What limits the command, its input, and how problems are printed.
    pub(super) fn limited(&self) -> (&LimitArgs, &Path, Format) {
        (&self.limits, &self.input, self.format)
    }
}

/// Simulates as `args` ask and gives the exit code: 1 if something was found.
pub(super) fn run(args: &SimArgs) -> u8 {
    match simulate(args) {
        Ok(code) => code,
        Err(Stop::Problems(failure)) => {
            let failure = args.warnings.failure(&failure);
            report::show(&failure.diagnostics, &args.input, args.format);
            failure.exit_code()
        }
        Err(Stop::Usage(text)) => report::usage(&text, &args.input, args.format),
    }
}

fn simulate(args: &SimArgs) -> Result<u8, Stop> {
    let bytes = given::job(&args.input, args.target)?;
    let mut options = Options::new(args.target);
    args.options.set(&mut options)?;
    options.lines = true;
    options.measure = args.timing; // registers
    if options.choice == Choice::Measured {
        options.launch = Some(args.launch.deciding()?);
    }
    let mut inputs = args.launch.base.inputs(options.workgroup_size)?;
    check_dumps(args, &inputs)?;
    let measured = measured(args, &bytes)?;
    if let Some(measured) = &measured {
        let buffer = profile::empty_buffer(args.profile_records);
        inputs.buffers.push((measured.place, buffer));
        inputs.clocks = Clocks::Wave;
    }
    inputs.check()?;
    if args.compare {
        return compared(args, &options, &inputs, &bytes);
    }
    let module = measured.as_ref().map(|measured| measured.module.as_slice());
    let job = ready(args, &options, &inputs, module.unwrap_or(&bytes))?;
    if args.timing {
        return timed(args, &job, &inputs, &bytes);
    }
    let mut ran = Vec::new();
    let mut last = None;
    let mut meter = Meter::new(args.schedules, args.verbose, args.format);
    for index in 0..args.schedules {
        let schedule = Schedule::nth(index, args.seed);
        let outcome = job.run_watched(&inputs, schedule, &mut |progress| meter.within(progress))?;
        meter.next(outcome.report.steps);
        ran.push(Ran {
            schedule,
            findings: outcome.report.findings.clone(),
            notes: outcome.report.notes.clone(),
            printed: outcome.printed.clone(),
        });
        last = Some(outcome);
    }
    drop(meter);
    for dump in &args.dump {
        write::to_file(&dump.file, buffer_of(&inputs, last.as_ref(), dump.place)?)?;
    }
    let module = spirv(&bytes).map(|given| module.unwrap_or(given));
    if let Some(file) = &args.trace {
        let failing = ran.iter().find(|ran| !ran.findings.is_empty());
        let schedule = failing.or(ran.first()).map(|ran| ran.schedule);
        let schedule = schedule.unwrap_or_else(|| Schedule::nth(0, args.seed));
        let (_, timeline) = job.run_recorded(&inputs, schedule, module, &mut |_| ())?;
        trace::write(file, &timeline, args.target, Some(schedule), module)?;
    }
    let all = Findings::new(&ran, module);
    let text = match args.format {
        Format::Text => {
            let mut shown = last.as_ref().map_or_else(Vec::new, print);
            let steps = last.as_ref();
            let steps = steps.map_or((0, 0), |l| (l.report.steps, l.report.lane_steps));
            shown.extend_from_slice(all.text(steps).as_bytes());
            shown
        }
        Format::Json => all.json(args.target),
        Format::Github => github::render(&all.problems(&args.input, args.target)).into_bytes(),
        Format::Sarif => {
            report::keep(all.problems(&args.input, args.target));
            Vec::new()
        }
    };
    let written = write::to_stdout(&text);
    if let (Some(file), Some(measured)) = (&args.profile, &measured) {
        let buffer = buffer_of(&inputs, last.as_ref(), measured.place)?;
        write::to_file(file, &profile::dump(buffer, &job)?)?;
    }
    Ok(if ran.iter().all(|ran| ran.findings.is_empty()) {
        written
    } else {
        exit::INVALID
    })
}

/// The job for the input, compiled with `options` if it is a module, which takes the inputs.
fn ready(args: &SimArgs, options: &Options, inputs: &Inputs, bytes: &[u8]) -> Result<Job, Stop> {
    let job = args.launch.describe(job(args, options, bytes)?)?;
    job.takes(inputs)?;
    Ok(job)
}

/// Estimates how long the launch takes with each strategy, and gives the exit code.
fn compared(args: &SimArgs, options: &Options, inputs: &Inputs, bytes: &[u8]) -> Result<u8, Stop> {
    only_a_module(bytes)?;
    match args.format {
        Format::Text | Format::Json => {}
        Format::Sarif | Format::Github => {
            let text = "--compare shows a table and lists no findings; its forms are --format text \
                        and --format json";
            return Err(Stop::Usage(text.to_owned()));
        }
    }
    let mut comparison = Comparison::new(args.target);
    let mut meter = Meter::new(
        u32::try_from(comparison.strategies().len()).unwrap_or(u32::MAX),
        args.verbose,
        args.format,
    );
    let mut options = options.clone();
    for strategy in comparison.strategies() {
        options.strategy = Some(strategy);
        let job = match ready(args, &options, inputs, bytes) {
            Ok(job) => job,
            Err(Stop::Problems(failure)) => {
                match failure.of_strategy() {
                    Some(why) => comparison.refuse(strategy, why),
                    None => return Err(Stop::Problems(failure)),
                }
                continue;
            }
            Err(usage) => return Err(usage),
        };
        let estimated =
            job.estimate_watched(inputs, args.launch.base.resident, &mut |progress| {
                meter.within(progress)
            })?;
        meter.next(estimated.issued);
        comparison.add(strategy, estimated);
    }
    drop(meter);
    let shown = match args.format {
        Format::Text => comparison.text().into_bytes(),
        Format::Json => comparison.json(),
        Format::Sarif | Format::Github => Vec::new(), // refused above
    };
    let written = write::to_stdout(&shown);
    Ok(if comparison.has_findings() {
        exit::INVALID
    } else {
        written
    })
}

/// Estimates how long the launch takes, and gives the exit code.
fn timed(args: &SimArgs, job: &Job, inputs: &Inputs, input: &[u8]) -> Result<u8, Stop> {
    let mut meter = Meter::new(1, args.verbose, args.format);
    let mut watch = |progress| meter.within(progress);
    let module = spirv(input);
    let resident = args.launch.base.resident;
    let (estimated, timeline) = match &args.trace {
        Some(_) => {
            let (estimated, timeline) =
                job.estimate_recorded(inputs, resident, module, &mut watch)?;
            (estimated, Some(timeline))
        }
        None => (job.estimate_watched(inputs, resident, &mut watch)?, None),
    };
    drop(meter);
    let barriers = estimated.barriers(module);
    let words = barriers.iter().filter_map(|barrier| barrier.word);
    let places = Places::of(module, words.chain(words_of(&estimated.findings)));
    let shown = match args.format {
        Format::Text => {
            let mut shown = estimate::text(&estimated, &barriers, &places, args.target);
            for finding in &estimated.findings {
                let finding = finding.text(&|word| places.text(word));
                shown.push_str(&format!("\n{finding}\n"));
            }
            shown.into_bytes()
        }
        Format::Json => estimate::json(&estimated, &barriers, &places, args.target),
        Format::Github | Format::Sarif => {
            let problems = estimated.findings.iter().map(|finding| {
                let place = |word| places.location(word);
                let file = report::name(&args.input);
                Problem::of_finding(finding, &file, args.target.name, &[], place)
            });
            let problems: Vec<Problem> = problems.collect();
            if args.format == Format::Github {
                github::render(&problems).into_bytes()
            } else {
                report::keep(problems);
                Vec::new()
            }
        }
    };
    if let (Some(file), Some(timeline)) = (&args.trace, &timeline) {
        trace::write(file, timeline, args.target, None, module)?;
    }
    let written = write::to_stdout(&shown);
    if estimated.findings.is_empty() {
        Ok(written)
    } else {
        Ok(exit::INVALID)
    }
}

/// The buffer at `place` as the last schedule left it.
fn buffer_of<'o>(
    inputs: &Inputs,
    last: Option<&'o Outcome>,
    place: BufferName,
) -> Result<&'o [u8], String> {
    let mut places = inputs.buffers.iter();
    let position = places.position(|(of, _)| *of == place);
    let buffer = position.and_then(|position| last?.buffers.get(position));
    let buffer = buffer.ok_or_else(|| format!("there is no buffer {place}"))?;
    Ok(buffer)
}

/// The module with clocks, where a profile is asked for. What is compiled already is refused later.
fn measured(args: &SimArgs, bytes: &[u8]) -> Result<Option<Measured>, Stop> {
    if args.profile.is_none() || is_compiled(bytes) {
        return Ok(None);
    }
    Ok(Some(profile::instrument(bytes)?))
}

/// That the input can be compiled with several strategies.
fn only_a_module(bytes: &[u8]) -> Result<(), String> {
    if is_compiled(bytes) {
        Err("--compare is for modules, but the input is already compiled".to_owned())
    } else {
        Ok(())
    }
}

/// Returns true for code of a GPU; what is not is compiled as a module.
fn is_compiled(bytes: &[u8]) -> bool {
    matches!(FileKind::of(bytes), FileKind::AmdgpuObject | FileKind::Ptx)
}

/// What the input is, by its first bytes.
fn job(args: &SimArgs, options: &Options, bytes: &[u8]) -> Result<Job, Stop> {
    let kind = FileKind::of(bytes);
    if kind == FileKind::AmdgpuObject {
        compiled_already(args)?;
        require_llvm("reading machine code")?;
        let linked = if is_relocatable(bytes) {
            splitbar::link_code_object(bytes, None)?
        } else {
            bytes.to_vec()
        };
        let job = Job::code_object(&linked, args.target, options.entry.as_deref())?;
        return Ok(job.in_clusters(options.cluster.unwrap_or([1; 3])));
    }
    if kind == FileKind::Ptx {
        compiled_already(args)?;
        let text = std::str::from_utf8(bytes);
        let text = text.map_err(|_| "the PTX has bytes that are not UTF-8".to_owned())?;
        let job = Job::ptx(text, args.target, options.entry.as_deref())?;
        return Ok(job.in_clusters(options.cluster.unwrap_or([1; 3])));
    }
    let mut options = options.clone();
    options.spec = args.spec.resolve(bytes)?;
    let output = splitbar::Compiler::new(&options).compile(bytes)?;
    let warnings = args.warnings.judge(output.warnings());
    if warnings.has_errors() {
        return Err(warnings.into());
    }
    report::show(&warnings, &args.input, args.format);
    if output.entries().len() > 1 {
        let names: Vec<&str> = output
            .entries()
            .iter()
            .map(|e| e.plan.entry.as_str())
            .collect();
        return Err(format!(
            "name one of the entry points with --entry: {}",
            names.join(", ")
        )
        .into());
    }
    Ok(Job::compiled(&output, 0)?)
}

/// That no flag says how a module is to be compiled: the input is not a module.
fn compiled_already(args: &SimArgs) -> Result<(), String> {
    // Those of a launch, whatever is launched.
    const OF_LAUNCH: [&str; 3] = ["--entry", "--workgroup-size", "--cluster-size"];
    let of_module = args.options.given();
    let of_module = of_module.filter(|flag| !OF_LAUNCH.contains(&flag.as_str()));
    let spec = (!args.spec.spec.is_empty()).then(|| "--spec".to_owned());
    let profile = args.profile.as_ref().map(|_| "--profile".to_owned());
    match of_module.chain(spec).chain(profile).next() {
        Some(flag) => Err(format!(
            "{flag} is for modules, but the input is already compiled"
        )),
        None => Ok(()),
    }
}

/// Checks that each buffer of a `--dump` exists, and that the files of the dumps and of the profile
/// can be written, are no inputs and differ from each other.
fn check_dumps(args: &SimArgs, inputs: &Inputs) -> Result<(), String> {
    let read: Vec<&Path> = std::iter::once(args.input.as_path())
        .chain(args.launch.base.files())
        .collect();
    let mut places = write::Places::default();
    for file in args.profile.iter().chain(&args.trace) {
        write::check(file, &read)?;
        places.add(file)?;
    }
    for dump in &args.dump {
        if !inputs.buffers.iter().any(|(place, _)| *place == dump.place) {
            return Err(format!("there is no buffer {}", dump.place));
        }
        write::check(&dump.file, &read)?;
        places.add(&dump.file)?;
    }
    Ok(())
}

/// The input, if it is a module.
fn spirv(input: &[u8]) -> Option<&[u8]> {
    (!is_compiled(input)).then_some(input)
}

/// `e_type` of an ELF file is ET_REL.
fn is_relocatable(bytes: &[u8]) -> bool {
    bytes.get(16..18) == Some(&[1, 0])
}

/// What the kernel printed, and what is missing of it; what follows begins a line.
fn print(outcome: &Outcome) -> Vec<u8> {
    let Some(printed) = &outcome.printed else {
        return Vec::new(); // it has no printf buffer
    };
    let mut text = printed.text.clone();
    if text.last().is_some_and(|last| *last != b'\n') {
        text.push(b'\n');
    }
    if printed.missed > 0 {
        let line = format!(
            "... the printf buffer is too small for {} bytes of records: use a larger --printf-buffer-size\n",
            printed.missed
        );
        text.extend_from_slice(line.as_bytes());
    }
    if let Some(at) = printed.damaged {
        let line = format!("... the printf buffer is damaged from byte {at} on\n");
        text.extend_from_slice(line.as_bytes());
    }
    text
}

/// Where a buffer is written to: `SET:BINDING=FILE`.
#[derive(Clone, Debug)]
pub(super) struct DumpArg {
    place: BufferName,
    file: PathBuf,
}

/// Reads `SET:BINDING=FILE`.
pub(super) fn parse_dump(text: &str) -> Result<DumpArg, String> {
    let (place, file) = split(text)?;
    Ok(DumpArg {
        place,
        file: file.into(),
    })
}
