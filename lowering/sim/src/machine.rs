//! The run loop: which wave goes on, until all have ended or nobody can.

use crate::barrier::{Barrier, Barriers, Name};
use crate::cache::{Caches, Written};
use crate::clock::WaveClock;
use crate::context::{Abroad, Context, Group};
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
    /// Workgroups of a cluster; `[1, 1, 1]` where there are none.
    pub cluster: [u32; 3],
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

/// Runs a launch under one schedule. Clusters run one after the other, in order (workgroups, where there are none); the waves of all workgroups of a cluster as the schedule
/// says. Buffers are changed in place.
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
    abroad: HashMap<u64, Abroad>,
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

/// The workgroups that run side by side: those of one cluster.
struct Team {
    groups: Vec<Group>,
    /// Waves of each.
    waves: usize,
    /// The cluster's barrier object, while no step is done; a workgroup that is alone keeps its own.
    cluster: Option<Barrier>,
}

impl Team {
    /// The workgroups as one cluster. What the program made in each for the cluster's barrier is that workgroup's share of it.
    fn of(groups: Vec<Group>, waves: u16) -> Team {
        let mut team = Team {
            groups,
            waves: waves.into(),
            cluster: None,
        };
        if team.groups.len() > 1 {
            let groups = team.groups.iter_mut();
            let shares = groups.filter_map(|group| group.barriers.remove(Name::Cluster));
            team.cluster = shares.reduce(|mut cluster, share| {
                cluster.expect(cluster.expected() + share.expected());
                cluster
            });
        }
        team
    }

    /// The workgroup of a wave, and the wave's number in it.
    fn place_of(&self, wave: usize) -> (usize, u16) {
        let waves = self.waves.max(1);
        (wave / waves, (wave % waves) as u16)
    }

    /// The number of a wave's workgroup in the launch.
    fn index_of(&self, wave: usize) -> u32 {
        let group = self.groups.get(self.place_of(wave).0);
        group.map_or(0, |group| group.index)
    }

    fn name_of(&self, wave: usize) -> String {
        let (_, in_group) = self.place_of(wave);
        match self.groups.len() {
            1 => format!("wave {in_group}"),
            _ => format!("wave {in_group} of workgroup {}", self.index_of(wave)),
        }
    }

    /// A barrier object as a wave sees it.
    fn barrier(&self, wave: usize, name: Name) -> Option<&Barrier> {
        let group = self.groups.get(self.place_of(wave).0)?;
        match name {
            Name::Cluster => self.cluster.as_ref(),
            _ => None,
        }
        .or_else(|| group.barriers.get(name))
    }

    /// Grows whenever a barrier object of any of the workgroups changes.
    fn events(&self) -> u64 {
        self.groups.iter().map(|group| group.events).sum()
    }

    /// Does something with the workgroup of a wave, which has the cluster's barrier for that time.
    fn with<T>(&mut self, wave: usize, act: impl FnOnce(&mut Group, u16) -> T) -> Option<T> {
        let (group, in_group) = self.place_of(wave);
        let group = self.groups.get_mut(group)?;
        let Some(cluster) = self.cluster.take() else {
            return Some(act(group, in_group));
        };
        group.barriers.put(Name::Cluster, cluster);
        let result = act(group, in_group);
        self.cluster = group.barriers.remove(Name::Cluster);
        Some(result)
    }
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
            cluster,
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
        let in_cluster = cluster.iter().try_fold(1u32, |n, s| n.checked_mul(*s));
        if in_cluster.is_none_or(|n| n == 0 || n > limits.cluster_workgroups) {
            self.findings
                .report(FindingKind::MemoryLimit, NOWHERE, None, || {
                    format!(
                        "clusters of {cluster:?} workgroups; the limit is {}",
                        limits.cluster_workgroups
                    )
                });
            return;
        }
        let firsts = |axis: usize| (0..groups[axis]).step_by(cluster[axis] as usize);
        let mut team = 0;
        for z in firsts(2) {
            for y in firsts(1) {
                for x in firsts(0) {
                    if !self.team(team, [x, y, z], invocations) {
                        return;
                    }
                    team += 1;
                }
            }
        }
    }

    /// The workgroups of the cluster that begins with workgroup `first`; fewer at the end of a grid that is no multiple of the cluster.
    fn members(&self, first: [u32; 3]) -> Vec<(u32, [u32; 3])> {
        let (groups, cluster) = (self.launch.groups, self.launch.cluster);
        let range =
            |axis: usize| first[axis]..first[axis].saturating_add(cluster[axis]).min(groups[axis]);
        let mut members = Vec::new();
        for z in range(2) {
            for y in range(1) {
                members.extend(range(0).map(|x| {
                    let row = z.wrapping_mul(groups[1]).wrapping_add(y);
                    (row.wrapping_mul(groups[0]).wrapping_add(x), [x, y, z])
                }));
            }
        }
        members
    }

    /// Runs the workgroups of one cluster; `false` when the launch has to end.
    fn team(&mut self, number: u32, first: [u32; 3], invocations: u32) -> bool {
        let size = self.program.wave_size().max(1);
        let waves = invocations.div_ceil(size) as u16;
        let agents = waves.saturating_mul(self.program.agents().clamp(1, size) as u16);
        let members = self.members(first);
        let all = usize::from(agents) * members.len();
        let mut groups = Vec::with_capacity(members.len());
        let mut states: Vec<P::Wave> = Vec::with_capacity(usize::from(waves) * members.len());
        for (place, (index, id)) in (0u16..).zip(&members) {
            let first_agent = place.saturating_mul(agents);
            let rng = &mut self.rng;
            let mut group = Group {
                index: *index,
                id: *id,
                team: number,
                first_agent,
                waves,
                shared: Shared::new(self.launch.shared_bytes, || rng.u8(..)),
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
            self.program.enter(&mut group);
            groups.push(group);
            states.extend((0..waves).map(|wave| {
                let first = u32::from(wave) * size;
                self.program.start(&WaveStart {
                    group: *id,
                    groups: self.launch.groups,
                    cluster: self.launch.cluster,
                    workgroup_size: self.launch.workgroup_size,
                    wave,
                    waves,
                    first,
                    lanes: (invocations - first).min(size),
                    noise: self.rng.u64(..),
                })
            }));
        }
        let mut team = Team::of(groups, waves);
        let waves = states.len();
        let mut can = vec![State::Ready; waves];
        let mut scheduler = Scheduler::new(self.schedule.policy, waves, &mut self.rng);
        let mut ready: Vec<usize> = Vec::with_capacity(waves);
        // Waves that asked to go last in this round.
        let mut yielded: Vec<bool> = vec![false; waves];
        loop {
            ready.clear();
            let events = team.events();
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
                self.deadlock(&team, &states, &can);
                return false;
            }
            let (chosen, turns) = scheduler.pick(&ready, &mut self.rng);
            if self.schedule.completion == Completion::Random && self.rng.u8(..) < 64 {
                let any = self.rng.usize(..can.len());
                if let Some(wave) = states.get_mut(any) {
                    team.with(any, |group, wave_in_group| {
                        self.program
                            .complete_one(wave, &mut self.context(group, wave_in_group));
                    });
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
                        group: team.index_of(chosen),
                        wave: team.place_of(chosen).1,
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
                let step = team.with(chosen, |group, wave_in_group| {
                    self.program
                        .step(wave, &mut self.context(group, wave_in_group))
                });
                let Some(step) = step else {
                    return false;
                };
                let state = match step {
                    Step::Ran(lanes) => {
                        self.lane_steps += u64::from(lanes);
                        continue;
                    }
                    Step::Yielded(lanes) => {
                        self.lane_steps += u64::from(lanes);
                        State::Ready
                    }
                    Step::Blocked => State::Blocked(team.events()),
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

    fn deadlock(&mut self, team: &Team, waves: &[P::Wave], states: &[State]) {
        let mut lines = Vec::new();
        let mut first = None;
        for (index, wave) in waves.iter().enumerate() {
            if states.get(index) == Some(&State::Done) {
                lines.push(format!("{} has ended", team.name_of(index)));
                continue;
            }
            for (pc, name) in self.program.waiting(wave) {
                first = first.or(Some((pc, index)));
                let place = self.program.place(pc);
                let object = name.map_or_else(String::new, |name| {
                    let count = team.barrier(index, name).map_or_else(String::new, |b| {
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
                    "{} waits at {:#x} `{}`{object}",
                    team.name_of(index),
                    place.address,
                    place.text
                ));
            }
        }
        let (pc, wave) = first.unwrap_or((0, 0));
        let site = Site {
            pc,
            group: team.index_of(wave),
            wave: team.place_of(wave).1,
            lane: None,
        };
        self.findings
            .report(FindingKind::Deadlock, site, None, || lines.join("; "));
    }
}
