//! The machine by itself, with a toy program of one lane per wave.
#![allow(clippy::unwrap_used)]

use pretty_assertions::assert_eq;
use splitbar_sim::barrier::{Name, Phase};
use splitbar_sim::clock::Order;
use splitbar_sim::memory::{Global, Space};
use splitbar_sim::{
    Access, At, Clocks, CodeLocation, Context, FindingKind, Group, Lane, Launch, Limits, Program,
    Report, Schedule, Scope, Step, WaveStart, run,
};

/// One step. Addresses are shared dwords, relative to the wave's own where that is said.
#[derive(Copy, Clone, Debug)]
enum Op {
    /// Writes the wave's number to its own dword.
    WriteOwn,
    /// Reads the next wave's dword.
    ReadNext,
    Signal,
    Wait,
    /// Sets dword 63 with an atomic store that releases.
    Raise,
    /// Spins until dword 63 is set.
    Spin,
    /// Spins until dword 63 is set, unless it is wave 0, which pauses once.
    PauseAndSpin,
    /// Ends wave 1 here.
    EndOne,
}

struct Toy(Vec<Op>);

struct Wave {
    pc: usize,
    phase: Phase,
    waiting: bool,
}

impl Program for Toy {
    type Wave = Wave;

    fn wave_size(&self) -> u32 {
        32
    }

    fn enter(&self, group: &mut Group) {
        group.barriers.make(Name::Workgroup, group.waves.into());
    }

    fn start(&self, _: &WaveStart) -> Wave {
        Wave {
            pc: 0,
            phase: 0,
            waiting: false,
        }
    }

    fn step(&self, wave: &mut Wave, cx: &mut Context<'_>) -> Step {
        let Some(op) = self.0.get(wave.pc) else {
            return Step::Done;
        };
        let at = At {
            pc: wave.pc as u32,
            lane: Lane::new(0),
        };
        let own = u64::from(cx.wave) * 4;
        let mut word = [0; 4];
        match op {
            Op::WriteOwn => {
                let value = u32::from(cx.wave).to_le_bytes();
                cx.write(Space::Shared, own, &value, at, Access::PLAIN);
            }
            Op::ReadNext => {
                let next = u64::from((cx.wave + 1) % cx.group.waves) * 4;
                cx.read(Space::Shared, next, &mut word, at, Access::PLAIN);
            }
            Op::Signal => {
                let phase = cx.arrive(Name::Workgroup, 1, Order::Release);
                wave.phase = phase.unwrap().unwrap();
            }
            Op::Wait => {
                wave.waiting = !cx.pass(Name::Workgroup, wave.phase, Order::Acquire);
                if wave.waiting {
                    return Step::Blocked;
                }
            }
            Op::Raise if cx.wave == 0 => {
                let release = Access::atomic(Order::Release, Scope::Workgroup);
                cx.write(Space::Shared, 252, &[1, 0, 0, 0], at, release);
            }
            Op::Raise => {}
            Op::Spin => {
                let acquire = Access::atomic(Order::Acquire, Scope::Workgroup);
                cx.read(Space::Shared, 252, &mut word, at, acquire);
                if word != [1, 0, 0, 0] {
                    return Step::Ran(1);
                }
            }
            Op::PauseAndSpin if cx.wave == 0 => {
                wave.pc += 1;
                return Step::Yielded(1);
            }
            Op::PauseAndSpin => {
                let acquire = Access::atomic(Order::Acquire, Scope::Workgroup);
                cx.read(Space::Shared, 252, &mut word, at, acquire);
                if word != [1, 0, 0, 0] {
                    return Step::Ran(1);
                }
            }
            Op::EndOne if cx.wave == 1 => return Step::Done,
            Op::EndOne => {}
        }
        wave.pc += 1;
        Step::Ran(1)
    }

    fn waiting(&self, wave: &Wave) -> Vec<(u32, Option<Name>)> {
        let name = wave.waiting.then_some(Name::Workgroup);
        vec![(wave.pc as u32, name)]
    }

    fn place(&self, pc: u32) -> CodeLocation {
        CodeLocation {
            address: pc.into(),
            text: self
                .0
                .get(pc as usize)
                .map_or_else(String::new, |op| format!("{op:?}")),
            word: None,
        }
    }
}

fn launch(ops: &[Op], index: u32) -> Report {
    let launch = Launch {
        groups: [2, 1, 1],
        cluster: [1; 3],
        workgroup_size: [128, 1, 1],
        shared_bytes: 256,
        clocks: Clocks::Machine,
        limits: Limits {
            steps: 1_000_000,
            ..Limits::default()
        },
    };
    run(
        &Toy(ops.to_vec()),
        &mut Global::default(),
        &launch,
        Schedule::nth(index, 1),
    )
}

fn kinds(ops: &[Op], index: u32) -> Vec<FindingKind> {
    launch(ops, index).findings.iter().map(|f| f.kind).collect()
}

#[test]
fn a_split_barrier_orders() {
    for index in 0..16 {
        let ops = [Op::WriteOwn, Op::Signal, Op::Wait, Op::ReadNext];
        assert_eq!(kinds(&ops, index), [], "{}", Schedule::nth(index, 1));
        let ops = [
            Op::WriteOwn,
            Op::Signal,
            Op::Wait,
            Op::ReadNext,
            Op::Signal,
            Op::Wait,
            Op::WriteOwn,
        ];
        assert_eq!(kinds(&ops, index), []);
    }
}

#[test]
fn an_access_in_the_window_is_ordered_with_neither_side() {
    for index in 0..16 {
        assert!(
            kinds(&[Op::WriteOwn, Op::Signal, Op::ReadNext, Op::Wait], index)
                .contains(&FindingKind::SharedRace)
        );
        assert!(
            kinds(&[Op::Signal, Op::WriteOwn, Op::Wait, Op::ReadNext], index)
                .contains(&FindingKind::SharedRace)
        );
    }
}

#[test]
fn uninitialised_memory_is_noticed() {
    assert_eq!(
        kinds(&[Op::ReadNext], 0),
        [FindingKind::UninitialisedShared]
    );
}

#[test]
fn who_waits_where_is_said() {
    let report = launch(&[Op::EndOne, Op::Signal, Op::Wait], 0);
    assert_eq!(report.findings.len(), 1);
    let finding = &report.findings[0];
    assert_eq!(finding.kind, FindingKind::Deadlock);
    assert_eq!(
        finding.message,
        "wave 0 waits at 0x2 `Wait` for the workgroup barrier (3 of 4 have arrived in phase 0); wave 1 has ended; \
         wave 2 waits at 0x2 `Wait` for the workgroup barrier (3 of 4 have arrived in phase 0); \
         wave 3 waits at 0x2 `Wait` for the workgroup barrier (3 of 4 have arrived in phase 0)"
    );
}

#[test]
fn a_spinning_wave_does_not_starve_the_one_it_waits_for() {
    for index in 0..16 {
        let found = kinds(&[Op::WriteOwn, Op::Raise, Op::Spin], index);
        assert!(
            !found.contains(&FindingKind::StepLimit),
            "{}",
            Schedule::nth(index, 1)
        );
    }
}

/// A wave that pauses gets its turn, though the others never pause.
#[test]
fn waves_that_spin_do_not_starve_one_that_pauses() {
    for index in 0..16 {
        let found = kinds(&[Op::WriteOwn, Op::PauseAndSpin, Op::Raise], index);
        let schedule = Schedule::nth(index, 1);
        assert!(!found.contains(&FindingKind::StepLimit), "{schedule}");
    }
}

#[test]
fn the_step_limit_ends_a_launch() {
    let found = kinds(&[Op::Spin], 0);
    assert!(found.contains(&FindingKind::StepLimit));
}

#[test]
fn a_schedule_can_be_replayed() {
    let of = |index| {
        let report = launch(&[Op::WriteOwn, Op::Signal, Op::ReadNext, Op::Wait], index);
        (report.findings, report.steps)
    };
    for index in 0..8 {
        assert_eq!(of(index), of(index));
    }
}
