//! Sentences under the table of strategies, in text and in the picture.

use super::super::flags::named;
use splitbar::{Advice, Candidate, Estimated};

/// Why strategies have no estimate, each reason once.
pub(super) fn not_estimated(advice: &Advice) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for candidate in &advice.candidates {
        let Some(Estimated::Refused { refused: why }) = &candidate.estimate else {
            continue; // it has one, or was not asked for one
        };
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, strategies)) => strategies.push(candidate.strategy),
            None => reasons.push((why, vec![candidate.strategy])),
        }
    }
    let lines = reasons.iter();
    lines
        .map(|(why, strategies)| format!("no estimate of {}: {why}", strategies.join(", ")))
        .collect()
}

/// That the estimate does not agree with the choice.
pub(super) fn faster(advice: &Advice) -> Option<String> {
    let faster = advice.faster.as_ref()?;
    Some(format!(
        "but {} is estimated to take {:.1} % of the cycles of {}",
        faster.strategy,
        100.0 * faster.of_choice,
        advice.choice
    ))
}

/// The flag that the advice is for, in the title.
pub(super) fn split_barriers(advice: &Advice) -> String {
    match advice.split_barriers {
        "never" => String::new(),
        when => format!(", with --split-barriers {when}"),
    }
}

/// The estimated cycles, how many per cent of those of full barriers they are, and for how many
/// workgroups at once.
pub(super) fn cycles(candidate: &Candidate) -> Option<String> {
    let Some(Estimated::Cycles {
        cycles,
        range,
        resident,
    }) = candidate.estimate
    else {
        return None;
    };
    let range = range.map_or_else(String::new, |[least, most]| format!(", {least} to {most}"));
    let of_full = candidate.of_full.map_or_else(String::new, |of_full| {
        format!(" ({:.1} %)", 100.0 * of_full)
    });
    Some(format!("{cycles}{of_full}{range}, {resident} resident"))
}

/// The barriers that are not split, each reason once.
pub(super) fn unsplit(advice: &Advice) -> Vec<String> {
    let mut reasons: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for barrier in &advice.unsplit {
        let word = advice.places.text(barrier.word);
        let mut known = reasons.iter_mut();
        match known
            .find(|(outcome, why, _)| (*outcome, *why) == (barrier.outcome(), &barrier.reason))
        {
            Some((_, _, words)) => words.push(word),
            None => reasons.push((barrier.outcome(), &barrier.reason, vec![word])),
        }
    }
    let lines = reasons
        .iter()
        .map(|(outcome, why, words)| format!("barrier at {}: {outcome}, {why}", words.join(", ")));
    lines.collect()
}

/// Options that bring more.
pub(super) fn improvements(advice: &Advice) -> Vec<String> {
    let lines = advice.improvements.iter();
    lines
        .map(|line| format!("better: {}", named(line)))
        .collect()
}
