//! Full barriers, split: in every kernel the pairs are fused and then split again. The results on
//! the simulator are those of the host references, without findings.

use crate::sim::agrees;
use crate::support::{compile_bytes, linkable, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use spirv::Op;
use splitbar::diagnostic::Code;
use splitbar::{
    BarrierKind, Choice, Compiler, Optimization, Options, PairPlan, SplitBarriers, Strategy, Target,
};
use splitbar_passes::analysis::callgraph::CallGraph;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Declarations, Id, Inst, Module, Scope, WordOffset};
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::FuseAt;
use splitbar_passes::transform::registry::{
    FREEZE_SPECIALIZATION_CONSTANTS, FUSE_SPLIT_BARRIERS, PREFETCH_BARRIER_LOOP_LOADS, PassOptions,
    UNROLL_BARRIER_LOOPS,
};
use splitbar_tests::corpus;
use splitbar_tests::fixture::{self, Fixture};
use std::collections::BTreeSet;
use std::ops::Range;

const TARGETS: [&str; 7] = [
    "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_75", "sm_90",
];

/// The options that move other instructions.
type Stage = fn(&mut Options);

/// Suffixes of test names, and the options to set.
const STAGES: [(&str, Stage); 3] = [
    ("", |_| ()),
    ("/filled", |options| options.fill_windows = Some(96)),
    ("/staged", |options| {
        options.fill_windows = Some(96);
        options.prefetch_loop_loads = true;
        options.unroll_barrier_loops = Some(2048);
    }),
];

/// Scope Workgroup (SPIR-V 3.27).
const WORKGROUP: u32 = 2;

/// Schedules of each kernel.
const SCHEDULES: u32 = 8;

/// Targets on which each pair in turn is a full barrier and the others are split.
const MIXED: [(&str, Optimization); 7] = [
    ("gfx942", Optimization::O2),
    ("gfx1201", Optimization::O0),
    ("gfx1201", Optimization::O2),
    ("gfx1250", Optimization::O2),
    ("sm_75", Optimization::O2),
    ("sm_80", Optimization::O0),
    ("sm_90", Optimization::O2),
];

/// Kernels whose windows, fused and split again, are at least as large as the hand-written ones, in
/// instructions of the final code, by target.
const WINDOWS: [(&str, &str, u32); 2] = [
    ("tiled_matmul", "gfx1201", 64),
    ("tiled_matmul", "sm_90", 64),
];

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for fixture in fixtures {
        for target in TARGETS {
            for (level, optimization) in [(0, Optimization::O0), (2, Optimization::O2)] {
                let name = format!("split/{}/{target}/O{level}", fixture.name);
                for (suffix, stage) in STAGES {
                    let fixture = fixture.clone();
                    trials.push(trial(format!("{name}{suffix}"), move || {
                        simulated(&fixture, target, optimization, stage)
                    }));
                }
            }
        }
    }
    for fixture in fixtures {
        for (target, optimization) in MIXED {
            let fixture = fixture.clone();
            let name = format!("split/{}/{target}/mixed", fixture.name);
            trials.push(trial(name, move || mixed(&fixture, target, optimization)));
        }
    }
    for fixture in fixtures {
        for target in ["gfx1100", "gfx1201", "sm_75", "sm_90"] {
            for choice in [Choice::Balanced, Choice::Fast] {
                let fixture = fixture.clone();
                let name = format!("split/{}/{target}/auto/{choice:?}", fixture.name);
                trials.push(trial(name, move || chosen(&fixture, target, choice)));
            }
        }
    }
    for target in TARGETS {
        for (level, optimization) in [(0, Optimization::O0), (2, Optimization::O2)] {
            for (suffix, stage) in STAGES {
                let title = format!("split/bounded_matmul/{target}/O{level}{suffix}");
                trials.push(trial(title, move || bounded(target, optimization, stage)));
            }
        }
    }
    trials.push(trial(
        "split/bounded_matmul/loads".to_owned(),
        stages_bounded,
    ));
    for target in ["gfx1100", "gfx1201", "sm_90"] {
        let title = format!("split/corpus/outcomes/{target}");
        trials.push(trial(title, || every_barrier_has_an_outcome(target)));
    }
    for (name, target, least) in WINDOWS {
        let title = format!("split/{name}/{target}/window");
        trials.push(trial(title, move || window(name, target, least)));
    }
    trials
}

/// The module with OpControlBarriers in place of its pairs.
pub(crate) fn fused(bytes: &[u8]) -> Result<Vec<u8>> {
    let module = told(Module::parse(bytes))?.into_owned();
    let pass = FUSE_SPLIT_BARRIERS;
    let options = PassOptions::Fuse(FuseAt::Wait);
    let steps = [Step { pass, options }];
    let outcome = told(pipeline::run(
        module,
        &steps,
        Settings::default(),
        &mut |_, _| (),
    ))?;
    Ok(outcome.module.to_bytes())
}

fn simulated(
    fixture: &Fixture,
    target: &str,
    optimization: Optimization,
    stage: Stage,
) -> Result<()> {
    let fused = fused(&fixture.module()?)?;
    let output = compile_bytes(&fused, target, |options| {
        options.optimization = optimization;
        options.split_barriers = SplitBarriers::Always;
        stage(options);
    })?;
    linkable(target)?;
    agrees(fixture, &output, SCHEDULES)
}

/// `fixtures/timing/bounded_matmul.comp`, which loads under bounds checks.
fn bounded_matmul() -> Result<Vec<u8>> {
    let module = fixture::root().join("fixtures/timing/bounded_matmul.spv");
    Ok(std::fs::read(module)?)
}

/// Loads under bounds checks, one iteration ahead and not: the product is that of `plain_matmul`,
/// whose last tile is partly outside here.
fn bounded(target: &str, optimization: Optimization, stage: Stage) -> Result<()> {
    let output = compile_bytes(&bounded_matmul()?, target, |options| {
        options.optimization = optimization;
        options.split_barriers = SplitBarriers::Always;
        stage(options);
    })?;
    linkable(target)?;
    agrees(&Fixture::load("plain_matmul")?, &output, SCHEDULES)
}

/// All eight loads of an iteration are staged: they are before the loop and in it.
fn stages_bounded() -> Result<()> {
    let unroll = Step {
        pass: UNROLL_BARRIER_LOOPS,
        options: PassOptions::Unroll(2048),
    };
    let unrolling = [Step::plain(FREEZE_SPECIALIZATION_CONSTANTS), unroll];
    let staging = [Step::plain(PREFETCH_BARRIER_LOOP_LOADS)];
    let run = |module: Module<'static>, steps: &[Step]| {
        let settings = Settings::default();
        let outcome = told(pipeline::run(module, steps, settings, &mut |_, _| ()))?;
        anyhow::Ok(outcome.module)
    };
    // Chains of a buffer's elements, each for one load.
    let chains = |module: &Module<'_>| {
        let is_buffer = |inst: &Inst<'_>| {
            let index = inst.operands().len();
            inst.op() == Some(Op::AccessChain) && index == 3
        };
        module.instructions().filter(is_buffer).count()
    };
    let given = told(Module::parse(&bounded_matmul()?))?.into_owned();
    let unrolled = run(given, &unrolling)?;
    let before = chains(&unrolled);
    let after = chains(&run(unrolled, &staging)?);
    ensure!(after == before + 8, "{before} addresses, then {after}");
    Ok(())
}

/// Splits every barrier but one, for each of them in turn, both hand-written pairs and full
/// barriers. GPUs without a split barrier use a counter.
fn mixed(fixture: &Fixture, target: &str, optimization: Optimization) -> Result<()> {
    let written = fixture.module()?;
    for (bytes, split) in [(&written, false), (&fused(&written)?, true)] {
        let module = told(Module::parse(bytes))?;
        let is_barrier = |inst: &Inst<'_>| match inst.op() {
            Some(Op::ControlBarrier) => split,
            Some(Op::ControlBarrierArriveINTEL) => true,
            _ => false,
        };
        let barriers: Vec<_> = module
            .instructions()
            .filter(is_barrier)
            .map(|inst| inst.offset)
            .collect();
        if barriers.len() < 2 {
            continue; // nothing to mix
        }
        for full in barriers {
            let output = compile_bytes(bytes, target, |options| {
                options.optimization = optimization;
                options.full_barriers.insert(full);
                if target == "gfx942" {
                    options.strategy = Some(Strategy::Counter);
                }
                if split {
                    options.split_barriers = SplitBarriers::Always;
                }
            })?;
            linkable(target)?;
            agrees(fixture, &output, SCHEDULES / 2)
                .with_context(|| format!("with a full barrier at word {full}, split {split}"))?;
        }
    }
    Ok(())
}

/// Splits the barriers for which that pays off: the results are right, the decisions name
/// instructions of the input module, and barriers that are not split stay full.
fn chosen(fixture: &Fixture, target: &str, choice: Choice) -> Result<()> {
    let bytes = fused(&fixture.module()?)?;
    let output = compile_bytes(&bytes, target, |options| {
        options.choice = choice;
        options.split_barriers = SplitBarriers::Auto;
    })?;
    let module = told(Module::parse(&bytes))?;
    let is_full = |word| {
        let inst = module.at(word);
        inst.is_some_and(|inst| inst.op() == Some(Op::ControlBarrier))
    };
    // Of one entry point at least: not every one has every barrier.
    let mut outcomes = BTreeSet::new();
    for entry in output.entries() {
        let decisions = entry.decisions.as_ref().context("nothing was decided")?;
        for barrier in &decisions.barriers {
            ensure!(is_full(barrier.word), "no barrier at word {}", barrier.word);
            ensure!(barrier.kind == BarrierKind::Full, "word {}", barrier.word);
        }
        for moved in &entry.motions {
            ensure!(is_full(moved.word), "no barrier at word {}", moved.word);
        }
        for word in barriers_of_workgroup(&module) {
            let mut decided = decisions.barriers.iter();
            let split = decided.any(|barrier| barrier.word == word && barrier.split);
            let unsplit = entry.unsplit.iter().find(|barrier| barrier.word == word);
            ensure!(
                !(split && unsplit.is_some()),
                "word {word}: {}",
                output.plan()
            );
            ensure!(
                unsplit.is_none_or(|barrier| barrier.reason.len() > 10),
                "word {word}: {unsplit:?}"
            );
            if split || unsplit.is_some() {
                outcomes.insert(word);
            }
        }
        let split = decisions.barriers.iter().any(|barrier| barrier.split);
        let of_workgroup = |pair: &&PairPlan| pair.scope == Scope::Workgroup;
        let pairs = entry.plan.pairs.iter().filter(of_workgroup).count();
        if choice == Choice::Balanced {
            ensure!(split == (pairs > 0), "{}", output.plan());
        }
    }
    let called = called(&module);
    for word in barriers_of_workgroup(&module) {
        ensure!(
            outcomes.contains(&word) || !called.iter().any(|words| words.contains(&word)),
            "word {word}: {}",
            output.plan()
        );
    }
    linkable(target)?;
    agrees(fixture, &output, SCHEDULES / 2)
}

/// The positions of the functions that an entry point calls: translators leave others in the
/// module.
fn called(module: &Module<'_>) -> Vec<Range<WordOffset>> {
    let declarations = Declarations::new(module, &mut Diagnostics::new());
    let calls = CallGraph::analyze(&declarations);
    let mut seen: BTreeSet<Id> = BTreeSet::new();
    let entries = declarations.entry_points.iter();
    let mut work: Vec<Id> = entries.map(|entry| entry.function).collect();
    while let Some(function) = work.pop() {
        if seen.insert(function) {
            work.extend(calls.callees(function).iter().map(|(callee, _)| *callee));
        }
    }
    let functions = seen.into_iter().filter_map(|id| declarations.function(id));
    functions
        .map(|function| function.offset..function.end)
        .collect()
}

/// The OpControlBarriers of the workgroup, by their words.
fn barriers_of_workgroup(module: &Module<'_>) -> Vec<WordOffset> {
    let scope = |inst: Inst<'_>| module.def(inst.id(0).ok()?)?.operand(0).ok();
    let barriers = module.instructions();
    let barriers = barriers.filter(|inst| inst.op() == Some(Op::ControlBarrier));
    let of_workgroup = barriers.filter(|inst| scope(*inst) == Some(WORKGROUP));
    of_workgroup.map(|inst| inst.offset).collect()
}

/// Of the modules of the corpus with barriers one in so many is planned.
const SHARE: usize = 10;

/// Every barrier of published modules is split, or the plan names the reason; anything else is an
/// error of the compiler. `SPLITBAR_CORPUS=all` uses every module.
fn every_barrier_has_an_outcome(target: &'static str) -> Result<()> {
    let target = Target::by_name(target).context("no such target")?;
    let (mut split, mut full, mut removed) = (0, 0, 0);
    let mut seen = 0;
    for (name, bytes) in corpus::modules()? {
        let module = told(Module::parse(bytes))?;
        if barriers_of_workgroup(&module).is_empty() {
            continue;
        }
        seen += 1;
        if !corpus::is_complete() && seen % SHARE != 0 {
            continue;
        }
        for split_barriers in [SplitBarriers::Auto, SplitBarriers::Always] {
            let mut options = Options::new(target);
            options.choice = Choice::Fast;
            options.split_barriers = split_barriers;
            options.workgroup_size = Some([64, 1, 1]);
            let planned = match Compiler::new(&options).plan(bytes.as_slice()) {
                Ok(planned) => planned,
                Err(refused) => {
                    let mut problems = refused.diagnostics.iter();
                    let bug = problems.find(|one| one.code == Code::Internal);
                    ensure!(bug.is_none(), "{name}: {bug:?}");
                    continue; // invalid, or unsupported on this target
                }
            };
            for entry in &planned.entries {
                split += entry.plan.pairs.len();
                for barrier in &entry.unsplit {
                    full += usize::from(!barrier.removed);
                    removed += usize::from(barrier.removed);
                }
            }
        }
    }
    // `auto=fast` splits nothing where no strategy that splits has windows that are known to pay.
    let may_split = Strategy::of_target(target).is_split();
    ensure!(
        (split > 10) == may_split && full > 10 && removed > 0,
        "split {split}, full {full}, removed {removed}"
    );
    Ok(())
}

fn window(name: &str, target: &str, least: u32) -> Result<()> {
    let fused = fused(&Fixture::load(name)?.module()?)?;
    let output = compile_bytes(&fused, target, |options| {
        options.split_barriers = SplitBarriers::Always;
        options.measure = true;
    })?;
    let entry = output.entries().first().context("no entry point")?;
    let kept = entry
        .windows
        .iter()
        .flatten()
        .map(|window| window.kept)
        .max();
    let kept = kept.context("nothing is split")?;
    ensure!(
        kept >= least,
        "{kept} of {least} instructions are in the window"
    );
    Ok(())
}
