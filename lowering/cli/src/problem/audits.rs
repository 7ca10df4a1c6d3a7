//! Findings of an audit of final code.

use super::{Machine, Problem, Related};
use splitbar::diagnostic::{Code, Location, Severity, WordOffset};
use splitbar::fences::{Finding, FindingKind};
use splitbar::verdict::{Audit, Barrier};
use splitbar::waits::CodePlace;

/// The code that was audited: its file, its GPU, and the places of words of its module.
pub(crate) struct Audited<'a> {
    pub file: &'a str,
    pub target: &'static str,
    pub place: &'a dyn Fn(u32) -> Option<&'a Location>,
}

/// The findings of all kernels.
pub(crate) fn problems(audits: &[Audit], of: &Audited<'_>) -> Vec<Problem> {
    audits
        .iter()
        .flat_map(|audit| {
            let barriers = audit.barriers.iter();
            let barriers = barriers.filter_map(|barrier| outstanding(barrier, audit, of));
            barriers.chain(audit.findings.iter().map(|one| missing(one, audit, of)))
        })
        .collect()
}

/// Operations that may be outstanding at a barrier and must not be.
fn outstanding(barrier: &Barrier, audit: &Audit, of: &Audited<'_>) -> Option<Problem> {
    let guilty = || {
        let outstanding = barrier.outstanding.iter();
        outstanding.filter(|flying| barrier.violations.contains(&flying.at.position))
    };
    guilty().next()?;
    let message = format!(
        "{} of kernel {} can be reached while operations that it releases are outstanding",
        barrier.at.mnemonic, audit.kernel
    );
    let mut problem = problem(Code::MissingWait, message, &barrier.at, None, audit, of);
    problem.related = guilty()
        .map(|flying| Related {
            text: format!("{} may not have finished", flying.at),
            location: location(flying.at.word, audit, of),
        })
        .collect();
    Some(problem)
}

/// A fence that left no trace where it is needed.
fn missing(finding: &Finding, audit: &Audit, of: &Audited<'_>) -> Problem {
    let code = match finding.kind {
        FindingKind::Invalidation => Code::MissingInvalidation,
        FindingKind::WriteBack => Code::MissingWriteBack,
        FindingKind::Fence => Code::MissingFence,
        FindingKind::Wait => Code::MissingWait,
    };
    let message = finding.to_string();
    let mut problem = problem(code, message, &finding.sync, finding.word, audit, of);
    problem.related = vec![Related {
        text: format!("the access {}", finding.access),
        location: location(finding.access.word, audit, of),
    }];
    problem
}

fn problem(
    code: Code,
    message: String,
    at: &CodePlace,
    word: Option<WordOffset>,
    audit: &Audit,
    of: &Audited<'_>,
) -> Problem {
    Problem {
        rule: code.to_string(),
        severity: Severity::Error,
        message,
        reasons: Vec::new(),
        help: None,
        fixes: Vec::new(),
        vuid: None,
        file: of.file.to_owned(),
        target: Some(of.target),
        location: location(word.or(at.word), audit, of),
        machine: Some(Machine {
            text: at.mnemonic.clone(),
            at: format!("instruction {}", at.position),
        }),
        related: Vec::new(),
        witness: Vec::new(),
        schedules: Vec::new(),
    }
}

/// The place of the word in the module, else the kernel.
fn location(word: Option<WordOffset>, audit: &Audit, of: &Audited<'_>) -> Location {
    let known = word.and_then(|word| (of.place)(word.get()));
    known.cloned().unwrap_or_else(|| Location {
        function: Some(audit.kernel.clone()),
        ..Location::default()
    })
}
