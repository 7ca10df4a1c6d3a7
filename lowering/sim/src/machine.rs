//! The run loop: which wave goes on, until all have ended or nobody can.

use crate::barrier::{Barriers, Name};
use crate::cache::{Caches, Written};
use crate::clock::{Clock, WaveClock};
use crate::context::{Context, Group};
use crate::coverage::Coverage;
use crate::finding::{Finding, FindingKind, Findings, Place, Site};
use crate::journal::Journal;
use crate::launch::Launch;
use crate::memory::{Global, Shared};
use crate::schedule::{Completion, Schedule, Scheduler};
use fastrand::Rng;
use std::collections::{BTreeMap, HashMap};

/// A front end's program: decoded once, run by many waves.
pub trait Program {
    /// Registers and program counter of one wave.
    type Wave;

    /// Lanes of a wave: 32 or 64.
    fn wave_size(&self) -> u32;

    /// Clocks of a wave: 1 where its lanes go in lock step, [`Program::wave_size`] where each lane is a thread of its own that others of the same wave
    /// have to synchronise with.
    fn agents(&self) -> u32 {
        1
    }

    /// Prepares a workgroup before its waves start (barrier objects that exist from the start).
    fn enter(&self, group: &mut Group) {
        let _ = group;
    }

    /// A wave at the kernel's entry.
    fn start(&self, start: &WaveStart) -> Self::Wave;

    /// Runs one instruction of a wave, or for some of its lanes.
    fn step(&self, wave: &mut Self::Wave, context: &mut Context<'_>) -> Step;

    /// Lets one outstanding operation take effect early. Called at times under [`Completion::Random`].
    fn complete_one(&self, wave: &mut Self::Wave, context: &mut Context<'_>) {
        let _ = (wave, context);
    }

    /// Where a blocked wave waits: the instruction, and for which barrier. For the text of a deadlock.
    fn waiting(&self, wave: &Self::Wave) -> Vec<(u32, Option<Name>)>;

    /// What the program knows about its instruction `pc`.
    fn place(&self, pc: u32) -> Place;
}

/// What came of a step. The numbers are lanes that took part, for the statistics.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The wave can go on.
    Ran(u32),
    /// The wave can go on, and asks that others go first (it spins or sleeps).
    Yielded(u32),
    /// The wave cannot go on until a barrier object changes. Its next step tries again.
    Blocked,
    /// The wave has ended.
    Done,
}

/// What a wave is told when it starts.
#[derive(Clone, Debug)]
pub struct WaveStart {
    /// Which workgroup, in x, y and z.
    pub group: [u32; 3],
    /// Workgroups of the launch.
    pub groups: [u32; 3],
    /// Invocations of a workgroup.
    pub workgroup_size: [u32; 3],
    /// Index of the wave in the workgroup.
    pub wave: u16,
    /// Waves of the workgroup.
    pub waves: u16,
    /// Linear index, in the workgroup, of lane 0.
    pub first: u32,
    /// Lanes that exist: all but in the last wave of a workgroup that is no multiple of the wave.
    pub lanes: u32,
    /// Where registers get what nobody has written.
    pub noise: u64,
}

/// What a run gives.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The problems, in the order in which they were found.
    pub findings: Vec<Finding>,
    /// Problems beyond those that are kept.
    pub not_kept: u64,
    /// Instructions of waves.
    pub steps: u64,
    /// Instructions of lanes.
    pub lane_steps: u64,
    /// Which instructions were executed.
    pub coverage: Coverage,
    /// What was done in which order, if that was asked for.
    pub journal: Journal,
}

/// Runs a launch under one schedule. Workgroups run one after the other, in order; their waves as the schedule says. Buffers are changed in place.
pub fn run<P: Program>(
    program: &P,
    global: &mut Global,
    launch: &Launch,
    schedule: Schedule,
) -> Report {
    let mut run = Run {
        program,
        global,
        launch,
        schedule,
        rng: Rng::with_seed(schedule.seed),
        findings: Findings::default(),
        coverage: Coverage::default(),
        journal: Journal::new(launch.limits.journal),
        abroad: HashMap::new(),
        written: Written::default(),
        steps: 0,
        lane_steps: 0,
    };
    run.launch();
    Report {
        not_kept: run.findings.not_kept(),
        findings: run.findings.into_list(|pc| program.place(pc)),
        steps: run.steps,
        lane_steps: run.lane_steps,
        coverage: run.coverage,
        journal: run.journal,
    }
}

struct Run<'r, P> {
    program: &'r P,
    global: &'r mut Global,
    launch: &'r Launch,
    schedule: Schedule,
    rng: Rng,
    findings: Findings,
    coverage: Coverage,
    journal: Journal,
    abroad: HashMap<u64, Clock>,
    written: Written,
    steps: u64,
    lane_steps: u64,
}

/// Whether a wave can go on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// Blocked when the group's events had this number.
    Blocked(u64),
    Done,
}

const NOWHERE: Site = Site {
    pc: 0,
    group: 0,
    wave: 0,
    lane: None,
};

impl<P: Program> Run<'_, P> {
    fn launch(&mut self) {
        let Launch {
            groups,
            workgroup_size,
            shared_bytes,
            limits,
        } = *self.launch;
        let invocations = workgroup_size
            .iter()
            .try_fold(1u32, |n, s| n.checked_mul(*s));
        if invocations.is_none_or(|n| n > limits.workgroup_invocations)
            || shared_bytes > limits.shared_bytes
        {
            self.findings.report(FindingKind::MemoryLimit, NOWHERE, None, || {
                format!(
                    "a workgroup of {workgroup_size:?} invocations and {shared_bytes} bytes of shared memory; the limits are {} and {}",
                    limits.workgroup_invocations, limits.shared_bytes
                )
            });
            return;
        }
        let invocations = invocations.unwrap_or(0);
        let mut index = 0;
        for z in 0..groups[2] {
            for y in 0..groups[1] {
                for x in 0..groups[0] {
                    if !self.group(index, [x, y, z], invocations) {
                        return;
                    }
                    index += 1;
                }
            }
        }
    }

    /// Runs one workgroup; `false` when the launch has to end.
    fn group(&mut self, index: u32, id: [u32; 3], invocations: u32) -> bool {
        let size = self.program.wave_size().max(1);
        let waves = invocations.div_ceil(size) as u16;
        let agents = waves.saturating_mul(self.program.agents().clamp(1, size) as u16);
        let rng = &mut self.rng;
        let mut group = Group {
            index,
            id,
            waves,
            shared: Shared::new(self.launch.shared_bytes, || rng.u8(..)),
            barriers: Barriers::default(),
            clocks: (0..agents)
                .map(|a| WaveClock::start(a, agents.into()))
                .collect(),
            bulk: Vec::new(),
            caches: Caches::default(),
            published: BTreeMap::new(),
            meetings: 0,
            events: 0,
        };
        self.program.enter(&mut group);
        let mut states: Vec<P::Wave> = (0..waves)
            .map(|wave| {
                let first = u32::from(wave) * size;
                self.program.start(&WaveStart {
                    group: id,
                    groups: self.launch.groups,
                    workgroup_size: self.launch.workgroup_size,
                    wave,
                    waves,
                    first,
                    lanes: (invocations - first).min(size),
                    noise: self.rng.u64(..),
                })
            })
            .collect();
        let mut can = vec![State::Ready; waves.into()];
        let mut scheduler = Scheduler::new(self.schedule.policy, waves.into(), &mut self.rng);
        let mut ready: Vec<usize> = Vec::with_capacity(waves.into());
        // Waves that asked to go last in this round.
        let mut yielded: Vec<bool> = vec![false; waves.into()];
        loop {
            ready.clear();
            let events = group.events;
            let able = |s: &State| match s {
                State::Ready => true,
                State::Blocked(at) => *at != events,
                State::Done => false,
            };
            ready.extend(
                (0..can.len()).filter(|w| {
                    can.get(*w).is_some_and(able) && !yielded.get(*w).is_some_and(|y| *y)
                }),
            );
            if ready.is_empty() {
                if yielded.contains(&true) {
                    yielded.fill(false);
                    continue;
                }
                if can.iter().all(|s| *s == State::Done) {
                    return true;
                }
                self.deadlock(&group, &states, &can);
                return false;
            }
            let (chosen, turns) = scheduler.pick(&ready, &mut self.rng);
            if self.schedule.completion == Completion::Random && self.rng.u8(..) < 64 {
                let any = self.rng.usize(..can.len());
                if let Some(wave) = states.get_mut(any) {
                    self.program
                        .complete_one(wave, &mut self.context(&mut group, any as u16));
                }
            }
            let Some(wave) = states.get_mut(chosen) else {
                return false;
            };
            // A wave that spins must not keep the others out for ever: it goes last in this round.
            let mut spins = turns >= Scheduler::QUANTUM;
            for _ in 0..turns {
                if self.steps >= self.launch.limits.steps {
                    let site = Site {
                        pc: self.program.waiting(wave).first().map_or(0, |w| w.0),
                        group: index,
                        wave: chosen as u16,
                        lane: None,
                    };
                    let limit = self.launch.limits.steps;
                    self.findings
                        .report(FindingKind::StepLimit, site, None, || {
                            format!(
                                "{limit} steps; perhaps a wave waits in a loop for what never comes"
                            )
                        });
                    return false;
                }
                self.steps += 1;
                let step = self
                    .program
                    .step(wave, &mut self.context(&mut group, chosen as u16));
                let state = match step {
                    Step::Ran(lanes) => {
                        self.lane_steps += u64::from(lanes);
                        continue;
                    }
                    Step::Yielded(lanes) => {
                        self.lane_steps += u64::from(lanes);
                        State::Ready
                    }
                    Step::Blocked => State::Blocked(group.events),
                    Step::Done => State::Done,
                };
                spins = matches!(step, Step::Yielded(_));
                if let Some(s) = can.get_mut(chosen) {
                    *s = state;
                }
                break;
            }
            if let Some(y) = yielded.get_mut(chosen) {
                *y = spins;
            }
        }
    }

    fn context<'c>(&'c mut self, group: &'c mut Group, wave: u16) -> Context<'c> {
        Context {
            group,
            global: self.global,
            findings: &mut self.findings,
            coverage: &mut self.coverage,
            journal: &mut self.journal,
            rng: &mut self.rng,
            completion: self.schedule.completion,
            wave,
            agent: wave.saturating_mul(
                self.program
                    .agents()
                    .clamp(1, self.program.wave_size().max(1)) as u16,
            ),
            abroad: &mut self.abroad,
            written: &mut self.written,
        }
    }

    fn deadlock(&mut self, group: &Group, waves: &[P::Wave], states: &[State]) {
        let mut lines = Vec::new();
        let mut first = None;
        for (index, wave) in waves.iter().enumerate() {
            if states.get(index) == Some(&State::Done) {
                lines.push(format!("wave {index} has ended"));
                continue;
            }
            for (pc, name) in self.program.waiting(wave) {
                first = first.or(Some((pc, index)));
                let place = self.program.place(pc);
                let object = name.map_or_else(String::new, |name| {
                    let count = group.barriers.get(name).map_or_else(String::new, |b| {
                        format!(
                            " ({} of {} have arrived in phase {})",
                            b.arrived(),
                            b.expected(),
                            b.phase()
                        )
                    });
                    format!(" for {name}{count}")
                });
                lines.push(format!(
                    "wave {index} waits at {:#x} `{}`{object}",
                    place.address, place.text
                ));
            }
        }
        let (pc, wave) = first.unwrap_or((0, 0));
        let site = Site {
            pc,
            group: group.index,
            wave: wave as u16,
            lane: None,
        };
        self.findings
            .report(FindingKind::Deadlock, site, None, || lines.join("; "));
    }
}
