//! Plans in the execution model: as they are they hold, and without any one of their barrier steps
//! they do not.

mod support;

use anyhow::{Context, Result, anyhow, ensure};
use expect_test::expect;
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::analysis::pairing::SiteKind;
use splitbar_passes::model::protocol::{FULL, SPLIT};
use splitbar_passes::model::skeleton::Node;
use splitbar_passes::model::skeleton::{BarrierRole, Skeleton};
use splitbar_passes::model::{Axiom, Op, Report, Verdict, explore};
use splitbar_passes::module::{Declarations, WordOffset};
use splitbar_plan::model::{cluster, system};
use splitbar_plan::{AmdgpuStep, EntryPlan, PlanOptions, Step, Strategy, Target};
use std::fmt::Write;
use support::with_plan;

/// A kernel without functions that have barriers, so that its plan needs no inlining.
struct Kernel {
    plan: EntryPlan,
    skeleton: Skeleton,
    target: &'static Target,
}

impl Kernel {
    fn load(kernel: &str, target: &str, strategy: Strategy) -> Result<Kernel> {
        Kernel::with_full(kernel, target, strategy, None)
    }

    /// With a full barrier in place of the pair of that number.
    fn with_full(
        kernel: &str,
        target: &str,
        strategy: Strategy,
        full: Option<usize>,
    ) -> Result<Kernel> {
        let options = |kernel: &splitbar_layout::Kernel<'_>| {
            let arrive = full.and_then(|full| {
                let arrive = kernel.pairing.pairs.get(full)?.arrives.first()?;
                kernel.pairing.site(*arrive)
            });
            ensure!(full.is_some() == arrive.is_some(), "no such pair");
            Ok(PlanOptions {
                strategy: Some(strategy),
                full: arrive.map(|site| site.offset).into_iter().collect(),
                cluster: (strategy == Strategy::Cluster).then_some([2, 1, 1]),
                ..PlanOptions::default()
            })
        };
        with_plan(kernel, target, options, Kernel::new)
    }

    fn new(declarations: &Declarations<'_>, plan: EntryPlan) -> Result<Kernel> {
        let place = |offset: WordOffset| {
            let stands =
                plan.at_instruction.contains_key(&offset) || plan.at_return.contains_key(&offset);
            let site = plan.sites.iter().find(|site| site.offset == offset);
            stands.then_some(match site.map(|site| site.kind) {
                Some(SiteKind::Arrive) => BarrierRole::Arrive,
                Some(SiteKind::Wait) => BarrierRole::Wait,
                Some(SiteKind::ControlBarrier | SiteKind::MemoryBarrier) | None => {
                    BarrierRole::Other
                }
            })
        };
        let function = declarations.function(plan.function);
        let function = function.context("no function")?;
        let cfg = Cfg::analyze(declarations.module, function);
        let skeleton = Skeleton::build(function, &cfg, 2, place).map_err(|why| anyhow!(why))?;
        Ok(Kernel {
            target: Target::by_name(plan.target).context("no such target")?,
            plan,
            skeleton,
        })
    }

    fn explore(&self, plan: &EntryPlan) -> Report {
        let arch = &self.target.arch;
        explore(&system(plan, arch, &self.skeleton, 3, |word| {
            format!("word {word}")
        }))
    }

    /// The plans with one step less, each with what it lacks.
    fn mutants(&self) -> Vec<(String, EntryPlan)> {
        let mut mutants = Vec::new();
        let mut lists: Vec<(String, List)> =
            vec![("entry".to_owned(), Box::new(|plan| &mut plan.at_entry))];
        for site in &self.plan.sites {
            let offset = site.offset;
            let name = format!("{:?} #{}", site.kind, site.id.0);
            lists.push((
                name,
                Box::new(move |plan| plan.at_instruction.entry(offset).or_default()),
            ));
        }
        for offset in self.plan.at_return.keys().copied() {
            lists.push((
                "return".to_owned(),
                Box::new(move |plan| plan.at_return.entry(offset).or_default()),
            ));
        }
        lists.push(("end".to_owned(), Box::new(|plan| &mut plan.at_end)));
        for (name, list) in lists {
            let steps = list(&mut self.plan.clone()).clone();
            for (index, step) in steps.iter().enumerate() {
                let mut mutant = self.plan.clone();
                list(&mut mutant).remove(index);
                mutants.push((format!("{name} without {step}"), mutant));
            }
        }
        mutants
    }
}

/// One of a plan's lists of steps.
type List = Box<dyn Fn(&mut EntryPlan) -> &mut Vec<Step>>;

/// Every kernel holds as it is planned; what is left of it when a step is gone, by verdict.
fn survey(kernels: &[(&str, &str, Strategy)]) -> Result<String> {
    let mut text = String::new();
    for (name, target, strategy) in kernels {
        let kernel = Kernel::load(name, target, *strategy)?;
        let report = kernel.explore(&kernel.plan);
        ensure!(
            report.verdict == Verdict::Proved,
            "{name} on {target}: {report}"
        );
        writeln!(text, "{name}, {strategy} on {target}")?;
        for (what, mutant) in kernel.mutants() {
            let verdict = match kernel.explore(&mutant).verdict {
                Verdict::Undefined { axiom, .. } => axiom.name(),
                other => other.name(),
            };
            // The model does not speak of memory and scheduling.
            let is_silent = ["fence", "window", "wait-zero"]
                .iter()
                .any(|word| what.contains(word));
            if !is_silent || verdict != "proved" || what.contains('{') {
                writeln!(text, "  {what}: {verdict}")?;
            }
        }
    }
    Ok(text)
}

/// What survives is not needed in this kernel: behind the full barrier of `arrive_barrier_wait` the
/// wait has nothing left to wait for, and without the note nothing waits twice. Whoever leaves does
/// it for waves that go on without him, of which the model's uniform choices make none.
#[test]
fn every_barrier_step_is_needed() -> Result<()> {
    let kernels = [
        ("tiled_matmul", "gfx1201", Strategy::Native),
        ("tiled_matmul", "gfx1100", Strategy::Fused),
        ("tiled_matmul", "gfx1100", Strategy::Counter),
        ("tiled_matmul", "sm_90", Strategy::Mbarrier),
        ("tiled_matmul", "sm_90", Strategy::Cluster),
        ("tiled_matmul", "gfx1250", Strategy::Named),
        ("arrive_barrier_wait", "gfx1201", Strategy::Native),
        ("arrive_barrier_wait", "gfx1100", Strategy::Fused),
        ("dangling_arrive", "gfx1201", Strategy::Native),
        ("uniform_ifs", "gfx1201", Strategy::Native),
        ("dangling_arrive", "sm_75", Strategy::WarpNamed),
        ("dangling_arrive", "sm_75", Strategy::GroupNamed),
        ("uniform_ifs", "sm_75", Strategy::GroupNamed),
    ];
    expect![[r#"
        tiled_matmul, native on gfx1201
          ControlBarrier #0 without workgroup-barrier: early
          Arrive #1 without signal: deadlock
          Wait #2 without wait-signal: early
        tiled_matmul, fused on gfx1100
          ControlBarrier #0 without workgroup-barrier: early
          Wait #2 without workgroup-barrier: early
        tiled_matmul, counter on gfx1100
          entry without counter-init: early
          ControlBarrier #0 without workgroup-barrier: early
          Arrive #1 without counter-arrive: early
          Wait #2 without counter-wait: early
        tiled_matmul, mbarrier on sm_90
          entry without mbarrier-init: FirstIsInit
          ControlBarrier #0 without cta-sync: early
          Arrive #1 without mbarrier-arrive: deadlock
          Wait #2 without mbarrier-wait try: early
        tiled_matmul, cluster on sm_90
          ControlBarrier #0 without cta-sync: early
          Arrive #1 without cluster-arrive: deadlock
          Wait #2 without cluster-wait: early
        tiled_matmul, named on gfx1250
          entry without named-init: Initialised
          entry without named-join: JoinedBeforeDrop
          ControlBarrier #0 without workgroup-barrier: early
          Arrive #1 without named-arrive: deadlock
          Wait #2 without named-wait: early
          end without named-leave: proved
        arrive_barrier_wait, native on gfx1201
          Arrive #0 without signal: deadlock
          Arrive #0 without set-outstanding: early
          ControlBarrier #1 without if-outstanding { wait-signal; clear-outstanding; }: early
          ControlBarrier #1 without workgroup-barrier: early
          Wait #2 without if-outstanding { close-window; wait-signal; leave-window; clear-outstanding; }: proved
        arrive_barrier_wait, fused on gfx1100
          Arrive #0 without set-outstanding: proved
          ControlBarrier #1 without workgroup-barrier: early
          ControlBarrier #1 without clear-outstanding: proved
          Wait #2 without if-outstanding { workgroup-barrier; clear-outstanding; }: proved
        dangling_arrive, native on gfx1201
          Arrive #0 without signal: deadlock
          Wait #1 without wait-signal: early
          Arrive #2 without signal: deadlock
          return without wait-signal: CompleteBeforeDrop
        uniform_ifs, native on gfx1201
          Arrive #0 without signal: deadlock
          Arrive #0 without set-outstanding: CompleteBeforeDrop
          Wait #1 without wait-signal: early
          Wait #1 without clear-outstanding: deadlock
          return without if-outstanding { wait-signal; clear-outstanding; }: CompleteBeforeDrop
        dangling_arrive, warp-named on sm_75
          Arrive #0 without group-arrive (4 warps in 4 groups, 2 sets): deadlock
          Wait #1 without group-sync (4 warps in 4 groups, 2 sets): early
          Arrive #2 without group-arrive (4 warps in 4 groups, 2 sets): deadlock
          end without group-sync (4 warps in 4 groups, 2 sets): CompleteAtEnd
        dangling_arrive, group-named on sm_75
          Arrive #0 without group-arrive (4 warps in 4 groups, 2 sets): deadlock
          Wait #1 without group-sync (4 warps in 4 groups, 2 sets): early
          Arrive #2 without group-arrive (4 warps in 4 groups, 2 sets): deadlock
          end without group-sync (4 warps in 4 groups, 2 sets): CompleteAtEnd
        uniform_ifs, group-named on sm_75
          Arrive #0 without group-arrive (4 warps in 4 groups, 2 sets): deadlock
          Arrive #0 without set-outstanding: CompleteAtEnd
          Wait #1 without group-sync (4 warps in 4 groups, 2 sets): early
          Wait #1 without clear-outstanding: deadlock
          end without if-outstanding { group-sync (4 warps in 4 groups, 2 sets); clear-outstanding; }: CompleteAtEnd
    "#]]
    .assert_eq(&survey(&kernels)?);
    Ok(())
}

/// A full barrier in place of some pairs, each in turn, beside others that are split.
#[test]
fn pairs_are_fused_beside_others() -> Result<()> {
    let kernels = [
        "dangling_arrive",
        "tiled_matmul_double_buffered",
        "softmax",
        "async_overlap",
        "arrive_barrier_wait",
        "uniform_ifs",
    ];
    let ways = [
        ("gfx1201", Strategy::Native),
        ("gfx1250", Strategy::Named),
        ("gfx1100", Strategy::Counter),
        ("sm_90", Strategy::Mbarrier),
        ("sm_90", Strategy::Cluster),
        ("sm_75", Strategy::GroupNamed),
    ];
    let mut mixed = 0;
    for name in kernels {
        for (target, strategy) in ways {
            let all = Kernel::load(name, target, strategy)?;
            let pairs = all.plan.pairs.len();
            for full in 0..pairs {
                let kernel = Kernel::with_full(name, target, strategy, Some(full))?;
                let strategies = kernel.plan.pairs.iter().map(|pair| pair.strategy);
                let expected = (0..pairs).map(|pair| {
                    if pair == full {
                        Strategy::Fused
                    } else {
                        strategy
                    }
                });
                ensure!(
                    strategies.eq(expected),
                    "{name} on {target}: {}",
                    kernel.plan
                );
                let report = kernel.explore(&kernel.plan);
                ensure!(
                    report.verdict == Verdict::Proved,
                    "{name} on {target} with pair {full} fused: {report}"
                );
                mixed += usize::from(pairs > 1);
            }
        }
    }
    ensure!(mixed >= 24, "{mixed}");
    // An arrive that is never waited for is completed at the end if it is a split one.
    let kernel = Kernel::with_full("dangling_arrive", "gfx1201", Strategy::Native, Some(0))?;
    let mut lost = kernel.mutants().into_iter();
    let lost = lost.find(|(what, _)| what.starts_with("return without if-outstanding"));
    let (_, lost) = lost.context("nothing completes it")?;
    ensure!(kernel.explore(&lost).verdict != Verdict::Proved);
    let kernel = Kernel::with_full("dangling_arrive", "gfx1201", Strategy::Native, Some(1))?;
    for (what, mutant) in kernel.mutants() {
        let meets = ["signal", "workgroup-barrier"]
            .iter()
            .any(|step| what.contains(step));
        if meets && what.contains("#") {
            ensure!(kernel.explore(&mutant).verdict != Verdict::Proved, "{what}");
        }
    }
    Ok(())
}

/// Two workgroups of two waves, and what becomes of them without one of the steps. Nothing is
/// promised there of the full barriers, which each workgroup has for itself.
#[test]
fn the_workgroups_of_a_cluster_meet() -> Result<()> {
    let mut text = String::new();
    for target in ["gfx1250", "sm_90"] {
        let kernel = Kernel::load("tiled_matmul", target, Strategy::Cluster)?;
        let verdict = |plan: &EntryPlan| {
            let arch = &kernel.target.arch;
            let system = cluster(plan, arch, &kernel.skeleton, 2, 2, |word| {
                format!("word {word}")
            });
            explore(&system).verdict
        };
        ensure!(verdict(&kernel.plan) == Verdict::Proved, "{target}");
        let mut mutants = kernel.mutants();
        // One arrival of each workgroup is right; what every wave does is not.
        let mut all_arrive = kernel.plan.clone();
        for steps in all_arrive.at_instruction.values_mut() {
            for step in steps.iter_mut() {
                if matches!(step, Step::IfFirst(_)) {
                    *step = Step::ClusterArrive;
                }
            }
        }
        if all_arrive.at_instruction != kernel.plan.at_instruction {
            mutants.push(("every wave arrives".to_owned(), all_arrive));
        }
        for (what, mutant) in mutants {
            let verdict = match verdict(&mutant) {
                Verdict::Undefined { axiom, .. } => axiom.name(),
                other => other.name(),
            };
            if !["fence", "window", "wait-zero"]
                .iter()
                .any(|word| what.contains(word))
            {
                writeln!(text, "{target}: {what}: {verdict}")?;
            }
        }
    }
    expect![[r#"
        gfx1250: ControlBarrier #0 without workgroup-barrier: proved
        gfx1250: Arrive #1 without signal-first: deadlock
        gfx1250: Arrive #1 without wait-signal: early
        gfx1250: Arrive #1 without if-first { cluster-arrive; }: deadlock
        gfx1250: Wait #2 without cluster-wait: early
        gfx1250: every wave arrives: early
        sm_90: ControlBarrier #0 without cta-sync: proved
        sm_90: Arrive #1 without cluster-arrive: deadlock
        sm_90: Wait #2 without cluster-wait: early
    "#]]
    .assert_eq(&text);
    Ok(())
}

/// A wave that ends before the others: the named object, unlike the workgroup's own, waits for it
/// unless it leaves.
#[test]
fn a_wave_that_ends_leaves_the_named_barrier() -> Result<()> {
    let kernel = Kernel::load("tiled_matmul", "gfx1250", Strategy::Named)?;
    ensure!(
        kernel.plan.at_end == [Step::Amdgpu(AmdgpuStep::NamedLeave)],
        "nobody leaves"
    );
    let nothing = Skeleton {
        nodes: vec![Node {
            places: Vec::new(),
            next: Vec::new(),
        }],
        is_partial: false,
        is_cut: false,
    };
    let verdict = |leaves: bool, arrives: bool| {
        let of = |plan: &EntryPlan, skeleton| {
            system(plan, &kernel.target.arch, skeleton, 3, |word| {
                format!("word {word}")
            })
        };
        let mut ends_at_once = kernel.plan.clone();
        ends_at_once.at_end.clear();
        let mut all = of(&kernel.plan, &kernel.skeleton);
        let object = all.objects.iter().position(|object| object.exclusive);
        let object = u8::try_from(object.unwrap_or_default()).unwrap_or_default();
        let early = of(&ends_at_once, &nothing).threads.pop();
        if let (Some(mut early), Some(last)) = (early, all.threads.last_mut()) {
            // Nobody waits for who has ended: he counts as having arrived, as often as the others
            // do.
            for _ in 0..4 {
                early
                    .program
                    .extend([Op::Arrived(SPLIT), Op::Arrived(FULL)]);
            }
            if arrives {
                early.program.push(Op::Arrive {
                    object: object.into(),
                    expected: None,
                });
            }
            if leaves {
                early.program.push(Op::Drop(object.into()));
            }
            *last = early;
        }
        explore(&all).verdict
    };
    ensure!(verdict(true, false) == Verdict::Proved);
    ensure!(matches!(verdict(false, false), Verdict::Deadlock { .. }));
    ensure!(matches!(
        verdict(true, true),
        Verdict::Undefined {
            axiom: Axiom::CompleteBeforeDrop,
            ..
        }
    ));
    Ok(())
}
