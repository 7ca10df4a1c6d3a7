//! Random loops with barriers, pipelined in every form, on both vendors' GPUs, without and with
//! optimisation: they leave what they leave on the host, with no finding of the simulator.
//!
//! `SPLITBAR_PIPELINES=3000 cargo test -p splitbar-tests --test suite -- pipelines/` runs more of
//! them, `SPLITBAR_FIRST_SEED=N` begins with this one.

use crate::random::variable;
use crate::support::{always_split, assembled, linkable, told, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar::{
    Choice, Compiler, Launch, Optimization, Options, PipelineLoops as Loops, SplitBarriers, Target,
};
use splitbar_passes::module::Module;
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::registry::{PIPELINE_BARRIER_LOOPS, PassOptions};
use splitbar_passes::transform::{Ahead, PipelineLoops, pipelined_loops};
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
                Ok((assembly, output.loops().map(str::to_owned)))
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

/// With `auto=measured` the launch decides: this product gains from pipelining where one workgroup
/// runs at a time, and not where four fill each other's waits. Another launch than the kernel's is
/// a reason to leave the loops alone.
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
        Ok(output.loops().context("no reason")?.to_owned())
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
        &[step],
        Settings::default(),
        &mut |_, _| (),
    ))?;
    ensure!(
        again.module.words() == once.module.words(),
        "a second run changes it"
    );
    let bytes = once.module.words().iter();
    let bytes: Vec<u8> = bytes.flat_map(|word| word.to_le_bytes()).collect();
    for name in TARGETS {
        for level in LEVELS {
            let mut options = always_split(name)?;
            options.optimization = level;
            agrees(seed, &program, &bytes, options)
                .with_context(|| format!("{name}, {level:?}"))?;
        }
    }
    by_option(seed, &program, &given)
}

/// That the option does what the pass does, with other barriers split and with these as they are.
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
        ][seed as usize % 4];
        options.split_barriers = split;
        agrees(seed, program, module, options).with_context(|| format!("{name}, {split:?}"))?;
    }
    Ok(())
}

/// How the loop of `seed` is pipelined.
fn form(seed: u64) -> PipelineLoops {
    let ahead = [
        Ahead::Loads,
        Ahead::Stage,
        Ahead::Either,
        Ahead::LoadsOfOneBuffer,
        Ahead::Nothing,
        Ahead::Copies,
    ];
    PipelineLoops {
        ahead: ahead[seed as usize % 6],
        plain: seed / 6 % 2 == 1,
        always_store: seed / 12 % 2 == 1,
        ..PipelineLoops::default()
    }
}

/// Whether a stage has a loop that is not unrolled.
fn has_a_loop(program: &Program) -> bool {
    let mut arrays = program.arrays.iter();
    arrays.any(|array| array.fill == Fill::Strided)
}

/// That the module leaves what the program does.
fn agrees(seed: u64, program: &Program, module: &[u8], options: Options) -> Result<()> {
    let output = crate::random::compiled(module, options)?;
    let job = Job::compiled(&output, 0)?;
    let words = pipelines::inputs(program, seed);
    let wanted = pipelines::run(program, &words);
    let inputs = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let contents = [inputs, vec![0; program.results() * 4]];
    let places = (0..).map(|binding| BufferName::Binding(0, binding));
    let inputs = Inputs::new([1, 1, 1], places.zip(contents).collect());
    for schedule in 0..2 {
        let outcome = job.run(&inputs, Schedule::nth(schedule, seed))?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("{finding}");
        }
        let found = outcome.buffers.get(1).context("no results")?;
        let found = found.as_chunks::<4>().0.iter();
        let found = found.map(|word| u32::from_le_bytes(*word));
        for (at, (found, wanted)) in found.zip(&wanted).enumerate() {
            ensure!(
                found == *wanted,
                "word {at} is {found:#x} instead of {wanted:#x}"
            );
        }
    }
    Ok(())
}
