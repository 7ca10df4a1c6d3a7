//! Findings of check, compilation, audit and simulator, in one form.

use super::code::{Places, plain};
use super::model::{AsmLine, Finding};
use super::time::GivenLaunch;
use crate::compile::Output;
use splitbar_audit::verdict::Audit;
use splitbar_passes::diagnostic::{Diagnostic, Diagnostics};
use splitbar_sim::{Finding as Simulated, Schedule};
use std::collections::{BTreeMap, BTreeSet};

/// The most findings of one origin that are kept.
pub(super) const MOST: usize = 200;

/// Diagnostics as findings.
pub(super) fn diagnostics(
    from: &'static str,
    problems: &Diagnostics,
    places: &Places,
) -> Vec<Finding> {
    let finding = |problem: &Diagnostic| Finding {
        from,
        severity: problem.severity.to_string(),
        code: Some(problem.code.to_string()),
        message: plain(&problem.message),
        details: {
            let because = problem
                .reasons
                .iter()
                .map(|why| format!("because {}", plain(why)));
            let help = problem.help_text();
            let help = help.iter().map(|help| format!("help: {}", plain(help)));
            because.chain(help).collect()
        },
        place: places.located(&problem.location),
    };
    problems.iter().map(finding).take(MOST).collect()
}

/// Waits of the code that retire nothing, those of one kind and place together.
pub(super) fn audit(audit: &Audit, assembly: &[AsmLine], places: &Places) -> Vec<Finding> {
    let machine: Vec<&AsmLine> = assembly.iter().filter(|line| line.is_instruction).collect();
    let mut waits: BTreeMap<(Option<u32>, &str), Vec<String>> = BTreeMap::new();
    for wait in &audit.redundant_waits {
        let line = machine.get(wait.position);
        let line = line.filter(|line| line.text.contains(&wait.mnemonic));
        let key = (line.and_then(|line| line.word), wait.mnemonic.as_str());
        waits
            .entry(key)
            .or_default()
            .push(wait.position.to_string());
    }
    let finding = |((word, mnemonic), positions): ((Option<u32>, &str), Vec<String>)| Finding {
        from: "audit",
        severity: "note".to_owned(),
        code: None,
        message: format!(
            "{mnemonic} retires nothing: without it the same operations are outstanding; machine instruction {}",
            positions.join(", ")
        ),
        details: Vec::new(),
        place: word.map(|word| places.of(word)),
    };
    waits.into_iter().map(finding).take(MOST).collect()
}

/// Findings of the simulator, each pair of instructions once.
pub(super) fn simulated<'f>(
    from: &'static str,
    findings: impl Iterator<Item = &'f Simulated>,
    places: &Places,
) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let is_new = |finding: &&Simulated| seen.insert(finding.key());
    let finding = |finding: &Simulated| {
        let text = finding.text(&|word| Some(places.of(word).text));
        let place = finding.place.word.map(|word| places.of(word));
        Finding {
            from,
            severity: if finding.kind.is_note() {
                "note"
            } else {
                "error"
            }
            .to_owned(),
            code: Some(finding.kind.to_string()),
            message: format!("{}: {}", finding.kind.summary(), plain(&finding.message)),
            details: text
                .lines()
                .skip(1)
                .map(|line| plain(line.trim()))
                .collect(),
            place,
        }
    };
    findings.filter(is_new).take(MOST).map(finding).collect()
}

/// Runs the launch under some schedules.
///
/// # Errors
/// Why it cannot be run.
pub(super) fn run(
    launch: &GivenLaunch<'_>,
    output: &Output,
    entry: usize,
    places: &Places,
) -> Result<Vec<Finding>, String> {
    let job = launch.job(output, entry)?;
    let mut found = Vec::new();
    for index in 0..launch.schedules {
        let outcome = job.run(launch.inputs, Schedule::nth(index, 1));
        let report = outcome.map_err(|refusal| refusal.to_string())?.report;
        found.extend(report.findings);
        found.extend(report.notes);
    }
    Ok(simulated("sim", found.iter(), places))
}
