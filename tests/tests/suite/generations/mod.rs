//! The code for each generation: tables whose rows are a kernel, options, and expectations for
//! every target of a vendor. An expectation is a list of lines that the code must have, in order,
//! or the words of a diagnostic. A row names all targets, each once, so that a new target needs a
//! decision.

mod amdgpu;
pub(crate) mod kernels;
mod nvptx;
mod row;

use crate::support::{always_split_on, trial};
use anyhow::{bail, ensure};
use libtest_mimic::Trial;
use regex::Regex;
use row::{Expected, Row, Text};
use splitbar::Target;
use splitbar_tests::check::Check;

pub(crate) fn trials() -> Vec<Trial> {
    let amdgpu = targets(|target| target.amdgpu().is_some());
    let nvptx = targets(|target| target.nvptx().is_some());
    let mut trials = amdgpu::trials();
    trials.extend(nvptx::trials());
    for (vendor, rows, targets) in [
        ("amdgpu", amdgpu::ROWS, amdgpu),
        ("nvptx", nvptx::ROWS, nvptx),
    ] {
        trials.extend(rows.iter().map(|row| {
            let targets = targets.clone();
            let name = format!("generations/{vendor}/{}", row.name);
            trial(name, move || everywhere(row, &targets))
        }));
    }
    trials
}

fn targets(is: fn(&Target) -> bool) -> Vec<&'static Target> {
    Target::all().iter().filter(|target| is(target)).collect()
}

fn everywhere(row: &Row, targets: &[&'static Target]) -> anyhow::Result<()> {
    let mut cases = Vec::new();
    for (names, expected) in row.on {
        cases.push((Regex::new(&format!("^({})$", names.join("|")))?, expected));
    }
    for (names, _) in &cases {
        let any = targets.iter().any(|target| names.is_match(target.name));
        ensure!(any, "no target is called {names}");
    }
    let module = (row.kernel)()?;
    let mut problems = Vec::new();
    for target in targets {
        let mut of_target = cases.iter().filter(|case| case.0.is_match(target.name));
        let (Some((_, expected)), None) = (of_target.next(), of_target.next()) else {
            bail!("{} is in none of the cases, or in several", target.name);
        };
        if let Err(why) = one(row, &module, target, expected) {
            // The code of one target is enough to see what is wrong.
            let shown = if problems.is_empty() { usize::MAX } else { 1 };
            let lines: Vec<&str> = why.lines().take(shown).collect();
            problems.push(format!("{}: {}", target.name, lines.join("\n")));
        }
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

/// The errors on one target, with their places.
fn one(
    row: &Row,
    module: &[u8],
    target: &'static Target,
    expected: &Expected,
) -> Result<(), String> {
    let mut options = always_split_on(target);
    (row.options)(&mut options);
    match (splitbar::Compiler::new(&options).compile(module), expected) {
        (Ok(output), Expected::Lines(lines)) => {
            let text = match row.text {
                Text::Assembly => output.assembly().map_err(|problems| problems.to_string())?,
                Text::Ir => output.ir(),
            };
            Check::parse(lines).and_then(|check| check.run(&text))
        }
        (Err(refusal), Expected::Refused(says)) => {
            let problems = refusal.diagnostics.iter();
            let reasons: Vec<_> = problems
                .flat_map(|p| [p.message.clone()].into_iter().chain(p.reasons.clone()))
                .collect();
            if reasons.iter().any(|reason| reason.contains(says)) {
                Ok(())
            } else {
                Err(format!(
                    "refused for another reason: {}",
                    reasons.join("; ")
                ))
            }
        }
        (Err(refusal), Expected::Lines(_)) => Err(format!("refused: {refusal}")),
        (Ok(output), Expected::Refused(_)) => Err(format!("not refused:\n{}", output.plan())),
    }
}
