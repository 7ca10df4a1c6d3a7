//! docs/corpus.md: how many modules each target takes, what is refused and why, and what went
//! wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::attempt::{Outcome, Reason, WORKGROUP_SIZE};
use super::exceptions::{self, EXCEPTIONS};
use super::modules::Module;
use super::results::Results;

/// The page. Rows and columns stand in the order of the modules and targets that it is given.
pub(super) fn render(
    modules: &[&Module],
    targets: &[&str],
    level: &str,
    results: &Results,
) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, modules, targets, level, results);
    text
}

/// A row: how many of the modules compile for each target.
fn compiled(
    text: &mut String,
    name: &str,
    modules: &[&Module],
    targets: &[&str],
    results: &Results,
) -> std::fmt::Result {
    write!(text, "| {name} | {} |", modules.len())?;
    for target in targets {
        let count = modules
            .iter()
            .filter_map(|module| results.get(&module.name, target))
            .filter(|attempt| attempt.outcome == Outcome::Compiled)
            .count();
        #[expect(clippy::cast_precision_loss, reason = "a share for people")]
        let share = 100.0 * count as f64 / modules.len().max(1) as f64;
        write!(text, " {count} ({share:.1} %) |")?;
    }
    writeln!(text)
}

fn write(
    text: &mut String,
    modules: &[&Module],
    targets: &[&str],
    level: &str,
    results: &Results,
) -> std::fmt::Result {
    let sized: BTreeSet<&str> = results
        .entries()
        .filter(|entry| entry.attempt.sized)
        .map(|entry| entry.module.as_str())
        .collect();
    let sized = modules
        .iter()
        .filter(|module| sized.contains(module.name.as_str()))
        .count();
    writeln!(
        text,
        "# The corpus, target by target\n\n\
         `cargo xtask corpus` writes this page. It compiles every module of `fixtures/corpus/`, or of another folder, for every target at -O{level}, to an object (AMD) or PTX (NVIDIA), each in a separate process.\n\
         The workgroup size of {sized} modules is specialization constants with default 0; these are compiled with `--workgroup-size {WORKGROUP_SIZE}`.\n\n\
         ## Compiled\n"
    )?;
    writeln!(text, "| set | modules | {} |", targets.join(" | "))?;
    writeln!(text, "|---|--:|{}", "--:|".repeat(targets.len()))?;
    let sets: BTreeSet<&str> = modules.iter().map(|module| module.set.as_str()).collect();
    for set in sets {
        let members: Vec<&Module> = modules
            .iter()
            .copied()
            .filter(|module| module.set == set)
            .collect();
        let within: Vec<&Module> = members
            .iter()
            .copied()
            .filter(|module| {
                let attempts = targets.iter().filter_map(|t| results.get(&module.name, t));
                !attempts
                    .into_iter()
                    .any(|attempt| exceptions::of(attempt).is_some())
            })
            .collect();
        compiled(text, set, &members, targets, results)?;
        if within.len() < members.len() {
            let name = format!("{set}, without exceptions");
            compiled(text, &name, &within, targets, results)?;
        }
    }
    writeln!(
        text,
        "\n## Exceptions\n\n\
         These features are not supported until a user needs them. A module is an exception if one of its reasons names one of them; its other reasons may follow from that one.\n"
    )?;
    for exception in EXCEPTIONS {
        let count = modules
            .iter()
            .filter(|module| {
                let mut attempts = targets.iter().filter_map(|t| results.get(&module.name, t));
                attempts.any(|attempt| {
                    exceptions::of(attempt).is_some_and(|found| found.name == exception.name)
                })
            })
            .count();
        writeln!(
            text,
            "- {}: {count} modules; {}.",
            exception.name, exception.why
        )?;
    }

    writeln!(
        text,
        "\n## Refused\n\nEach number counts modules; a module can have several reasons.\n\n| code | reason | {} |",
        targets.join(" | ")
    )?;
    writeln!(text, "|---|---|{}", "--:|".repeat(targets.len()))?;
    let mut reasons: BTreeMap<&Reason, BTreeMap<&str, usize>> = BTreeMap::new();
    let mut failures = Vec::new();
    for module in modules {
        for target in targets {
            let Some(attempt) = results.get(&module.name, target) else {
                continue;
            };
            if attempt.outcome.is_failure() {
                failures.push((module, target, attempt));
            } else {
                for reason in &attempt.reasons {
                    *reasons
                        .entry(reason)
                        .or_default()
                        .entry(target)
                        .or_default() += 1;
                }
            }
        }
    }
    for (reason, counts) in &reasons {
        write!(text, "| {} | {} |", reason.code, reason.message)?;
        for target in targets {
            write!(text, " {} |", counts.get(target).copied().unwrap_or(0))?;
        }
        writeln!(text)?;
    }

    writeln!(text, "\n## Failed\n")?;
    if failures.is_empty() {
        writeln!(text, "No crash, no timeout, no module called invalid.")?;
    }
    for (module, target, attempt) in failures {
        let why: Vec<String> = attempt
            .reasons
            .iter()
            .map(|reason| format!("{} {}", reason.code, reason.message))
            .collect();
        writeln!(
            text,
            "- `{}` for {target}: {}: {}",
            module.name,
            attempt.outcome,
            why.join("; ")
        )?;
    }
    Ok(())
}
