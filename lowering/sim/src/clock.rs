//! Vector clocks: what each wave knows of the others. An access of wave `w` at time `t` happens
//! before everything that a wave does whose clock has `t` or more for `w`.

use crate::foreign::Foreign;
use crate::times::{covers, join};

pub use crate::times::Time;

/// The knowledge about the waves of one cluster of workgroups (of one workgroup, if there are no
/// clusters), and about those of other clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    waves: Vec<Time>,
    foreign: Foreign,
}

impl Clock {
    /// A clock that knows nothing of `waves` waves.
    pub fn new(waves: usize) -> Clock {
        Clock {
            waves: vec![0; waves],
            foreign: Foreign::default(),
        }
    }

    /// The time up to which `wave` is known; 0 for a wave of which nothing is known.
    pub fn of(&self, wave: u16) -> Time {
        self.waves.get(usize::from(wave)).copied().unwrap_or(0)
    }

    /// The time up to which each wave is known.
    pub fn times(&self) -> impl Iterator<Item = (u16, Time)> {
        (0..).zip(self.waves.iter().copied())
    }

    /// Returns true if all that `other` knows is known.
    pub fn covers(&self, other: &Clock) -> bool {
        covers(&self.waves, &other.waves, |mine, its| mine >= its)
            && self.foreign.covers(&other.foreign)
    }

    /// Learns all that `other` knows.
    pub fn join(&mut self, other: &Clock) {
        join(&mut self.waves, &other.waves, |mine, its| {
            *mine = (*mine).max(its)
        });
        self.foreign.join(&other.foreign);
    }

    /// Begins a new time of `wave`: what it does from now on is not known to those who learnt its
    /// clock before.
    pub fn tick(&mut self, wave: u16) {
        if let Some(time) = self.waves.get_mut(usize::from(wave)) {
            *time = time.saturating_add(1);
        }
    }

    /// Knows nothing of what `wave` did at `time` and later.
    pub fn forget_from(&mut self, wave: u16, time: Time) {
        if let Some(known) = self.waves.get_mut(usize::from(wave)) {
            *known = (*known).min(time.saturating_sub(1));
        }
    }

    /// The time up to which a wave of another cluster is known.
    pub fn of_cluster(&self, cluster: u32, wave: u16) -> Time {
        self.foreign.of(cluster, wave)
    }

    /// The knowledge about this cluster, `cluster`, that others may gain: the times of its waves,
    /// and their knowledge of others.
    pub fn outside(&self, cluster: u32) -> Clock {
        let mut foreign = self.foreign.clone();
        foreign.learn(cluster, &self.waves);
        Clock {
            waves: Vec::new(),
            foreign,
        }
    }
}

/// The agents in the scope of an atomic access or a fence.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The waves of the workgroup, and those of its cluster.
    Workgroup,
    /// All workgroups.
    Device,
}

/// What relaxed atomics and fences of one wave do for one another, within one scope.
#[derive(Clone, Debug, Default)]
struct Fenced {
    /// What a relaxed atomic write publishes: what was known at the last release fence.
    told: Clock,
    /// That fence, as the program numbers it.
    by: Option<u32>,
    /// What relaxed atomic reads brought, until an acquire fence takes it.
    seen: Clock,
}

/// The clocks of one wave: what it knows, and what its fences set aside for relaxed atomics.
#[derive(Clone, Debug)]
pub struct WaveClock {
    /// The events that happen before the wave's next access.
    pub now: Clock,
    near: Fenced,
    device: Fenced,
}

impl WaveClock {
    /// The clocks of `wave` of `waves` at the start of a workgroup.
    pub fn start(wave: u16, waves: usize) -> WaveClock {
        let mut now = Clock::new(waves);
        now.tick(wave);
        WaveClock {
            now,
            near: Fenced::default(),
            device: Fenced::default(),
        }
    }

    /// The fence `pc` of `wave`. Gives whether it acquired what was not known. Whether its release
    /// matters shows later: when a relaxed access publishes what it set aside.
    pub fn fence(&mut self, wave: u16, order: Order, scope: Scope, pc: u32) -> bool {
        let wide = (scope == Scope::Device).then_some(&mut self.device);
        let mut learnt = false;
        for fenced in std::iter::once(&mut self.near).chain(wide) {
            if order.acquires() {
                learnt |= !self.now.covers(&fenced.seen);
                self.now.join(&fenced.seen);
            }
            if order.releases() {
                fenced.told.clone_from(&self.now);
                fenced.by = Some(pc);
            }
        }
        if order.releases() {
            self.now.tick(wave);
        }
        learnt
    }

    /// The knowledge that an atomic write or an arrival of this memory order releases to a scope,
    /// and the fence that makes it a release.
    pub fn tell(&self, order: Order, scope: Scope) -> (&Clock, Option<u32>) {
        let fenced = self.fenced(scope);
        if order.releases() {
            (&self.now, None)
        } else {
            (&fenced.told, fenced.by)
        }
    }

    /// The knowledge that an atomic write or an arrival of this memory order publishes in the
    /// cluster. Later events are not part of it.
    pub fn publish(&mut self, wave: u16, order: Order) -> Clock {
        let published = self.tell(order, Scope::Workgroup).0.clone();
        if order.releases() {
            self.now.tick(wave);
        }
        published
    }

    /// Adds the knowledge that an atomic read or a completed wait of this memory order acquires
    /// from a release to `scope`.
    pub fn learn(&mut self, clock: &Clock, order: Order, scope: Scope) {
        if order.acquires() {
            self.now.join(clock);
        } else {
            match scope {
                Scope::Workgroup => self.near.seen.join(clock),
                Scope::Device => self.device.seen.join(clock),
            }
        }
    }

    fn fenced(&self, scope: Scope) -> &Fenced {
        match scope {
            Scope::Workgroup => &self.near,
            Scope::Device => &self.device,
        }
    }
}

/// Memory order of a fence, an atomic access or a barrier operation.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Orders nothing by itself.
    Relaxed,
    /// What follows comes after.
    Acquire,
    /// What precedes comes before.
    Release,
    /// Both.
    AcquireRelease,
}

impl Order {
    /// Returns true if it acquires.
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcquireRelease)
    }

    /// Returns true if it releases.
    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcquireRelease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: Scope = Scope::Workgroup;

    #[test]
    fn what_follows_a_release_is_not_published() {
        let mut a = WaveClock::start(0, 2);
        let before = a.now.of(0);
        let published = a.publish(0, Order::Release);
        let after = a.now.of(0);
        let mut b = WaveClock::start(1, 2);
        b.learn(&published, Order::Acquire, NEAR);
        assert!(b.now.of(0) >= before);
        assert!(b.now.of(0) < after);
    }

    #[test]
    fn relaxed_atomics_need_fences_on_both_sides() {
        let mut a = WaveClock::start(0, 2);
        let wrote = a.now.of(0);
        assert!(
            a.clone().publish(0, Order::Relaxed).of(0) < wrote,
            "no fence, nothing published"
        );
        a.fence(0, Order::Release, NEAR, 7);
        let published = a.publish(0, Order::Relaxed);
        let mut b = WaveClock::start(1, 2);
        b.learn(&published, Order::Relaxed, NEAR);
        assert!(b.now.of(0) < wrote, "not before the fence");
        assert!(
            b.fence(1, Order::Acquire, NEAR, 8),
            "it brings what was published"
        );
        assert!(b.now.of(0) >= wrote);
        assert!(!b.fence(1, Order::Acquire, NEAR, 9), "nothing new");
    }

    #[test]
    fn other_clusters_are_known_up_to_what_they_published() {
        let mut other = WaveClock::start(1, 4);
        let published = other.publish(1, Order::Release).outside(70);
        let mut clock = Clock::new(1);
        assert_eq!(clock.of_cluster(70, 1), 0);
        clock.join(&published);
        assert_eq!((clock.of_cluster(70, 1), clock.of_cluster(6, 1)), (1, 0));
        assert_eq!(other.now.of(1), 2, "what follows is not known");
        assert!(clock.covers(&published));
        clock.join(&other.publish(1, Order::Release).outside(70));
        assert!(!published.covers(&clock) && clock.of_cluster(70, 1) == 2);
    }

    #[test]
    fn fences_of_a_workgroup_publish_nothing_to_other_clusters() {
        let mut a = WaveClock::start(0, 1);
        a.fence(0, Order::Release, NEAR, 3);
        let (told, by) = a.tell(Order::Relaxed, Scope::Device);
        assert_eq!((told.of(0), by), (0, None));
        a.fence(0, Order::Release, Scope::Device, 4);
        a.fence(0, Order::Release, NEAR, 5);
        let (told, by) = a.tell(Order::Relaxed, Scope::Device);
        assert_eq!((told.of(0), by), (2, Some(4)));
        let (told, by) = a.tell(Order::Relaxed, NEAR);
        assert_eq!((told.of(0), by), (3, Some(5)));
        let told = told.outside(0);
        let mut b = WaveClock::start(0, 1);
        b.learn(&told, Order::Relaxed, Scope::Device);
        assert!(!b.fence(0, Order::Acquire, NEAR, 6));
        assert!(b.fence(0, Order::Acquire, Scope::Device, 7));
        assert_eq!(b.now.of_cluster(0, 0), 3);
    }
}
