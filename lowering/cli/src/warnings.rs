//! The flags for warnings and notes: which are printed, and which warnings are errors.

use clap::{Args, ValueEnum};
use splitbar::Failure;
use splitbar::diagnostic::{Code, Diagnostics, Severity};

/// The flags.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct WarningArgs {
    /// Hides warnings and notes, except those that --warn selects
    #[arg(short = 'w', long = "no-warnings")]
    none: bool,
    /// KIND `error`: reports warnings as errors, except those named by --allow or --warn
    #[arg(short = 'W', value_name = "KIND", value_enum)]
    all: Option<All>,
    /// Hides the warning or note CODE, such as SB2012
    #[arg(long, value_name = "CODE", value_parser = parse_code)]
    allow: Vec<Code>,
    /// Always prints CODE as a warning, despite -w and -Werror
    #[arg(long, value_name = "CODE", value_parser = parse_code, conflicts_with = "allow")]
    warn: Vec<Code>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum All {
    /// Warnings are errors
    Error,
}

/// The treatment of a warning or a note.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Level {
    Hidden,
    AsItIs,
    /// A warning is an error; a note stays one.
    Error,
}

impl WarningArgs {
    fn level(&self, code: Code) -> Level {
        if self.allow.contains(&code) {
            Level::Hidden
        } else if self.warn.contains(&code) {
            Level::AsItIs
        } else if self.none {
            Level::Hidden
        } else if self.all == Some(All::Error) {
            Level::Error
        } else {
            Level::AsItIs
        }
    }

    /// The `problems` with each warning left out, left alone, or made an error, and each note left
    /// out or left alone. Errors stay as they are.
    pub(super) fn judge(&self, problems: &Diagnostics) -> Diagnostics {
        let mut judged = Diagnostics::new();
        for problem in problems.iter() {
            let mut problem = problem.clone();
            match (problem.severity, self.level(problem.code)) {
                (Severity::Warning | Severity::Note, Level::Hidden) => continue,
                (Severity::Warning, Level::Error) => problem.severity = Severity::Error,
                (Severity::Error, _)
                | (Severity::Warning, Level::AsItIs)
                | (Severity::Note, Level::AsItIs | Level::Error) => {}
            }
            judged.push(problem);
        }
        judged
    }

    /// The `failure` with its warnings judged.
    pub(super) fn failure(&self, failure: &Failure) -> Failure {
        self.judge(&failure.diagnostics).into()
    }
}

/// A code as `splitbar explain` takes it.
fn parse_code(text: &str) -> Result<Code, String> {
    super::explain::find(text)
        .ok_or_else(|| format!("{text:?} is not a diagnostic code; a code has the form SB2012"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use clap::Parser;
    use splitbar::diagnostic::Diagnostic;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        warnings: WarningArgs,
    }

    fn judged(args: &[&str]) -> Vec<(Code, Severity)> {
        let args = ["x"].iter().chain(args);
        let args = Only::try_parse_from(args).unwrap().warnings;
        let mut problems = Diagnostics::new();
        problems.push(Diagnostic::warning(Code::EmptyWindow, "a"));
        problems.push(Diagnostic::warning(Code::BarrierInWindow, "b"));
        problems.push(Diagnostic::error(Code::BadScope, "c"));
        problems.push(Diagnostic::note(Code::DisjointClasses, "d"));
        let judged = args.judge(&problems);
        judged.iter().map(|one| (one.code, one.severity)).collect()
    }

    #[test]
    fn warnings_are_hidden_kept_or_made_errors_and_errors_stay() {
        use Severity::{Error, Note, Warning};
        let (empty, full) = (Code::EmptyWindow, Code::BarrierInWindow);
        let bad = (Code::BadScope, Error);
        let note = (Code::DisjointClasses, Note);
        let all = [(empty, Warning), (full, Warning), bad, note];
        assert_eq!(judged(&[]), all);
        assert_eq!(judged(&["-w"]), [bad]);
        let errors = [(empty, Error), (full, Error), bad, note];
        assert_eq!(judged(&["-Werror"]), errors);
        assert_eq!(judged(&["--allow", "SB2012"]), all[1..]);
        assert_eq!(judged(&["--allow", "SB2011"]), all[..3]);
        assert_eq!(judged(&["-Werror", "--allow", "SB2012"]), errors[1..]);
        let kept = [(empty, Warning), (full, Error), bad, note];
        assert_eq!(judged(&["-Werror", "--warn", "SB2012"]), kept);
        assert_eq!(judged(&["-w", "--warn", "2012"]), [(empty, Warning), bad]);
        // An error cannot be allowed.
        assert_eq!(judged(&["--allow", "SB0200"]), all);
        assert!(Only::try_parse_from(["x", "--allow", "SB9999"]).is_err());
    }
}
