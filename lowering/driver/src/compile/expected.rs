//! The expected time of versions of a kernel, and which of them it decides for.

use crate::launch::Launch;
use crate::options::Options;
use serde::Serialize;

/// The cycles that a kernel is expected to take of one unit (a multiprocessor, a compute unit, a
/// WGP), by a launch that is made up or given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExpectedCycles {
    /// From the start of the workgroups to the end of the last one, or to the end of the part that
    /// the model looks at.
    pub cycles: u64,
    /// The number of workgroups of the launch.
    pub workgroups: u32,
    /// The number of them that run at once.
    pub resident: u32,
    /// True if the model looks at all of the launch.
    pub complete: bool,
    /// Cycles, each with the bytes that all lanes have loaded or stored until then. Both grow.
    /// Versions of a kernel load and store the same, so this says how far they have come.
    #[serde(skip)]
    pub(crate) progress: Vec<(u64, u64)>,
    /// Which of the launches that are made up this one is; `None` for one that is given.
    #[serde(skip)]
    pub(crate) made_up: Option<usize>,
    /// True if the barriers that it splits cost nothing by themselves: the hardware has both
    /// instructions, and the model knows its times.
    #[serde(skip)]
    pub(crate) splits_for_free: bool,
}

/// The launch by which versions are compared.
#[derive(Copy, Clone, Debug)]
#[cfg_attr(
    not(feature = "llvm"),
    expect(dead_code, reason = "without LLVM there is no code to launch")
)]
pub(crate) enum By<'l> {
    /// This one.
    Given(&'l Launch),
    /// The first one that comes to a barrier of those that are made up, from this one on.
    MadeUp(usize),
}

impl<'l> By<'l> {
    /// As the options have it.
    pub(crate) fn from_options(options: &'l Options) -> By<'l> {
        match options.deciding_launch() {
            Some(launch) => By::Given(launch),
            None => By::MadeUp(0),
        }
    }
}

/// The expected times of versions, all of the same launch: one version may come to a barrier by a
/// launch that is made up, and another one not. `expect` gives the time of a version by a launch.
pub(crate) fn expected_times<V>(
    versions: &[V],
    by: By<'_>,
    expect: impl Fn(&V, By<'_>) -> Expected,
) -> Vec<Expected> {
    let mut found: Vec<Expected> = versions.iter().map(|one| expect(one, by)).collect();
    while let Some(last) = found.iter().filter_map(Expected::made_up).max() {
        let is_earlier = |one: &Expected| one.made_up().is_some_and(|number| number < last);
        let mut both = versions.iter().zip(found.iter_mut());
        let Some((version, earlier)) = both.find(|(_, one)| is_earlier(one)) else {
            break;
        };
        *earlier = expect(version, By::MadeUp(last));
    }
    found
}

/// The expected time of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Expected {
    /// The model gives it.
    Cycles(ExpectedCycles),
    /// The model cannot tell.
    Unknown {
        /// Why.
        unknown: String,
    },
}

/// The error of the model in per cent: versions that are closer count as equal (`docs/timing.md`).
const MARGIN: u64 = 2;

/// The same where the model looks at a part of the launch.
const MARGIN_OF_PART: u64 = 5;

/// A version that is compared with another one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Ties {
    /// It must save more cycles than the error of the model.
    Lose,
    /// It must not take more cycles than the other one; where the launch is made up, not more by
    /// more than the error of the model.
    Win,
}

impl ExpectedCycles {
    /// The cycles of a whole launch, which is the same for all versions.
    #[cfg(feature = "sim")]
    pub(crate) fn whole(cycles: u64) -> ExpectedCycles {
        ExpectedCycles {
            cycles,
            workgroups: 1,
            resident: 1,
            complete: true,
            progress: Vec::new(),
            made_up: None,
            splits_for_free: false,
        }
    }

    /// The cycles until each of its workgroups has loaded or stored so many bytes; `None` if that
    /// is more than they do.
    fn until(&self, bytes: u64) -> Option<u64> {
        let bytes = bytes.saturating_mul(self.workgroups.into());
        let at = self.progress.partition_point(|(_, all)| *all < bytes);
        let (now, all) = self.progress.get(at)?;
        let before = at.checked_sub(1).and_then(|at| self.progress.get(at));
        let (first, some) = before.copied().unwrap_or_default();
        let part = (now - first).saturating_mul(bytes.saturating_sub(some));
        Some(first + part / (all - some).max(1))
    }

    /// The bytes that each of its workgroups loads or stores.
    fn bytes(&self) -> u64 {
        let all = self.progress.last().map_or(0, |(_, bytes)| *bytes);
        all / u64::from(self.workgroups.max(1))
    }

    /// Cycles of this and of `other` for the same work of a workgroup: all of it, or as much as the
    /// model has seen of both.
    fn compared(&self, other: &ExpectedCycles) -> [u64; 2] {
        if self.complete && other.complete {
            return [self.cycles, other.cycles];
        }
        // The start counts little in a launch that takes long.
        let last = self.bytes().min(other.bytes());
        let first = last / 4;
        let cycles = |of: &ExpectedCycles| {
            let until = |bytes| of.until(bytes).unwrap_or(of.cycles);
            until(last).saturating_sub(until(first)).max(1)
        };
        [cycles(self), cycles(other)]
    }

    /// The work of this and of `other`. Where their launches have different numbers of workgroups,
    /// and the model has seen all of both, it is the bytes that they load and store: some
    /// workgroups of a made-up launch may have nothing to do.
    fn work(&self, other: &ExpectedCycles) -> [u64; 2] {
        let bytes = [self, other].map(|one| one.progress.last().map_or(0, |(_, bytes)| *bytes));
        let is_known = self.complete && other.complete && bytes.iter().all(|bytes| *bytes > 0);
        if is_known && self.workgroups != other.workgroups {
            bytes
        } else {
            [self, other].map(|one| one.workgroups.into())
        }
    }

    /// Returns true if this is less than `other`, by more than the margin if ties lose.
    fn beats(&self, other: &ExpectedCycles, ties: Ties) -> bool {
        let [own, others] = self.compared(other);
        let [work, others_work] = self.work(other);
        let own = own.saturating_mul(others_work);
        let others = others.saturating_mul(work);
        let margin = if self.complete && other.complete {
            MARGIN
        } else {
            MARGIN_OF_PART
        };
        match ties {
            Ties::Lose => own.saturating_mul(100) < others.saturating_mul(100 - margin),
            Ties::Win => {
                let margin = self.made_up.map_or(0, |_| MARGIN);
                own.saturating_mul(100) <= others.saturating_mul(100 + margin)
            }
        }
    }

    /// Its cycles for a workgroup over those of `other`.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    fn over(&self, other: &ExpectedCycles) -> f64 {
        let [own, others] = self.compared(other);
        let [work, others_work] = self.work(other);
        let own = own.max(1) as f64 / work.max(1) as f64;
        own / (others.max(1) as f64 / others_work.max(1) as f64)
    }
}

impl Expected {
    /// The launch that is made up of which it is the time.
    pub(crate) fn made_up(&self) -> Option<usize> {
        match self {
            Expected::Cycles(cycles) => cycles.made_up,
            Expected::Unknown { .. } => None,
        }
    }

    /// The cycles for one workgroup, divided by those of `other`; `None` where the model does not
    /// know one of them.
    pub fn over(&self, other: &Expected) -> Option<f64> {
        match (self, other) {
            (Expected::Cycles(own), Expected::Cycles(other)) => Some(own.over(other)),
            _ => None,
        }
    }

    /// Why a version that is expected to take this time is taken in place of one with full barriers
    /// that takes the time `full`. Splits that cost nothing win ties, since waves of a launch that
    /// is made up differ less than those of a real one.
    ///
    /// # Errors
    /// Why it is not.
    pub(crate) fn beats(&self, full: &Expected) -> Result<String, String> {
        let ties = match self {
            Expected::Cycles(cycles) if cycles.splits_for_free => Ties::Win,
            Expected::Cycles(_) | Expected::Unknown { .. } => Ties::Lose,
        };
        self.beats_with(full, "with full barriers", ties)
    }

    /// As [`beats`](Self::beats), where the version that takes the time `full` is called `name`.
    ///
    /// # Errors
    /// Why it is not.
    pub(crate) fn beats_version(&self, full: &Expected, name: &str) -> Result<String, String> {
        self.beats_with(full, name, Ties::Lose)
    }

    fn beats_with(&self, full: &Expected, name: &str, ties: Ties) -> Result<String, String> {
        let (own, full) = match (self, full) {
            (Expected::Cycles(own), Expected::Cycles(full)) => (own, full),
            (Expected::Unknown { unknown }, _) | (_, Expected::Unknown { unknown }) => {
                return Err(format!("its time is unknown: {unknown}"));
            }
        };
        let [cycles, others] = own.compared(full);
        let of = |cycles: u64, one: &ExpectedCycles| {
            if own.workgroups != full.workgroups {
                format!("{cycles} for {} workgroups", one.workgroups)
            } else if own.resident != full.resident {
                format!("{cycles} with {} resident workgroups", one.resident)
            } else {
                cycles.to_string()
            }
        };
        let words = format!(
            "expected cycles{}: {}, and {} {name} ({:+.1} %)",
            if own.complete && full.complete {
                ""
            } else {
                " of a part"
            },
            of(cycles, own),
            of(others, full),
            100.0 * (own.over(full) - 1.0)
        );
        if own.beats(full, Ties::Lose) {
            Ok(words)
        } else if own.beats(full, ties) {
            Ok(format!("{words}: equal, and a split costs nothing here"))
        } else {
            Err(words)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn cycles(cycles: u64, resident: u32) -> Expected {
        Expected::Cycles(ExpectedCycles {
            cycles,
            workgroups: resident,
            resident,
            complete: true,
            progress: Vec::new(),
            made_up: None,
            splits_for_free: false,
        })
    }

    fn part(progress: &[(u64, u64)]) -> Expected {
        Expected::Cycles(ExpectedCycles {
            cycles: 5000,
            workgroups: 1,
            resident: 1,
            complete: false,
            progress: progress.to_vec(),
            made_up: None,
            splits_for_free: false,
        })
    }

    #[test]
    fn a_split_saves_more_than_the_error_of_the_model() {
        assert!(cycles(979, 4).beats(&cycles(1000, 4)).is_ok());
        let why = cycles(980, 4).beats(&cycles(1000, 4)).unwrap_err();
        assert_eq!(
            why,
            "expected cycles: 980, and 1000 with full barriers (-2.0 %)"
        );
        // Half as many workgroups at once have to be twice as fast.
        let why = cycles(600, 2).beats(&cycles(1000, 4)).unwrap_err();
        let words = "expected cycles: 600 for 2 workgroups, and 1000 for 4 workgroups with full barriers (+20.0 %)";
        assert_eq!(why, words);
        assert!(cycles(480, 2).beats(&cycles(1000, 4)).is_ok());
        let unknown = Expected::Unknown {
            unknown: "it has images".to_owned(),
        };
        let why = unknown.beats(&cycles(1000, 4)).unwrap_err();
        assert_eq!(why, "its time is unknown: it has images");
        assert_eq!(cycles(1000, 4).beats(&unknown), Err(why));
        assert_eq!(unknown.over(&unknown), None);
        assert_eq!(cycles(0, 0).over(&cycles(0, 0)), Some(1.0));
    }

    #[test]
    fn splits_that_cost_nothing_win_ties() {
        let full = cycles(1000, 4);
        let free = |own, made_up| match cycles(own, 4) {
            Expected::Cycles(cycles) => Expected::Cycles(ExpectedCycles {
                splits_for_free: true,
                made_up,
                ..cycles
            }),
            unknown @ Expected::Unknown { .. } => unknown,
        };
        let why = "expected cycles: 1020, and 1000 with full barriers (+2.0 %): equal, and a split costs nothing here";
        assert_eq!(free(1020, Some(0)).beats(&full), Ok(why.to_owned()));
        assert!(free(1021, Some(0)).beats(&full).is_err());
        // A launch that is given tells more than one that is made up.
        assert!(free(1000, None).beats(&full).is_ok());
        assert!(free(1001, None).beats(&full).is_err());
        // Against other versions than full barriers they have no advantage.
        let as_it_is = free(980, Some(0)).beats_version(&full, "as it is");
        assert!(as_it_is.is_err());
    }

    #[test]
    fn versions_are_compared_by_the_same_launch() {
        let by = |number| match cycles(100, 1) {
            Expected::Cycles(cycles) => Expected::Cycles(ExpectedCycles {
                made_up: Some(number),
                ..cycles
            }),
            unknown @ Expected::Unknown { .. } => unknown,
        };
        // By launch 2 the first version comes to no barrier, and by launch 3 it does.
        let firsts = [0, 2, 1];
        let found = expected_times(&firsts, By::MadeUp(0), |first, by_launch| {
            match (first, by_launch) {
                (first, By::MadeUp(0)) => by(*first),
                (0, By::MadeUp(2)) => by(3),
                (_, By::MadeUp(number)) => by(number),
                (_, By::Given(_)) => unreachable!("no launch is given"),
            }
        });
        assert_eq!(found, [by(3), by(3), by(3)]);
    }

    #[test]
    fn workgroups_without_work_do_not_count() {
        let cycles = |cycles, workgroups, bytes| {
            Expected::Cycles(ExpectedCycles {
                cycles,
                workgroups,
                resident: workgroups,
                complete: true,
                progress: vec![(cycles, bytes)],
                made_up: None,
                splits_for_free: false,
            })
        };
        // One of four workgroups has work, and one of two.
        let why = cycles(900, 2, 4096).beats(&cycles(1000, 4, 4096)).unwrap();
        let words = "expected cycles: 900 for 2 workgroups, and 1000 for 4 workgroups with full barriers (-10.0 %)";
        assert_eq!(why, words);
    }

    #[test]
    fn parts_are_compared_as_far_as_both_come() {
        let slow = part(&[(0, 0), (1000, 100), (4000, 400)]);
        let fast = part(&[(0, 0), (1000, 100), (4600, 500), (5000, 600)]);
        let why = fast.beats(&slow).unwrap();
        assert_eq!(
            why,
            "expected cycles of a part: 2700, and 3000 with full barriers (-10.0 %)"
        );
        assert!(slow.beats(&fast).is_err());
        assert!(part(&[]).beats(&part(&[])).is_err());
    }
}
