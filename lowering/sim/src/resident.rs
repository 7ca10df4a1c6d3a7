//! A cluster that has begun: which of the waves of its workgroups goes on, until all have ended or
//! nobody can.

use crate::barrier::{Barrier, Barriers, Name};
use crate::cache::Caches;
use crate::clock::WaveClock;
use crate::cluster::Cluster;
use crate::context::Group;
use crate::finding::{FindingKind, Site};
use crate::launch::Clocks;
use crate::memory::Shared;
use crate::observe::{Cause, Observed, WaveId};
use crate::program::{Program, Step, WaveStart};
use crate::running::Run;
use crate::schedule::{Completion, Scheduler};
use std::collections::BTreeMap;

/// Whether a wave can go on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum WaveState {
    Ready,
    /// Blocked when the cluster's events had this number.
    Blocked(u64),
    Done,
}

/// What came of a turn.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A wave went on.
    Ran,
    /// Every wave that can go on asks that others go first: perhaps they wait for another
    /// workgroup.
    Spins,
    /// All waves have ended.
    Done,
    /// The launch has to end.
    Stop,
}

/// The workgroups of a cluster and their waves.
pub(crate) struct Resident<W> {
    cluster: Cluster,
    waves: Vec<W>,
    can: Vec<WaveState>,
    /// Instructions that each wave has executed.
    executed: Vec<u64>,
    scheduler: Scheduler,
    /// Waves that can go on; kept for its memory.
    ready: Vec<usize>,
    /// Waves that asked to go last in this round.
    yielded: Vec<bool>,
    /// Steps of all waves in this round.
    round: u32,
}

impl<W> Resident<W> {
    /// Cluster `number`, which begins with workgroup `first`, at its start.
    pub(crate) fn begin<P: Program<Wave = W>>(
        run: &mut Run<'_, P>,
        number: u32,
        first: [u32; 3],
        invocations: u32,
    ) -> Resident<W> {
        let size = run.program.wave_size().max(1);
        let waves = invocations.div_ceil(size) as u16;
        let agents = waves.saturating_mul(run.program.agents().clamp(1, size) as u16);
        let members = run.members(first);
        let all = usize::from(agents) * members.len();
        let mut groups = Vec::with_capacity(members.len());
        let mut started = Vec::with_capacity(usize::from(waves) * members.len());
        for (place, (index, id)) in (0u16..).zip(&members) {
            let first_agent = place.saturating_mul(agents);
            let rng = &mut run.rng;
            let mut group = Group {
                index: *index,
                id: *id,
                cluster: number,
                first_agent,
                waves,
                shared: Shared::new(run.launch.shared_bytes, || rng.u8(..)),
                barriers: Barriers::default(),
                clocks: (0..agents)
                    .map(|a| WaveClock::start(first_agent.saturating_add(a), all))
                    .collect(),
                bulk: Vec::new(),
                caches: Caches::default(),
                published: BTreeMap::new(),
                meetings: 0,
                events: 0,
            };
            run.program.enter(&mut group);
            groups.push(group);
            started.extend((0..waves).map(|wave| {
                let first = u32::from(wave) * size;
                run.program.start(&WaveStart {
                    group: *id,
                    groups: run.launch.groups,
                    cluster: run.launch.cluster,
                    workgroup_size: run.launch.workgroup_size,
                    wave,
                    waves,
                    first,
                    lanes: (invocations - first).min(size),
                    noise: run.rng.u64(..),
                })
            }));
        }
        let count = started.len();
        Resident {
            cluster: Cluster::new(groups, waves),
            waves: started,
            can: vec![WaveState::Ready; count],
            executed: vec![0; count],
            scheduler: Scheduler::new(run.schedule.policy, count, &mut run.rng),
            ready: Vec::with_capacity(count),
            yielded: vec![false; count],
            round: 0,
        }
    }

    /// How many waves it has.
    pub(crate) fn waves(&self) -> usize {
        self.waves.len()
    }

    /// The name of wave `index` in the launch.
    pub(crate) fn id_of(&self, index: usize) -> WaveId {
        WaveId {
            group: self.cluster.index_of(index),
            wave: self.cluster.place_of(index).1,
        }
    }

    /// Workgroups of the cluster.
    pub(crate) fn groups(&self) -> u32 {
        self.cluster.groups()
    }

    /// Lets one wave go on for as long as the schedule says.
    pub(crate) fn turn<P: Program<Wave = W>>(&mut self, run: &mut Run<'_, P>) -> Turn {
        // A wave that spins without a pause never ends a round.
        if self.round >= Scheduler::round(self.waves.len()) {
            self.begin_round();
            return Turn::Spins;
        }
        let events = self.cluster.events();
        let able = |s: &WaveState| match s {
            WaveState::Ready => true,
            WaveState::Blocked(at) => *at != events,
            WaveState::Done => false,
        };
        let waves = self.can.iter().zip(&self.yielded).enumerate();
        let goes_on = waves.filter(|(_, (can, yielded))| able(can) && !**yielded);
        self.ready.clear();
        self.ready.extend(goes_on.map(|(wave, _)| wave));
        if self.ready.is_empty() {
            if self.yielded.contains(&true) {
                self.begin_round();
                return Turn::Spins;
            }
            if self.can.iter().all(|s| *s == WaveState::Done) {
                return Turn::Done;
            }
            let known = run.findings.len();
            self.deadlock(run);
            run.tell_findings(known);
            return Turn::Stop;
        }
        let (chosen, steps) = self.scheduler.pick(&self.ready, &mut run.rng);
        if run.schedule.completion == Completion::Random && run.rng.u8(..) < 64 {
            self.complete_any(run);
        }
        self.advance(run, chosen, steps)
    }

    /// Gives a turn to the waves that asked to go last.
    fn begin_round(&mut self) {
        self.yielded.fill(false);
        self.round = 0;
    }

    /// Lets an outstanding operation of any wave take effect early.
    fn complete_any<P: Program<Wave = W>>(&mut self, run: &mut Run<'_, P>) {
        let any = run.rng.usize(..self.waves.len());
        let Some(wave) = self.waves.get_mut(any) else {
            debug_assert!(false, "there is no wave {any}");
            return;
        };
        self.cluster.with(any, |group, in_group| {
            (run.program).complete_one(wave, &mut run.context(group, in_group));
        });
    }

    /// Lets wave `chosen` take up to `steps` steps.
    fn advance<P: Program<Wave = W>>(
        &mut self,
        run: &mut Run<'_, P>,
        chosen: usize,
        steps: u32,
    ) -> Turn {
        // A wave that spins must not keep the others out for ever: it goes last in this round.
        let mut spins = steps >= Scheduler::QUANTUM;
        for _ in 0..steps {
            let time = match run.launch.clocks {
                Clocks::Machine => run.steps + 1,
                Clocks::Wave => self.executed.get(chosen).copied().unwrap_or(0),
            };
            if run.observer.is_some() {
                run.trace.clear();
            }
            let was_blocked = matches!(self.can.get(chosen), Some(WaveState::Blocked(_)));
            let known = run.findings.len();
            let Some(step) = self.step(run, chosen, time) else {
                run.tell_findings(known);
                return Turn::Stop;
            };
            if run.observer.is_some() {
                self.tell_step(run, chosen, step, was_blocked);
                run.tell_findings(known);
            }
            self.round = self.round.saturating_add(1);
            let state = match step {
                Step::Ran(_) => continue,
                Step::Yielded(_) => WaveState::Ready,
                Step::Blocked => WaveState::Blocked(self.cluster.events()),
                Step::Done => WaveState::Done,
            };
            spins = matches!(step, Step::Yielded(_));
            if let Some(s) = self.can.get_mut(chosen) {
                *s = state;
            }
            break;
        }
        if let Some(y) = self.yielded.get_mut(chosen) {
            *y = spins;
        }
        Turn::Ran
    }

    /// Lets wave `chosen` take one step, during which its clock shows `time`. `None`: the launch
    /// has to end.
    pub(crate) fn step<P: Program<Wave = W>>(
        &mut self,
        run: &mut Run<'_, P>,
        chosen: usize,
        time: u64,
    ) -> Option<Step> {
        let wave = self.waves.get_mut(chosen)?;
        if run.steps >= run.launch.limits.steps {
            let site = Site {
                pc: run.program.waiting(wave).first().map_or(0, |w| w.0),
                group: self.cluster.index_of(chosen),
                wave: self.cluster.place_of(chosen).1,
                lane: None,
            };
            let limit = run.launch.limits.steps;
            run.findings.report(FindingKind::StepLimit, site, None, || {
                format!("{limit} steps; a wave may be waiting in an endless loop")
            });
            return None;
        }
        run.steps += 1;
        let step = self.cluster.with(chosen, |group, in_group| {
            let program = run.program;
            let mut context = run.context(group, in_group);
            context.time = time;
            program.step(wave, &mut context)
        });
        match step {
            None => debug_assert!(false, "wave {chosen} has no workgroup"),
            Some(Step::Ran(lanes) | Step::Yielded(lanes)) => run.lane_steps += u64::from(lanes),
            Some(Step::Blocked | Step::Done) => {}
        }
        if let Some(executed) = self.executed.get_mut(chosen) {
            *executed += u64::from(step != Some(Step::Blocked));
        }
        if step == Some(Step::Done)
            && let Some(can) = self.can.get_mut(chosen)
        {
            *can = WaveState::Done;
        }
        step
    }

    /// Tells the observer that the waves begin.
    pub(crate) fn tell_start<P: Program<Wave = W>>(&self, run: &mut Run<'_, P>) {
        let now = run.steps;
        for wave in 0..self.waves.len() {
            run.observe(self.id_of(wave), now, Observed::Began);
        }
    }

    /// Tells the observer what the step did that wave `index` has taken.
    fn tell_step<P: Program<Wave = W>>(
        &self,
        run: &mut Run<'_, P>,
        index: usize,
        step: Step,
        was_blocked: bool,
    ) {
        let (wave, now) = (self.id_of(index), run.steps);
        let at = now.saturating_sub(1);
        for (name, pc) in std::mem::take(&mut run.trace.passes) {
            run.observe(wave, at, Observed::Passed { pc, name });
        }
        if let Some(pc) = run.trace.pc {
            if step != Step::Blocked {
                let issued = Observed::Issued {
                    pc,
                    issued: now,
                    free: now,
                    cause: Cause::Unit,
                    released: was_blocked,
                };
                run.observe(wave, at, issued);
            }
            for name in std::mem::take(&mut run.trace.arrivals) {
                let object = self.cluster.barrier(index, name);
                let completes = object.is_some_and(|object| object.arrived() == 0);
                let arrived = Observed::Arrived {
                    pc,
                    name,
                    completes,
                };
                run.observe(wave, at, arrived);
            }
        }
        match step {
            Step::Blocked => run.observe(wave, at, Observed::Blocked { pc: run.trace.pc }),
            Step::Done => run.observe(wave, now, Observed::Ended),
            Step::Ran(_) | Step::Yielded(_) => {}
        }
    }

    /// A barrier object as a wave sees it.
    pub(crate) fn barrier(&self, wave: usize, name: Name) -> Option<&Barrier> {
        self.cluster.barrier(wave, name)
    }

    /// A wave.
    pub(crate) fn wave(&self, wave: usize) -> Option<&W> {
        self.waves.get(wave)
    }

    /// The waves cannot go on: a finding that says where they wait.
    pub(crate) fn deadlock<P: Program<Wave = W>>(&self, run: &mut Run<'_, P>) {
        let mut lines = Vec::new();
        let mut first = None;
        for (index, wave) in self.waves.iter().enumerate() {
            let name = self.cluster.name_of(index);
            if self.can.get(index) == Some(&WaveState::Done) {
                lines.push(format!("{name} has ended"));
                continue;
            }
            for (pc, barrier) in run.program.waiting(wave) {
                first = first.or(Some((pc, index)));
                let place = run.program.place(pc);
                let object = barrier.map_or_else(String::new, |barrier| {
                    let object = self.cluster.barrier(index, barrier);
                    let count = object.map_or_else(String::new, |b| {
                        format!(
                            " ({} of {} have arrived in phase {})",
                            b.arrived(),
                            b.expected(),
                            b.phase()
                        )
                    });
                    format!(" for {barrier}{count}")
                });
                lines.push(format!(
                    "{name} waits at {:#x} `{}`{object}",
                    place.address, place.text
                ));
            }
        }
        let (pc, wave) = first.unwrap_or((0, 0));
        let site = Site {
            pc,
            group: self.cluster.index_of(wave),
            wave: self.cluster.place_of(wave).1,
            lane: None,
        };
        run.findings
            .report(FindingKind::Deadlock, site, None, || lines.join("; "));
    }
}
