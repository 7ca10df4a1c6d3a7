//! Estimates of time: latencies, waiting, windows, residency, polling, limits.
#![allow(clippy::unwrap_used, clippy::panic)]

use splitbar_sim::memory::Global;
use splitbar_sim::timing::{Estimate, Setup, estimate};
use splitbar_sim::{Clocks, FindingKind, Launch, Limits, Observed, Observer, WaveId, ptx};
use splitbar_target::Target;
use splitbar_target::timing::Timing;
use std::collections::BTreeMap;

fn timing() -> &'static Timing {
    Timing::for_target(Target::by_name("sm_90").unwrap()).unwrap()
}

/// The estimate of a kernel around `body`, in which `%t` is the thread and `s` an mbarrier.
fn run(body: &str, groups: u32, threads: u32, resident: u32, steps: u64) -> Estimate {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<9>;\n.reg .b32 %t;\n\
         .shared .align 16 .b8 s[1024];\nmov.u32 %t, %tid.x;\nmov.b32 %r0, 0f3F800000;\n{body}\nret;\n}}\n"
    );
    let kernel = ptx::kernel(&text, None).unwrap();
    let mut global = Global::default();
    kernel.load(&mut global);
    let launch = Launch {
        groups: [groups, 1, 1],
        cluster: [1; 3],
        workgroup_size: [threads, 1, 1],
        shared_bytes: kernel.shared_bytes() as usize,
        clocks: Clocks::Machine,
        limits: Limits {
            steps,
            ..Limits::default()
        },
    };
    let setup = Setup {
        timing: *timing(),
        resident,
        checks: true,
    };
    let plain = estimate(
        &kernel,
        &mut global.clone(),
        &launch,
        setup,
        None,
        &mut |_| (),
    );
    let mut seen = Seen::default();
    let observer: Option<&mut dyn Observer> = Some(&mut seen);
    let observed = estimate(&kernel, &mut global, &launch, setup, observer, &mut |_| ());
    assert_eq!(format!("{plain:?}"), format!("{observed:?}"));
    assert_eq!(seen.issued, observed.issued);
    assert!(seen.begun.is_empty() || !observed.report.findings.is_empty());
    plain
}

/// An observer that checks the order of what it is told.
#[derive(Default)]
struct Seen {
    issued: u64,
    /// The waves that run, and when each issues next at the earliest.
    begun: BTreeMap<WaveId, u64>,
}

impl Observer for Seen {
    fn restart(&mut self) {
        *self = Seen::default();
    }

    fn observe(&mut self, wave: WaveId, at: u64, what: Observed) {
        if what == Observed::Began {
            assert_eq!(self.begun.insert(wave, at), None);
            return;
        }
        let next = self.begun.get_mut(&wave).unwrap();
        match what {
            Observed::Issued { issued, free, .. } => {
                assert!(*next <= at && at < issued && issued <= free);
                *next = free;
                self.issued += 1;
            }
            Observed::Held { until, .. } => assert!(at < until),
            Observed::Ended => assert!(self.begun.remove(&wave).is_some()),
            _ => {}
        }
    }
}

fn cycles(body: &str, groups: u32, threads: u32, resident: u32) -> u64 {
    let estimate = run(body, groups, threads, resident, 100_000);
    assert!(
        estimate.report.findings.is_empty(),
        "{:?}",
        estimate.report.findings
    );
    estimate.cycles
}

/// A chain of dependent multiply-adds.
fn chain(length: u32) -> String {
    "fma.rn.f32 %r0, %r0, %r0, %r0;\n".repeat(length as usize)
}

/// The first warp works for longer than the others.
fn late(length: u32) -> String {
    format!(
        "setp.gt.u32 %p1, %t, 31;\n@%p1 bra B;\n{}B:\n",
        chain(length)
    )
}

#[test]
fn what_depends_waits_for_the_latency() {
    let latency = u64::from(timing().simple.latency);
    assert_eq!(
        cycles(&chain(30), 1, 32, 1) - cycles(&chain(10), 1, 32, 1),
        20 * latency
    );
    let apart = |count: u32| -> String {
        (0..count)
            .map(|n| format!("fma.rn.f32 %r{}, %r0, %r0, %r0;\n", n + 1))
            .collect()
    };
    let interval = u64::from(timing().simple.interval);
    assert_eq!(
        cycles(&apart(30), 1, 32, 1) - cycles(&apart(10), 1, 32, 1),
        20 * interval
    );
}

#[test]
fn who_comes_early_waits_at_the_barrier() {
    let estimate = run(&(late(50) + "bar.sync 0;\n"), 1, 128, 1, 100_000);
    let barrier = estimate.spent.iter().max_by_key(|spent| spent.stalled);
    let barrier = barrier.unwrap();
    assert_eq!(barrier.issued, 4);
    // Three warps wait for fifty instructions, each for most of the time.
    let work = 50 * u64::from(timing().simple.latency);
    assert!(barrier.stalled > 3 * work - 100, "{barrier:?}");
    assert!(barrier.stalled < 3 * work + 200, "{barrier:?}");
    assert!(barrier.cycles >= barrier.stalled);
}

#[test]
fn a_window_hides_the_late_warp() {
    // The window is a chain too: the others work on it while the first one is late.
    let fused = format!("{}bar.sync 0;\n{}", late(50), chain(50));
    let split = format!(
        "setp.gt.u32 %p2, %t, 31;\n{}@%p2 bra W;\nbar.arrive 1, 128;\n{}bra E;\nW:\n{}bar.sync 1, 128;\nE:\n",
        late(50),
        chain(50),
        chain(50)
    );
    let (fused, split) = (cycles(&fused, 1, 128, 1), cycles(&split, 1, 128, 1));
    assert!(split <= fused, "{split} {fused}");
    // All come at the same time: nothing is hidden.
    let even = cycles(
        &format!("{}bar.sync 0;\n{}", chain(50), chain(50)),
        1,
        128,
        1,
    );
    assert!(even.abs_diff(fused) < 60, "{even} {fused}");
}

#[test]
fn workgroups_fill_the_waits_of_each_other() {
    let body = late(50) + "bar.sync 0;\n" + &chain(50);
    let alone = cycles(&body, 4, 128, 1);
    let together = cycles(&body, 4, 128, 4);
    assert!(2 * together < alone, "{together} {alone}");
    // One after the other is four times one.
    assert!(alone.abs_diff(4 * cycles(&body, 1, 128, 1)) < 20);
}

#[test]
fn a_wait_that_suspends_issues_less_than_one_that_polls() {
    let wait = |how: &str| {
        format!(
            "setp.ne.u32 %p1, %t, 0;\n@%p1 bra I;\nmbarrier.init.shared.b64 [s], 64;\nI:\nbar.sync 0;\n{}\
             mbarrier.arrive.shared.b64 %rd1, [s];\nL:\nmbarrier.{how}.parity.shared.b64 %p2, [s], 0;\n@!%p2 bra L;\n",
            late(100).replace("B", "C").replace("%p1", "%p3")
        )
    };
    let polls = run(&wait("test_wait"), 1, 64, 1, 100_000);
    let suspends = run(&wait("try_wait"), 1, 64, 1, 100_000);
    assert!(polls.report.findings.is_empty() && suspends.report.findings.is_empty());
    assert!(
        polls.issued > suspends.issued + 10,
        "{} {}",
        polls.issued,
        suspends.issued
    );
    assert!(polls.cycles.abs_diff(suspends.cycles) < 60);
}

#[test]
fn hostile_kernels_end() {
    let kinds = |estimate: Estimate| -> Vec<FindingKind> {
        estimate.report.findings.iter().map(|f| f.kind).collect()
    };
    let forever = run("L:\nbra L;\n", 4, 64, 2, 1000);
    assert_eq!(kinds(forever), [FindingKind::StepLimit]);
    let stuck = run(
        "setp.gt.u32 %p1, %t, 31;\n@%p1 bra E;\nbar.sync 1, 64;\nE:\n",
        1,
        64,
        1,
        1000,
    );
    assert!(kinds(stuck).contains(&FindingKind::Deadlock));
}
