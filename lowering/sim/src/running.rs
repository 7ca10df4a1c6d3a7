//! State that all waves of a launch share while it runs.

use crate::cache::WrittenBack;
use crate::context::{Context, Group, PublishedToDevice};
use crate::coverage::Coverage;
use crate::finding::{FindingKind, Findings, Site};
use crate::journal::Journal;
use crate::launch::Launch;
use crate::memory::Global;
use crate::observe::{Observed, Observer, WaveId};
use crate::program::Program;
use crate::report::{Accessed, Progress, Report};
use crate::schedule::Schedule;
use crate::trace::Trace;
use crate::uses::Uses;
use fastrand::Rng;
use std::collections::HashMap;

/// Steps between two calls of who watches, at least: some milliseconds.
const WATCHED: u64 = 1 << 15;

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
    pub written: WrittenBack,
    pub trace: Trace,
    pub uses: Uses,
    /// False if accesses are not checked.
    pub checks: bool,
    pub steps: u64,
    pub lane_steps: u64,
    pub ended: u32,
    /// The observer of the run.
    pub observer: Option<&'r mut (dyn Observer + 'r)>,
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
            written: WrittenBack::default(),
            trace: Trace {
                kept: launch.limits.accesses.then(Default::default),
                ..Trace::default()
            },
            uses: Uses::default(),
            checks: true,
            steps: 0,
            lane_steps: 0,
            ended: 0,
            observer: None,
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

    /// Tells the observer, if there is one.
    pub(crate) fn observe(&mut self, wave: WaveId, at: u64, what: Observed) {
        if let Some(observer) = &mut self.observer {
            observer.observe(wave, at, what);
        }
    }

    /// Tells the observer, if there is one, of the findings after the first `known`.
    pub(crate) fn tell_findings(&mut self, known: usize) {
        if self.observer.is_none() {
            return;
        }
        let of = |site: Site| WaveId {
            group: site.group,
            wave: site.wave,
        };
        let at = self.steps.saturating_sub(1);
        for (kind, site, other) in self.findings.after(known) {
            let (pc, other) = (site.pc, other.map(|other| (of(other), other.pc)));
            self.observe(of(site), at, Observed::Found { kind, pc, other });
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
            checks: self.checks,
        }
    }
}
