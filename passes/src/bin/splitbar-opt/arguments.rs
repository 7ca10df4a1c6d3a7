//! The command line. The table of passes defines the flags of passes, and their order is kept.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use splitbar_passes::pipeline::Step;
use splitbar_passes::transform::registry::{OPTIMIZE, PASSES};
use std::ffi::OsString;
use std::path::PathBuf;

/// The end of the help.
const AFTER: &str = "\
Passes run in the order of their flags. A flag can be repeated.

Exit codes: 0 success, 1 invalid module, 2 wrong usage or a file that cannot be read or written,
3 not supported by a pass, or a limit was exceeded, 4 a bug in splitbar.";

/// A whole command line.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// The file to read; `-` is the standard input.
    pub input: OsString,
    /// More modules, linked to the first.
    pub linked: Vec<OsString>,
    /// The file to write; `None` is the standard output.
    pub output: Option<PathBuf>,
    /// The passes.
    pub steps: Vec<Step>,
    /// Print the module first and after every pass that changed it.
    pub print_all: bool,
    /// Print the result and the time of each pass.
    pub time_report: bool,
    /// Print the number of instructions in each window after all passes.
    pub window_report: bool,
    /// Check the module after every pass.
    pub validate_after_all: bool,
    /// The number of passes that can change the module.
    pub fuel: Option<u64>,
}

/// The action of a command line.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Run passes.
    Run(Box<Arguments>),
    /// List the passes.
    ListPasses,
}

/// The reason why no pass runs.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The message of the parser: an error, the help, or the version.
    Parser(clap::Error),
    /// A wrong value of a pass.
    Values(String),
}

/// Reads the command line of the process.
///
/// # Errors
/// The error in it, or the help or the version if it contains such a flag.
pub(crate) fn read() -> Result<Asked, Refused> {
    let matches = command().try_get_matches().map_err(Refused::Parser)?;
    asked(&matches).map_err(Refused::Values)
}

fn command() -> Command {
    let mut command = Command::new("splitbar-opt")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Runs passes on a SPIR-V module")
        .after_help(AFTER)
        .arg(
            Arg::new("input")
                .value_name("IN.spv")
                .value_parser(value_parser!(OsString))
                .required_unless_present("list-passes")
                .help("Module to read; - is standard input"),
        )
        .arg(
            Arg::new("output")
                .short('o')
                .value_name("OUT.spv")
                .value_parser(value_parser!(OsString))
                .required_unless_present("list-passes")
                .help("Module to write; - is standard output"),
        )
        .arg(
            Arg::new("link")
                .long("link")
                .value_name("MODULE.spv")
                .value_parser(value_parser!(OsString))
                .action(ArgAction::Append)
                .help("Links this module with IN.spv before the first pass; can be repeated"),
        )
        .arg(
            Arg::new("optimize")
                .short('O')
                .action(ArgAction::Append)
                .num_args(0)
                .default_missing_value("")
                .help(format!("Runs {}", optimize_flags())),
        )
        .arg(flag("list-passes", "Lists all passes"))
        .arg(flag(
            "print-all",
                        "Prints the module to standard error before the first pass and after every pass that changes it",
        ))
        .arg(flag(
            "time-report",
            "Prints the result and the time of each pass",
        ))
        .arg(flag(
            "window-report",
            "Prints the number of instructions in the window of each workgroup barrier after all passes",
        ))
        .arg(flag(
            "validate-after-all",
                        "After every pass that changes the module, checks all rules, and that a second run of the pass changes nothing",
        ))
        .arg(
            Arg::new("fuel")
                .long("fuel")
                .value_name("N")
                .value_parser(value_parser!(u64))
                .help("Stops after N passes have changed the module"),
        );
    for pass in PASSES {
        let mut arg = Arg::new(pass.name)
            .long(pass.name)
            .aliases(pass.earlier_names())
            .action(ArgAction::Append)
            .help(pass.about)
            .help_heading("Passes")
            .next_line_help(true)
            .default_missing_value("");
        arg = match (pass.value, pass.value_is_optional()) {
            (None, _) => arg.num_args(0),
            (Some(form), true) => arg.num_args(0..=1).require_equals(true).value_name(form),
            (Some(form), false) => arg.num_args(1).require_equals(true).value_name(form),
        };
        command = command.arg(arg);
    }
    command
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help)
}

fn asked(matches: &ArgMatches) -> Result<Asked, String> {
    if matches.get_flag("list-passes") {
        return Ok(Asked::ListPasses);
    }
    let output = matches
        .get_one::<OsString>("output")
        .filter(|path| *path != "-");
    Ok(Asked::Run(Box::new(Arguments {
        input: matches
            .get_one::<OsString>("input")
            .cloned()
            .unwrap_or_default(),
        linked: matches
            .get_many::<OsString>("link")
            .into_iter()
            .flatten()
            .cloned()
            .collect(),
        output: output.map(PathBuf::from),
        steps: steps(matches)?,
        print_all: matches.get_flag("print-all"),
        time_report: matches.get_flag("time-report"),
        window_report: matches.get_flag("window-report"),
        validate_after_all: matches.get_flag("validate-after-all"),
        fuel: matches.get_one("fuel").copied(),
    })))
}

/// The flags that `-O` expands to.
pub(super) fn optimize_flags() -> String {
    let flags: Vec<String> = OPTIMIZE
        .iter()
        .map(|pass| format!("--{}", pass.name))
        .collect();
    flags.join(" ")
}

/// The passes in the order of their flags.
fn steps(matches: &ArgMatches) -> Result<Vec<Step>, String> {
    let mut placed: Vec<(usize, Step)> = Vec::new();
    for pass in PASSES {
        let indices = matches.indices_of(pass.name).into_iter().flatten();
        let values = matches.get_many::<String>(pass.name).into_iter().flatten();
        for (index, value) in indices.zip(values) {
            let value = Some(value.as_str()).filter(|value| !value.is_empty());
            placed.push((
                index,
                Step {
                    pass,
                    options: pass.options(value)?,
                },
            ));
        }
    }
    for index in matches.indices_of("optimize").into_iter().flatten() {
        let plain = OPTIMIZE.iter().copied().map(Step::plain);
        placed.extend(plain.map(|step| (index, step)));
    }
    placed.sort_by_key(|(index, _)| *index); // stable: the passes of -O stay in their order
    Ok(placed.into_iter().map(|(_, step)| step).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn names(line: &str) -> Vec<&'static str> {
        let words = ["splitbar-opt"].into_iter().chain(line.split_whitespace());
        let matches = command().try_get_matches_from(words).unwrap();
        steps(&matches)
            .unwrap()
            .iter()
            .map(|step| step.pass.name)
            .collect()
    }

    #[test]
    fn the_table_makes_a_sound_command() {
        command().debug_assert();
    }

    #[test]
    fn order_of_flags_is_order_of_passes() {
        assert_eq!(
            names(
                "--split-control-barriers a.spv --fuse-split-barriers=arrive --split-control-barriers -o b.spv --fuse-split-barriers"
            ),
            [
                "split-control-barriers",
                "fuse-split-barriers",
                "split-control-barriers",
                "fuse-split-barriers"
            ]
        );
        let mut expected = vec!["split-control-barriers"];
        expected.extend(OPTIMIZE.iter().map(|pass| pass.name));
        expected.push("fuse-split-barriers");
        assert_eq!(
            names("--split-control-barriers -O a.spv -o - --fuse-split-barriers"),
            expected
        );
    }

    #[test]
    fn earlier_names_are_taken_and_not_shown() {
        assert_eq!(
            names("--stage-barrier-loop-loads --strip-split-barrier-spelling=ext a.spv -o b.spv"),
            ["prefetch-barrier-loop-loads", "strip-split-barrier-alias"]
        );
        let help = command().render_long_help().to_string();
        assert!(help.contains("--strip-split-barrier-alias") && !help.contains("spelling"));
    }

    #[test]
    fn wrong_lines_are_refused() {
        for line in [
            "",
            "a.spv",
            "a.spv -o b.spv --no-such-pass",
            "a.spv -o b.spv --fuel x",
            "a.spv -o b.spv --strip-split-barrier-alias",
        ] {
            let words = ["splitbar-opt"].into_iter().chain(line.split_whitespace());
            assert!(command().try_get_matches_from(words).is_err(), "{line}");
        }
    }
}
