//! The commands, and how one is run.

use super::limits::{self, LimitArgs};
use super::report::Sink;
use super::values::{DataFormat, Format};
use super::{
    advise, arguments, audit, batch, check, explain, help, lower, lower_ir, model, profile, report,
    report_command, shell, sim, targets, worker,
};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Compiles SPIR-V compute modules with split barriers for AMD and NVIDIA GPUs.
#[derive(Debug, Parser)]
#[command(name = "splitbar", version = version(), propagate_version = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    colour: colorchoice_clap::Color,
}

/// The release, its commit, and its LLVM version.
pub(crate) fn version() -> &'static str {
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
Exit codes: 0 success, 1 invalid module, 2 wrong usage or a file that cannot be read or written,
3 unsupported by this target or build, or a limit was exceeded, 4 a bug in splitbar.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compiles a module for one GPU
    #[command(after_help = lower::EXAMPLES)]
    Lower(Box<lower::LowerArgs>),
    /// Compiles an LLVM module whose kernels call split barriers, for compilers that emit LLVM IR
    #[command(after_help = lower_ir::EXAMPLES)]
    LowerIr(Box<lower_ir::LowerIrArgs>),
    /// Compiles many modules for several GPUs in parallel worker processes; continues an
    /// interrupted run
    #[command(after_help = batch::EXAMPLES)]
    Batch(Box<batch::BatchArgs>),
    /// Checks modules against the rules of SPIR-V, Vulkan and OpenCL for barriers; the exit code is
    /// 1 if there are errors
    Check(Box<check::CheckArgs>),
    /// Audits final code: lists operations that may be outstanding at each barrier, unnecessary
    /// waits, and missing parts of fences; the exit code is 1 if something is missing
    #[command(after_help = audit::EXAMPLES)]
    Audit(audit::AuditArgs),
    /// Explores all interleavings of a few waves at the barriers of a module, as lowered for one
    /// GPU
    #[command(after_help = model::EXAMPLES)]
    Model(Box<model::ModelArgs>),
    /// Runs a kernel on a simulated GPU under adverse schedules; the exit code is 1 if it finds a
    /// race, a missing wait, a deadlock or another error
    #[command(after_help = sim::EXAMPLES)]
    Sim(Box<sim::SimArgs>),
    /// Compiles a module with every strategy, and recommends one based on registers, occupancy, the
    /// work between arrive and wait, and barrier costs
    #[command(after_help = advise::EXAMPLES)]
    Advise(Box<advise::AdviseArgs>),
    /// Writes a report (HTML, text or JSON) on whether to split the barriers of a module on each
    /// GPU, and why
    #[command(after_help = report_command::EXAMPLES)]
    Report(Box<report_command::ReportArgs>),
    /// Shows the skew between the subgroups of a workgroup at each barrier; reads the buffer of a
    /// kernel that was instrumented by `splitbar-opt --instrument-barrier-skew`
    #[command(after_help = profile::EXAMPLES)]
    Profile(profile::ProfileArgs),
    /// Lists the GPUs with wave size, default strategy, async copies and minimum PTX version
    Targets {
        /// Format of the list
        #[arg(long, value_enum, default_value_t = DataFormat::Text)]
        format: DataFormat,
    },
    /// Compiles modules for another process that writes requests to standard input
    #[command(hide = true)]
    Worker(worker::Served),
    /// Explains a diagnostic code
    Explain {
        /// The code, such as SB0205
        code: String,
    },
    /// Writes a completion script for a shell
    #[command(after_help = shell::EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Writes a manual page for the program and for each command
    Manual {
        /// The folder for the pages
        folder: PathBuf,
    },
}

/// Runs the command in the arguments, and returns the exit code.
pub(crate) fn run() -> u8 {
    if let Err(text) = arguments::expand() {
        let code = report::usage(&text, Path::new("-"), report::asked());
        return report::finish(Sink::Error, report::asked(), code);
    }
    let given = arguments::given();
    let matches = help::command(Cli::command(), &given).try_get_matches_from(&given);
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return report::arguments(&error),
    };
    cli.colour.write_global();
    match cli.command.limited() {
        Some((limits, input, format)) if !limits::in_process() => {
            let done = limits::isolated(limits, input, format, || cli.command.run_here());
            // Where the process has an exit code of its own, it has written the document.
            done.unwrap_or_else(|code| cli.command.finish(code))
        }
        _ => cli.command.run_here(),
    }
}

/// Runs a command for the process that `splitbar worker` works for.
fn run_served(command: &[OsString]) -> io::Result<u8> {
    let name = OsString::from("splitbar");
    let arguments = std::iter::once(&name).chain(command);
    let cli = Cli::try_parse_from(arguments).map_err(io::Error::other)?;
    cli.colour.write_global();
    match &cli.command {
        Command::Worker(_) => Err(io::Error::other("a worker has no worker")),
        command => Ok(command.run_here()),
    }
}

impl Command {
    /// The limits of a command that runs in a process of its own, the module of its problems, and
    /// their format. `lower` has its own worker.
    fn limited(&self) -> Option<(&LimitArgs, &Path, Format)> {
        match self {
            Command::Check(args) => Some(args.limited()),
            Command::Audit(args) => Some(args.limited()),
            Command::Model(args) => Some(args.limited()),
            Command::Sim(args) => Some(args.limited()),
            Command::Advise(args) => Some(args.limited()),
            Command::Report(args) => Some(args.limited()),
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

    /// The format of its diagnostics and findings, and the stream for a SARIF document; `None` if
    /// it writes no SARIF.
    fn reports(&self) -> Option<(Format, Sink)> {
        match self {
            Command::Lower(args) => Some((args.code.format, Sink::Error)),
            Command::LowerIr(args) => Some((args.format(), Sink::Error)),
            Command::Batch(args) => Some((args.format(), Sink::Output)),
            Command::Check(args) => Some((args.limited().2, Sink::Output)),
            Command::Audit(args) => Some((args.limited().2, Sink::Output)),
            Command::Sim(args) => Some((args.limited().2, Sink::Output)),
            Command::Model(_)
            | Command::Advise(_)
            | Command::Report(_)
            | Command::Profile(_)
            | Command::Targets { .. }
            | Command::Worker(_)
            | Command::Explain { .. }
            | Command::Completions { .. }
            | Command::Manual { .. } => None,
        }
    }

    /// Runs it in this process and returns the exit code.
    fn run_here(&self) -> u8 {
        let code = self.perform();
        self.finish(code)
    }

    /// Writes the SARIF document, if one is selected, and returns the exit code.
    fn finish(&self, code: u8) -> u8 {
        match self.reports() {
            Some((format, sink)) => report::finish(sink, format, code),
            None => code,
        }
    }

    fn perform(&self) -> u8 {
        match self {
            Command::Lower(args) => lower::run(args),
            Command::LowerIr(args) => lower_ir::run(args),
            Command::Batch(args) => batch::run(args),
            Command::Check(args) => check::run(args),
            Command::Audit(args) => audit::run(args),
            Command::Model(args) => model::run(args),
            Command::Sim(args) => sim::run(args),
            Command::Advise(args) => advise::run(args),
            Command::Report(args) => report_command::run(args),
            Command::Profile(args) => profile::run(args),
            Command::Targets { format } => targets::run(*format),
            Command::Worker(served) => worker::run(served, run_served),
            Command::Explain { code } => explain::run(code),
            Command::Completions { shell } => shell::completions(*shell, &mut Cli::command()),
            Command::Manual { folder } => shell::manual(folder, Cli::command()),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::lower::LowerArgs;
    use splitbar::{Choice, DeclaredOptions, FuseAt, Optimization, Options, Strategy};

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
            | Command::Report(_)
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
            "buffer", // this and others: the launch, of which an interface has its own form
            "dynamic-shared",
            "emit",
            "emit-dir",
            "format",
            "groups",
            "memory-limit",
            "no-warnings",
            "output",
            "profile", // bytes of a file
            "push",
            "resident",
            "spec", // its own function in each interface
            "steps",
            "target", // a value of its own in each interface
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
        let names = Options::declared().map(|option| option.name);
        let names = names.filter(|name| name.len() > 1);
        assert_eq!(flags, names.collect());
    }

    #[test]
    fn every_command_with_a_module_has_the_same_limits() {
        let all = Cli::command();
        let mut texts = Vec::new();
        for name in [
            "lower", "batch", "check", "audit", "model", "sim", "advise", "report", "profile",
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
        assert_eq!(args.spec.spec.len(), 2);
        let options = options(&args);
        assert_eq!(options.optimization, Optimization::O3);
        assert_eq!(options.workgroup_size, Some([8, 8, 1]));
        assert_eq!(options.strategy, Some(Strategy::Fused));
        assert_eq!(options.fuse_at, FuseAt::Arrive);
        let given: Vec<String> = args.options.given().collect();
        let flags = ["--strategy", "--fuse-at", "-O", "--workgroup-size"];
        assert_eq!(given, flags);
        let args = lower(&["--target", "sm_90"]).unwrap();
        assert!(args.code.emit.is_empty() && args.options.given().next().is_none());
        for (name, choice) in [
            ("auto=fast", Choice::Fast),
            ("auto=balanced", Choice::Balanced),
            ("auto=measured", Choice::Measured),
            ("auto=always-split", Choice::AlwaysSplit),
        ] {
            let args = lower(&["--target", "sm_90", "--strategy", name]).unwrap();
            assert_eq!(self::options(&args).choice, choice);
        }
    }

    fn options(args: &LowerArgs) -> Options {
        let mut options = Options::new(args.target);
        args.options.set(&mut options).unwrap();
        options
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
            &["--target", "gfx1201", "--wavefront-size", "16"],
            &[],
        ] {
            assert_eq!(lower(wrong).unwrap_err().exit_code(), 2, "{wrong:?}");
        }
    }
}
