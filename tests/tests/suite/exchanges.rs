//! Random kernels whose invocations exchange words through workgroup memory, with barriers that are
//! narrowed to subgroups. They have the results of the host, without findings of the simulator.
//!
//! `SPLITBAR_EXCHANGES=3000 cargo test -p splitbar-tests --test suite -- exchanges/` runs more of
//! them, `SPLITBAR_FIRST_SEED=N` begins with this one.

use crate::random::variable;
use crate::support::{assembled, linkable, target, told, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar::{Compiler, Optimization, Options};
use splitbar_passes::module::Module;
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::registry::{NARROW_BARRIERS_TO_SUBGROUPS, PassOptions};
use splitbar_tests::exchanges::{self, Kernel};

const TARGETS: [&str; 6] = ["gfx942", "gfx1100", "gfx1201", "gfx1250", "sm_70", "sm_90"];
/// Kernels of a normal run.
const SEEDS: u64 = 60;
/// Kernels of one trial.
const CHUNK: u64 = 10;

pub(crate) fn trials() -> Vec<Trial> {
    let asked = || -> Result<_> {
        Ok((
            variable("SPLITBAR_FIRST_SEED")?,
            variable("SPLITBAR_EXCHANGES")?,
        ))
    };
    let (first, count): (Option<u64>, Option<u64>) = match asked() {
        Ok(asked) => asked,
        Err(error) => return vec![trial("exchanges/variables".to_owned(), move || Err(error))],
    };
    let first = first.unwrap_or(0);
    let end = first + count.unwrap_or(SEEDS);
    let chunks = (first..end).step_by(CHUNK as usize);
    let chunks = chunks.map(|begin| {
        let seeds = begin..end.min(begin + CHUNK);
        let name = format!("exchanges/{}-{}", seeds.start, seeds.end - 1);
        trial(name, move || all(seeds))
    });
    let wrong = trial("exchanges/wrong_size".to_owned(), wrong_sizes_are_found);
    chunks.chain([wrong]).collect()
}

/// Barriers that are narrowed to subgroups of more invocations than a wave has are too few: the
/// simulator finds that, or wrong results, in each kernel for which a wave of this size makes a
/// difference, but for those whose schedules happen to hide it.
fn wrong_sizes_are_found() -> Result<()> {
    linkable("gfx1201")?;
    let (mut wrong, mut found) = (0, 0);
    for seed in 0..SEEDS {
        let kernel = exchanges::kernel(seed);
        let given = assembled(&exchanges::text(&kernel))?;
        let [right, wide] = [32, 128].map(|size| narrowed(&given, size));
        let (right, wide) = (right?, wide?);
        if right == wide {
            continue;
        }
        wrong += 1;
        let options = Options::new(target("gfx1201")?);
        let wanted = exchanges::run(&kernel);
        found += usize::from(agrees(&kernel, &wide, &options, &wanted, seed).is_err());
    }
    ensure!(wrong >= 10, "only {wrong} kernels make a difference");
    ensure!(found == wrong, "{found} of {wrong} are found");
    Ok(())
}

/// `module` with barriers narrowed to subgroups of `size` invocations.
fn narrowed(module: &[u8], size: u32) -> Result<Vec<u8>> {
    let module = told(Module::parse(module))?.into_owned();
    let options = PassOptions::Subgroups(size);
    let pass = NARROW_BARRIERS_TO_SUBGROUPS;
    let steps = [Step { pass, options }];
    let done = told(pipeline::run(
        module,
        &steps,
        Settings::default(),
        &mut |_, _| (),
    ))?;
    Ok(done.module.to_bytes())
}

fn all(seeds: std::ops::Range<u64>) -> Result<()> {
    linkable("gfx1201")?;
    let (mut failed, mut narrowed) = (Vec::new(), 0);
    for seed in seeds {
        match one(seed) {
            Ok(fewer) => narrowed += fewer,
            Err(error) => failed.push(format!(
                "SPLITBAR_FIRST_SEED={seed} SPLITBAR_EXCHANGES=1: {error:#}"
            )),
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    ensure!(narrowed > 0, "no barrier is narrowed");
    Ok(())
}

/// The number of workgroup barriers that the kernel executes less, on all targets together.
fn one(seed: u64) -> Result<usize> {
    let kernel = exchanges::kernel(seed);
    let module = assembled(&exchanges::text(&kernel))?;
    let wanted = exchanges::run(&kernel);
    let mut fewer = 0;
    for name in TARGETS {
        let level = [Optimization::O0, Optimization::O2][seed as usize % 2];
        let subgroup = [None, Some(8)][seed as usize / 2 % 2];
        let wave = target(name)?.default_wave_size();
        let changed = narrowed(&module, subgroup.unwrap_or(wave))?;
        let counted = |module: &[u8]| -> Result<usize> {
            let mut options = Options::new(target(name)?);
            options.optimization = level;
            options.subgroup_size = subgroup;
            agrees(&kernel, module, &options, &wanted, seed)
                .with_context(|| format!("{name}, {level:?}"))
        };
        let all = counted(&module)?;
        let left = counted(&changed)?;
        ensure!(left <= all, "{name}: {left} barriers instead of {all}");
        fewer += all - left;
    }
    Ok(fewer)
}

/// Checks that the kernel has the results of the host, and returns the workgroup barriers in its
/// plan.
fn agrees(
    kernel: &Kernel,
    module: &[u8],
    options: &Options,
    wanted: &[u32],
    seed: u64,
) -> Result<usize> {
    let compiled = Compiler::new(options).compile(module);
    let output = compiled.map_err(|failure| anyhow::anyhow!("{failure}"))?;
    let job = Job::compiled(&output, 0)?;
    let results = vec![0; kernel.invocations() as usize * 4];
    let inputs = Inputs::new([1, 1, 1], vec![(BufferName::Binding(0, 0), results)]);
    for schedule in 0..3 {
        let outcome = job.run(&inputs, Schedule::nth(schedule, seed))?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("{finding}");
        }
        let found = outcome.buffers.first().context("no results")?;
        let found = found.as_chunks::<4>().0.iter();
        let found = found.map(|word| u32::from_le_bytes(*word));
        for (at, (found, wanted)) in found.zip(wanted).enumerate() {
            ensure!(
                found == *wanted,
                "word {at} is {found:#x} instead of {wanted:#x}"
            );
        }
    }
    let entry = output.entries().first().context("no entry point")?;
    let text = entry.plan.text(&|_| None);
    Ok(text.matches("barrier Workgroup,").count())
}
