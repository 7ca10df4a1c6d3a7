//! docs/corpus.md: how many modules each target takes, what is refused and why, and what went wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::attempt::{Outcome, Reason, WORKGROUP_SIZE};
use super::modules::Module;
use super::results::Results;

/// The page. Rows and columns stand in the order of the modules and targets that it is given.
pub fn render(modules: &[&Module], targets: &[&str], level: &str, results: &Results) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, modules, targets, level, results);
    text
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
         Written by `cargo xtask corpus`: every module of `fixtures/corpus/` for every target at -O{level}, to an object (AMD) or PTX (NVIDIA), each in a process of its own.\n\
         {sized} of the modules leave their workgroup size to specialization constants whose default is 0; these are compiled with `--workgroup-size {WORKGROUP_SIZE}`.\n\n\
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
        write!(text, "| {set} | {} |", members.len())?;
        for target in targets {
            let count = |outcome| {
                members
                    .iter()
                    .filter_map(|module| results.get(&module.name, target))
                    .filter(|attempt| attempt.outcome == outcome)
                    .count()
            };
            #[expect(clippy::cast_precision_loss, reason = "a share for people")]
            let share = 100.0 * count(Outcome::Compiled) as f64 / members.len().max(1) as f64;
            write!(text, " {} ({share:.1} %) |", count(Outcome::Compiled))?;
        }
        writeln!(text)?;
    }

    writeln!(
        text,
        "\n## Refused\n\nEach number counts modules; a module can be refused for several reasons.\n\n| code | reason | {} |",
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
