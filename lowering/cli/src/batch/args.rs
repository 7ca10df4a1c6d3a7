//! The arguments of `splitbar batch`.

use crate::limits::LimitArgs;
use crate::values::{Format, parse_target};
use clap::{Args, value_parser};
use splitbar::Target;
use std::ffi::OsString;
use std::path::PathBuf;

/// The end of the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  splitbar batch kernels --targets gfx1201,sm_90 -o out    every .spv: out/gfx1201/NAME.s, ...
  splitbar batch kernels --targets gfx1201 -o out --keep-going -- --emit hsaco --emit reflect -O3
  splitbar batch kernels --targets gfx1201,sm_90 -o out --check      checks, but writes no code
  splitbar batch jobs.json -o out -j 4 -MD -MF out/batch.d            for a build system

JOBS.json is an array of objects; only `module` is required:
  [{\"module\": \"a.spv\", \"name\": \"a-fused\", \"targets\": [\"sm_90\"],
    \"arguments\": [\"--strategy\", \"fused\"]}, ...]
Paths of modules are relative to the folder of JOBS.json; arguments are those of `splitbar lower`.
OUT/summary.json lists the jobs with their outputs and diagnostics. OUT/.store caches
results, keyed by a digest of the module, the options and this program. A repeated or continued run
compiles only jobs whose results are not in the cache. A job whose process crashed is retried once.

Exit codes: 0 success; otherwise the exit code of the worst job: 1 invalid, 2 wrong usage or a file
that cannot be read or written, 3 unsupported, 4 a bug.";

impl BatchArgs {
    /// The form of its diagnostics.
    pub(crate) fn format(&self) -> Format {
        self.format
    }
}

/// What the command line says.
#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    /// A folder that is searched recursively for `.spv` files, or a JSON file that lists the jobs
    pub(super) jobs: PathBuf,
    /// The GPUs for jobs that do not name any, separated by commas
    #[arg(long, visible_alias = "target", value_name = "GPU,...", value_delimiter = ',', value_parser = parse_target)]
    pub(super) targets: Vec<&'static Target>,
    /// The folder for the outputs (OUT/TARGET/NAME.s); created if it does not exist
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: PathBuf,
    /// Number of worker processes [default: number of processors]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub(super) at_once: Option<u16>,
    /// Only checks the modules and plans their barriers; writes the summary, but no code
    ///
    /// Checks the same rules as `splitbar lower`, and the limits of each GPU.
    #[arg(long)]
    pub(super) check: bool,
    /// Continues after a job fails; without it, no further jobs start
    #[arg(short, long)]
    pub(super) keep_going: bool,
    /// Folder for results of earlier runs [default: OUT/.store]
    #[arg(long, value_name = "DIR")]
    pub(super) store: Option<PathBuf>,
    /// Format of the summary on standard output and of the diagnostics on standard error
    ///
    /// With sarif, the diagnostics go to standard output, without a summary.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// Writes a dependency file for OUT/summary.json, for make and ninja (alias: -MD)
    #[arg(long, requires = "dependency_file")]
    pub(super) write_dependencies: bool,
    /// Writes the dependencies to FILE (alias: -MF FILE)
    #[arg(long, value_name = "FILE", requires = "write_dependencies")]
    pub(super) dependency_file: Option<PathBuf>,
    /// Prints a line for each finished job even if standard error is not a terminal
    #[arg(short, long)]
    pub(super) verbose: bool,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
    /// Arguments of `splitbar lower` for every job
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(super) lower: Vec<OsString>,
}
