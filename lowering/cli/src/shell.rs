//! `splitbar completions` and `splitbar manual`: what shells and man read of the command line.

use super::write;
use clap::Command;
use clap_complete::Shell;
use splitbar::exit;
use std::path::Path;

/// The end of the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  splitbar completions bash > /etc/bash_completion.d/splitbar
  splitbar completions fish > ~/.config/fish/completions/splitbar.fish";

/// Writes the completions of `program` in `shell` to the standard output.
pub(super) fn completions(shell: Shell, program: &mut Command) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(shell, program, "splitbar", &mut script);
    write::to_stdout(&script)
}

/// Writes `splitbar.1`, `splitbar-lower.1` and so on into `folder`, which is there.
pub(super) fn manual(folder: &Path, program: Command) -> u8 {
    match pages(folder, program) {
        Ok(()) => exit::DONE,
        Err(text) => {
            write::error(&text);
            exit::USAGE
        }
    }
}

fn pages(folder: &Path, program: Command) -> Result<(), String> {
    let program = program.disable_help_subcommand(true);
    clap_mangen::generate_to(program, folder)
        .map_err(|error| format!("{}: {error}", folder.display()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::command::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_command_that_people_call_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        pages(folder.path(), Cli::command()).unwrap();
        for command in Cli::command().get_subcommands() {
            let name = format!("splitbar-{}.1", command.get_name());
            let page = std::fs::read_to_string(folder.path().join(name));
            assert_eq!(page.is_err(), command.is_hide_set(), "{command}");
            if let Ok(page) = page {
                assert!(page.contains(".SH OPTIONS"), "{command}");
            }
        }
        let program = std::fs::read_to_string(folder.path().join("splitbar.1")).unwrap();
        assert!(program.contains("splitbar\\-lower(1)"), "{program}");
    }
}
