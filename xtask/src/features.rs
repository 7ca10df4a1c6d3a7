//! The features of the crates: what a choice of them must not bring along, and that each choice
//! builds.

use std::process::Command;

use anyhow::Result;

use crate::{shell, unify};

/// The crates that link LLVM, or need one that does.
const LLVM: &[&str] = &["splitbar-llvm", "inkwell", "llvm-sys"];

/// What only the program needs.
const CLI: &[&str] = &[
    "clap",
    "clap_complete",
    "clap_mangen",
    "colorchoice-clap",
    "indicatif",
    "shlex",
];

/// What only the simulator needs.
const SIM: &[&str] = &["splitbar-sim"];

/// A choice of features, without the default ones.
struct Choice {
    package: &'static str,
    features: &'static str,
    /// Crates that do not belong to it.
    not: &'static [&'static [&'static str]],
}

/// The choices that are promised to users of the libraries.
const CHOICES: &[Choice] = &[
    Choice {
        package: "splitbar",
        features: "",
        not: &[LLVM, CLI, SIM],
    },
    Choice {
        package: "splitbar",
        features: "sim",
        not: &[LLVM, CLI],
    },
    Choice {
        package: "splitbar-cli",
        features: "",
        not: &[LLVM],
    },
    Choice {
        package: "splitbar",
        features: "llvm",
        not: &[CLI],
    },
    Choice {
        package: "splitbar",
        features: "llvm,sim",
        not: &[CLI],
    },
    Choice {
        package: "splitbar-passes",
        features: "",
        not: &[CLI, &["tempfile"]],
    },
    Choice {
        package: "splitbar-passes",
        features: "rspirv",
        not: &[CLI, &["tempfile"]],
    },
];

impl Choice {
    /// Cargo's `command` on it, with the arguments `rest`.
    fn cargo(&self, command: &str, rest: &[&str]) -> Command {
        let package = format!("--package={}", self.package);
        let features = format!("--features={}", self.features);
        let choice = [command, &package, "--no-default-features", &features];
        shell::cargo(&[&choice, rest].concat())
    }

    /// The crates that do not belong to it and are among `found`, which cargo lists one on a line.
    fn intruders<'f>(&self, found: &'f str) -> Vec<&'f str> {
        let names = found.lines().filter_map(|line| line.split(' ').next());
        let mut intruders: Vec<&str> = names
            .filter(|name| self.not.iter().any(|list| list.contains(name)))
            .collect();
        intruders.sort_unstable();
        intruders.dedup();
        intruders
    }
}

/// Asks cargo what each choice depends on.
pub(crate) fn check(problems: &mut Vec<String>) -> Result<()> {
    for choice in CHOICES {
        let found = shell::read(choice.cargo("tree", &["--edges=normal", "--prefix=none"]))?;
        for name in choice.intruders(&found) {
            problems.push(format!(
                "{} with the features `{}` alone depends on {name}",
                choice.package, choice.features
            ));
        }
    }
    Ok(())
}

/// Checks each choice with all lints; the first that does not hold is the error.
///
/// The crates of others are those that the lints of the workspace have checked. What ours use of
/// them directly has the features of the choice alone, since `--no-default-features` holds for
/// `splitbar-unify` too.
pub(crate) fn build() -> Result<()> {
    for choice in CHOICES {
        let lints = [unify::PACKAGE, "--", "-D", "warnings"];
        shell::run(choice.cargo("clippy", &lints))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intruders_are_named_once() {
        let choice = Choice {
            package: "splitbar",
            features: "",
            not: &[LLVM, CLI],
        };
        let found =
            "splitbar v0.1.0 (/x)\nspirv v0.4.0\nclap v4.6.0\ninkwell v0.11.0\nclap v4.6.0 (*)\n";
        assert_eq!(choice.intruders(found), ["clap", "inkwell"]);
        assert!(choice.intruders("clap_lex v1.0.0\n").is_empty());
    }
}
