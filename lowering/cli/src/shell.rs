//! `splitbar completions` and `splitbar manual`: what shells and man read of the command line.

use super::{Cli, write};
use clap::CommandFactory;
use clap_complete::Shell;
use splitbar::exit;
use std::path::Path;

/// Behind the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  splitbar completions bash > /etc/bash_completion.d/splitbar
  splitbar completions fish > ~/.config/fish/completions/splitbar.fish";

/// Writes the completions of `shell` to the standard output.
pub(super) fn completions(shell: Shell) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "splitbar", &mut script);
    write::to_stdout(&script)
}

/// Writes `splitbar.1`, `splitbar-lower.1` and so on into `folder`, which is there.
pub(super) fn manual(folder: &Path) -> u8 {
    match pages(folder) {
        Ok(()) => exit::DONE,
        Err(text) => {
            write::error(&text);
            exit::USAGE
        }
    }
}

fn pages(folder: &Path) -> Result<(), String> {
    let program = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(program, folder)
        .map_err(|error| format!("{}: {error}", folder.display()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_people_call_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        pages(folder.path()).unwrap();
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
