//! Caches that do not see what others write: which loads may still find what was there before, and which stores others cannot find yet.
//!
//! Nothing is cached here. A load through a cache *may* be answered with an old value if somebody wrote the byte since the agent last invalidated that cache,
//! though the write happened before the load: a line can have come there at any time. So what is kept is what each agent knew when it invalidated.

use crate::clock::{Clock, Time};
use crate::race::Stamp;
use std::collections::BTreeMap;

/// Caches between an agent and memory that others share, a bit each.
pub type Levels = u8;

/// A cache that other waves of the workgroup do not load through.
pub const OWN: Levels = 1;
/// The nearest cache: other workgroups do not load through it.
pub const NEAR: Levels = 2;
/// A cache behind it, which workgroups elsewhere do not load through.
pub const FAR: Levels = 4;
/// A cache that keeps what is stored until it is written back; other workgroups do not see it before.
pub const DIRTY: Levels = 8;

/// What the agents of a workgroup did about the caches that they load through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caches {
    views: BTreeMap<u16, [View; 3]>,
}

/// What an agent knew when it last invalidated a level, and which instruction that was.
#[derive(Clone, Debug, Default)]
struct View {
    fresh: Clock,
    by: Option<u32>,
}

const LEVELS: [Levels; 3] = [OWN, NEAR, FAR];

impl Caches {
    /// Instruction `pc` of `agent`, which knows `now`, invalidates `levels`.
    pub fn invalidate(&mut self, agent: u16, levels: Levels, now: &Clock, pc: u32) {
        let views = self.views.entry(agent).or_default();
        for (view, level) in views.iter_mut().zip(LEVELS) {
            if levels & level != 0 {
                view.fresh.clone_from(now);
                view.by = Some(pc);
            }
        }
    }

    /// Whether a load of `agent`, of workgroup `group` in cluster `team`, that `levels` may answer sees a write of another agent that happened before it: by which invalidations,
    /// or `None` if it can miss the write.
    pub fn see(
        &self,
        (group, team): (u32, u32),
        agent: u16,
        levels: Levels,
        write: &Stamp,
    ) -> Option<impl Iterator<Item = u32> + use<>> {
        let same_group = write.site.group == group;
        let relevant = levels & if same_group { OWN } else { NEAR | FAR };
        let views = self.views.get(&agent);
        let mut by = [None; 3];
        for (at, level) in LEVELS.iter().enumerate() {
            if relevant & level == 0 {
                continue;
            }
            let view = views?.get(at)?;
            let known = if write.team == team {
                view.fresh.of(write.agent) >= write.time
            } else {
                view.fresh.abroad(write.team, write.agent) >= write.time
            };
            if !known {
                return None;
            }
            *by.get_mut(at)? = view.by;
        }
        Some(by.into_iter().flatten())
    }
}

/// Up to which time the stores of each agent were written back, by anybody who knew of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    until: BTreeMap<(u32, u16), Time>,
}

impl Written {
    /// An agent of cluster `team` that knows `now` writes back.
    pub fn write_back(&mut self, team: u32, now: &Clock) {
        for (agent, time) in now.times() {
            let until = self.until.entry((team, agent)).or_default();
            *until = (*until).max(time);
        }
    }

    /// Whether a store was written back.
    pub fn has(&self, write: &Stamp) -> bool {
        self.until
            .get(&(write.team, write.agent))
            .is_some_and(|until| *until >= write.time)
    }
}
