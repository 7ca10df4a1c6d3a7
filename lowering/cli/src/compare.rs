//! `splitbar sim --timing --compare`: the estimates of all strategies, beside full barriers.

use super::table::columns;
use serde::Serialize;
use splitbar::simulate::estimate::Estimate;
use splitbar::{Strategy, Target};
use splitbar_passes::module::Scope;

/// What became of each strategy, `fused` first.
#[derive(Serialize)]
pub(super) struct Comparison {
    target: &'static str,
    #[serde(skip)]
    strategies: Vec<Strategy>,
    estimates: Vec<Estimated>,
    refused: Vec<Refused>,
}

/// A strategy that fits.
#[derive(Serialize)]
struct Estimated {
    strategy: &'static str,
    /// Its cycles over those of `fused`; below 1 it is faster.
    of_fused: f64,
    #[serde(flatten)]
    estimate: Estimate,
}

/// A strategy that does not fit.
#[derive(Serialize)]
struct Refused {
    strategy: &'static str,
    why: String,
}

impl Comparison {
    pub(super) fn new(target: &'static Target) -> Comparison {
        let mut strategies = Strategy::all_of_target(target);
        strategies.retain(|s| s.scope() == Scope::Workgroup && *s != Strategy::Fused);
        strategies.insert(0, Strategy::Fused);
        Comparison {
            target: target.name,
            strategies,
            estimates: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// What is to be estimated, `fused` first.
    pub(super) fn strategies(&self) -> Vec<Strategy> {
        self.strategies.clone()
    }

    pub(super) fn refuse(&mut self, strategy: Strategy, why: String) {
        self.refused.push(Refused {
            strategy: strategy.name(),
            why,
        });
    }

    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    pub(super) fn add(&mut self, strategy: Strategy, estimate: Estimate) {
        let cycles = |estimate: &Estimate| estimate.cycles.max(1) as f64;
        let fused = self.estimates.first().map(|first| cycles(&first.estimate));
        self.estimates.push(Estimated {
            strategy: strategy.name(),
            of_fused: cycles(&estimate) / fused.unwrap_or(cycles(&estimate)),
            estimate,
        });
    }

    /// Returns true if the simulator found something in one of the runs.
    pub(super) fn has_findings(&self) -> bool {
        let mut estimates = self.estimates.iter();
        estimates.any(|estimated| !estimated.estimate.findings.is_empty())
    }

    pub(super) fn json(&self) -> Vec<u8> {
        // Serialising plain structs has no way to fail: no maps, no foreign impls.
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        text
    }

    pub(super) fn text(&self) -> String {
        let mut lines =
            vec![["strategy", "cycles", "of fused", "workgroups", "issued"].map(str::to_owned)];
        lines.extend(self.estimates.iter().map(|estimated| {
            let estimate = &estimated.estimate;
            [
                estimated.strategy.to_owned(),
                match estimate.range {
                    Some([least, most]) => format!("{} ({least} to {most})", estimate.cycles),
                    None => estimate.cycles.to_string(),
                },
                format!("{:.3}", estimated.of_fused),
                estimate.resident.to_string(),
                estimate.issued.to_string(),
            ]
        }));
        let resident = self.estimates.first().map_or_else(String::new, |first| {
            format!(
                ", resident workgroups: {}",
                super::estimate::resident(&first.estimate)
            )
        });
        let mut text = format!(
            "estimates on {}{resident}\n{}",
            self.target,
            columns(&lines)
        );
        for refused in &self.refused {
            text.push_str(&format!("not {}: {}\n", refused.strategy, refused.why));
        }
        for estimated in &self.estimates {
            for finding in &estimated.estimate.findings {
                text.push_str(&format!("\n{}: {finding}\n", estimated.strategy));
            }
        }
        text
    }
}
