//! Problems as other programs read them: diagnostics of a module and findings in its code, in one
//! list. SARIF is one document, and GitHub's form a line for each.

pub(super) mod audits;
pub(super) mod github;
pub(super) mod sarif;

use super::explain;
use splitbar::diagnostic::{Diagnostic, Fix, Location, Severity, WitnessStep};
use splitbar::simulate::machine::{CodeLocation, Finding, Site};

/// A diagnostic or a finding.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// The code, such as SB0205.
    pub rule: String,
    pub severity: Severity,
    /// One sentence.
    pub message: String,
    pub reasons: Vec<String>,
    pub help: Option<String>,
    pub fixes: Vec<Fix>,
    /// The rule of Vulkan's specification.
    pub vuid: Option<&'static str>,
    /// The file that it is about: a module, or final code.
    pub file: String,
    /// The GPU, where the problem depends on it and there may be several.
    pub target: Option<&'static str>,
    /// The place in the module.
    pub location: Location,
    /// The machine instruction, where the code is final.
    pub machine: Option<Machine>,
    /// Other places that have to do with it.
    pub related: Vec<Related>,
    /// Places that an execution passes on its way to it.
    pub witness: Vec<WitnessStep>,
    /// The schedules of the simulator that showed it.
    pub schedules: Vec<u32>,
}

/// An instruction of final code.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    /// The instruction as text.
    pub text: String,
    /// Its address, line or number, with the word for it.
    pub at: String,
}

/// Another place that has to do with a problem.
#[derive(Clone, Debug)]
pub(super) struct Related {
    /// How it has to do with it.
    pub text: String,
    pub location: Location,
}

impl Problem {
    /// A diagnostic about the module in `file`.
    pub(super) fn of_diagnostic(
        problem: &Diagnostic,
        file: &str,
        target: Option<&'static str>,
    ) -> Problem {
        Problem {
            rule: problem.code.to_string(),
            severity: problem.severity,
            message: problem.message.clone(),
            reasons: problem.reasons.clone(),
            help: problem.help_text().map(str::to_owned),
            fixes: problem.fixes().to_vec(),
            vuid: problem.vuid,
            file: file.to_owned(),
            target,
            location: (*problem.location).clone(),
            machine: None,
            related: Vec::new(),
            witness: problem.witness.clone(),
            schedules: Vec::new(),
        }
    }

    /// A finding of the simulator in `file`, seen under `schedules`. `place` gives the places of
    /// words of the module.
    pub(super) fn of_finding<'p>(
        finding: &Finding,
        file: &str,
        target: &'static str,
        schedules: &[u32],
        place: impl Fn(u32) -> Option<&'p Location>,
    ) -> Problem {
        let location = |at: &CodeLocation| at.word.and_then(&place).cloned().unwrap_or_default();
        let related = finding.other.iter().map(|(site, at)| Related {
            text: format!("against {}", machine_text(site, at)),
            location: location(at),
        });
        let summary = finding.kind.summary();
        Problem {
            rule: finding.kind.to_string(),
            severity: if finding.kind.is_note() {
                Severity::Note
            } else {
                Severity::Error
            },
            message: format!("{summary}: {}", finding.message),
            reasons: vec![format!(
                "at {}",
                machine_text(&finding.site, &finding.place)
            )],
            help: None,
            fixes: Vec::new(),
            vuid: None,
            file: file.to_owned(),
            target: Some(target),
            location: location(&finding.place),
            machine: Some(Machine {
                text: finding.place.text.clone(),
                at: format!("address {:#x}", finding.place.address),
            }),
            related: related.collect(),
            witness: Vec::new(),
            schedules: schedules.to_vec(),
        }
    }

    /// The problem, its reasons and the help, in lines of text.
    fn sentences(&self) -> String {
        let mut text = self.message.clone();
        for reason in &self.reasons {
            text.push_str("\nbecause: ");
            text.push_str(reason);
        }
        if let Some(rule) = self.vuid {
            text.push_str("\nrule: ");
            text.push_str(rule);
        }
        if let Some(help) = &self.help {
            text.push_str("\nhelp: ");
            text.push_str(help);
        }
        text
    }

    /// The summary of the rule, and its text in Markdown.
    fn rule_texts(&self) -> Option<(&'static str, String)> {
        explain::texts(&self.rule)
    }
}

/// An instruction and who executed it.
fn machine_text(site: &Site, at: &CodeLocation) -> String {
    let lane = match site.lane {
        Some(lane) => format!(" lane {}", lane.number()),
        None => String::new(),
    };
    format!(
        "{:#06x} `{}`, workgroup {} wave {}{lane}",
        at.address, at.text, site.group, site.wave
    )
}
