//! The events that an observer of a run is told.

use super::{Issued, Machine, Wave};
use crate::observe::{Cause, Observed};
use crate::running::Run;
use crate::timing::cost::{Cost, Timed, Unit};

impl<W> Machine<W> {
    /// Tells the observer of a run, if there is one, what happens to a wave at `now`.
    pub(super) fn tell<P: Timed<Wave = W>>(
        &self,
        run: &mut Run<'_, P>,
        slot: usize,
        wave: usize,
        now: u64,
        what: Observed,
    ) {
        let place = self.slots.get(slot).and_then(Option::as_ref);
        if let (Some(observer), Some(place)) = (&mut run.observer, place) {
            observer.observe(place.resident.id_of(wave), now, what);
        }
    }

    fn state(&self, slot: usize, wave: usize) -> Option<&Wave> {
        self.slots.get(slot)?.as_ref()?.waves.get(wave)
    }

    /// Tells the observer that instruction `pc` of a wave was issued, before the wave takes note of
    /// it.
    #[expect(clippy::too_many_arguments, reason = "they are those of an issue")]
    pub(super) fn tell_issue<P: Timed<Wave = W>>(
        &self,
        run: &mut Run<'_, P>,
        slot: usize,
        wave: usize,
        pc: u32,
        cost: &Cost,
        now: u64,
        issued: Issued,
    ) {
        let state = self.state(slot, wave);
        let places = (now + u64::from(cost.slots).max(1)).min(issued.free);
        let what = Observed::Issued {
            pc,
            issued: places,
            free: issued.free,
            cause: occupies(cost.unit),
            released: state.is_some_and(|of| of.awaits.is_some()),
        };
        self.tell(run, slot, wave, now, what);
        let loads = (run.trace.touches.iter()).any(|touch| !touch.write);
        if loads && cost.unit == Unit::Memory {
            let until = now + issued.latency;
            self.tell(run, slot, wave, now, Observed::Loads { until });
        }
    }

    /// The reason why a wave cannot issue instruction `pc` before `at`.
    pub(super) fn cause(&self, slot: usize, wave: usize, pc: u32, at: u64) -> Cause {
        let costs = self.costs.get(pc as usize);
        let (Some(of), Some(cost)) = (self.state(slot, wave), costs) else {
            return Cause::Unit;
        };
        let is_late = |register: &&u32| of.ready.get(**register as usize) == Some(&at);
        let mut late = cost
            .reads
            .iter()
            .chain(&cost.writes)
            .filter(is_late)
            .peekable();
        let is_counter = late.peek().is_none()
            && cost.waits.iter().any(|(counters, left)| {
                let waited = of.outstanding.iter().enumerate();
                let mut waited = waited.filter(|(bit, _)| counters >> bit & 1 == 1);
                waited.any(|(_, entries)| {
                    let over = entries.len().saturating_sub(*left as usize);
                    entries.iter().take(over).any(|end| *end == at)
                })
            });
        let from_memory = |register: &u32| of.from_memory.get(*register as usize) == Some(&true);
        match (late.peek().is_some(), is_counter || late.any(from_memory)) {
            (_, true) => Cause::Memory,
            (true, false) => Cause::Result,
            (false, false) => Cause::Unit,
        }
    }
}

/// The reason why a wave issues nothing while an instruction of this unit goes on.
fn occupies(unit: Unit) -> Cause {
    match unit {
        Unit::Barrier { .. } => Cause::Barrier,
        Unit::Object { .. } | Unit::Fence | Unit::DeviceFence | Unit::Memory => Cause::Memory,
        Unit::Sleep(_) | Unit::SleepFor(_) => Cause::Sleep,
        Unit::None
        | Unit::Simple
        | Unit::Integer
        | Unit::Wide
        | Unit::Special
        | Unit::Matrix
        | Unit::Scalar
        | Unit::Branch
        | Unit::Exchange => Cause::Unit,
    }
}
