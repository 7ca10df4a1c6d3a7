//! Advice on strategies, and the choice that follows it.

use crate::cli::{expect, path};
use crate::support::{always_split_on, compile_bytes, is_nvptx, ptxas, told, trial};
use anyhow::{Context, Result, anyhow, bail, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use spirv::Op;
use splitbar::diagnostic::Code;
use splitbar::{Choice, Entry, Expected, SplitBarriers, Strategy, Target};
use splitbar_passes::module::{Inst, Module};
use splitbar_passes::profile::{Gpu, layout, module_hash};
use splitbar_tests::corpus;
use splitbar_tests::fixture::{self, Fixture};
use splitbar_tests::harness::is_sample;
use std::collections::BTreeMap;

/// A test of the command line.
type Test = fn() -> Result<()>;

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let tests: [(&str, Test); 10] = [
        ("compares_strategies", advice_compares_strategies),
        ("balance_keeps_what_pays", balance_keeps_what_pays),
        ("balance_keeps_occupancy", balance_keeps_occupancy),
        ("barriers_are_decided_one_by_one", one_by_one),
        ("fast_goes_by_the_module", fast_goes_by_the_module),
        ("profiles_decide", profiles_decide),
        ("pictures_are_the_same_twice", pictures),
        ("launches_are_estimated", launches_are_estimated),
        ("plain_barriers_are_split", plain_barriers_are_split),
        ("pipelined_loops_are_suggested", pipelined_loops),
    ];
    let tests = tests.into_iter();
    let mut trials: Vec<Trial> = tests
        .map(|(name, test)| trial(format!("advise/{name}"), test))
        .collect();
    for fixture in fixtures {
        for target in ["gfx942", "gfx1100", "gfx1201", "sm_80", "sm_90"] {
            let fixture = fixture.clone();
            let name = format!("advise/occupancy/{}/{target}", fixture.name);
            trials.push(trial(name, move || occupancy(&fixture, target)));
        }
    }
    for target in ["gfx1201", "sm_80", "sm_90"] {
        let name = format!("advise/nothing_is_lost/{target}");
        trials.push(trial(name, move || nothing_is_lost(target)));
    }
    trials
}

/// With the choice of `auto`, at least as many workgroups are resident as with full barriers.
fn occupancy(fixture: &Fixture, target: &str) -> Result<()> {
    let ptxas = if is_nvptx(target) {
        Some(ptxas(target)?.program().to_path_buf())
    } else {
        None
    };
    let module = fixture.module()?;
    // A choice with when to split, or full barriers.
    let resident = |choice: Option<(Choice, SplitBarriers)>| -> Result<Vec<Option<u32>>> {
        let output = compile_bytes(&module, target, |options| {
            options.measure = true;
            options.ptxas.clone_from(&ptxas);
            match choice {
                Some((choice, split)) => {
                    options.choice = choice;
                    options.split_barriers = split;
                }
                None => options.strategy = Some(Strategy::Fused),
            }
        })?;
        let entries = output.entries().iter();
        let resident = entries.map(|entry| Some(entry.resident.as_ref()?.workgroups));
        Ok(resident.collect())
    };
    let full = resident(None)?;
    for split in [SplitBarriers::Never, SplitBarriers::Auto] {
        let chosen = resident(Some((Choice::Balanced, split)))?;
        let fewer = |(chosen, full): (&Option<u32>, &Option<u32>)| chosen < full;
        let any_fewer = chosen.iter().zip(&full).any(fewer);
        ensure!(!any_fewer, "{split:?}: {chosen:?}, fused {full:?}");
    }
    Ok(())
}

/// Modules of the corpus whose registers change where their barriers are split, and even where only
/// those are left out that order nothing.
const TOUCHY: [&str; 4] = [
    "044dfe3873f7a20b",
    "64d78f882c08210f",
    "906717dbd597a5c8",
    "3004ee2bd0b802fd",
];

/// Of the other modules of the corpus with barriers one in so many is compiled.
const SHARE: usize = 40;

/// And one in so many in a sample.
const SHARE_OF_SAMPLE: usize = 80;

/// If splitbar chooses the barriers of published modules to split, no kernel has fewer resident
/// workgroups than the original module, and none spills more. `SPLITBAR_CORPUS=all` uses every
/// module.
fn nothing_is_lost(target: &str) -> Result<()> {
    let ptxas = if is_nvptx(target) {
        Some(ptxas(target)?.program().to_path_buf())
    } else {
        None
    };
    let mut modules: Vec<&corpus::Module> = Vec::new();
    let mut others = 0;
    let share = if is_sample() { SHARE_OF_SAMPLE } else { SHARE };
    for module in corpus::modules()? {
        let parsed = told(Module::parse(&module.1))?;
        let is_barrier = |inst: Inst<'_>| inst.op() == Some(Op::ControlBarrier);
        if !parsed.instructions().any(is_barrier) {
            continue;
        }
        let is_touchy = TOUCHY.iter().any(|name| module.0.contains(name));
        if is_touchy || corpus::is_complete() || others % share == 0 {
            modules.push(module);
        }
        others += usize::from(!is_touchy);
    }
    let (mut compared, mut worse) = (0, Vec::new());
    for (name, bytes) in &modules {
        let compiled = |split, workgroup_size| {
            compile_bytes(bytes, target, |options| {
                options.measure = true;
                options.ptxas.clone_from(&ptxas);
                options.split_barriers = split;
                options.workgroup_size = workgroup_size;
            })
        };
        // The size that the module leaves open, or has.
        let sizes = [Some([256, 1, 1]), None].into_iter();
        let given = sizes
            .filter_map(|size| Some((size, compiled(SplitBarriers::Never, size).ok()?)))
            .next();
        let Some((size, given)) = given else {
            continue; // unsupported on this target
        };
        let chosen = compiled(SplitBarriers::Auto, size)?;
        compared += 1;
        for (given, chosen) in given.entries().iter().zip(chosen.entries()) {
            let cost = |entry: &Entry| {
                let workgroups = entry.resident.as_ref().map(|resident| resident.workgroups);
                let spilled = entry.usage.as_ref().map(|usage| usage.spilled_bytes);
                (workgroups, spilled)
            };
            let (before, after) = (cost(given), cost(chosen));
            if after.0 < before.0 || after.1 > before.1 {
                worse.push(format!("{name}: {before:?}, then {after:?}"));
            }
        }
    }
    ensure!(compared * 2 > modules.len(), "{compared} compile");
    ensure!(worse.is_empty(), "{}", worse.join("\n"));
    Ok(())
}

/// Barriers are split where something is left in their windows, if the whole is expected to be
/// faster, and the decision has both times.
fn one_by_one() -> Result<()> {
    let module = Fixture::load("async_pipeline")?.module()?;
    let output = compile_bytes(&module, "gfx1201", |options| {
        options.choice = Choice::Balanced;
        options.measure = true;
    })?;
    let entry = output.entries().first().context("no entry point")?;
    let decisions = entry.decisions.as_ref().context("nothing was decided")?;
    let windows = entry.windows.as_ref().context("nothing was measured")?;
    for (pair, window) in entry.plan.pairs.iter().zip(windows) {
        ensure!(
            pair.strategy == Strategy::Native || window.kept == 0,
            "{}",
            output.plan()
        );
    }
    let split = decisions.barriers.iter().filter(|barrier| barrier.split);
    let native = entry.plan.pairs.iter();
    let native = native.filter(|pair| pair.strategy == Strategy::Native);
    ensure!(split.count() == native.count(), "{}", output.plan());
    for barrier in &decisions.barriers {
        let kept = barrier.window.context("no window")?.kept;
        ensure!(barrier.split == (kept > 0), "{}", output.plan());
        ensure!(barrier.min_window.is_none(), "{}", output.plan());
    }
    let full = decisions.full.as_ref().context("no full barriers")?;
    for version in [&decisions.split, full] {
        let Some(Expected::Cycles(expected)) = &version.expected else {
            bail!("no time is expected: {}", output.plan());
        };
        ensure!(expected.cycles > 0 && expected.resident > 0);
    }
    ensure_holds(&output.plan(), "expected cycles")?;
    Ok(())
}

/// A kernel whose loops can work ahead gets that advice, with the cycles of both versions, and one
/// without such loops does not.
fn pipelined_loops() -> Result<()> {
    let advice = |module: &str| -> Result<String> {
        let module = fixture::root().join(module).display().to_string();
        let args = ["advise", &module, "--targets", "gfx1201"];
        Ok(String::from_utf8(expect(&args, b"", 0)?.stdout)?)
    };
    let gains = advice("fixtures/timing/by_hand/m64.spv")?;
    ensure_holds(
        &gains,
        "better: with `--pipeline-loops` of `auto` the loops are pipelined with 2 buffers, expected cycles: ",
    )?;
    let other = advice("docs/examples/plain.spv")?;
    ensure!(!other.contains("pipeline-loops"), "{other}");
    Ok(())
}

fn fast_goes_by_the_module() -> Result<()> {
    let strategies = |kernel: &str, choice, target: &str| -> Result<Vec<Strategy>> {
        let module = Fixture::load(kernel)?.module()?;
        let output = compile_bytes(&module, target, |options| options.choice = choice)?;
        let entry = output.entries().first().context("no entry point")?;
        Ok(entry.plan.pairs.iter().map(|pair| pair.strategy).collect())
    };
    for (kernel, target, expected) in [
        ("tiled_matmul", "gfx1201", Strategy::Native),
        ("tiled_matmul", "sm_90", Strategy::Mbarrier),
        ("tiled_matmul", "gfx1100", Strategy::Fused),
        ("softmax", "gfx1201", Strategy::Fused),
        ("softmax", "sm_90", Strategy::Fused),
    ] {
        let fast = strategies(kernel, Choice::Fast, target)?;
        ensure!(
            fast.iter().all(|one| *one == expected),
            "{kernel} on {target}: {fast:?}"
        );
    }
    let always = strategies("softmax", Choice::AlwaysSplit, "gfx1201")?;
    ensure!(always.contains(&Strategy::Native));
    Ok(())
}

/// A profile decides against the threshold, in both directions, and is rejected for another module.
fn profiles_decide() -> Result<()> {
    let fixture = Fixture::load("tiled_matmul")?;
    let module = fixture.module()?;
    let planned = |profile: &[u8], module: &[u8], target: &str, choice: Choice| {
        let target = Target::by_name(target).context("no such target")?;
        let mut options = always_split_on(target);
        options.choice = choice;
        options.profile = Some(profile.to_vec());
        Ok::<_, anyhow::Error>(splitbar::Compiler::new(&options).compile(module))
    };
    let strategy = |profile: &[u8], target: &str, choice: Choice| -> Result<Strategy> {
        let output = planned(profile, &module, target, choice)?;
        let output = output.map_err(|refused| anyhow!("{}", refused.diagnostics))?;
        let entry = output.entries().first().context("no entry point")?;
        Ok(entry.plan.pairs.first().context("no pair")?.strategy)
    };
    let refused = |profile: &[u8], module: &[u8], target: &str, code: Code| -> Result<()> {
        for choice in [Choice::Balanced, Choice::Fast] {
            let Err(refused) = planned(profile, module, target, choice)? else {
                bail!("{code:?} was not noticed");
            };
            let codes: Vec<Code> = refused.diagnostics.iter().map(|one| one.code).collect();
            ensure!(codes.contains(&code), "{codes:?} and not {code:?}");
        }
        Ok(())
    };
    let of = |gpu, skew| dump(&module, 8, skew, Gpu::new(gpu, 32));
    let (even, uneven) = (of("gfx1201", 1)?, of("gfx1201", 4000)?);
    for choice in [Choice::Balanced, Choice::Fast] {
        ensure!(strategy(&uneven, "gfx1201", choice)? == Strategy::Native);
        // A full barrier takes as long.
        ensure!(strategy(&even, "gfx1201", choice)? == Strategy::Fused);
        ensure!(strategy(&of("sm_90", 1)?, "sm_90", choice)? == Strategy::Fused);
        // Of a variant of the same GPU.
        ensure!(strategy(&of("sm_90", 1)?, "sm_90a", choice)? == Strategy::Fused);
    }
    refused(&uneven, &module, "gfx1200", Code::ProfileTarget)?;
    refused(&uneven, &module, "sm_90", Code::ProfileTarget)?;
    let wide = dump(&module, 8, 4000, Gpu::new("gfx1201", 64))?;
    refused(&wide, &module, "gfx1201", Code::ProfileTarget)?;
    // One that does not say what it was recorded on, of either version.
    let unnamed = dump(&module, 8, 4000, None)?;
    let mut old = unnamed.clone();
    *old.get_mut(4).context("the version")? = layout::OLDEST_VERSION as u8;
    for profile in [&unnamed, &old, &uneven] {
        for choice in [Choice::Balanced, Choice::Fast] {
            let output = planned(profile, &module, "gfx1201", choice)?;
            let output = output.map_err(|refused| anyhow!("{}", refused.diagnostics))?;
            let mut warnings = output.warnings().iter();
            let is_doubted = warnings.any(|one| one.code == Code::ProfileWithoutTarget);
            ensure!(is_doubted == (profile != &uneven), "{choice:?}");
        }
    }
    // The workgroup has 8 waves of 32 there, and 4 of 64 here.
    refused(&unnamed, &module, "gfx942", Code::ProfileTarget)?;
    let other = Fixture::load("softmax")?.module()?;
    refused(&uneven, &other, "gfx1201", Code::ForeignProfile)?;
    let mut damaged = uneven.clone();
    *damaged.get_mut(60).context("a record")? ^= 1;
    refused(&damaged, &module, "gfx1201", Code::DamagedProfile)?;
    let half = uneven.get(..50).context("half of it")?;
    refused(half, &module, "gfx1201", Code::TruncatedProfile)?;
    refused(b"a text", &module, "gfx1201", Code::TruncatedProfile)?;
    refused(&[0; 4096], &module, "gfx1201", Code::NotAProfile)?;
    Ok(())
}

/// A profile of one phase at the first pair of a module, whose `waves` arrive up to `skew` apart.
fn dump(module: &[u8], waves: u32, skew: u64, gpu: Option<Gpu>) -> Result<Vec<u8>> {
    let module = told(Module::parse(module))?;
    let hash = module_hash(&module);
    let at = |op: Op| {
        let mut insts = module.instructions();
        let inst = insts.find(|inst| inst.op() == Some(op));
        inst.map(|inst| inst.offset.get())
            .context("no such instruction")
    };
    let arrive = at(Op::ControlBarrierArriveINTEL)?;
    let wait = at(Op::ControlBarrierWaitINTEL)?;
    let mut words = vec![
        layout::MAGIC,
        layout::VERSION,
        hash as u32,
        (hash >> 32) as u32,
    ];
    words.extend([waves, waves]);
    words.extend(gpu.map_or([0; 2], Gpu::words));
    for wave in 0..waves {
        let arrived = 100 + u64::from(wave) * skew / u64::from(waves - 1);
        let (waited, passed) = (arrived + 10, 200 + skew);
        let clocks = [arrived, waited, passed].map(|clock| [clock as u32, (clock >> 32) as u32]);
        let mut record = vec![wave + 1, arrive, wait, 0, 0, 0, 0, wave, waves];
        record.extend(clocks.concat());
        record.push(record.iter().fold(0, |sum, word| sum ^ word));
        words.extend(record);
    }
    Ok(words.into_iter().flat_map(u32::to_le_bytes).collect())
}

fn pictures() -> Result<()> {
    let module = path("tiled_matmul")?;
    let command = [
        "advise",
        &module,
        "--targets",
        "gfx1201,gfx942",
        "--split-barriers",
        "never",
        "--format",
        "svg",
    ];
    let picture = expect(&command, b"", 0)?.stdout;
    ensure!(picture == expect(&command, b"", 0)?.stdout);
    let text = String::from_utf8(picture)?;
    let holds = |what: &str| ensure_holds(&text, what);
    holds("<svg xmlns=")?;
    holds("main on gfx1201, 8 waves of 32: native")?;
    holds("main on gfx942, 4 waves of 64: fused")?;
    // One mark for each choice.
    ensure!(text.matches("<circle").count() == 2);
    ensure!(text.ends_with("</svg>\n"));
    Ok(())
}

/// With `--estimate` each strategy has the cycles of `sim --timing`, or the reason why it has none.
fn launches_are_estimated() -> Result<()> {
    let module = path("reduction")?;
    let launch = ["--groups", "3,1,1", "--buffer", "0:0=seq:u32:384"];
    let buffers = ["--buffer", "0:1=zeros:12", "--buffer", "0:2=zeros:1536"];
    let advise = [
        "advise",
        &module,
        "--targets",
        "gfx1201,gfx1010",
        "--estimate",
    ];
    let all = [&advise[..], &launch, &buffers].concat();
    let json = expect(&[&all[..], &["--format", "json"]].concat(), b"", 0)?;
    let advice: Vec<Value> = serde_json::from_slice(&json.stdout)?;
    let candidates = |advice: &Value| {
        Ok::<_, anyhow::Error>(
            advice["candidates"]
                .as_array()
                .context("candidates")?
                .clone(),
        )
    };
    let [known, unknown] = &advice[..] else {
        bail!("{} entry points", advice.len());
    };
    let mut estimates = BTreeMap::new();
    for candidate in candidates(known)? {
        let strategy = candidate["strategy"].as_str().context("a name")?;
        let sim = [
            "sim",
            &module,
            "--target",
            "gfx1201",
            "--timing",
            "--format",
            "json",
            "--strategy",
            strategy,
        ];
        let estimate = expect(&[&sim[..], &launch, &buffers].concat(), b"", 0)?;
        let estimate: Value = serde_json::from_slice(&estimate.stdout)?;
        ensure!(
            estimate["estimate"]["cycles"] == candidate["estimate"]["cycles"],
            "{strategy}"
        );
        let cycles = candidate["estimate"]["cycles"].as_u64().context("cycles")?;
        estimates.insert(strategy.to_owned(), cycles);
    }
    let chosen = known["choice"]
        .as_str()
        .and_then(|choice| estimates.get(choice));
    let least = estimates.values().min();
    let (chosen, least) = (*chosen.context("the choice")?, *least.context("one")?);
    ensure!(
        known.get("faster").is_some() == (100 * least < 98 * chosen),
        "{known}"
    );
    // Nothing is known of the times of this GPU.
    for candidate in candidates(unknown)? {
        let why = candidate["estimate"]["refused"]
            .as_str()
            .context("a reason")?;
        ensure!(why.contains("is unknown"), "{why}");
    }
    let text = String::from_utf8(expect(&all, b"", 0)?.stdout)?;
    ensure_holds(&text, "estimated cycles")?;
    ensure_holds(&text, "no estimate of fused, counter: the timing")?;
    let svg = expect(&[&all[..], &["--format", "svg"]].concat(), b"", 0)?.stdout;
    ensure_holds(&String::from_utf8(svg)?, "estimated cycles")?;
    // A buffer is missing: said of each strategy.
    let without = [&advise[..], &launch].concat();
    let text = String::from_utf8(expect(&without, b"", 0)?.stdout)?;
    ensure_holds(&text, "no estimate of fused, native, counter: no buffer")?;
    // The flags belong together, and what is given twice is wrong usage.
    expect(&advise, b"", 2)?;
    expect(&[&advise[..4], &launch].concat(), b"", 2)?;
    let twice = [&all[..], &["--buffer", "0:1=zeros:12"]].concat();
    expect(&twice, b"", 2)?;
    Ok(())
}

/// A kernel with plain barriers is advised on as `--split-barriers auto` decides, and every barrier
/// that stays has the reason that the compilation gives.
fn plain_barriers_are_split() -> Result<()> {
    let module = path("plain_matmul")?;
    let bytes = Fixture::load("plain_matmul")?.module()?;
    let json = expect(&["advise", &module, "--format", "json"], b"", 0)?;
    let all: Vec<Value> = serde_json::from_slice(&json.stdout)?;
    let targets: Vec<&str> = all
        .iter()
        .filter_map(|one| one["target"].as_str())
        .collect();
    ensure!(
        targets == ["gfx942", "gfx1100", "gfx1201", "sm_80", "sm_90"],
        "{targets:?}"
    );
    let mut choices = BTreeMap::new();
    for advice in &all {
        let target = advice["target"].as_str().context("a target")?;
        let output = compile_bytes(&bytes, target, |options| {
            options.split_barriers = SplitBarriers::Auto;
        })?;
        let entry = output.entries().first().context("no entry point")?;
        let choice = entry.plan.pairs.first().map(|pair| pair.strategy.name());
        let choice = choice.unwrap_or("fused");
        ensure!(advice["choice"] == choice, "{target}: {choice}, {advice}");
        ensure!(advice["split_barriers"] == "auto", "{advice}");
        let unsplit = serde_json::to_value(&entry.unsplit)?;
        ensure!(
            advice["unsplit"] == unsplit,
            "{target}: {unsplit}, {advice}"
        );
        choices.insert(target, choice);
    }
    // One of two barriers has a window on gfx1201, where the hardware splits for nothing.
    let is_split =
        |(target, choice): (&&str, &&str)| (*target == "gfx1201") == (*choice == "native");
    ensure!(choices.iter().all(is_split), "{choices:?}");
    let advise = ["advise", &module, "--target", "gfx1201"];
    let text = String::from_utf8(expect(&advise, b"", 0)?.stdout)?;
    ensure_holds(&text, "with --split-barriers auto: native")?;
    ensure_holds(&text, "1 of 2 full barriers")?;
    ensure_holds(
        &text,
        "a full barrier, SPIR-V instructions in the window: 3",
    )?;
    let never = [&advise[..], &["--split-barriers", "never"]].concat();
    let text = String::from_utf8(expect(&never, b"", 0)?.stdout)?;
    ensure!(text == "no workgroup barriers\n", "{text}");
    // The first row is the kernel with full barriers, of which the others are per cent.
    let launch = [
        "--estimate",
        "--groups",
        "1,2,1",
        "--push",
        "800000004000000018000000",
    ];
    let buffers = ["0:0=zeros:12288", "0:1=zeros:6144", "0:2=zeros:32768"];
    let buffers = buffers.iter().flat_map(|buffer| ["--buffer", buffer]);
    let launch: Vec<&str> = launch.into_iter().chain(buffers).collect();
    let json = [&advise[..], &launch, &["--format", "json"]].concat();
    let advice: Vec<Value> = serde_json::from_slice(&expect(&json, b"", 0)?.stdout)?;
    let candidates = &advice.first().context("no advice")?["candidates"];
    let cycles = |index: usize| candidates[index]["estimate"]["cycles"].as_f64();
    let full = cycles(0).context("no estimate")?;
    for index in 0..candidates.as_array().context("candidates")?.len() {
        let of_full = cycles(index).context("no estimate")? / full;
        let said = candidates[index]["of_full"].as_f64().context("no ratio")?;
        ensure!((of_full - said).abs() < 1e-9, "{candidates}");
    }
    let text = String::from_utf8(expect(&[&advise[..], &launch].concat(), b"", 0)?.stdout)?;
    ensure_holds(&text, "(100.0 %)")
}

fn ensure_holds(text: &str, what: &str) -> Result<()> {
    ensure!(text.contains(what), "no {what} in {text}");
    Ok(())
}

/// The candidates of the advice for one GPU by strategy: registers, and resident workgroups.
fn advised(advice: &Value) -> Result<BTreeMap<&str, (u64, u64)>> {
    let candidates = advice["candidates"].as_array().context("candidates")?;
    let candidate = |candidate: &'_ Value| {
        let registers = candidate["resource_usage"]["registers"].as_u64()?;
        let workgroups = candidate["resident"]["workgroups"].as_u64()?;
        Some((registers, workgroups))
    };
    candidates
        .iter()
        .map(|one| {
            let strategy = one["strategy"].as_str().context("a name")?;
            Ok((strategy, candidate(one).context("what it takes")?))
        })
        .collect()
}

fn advice_compares_strategies() -> Result<()> {
    let module = path("tiled_matmul")?;
    let both = ["advise", &module, "--targets", "gfx1201,gfx942"];
    // The kernel has a plain barrier beside its pairs: that is another question.
    let json = expect(&[&both[..], &["--format", "json"]].concat(), b"", 0)?;
    let advice: Vec<Value> = serde_json::from_slice(&json.stdout)?;
    let questions: Vec<&Value> = advice.iter().map(|one| &one["split_barriers"]).collect();
    ensure!(
        questions == ["never", "auto", "never", "auto"],
        "{questions:?}"
    );
    let both = [&both[..], &["--split-barriers", "never"]].concat();
    let json = expect(&[&both[..], &["--format", "json"]].concat(), b"", 0)?;
    let advice: Vec<Value> = serde_json::from_slice(&json.stdout)?;
    let [rdna, cdna] = &advice[..] else {
        bail!("{} entry points", advice.len());
    };
    // As many cycles as with full barriers: a split by the hardware costs nothing.
    ensure!(rdna["choice"] == "native" && cdna["choice"] == "fused");
    let reasons = rdna["reasons"].to_string();
    ensure_holds(&reasons, "; expected cycles: ")?;
    let faster = path("tiled_matmul_double_buffered")?;
    let one = ["advise", &faster, "--target", "gfx1201", "--format", "json"];
    let advice: Vec<Value> = serde_json::from_slice(&expect(&one, b"", 0)?.stdout)?;
    ensure!(
        advice.iter().any(|one| one["choice"] == "native"),
        "{advice:?}"
    );
    let on_rdna = advised(rdna)?;
    ensure!(on_rdna.keys().eq(["counter", "fused", "native"].iter()));
    ensure!(on_rdna["native"].1 == on_rdna["fused"].1);
    // A wave of 64 has 512 registers on each of four SIMDs, and the workgroup has four.
    for (registers, workgroups) in advised(cdna)?.into_values() {
        ensure!(workgroups == (512 / registers.next_multiple_of(8)).min(8));
    }
    let text = expect(&both, b"", 0)?;
    let text = String::from_utf8(text.stdout)?;
    ensure!(
        text.contains("entry main on gfx942, 4 waves of 64: fused"),
        "{text}"
    );

    let none = expect(
        &["advise", &path("uniform_ifs")?, "--target", "gfx1201"],
        b"",
        0,
    )?;
    ensure!(!none.stdout.is_empty());
    expect(&["advise", &module, "--target", "gfx1"], b"", 2)?;
    expect(&["advise", "-", "--target", "gfx1201"], b"no module", 1)?;
    Ok(())
}

fn balance_keeps_what_pays() -> Result<()> {
    let assembly = |kernel: &str, strategy: &str| -> Result<Vec<u8>> {
        let module = path(kernel)?;
        let arguments = [
            "lower",
            &module,
            "--target",
            "gfx1201",
            "--strategy",
            strategy,
        ];
        Ok(expect(&arguments, b"", 0)?.stdout)
    };
    // All of the window is left, and it saves cycles.
    let balanced = assembly("tiled_matmul_double_buffered", "auto=balanced")?;
    ensure!(balanced == assembly("tiled_matmul_double_buffered", "native")?);
    // It saves none, and the hardware splits for nothing.
    let balanced = assembly("tiled_matmul", "auto=balanced")?;
    ensure!(balanced == assembly("tiled_matmul", "native")?);
    // It takes more.
    let balanced = assembly("volume", "auto=balanced")?;
    ensure!(balanced == assembly("volume", "fused")?);
    ensure!(balanced != assembly("volume", "native")?);
    // Nothing is left.
    let balanced = assembly("softmax", "auto=balanced")?;
    ensure!(balanced == assembly("softmax", "fused")?);
    ensure!(balanced == assembly("softmax", "auto")?);
    ensure!(balanced != assembly("softmax", "auto=always-split")?);
    let module = path("softmax")?;
    let plan = [
        "lower",
        &module,
        "--target",
        "gfx1201",
        "--strategy",
        "auto=balanced",
        "--emit",
        "plan",
    ];
    let plan = String::from_utf8(expect(&plan, b"", 0)?.stdout)?;
    ensure!(plan.contains("native: the window is empty"), "{plan}");
    Ok(())
}

fn balance_keeps_occupancy() -> Result<()> {
    let ptxas = ptxas("sm_80")?.program().display().to_string();
    let module = path("tiled_matmul")?;
    let plan = |strategy: &str| -> Result<String> {
        let plan = expect(
            &[
                "lower",
                &module,
                "--target",
                "sm_80",
                "--strategy",
                strategy,
                "--emit",
                "plan",
                "--ptxas",
                &ptxas,
            ],
            b"",
            0,
        )?;
        Ok(String::from_utf8(plan.stdout)?)
    };
    ensure!(plan("auto=always-split")?.contains("mbarrier"));
    let balanced = plan("auto=balanced")?;
    ensure!(balanced.contains("resident workgroups"), "{balanced}");
    ensure!(balanced.contains("fused"), "{balanced}");
    Ok(())
}
