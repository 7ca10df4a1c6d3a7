//! The arguments of `splitbar batch`.

use crate::limits::LimitArgs;
use crate::values::{Format, parse_target};
use clap::{Args, value_parser};
use splitbar::Target;
use std::ffi::OsString;
use std::path::PathBuf;

/// After the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  splitbar batch kernels --targets gfx1201,sm_90 -o out    every .spv: out/gfx1201/NAME.s, ...
  splitbar batch kernels --targets gfx1201 -o out --keep-going -- --emit hsaco --emit reflect -O3
  splitbar batch kernels --targets gfx1201,sm_90 -o out --check      rules and limits alone
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

impl BatchArgs {
    /// The form of its diagnostics.
    pub(crate) fn format(&self) -> Format {
        self.format
    }
}

/// What the command line says.
#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    /// A folder, of which every file `.spv` is taken, at any depth; or a file of jobs, in JSON
    pub(super) jobs: PathBuf,
    /// The GPUs, with commas between them, of jobs that name none
    #[arg(long, visible_alias = "target", value_name = "GPU,...", value_delimiter = ',', value_parser = parse_target)]
    pub(super) targets: Vec<&'static Target>,
    /// The folder of the outputs, which is made where it is missing: OUT/TARGET/NAME.s
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: PathBuf,
    /// Worker processes at a time [default: as many as there are processors]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub(super) at_once: Option<u16>,
    /// Checks and plans the modules, and writes no outputs but the summary
    ///
    /// With the rules that `splitbar lower` checks, and the limits of each GPU.
    #[arg(long)]
    pub(super) check: bool,
    /// Goes on after a job that fails; without it, jobs that have not begun are left out then
    #[arg(short, long)]
    pub(super) keep_going: bool,
    /// Where results are kept [default: OUT/.store]
    #[arg(long, value_name = "DIR")]
    pub(super) store: Option<PathBuf>,
    /// How the summary on the standard output and the diagnostics on the standard error are printed
    ///
    /// SARIF has the diagnostics on the standard output, and no summary.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// Writes which files OUT/summary.json was made of, for make and ninja; also -MD
    #[arg(long, requires = "dependency_file")]
    pub(super) write_dependencies: bool,
    /// The file for them; also -MF FILE
    #[arg(long, value_name = "FILE", requires = "write_dependencies")]
    pub(super) dependency_file: Option<PathBuf>,
    /// Prints a line for each job that is done, where the standard error is not a terminal
    #[arg(short, long)]
    pub(super) verbose: bool,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
    /// Arguments of `splitbar lower` for every job
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(super) lower: Vec<OsString>,
}
