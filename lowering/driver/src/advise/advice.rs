//! The advice, as programs and people read it.

use crate::compile::{Barrier, Output, PlanPlaces, UnsplitBarrier, Version};
use crate::window::Window;
use serde::Serialize;
use splitbar_plan::{Overlap, PhaseCycles};

/// The advice for one entry point.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// The entry point.
    pub entry: String,
    /// The GPU.
    pub target: &'static str,
    /// Waves of a workgroup; `None` when only the launch knows its size.
    pub waves: Option<u32>,
    /// Lanes of a wave.
    #[serde(rename = "wavefront_size")]
    pub wave_size: u32,
    /// The compiled versions, `fused` first.
    pub candidates: Vec<Candidate>,
    /// The strategies of the target that this kernel cannot use.
    pub refused: Vec<Refused>,
    /// The setting of [`Options::split_barriers`](crate::Options::split_barriers) that the advice
    /// is for, by its name.
    pub split_barriers: &'static str,
    /// The strategy to take; `auto` where the barriers that order nothing go and no other is split.
    pub choice: &'static str,
    /// Why.
    pub reasons: Vec<String>,
    /// The OpControlBarriers that are not split, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsplit: Vec<UnsplitBarrier>,
    /// The places of the barriers in the module.
    #[serde(skip_serializing_if = "PlanPlaces::is_empty")]
    pub places: PlanPlaces,
    /// Options that split more barriers or take fewer cycles, and what they bring.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub improvements: Vec<String>,
    /// A version that a simulator finds faster than the choice by more than 2 %; `None` if there is
    /// none, or nothing was estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faster: Option<Faster>,
}

/// How much of its cycles a strategy saves at least to be called faster: estimates that are closer
/// do not tell strategies apart.
pub(super) const NOTABLE: f64 = 0.02;

/// A strategy whose estimate is better than that of the choice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Faster {
    /// Its name.
    pub strategy: &'static str,
    /// Its cycles over those of the choice, less than 1.
    pub of_choice: f64,
}

/// A simulator's estimate of the time of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Estimated {
    /// An estimate.
    Cycles {
        /// Cycles from the first workgroup's start to the last one's end.
        cycles: u64,
        /// Where hardly any figure of the GPU is public: the fewest and the most.
        #[serde(skip_serializing_if = "Option::is_none")]
        range: Option<[u64; 2]>,
        /// How many workgroups are taken to be resident at once.
        resident: u32,
    },
    /// There is none.
    Refused {
        /// Why.
        refused: String,
    },
}

/// Estimates the launch of an entry point, by its position, of what was compiled.
pub type Estimator<'e> = &'e mut dyn FnMut(&Output, usize) -> Estimated;

/// A strategy that fits.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// Its name.
    pub strategy: &'static str,
    /// The overlap of waves between arrive and wait.
    #[serde(skip)]
    pub overlap: Overlap,
    /// Instructions of all windows together: those of machine code where it was measured.
    pub window: Window,
    /// Its barriers, and which of them are worth it.
    pub barriers: Vec<Barrier>,
    /// The resource usage of the kernel, and its resident workgroups.
    #[serde(flatten)]
    pub version: Version,
    /// The cost of a phase; `None` if it was not measured.
    pub phase_cycles: Option<PhaseCycles>,
    /// The time of a launch; `None` if no estimate was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimated>,
    /// Its estimated cycles over those of full barriers; below 1 it is faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_full: Option<f64>,
}

/// A strategy that does not fit.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// Its name.
    pub strategy: &'static str,
    /// Why.
    pub reason: String,
}

impl Advice {
    /// Fills in what `estimator` says of each candidate: `code` gives the output of each.
    pub(super) fn estimate<'o>(
        &mut self,
        index: usize,
        code: impl Iterator<Item = &'o Output>,
        estimator: Estimator<'_>,
    ) {
        for (candidate, output) in self.candidates.iter_mut().zip(code) {
            candidate.estimate = Some(estimator(output, index));
        }
        let full = self.candidates.first().and_then(Candidate::cycles);
        for candidate in &mut self.candidates {
            candidate.of_full = full
                .zip(candidate.cycles())
                .map(|(full, own)| ratio(own, full));
        }
        self.faster = faster(self.choice, &self.candidates);
    }
}

impl Estimated {
    /// The cycles, where there is an estimate.
    pub fn cycles(&self) -> Option<u64> {
        match self {
            Estimated::Cycles { cycles, .. } => Some(*cycles),
            Estimated::Refused { .. } => None,
        }
    }
}

impl Candidate {
    /// Its estimated cycles.
    pub(super) fn cycles(&self) -> Option<u64> {
        self.estimate.as_ref().and_then(Estimated::cycles)
    }
}

/// Cycles over others.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
pub(super) fn ratio(cycles: u64, others: u64) -> f64 {
    cycles.max(1) as f64 / others.max(1) as f64
}

/// What is estimated to be faster than `choice`, the fastest of it.
pub(super) fn faster(choice: &str, candidates: &[Candidate]) -> Option<Faster> {
    let estimates = candidates
        .iter()
        .filter_map(|candidate| Some((candidate.cycles()?, candidate.strategy)));
    let (chosen, _) = estimates.clone().find(|(_, name)| *name == choice)?;
    let (least, strategy) = estimates.min_by_key(|(cycles, _)| *cycles)?;
    let of_choice = ratio(least, chosen);
    (of_choice < 1.0 - NOTABLE).then_some(Faster {
        strategy,
        of_choice,
    })
}
