//! Caches that do not see what others write: which loads may still find what was there before, and
//! which stores others cannot find yet.
//!
//! Nothing is cached here. A load through a cache *may* be answered with an old value if somebody
//! wrote the byte since the agent last invalidated that cache, though the write happened before the
//! load: a line can have come there at any time. So what is kept is what each agent knew when it
//! invalidated.

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
/// A cache that keeps what is stored until it is written back; other workgroups do not see it
/// before.
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

/// An agent that loads.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Reader<'n> {
    /// Its workgroup.
    pub(crate) group: u32,
    /// The cluster of the workgroup.
    pub(crate) cluster: u32,
    /// Its number in the workgroup.
    pub(crate) agent: u16,
    /// Its knowledge.
    pub(crate) now: &'n Clock,
}

const LEVELS: [Levels; 3] = [OWN, NEAR, FAR];

impl Caches {
    /// Instruction `pc` of `agent`, which knows `now`, invalidates `levels`.
    pub(crate) fn invalidate(&mut self, agent: u16, levels: Levels, now: &Clock, pc: u32) {
        let views = self.views.entry(agent).or_default();
        for (view, level) in views.iter_mut().zip(LEVELS) {
            if levels & level != 0 {
                view.fresh.clone_from(now);
                view.by = Some(pc);
            }
        }
    }

    /// Tells if a load of `reader`, which may be answered by `levels`, sees a write of another
    /// agent that happened before it: by which invalidations, or `None` if it can miss the write.
    ///
    /// The far cache is one for all waves of the workgroup, and so is the nearest one where no wave
    /// has one of its own. What one wave invalidates there is fresh for those who know of it.
    pub(crate) fn see(
        &self,
        reader: Reader<'_>,
        levels: Levels,
        write: &Stamp,
    ) -> Option<impl Iterator<Item = u32> + use<>> {
        let same_group = write.site.group == reader.group;
        let relevant = levels & if same_group { OWN } else { NEAR | FAR };
        let mut by = [None; 3];
        for (at, level) in LEVELS.iter().enumerate() {
            if relevant & level == 0 {
                continue;
            }
            let is_common = *level == FAR || (*level == NEAR && levels & OWN == 0);
            let mut views = self.views.iter().filter_map(|(other, views)| {
                let view = views.get(at)?;
                let counts = reader.agent == *other
                    || (is_common
                        && view.by.is_some()
                        && reader.now.of(*other) >= view.fresh.of(*other));
                counts.then_some(view)
            });
            let view = views.find(|view| {
                if write.cluster == reader.cluster {
                    view.fresh.of(write.agent) >= write.time
                } else {
                    view.fresh.of_cluster(write.cluster, write.agent) >= write.time
                }
            })?;
            *by.get_mut(at)? = view.by;
        }
        Some(by.into_iter().flatten())
    }
}

/// Up to which time the stores of each agent were written back, by anybody who knew of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct WrittenBack {
    until: BTreeMap<(u32, u16), Time>,
}

impl WrittenBack {
    /// An agent of cluster `cluster` that knows `now` writes back.
    pub(crate) fn write_back(&mut self, cluster: u32, now: &Clock) {
        for (agent, time) in now.times() {
            let until = self.until.entry((cluster, agent)).or_default();
            *until = (*until).max(time);
        }
    }

    /// Returns true if a store was written back.
    pub(crate) fn has(&self, write: &Stamp) -> bool {
        self.until
            .get(&(write.cluster, write.agent))
            .is_some_and(|until| *until >= write.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Order, Scope, WaveClock};
    use crate::finding::Site;
    use crate::race::Sharing;

    #[test]
    fn what_one_wave_invalidates_is_fresh_for_those_that_know_of_it() {
        // Waves 0 and 1 of group 1; wave 0 has learnt of a write of cluster 0, invalidates, and
        // tells wave 1.
        let (mut first, mut second) = (WaveClock::start(0, 2), WaveClock::start(1, 2));
        let write = Stamp {
            site: Site {
                pc: 0,
                group: 1,
                wave: 0,
                lane: None,
            },
            cluster: 1,
            agent: 0,
            time: first.now.of(0),
            sharing: Sharing::Plain,
            write: true,
        };
        let other_group = Stamp {
            site: Site {
                group: 0,
                ..write.site
            },
            ..write
        };
        let mut caches = Caches::default();
        let sees = |caches: &Caches, clock: &WaveClock, levels, write| {
            let reader = Reader {
                group: 1,
                cluster: 1,
                agent: 1,
                now: &clock.now,
            };
            caches.see(reader, levels, write).is_some()
        };
        caches.invalidate(0, NEAR | FAR | OWN, &first.now, 9);
        assert!(!sees(&caches, &second, NEAR | FAR, &other_group));
        let published = first.publish(0, Order::Release);
        second.learn(&published, Order::Acquire, Scope::Workgroup);
        assert!(sees(&caches, &second, NEAR | FAR, &other_group));
        // A nearest cache of its own stays as it was, and so does one for other waves of the group.
        assert!(!sees(&caches, &second, OWN | NEAR | FAR, &other_group));
        assert!(!sees(&caches, &second, OWN | NEAR | FAR, &write));
        caches.invalidate(1, OWN | NEAR, &second.now, 10);
        assert!(sees(&caches, &second, OWN | NEAR | FAR, &other_group));
    }
}
