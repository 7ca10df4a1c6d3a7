//! The run loop: clusters of workgroups (workgroups, where there are none) begin, take turns and
//! end.

use crate::barrier::Name;
use crate::cache::Written;
use crate::context::{Context, Group, PublishedToDevice};
use crate::coverage::Coverage;
use crate::finding::{CodeLocation, Finding, FindingKind, Findings, Site};
use crate::journal::Journal;
use crate::launch::Launch;
use crate::memory::{Global, Space};
use crate::resident::{Resident, Turn};
use crate::schedule::Schedule;
use crate::trace::Trace;
use crate::uses::{MOST_ROUNDS, Uses};
use fastrand::Rng;
use std::collections::HashMap;

/// A front end's program: decoded once, run by many waves.
pub trait Program {
    /// Registers and program counter of one wave.
    type Wave;

    /// Lanes of a wave: 32 or 64.
    fn wave_size(&self) -> u32;

    /// Clocks of a wave: 1 where its lanes go in lock step, [`Program::wave_size`] where each lane
    /// is a thread of its own that others of the same wave have to synchronise with.
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

    /// Lets one outstanding operation take effect early. Called at times under
    /// [`Completion::Random`](crate::schedule::Completion::Random).
    fn complete_one(&self, wave: &mut Self::Wave, context: &mut Context<'_>) {
        let _ = (wave, context);
    }

    /// Where a blocked wave waits: the instruction, and for which barrier. For the text of a
    /// deadlock.
    fn waiting(&self, wave: &Self::Wave) -> Vec<(u32, Option<Name>)>;

    /// What the program knows about its instruction `pc`.
    fn place(&self, pc: u32) -> CodeLocation;
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
    /// Notes ([`FindingKind::is_note`]): worth a look, and not a problem. In the same order.
    pub notes: Vec<Finding>,
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
    /// The kinds of access of each instruction, if [`crate::Limits::accesses`] asks for them.
    pub accesses: Vec<Accessed>,
}

/// A kind of access that an instruction made.
#[derive(Clone, Debug)]
pub struct Accessed {
    /// The instruction.
    pub place: CodeLocation,
    /// Shared memory, or a region of global memory that the kernel may write.
    pub space: Space,
    /// True for a write. An atomic operation that reads and writes has both kinds.
    pub write: bool,
}

/// Runs a launch under one schedule. Clusters begin in order (workgroups, where there are none).
/// Under the schedules that take waves in order and in reverse, one goes on until it ends or all of
/// its waves spin; under the others, those that have begun take turns. Buffers are changed in
/// place. Where findings are about loads, the launch runs again, and those about bytes that nothing
/// depends on are left out.
pub fn run<P: Program>(
    program: &P,
    global: &mut Global,
    launch: &Launch,
    schedule: Schedule,
) -> Report {
    run_watched(program, global, launch, schedule, &mut |_| ())
}

/// How far a run is.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Workgroups that have ended.
    pub workgroups: u32,
    /// Instructions of waves so far.
    pub steps: u64,
}

/// Steps between two calls of who watches, at least: some milliseconds.
const WATCHED: u64 = 1 << 15;

/// As [`run`], and says from time to time how far it is.
pub fn run_watched<P: Program>(
    program: &P,
    global: &mut Global,
    launch: &Launch,
    schedule: Schedule,
    watch: &mut dyn FnMut(Progress),
) -> Report {
    let before = global.clone();
    let mut once = |uses: Uses| {
        global.clone_from(&before);
        let mut run = Run::new(program, global, launch, schedule, watch);
        run.uses = uses;
        if let Some((clusters, invocations)) = run.clusters() {
            run.take_turns(clusters, invocations);
        }
        let uses = std::mem::take(&mut run.uses);
        (run.report(), uses)
    };
    let (mut report, mut uses) = once(Uses::default());
    for _ in 0..MOST_ROUNDS {
        if !uses.has_more() {
            break;
        }
        let (_, followed) = once(uses.follow());
        (report, uses) = once(followed.judge());
    }
    report
}

/// Waves of clusters that have begun and not ended, from which on no further cluster begins; two
/// may always run. A workgroup that waits for one that cannot begin waits for ever, as on a GPU
/// that is full.
const MOST_WAVES: usize = 64;

/// What all waves of a launch share.
pub(crate) struct Run<'r, P> {
    pub program: &'r P,
    pub global: &'r mut Global,
    pub launch: &'r Launch,
    pub schedule: Schedule,
    pub rng: Rng,
    pub findings: Findings,
    pub coverage: Coverage,
    pub journal: Journal,
    pub published_to_device: HashMap<u64, PublishedToDevice>,
    pub written: Written,
    pub trace: Trace,
    pub uses: Uses,
    pub steps: u64,
    pub lane_steps: u64,
    pub ended: u32,
    watch: &'r mut dyn FnMut(Progress),
    said: u64,
}

const NOWHERE: Site = Site {
    pc: 0,
    group: 0,
    wave: 0,
    lane: None,
};

impl<'r, P: Program> Run<'r, P> {
    /// A run at its start.
    pub(crate) fn new(
        program: &'r P,
        global: &'r mut Global,
        launch: &'r Launch,
        schedule: Schedule,
        watch: &'r mut dyn FnMut(Progress),
    ) -> Run<'r, P> {
        Run {
            program,
            global,
            launch,
            schedule,
            rng: Rng::with_seed(schedule.seed),
            findings: Findings::default(),
            coverage: Coverage::default(),
            journal: Journal::new(launch.limits.journal),
            published_to_device: HashMap::new(),
            written: Written::default(),
            trace: Trace {
                kept: launch.limits.accesses.then(Default::default),
                ..Trace::default()
            },
            uses: Uses::default(),
            steps: 0,
            lane_steps: 0,
            ended: 0,
            watch,
            said: 0,
        }
    }

    /// What the run gave.
    pub(crate) fn report(self) -> Report {
        let program = self.program;
        let accesses = self.trace.kept.iter().flatten();
        let accesses = accesses.map(|(pc, space, write)| Accessed {
            place: program.place(*pc),
            space: *space,
            write: *write,
        });
        let not_kept = self.findings.not_kept();
        let (findings, notes) = self.findings.into_lists(|pc| program.place(pc));
        Report {
            accesses: accesses.collect(),
            not_kept,
            findings,
            notes,
            steps: self.steps,
            lane_steps: self.lane_steps,
            coverage: self.coverage,
            journal: self.journal,
        }
    }

    /// Says from time to time how far it is.
    pub(crate) fn tell(&mut self) {
        if self.steps >= self.said + WATCHED {
            self.said = self.steps;
            (self.watch)(Progress {
                workgroups: self.ended,
                steps: self.steps,
            });
        }
    }

    /// The clusters of the launch, numbered and said by their first workgroups, and the invocations
    /// of a workgroup; `None` after a finding.
    pub(crate) fn clusters(
        &mut self,
    ) -> Option<(impl Iterator<Item = (u32, [u32; 3])> + use<P>, u32)> {
        let Launch {
            groups,
            cluster,
            workgroup_size,
            shared_bytes,
            limits,
            clocks: _,
        } = *self.launch;
        let invocations = workgroup_size
            .iter()
            .try_fold(1u32, |n, s| n.checked_mul(*s))
            .filter(|n| *n <= limits.workgroup_invocations);
        let (Some(invocations), true) = (invocations, shared_bytes <= limits.shared_bytes) else {
            self.findings.report(FindingKind::MemoryLimit, NOWHERE, None, || {
                format!(
                    "a workgroup of {workgroup_size:?} invocations and {shared_bytes} bytes of shared memory; the limits are {} and {}",
                    limits.workgroup_invocations, limits.shared_bytes
                )
            });
            return None;
        };
        let in_cluster = cluster.iter().try_fold(1u32, |n, s| n.checked_mul(*s));
        if in_cluster.is_none_or(|n| n == 0 || n > limits.cluster_workgroups) {
            self.findings
                .report(FindingKind::MemoryLimit, NOWHERE, None, || {
                    format!(
                        "clusters of {cluster:?} workgroups; the limit is {}",
                        limits.cluster_workgroups
                    )
                });
            return None;
        }
        let [xs, ys, zs] = [0, 1, 2].map(|axis| (0..groups[axis]).step_by(cluster[axis] as usize));
        let firsts = zs.flat_map(move |z| {
            let (xs, ys) = (xs.clone(), ys.clone());
            ys.flat_map(move |y| xs.clone().map(move |x| [x, y, z]))
        });
        Some(((0..).zip(firsts), invocations))
    }

    /// Runs the clusters until all have ended or the launch has to.
    fn take_turns(&mut self, teams: impl Iterator<Item = (u32, [u32; 3])>, invocations: u32) {
        let mut waiting = teams.peekable();
        let mut resident: Vec<Resident<P::Wave>> = Vec::new();
        let mut current = 0;
        loop {
            self.tell();
            if resident.is_empty() {
                let Some((number, first)) = waiting.next() else {
                    return; // all have ended
                };
                resident.push(Resident::begin(self, number, first, invocations));
            }
            let Some(cluster) = resident.get_mut(current) else {
                current = 0;
                continue;
            };
            let groups = cluster.groups();
            let others_go_on = match cluster.turn(self) {
                Turn::Stop => return,
                Turn::Done => {
                    resident.remove(current);
                    self.ended += groups;
                    continue;
                }
                Turn::Spins => true,
                // Nothing is drawn where there is nobody else: what a seed gives does not depend on
                // it.
                Turn::Ran => {
                    self.schedule.policy.mixes_workgroups()
                        && (resident.len() > 1 || waiting.peek().is_some())
                        && self.rng.u8(..) < 16
                }
            };
            if !others_go_on {
                continue;
            }
            let waves: usize = resident.iter().map(Resident::waves).sum();
            match waiting.next_if(|_| resident.len() < 2 || waves < MOST_WAVES) {
                Some((number, first)) => {
                    resident.push(Resident::begin(self, number, first, invocations));
                    current = resident.len() - 1;
                }
                None => current = (current + 1) % resident.len(),
            }
        }
    }

    /// The workgroups of the cluster that begins with workgroup `first`; fewer at the end of a grid
    /// that is not a multiple of the cluster.
    pub(crate) fn members(&self, first: [u32; 3]) -> Vec<(u32, [u32; 3])> {
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

    /// What a step of a wave of `group` can reach.
    pub(crate) fn context<'c>(&'c mut self, group: &'c mut Group, wave: u16) -> Context<'c> {
        Context {
            group,
            global: self.global,
            findings: &mut self.findings,
            coverage: &mut self.coverage,
            journal: &mut self.journal,
            rng: &mut self.rng,
            completion: self.schedule.completion,
            time: self.steps,
            wave,
            agent: wave.saturating_mul(
                self.program
                    .agents()
                    .clamp(1, self.program.wave_size().max(1)) as u16,
            ),
            unproved: None,
            published_to_device: &mut self.published_to_device,
            written: &mut self.written,
            trace: &mut self.trace,
            uses: &mut self.uses,
        }
    }
}
