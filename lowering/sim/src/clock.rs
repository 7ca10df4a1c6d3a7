//! Vector clocks: what each wave knows of the others. An access of wave `w` at time `t` happens before everything that a wave does whose clock has
//! `t` or more for `w`.

/// Time of one wave: it grows by one with every release, so that what a wave does after a release is not covered by it. 0 is before everything.
pub type Time = u32;

/// What is known of the waves of one cluster of workgroups (of one workgroup, where there are no clusters), and of other workgroups as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    waves: Vec<Time>,
    /// A bit for each workgroup of the launch of which everything is known.
    groups: Vec<u64>,
}

impl Clock {
    /// A clock that knows nothing of `waves` waves.
    pub fn new(waves: usize) -> Clock {
        Clock {
            waves: vec![0; waves],
            groups: Vec::new(),
        }
    }

    /// The time up to which `wave` is known.
    pub fn of(&self, wave: u16) -> Time {
        self.waves.get(usize::from(wave)).copied().unwrap_or(0)
    }

    /// The time up to which each wave is known.
    pub fn times(&self) -> impl Iterator<Item = (u16, Time)> {
        (0..).zip(self.waves.iter().copied())
    }

    /// Whether all that `other` knows is known.
    pub fn covers(&self, other: &Clock) -> bool {
        covers(&self.waves, &other.waves, |mine, its| mine >= its)
            && covers(&self.groups, &other.groups, |mine, its| its & !mine == 0)
    }

    /// Learns all that `other` knows.
    pub fn join(&mut self, other: &Clock) {
        join(&mut self.waves, &other.waves, |mine, its| {
            *mine = (*mine).max(its)
        });
        join(&mut self.groups, &other.groups, |mine, its| *mine |= its);
    }

    /// Begins a new time of `wave`: what it does from now on is not known to those who learnt its clock before.
    pub fn tick(&mut self, wave: u16) {
        if let Some(time) = self.waves.get_mut(usize::from(wave)) {
            *time = time.saturating_add(1);
        }
    }

    /// Whether all that workgroup `group` did is known.
    pub fn knows_group(&self, group: u32) -> bool {
        let (word, bit) = (group as usize / 64, group % 64);
        self.groups.get(word).is_some_and(|w| w >> bit & 1 == 1)
    }

    /// What another workgroup may learn of this one: `group` as a whole and the groups that it knows, not its waves.
    pub fn outside(&self, group: u32) -> Clock {
        let mut clock = Clock {
            waves: Vec::new(),
            groups: self.groups.clone(),
        };
        let (word, bit) = (group as usize / 64, group % 64);
        if clock.groups.len() <= word {
            clock.groups.resize(word + 1, 0);
        }
        if let Some(w) = clock.groups.get_mut(word) {
            *w |= 1 << bit;
        }
        clock
    }
}

fn join<T: Copy + Default>(mine: &mut Vec<T>, its: &[T], merge: impl Fn(&mut T, T)) {
    if mine.len() < its.len() {
        mine.resize(its.len(), T::default());
    }
    for (a, &b) in mine.iter_mut().zip(its) {
        merge(a, b);
    }
}

fn covers<T: Copy + Default>(mine: &[T], its: &[T], at_least: impl Fn(T, T) -> bool) -> bool {
    its.iter()
        .enumerate()
        .all(|(at, its)| at_least(mine.get(at).copied().unwrap_or_default(), *its))
}

/// The clocks of one wave: what it knows, and what its fences set aside for relaxed atomics.
#[derive(Clone, Debug)]
pub struct WaveClock {
    /// What happened before the wave's next access.
    pub now: Clock,
    /// What a relaxed atomic write publishes: what was known at the last release fence.
    pub fenced: Clock,
    /// The last release fence, as the program numbers it.
    pub fence: Option<u32>,
    /// What relaxed atomic reads brought, until an acquire fence takes it.
    pub seen: Clock,
}

impl WaveClock {
    /// The clocks of `wave` of `waves` at the start of a workgroup.
    pub fn start(wave: u16, waves: usize) -> WaveClock {
        let mut now = Clock::new(waves);
        now.tick(wave);
        WaveClock {
            now,
            fenced: Clock::new(waves),
            fence: None,
            seen: Clock::new(waves),
        }
    }

    /// The fence `pc` of `wave`. Gives whether it acquired what was not known. Whether its release matters shows later: when a relaxed access publishes
    /// what it set aside.
    pub fn fence(&mut self, wave: u16, order: Order, pc: u32) -> bool {
        let mut learnt = false;
        if order.acquires() {
            learnt = !self.now.covers(&self.seen);
            self.now.join(&self.seen);
        }
        if order.releases() {
            self.fenced.clone_from(&self.now);
            self.fence = Some(pc);
            self.now.tick(wave);
        }
        learnt
    }

    /// What an atomic write or an arrival of this order publishes.
    pub fn publish(&mut self, wave: u16, order: Order) -> Clock {
        if order.releases() {
            let published = self.now.clone();
            self.now.tick(wave);
            published
        } else {
            self.fenced.clone()
        }
    }

    /// What an atomic read or a completed wait of this order brings.
    pub fn learn(&mut self, clock: &Clock, order: Order) {
        if order.acquires() {
            self.now.join(clock);
        } else {
            self.seen.join(clock);
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
    /// Whether it acquires.
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcquireRelease)
    }

    /// Whether it releases.
    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcquireRelease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_release_is_not_published() {
        let mut a = WaveClock::start(0, 2);
        let before = a.now.of(0);
        let published = a.publish(0, Order::Release);
        let after = a.now.of(0);
        let mut b = WaveClock::start(1, 2);
        b.learn(&published, Order::Acquire);
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
        a.fence(0, Order::Release, 7);
        let published = a.publish(0, Order::Relaxed);
        let mut b = WaveClock::start(1, 2);
        b.learn(&published, Order::Relaxed);
        assert!(b.now.of(0) < wrote, "not before the fence");
        assert!(b.fence(1, Order::Acquire, 8), "it brings the news");
        assert!(b.now.of(0) >= wrote);
        assert!(!b.fence(1, Order::Acquire, 9), "nothing new");
    }

    #[test]
    fn other_workgroups_are_known_as_a_whole() {
        let mut clock = Clock::new(1);
        assert!(!clock.knows_group(70));
        clock.join(&Clock::new(4).outside(70));
        assert!(clock.knows_group(70) && !clock.knows_group(6));
    }
}
