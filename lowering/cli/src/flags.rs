//! The advice of diagnostics as the program gives it: names of the library are those of the command
//! line, and a problem without advice of its own gets that of its code.

use super::explanations;
use splitbar::diagnostic::{Diagnostic, Diagnostics, Severity};

/// What the library names, and the command or flag for it.
const FLAGS: [(&str, &str); 20] = [
    ("Bounds::unroll", "--unroll"),
    ("Bounds::waves", "--waves"),
    ("Inputs::push", "--push"),
    ("Job::estimate", "--resident"),
    ("Job::with_image", "--image"),
    ("Job::with_sampler", "--sampler"),
    ("Job::with_tensor", "--tensor"),
    ("Options::cluster", "--cluster-size"),
    ("Options::fill_windows", "--fill-windows"),
    ("Options::pipeline_loops", "--pipeline-loops"),
    ("Options::prefetch_loop_loads", "--prefetch-loop-loads"),
    ("Options::spec", "--spec"),
    ("Options::unroll_barrier_loops", "--unroll-barrier-loops"),
    ("Options::workgroup_size", "--workgroup-size"),
    ("Output::assembly", "--emit asm"),
    ("Output::cubin", "--emit cubin"),
    ("Output::hsaco", "--emit hsaco"),
    ("Output::object", "--emit obj"),
    ("Placement::ThreadgroupSplit", "--tgsplit"),
    ("link_modules", "splitbar lower"),
];

/// The sentence `text` with flags for names of the library.
pub(super) fn named(text: &str) -> String {
    FLAGS.iter().fold(text.to_owned(), |text, (name, flag)| {
        text.replace(&format!("`{name}`"), &format!("`{flag}`"))
    })
}

/// The `problems`, each error and warning with advice, and the advice with flags.
pub(super) fn advised(problems: &Diagnostics) -> Diagnostics {
    let mut problems = problems.clone();
    for problem in problems.iter_mut() {
        if let Some(help) = &mut problem.help {
            help.text = named(&help.text);
        } else if let Some(text) = of_its_code(problem) {
            problem.help.get_or_insert_default().text = text;
        }
    }
    problems
}

/// What to do about a problem with the code of `problem`. A note asks for nothing.
fn of_its_code(problem: &Diagnostic) -> Option<String> {
    if problem.severity == Severity::Note {
        return None;
    }
    Some(match explanations::of_code(problem.code) {
        Some(explanation) => as_advice(explanation.help),
        None => format!(
            "`splitbar explain {}` shows code that follows the rule",
            problem.code
        ),
    })
}

/// Sentences in the form that advice has behind `help: `.
fn as_advice(text: &str) -> String {
    let text = text.strip_suffix('.').unwrap_or(text);
    let mut rest = text.chars();
    let first = rest.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(rest).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::command::Cli;
    use clap::CommandFactory;
    use splitbar::diagnostic::Code;

    #[test]
    fn advice_has_flags() {
        let problem = Diagnostic::error(Code::EmptyWorkgroup, "`Options::spec`")
            .help("change `Options::spec` or `Output::hsaco`");
        let advised = advised(&problem.into());
        let problem = advised.iter().next().unwrap();
        assert_eq!(
            problem.help_text(),
            Some("change `--spec` or `--emit hsaco`")
        );
        assert_eq!(&*problem.message, "`Options::spec`");
    }

    #[test]
    fn every_code_has_advice() {
        for code in Code::ALL {
            let problem = Diagnostic::error(*code, "message");
            let advised = advised(&problem.into());
            let help = advised.iter().next().unwrap().help_text().unwrap();
            assert!(help.len() > 10 && !help.ends_with('.'), "{code}: {help}");
        }
        let note = Diagnostic::note(Code::EmptyWindow, "message");
        assert_eq!(advised(&note.into()).iter().next().unwrap().help, None);
    }

    #[test]
    fn every_flag_is_one_of_some_command() {
        let program = Cli::command();
        let flags: Vec<String> = program
            .get_subcommands()
            .flat_map(|command| command.get_arguments())
            .filter_map(|argument| argument.get_long().map(|long| format!("--{long}")))
            .collect();
        for (name, flag) in FLAGS {
            let first = flag.split(' ').next().unwrap();
            let known = first == "splitbar" || flags.iter().any(|flag| flag == first);
            assert!(known, "{name}: {flag}");
        }
    }
}
