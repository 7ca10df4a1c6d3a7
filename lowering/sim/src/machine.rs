//! The run loop: clusters of workgroups (workgroups, where there are none) begin, take turns and
//! end.

use crate::launch::Launch;
use crate::memory::Global;
use crate::observe::Observer;
use crate::program::Program;
use crate::report::{Progress, Report};
use crate::resident::{Resident, Turn};
use crate::running::Run;
use crate::schedule::Schedule;
use crate::uses::{MOST_ROUNDS, Uses};

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

/// As [`run`], and says from time to time how far it is.
pub fn run_watched<P: Program>(
    program: &P,
    global: &mut Global,
    launch: &Launch,
    schedule: Schedule,
    watch: &mut dyn FnMut(Progress),
) -> Report {
    run_observed(program, global, launch, schedule, None, watch)
}

/// As [`run_watched`], and tells an observer what happens: of the last time that the launch runs,
/// which the report is about.
pub fn run_observed<P: Program>(
    program: &P,
    global: &mut Global,
    launch: &Launch,
    schedule: Schedule,
    mut observer: Option<&mut dyn Observer>,
    watch: &mut dyn FnMut(Progress),
) -> Report {
    let before = global.clone();
    let mut once = |uses: Uses| {
        global.clone_from(&before);
        let mut run = Run::new(program, global, launch, schedule, watch);
        run.uses = uses;
        if let Some(observer) = observer.as_deref_mut() {
            observer.restart();
            run.trace.on = true;
            run.observer = Some(observer);
        }
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

impl<P: Program> Run<'_, P> {
    /// A cluster at its start.
    fn begin(&mut self, number: u32, first: [u32; 3], invocations: u32) -> Resident<P::Wave> {
        let begun = Resident::begin(self, number, first, invocations);
        begun.tell_start(self);
        begun
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
                resident.push(self.begin(number, first, invocations));
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
                    resident.push(self.begin(number, first, invocations));
                    current = resident.len() - 1;
                }
                None => current = (current + 1) % resident.len(),
            }
        }
    }
}
