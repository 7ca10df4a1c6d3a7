//! Problems on the standard error.

use super::problem::{Problem, github, sarif};
use super::values::Format;
use super::{arguments, flags, texts, write};
use clap::ValueEnum;
use splitbar::diagnostic::text::Colour;
use splitbar::diagnostic::{Code, Diagnostic, Diagnostics, Subject};
use splitbar::diagnostic::{json, text};
use splitbar::exit;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The problems of a SARIF document, which is written when the command is over.
static KEPT: Mutex<Vec<Problem>> = Mutex::new(Vec::new());

/// Where the SARIF document of a command goes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Sink {
    /// The standard output.
    Output,
    /// The standard error: the standard output may be code.
    Error,
}

/// Prints problems about the module `input`; in SARIF they are printed by [`finish`].
pub(super) fn show(problems: &Diagnostics, input: &Path, format: Format) {
    show_for(problems, input, None, format);
}

/// As [`show`], for one of several targets.
pub(super) fn show_for(
    problems: &Diagnostics,
    input: &Path,
    target: Option<&'static str>,
    format: Format,
) {
    let mut problems = flags::advised(problems);
    let file = name(input);
    texts::place(&mut problems, &file);
    let subject = Subject::new(&file).with_target(target);
    match format {
        Format::Text => write::stderr(&text::render_with(&problems, subject, colour())),
        Format::Json => write::stderr(&json::render(&problems, subject)),
        Format::Sarif => keep(listed(&problems, &file, target)),
        Format::Github => write::stderr(&github::render(&listed(&problems, &file, target))),
    }
}

fn listed(problems: &Diagnostics, file: &str, target: Option<&'static str>) -> Vec<Problem> {
    let problems = problems.iter();
    problems
        .map(|problem| Problem::of_diagnostic(problem, file, target))
        .collect()
}

/// Keeps problems for the SARIF document.
pub(super) fn keep(problems: Vec<Problem>) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.extend(problems);
}

/// Writes the SARIF document with all problems of the command, and gives the exit code: that of the
/// command, `code`, unless the document cannot be written.
pub(super) fn finish(sink: Sink, format: Format, code: u8) -> u8 {
    match format {
        Format::Text | Format::Json | Format::Github => return code,
        Format::Sarif => {}
    }
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let document = sarif::render(&std::mem::take(&mut *kept));
    match sink {
        Sink::Output => match write::to_stdout(document.as_bytes()) {
            exit::DONE => code,
            failed => failed,
        },
        Sink::Error => {
            write::stderr(&document);
            code
        }
    }
}

/// Prints what is wrong with the command line or its files, and gives the exit code for it.
pub(super) fn usage(text: &str, input: &Path, format: Format) -> u8 {
    match format {
        Format::Text => write::error(&flags::named(text)),
        Format::Json | Format::Sarif | Format::Github => show(
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
    show(&problem.into(), Path::new("-"), asked());
    finish(Sink::Error, asked(), exit::USAGE)
}

/// The flags that choose the form: the name, and those of earlier releases.
const FLAGS: [&str; 3] = ["--format", "--diagnostics", "--report"];

/// The form of problems that the arguments ask for, where no parser has read them.
pub(super) fn asked() -> Format {
    let given = arguments::given();
    let joined = given.iter().filter_map(|argument| {
        let (flag, value) = argument.to_str()?.split_once('=')?;
        FLAGS.contains(&flag).then_some(value)
    });
    let apart = given.windows(2).filter_map(|pair| {
        let (flag, value) = (pair[0].to_str()?, pair[1].to_str()?);
        FLAGS.contains(&flag).then_some(value)
    });
    let mut asked = joined.chain(apart);
    let format = asked.find_map(|value| Format::from_str(value, false).ok());
    format.unwrap_or(Format::Text)
}

/// The name that problems give their file.
pub(super) fn name(input: &Path) -> String {
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
