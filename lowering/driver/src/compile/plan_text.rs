//! A plan as people read it, with what was measured and decided.

use super::cost_model::SplitDecisions;
use super::motion::BarrierMotion;
use super::places::PlanPlaces;
use super::unsplit::UnsplitBarrier;
use crate::window::Window;
use splitbar_plan::EntryPlan;
use std::fmt::Write;

/// What splitting made of the barriers of one entry point.
#[derive(Copy, Clone)]
pub(crate) struct Splitting<'s> {
    pub(crate) motions: &'s [BarrierMotion],
    pub(crate) decisions: Option<&'s SplitDecisions>,
    pub(crate) unsplit: &'s [UnsplitBarrier],
    pub(crate) places: &'s PlanPlaces,
}

/// The plan of one entry point, with a line per measured window and one per barrier that something
/// was chosen for.
pub(crate) fn plan_text(
    plan: &EntryPlan,
    windows: Option<&[Window]>,
    splitting: Splitting<'_>,
) -> String {
    let Splitting {
        motions,
        decisions,
        unsplit,
        places,
    } = splitting;
    let source = |word| places.of_planned(word)?.source_text();
    let mut text = plan.text(&source);
    for (pair, window) in plan.pairs.iter().zip(windows.unwrap_or(&[])) {
        let _ = writeln!(
            text,
            "  window of pair {}: {} of {} instructions kept",
            pair.id.0, window.kept, window.source
        );
    }
    for motion in motions {
        let outcome = if motion.split {
            "split"
        } else {
            "not split, the window is too narrow"
        };
        let _ = writeln!(
            text,
            "  barrier at {}: {outcome}, {} operations in the window; the arrive is stopped by {}, the wait by {}",
            places.text(motion.word),
            motion.operations,
            motion.arrive,
            motion.wait
        );
    }
    let said: Vec<&str> = plan.pairs.iter().map(|pair| pair.reason.as_str()).collect();
    for line in decisions.map_or_else(Vec::new, |decisions| decisions.lines(&said, places)) {
        let _ = writeln!(text, "  {line}");
    }
    let is_shown = |barrier: &&UnsplitBarrier| {
        let mut motions = motions.iter();
        motions.any(|motion| !motion.split && motion.word == barrier.word)
            || decisions.is_some_and(|decisions| decisions.at(barrier.word).is_some())
    };
    for barrier in unsplit.iter().filter(|barrier| !is_shown(barrier)) {
        let _ = writeln!(text, "  {}", barrier.line(places));
    }
    text
}
