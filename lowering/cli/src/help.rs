//! The help of the commands, in two columns: `-h` has the options that most calls need, `--help` all
//! of them in groups. The long texts are in what `splitbar manual` writes.

use clap::{Arg, Command};
use std::ffi::OsString;
use std::fmt::Write;

/// Columns of a line.
const WIDTH: usize = 100;

/// The column of the texts.
const COLUMN: usize = 32;

/// Headings of options, by their long names. Options of the library have their headings in their
/// declarations, and come first there; what has none is under "Options".
const GROUPS: [(&str, &[&str]); 5] = [
    ("Barriers", &["profile", "estimate"]),
    ("Code", &[]),
    (
        "Output",
        &[
            "emit",
            "output",
            "emit-dir",
            "write-dependencies",
            "dependency-file",
            "dependency-target",
            "format",
            "dump",
            "trace",
            "color",
            "verbose",
        ],
    ),
    (
        "Rules and messages",
        &["limit", "no-warnings", "W", "allow", "warn"],
    ),
    ("Limits", &["time-limit", "memory-limit", "steps"]),
];

/// The heading of all others.
const FIRST_HEADING: &str = "Options";

/// Options that `-h` shows.
const COMMON: [&str; 18] = [
    "target",
    "targets",
    "entry",
    "spec",
    "workgroup-size",
    "groups",
    "buffer",
    "push",
    "dump",
    "strategy",
    "split-barriers",
    "O",
    "emit",
    "output",
    "format",
    "target-env",
    "plan",
    "release",
];

/// The command line, with the help that `given` asks for where it asks for some.
pub(super) fn command(program: Command, given: &[OsString]) -> Command {
    let flags = given.iter().take_while(|argument| *argument != "--");
    let asks = |flag: &str| flags.clone().any(|argument| argument == flag);
    let whole = asks("--help") || given.get(1).is_some_and(|first| first == "help");
    if whole || asks("-h") {
        with_help(program, whole)
    } else {
        program
    }
}

fn with_help(mut command: Command, whole: bool) -> Command {
    command.build();
    let names: Vec<String> = command
        .get_subcommands()
        .map(|c| c.get_name().to_owned())
        .collect();
    // What clap makes of `help` has commands of its own.
    let names = names.into_iter().filter(|name| name != "help");
    names.fold(command, |command, name| {
        command.mut_subcommand(name, |sub| {
            let text = text(&sub, whole);
            sub.override_help(text)
        })
    })
}

/// The help of one command.
fn text(command: &Command, whole: bool) -> String {
    let mut out = String::new();
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    paragraph(&mut out, 0, &about);
    let usage = command.clone().render_usage().to_string();
    let _ = writeln!(out, "\n{usage}");
    let arguments: Vec<&Arg> = command.get_positionals().filter(is_shown).collect();
    section(&mut out, "Arguments", &arguments);
    let options = || {
        command
            .get_arguments()
            .filter(|arg| !arg.is_positional())
            .filter(is_shown)
    };
    if whole {
        let others: Vec<&Arg> = options()
            .filter(|arg| heading(arg) == FIRST_HEADING)
            .collect();
        section(&mut out, FIRST_HEADING, &others);
        for (of_group, names) in GROUPS {
            let declared = options().filter(|arg| arg.get_help_heading() == Some(of_group));
            let find = |wanted: &&str| options().find(|arg| name(arg) == **wanted);
            let group: Vec<&Arg> = declared.chain(names.iter().filter_map(find)).collect();
            section(&mut out, of_group, &group);
        }
    } else {
        let is_common = |arg: &&Arg| arg.is_required_set() || COMMON.contains(&&*name(arg));
        let common: Vec<&Arg> = options().filter(is_common).collect();
        section(&mut out, FIRST_HEADING, &common);
        let program = command.get_bin_name().unwrap_or("splitbar");
        let more = format!(
            "`{program} --help` lists all options, `splitbar manual DIR` writes full manual pages."
        );
        let _ = writeln!(out, "\n{more}");
    }
    if let Some(after) = command.get_after_help() {
        let _ = writeln!(out, "\n{after}");
    }
    out
}

/// The heading of an option.
fn heading(arg: &Arg) -> String {
    let listed = GROUPS
        .iter()
        .find(|(_, names)| names.contains(&&*name(arg)));
    let heading = arg
        .get_help_heading()
        .or(listed.map(|(heading, _)| *heading));
    heading.unwrap_or(FIRST_HEADING).to_owned()
}

/// Returns true if an argument stands in the help. That of `--help` itself needs none.
fn is_shown(arg: &&Arg) -> bool {
    !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str())
}

/// The long name of an option, or its short one.
fn name(arg: &Arg) -> String {
    let short = || arg.get_short().map(String::from);
    arg.get_long()
        .map(str::to_owned)
        .or_else(short)
        .unwrap_or_default()
}

fn section(out: &mut String, heading: &str, arguments: &[&Arg]) {
    if arguments.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{heading}:");
    for arg in arguments {
        let spelled = spelled(arg);
        let _ = write!(out, "  {spelled}");
        let at = spelled.chars().count() + 2;
        // A name that is too long has a line of its own.
        if at + 2 > COLUMN {
            out.push('\n');
            let _ = write!(out, "{:COLUMN$}", "");
        } else {
            let _ = write!(out, "{:1$}", "", COLUMN - at);
        }
        paragraph(out, COLUMN, &described(arg));
    }
}

/// `-o, --output <FILE>`.
fn spelled(arg: &Arg) -> String {
    if arg.is_positional() {
        return arg.to_string();
    }
    match (arg.get_short(), arg.get_long()) {
        // Its value stands behind the long name alone.
        (Some(short), Some(_)) => format!("-{short}, {arg}"),
        (Some(_), None) => arg.to_string(),
        (None, _) => format!("    {arg}"),
    }
}

/// What it is, its values and its default.
fn described(arg: &Arg) -> String {
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let takes_values = arg.get_action().takes_values();
    let values = arg.get_possible_values();
    let values: Vec<&str> = values
        .iter()
        .filter(|value| takes_values && !value.is_hide_set())
        .map(|value| value.get_name())
        .collect();
    // The only value can be in the text already.
    let is_named = matches!(&*values, [only] if text.contains(&format!("`{only}`")));
    if !values.is_empty() && !is_named {
        let _ = write!(text, ": {}", values.join(", "));
    }
    let defaults: Vec<_> = arg
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy())
        .collect();
    if takes_values && !defaults.is_empty() {
        let _ = write!(text, " [{}]", defaults.join(","));
    }
    text
}

/// Writes `text` in lines that begin at `column`, where the first one already is.
fn paragraph(out: &mut String, column: usize, text: &str) {
    let mut at = column;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if at > column && at + 1 + length > WIDTH {
            let _ = write!(out, "\n{:column$}", "");
            at = column;
        } else if at > column {
            out.push(' ');
            at += 1;
        }
        out.push_str(word);
        at += length;
    }
    out.push('\n');
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::command::Cli;
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    /// What `splitbar COMMAND FLAG` prints.
    fn printed(name: &str, flag: &str) -> String {
        let given: Vec<OsString> = ["splitbar", name, flag].map(OsString::from).into();
        let shown = command(Cli::command(), &given)
            .try_get_matches_from(&given)
            .unwrap_err();
        assert_eq!(shown.kind(), ErrorKind::DisplayHelp, "{name}");
        shown.to_string()
    }

    #[test]
    fn each_fits_on_two_screens_and_has_every_option() {
        let mut program = Cli::command();
        program.build();
        let commands = program.get_subcommands();
        for sub in commands.filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
            let name = sub.get_name();
            let (short, long) = (printed(name, "-h"), printed(name, "--help"));
            for (text, most) in [(&short, 60), (&long, 100)] {
                assert!(
                    text.lines().count() <= most,
                    "{}\n{text}",
                    text.lines().count()
                );
                let wide = text.lines().find(|line| line.chars().count() > WIDTH);
                assert_eq!(wide, None, "{name}");
            }
            for arg in sub.get_arguments().filter(is_shown) {
                assert!(long.contains(&spelled(arg)), "{name} {arg}\n{long}");
            }
            assert!(
                long.contains("--color") && !short.contains("--color"),
                "{name}"
            );
        }
    }

    #[test]
    fn every_name_in_the_tables_is_an_option() {
        let program = Cli::command();
        let commands = program.get_subcommands();
        let mut known: Vec<String> = commands
            .flat_map(Command::get_arguments)
            .map(name)
            .collect();
        known.extend(program.get_arguments().map(name));
        let grouped = GROUPS.iter().flat_map(|(_, names)| *names);
        for listed in grouped.chain(&COMMON) {
            assert!(known.iter().any(|known| known == listed), "{listed}");
        }
    }

    #[test]
    fn help_of_a_command_is_the_same_by_either_name() {
        let given: Vec<OsString> = ["splitbar", "help", "lower"].map(OsString::from).into();
        let shown = command(Cli::command(), &given)
            .try_get_matches_from(&given)
            .unwrap_err();
        assert_eq!(shown.to_string(), printed("lower", "--help"));
    }
}
