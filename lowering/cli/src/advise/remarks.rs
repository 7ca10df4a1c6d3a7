//! Sentences under the table of strategies, in text and in the picture.

use splitbar::{Advice, Estimated};

/// Why strategies have no estimate, each reason once.
pub(super) fn not_estimated(advice: &Advice) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for candidate in &advice.candidates {
        let Some(Estimated::Refused(why)) = &candidate.estimate else {
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
        "but by the estimate {} takes {:.1} % of the cycles of {}",
        faster.strategy,
        100.0 * faster.of_choice,
        advice.choice
    ))
}
