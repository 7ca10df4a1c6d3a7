//! Names of the library in what it advises, as the command line calls the same things.

use splitbar::diagnostic::Diagnostics;

/// What the library names, and the command or flag for it.
const FLAGS: [(&str, &str); 13] = [
    ("Bounds::unroll", "--unroll"),
    ("Bounds::waves", "--waves"),
    ("Inputs::push", "--push"),
    ("Job::with_image", "--image"),
    ("Options::cluster", "--cluster-size"),
    ("Options::spec", "--spec"),
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

/// The `problems` with flags in their advice.
pub(super) fn advised(problems: &Diagnostics) -> Diagnostics {
    let mut problems = problems.clone();
    for problem in problems.iter_mut() {
        problem.help = problem.help.take().map(|help| named(&help).into());
    }
    problems
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;
    use splitbar::diagnostic::{Code, Diagnostic};

    #[test]
    fn advice_has_flags() {
        let problem = Diagnostic::error(Code::EmptyWorkgroup, "`Options::spec`")
            .help("change `Options::spec` or `Output::hsaco`");
        let advised = advised(&problem.into());
        let problem = advised.iter().next().unwrap();
        assert_eq!(
            problem.help.as_deref(),
            Some("change `--spec` or `--emit hsaco`")
        );
        assert_eq!(&*problem.message, "`Options::spec`");
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
