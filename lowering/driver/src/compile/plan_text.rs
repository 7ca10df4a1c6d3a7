//! A plan as people read it, with what was measured and decided.

use super::cost_model::SplitDecisions;
use super::motion::BarrierMotion;
use crate::window::Window;
use splitbar_plan::EntryPlan;
use std::fmt::Write;

/// The plan of one entry point, with a line per measured window and one per barrier that something
/// was chosen for.
pub(crate) fn plan_text(
    plan: &EntryPlan,
    windows: Option<&[Window]>,
    motions: &[BarrierMotion],
    decisions: Option<&SplitDecisions>,
) -> String {
    let mut text = plan.to_string();
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
            "  barrier at word {}: {outcome}, {} operations in the window; the arrive is stopped by {}, the wait by {}",
            motion.word, motion.operations, motion.arrive, motion.wait
        );
    }
    let said: Vec<&str> = plan.pairs.iter().map(|pair| pair.reason.as_str()).collect();
    for line in decisions.map_or_else(Vec::new, |decisions| decisions.lines(&said)) {
        let _ = writeln!(text, "  {line}");
    }
    text
}
