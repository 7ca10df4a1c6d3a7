//! Records as phases, and phases as figures of each barrier.

use super::Distribution;
use super::dump::{Record, damaged};
use crate::diagnostic::{Code, Diagnostic};
use crate::module::{Module, WordOffset};
use serde::Serialize;
use spirv::Op;
use std::collections::BTreeMap;

/// The kind of a measured barrier.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SiteKind {
    /// An arrive and a wait.
    Split,
    /// OpControlBarrier.
    Full,
}

/// The measurements of one barrier. Times are in units of the subgroup's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Site {
    /// The kind.
    pub kind: SiteKind,
    /// Word offset of the arrive in the module that was instrumented; that of the OpControlBarrier
    /// for one.
    pub arrive: WordOffset,
    /// Word offset of the wait, or of the OpControlBarrier.
    pub wait: WordOffset,
    /// Subgroups of a workgroup.
    pub subgroups: u32,
    /// Phases of a workgroup with records of all its subgroups.
    pub phases: u64,
    /// Phases without the records of some subgroups, which were overwritten or never made.
    pub incomplete: u64,
    /// Phases whose clocks show that a subgroup passed before another one arrived, or that time ran
    /// backwards: these subgroups do not read the same clock, or it has too few bits. No figure
    /// includes them.
    pub contradictory: u64,
    /// The last arrive of a phase less the first, one value for each of `phases`.
    pub skew: Option<Distribution>,
    /// From the arrive to the wait, one value for each record; none for a full barrier.
    pub window: Option<Distribution>,
    /// The time of the wait, or of the full barrier, one value for each record.
    pub waiting: Option<Distribution>,
}

impl Site {
    /// The most that a split barrier gains in an ordinary phase: the smaller of the median skew and
    /// the median window. For a full barrier, which has no window yet, the median skew. `None`
    /// where the skew is not known.
    pub fn gain_at_most(&self) -> Option<u64> {
        let skew = self.skew?.median;
        Some(self.window.map_or(skew, |window| skew.min(window.median)))
    }

    /// That it is a barrier of `module`.
    pub(super) fn check(&self, module: &Module<'_>) -> Result<(), Diagnostic> {
        let is = |offset: WordOffset, op: Op| {
            module.at(offset).is_some_and(|inst| inst.op() == Some(op))
        };
        let is_right = match self.kind {
            SiteKind::Full => is(self.wait, Op::ControlBarrier),
            SiteKind::Split => {
                is(self.arrive, Op::ControlBarrierArriveINTEL)
                    && is(self.wait, Op::ControlBarrierWaitINTEL)
            }
        };
        if is_right {
            Ok(())
        } else {
            Err(damaged(format!(
                "the module has no barrier at words {} and {}",
                self.arrive, self.wait
            )))
        }
    }
}

/// Counts and values of a site.
#[derive(Default)]
struct Values {
    subgroups: u32,
    phases: u64,
    incomplete: u64,
    contradictory: u64,
    skews: Vec<u64>,
    windows: Vec<u64>,
    waits: Vec<u64>,
}

/// The sites of `records`, by the word offsets of arrive and wait.
///
/// # Errors
/// `RepeatedLaunch`, `DamagedProfile` when records of one phase do not belong together.
pub(super) fn of(mut records: Vec<Record>) -> Result<Vec<Site>, Diagnostic> {
    let phase = |record: &Record| (record.workgroup, record.phase);
    records.sort_unstable_by_key(|record| (phase(record), record.subgroup));
    let mut sites: BTreeMap<(u32, u32), Values> = BTreeMap::new();
    for records in records.chunk_by(|one, next| phase(one) == phase(next)) {
        let Some((first, others)) = records.split_first() else {
            continue;
        };
        check(first, others)?;
        let values = sites.entry(first.site).or_default();
        if values.subgroups != 0 && values.subgroups != first.subgroups {
            return Err(damaged(format!(
                "workgroups of {} and of {} subgroups",
                values.subgroups, first.subgroups
            )));
        }
        values.subgroups = first.subgroups;
        let arrived = records.iter().map(|record| record.arrived);
        let passed = records.iter().map(|record| record.passed);
        let (Some(last), Some(freed)) = (arrived.clone().max(), passed.min()) else {
            continue;
        };
        let runs_on =
            |record: &Record| record.arrived <= record.waited && record.waited <= record.passed;
        if last > freed || !records.iter().all(runs_on) {
            values.contradictory += 1;
            continue;
        }
        if records.len() as u64 == u64::from(first.subgroups) {
            values.phases += 1;
            values.skews.extend(arrived.min().map(|first| last - first));
        } else {
            values.incomplete += 1;
        }
        for record in records {
            values.windows.push(record.waited - record.arrived);
            values.waits.push(record.passed - record.waited);
        }
    }
    Ok(sites.into_iter().map(site).collect())
}

fn site(((arrive, wait), values): ((u32, u32), Values)) -> Site {
    let kind = if arrive == wait {
        SiteKind::Full
    } else {
        SiteKind::Split
    };
    Site {
        kind,
        arrive: WordOffset::new(arrive),
        wait: WordOffset::new(wait),
        subgroups: values.subgroups,
        phases: values.phases,
        incomplete: values.incomplete,
        contradictory: values.contradictory,
        skew: Distribution::from_values(values.skews),
        window: match kind {
            SiteKind::Split => Distribution::from_values(values.windows),
            SiteKind::Full => None,
        },
        waiting: Distribution::from_values(values.waits),
    }
}

/// That the records of a phase, sorted by subgroup, are of different subgroups of one workgroup at
/// one barrier.
fn check(first: &Record, others: &[Record]) -> Result<(), Diagnostic> {
    let place = || {
        let [x, y, z] = first.workgroup;
        format!("phase {} of workgroup {x},{y},{z}", first.phase)
    };
    let mut before = first.subgroup;
    for record in others {
        if record.subgroup == before {
            return Err(Diagnostic::error(
                Code::RepeatedLaunch,
                "the dump holds more than one launch",
            )
            .because(format!(
                "there are two records of subgroup {before} in {}",
                place()
            ))
            .help("fill the buffer with zeros before each launch"));
        }
        if (record.site, record.subgroups) != (first.site, first.subgroups) {
            return Err(damaged(format!(
                "subgroups {} and {} do not agree on the barrier in {}",
                first.subgroup,
                record.subgroup,
                place()
            ))
            .because("either bytes were changed, or a barrier is not in uniform control flow"));
        }
        before = record.subgroup;
    }
    Ok(())
}
