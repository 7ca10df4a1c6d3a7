//! `splitbar batch`: many modules for several GPUs, by worker processes side by side. What an
//! earlier run made is taken from a store.

mod jobs;
mod pool;
mod progress;
mod summary;

use super::limits::LimitArgs;
use super::stop::Stop;
use super::write::Places;
use super::{Format, depfile, parse_target, report, write};
use clap::{Args, value_parser};
use jobs::Job;
use pool::Outcome;
use progress::Progress;
use splitbar::{Store, Target, exit};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use summary::Summary;

/// Behind the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  splitbar batch kernels --targets gfx1201,sm_90 -o out    every .spv: out/gfx1201/NAME.s, ...
  splitbar batch kernels --targets gfx1201 -o out --keep-going -- --emit hsaco --emit reflect -O3
  splitbar batch jobs.json -o out -j 4 -MD -MF out/batch.d            for a build system

JOBS.json is an array of objects; all keys but `module` may be left out:
  [{\"module\": \"a.spv\", \"name\": \"a-fused\", \"targets\": [\"sm_90\"],
    \"arguments\": [\"--strategy\", \"fused\"]}, ...]
A module's path begins at the folder of JOBS.json; arguments are those of `splitbar lower`.
OUT/summary.json lists the jobs with their outputs and diagnostics. OUT/.store keeps results under
digests of the module, the options and this program: a run that was interrupted, or repeated,
compiles only what is missing. A job whose process died is tried once more.

Exit codes: 0 all done; else that of the worst job: 1 invalid, 2 wrong usage or a file that cannot
be read or written, 3 unsupported, 4 a bug.";

/// What the command line says.
#[derive(Debug, Args)]
pub(super) struct BatchArgs {
    /// A folder, of which every file `.spv` is taken, at any depth; or a file of jobs, in JSON
    jobs: PathBuf,
    /// The GPUs, with commas between them, of jobs that name none
    #[arg(long, visible_alias = "target", value_name = "GPU,...", value_delimiter = ',', value_parser = parse_target)]
    targets: Vec<&'static Target>,
    /// The folder of the outputs, which is made where it is missing: OUT/TARGET/NAME.s
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Worker processes at a time [default: as many as there are processors]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    at_once: Option<u16>,
    /// Goes on after a job that fails; without it, jobs that have not begun are left out then
    #[arg(short, long)]
    keep_going: bool,
    /// Where results are kept [default: OUT/.store]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// How the summary on the standard output and the problems on the standard error are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Writes which files OUT/summary.json was made of, for make and ninja; also -MD
    #[arg(long, requires = "dependency_file")]
    write_dependencies: bool,
    /// The file for them; also -MF FILE
    #[arg(long, value_name = "FILE", requires = "write_dependencies")]
    dependency_file: Option<PathBuf>,
    /// Prints a line for each job that is done, where the standard error is not a terminal
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    limits: LimitArgs,
    /// Arguments of `splitbar lower` for every job
    #[arg(last = true, value_name = "ARGUMENTS")]
    lower: Vec<OsString>,
}

/// Compiles as `args` ask and gives the exit code.
pub(super) fn run(args: &BatchArgs) -> u8 {
    batch(args).unwrap_or_else(|text| report::usage(&text, &args.jobs, args.format))
}

fn batch(args: &BatchArgs) -> Result<u8, String> {
    let (jobs, read) = jobs::all(args)?;
    let place = args.output.join("summary.json");
    check_places(&jobs, &place, args.dependency_file.as_deref(), &read)?;
    make_folder(&args.output)?;
    let store = args.store.clone();
    let store = store.unwrap_or_else(|| args.output.join(".store"));
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let store = Store::open(store, &program).map_err(|error| error.to_string())?;
    let count = args.at_once.map(usize::from);
    let count = count.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));

    let mut progress = Progress::new(jobs.len(), args.verbose, args.format);
    let outcomes = pool::run(&jobs, &store, args, count, &mut |job, outcome| {
        progress.done(job, outcome);
    });
    progress.end();

    for (job, outcome) in jobs.iter().zip(&outcomes) {
        match outcome.as_ref().map(|outcome| &outcome.result) {
            Some(Err(Stop::Problems(failure))) => {
                report::show(&failure.diagnostics, &job.lower.input, args.format);
            }
            Some(Err(Stop::Usage(text))) => {
                report::usage(text, &job.lower.input, args.format);
            }
            Some(Ok(_)) | None => {}
        }
    }
    let summary = Summary::of(&jobs, &outcomes);
    write::if_changed(&place, summary.json().as_bytes())?;
    if let Some(file) = &args.dependency_file {
        let read: Vec<_> = read.iter().map(PathBuf::as_path).collect();
        write::to_file(file, depfile::text(&[&place], &read)?.as_bytes())?;
    }
    let printed = match args.format {
        Format::Text => summary.table(),
        Format::Json => summary.json(),
    };
    write::stdout(printed.as_bytes())?;
    Ok(worst(&outcomes))
}

/// That no file to be written is one that is read, or another one.
fn check_places(
    jobs: &[Job],
    summary: &Path,
    dependencies: Option<&Path>,
    read: &[PathBuf],
) -> Result<(), String> {
    let read: BTreeSet<PathBuf> = read
        .iter()
        .filter_map(|file| file.canonicalize().ok())
        .collect();
    let outputs = jobs.iter().flat_map(|job| &job.outputs);
    let outputs = outputs.filter_map(|output| output.file.as_deref());
    let mut places = Places::default();
    for file in outputs.chain([summary]).chain(dependencies) {
        places.add(file)?;
        if file.canonicalize().is_ok_and(|file| read.contains(&file)) {
            let file = file.display();
            return Err(format!(
                "{file}: the output would replace this input; name another folder or file"
            ));
        }
    }
    Ok(())
}

fn make_folder(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The exit code of all: that of the job for which most would have to be done.
fn worst(outcomes: &[Option<Outcome>]) -> u8 {
    /// The worst first, as [`splitbar::Failure::exit_code`] has it.
    const ORDER: [u8; 4] = [exit::BUG, exit::INVALID, exit::USAGE, exit::UNSUPPORTED];
    let outcomes = outcomes.iter().flatten();
    let codes: Vec<u8> = outcomes.map(Outcome::exit_code).collect();
    let worst = ORDER.into_iter().find(|code| codes.contains(code));
    worst.unwrap_or(exit::DONE)
}
