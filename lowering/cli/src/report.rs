//! Problems on the standard error.

use super::values::Format;
use super::{arguments, flags, write};
use splitbar::diagnostic::text::Colour;
use splitbar::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar::diagnostic::{json, text};
use splitbar::exit;
use std::io::Write;
use std::path::Path;

/// Prints problems about the module `input`.
pub(super) fn show(problems: &Diagnostics, input: &Path, format: Format) {
    let problems = flags::advised(problems);
    let rendered = match format {
        Format::Text => text::render_with(&problems, &name(input), colour()),
        Format::Json => json::render(&problems, &name(input)),
    };
    write::stderr(&rendered);
}

/// Prints what is wrong with the command line or its files, and gives the exit code for it.
pub(super) fn usage(text: &str, input: &Path, format: Format) -> u8 {
    match format {
        Format::Text => write::error(text),
        Format::Json => show(
            &Diagnostic::error(Code::WrongUsage, text).into(),
            input,
            format,
        ),
    }
    exit::USAGE
}

/// Prints what the parser of the command line says, and gives the exit code for it. The parser has
/// stopped, so whether JSON is wanted is read from the arguments themselves.
pub(super) fn arguments(error: &clap::Error) -> u8 {
    let code = u8::try_from(error.exit_code()).unwrap_or(exit::USAGE);
    if !error.use_stderr() {
        // Help and the version are what was asked for.
        let printed = error.print().and_then(|()| std::io::stdout().flush());
        return write::printed(printed)
            .map_or_else(|text| usage(&text, Path::new("-"), asked()), |()| code);
    }
    if asked() == Format::Text {
        // Nobody is left to tell if the stream is closed or full.
        let _ = error.print();
        return code;
    }
    let said = error.render().to_string();
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("wrong arguments");
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let mut problem = Diagnostic::error(Code::WrongUsage, first);
    let mut help = Vec::new();
    for line in lines {
        match line.strip_prefix("tip: ") {
            Some(tip) => help.push(tip),
            None if line.starts_with("For more information") => {}
            None => problem = problem.because(line),
        }
    }
    if !help.is_empty() {
        problem = problem.help(help.join("; "));
    }
    show(&problem.into(), Path::new("-"), Format::Json);
    exit::USAGE
}

/// The form of problems that the arguments ask for, where no parser has read them.
pub(super) fn asked() -> Format {
    let given = arguments::given();
    let is_json = given.iter().any(|arg| arg == "--diagnostics=json")
        || given
            .windows(2)
            .any(|pair| pair[0] == "--diagnostics" && pair[1] == "json");
    if is_json { Format::Json } else { Format::Text }
}

fn name(input: &Path) -> String {
    if input == Path::new("-") {
        "<standard input>".to_owned()
    } else {
        input.display().to_string()
    }
}

/// As --color says, else as the environment does (NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM), else
/// in colour to a terminal.
fn colour() -> Colour {
    match anstream::AutoStream::choice(&std::io::stderr()) {
        anstream::ColorChoice::Never => Colour::Off,
        _ => Colour::On,
    }
}
