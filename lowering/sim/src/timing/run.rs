//! Events in time: which wave issues when.

mod tell;

use super::cost::{Cost, Timed, Unit};
use super::memory::Memory;
use super::progress::Progress;
use super::{Estimate, Setup, Spent};
use crate::barrier::{Name, Phase};
use crate::launch::Launch;
use crate::memory::Global;
use crate::observe::{Observed, Observer};
use crate::program::Step;
use crate::queue::Counters;
use crate::resident::Resident;
use crate::running::Run;
use crate::schedule::{Completion, Policy, Schedule};
use crate::trace::Touch;
use splitbar_target::timing::{Order, Pipe, Timing};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::rc::Rc;

/// Times of an instruction that was issued.
#[derive(Copy, Clone, Debug)]
struct Issued {
    /// When its wave can issue again.
    free: u64,
    /// Cycles until its result is there.
    latency: u64,
    /// When its stores are done.
    stored: u64,
}

/// Cycles after which a wait that suspends asks again, though nothing has happened: the PTX ISA
/// leaves the time to the machine.
const SUSPENDED: u64 = 1000;

/// Runs a launch and says how long it would take. Buffers are changed in place. The clock that the
/// kernel reads shows cycles, whatever the launch says. Workgroups of clusters are taken to be of
/// one unit. An observer changes nothing of the estimate.
pub fn estimate<'r, P: Timed>(
    program: &'r P,
    global: &'r mut Global,
    launch: &'r Launch,
    setup: Setup,
    observer: Option<&'r mut (dyn Observer + 'r)>,
    watch: &'r mut dyn FnMut(crate::report::Progress),
) -> Estimate {
    // Only when operations take effect is chosen by this schedule.
    let schedule = Schedule {
        policy: Policy::InOrder,
        completion: Completion::Early,
        seed: 1,
    };
    let bytes = global.bytes();
    let mut run = Run::new(program, global, launch, schedule, watch);
    run.trace.on = true;
    run.checks = setup.checks;
    run.observer = observer;
    let mut unit = Machine::new(program, setup.timing, bytes);
    if let Some((clusters, invocations)) = run.clusters() {
        let mut waiting = clusters;
        for slot in 0..setup.resident.max(1) as usize {
            unit.slots.push(None);
            match waiting.next() {
                Some((number, first)) => {
                    unit.begin(&mut run, slot, number, first, invocations, 0);
                }
                None => break,
            }
        }
        unit.go(&mut run, &mut waiting, invocations);
    }
    let places = unit.cycles * u64::from(setup.timing.schedulers);
    Estimate {
        cycles: unit.cycles,
        issued: unit.issued,
        utilisation: unit.slots_used as f64 / places.max(1) as f64,
        lines: unit.memory.lines,
        spent: unit.spent,
        progress: unit.progress,
        report: run.report(),
    }
}

/// A wave of a slot: when it goes on.
#[derive(Clone, Debug)]
struct Wave {
    /// The part of the unit that issues for it.
    scheduler: usize,
    /// Waves that began before it.
    age: u64,
    /// When the instruction before let it go on.
    free: u64,
    /// When registers have their values.
    ready: Vec<u64>,
    /// True for each register that waits for memory; empty unless a run is observed.
    from_memory: Vec<bool>,
    /// When operations in each counter are over, the oldest first.
    outstanding: [VecDeque<u64>; 8],
    /// When its stores to global memory are over.
    stored: u64,
    /// The barrier that it waits for.
    awaits: Option<Name>,
    /// The last instruction that it issued.
    last: Option<u32>,
    /// Events of older numbers are void.
    turn: u64,
}

/// A place for a workgroup, or a cluster of them.
struct Slot<W> {
    resident: Resident<W>,
    waves: Vec<Wave>,
    alive: usize,
    /// The last phase of each barrier that was seen.
    phases: BTreeMap<Name, Phase>,
    /// When the last completion of a phase is known to all waves.
    known: u64,
}

/// Something to look at: the time, the wave's place among those that can go on then, slot and wave,
/// and the turn that it is for.
type Event = Reverse<(u64, u64, usize, usize, u64)>;

/// The unit.
struct Machine<W> {
    timing: Timing,
    costs: Rc<[Cost]>,
    registers: usize,
    /// Passes that a vector instruction takes for the lanes of a wave.
    passes: u64,
    memory: Memory,
    slots: Vec<Option<Slot<W>>>,
    events: BinaryHeap<Event>,
    /// When each scheduler, and each of its units, is free.
    schedulers: Vec<u64>,
    pipes: Vec<[u64; PIPES]>,
    /// The age of the wave that each issued last.
    issued_last: Vec<u64>,
    /// Waves that have begun.
    begun: u64,
    /// When the port for barriers is free.
    barrier: u64,
    turn: u64,
    cycles: u64,
    issued: u64,
    slots_used: u64,
    spent: Vec<Spent>,
    progress: Progress,
}

/// Units of each scheduler.
const PIPES: usize = 6;

impl<W> Machine<W> {
    fn new<P: Timed<Wave = W>>(program: &P, timing: Timing, bytes: u64) -> Machine<W> {
        let costs: Rc<[Cost]> = program.costs().into();
        let schedulers = timing.schedulers.max(1) as usize;
        Machine {
            timing,
            registers: program.registers(),
            passes: u64::from(program.wave_size().div_ceil(timing.lanes.max(1))).max(1),
            memory: Memory::new(timing, bytes),
            slots: Vec::new(),
            events: BinaryHeap::new(),
            schedulers: vec![0; schedulers],
            pipes: vec![[0; PIPES]; schedulers],
            issued_last: vec![u64::MAX; schedulers],
            begun: 0,
            barrier: 0,
            turn: 0,
            cycles: 0,
            issued: 0,
            slots_used: 0,
            progress: Progress::default(),
            spent: vec![Spent::default(); costs.len()],
            costs,
        }
    }

    /// A workgroup begins in a slot.
    fn begin<P: Timed<Wave = W>>(
        &mut self,
        run: &mut Run<'_, P>,
        slot: usize,
        number: u32,
        first: [u32; 3],
        invocations: u32,
        now: u64,
    ) {
        let resident = Resident::begin(run, number, first, invocations);
        let count = resident.waves();
        let wave = |index: usize| Wave {
            scheduler: (slot * count + index) % self.schedulers.len(),
            age: self.begun + index as u64,
            free: now,
            ready: vec![0; self.registers],
            from_memory: vec![
                false;
                if run.observer.is_some() {
                    self.registers
                } else {
                    0
                }
            ],
            outstanding: Default::default(),
            stored: 0,
            awaits: None,
            last: None,
            turn: 0,
        };
        let begun = Slot {
            waves: (0..count).map(wave).collect(),
            alive: count,
            resident,
            phases: BTreeMap::new(),
            known: 0,
        };
        self.begun += count as u64;
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Some(begun);
        }
        for wave in 0..count {
            self.tell(run, slot, wave, now, Observed::Began);
            self.look(slot, wave, now);
        }
    }

    fn wave(&mut self, slot: usize, wave: usize) -> Option<&mut Wave> {
        self.slots.get_mut(slot)?.as_mut()?.waves.get_mut(wave)
    }

    /// Looks at a wave at a time, and not at another one that was said before.
    fn look(&mut self, slot: usize, wave: usize, at: u64) {
        self.turn += 1;
        let turn = self.turn;
        let Some((age, scheduler)) = self.wave(slot, wave).map(|of| {
            of.turn = turn;
            (of.age, of.scheduler)
        }) else {
            return; // it has ended
        };
        let place = if self.issued_last.get(scheduler) == Some(&age) {
            0
        } else {
            match self.timing.order {
                Order::Oldest => 1 + age,
                Order::Youngest => u64::MAX - age,
            }
        };
        self.events.push(Reverse((at, place, slot, wave, turn)));
    }

    /// Runs until all workgroups have ended or the launch has to.
    fn go<P: Timed<Wave = W>>(
        &mut self,
        run: &mut Run<'_, P>,
        waiting: &mut impl Iterator<Item = (u32, [u32; 3])>,
        invocations: u32,
    ) {
        while let Some(Reverse((now, _, slot, wave, turn))) = self.events.pop() {
            run.tell();
            if self.wave(slot, wave).is_none_or(|of| of.turn != turn) {
                continue; // it was asked to come at another time
            }
            self.cycles = self.cycles.max(now);
            let Some(after) = self.attempt(run, slot, wave, now) else {
                return; // the launch has to end
            };
            if !after {
                continue;
            }
            // The last wave of the slot has ended.
            let groups = self.slots.get_mut(slot).and_then(Option::take);
            run.ended += groups.map_or(0, |slot| slot.resident.groups());
            if let Some((number, first)) = waiting.next() {
                self.begin(run, slot, number, first, invocations, now);
            }
        }
        if let Some(stuck) = self.slots.iter().flatten().next() {
            stuck.resident.deadlock(run);
        }
    }

    /// Lets a wave issue if it can, else says when to look again. `Some(true)`: its slot is empty
    /// now. `None`: the launch has to end.
    fn attempt<P: Timed<Wave = W>>(
        &mut self,
        run: &mut Run<'_, P>,
        slot: usize,
        wave: usize,
        now: u64,
    ) -> Option<bool> {
        let state = self.slots.get(slot)?.as_ref()?;
        let next = state.resident.wave(wave).and_then(|w| run.program.next(w));
        if let Some(pc) = next {
            let at = self.earliest(slot, wave, pc, now);
            if at > now {
                if run.observer.is_some() {
                    let cause = self.cause(slot, wave, pc, at);
                    self.tell(run, slot, wave, now, Observed::Held { until: at, cause });
                }
                self.look(slot, wave, at);
                return Some(false);
            }
        }
        run.trace.clear();
        let resident = &mut self.slots.get_mut(slot)?.as_mut()?.resident;
        let step = resident.step(run, wave, now)?;
        debug_assert_eq!(self.undeclared(&run.trace.touches), None);
        let issued = run.trace.pc.filter(|_| step != Step::Blocked);
        if run.observer.is_some() {
            for (name, pc) in std::mem::take(&mut run.trace.passes) {
                self.tell(run, slot, wave, now, Observed::Passed { pc, name });
            }
        }
        match issued {
            Some(pc) => self.issue(run, slot, wave, pc, now),
            None => self.arrive(run, slot, wave, now, self.timing.barrier),
        }
        match step {
            Step::Done => {
                self.tell(run, slot, wave, now, Observed::Ended);
                let place = self.slots.get_mut(slot)?.as_mut()?;
                place.alive = place.alive.saturating_sub(1);
                if place.alive == 0 {
                    return Some(true);
                }
                // Who waits for those that have ended looks again.
                let count = place.waves.len();
                for other in (0..count).filter(|other| *other != wave) {
                    if self.wave(slot, other).is_some_and(|of| of.awaits.is_some()) {
                        self.release(slot, other, now);
                    }
                }
                return Some(false);
            }
            Step::Blocked => {
                let pc = run.trace.pc;
                self.tell(run, slot, wave, now, Observed::Blocked { pc });
                let resident = &self.slots.get(slot)?.as_ref()?.resident;
                let of = resident.wave(wave)?;
                let names = run.program.waiting(of).into_iter();
                let name = names.filter_map(|(_, name)| name).next_back();
                if let Some(of) = self.wave(slot, wave) {
                    of.awaits = name.or(Some(Name::Workgroup));
                }
                return Some(false);
            }
            Step::Ran(_) | Step::Yielded(_) => {}
        }
        let suspends = issued
            .and_then(|pc| self.costs.get(pc as usize))
            .is_some_and(|cost| matches!(cost.unit, Unit::Object { suspends: true, .. }));
        if suspends && matches!(step, Step::Yielded(_)) && run.trace.arrivals.is_empty() {
            // The object's address is what was touched.
            let object = run
                .trace
                .touches
                .first()
                .map(|touch| Name::Shared(touch.address));
            if let Some(of) = self.wave(slot, wave) {
                of.awaits = object;
            }
            self.look(slot, wave, now + SUSPENDED);
            return Some(false);
        }
        let of = self.slots.get(slot)?.as_ref()?.resident.wave(wave)?;
        let blocked = (run.program.waiting(of).iter()).all(|(_, name)| name.is_some());
        let at_barrier = issued
            .and_then(|pc| self.costs.get(pc as usize))
            .is_some_and(|cost| matches!(cost.unit, Unit::Barrier { waits: true }));
        if let Some(name) = run.trace.arrivals.last().copied()
            && at_barrier
            && blocked
            && !self.is_complete(slot, wave, Some(name))
        {
            if let Some(of) = self.wave(slot, wave) {
                of.awaits = Some(name);
            }
            return Some(false);
        }
        let free = self.wave(slot, wave).map_or(now, |of| of.free);
        self.look(slot, wave, free);
        Some(false)
    }

    /// Returns true if the arrival of this step completed the phase.
    fn is_complete(&self, slot: usize, wave: usize, name: Option<Name>) -> bool {
        let of = self.slots.get(slot).and_then(Option::as_ref);
        let object = name.and_then(|name| of?.resident.barrier(wave, name));
        object.is_none_or(|object| object.arrived() == 0)
    }

    /// When instruction `pc` of a wave can issue: its registers, its counters, its scheduler and
    /// its unit.
    fn earliest(&mut self, slot: usize, wave: usize, pc: u32, now: u64) -> u64 {
        let costs = Rc::clone(&self.costs);
        let Some(cost) = costs.get(pc as usize) else {
            return now; // no instruction: a finding
        };
        let of = self.slots.get(slot).and_then(Option::as_ref);
        let Some(of) = of.and_then(|of| of.waves.get(wave)) else {
            return now;
        };
        let ready = |register: &u32| of.ready.get(*register as usize).copied().unwrap_or(0);
        let registers = cost.reads.iter().chain(&cost.writes).map(ready).max();
        let mut at = now.max(registers.unwrap_or(0));
        for (counters, left) in &cost.waits {
            for (bit, entries) in of.outstanding.iter().enumerate() {
                if counters >> bit & 1 == 1 {
                    let over = entries.len().saturating_sub(*left as usize);
                    at = at.max(entries.iter().take(over).copied().max().unwrap_or(0));
                }
            }
        }
        if at > now {
            return at;
        }
        let scheduler = of.scheduler;
        at = at.max(self.schedulers.get(scheduler).copied().unwrap_or(0));
        let unit = match cost.unit {
            Unit::Barrier { .. } => self.barrier,
            Unit::Memory | Unit::Exchange | Unit::Object { .. } => self.memory.free_at(),
            _ => {
                let pipes = self.pipes.get(scheduler);
                pipe_of(cost.unit).map_or(0, |pipe| pipes.map_or(0, |pipes| pipes[pipe]))
            }
        };
        at.max(unit)
    }

    /// The first touch that the accesses of its instruction do not list.
    fn undeclared(&self, touches: &[Touch]) -> Option<Touch> {
        let declared = |touch: &&Touch| {
            let cost = self.costs.get(touch.pc as usize);
            cost.is_some_and(|cost| cost.accesses.covers(touch.space, touch.write))
        };
        touches.iter().find(|touch| !declared(touch)).copied()
    }

    /// Instruction `pc` of a wave was issued at `now`, and the trace says what it did.
    fn issue<P: Timed<Wave = W>>(
        &mut self,
        run: &mut Run<'_, P>,
        slot: usize,
        wave: usize,
        pc: u32,
        now: u64,
    ) {
        let costs = Rc::clone(&self.costs);
        let Some(cost) = costs.get(pc as usize) else {
            return; // no instruction: a finding
        };
        self.issued += 1;
        let slots = u64::from(cost.slots);
        self.slots_used += slots;
        let timing = self.timing;
        let (scheduler, age) = (self.wave(slot, wave)).map_or((0, 0), |of| (of.scheduler, of.age));
        if let Some(free) = self.schedulers.get_mut(scheduler) {
            *free = now + slots;
        }
        if let Some(last) = self.issued_last.get_mut(scheduler) {
            *last = age;
        }
        let latency = self.occupy(scheduler, cost, now);
        if !run.checks && !matches!(cost.unit, Unit::Object { .. }) {
            let touches = run.trace.touches.iter();
            let bytes = touches.map(|touch| u64::from(touch.bytes)).sum();
            self.progress.add(now, bytes);
        }
        let issued = self.take_effect(run, slot, wave, cost, now, latency);
        if run.observer.is_some() {
            self.tell_issue(run, slot, wave, pc, cost, now, issued);
        }
        self.account(slot, wave, pc, cost, now, issued);
        let pipe = if matches!(cost.unit, Unit::Object { .. }) {
            timing.object
        } else {
            timing.barrier
        };
        self.arrive(run, slot, wave, now, pipe);
    }

    /// Keeps the pipe of an instruction busy. Returns its latency.
    fn occupy(&mut self, scheduler: usize, cost: &Cost, now: u64) -> u64 {
        let timing = self.timing;
        let pipe = match cost.unit {
            Unit::Simple => timing.simple,
            Unit::Wide => timing.wide,
            Unit::Special => timing.special,
            Unit::Matrix => timing.matrix,
            Unit::Scalar => timing.scalar,
            _ => timing.integer,
        };
        let mut latency = u64::from(pipe.latency);
        if let Some(of) = pipe_of(cost.unit)
            && let Some(pipes) = self.pipes.get_mut(scheduler)
        {
            let passes = if cost.unit == Unit::Scalar {
                1
            } else {
                self.passes
            };
            let busy = u64::from(pipe.interval) * passes * u64::from(cost.slots).max(1);
            pipes[of] = now + busy;
            // What is many instructions, or takes many passes, is there when the last one is.
            latency += busy - u64::from(pipe.interval);
        }
        latency
    }

    /// Does what the unit of an instruction does with memory and with the wave, whose result has
    /// this `latency` if that does not say another.
    fn take_effect<P: Timed<Wave = W>>(
        &mut self,
        run: &mut Run<'_, P>,
        slot: usize,
        wave: usize,
        cost: &Cost,
        now: u64,
        mut latency: u64,
    ) -> Issued {
        let timing = self.timing;
        let mut free = now + u64::from(cost.slots).max(1);
        let mut stored = now;
        match cost.unit {
            Unit::Branch => free = now + u64::from(timing.branch).max(1),
            Unit::Memory => {
                let done = self.memory.access(&run.trace.touches, now);
                latency = done.at - now;
                stored = done.stored;
            }
            Unit::Exchange => latency = timing.shared.latency.into(),
            Unit::Object { releases, .. } => {
                let done = self.memory.access(&run.trace.touches, now);
                latency = (done.at - now).max(timing.object.latency.into());
                if releases {
                    free += u64::from(timing.object_fence);
                }
            }
            Unit::Fence => free = now + u64::from(timing.fence).max(1),
            Unit::DeviceFence => {
                let stored = self.wave(slot, wave).map_or(0, |of| of.stored);
                free = stored.max(now + u64::from(timing.device_fence).max(1));
            }
            Unit::Sleep(cycles) => free = now + u64::from(cycles).max(1),
            Unit::SleepFor(nanoseconds) => {
                let cycles = u64::from(nanoseconds) * u64::from(timing.clock_mhz) / 1000;
                free = now + cycles.max(1);
            }
            Unit::Barrier { waits: true } if run.trace.arrivals.is_empty() => {
                let place = self.slots.get(slot).and_then(Option::as_ref);
                free = free.max(place.map_or(0, |place| place.known));
            }
            Unit::Barrier { waits: true } => free = now + u64::from(timing.barrier.latency).max(1),
            _ => {}
        }
        Issued {
            free,
            latency,
            stored,
        }
    }

    /// Notes in the wave what it waits for from now on, and whose time passed until then.
    fn account(
        &mut self,
        slot: usize,
        wave: usize,
        pc: u32,
        cost: &Cost,
        now: u64,
        issued: Issued,
    ) {
        let Issued {
            free,
            latency,
            stored,
        } = issued;
        let Some(of) = self.wave(slot, wave) else {
            return;
        };
        let (before, last) = (of.free, of.last.replace(pc));
        let waited = of.awaits.take().is_some();
        of.free = free;
        of.stored = of.stored.max(stored);
        for register in &cost.writes {
            if cost.counters == 0
                && let Some(ready) = of.ready.get_mut(*register as usize)
            {
                *ready = now + latency;
                if let Some(from_memory) = of.from_memory.get_mut(*register as usize) {
                    *from_memory = matches!(cost.unit, Unit::Memory | Unit::Object { .. });
                }
            }
        }
        for (counters, left) in &cost.waits {
            for entries in counted(&mut of.outstanding, *counters) {
                let over = entries.len().saturating_sub(*left as usize);
                entries.drain(..over);
            }
        }
        if let Some((from, to)) = cost.gathers {
            let mut last = now;
            for entries in counted(&mut of.outstanding, from) {
                last = entries.drain(..).fold(last, u64::max);
            }
            for entries in counted(&mut of.outstanding, to) {
                entries.push_back(last);
            }
        }
        let over = (now + latency).max(stored);
        for entries in counted(&mut of.outstanding, cost.counters) {
            entries.push_back(over);
        }
        // Until now it is this instruction that waited, and from now on, until the next can go,
        // too; what passed at a barrier is the barrier's.
        let itself = matches!(cost.unit, Unit::Barrier { waits: true });
        let at = if waited && !itself {
            last.unwrap_or(pc)
        } else {
            pc
        };
        let until_now = now.saturating_sub(before);
        if let Some(spent) = self.spent.get_mut(at as usize) {
            spent.cycles += until_now;
            spent.stalled += if waited { until_now } else { 0 };
        }
        if let Some(spent) = self.spent.get_mut(pc as usize) {
            spent.issued += 1;
            spent.cycles += free - now;
        }
    }

    /// The step arrived at barriers: who waits for one whose phase is complete goes on.
    fn arrive<P: Timed<Wave = W>>(
        &mut self,
        run: &mut Run<'_, P>,
        slot: usize,
        wave: usize,
        now: u64,
        pipe: Pipe,
    ) {
        for name in &run.trace.arrivals {
            if matches!(name, Name::Wave(..)) {
                continue; // lanes of the wave itself
            }
            if !matches!(name, Name::Shared(_)) {
                self.barrier = now + u64::from(pipe.interval);
            }
            let Some(place) = self.slots.get_mut(slot).and_then(Option::as_mut) else {
                return;
            };
            let object = place.resident.barrier(wave, *name);
            let phase = object.map_or(0, crate::barrier::Barrier::phase);
            let before = place.phases.insert(*name, phase).unwrap_or(0);
            if let (Some(pc), Some(observer)) = (run.trace.pc, &mut run.observer) {
                let arrived = Observed::Arrived {
                    pc,
                    name: *name,
                    completes: before != phase,
                };
                observer.observe(place.resident.id_of(wave), now, arrived);
            }
            if before == phase {
                continue; // others are still to come
            }
            place.known = now + u64::from(pipe.latency);
            let waits = |of: &Wave| of.awaits == Some(*name);
            let released: Vec<usize> = (place.waves.iter().enumerate())
                .filter(|(other, of)| *other != wave && waits(of))
                .map(|(other, _)| other)
                .collect();
            for other in released {
                self.release(slot, other, now + u64::from(pipe.latency));
            }
        }
    }

    /// A wave that waits looks again at a time.
    fn release(&mut self, slot: usize, wave: usize, at: u64) {
        let earliest = self.wave(slot, wave).map_or(0, |of| of.free);
        self.look(slot, wave, at.max(earliest));
    }
}

/// The entries of counters.
fn counted(
    outstanding: &mut [VecDeque<u64>; 8],
    counters: Counters,
) -> impl Iterator<Item = &mut VecDeque<u64>> {
    outstanding
        .iter_mut()
        .enumerate()
        .filter(move |(bit, _)| counters >> bit & 1 == 1)
        .map(|(_, entries)| entries)
}

/// Which unit of a scheduler executes an instruction, if one does.
fn pipe_of(unit: Unit) -> Option<usize> {
    match unit {
        Unit::Simple => Some(0),
        Unit::Integer => Some(1),
        Unit::Wide => Some(2),
        Unit::Special => Some(3),
        Unit::Matrix => Some(4),
        Unit::Scalar => Some(5),
        Unit::None
        | Unit::Branch
        | Unit::Memory
        | Unit::Exchange
        | Unit::Barrier { .. }
        | Unit::Object { .. }
        | Unit::Fence
        | Unit::DeviceFence
        | Unit::Sleep(_)
        | Unit::SleepFor(_) => None,
    }
}
