//! Estimates of versions for one launch, and their timelines.

use super::model::{Spent, TimelineFacts, TrackFacts};
use crate::compile::{By, Expected, ExpectedCycles, Output, expected_times};
use crate::expect::{expect, expected_timeline};
use crate::simulate::timeline::{SliceKind, Timeline};
use crate::simulate::{Inputs, Job, Refusal};
use splitbar_sim::Finding;
use std::collections::BTreeMap;

/// The launch that estimates are for.
#[derive(Copy, Clone)]
#[non_exhaustive]
pub enum Launch<'l> {
    /// No launch is known: one is made up, as for the choice of `auto`.
    MadeUp,
    /// A launch.
    Given(GivenLaunch<'l>),
}

/// A launch that is known.
#[derive(Copy, Clone)]
pub struct GivenLaunch<'l> {
    /// The inputs.
    pub inputs: &'l Inputs,
    /// Workgroups that are resident together; `None`: as many as fit.
    pub resident: Option<u32>,
    /// Adds images, samplers and tensors to a job.
    pub describe: &'l dyn Fn(Job) -> Result<Job, String>,
    /// The launch in words.
    pub words: &'l str,
    /// The number of schedules under which the simulator looks for races.
    pub schedules: u32,
}

/// An estimate of a version.
pub(super) struct Estimated {
    /// Its cycles.
    pub(super) expected: Expected,
    /// Workgroups that run together in it.
    pub(super) running: Option<u32>,
    /// The findings of the simulator.
    pub(super) findings: Vec<Finding>,
}

impl Estimated {
    fn made_up(expected: Expected) -> Estimated {
        let running = match &expected {
            Expected::Cycles(cycles) => Some(cycles.resident),
            Expected::Unknown { .. } => None,
        };
        Estimated {
            expected,
            running,
            findings: Vec::new(),
        }
    }
}

/// The launch that is made up, in words.
const MADE_UP: &str = "no launch was given, so the estimate assumes a synthetic one: one unit of the GPU with as many workgroups as it can hold, up to 32 waves; buffers of 64 KiB with small numbers, or with 64 in every word if no barrier is reached otherwise; every word of constants is 64; only the first 40,000 wave instructions";

impl GivenLaunch<'_> {
    /// The job of entry point number `entry`.
    pub(super) fn job(&self, output: &Output, entry: usize) -> Result<Job, String> {
        let words = |refusal: Refusal| refusal.to_string();
        let job = (self.describe)(Job::compiled(output, entry).map_err(words)?)?;
        job.takes(self.inputs).map_err(words)?;
        Ok(job)
    }

    /// The cycles that entry point number `entry` takes.
    fn estimate(&self, output: &Output, entry: usize) -> Estimated {
        let estimate = self.job(output, entry).and_then(|job| {
            let estimate = job.estimate(self.inputs, self.resident);
            let estimate = estimate.map_err(|refusal| refusal.to_string())?;
            Ok((estimate, job.splits_for_free(output, entry)))
        });
        match estimate {
            Ok((estimate, splits_for_free)) if estimate.findings.is_empty() => Estimated {
                expected: Expected::Cycles(ExpectedCycles {
                    splits_for_free,
                    ..ExpectedCycles::whole(estimate.cycles)
                }),
                running: Some(estimate.resident.min(estimate.workgroups)),
                findings: Vec::new(),
            },
            Ok((estimate, _)) => Estimated {
                expected: Expected::Unknown {
                    unknown: "the simulator found a problem in this launch".to_owned(),
                },
                running: None,
                findings: estimate.findings,
            },
            Err(unknown) => Estimated::made_up(Expected::Unknown { unknown }),
        }
    }
}

impl Launch<'_> {
    /// The launch in words.
    pub(super) fn words(&self) -> String {
        match self {
            Launch::MadeUp => MADE_UP.to_owned(),
            Launch::Given(launch) => launch.words.to_owned(),
        }
    }

    /// The cycles that entry point number `entry` takes in each of the versions, by one launch.
    pub(super) fn estimates(&self, versions: &[&Output], entry: usize) -> Vec<Estimated> {
        match self {
            Launch::MadeUp => {
                let by = By::MadeUp(0);
                let found = expected_times(versions, by, |one, by| expect(one, entry, by));
                found.into_iter().map(Estimated::made_up).collect()
            }
            Launch::Given(launch) => {
                let each = versions.iter();
                each.map(|one| launch.estimate(one, entry)).collect()
            }
        }
    }

    /// The timeline of the estimate `expected`.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn timeline(
        &self,
        output: &Output,
        entry: usize,
        expected: &Expected,
    ) -> Result<Timeline, String> {
        match self {
            Launch::MadeUp => expected_timeline(output, entry, expected.made_up().unwrap_or(0)),
            Launch::Given(launch) => {
                let job = launch.job(output, entry)?;
                let of = output.entries().get(entry);
                let of = of.ok_or_else(|| "there is no such entry point".to_owned())?;
                let timeline = job.timeline_of(launch.inputs, launch.resident, of);
                timeline.map_err(|refusal| refusal.to_string())
            }
        }
    }
}

/// The kinds of slices, in the order of their numbers.
const KINDS: [SliceKind; 9] = [
    SliceKind::Window,
    SliceKind::CrossingWindow,
    SliceKind::Arrive,
    SliceKind::Wait,
    SliceKind::Full,
    SliceKind::Issue,
    SliceKind::Memory,
    SliceKind::Stalled,
    SliceKind::Sleep,
];

/// A timeline as a report has it, with `most` slices and as many completions.
pub(super) fn facts(timeline: &Timeline, most: usize) -> TimelineFacts {
    let mut slices: Vec<_> = timeline.slices.iter().collect();
    slices.sort_by_key(|slice| (slice.from, slice.track));
    let cut_off = slices.get(most).map(|slice| slice.from);
    let cut_off = cut_off.into_iter().chain(timeline.cut_off).min();
    let is_shown = |from: u64| cut_off.is_none_or(|cut| from < cut);
    let ends = timeline.slices.iter().map(|slice| slice.until);
    let until = cut_off.unwrap_or_else(|| ends.max().unwrap_or(0));
    let kind = |kind: SliceKind| KINDS.iter().position(|one| *one == kind).unwrap_or(0) as u64;
    let word = |pc: u32| {
        let place = timeline.places.get(pc as usize);
        place
            .and_then(|place| place.word)
            .map_or(0, |word| u64::from(word) + 1)
    };
    let slices = slices.into_iter().filter(|slice| is_shown(slice.from));
    let completions = timeline.completions.iter();
    let completions = completions.filter(|one| is_shown(one.to.1)).take(most);
    TimelineFacts {
        until,
        tracks: timeline
            .tracks
            .iter()
            .map(|track| TrackFacts {
                workgroup: track.wave.group,
                wave: track.wave.wave,
            })
            .collect(),
        kinds: KINDS.iter().map(|kind| kind.name()).collect(),
        slices: slices
            .flat_map(|slice| {
                let length = slice.until.min(until) - slice.from;
                [
                    slice.track.into(),
                    slice.from,
                    length,
                    kind(slice.kind),
                    word(slice.pc),
                ]
            })
            .collect(),
        completions: completions
            .flat_map(|one| [one.from.0.into(), one.from.1, one.to.0.into(), one.to.1])
            .collect(),
        loads: counter(&timeline.loads, until),
        waves: counter(&timeline.waves, until),
        spent: spent(timeline),
        cut_off,
    }
}

/// The most parts of the time for which a counter has a number.
const PARTS: u64 = 512;

/// A counter up to the cycle `until`, as pairs of a cycle and the number from there on. Each pair
/// is for a part of the time and has the largest number in it; parts without a change have none.
fn counter(points: &[(u64, u32)], until: u64) -> Vec<u64> {
    let length = until.div_ceil(PARTS).max(1);
    let mut parts: BTreeMap<u64, u32> = BTreeMap::new();
    let mut number = 0;
    for &(cycle, next) in points.iter().take_while(|(cycle, _)| *cycle < until) {
        if cycle % length == 0 {
            parts.insert(cycle / length, next); // the number before is none of this part
        } else {
            let most = parts.entry(cycle / length).or_insert(number);
            *most = (*most).max(next);
        }
        // The number that is left at the end of a part is that of the next one.
        parts.insert(cycle / length + 1, next);
        number = next;
    }
    let within = parts.into_iter().filter(|(part, _)| part * length < until);
    let mut pairs: Vec<[u64; 2]> = within
        .map(|(part, number)| [part * length, number.into()])
        .collect();
    pairs.dedup_by_key(|[_, number]| *number);
    pairs.concat()
}

/// Cycles of all waves together, by kind.
fn spent(timeline: &Timeline) -> Spent {
    let mut spent = Spent::default();
    for slice in &timeline.slices {
        let cycles = slice.until - slice.from;
        match slice.kind {
            SliceKind::Issue => spent.issue += cycles,
            SliceKind::Memory => spent.memory += cycles,
            SliceKind::Stalled => spent.barrier += cycles,
            SliceKind::Sleep => spent.sleep += cycles,
            SliceKind::Window
            | SliceKind::CrossingWindow
            | SliceKind::Arrive
            | SliceKind::Wait
            | SliceKind::Full => {}
        }
    }
    spent
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn counters_have_the_most_of_each_part() {
        // Fewer cycles than parts: nothing is lost.
        let points = [(0, 4), (7, 5), (9, 0)];
        assert_eq!(counter(&points, 100), [0, 4, 7, 5, 9, 0]);
        assert_eq!(counter(&points, 9), [0, 4, 7, 5]);
        // Parts of two cycles. The peak in the middle of one is kept.
        let points = [(0, 1), (4, 9), (5, 2), (600, 3)];
        let until = 2 * PARTS;
        assert_eq!(counter(&points, until), [0, 1, 4, 9, 6, 2, 600, 3]);
        assert!(counter(&[], until).is_empty());
    }
}
