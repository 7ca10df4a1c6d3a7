//! Asynchronous copies and the marks that track them: for how many newer marks may a wait still
//! leave outstanding?
//!
//! The model is that of LLVM's "AMDGPU Asynchronous Operations" (asyncmark, wait.asyncmark), which
//! the groups of PTX ISA 9.7.9.25 (cp.async.commit_group, cp.async.wait_group) share. A function
//! body has a sequence of marks. A mark covers all copies before it; marks complete in order;
//! `wait(N)` waits until at most the N newest marks are outstanding. So a copy after which `a`
//! marks were made is complete behind `wait(a - 1)`, and a copy without a mark behind it is covered
//! by no wait.
//!
//! Copies are named by groups, whatever the client makes of them: the SSA value of an event, a
//! place in the code. [`solve`] finds for each place that needs groups to be complete the largest N
//! that will do on every path: one less than the least number of marks made since the copy.
//! [`prune`] finds the waits that can never block and the marks that no wait counts,
//! [`without_empty`] does without the marks that have nothing to mark.
//!
//! Both know nothing of SPIR-V and of targets; they cost time and memory linear in blocks times
//! groups, and above [`LIMIT`] all groups count as one.

mod ages;
mod empty;
mod event;
mod outstanding;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

use super::cfg::Cfg;
use crate::module::BlockMap;
use ages::Ages;
pub use empty::{Moment, WithoutEmpty, without_empty};
pub use event::{Event, EventPlace, Group, LIMIT, MAX_MARKS, Move, Wait};
pub use outstanding::{Pruned, Tick, most_outstanding, prune};
use std::collections::{BTreeMap, BTreeSet};

/// The result of [`solve`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// For each need in a block that control can reach.
    pub waits: BTreeMap<EventPlace, Wait>,
    /// The marks that no wait of `waits` counts: they need not be made. Also those in blocks that
    /// control cannot reach.
    pub dead_marks: BTreeSet<EventPlace>,
}

/// For each need the wait that it takes, and the marks that need not be made. `events` gives each
/// block of `cfg` its events; missing ones are empty.
///
/// The waits are as weak as the names allow: on some path to the need a weaker one would leave a
/// copy of its groups outstanding (but for [`MAX_MARKS`] and [`LIMIT`]).
pub fn solve(cfg: &Cfg, events: &BlockMap<Vec<Event>>, moves: &[Move]) -> Marks {
    if events.values().all(Vec::is_empty) {
        return Marks::default();
    }
    let mut waits = Ages::analyze(cfg, events, moves).waits(cfg, events);

    // The same events as they will be, for the question which of them have an effect.
    let mut ticks = BlockMap::filled(cfg.len(), Vec::new());
    let mut places = BlockMap::filled(cfg.len(), Vec::new());
    for (block, events) in events.iter() {
        for (index, event) in events.iter().enumerate() {
            let place = (block, index);
            let mut tick = |tick| {
                ticks[block].push(tick);
                places[block].push(place);
            };
            match event {
                Event::Copy(_) => {}
                Event::Mark => tick(Tick::Mark),
                Event::Need(_) | Event::NeedAll => match waits.get(&place) {
                    None | Some(Wait::Nothing) => {}
                    Some(Wait::AtMost(n)) => tick(Tick::Wait(*n)),
                    Some(Wait::Unmarked) => {
                        tick(Tick::Mark);
                        tick(Tick::Wait(0));
                    }
                },
            }
        }
    }
    let pruned = prune(cfg, &ticks);
    for (block, index) in pruned.waits {
        waits.insert(places[block][index], Wait::Nothing);
    }
    // The mark of a need is not one of the client's, and its wait counts it.
    let dead_marks = pruned
        .marks
        .into_iter()
        .map(|(block, index)| places[block][index])
        .collect();
    Marks { waits, dead_marks }
}
