//! Random loops with barriers, pipelined in every form, on GPUs of both vendors, without and with
//! optimisation. They have the results of the host, without findings of the simulator.
//!
//! `SPLITBAR_PIPELINES=3000 cargo test -p splitbar-tests --test suite -- pipelines/` runs more of
//! them, `SPLITBAR_FIRST_SEED=N` begins with this one.

use crate::found::{self, Found, after_passes, caught};
use crate::random::variable;
use crate::support::{always_split, assembled, linkable, told, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::{BufferName, Job};
use splitbar::{
    Choice, Compiler, Launch, Optimization, Options, PipelineLoops as Loops, SplitBarriers, Target,
};
use splitbar_passes::module::Module;
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::registry::{PIPELINE_BARRIER_LOOPS, PassOptions};
use splitbar_passes::transform::{Ahead, Buffers, PipelineLoops, pipelined_loops};
use splitbar_tests::pipelines::{self, Fill, Program};

const TARGETS: [&str; 5] = ["gfx942", "gfx1100", "gfx1201", "sm_70", "sm_90"];
const LEVELS: [Optimization; 2] = [Optimization::O0, Optimization::O2];
/// Programs of a normal run.
const SEEDS: u64 = 40;
/// Programs of one trial.
const CHUNK: u64 = 5;

pub(crate) fn trials() -> Vec<Trial> {
    let asked = || -> Result<_> {
        Ok((
            variable("SPLITBAR_FIRST_SEED")?,
            variable("SPLITBAR_PIPELINES")?,
        ))
    };
    let (first, count): (Option<u64>, Option<u64>) = match asked() {
        Ok(asked) => asked,
        Err(error) => return vec![trial("pipelines/variables".to_owned(), move || Err(error))],
    };
    let first = first.unwrap_or(0);
    let end = first + count.unwrap_or(SEEDS);
    let chunks = (first..end).step_by(CHUNK as usize);
    let random = chunks.map(|begin| {
        let seeds = begin..end.min(begin + CHUNK);
        let name = format!("pipelines/{}-{}", seeds.start, seeds.end - 1);
        trial(name, move || all(seeds))
    });
    let auto = trial("pipelines/auto".to_owned(), auto_takes_the_faster_version);
    let measured = trial("pipelines/measured".to_owned(), a_launch_decides);
    random.chain([auto, measured]).collect()
}

/// With `auto` loops are pipelined where the module is expected to take fewer cycles by that, and
/// the code is that of the option that names the version.
fn auto_takes_the_faster_version() -> Result<()> {
    let matmul = include_bytes!("../../../docs/examples/matmul.spv");
    let rounds = include_bytes!("../../../docs/examples/rounds.spv");
    let mut pipelined = 0;
    for (module, has_loops) in [(&matmul[..], true), (&rounds[..], false)] {
        for name in TARGETS {
            let assembly = |pipeline_loops| -> Result<(String, Option<String>)> {
                let target = Target::by_name(name).context("no such target")?;
                let mut options = Options::new(target);
                options.pipeline_loops = pipeline_loops;
                let output = crate::random::compiled(module, options)?;
                let assembly = told(output.assembly())?;
                Ok((assembly, output.reasons().loops.clone()))
            };
            let (auto, why) = assembly(Loops::Auto)?;
            let why = why.with_context(|| format!("{name}: no reason"))?;
            let is_pipelined = why.starts_with("pipelined ");
            let same = match why.split(", ").next() {
                Some("pipelined with 1 buffer") => Loops::OneBuffer,
                Some("pipelined with 2 buffers") => Loops::TwoBuffers,
                Some("pipelined with 2 buffers that are always stored to") => {
                    Loops::TwoBuffersAlwaysStored
                }
                Some("pipelined with 2 buffers and asynchronous copies") => Loops::TwoBuffersAsync,
                Some("pipelined with 3 buffers") => Loops::ThreeBuffers,
                Some("pipelined with 3 buffers and the stage ahead") => Loops::ThreeBuffersStage,
                _ => Loops::Never,
            };
            let (same, none) = assembly(same)?;
            ensure!(
                none.is_none(),
                "{name}: a reason where nothing is left open"
            );
            ensure!(auto == same, "{name}: {why}");
            ensure!(
                has_loops || why == "no loop can be pipelined",
                "{name}: {why}"
            );
            ensure!(!has_loops || why.contains(" as it is ("), "{name}: {why}");
            pipelined += usize::from(is_pipelined);
        }
    }
    ensure!(pipelined > 0, "no GPU gains");
    Ok(())
}

/// With `auto=measured` the launch decides: this product gains from pipelining if one workgroup
/// runs at a time, and not if four hide each other's waits. For a launch that does not fit the
/// kernel, the loops are not pipelined.
fn a_launch_decides() -> Result<()> {
    let loops = |buffers: u32, resident: Option<u32>| -> Result<String> {
        let mut options = Options::new(Target::by_name("gfx1201").context("no such target")?);
        options.choice = Choice::Measured;
        options.pipeline_loops = Loops::Auto;
        let buffers = (0..buffers).map(|binding| {
            let name = BufferName::Binding(0, binding);
            (name, vec![0; 128 * 128 * 4])
        });
        let mut launch = Launch::new([2, 2, 1], buffers.collect());
        launch.push = 128u32.to_le_bytes().to_vec();
        launch.resident = resident;
        options.launch = Some(launch);
        let matmul = include_bytes!("../../../docs/examples/matmul.spv");
        let output = crate::random::compiled(matmul, options)?;
        output.reasons().loops.clone().context("no reason")
    };
    let [alone, full] = [Some(1), Some(4)].map(|resident| loops(3, resident));
    let (alone, full) = (alone?, full?);
    ensure!(
        alone.starts_with("pipelined with 2 buffers") && alone.contains(", expected cycles: "),
        "{alone}"
    );
    ensure!(
        full.starts_with("not pipelined, expected cycles: "),
        "{full}"
    );
    let missing = loops(2, None)?;
    ensure!(missing.contains("its time is unknown"), "{missing}");
    let mut options = Options::new(Target::by_name("gfx1201").context("no such target")?);
    options.choice = Choice::Measured;
    let refused =
        Compiler::new(&options).compile(include_bytes!("../../../docs/examples/rounds.spv"));
    let refused = refused.err().context("no launch is none")?;
    ensure!(
        refused
            .to_string()
            .contains("needs a launch, but none was described"),
        "{refused}"
    );
    Ok(())
}

fn all(seeds: std::ops::Range<u64>) -> Result<()> {
    linkable("gfx1201")?;
    let mut failed = Vec::new();
    for seed in seeds {
        if let Err(error) = one(seed) {
            failed.push(format!(
                "SPLITBAR_FIRST_SEED={seed} SPLITBAR_PIPELINES=1: {error:#}"
            ));
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("{}", failed.join("\n"))
}

fn one(seed: u64) -> Result<()> {
    let program = pipelines::program(seed);
    let given = assembled(&pipelines::text(&program))?;
    let module = Module::parse(&given).map_err(|refused| anyhow::anyhow!("{refused}"))?;
    let form = form(seed);
    let outcomes = told(pipelined_loops(&module, form))?;
    let moves = !program.stops && !program.carries;
    // With a third barrier neither of two can go.
    let alternates = !program.exchanges;
    // A third barrier would be in a window that contains the work, and nothing alternates.
    let (moves, alternates) = match form.buffers {
        Buffers::Two => (moves, alternates),
        Buffers::Three | Buffers::Four => (moves && !program.exchanges, false),
    };
    let can = match form.ahead {
        Ahead::Loads | Ahead::LoadsOfOneBuffer => moves && !has_a_loop(&program),
        Ahead::Stage => moves,
        Ahead::Either | Ahead::Copies => moves || alternates,
        Ahead::Nothing => alternates,
    };
    let done = outcomes.iter().filter(|one| one.stays.is_none()).count();
    ensure!(
        done == usize::from(can),
        "{done} loops are pipelined: {outcomes:?}"
    );
    let step = Step {
        pass: PIPELINE_BARRIER_LOOPS,
        options: PassOptions::PipelineLoops(form),
    };
    let once = told(pipeline::run(
        module.clone().into_owned(),
        std::slice::from_ref(&step),
        Settings::default(),
        &mut |_, _| (),
    ))?;
    let again = once.module.clone();
    let again = told(pipeline::run(
        again,
        std::slice::from_ref(&step),
        Settings::default(),
        &mut |_, _| (),
    ))?;
    ensure!(
        again.module.words() == once.module.words(),
        "a second run changes it"
    );
    let passes = [flag(form)];
    let read: Step = passes[0].parse().map_err(anyhow::Error::msg)?;
    ensure!(
        format!("{read:?}") == format!("{step:?}"),
        "{passes:?} is {read:?}"
    );
    for name in TARGETS {
        for level in LEVELS {
            let mut options = always_split(name)?;
            options.optimization = level;
            agrees(seed, &program, (&given, &passes), options)
                .with_context(|| format!("{name}, {level:?}"))?;
        }
    }
    by_option(seed, &program, &given)
}

/// Checks that the option has the effect of the pass, with other barriers split and with these
/// unchanged.
fn by_option(seed: u64, program: &Program, module: &[u8]) -> Result<()> {
    let all = [
        SplitBarriers::Never,
        SplitBarriers::Auto,
        SplitBarriers::Always,
    ];
    let name = TARGETS[seed as usize % TARGETS.len()];
    for split in all {
        let mut options = always_split(name)?;
        options.pipeline_loops = [
            Loops::OneBuffer,
            Loops::TwoBuffers,
            Loops::TwoBuffersAlwaysStored,
            Loops::TwoBuffersAsync,
            Loops::ThreeBuffers,
            Loops::ThreeBuffersStage,
            Loops::FourBuffers,
        ][seed as usize % 7];
        options.split_barriers = split;
        agrees(seed, program, (module, &[]), options)
            .with_context(|| format!("{name}, {split:?}"))?;
    }
    Ok(())
}

/// The way in which the loop of `seed` is pipelined.
fn form(seed: u64) -> PipelineLoops {
    let ahead = [
        Ahead::Loads,
        Ahead::Stage,
        Ahead::Either,
        Ahead::LoadsOfOneBuffer,
        Ahead::Nothing,
        Ahead::Copies,
    ];
    let ahead = ahead[seed as usize % 6];
    let buffers = match ahead {
        Ahead::Loads | Ahead::Stage | Ahead::Either => {
            [Buffers::Two, Buffers::Three, Buffers::Four][seed as usize / 6 % 3]
        }
        Ahead::LoadsOfOneBuffer | Ahead::Nothing | Ahead::Copies => Buffers::Two,
    };
    PipelineLoops {
        ahead,
        buffers,
        plain: seed / 6 % 2 == 1,
        always_store: seed / 12 % 2 == 1,
        ..PipelineLoops::default()
    }
}

/// The pass as a flag without dashes.
fn flag(form: PipelineLoops) -> String {
    let ahead = match form.ahead {
        Ahead::Loads => "loads",
        Ahead::Stage => "stage",
        Ahead::LoadsOfOneBuffer => "one-buffer",
        Ahead::Copies => "copies",
        Ahead::Nothing => "alternate",
        Ahead::Either => "",
    };
    let plain = if form.plain { "plain" } else { "" };
    let always = if form.always_store {
        "always-store"
    } else {
        ""
    };
    let buffers = match form.buffers {
        Buffers::Two => "",
        Buffers::Three => "3",
        Buffers::Four => "4",
    };
    let parts = [ahead, buffers, plain, always];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [] => PIPELINE_BARRIER_LOOPS.name.to_owned(),
        parts => format!("{}={}", PIPELINE_BARRIER_LOOPS.name, parts.join(",")),
    }
}

/// Returns true if a stage has a loop that is not unrolled.
fn has_a_loop(program: &Program) -> bool {
    let mut arrays = program.arrays.iter();
    arrays.any(|array| array.fill == Fill::Strided)
}

/// Checks that the module has the results of the program after `passes`.
fn agrees(
    seed: u64,
    program: &Program,
    (module, passes): (&[u8], &[String]),
    options: Options,
) -> Result<()> {
    let words = pipelines::inputs(program, seed);
    let wanted = pipelines::run(program, &words);
    let inputs = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let results = vec![0; program.results() * 4];
    let mut launch = found::Launch::new(1, vec![inputs, results], seed).leaves(1, &wanted);
    launch.schedules = vec![0, 1];
    let run = || -> Result<()> {
        let module = after_passes(module, passes)?;
        let output = caught(|| crate::random::compiled(&module, options.clone()))?;
        launch.is_right(&Job::compiled(&output, 0)?)
    };
    run().map_err(|error| {
        let error = format!("{error:#}");
        let (name, level) = (options.target.name, options.optimization);
        let found = Found {
            family: "pipelines",
            name: format!("{seed}-{name}-{level:?}"),
            variables: format!("SPLITBAR_FIRST_SEED={seed} SPLITBAR_PIPELINES=1"),
            module,
            passes,
            options: &options,
            launch: &launch,
            error: &error,
        };
        anyhow::anyhow!("{error}\n  {}", found.report())
    })
}
