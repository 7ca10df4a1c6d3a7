//! The operations of a step of a wave: the only interface through which front ends access memory
//! and barriers.

use crate::barrier::{Barriers, Name, Phase, TooMany};
use crate::bulk_copy::BulkCopy;
use crate::cache::{self, Caches, Levels, WrittenBack};
use crate::clock::{Clock, Order, Scope, Time, WaveClock};
use crate::coverage::Coverage;
use crate::finding::{FindingKind, Findings, Site};
use crate::journal::{Event, Journal};
use crate::lane::Lane;
use crate::memory::{Global, Shared, Space, View};
use crate::race::{Sharing, Stamp};
use crate::schedule::Completion;
use crate::trace::{Touch, Trace};
use crate::uses::{Label, NONE, Uses};
use fastrand::Rng;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// The shared state of the waves of a workgroup.
#[derive(Debug)]
pub struct Group {
    /// Linear index of the workgroup in the launch.
    pub index: u32,
    /// Its place in x, y and z.
    pub id: [u32; 3],
    /// The number of its cluster, in the order in which they run.
    pub cluster: u32,
    /// The number of its first agent among those of its cluster.
    pub first_agent: u16,
    /// The number of waves at its start.
    pub waves: u16,
    /// Its shared memory.
    pub shared: Shared,
    /// Its barrier objects.
    pub barriers: Barriers,
    /// The knowledge of each of its agents about the others of the cluster:
    /// [`Program::agents`](crate::Program::agents) for each wave.
    pub clocks: Vec<WaveClock>,
    /// Bulk copies on their way.
    pub(crate) bulk: Vec<BulkCopy>,
    /// What became of their caches.
    pub(crate) caches: Caches,
    /// What atomic writes published, per location.
    pub(crate) published: BTreeMap<(Space, u64), Clock>,
    /// Meetings so far ([`Context::meet`]).
    pub(crate) meetings: u32,
    /// Grows whenever a barrier object changes: blocked waves try again.
    pub(crate) events: u64,
}

/// The instruction and lane of an access.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The program's number for the instruction.
    pub pc: u32,
    /// The lane.
    pub lane: Lane,
}

/// The relation of a memory access to those of other waves.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Atomic or not.
    pub sharing: Sharing,
    /// The ordering of an atomic access.
    pub order: Order,
    /// For whom.
    pub scope: Scope,
    /// The caches that may serve a load of global memory, or keep a store.
    pub caches: Levels,
}

impl Access {
    /// Not atomic.
    pub const PLAIN: Access = Access {
        sharing: Sharing::Plain,
        order: Order::Relaxed,
        scope: Scope::Workgroup,
        caches: 0,
    };
    /// Perhaps atomic: [`Sharing::Unknown`]. When it reads what an atomic wrote, it acquires.
    pub const UNKNOWN: Access = Access {
        sharing: Sharing::Unknown,
        order: Order::Acquire,
        scope: Scope::Device,
        caches: 0,
    };

    /// Atomic.
    pub const fn atomic(order: Order, scope: Scope) -> Access {
        Access {
            sharing: Sharing::Atomic,
            order,
            scope,
            caches: 0,
        }
    }

    /// The same access through caches.
    pub const fn through(self, caches: Levels) -> Access {
        Access { caches, ..self }
    }
}

/// The state that a step of one wave can access.
pub struct Context<'m> {
    /// The wave's workgroup.
    pub group: &'m mut Group,
    /// Global memory.
    pub global: &'m mut Global,
    /// The receiver of findings.
    pub findings: &'m mut Findings,
    /// The executed instructions.
    pub coverage: &'m mut Coverage,
    /// What was done in which order.
    pub(crate) journal: &'m mut Journal,
    /// Chance.
    pub rng: &'m mut Rng,
    /// When outstanding operations take effect.
    pub completion: Completion,
    /// The value of a clock ([`crate::Clocks`]): it grows with every step of any wave, or of this
    /// one.
    pub time: u64,
    /// Index of the wave in its workgroup.
    pub wave: u16,
    /// Whose clock the next access and synchronisation is about: index in [`Group::clocks`]. The
    /// wave, or its first lane, unless the program sets it.
    pub agent: u16,
    /// The time of the agent's first access that is not known to be done for other clusters: what
    /// it did from then on is not told to them.
    pub(crate) unproved: Option<Time>,
    /// What atomics for the whole device published.
    pub(crate) published_to_device: &'m mut HashMap<u64, PublishedToDevice>,
    /// Stores that other workgroups can see.
    pub(crate) written: &'m mut WrittenBack,
    /// What this step does.
    pub(crate) trace: &'m mut Trace,
    /// Which loaded bytes something depends on.
    pub(crate) uses: &'m mut Uses,
    /// False if accesses are not checked: only what they do and touch is of interest.
    pub(crate) checks: bool,
}

/// What atomics for the whole device published at a location.
#[derive(Clone, Debug, Default)]
pub(crate) struct PublishedToDevice {
    /// What any workgroup may learn.
    all: Clock,
    /// What the workgroups of the cluster may learn that wrote last, and which cluster that is.
    cluster: u32,
    near: Clock,
}

impl Context<'_> {
    /// The number of this agent among those of its cluster, as clocks count.
    fn me(&self) -> u16 {
        self.group.first_agent.saturating_add(self.agent)
    }

    /// The wave executes instruction `pc`.
    pub(crate) fn execute(&mut self, pc: u32) {
        self.coverage.execute(pc);
        self.trace.execute(pc);
    }

    /// A site of this wave.
    pub fn site(&self, pc: u32, lane: Option<Lane>) -> Site {
        Site {
            pc,
            group: self.group.index,
            wave: self.wave,
            lane,
        }
    }

    /// Records a problem of this wave.
    pub fn report(
        &mut self,
        kind: FindingKind,
        pc: u32,
        lane: Option<Lane>,
        message: impl FnOnce() -> String,
    ) {
        let site = self.site(pc, lane);
        self.findings.report(kind, site, None, message);
    }

    /// Reads bytes that are used. What cannot be read is reported and gives zeros; then the answer
    /// is `false`.
    pub fn read(
        &mut self,
        space: Space,
        address: u64,
        into: &mut [u8],
        at: At,
        access: Access,
    ) -> bool {
        if self.uses.follows() {
            self.spend_memory(space, address, into.len());
        }
        self.read_counted(space, address, into, at, access, Counted::All)
    }

    /// Reads bytes that may be used later, and gives their labels. Otherwise as [`Context::read`].
    pub(crate) fn load(
        &mut self,
        space: Space,
        address: u64,
        into: &mut [u8],
        at: At,
        access: Access,
        labels: &mut [Label],
    ) -> bool {
        if access.sharing == Sharing::Atomic {
            return self.read(space, address, into, at, access);
        }
        let first = self.uses.load(at.pc, into.len());
        if self.uses.follows() {
            for (byte, label) in (0u32..).zip(labels.iter_mut().take(into.len())) {
                let own = if first == NONE { NONE } else { first + byte };
                let address = address.wrapping_add(byte.into());
                let of_memory = self.uses.get(space, self.group.index, address);
                *label = self.uses.join(own, of_memory);
            }
        }
        let counted = Counted::Loaded(self.uses.counts(first, into.len()));
        self.read_counted(space, address, into, at, access, counted)
    }

    fn read_counted(
        &mut self,
        space: Space,
        address: u64,
        into: &mut [u8],
        at: At,
        access: Access,
        counted: Counted<'_>,
    ) -> bool {
        if access.sharing != Sharing::Plain && self.checks {
            self.learn_from(space, address, access);
        }
        self.touch(space, address, into.len(), at, counted, access, |view| {
            into.copy_from_slice(view.bytes)
        })
        .unwrap_or_else(|| {
            into.fill(0);
            false
        })
    }

    /// What bytes of memory depend on is used.
    fn spend_memory(&mut self, space: Space, address: u64, bytes: usize) {
        for byte in 0..bytes as u64 {
            let label = self
                .uses
                .get(space, self.group.index, address.wrapping_add(byte));
            self.uses.spend(label);
        }
    }

    /// Writes bytes. What cannot be written is reported and not written; then the answer is
    /// `false`.
    pub fn write(
        &mut self,
        space: Space,
        address: u64,
        from: &[u8],
        at: At,
        access: Access,
    ) -> bool {
        self.store(space, address, from, at, access, &[])
    }

    /// Writes bytes with their labels. Otherwise as [`Context::write`].
    pub(crate) fn store(
        &mut self,
        space: Space,
        address: u64,
        from: &[u8],
        at: At,
        access: Access,
        labels: &[Label],
    ) -> bool {
        if access.sharing == Sharing::Atomic && self.checks {
            self.publish_at(space, address, access, false);
        }
        let counted = Counted::Written(Some(from));
        let written = self.touch(space, address, from.len(), at, counted, access, |view| {
            view.bytes.copy_from_slice(from)
        });
        if self.uses.follows() && written.is_some() {
            let group = self.group.index;
            (self.uses).put(space, group, address, from.len(), labels);
        }
        if written.is_some() {
            self.unfence(space, address, from.len());
        }
        written.unwrap_or(false)
    }

    /// A thread has written these bytes, which the unit for bulk copies sees behind a fence.
    fn unfence(&mut self, space: Space, address: u64, bytes: usize) {
        match space {
            _ if !self.checks => {}
            Space::Global => self.global.unfence(address, bytes),
            Space::Shared => self.group.shared.unfence(address as usize, bytes),
        }
    }

    /// Reads `size` bytes (1, 2, 4 or 8), and writes what `update` makes of them, as one atomic
    /// access; `None` writes nothing. Gives the old value; 0 when the access is not possible, which
    /// is reported.
    pub fn update(
        &mut self,
        space: Space,
        address: u64,
        size: usize,
        at: At,
        access: Access,
        update: impl FnOnce(u64) -> Option<u64>,
    ) -> u64 {
        let size = size.min(8);
        if size > 1 && !address.is_multiple_of(size as u64) {
            self.report(FindingKind::Misaligned, at.pc, Some(at.lane), || {
                format!(
                    "an atomic of {size} bytes at {address:#x} of {}",
                    space.name()
                )
            });
        }
        if self.checks {
            self.learn_from(space, address, access);
        }
        if self.uses.follows() {
            self.spend_memory(space, address, size);
            (self.uses).put(space, self.group.index, address, size, &[]);
        }
        let mut old = 0;
        let mut written = false;
        let atomic = Access {
            sharing: Sharing::Atomic,
            ..access
        };
        let counted = Counted::Written(None);
        self.touch(space, address, size, at, counted, atomic, |view| {
            let mut bytes = [0u8; 8];
            if let Some(low) = bytes.get_mut(..size) {
                low.copy_from_slice(view.bytes);
            }
            old = u64::from_le_bytes(bytes);
            if let Some(new) = update(old)
                && let Some(low) = new.to_le_bytes().get(..size)
            {
                view.bytes.copy_from_slice(low);
                written = true;
            }
        });
        if written {
            self.unfence(space, address, size);
            if self.checks {
                self.publish_at(space, address, access, true);
            }
        }
        old
    }

    /// The fence `pc` of this wave.
    pub fn fence(&mut self, order: Order, scope: Scope, pc: u32) {
        let agent = self.me();
        if let Some(clock) = self.clock()
            && clock.fence(agent, order, scope, pc)
        {
            self.coverage.matter(pc);
        }
    }

    /// Instruction `pc` of this wave invalidates caches.
    pub fn invalidate(&mut self, levels: Levels, pc: u32) {
        if let Some(clock) = self.group.clocks.get(usize::from(self.agent)) {
            let caches = &mut self.group.caches;
            caches.invalidate(self.agent, levels, &clock.now, pc);
        }
    }

    /// Instruction `pc` of this wave writes back what was stored.
    pub fn write_back(&mut self, pc: u32) {
        let agent = self.me();
        if let Some(clock) = self.group.clocks.get_mut(usize::from(self.agent)) {
            self.written.write_back(self.group.cluster, &clock.now);
            // What is stored from now on is not part of it.
            clock.now.tick(agent);
            self.coverage.matter(pc);
        }
    }

    /// What an atomic write or an arrival of this wave publishes.
    fn publish(&mut self, order: Order) -> Option<Clock> {
        let agent = self.me();
        let clock = self.group.clocks.get_mut(usize::from(self.agent))?;
        if let (_, Some(fence)) = clock.tell(order, Scope::Workgroup) {
            self.coverage.matter(fence);
        }
        Some(clock.publish(agent, order))
    }

    /// `count` arrivals of this wave at a barrier object; gives the phase to wait for.
    ///
    /// # Errors
    /// `None` when there is no such object, [`TooMany`] when it expects fewer arrivals.
    pub fn arrive(
        &mut self,
        name: Name,
        count: u32,
        order: Order,
    ) -> Option<Result<Phase, TooMany>> {
        let clock = self.publish(order)?;
        let phase = self.group.barriers.get_mut(name)?.arrive(count, &clock);
        self.group.events += 1;
        self.trace.arrive(name);
        if let Ok(phase) = phase
            && order.releases()
        {
            self.record(Event::Arrive(name, phase));
        }
        Some(phase)
    }

    /// Returns true if a phase of a barrier object is complete; if so, this wave learns what those
    /// knew that arrived.
    pub fn pass(&mut self, name: Name, phase: Phase, order: Order) -> bool {
        let Some(barrier) = self.group.barriers.get(name).filter(|b| b.passed(phase)) else {
            return false;
        };
        if let Some(clock) = self.group.clocks.get_mut(usize::from(self.agent)) {
            clock.learn(barrier.clock(), order, Scope::Workgroup);
        }
        self.trace.pass(name);
        if order.acquires() {
            self.record(Event::Pass(name, phase));
        }
        true
    }

    /// Says that a barrier object changed in another way than by [`Context::arrive`]: blocked waves
    /// try again.
    pub fn changed(&mut self) {
        self.group.events += 1;
    }

    /// Agents of one wave meet: each learns what the others know.
    pub fn meet(&mut self, agents: &[u16]) {
        if !self.checks {
            return;
        }
        let name = Name::Wave(self.wave, self.group.meetings);
        self.group.meetings = self.group.meetings.wrapping_add(1);
        let mut all = Clock::default();
        for &agent in agents {
            self.agent = agent;
            let me = self.me();
            if let Some(clock) = self.clock() {
                all.join(&clock.publish(me, Order::Release));
            }
            self.record(Event::Arrive(name, 0));
        }
        for &agent in agents {
            if let Some(clock) = self.group.clocks.get_mut(usize::from(agent)) {
                clock.learn(&all, Order::Acquire, Scope::Workgroup);
            }
            self.agent = agent;
            self.record(Event::Pass(name, 0));
        }
    }

    /// What an atomic write of this wave for the whole device tells other clusters, if anything.
    fn told_to_other_clusters(&mut self, order: Order) -> Option<Clock> {
        let me = self.me();
        let clock = self.group.clocks.get(usize::from(self.agent))?;
        let (told, fence) = clock.tell(order, Scope::Device);
        if told.of(me) == 0 {
            return None;
        }
        if let Some(fence) = fence {
            self.coverage.matter(fence);
        }
        let mut told = told.clone();
        if let Some(unproved) = self.unproved {
            told.forget_from(me, unproved);
        }
        Some(told.outside(self.group.cluster))
    }

    /// Begins a new time of this agent, which is the answer.
    pub(crate) fn begin_time(&mut self) -> Time {
        let me = self.me();
        self.clock().map_or(0, |clock| {
            clock.now.tick(me);
            clock.now.of(me)
        })
    }

    fn record(&mut self, event: Event) {
        self.journal.record(self.group.index, self.agent, event);
    }

    fn clock(&mut self) -> Option<&mut WaveClock> {
        self.group.clocks.get_mut(usize::from(self.agent))
    }

    fn learn_from(&mut self, space: Space, address: u64, access: Access) {
        let Some(clock) = self.group.clocks.get_mut(usize::from(self.agent)) else {
            debug_assert!(false, "agent {} has no clock", self.agent);
            return;
        };
        if let Some(published) = self.group.published.get(&(space, address)) {
            clock.learn(published, access.order, Scope::Workgroup);
        }
        if space == Space::Global
            && access.scope == Scope::Device
            && let Some(published) = self.published_to_device.get(&address)
        {
            clock.learn(&published.all, access.order, Scope::Device);
            if published.cluster == self.group.cluster {
                clock.learn(&published.near, access.order, Scope::Workgroup);
            }
        }
    }

    /// Publishes what this wave knows at a location; a read-modify-write (`adds`) keeps what was
    /// published there before.
    fn publish_at(&mut self, space: Space, address: u64, access: Access, adds: bool) {
        let (agent, cluster) = (self.me(), self.group.cluster);
        let wide = space == Space::Global && access.scope == Scope::Device;
        let told = if wide {
            self.told_to_other_clusters(access.order)
        } else {
            None
        };
        let Some(published) = self.publish(access.order) else {
            return; // the order does not release
        };
        if wide && !adds {
            self.published_to_device.remove(&address);
        }
        if wide && published.of(agent) > 0 {
            let location = self.published_to_device.entry(address).or_default();
            if let Some(told) = told {
                location.all.join(&told);
            }
            if location.cluster != cluster {
                location.near = Clock::default();
                location.cluster = cluster;
            }
            location.near.join(&published);
        }
        let at = self.group.published.entry((space, address)).or_default();
        if adds {
            at.join(&published);
        } else {
            *at = published;
        }
    }

    /// Tells an access to journal and trace.
    fn announce(
        &mut self,
        space: Space,
        address: u64,
        bytes: usize,
        at: At,
        counted: Counted<'_>,
        access: Access,
    ) {
        let write = matches!(counted, Counted::Written(_));
        for part in counted.parts(bytes) {
            self.record(Event::Access {
                space,
                address: address.wrapping_add(part.start as u64),
                bytes: part.len() as u32,
                write,
                sharing: access.sharing,
            });
        }
        let is_kept = self.trace.kept.is_some();
        if is_kept && (space == Space::Shared || self.global.is_writable(address, bytes)) {
            self.trace.keep(at.pc, space, write);
        }
        self.trace.touch(Touch {
            pc: at.pc,
            space,
            address,
            bytes: bytes as u32,
            write,
            atomic: access.sharing == Sharing::Atomic,
        });
    }

    /// Reports an access to shared memory that an outstanding copy will write.
    fn check_pending(
        &mut self,
        address: u64,
        bytes: usize,
        site: Site,
        counted: Counted<'_>,
        verb: &str,
    ) {
        let pending = |shared: &Shared, part: &Range<usize>| {
            let first = usize::try_from(address).ok()?.checked_add(part.start)?;
            shared.pending(first, part.len())
        };
        let mut parts = counted.parts(bytes);
        if let Some(pending) = parts.find_map(|part| pending(&self.group.shared, &part)) {
            let other = Site {
                pc: pending.pc,
                group: site.group,
                wave: pending.wave,
                lane: None,
            };
            counted.suspect(self.uses, site.pc);
            self.findings.report(FindingKind::MissingWait, site, Some(other), || {
                format!("{verb} of {bytes} bytes of shared memory at {address:#x}, which an outstanding copy will write")
            });
        }
    }

    /// Checks an access and lets `act` do it. `None` if it cannot be done.
    #[allow(clippy::too_many_arguments)] // one access in one place
    fn touch(
        &mut self,
        space: Space,
        address: u64,
        bytes: usize,
        at: At,
        counted: Counted<'_>,
        access: Access,
        act: impl FnOnce(View<'_>),
    ) -> Option<bool> {
        let write = matches!(counted, Counted::Written(_));
        self.announce(space, address, bytes, at, counted, access);
        if !self.checks {
            let view = match space {
                Space::Global => self.global.view(address, bytes),
                Space::Shared => self.group.shared.view(address, bytes),
            };
            let view = view.filter(|view| view.writable || !write)?;
            act(view);
            return Some(true);
        }
        let site = self.site(at.pc, Some(at.lane));
        let (me, cluster) = (self.me(), self.group.cluster);
        let verb = if write { "write" } else { "read" };
        if space == Space::Shared {
            self.check_pending(address, bytes, site, counted, verb);
        }
        // From here on it is one function: the view borrows the memory, while all else of the
        // context is asked.
        let clock = self.group.clocks.get(usize::from(self.agent))?;
        let view = match space {
            Space::Global => self.global.view(address, bytes),
            Space::Shared => self.group.shared.view(address, bytes),
        };
        let Some(mut view) = view else {
            let (global, shared) = (&*self.global, self.group.shared.len());
            self.findings
                .report(FindingKind::OutOfBounds, site, None, || {
                    outside(space, address, bytes, verb, global, shared)
                });
            return None;
        };
        if write && !view.writable {
            self.findings
                .report(FindingKind::WriteToReadOnly, site, None, || {
                    format!("{bytes} bytes of `{}` at {:#x}", view.region, view.offset)
                });
            return None;
        }
        let stamp = Stamp {
            site,
            cluster,
            agent: me,
            time: clock.now.of(me),
            sharing: access.sharing,
            write,
        };
        for part in counted.parts(bytes) {
            let (offset, bytes) = (view.offset + part.start, part.len());
            if access.caches != 0 && space == Space::Global && !write {
                let writes = view.shadow.writes_by_others(offset, bytes, stamp);
                for write in writes {
                    let reader = cache::Reader {
                        group: site.group,
                        cluster,
                        agent: self.agent,
                        now: &clock.now,
                    };
                    let seen = (self.group.caches).see(reader, access.caches, &write);
                    let kept = access.caches & cache::DIRTY != 0
                        && write.site.group != site.group
                        && write.sharing == Sharing::Plain
                        && !self.written.has(&write);
                    let kind = match &seen {
                        None => FindingKind::StaleRead,
                        Some(_) if kept => FindingKind::NotWrittenBack,
                        Some(_) => {
                            for pc in seen.into_iter().flatten() {
                                self.coverage.matter(pc);
                            }
                            continue;
                        }
                    };
                    counted.suspect(self.uses, at.pc);
                    let other = Some(write.site);
                    self.findings.report(kind, site, other, || {
                        format!(
                            "{bytes} bytes of `{}` at {offset:#x}, which wave {} of workgroup {} wrote",
                            view.region, write.site.wave, write.site.group
                        )
                    });
                }
            }
            let changes_nothing = match counted {
                Counted::Written(Some(from)) => {
                    from.get(part.clone()) == view.bytes.get(part.clone())
                }
                Counted::Written(None) | Counted::All | Counted::Loaded(_) => false,
            };
            if view.writable
                && let Some(race) = view.shadow.access(offset, bytes, stamp, &clock.now)
            {
                let earlier = race.earlier;
                counted.suspect(self.uses, at.pc);
                if !earlier.write {
                    self.uses.suspect(earlier.site.pc);
                }
                let both_plain =
                    earlier.sharing != Sharing::Atomic && stamp.sharing != Sharing::Atomic;
                let kind = match space {
                    _ if changes_nothing && both_plain && !race.with_read => {
                        FindingKind::EqualWrites
                    }
                    Space::Global => FindingKind::GlobalRace,
                    Space::Shared => FindingKind::SharedRace,
                };
                self.findings.report(kind, site, Some(earlier.site), || {
                    let who = who(earlier.site, site);
                    let what = if earlier.write { "wrote" } else { "read" };
                    format!(
                        "{verb} of {bytes} bytes of `{}` at {offset:#x}, which {who} {what} before",
                        view.region
                    )
                });
            }
            if let Some(written) = &mut view.written
                && let Some(written) = written.get_mut(part)
            {
                if !write && written.iter().any(|w| !w) {
                    counted.suspect(self.uses, at.pc);
                    self.findings
                        .report(FindingKind::UninitialisedShared, site, None, || {
                            format!("{bytes} bytes of shared memory at {offset:#x}")
                        });
                }
                written.fill(true);
            }
        }
        act(view);
        Some(true)
    }
}

/// Words for the one that was at a place before, as told to the one at `site`.
fn who(before: Site, site: Site) -> String {
    match (before.group == site.group, before.wave == site.wave) {
        (true, true) => "another lane of the wave".to_owned(),
        (true, false) => format!("wave {}", before.wave),
        (false, _) => format!("wave {} of workgroup {}", before.wave, before.group),
    }
}

/// Which bytes of an access count.
#[derive(Copy, Clone, Debug)]
enum Counted<'b> {
    /// All, of a write; these bytes, if it does not depend on what was there.
    Written(Option<&'b [u8]>),
    /// All, of a read whose value is used.
    All,
    /// These, a bit each, of a load whose value may be used later.
    Loaded(u64),
}

impl Counted<'_> {
    /// The ranges of bytes that count, of so many.
    fn parts(self, bytes: usize) -> impl Iterator<Item = Range<usize>> {
        let mask = match self {
            Counted::Written(_) | Counted::All | Counted::Loaded(u64::MAX) => None,
            Counted::Loaded(mask) => Some(mask),
        };
        let mut at = 0;
        std::iter::from_fn(move || {
            let counts = |byte: usize| mask.is_none_or(|mask| byte > 63 || mask >> byte & 1 == 1);
            let start = match mask {
                None => at,
                Some(_) => (at..bytes).find(|byte| counts(*byte))?,
            };
            let end = match mask {
                None => bytes,
                Some(_) => (start..bytes).find(|byte| !counts(*byte)).unwrap_or(bytes),
            };
            at = end;
            (start < end).then_some(start..end)
        })
    }

    /// Notes a load with a finding: perhaps nothing depends on it.
    fn suspect(self, uses: &mut Uses, pc: u32) {
        if let Counted::Loaded(_) = self {
            uses.suspect(pc);
        }
    }
}

fn outside(
    space: Space,
    address: u64,
    bytes: usize,
    verb: &str,
    global: &Global,
    shared: usize,
) -> String {
    match space {
        Space::Shared => {
            format!("{verb} of {bytes} bytes at {address:#x} of {shared} bytes of shared memory")
        }
        Space::Global => match global.nearest(address) {
            Some(region) => format!(
                "{verb} of {bytes} bytes at {address:#x}: `{}` begins at {:#x} and has {} bytes",
                region.name(),
                region.base(),
                region.bytes().len()
            ),
            None => format!("{verb} of {bytes} bytes at {address:#x}, outside of all buffers"),
        },
    }
}
