//! Times of subgroups that count their own instructions, brought together at the barriers.

use super::dump::{Dump, Record};
use super::{Gpu, Profile};
use crate::diagnostic::{Code, Diagnostic};
use std::collections::BTreeMap;

/// Makes a dump with one time for each workgroup of a dump whose clocks show the instructions that
/// each subgroup has executed by itself. Every instruction takes one unit; behind a barrier a
/// subgroup goes on when the last one has arrived, or at once if it comes later. What it did while
/// it waited, such as polling, takes no time of its own. The new dump names `gpu`, or else what the
/// old one does.
///
/// # Errors
/// As [`super::Profile::read`]; `LaunchTooLarge` when the ring has lost records, which are needed
/// to know the time of later ones; `UnsupportedOnTarget` when a clock runs backwards, as one of 20
/// bits does.
pub fn retime(bytes: &[u8], gpu: Option<Gpu>) -> Result<Vec<u8>, Diagnostic> {
    let mut dump = Dump::read(bytes)?;
    dump.gpu = gpu.or(dump.gpu);
    if dump.written > dump.capacity {
        return Err(Diagnostic::error(
            Code::LaunchTooLarge,
            "the launch makes more records than there is room for",
        )
        .because(format!(
            "it makes {}, and there is room for {}",
            dump.written, dump.capacity
        ))
        .help("give it room for more, or launch fewer workgroups"));
    }
    let mut sorted: Vec<&mut Record> = dump.records.iter_mut().collect();
    sorted.sort_by_key(|record| (record.workgroup, record.phase));
    for workgroup in sorted.chunk_by_mut(|one, next| one.workgroup == next.workgroup) {
        let mut times = BTreeMap::new();
        for phase in workgroup.chunk_by_mut(|one, next| one.phase == next.phase) {
            meet(phase, &mut times)?;
        }
    }
    let bytes = dump.to_bytes();
    Profile::read(&bytes)?;
    Ok(bytes)
}

/// How the time of a subgroup follows from its clock.
#[derive(Default)]
struct Time {
    /// From these values of the clock on, ascending, so much is added.
    shifts: Vec<(u64, i128)>,
}

impl Time {
    /// The time when the clock showed `clock`.
    ///
    /// # Errors
    /// `LaunchTooLarge` beyond 64 bits.
    fn at(&self, clock: u64) -> Result<u64, Diagnostic> {
        let after = self.shifts.partition_point(|(from, _)| *from <= clock);
        let shift = after.checked_sub(1).and_then(|last| self.shifts.get(last));
        let shift = shift.map_or(0, |(_, shift)| *shift); // nothing before the first barrier
        u64::try_from(i128::from(clock) + shift).map_err(|_| {
            Diagnostic::error(
                Code::LaunchTooLarge,
                "the time of a subgroup leaves 64 bits",
            )
            .because("the dump has clocks that no launch reaches")
            .help("launch the kernel again")
        })
    }
}

/// Gives the records of one phase their times.
fn meet(phase: &mut [&mut Record], times: &mut BTreeMap<u32, Time>) -> Result<(), Diagnostic> {
    let mut behind = Vec::with_capacity(phase.len());
    for record in phase.iter_mut() {
        let time = times.entry(record.subgroup).or_default();
        let before = time.shifts.last().map_or(0, |(from, _)| *from);
        let clocks = [before, record.waited, record.passed];
        if !clocks.is_sorted() || record.arrived > record.waited {
            return Err(backwards());
        }
        behind.push(record.passed);
        record.arrived = time.at(record.arrived)?;
        record.waited = time.at(record.waited)?;
    }
    let last = phase.iter().map(|record| record.arrived).max();
    for (record, clock) in phase.iter_mut().zip(behind) {
        record.passed = record.waited.max(last.unwrap_or(0)); // a phase has a record
        let shift = i128::from(record.passed) - i128::from(clock);
        let time = times.entry(record.subgroup).or_default();
        time.shifts.push((clock, shift));
    }
    Ok(())
}

fn backwards() -> Diagnostic {
    Diagnostic::error(
        Code::UnsupportedOnTarget,
        "the clock of a subgroup runs backwards",
    )
    .because("clocks of some GPUs have 20 bits, and the subgroup has executed more instructions")
    .help("measure on a target with a clock of 64 bits, or launch less work")
}
