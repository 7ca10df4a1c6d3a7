//! The answer: which version of a kernel to take, and why.

use super::model::{BarrierOutcome, Outcome, Verdict, VersionResult};
use super::versions::{FULL, pipelining};
use crate::compile::Expected;

/// A version with what the answer depends on.
pub(super) struct Weighed<'v> {
    /// Its facts.
    pub(super) facts: &'v VersionResult,
    /// Its estimated time for a launch in which every version does the same work.
    pub(super) expected: &'v Expected,
    /// Reasons of the compiler for its strategies.
    pub(super) reasons: &'v [String],
    /// True if its waves overlap between arrive and wait.
    pub(super) splits: bool,
    /// The number of its pairs and full barriers.
    pub(super) barriers: usize,
}

/// The answer for a kernel. The first of `versions` has full barriers.
/// `kept` has the barriers that the compiler keeps, each with its reason.
pub(super) fn verdict(
    versions: &[Weighed<'_>],
    has_barriers: bool,
    kept: &[BarrierOutcome],
) -> Verdict {
    let settings = || {
        let full = versions.first();
        full.map_or_else(Vec::new, |full| full.facts.settings.clone())
    };
    let none = |outcome, sentence: &str, because| Verdict {
        outcome,
        version: Some(FULL.to_owned()),
        of_full: None,
        sentence: sentence.to_owned(),
        because,
        cautions: Vec::new(),
        settings: settings(),
    };
    if !has_barriers {
        let sentence = "There is nothing to split: the kernel has no barrier of the workgroup.";
        return none(Outcome::NoBarrier, sentence, Vec::new());
    }
    let Some((full, others)) = versions.split_first() else {
        return none(Outcome::Unknown, "No version was compiled.", Vec::new());
    };
    if others.is_empty() {
        let sentence = "Keep the full barriers: no other version is different.";
        let because = kept.iter();
        let because = because.map(|one| format!("{}: {}", one.place.text, one.reason));
        return none(Outcome::Full, sentence, because.collect());
    }
    if let Expected::Unknown { unknown } = full.expected {
        let sentence = "Undecided: there is no estimate of the time with full barriers.";
        return none(Outcome::Unknown, sentence, vec![unknown.clone()]);
    }
    let mut ranked: Vec<(f64, &Weighed<'_>)> = others
        .iter()
        .filter_map(|one| Some((one.facts.of_full?, one)))
        .collect();
    ranked.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let best = ranked
        .iter()
        .find(|(_, one)| one.expected.beats(full.expected).is_ok());
    let Some((of_full, best)) = best else {
        return keep(full, &ranked, others);
    };
    let mut because = Vec::new();
    if let Ok(why) = best.expected.beats(full.expected) {
        because.push(why);
    }
    let (outcome, what) = if pipelining(&best.facts.name).is_some() {
        because.push(without_pipelining(full, &ranked));
        (Outcome::Pipeline, "Pipeline the loops")
    } else if best.splits {
        (Outcome::Split, "Split the barriers")
    } else {
        because.push(changes(full, best));
        (
            Outcome::Change,
            "Do not split, but let the compiler remove or move full barriers",
        )
    };
    because.extend(best.reasons.iter().cloned());
    if let Some(occupancy) = estimated_occupancy(full.facts, best.facts) {
        because.push(occupancy);
    }
    Verdict {
        outcome,
        version: Some(best.facts.name.clone()),
        of_full: Some(*of_full),
        sentence: format!(
            "{what}: the version {} takes {}, by the estimate.",
            best.facts.name,
            compared(*of_full)
        ),
        because,
        cautions: cautions(full.facts, best.facts),
        settings: best.facts.settings.clone(),
    }
}

fn keep(full: &Weighed<'_>, ranked: &[(f64, &Weighed<'_>)], others: &[Weighed<'_>]) -> Verdict {
    let (of_full, sentence) = match ranked.first() {
        Some((of_full, best)) => (
            Some(*of_full),
            format!(
                "Keep the full barriers: no other version is faster by more than the error of the estimate; the best one, {}, takes {}.",
                best.facts.name,
                difference(*of_full)
            ),
        ),
        None => (
            None,
            "Keep the full barriers: there is no estimate of another version.".to_owned(),
        ),
    };
    let because = others.iter().filter_map(|one| {
        let why = one.expected.beats(full.expected).err()?;
        Some(format!("{}: {why}", one.facts.name))
    });
    Verdict {
        outcome: Outcome::Full,
        version: Some(FULL.to_owned()),
        of_full,
        sentence,
        because: because.collect(),
        cautions: Vec::new(),
        settings: full.facts.settings.clone(),
    }
}

/// The best version without pipelined loops, for a reader who asks about splitting alone.
/// `ranked` has the versions other than `full`, the fastest first.
fn without_pipelining(full: &Weighed<'_>, ranked: &[(f64, &Weighed<'_>)]) -> String {
    let mut others = ranked.iter();
    let best = others.find(|(_, one)| pipelining(&one.facts.name).is_none());
    let Some((of_full, best)) = best else {
        return "without pipelined loops, splitting changes nothing: each of these versions has the same code as full barriers".to_owned();
    };
    format!(
        "without pipelined loops, the best version is {}, with {}{}{}",
        best.facts.name,
        compared(*of_full),
        match best.expected.beats(full.expected) {
            Ok(_) => "",
            Err(_) => ", which is not more than the error of the estimate",
        },
        if best.splits {
            ""
        } else {
            "; it splits no barrier"
        }
    )
}

/// The changes to the barriers of a version that splits none.
fn changes(full: &Weighed<'_>, best: &Weighed<'_>) -> String {
    match full.barriers.checked_sub(best.barriers) {
        Some(removed @ 1..) => format!(
            "no barrier is split; the compiler removes {removed} of {} barriers",
            full.barriers
        ),
        Some(0) | None => {
            "no barrier is split; the compiler changes the places or the fences of full barriers"
                .to_owned()
        }
    }
}

/// The numbers of resident workgroups, where the estimate has as many as fit in both versions.
fn estimated_occupancy(full: &VersionResult, best: &VersionResult) -> Option<String> {
    let (own, of_full) = (best.workgroups?, full.workgroups?);
    let is_estimated = best.running == Some(own) && full.running == Some(of_full);
    (own < of_full && is_estimated).then(|| {
        format!("the estimate has {own} resident workgroups, and {of_full} with full barriers: the lower occupancy is part of it")
    })
}

/// A ratio of cycles in words, against full barriers.
fn compared(of_full: f64) -> String {
    let word = if is_equal(of_full) { "as" } else { "than" };
    format!("{} {word} full barriers", difference(of_full))
}

/// Returns true if a ratio is shown as 1.
fn is_equal(of_full: f64) -> bool {
    (100.0 * (of_full - 1.0)).abs() < 0.05
}

/// A ratio of cycles in words.
pub(super) fn difference(of_full: f64) -> String {
    let percent = 100.0 * (of_full - 1.0);
    if is_equal(of_full) {
        "as many cycles".to_owned()
    } else if percent < 0.0 {
        format!("{:.1} % fewer cycles", -percent)
    } else {
        format!("{percent:.1} % more cycles")
    }
}

/// Resources that the version takes and full barriers do not.
fn cautions(full: &VersionResult, best: &VersionResult) -> Vec<String> {
    let mut cautions = Vec::new();
    if let (Some(own), Some(of_full)) = (best.workgroups, full.workgroups)
        && own < of_full
        && estimated_occupancy(full, best).is_none()
    {
        let limiter = best.limiter.as_deref().unwrap_or("unknown");
        cautions.push(format!(
            "Fewer workgroups are resident: {own}, and {of_full} with full barriers; limited by {limiter}. If other workgroups hide the waits, full barriers may be faster."
        ));
        if let (Some(running), Some(of_estimate)) = (full.running, full.workgroups)
            && running < of_estimate
        {
            cautions.push(format!(
                "The estimate compares {running} resident workgroups, not {of_estimate}: describe a launch with enough workgroups to compare with the highest number."
            ));
        }
    }
    let spilled = |version: &VersionResult| version.resource_usage.map_or(0, |u| u.spilled_bytes);
    if spilled(best) > spilled(full) {
        cautions.push(format!(
            "Registers are spilled: {} bytes, and {} with full barriers.",
            spilled(best),
            spilled(full)
        ));
    }
    if !best.is_complete {
        cautions.push(
            "The launch is long, and the estimate covers only a part of it; versions are compared by the part that both complete."
                .to_owned(),
        );
    }
    cautions
}
