//! Random kernels whose invocations exchange words through workgroup memory, with barriers that are
//! narrowed to subgroups by the pass, and by a compilation. They have the results of the host,
//! without findings of the simulator.
//!
//! `SPLITBAR_EXCHANGES=3000 cargo test -p splitbar-tests --test suite -- exchanges/` runs more of
//! them, `SPLITBAR_FIRST_SEED=N` begins with this one.

use crate::found::{Found, Launch, after_passes, caught};
use crate::random::variable;
use crate::support::{assembled, linkable, target, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::Job;
use splitbar::{Compiler, NarrowBarriers, Optimization, Options};
use splitbar_passes::transform::registry::NARROW_BARRIERS_TO_SUBGROUPS;
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
        let [right, wide] = [32, 128].map(|size| after_passes(&given, &narrowing(size)));
        let (right, wide) = (right?, wide?);
        if right == wide {
            continue;
        }
        wrong += 1;
        let options = Options::new(target("gfx1201")?);
        found += usize::from(agrees(&wide, &options, &launch(&kernel, seed)).is_err());
    }
    ensure!(wrong >= 10, "only {wrong} kernels make a difference");
    ensure!(found == wrong, "{found} of {wrong} are found");
    Ok(())
}

/// The pass that narrows barriers to subgroups of `size` invocations, as a flag without dashes.
fn narrowing(size: u32) -> [String; 1] {
    [format!("{}={size}", NARROW_BARRIERS_TO_SUBGROUPS.name)]
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
    let launch = launch(&kernel, seed);
    let mut fewer = 0;
    for name in TARGETS {
        let level = [Optimization::O0, Optimization::O2][seed as usize % 2];
        let subgroup = [None, Some(8)][seed as usize / 2 % 2];
        let wave = target(name)?.default_wave_size();
        let passes = narrowing(subgroup.unwrap_or(wave));
        let counted = |passes: &[String], narrow: NarrowBarriers| -> Result<usize> {
            let mut options = Options::new(target(name)?);
            options.optimization = level;
            options.subgroup_size = subgroup;
            options.narrow_barriers = narrow;
            let changed = after_passes(&module, passes)?;
            agrees(&changed, &options, &launch).map_err(|error| {
                let error = format!("{error:#}");
                let found = Found {
                    family: "exchanges",
                    name: format!("{seed}-{name}-{level:?}"),
                    variables: format!("SPLITBAR_FIRST_SEED={seed} SPLITBAR_EXCHANGES=1"),
                    module: &module,
                    passes,
                    options: &options,
                    launch: &launch,
                    error: &error,
                };
                anyhow::anyhow!("{name}, {level:?}: {error}\n  {}", found.report())
            })
        };
        let never = NarrowBarriers::Never;
        let all = counted(&[], never)?;
        let left = counted(&passes, never)?;
        ensure!(left <= all, "{name}: {left} barriers instead of {all}");
        let default = counted(&[], NarrowBarriers::default())?;
        // In a workgroup of one wave all barriers are barriers of the wave.
        let wanted = if kernel.invocations() <= wave {
            all
        } else {
            left
        };
        ensure!(
            default == wanted,
            "{name}: {default} barriers by default, {left} by the pass"
        );
        fewer += all - left;
    }
    Ok(fewer)
}

/// The launch of a kernel, and the words that it leaves on the host.
fn launch(kernel: &Kernel, seed: u64) -> Launch {
    let results = vec![0; kernel.invocations() as usize * 4];
    let mut launch = Launch::new(1, vec![results], seed).leaves(0, &exchanges::run(kernel));
    launch.schedules = vec![0, 1, 2];
    launch
}

/// Checks that the kernel has the results of the host, and returns the workgroup barriers in its
/// plan.
fn agrees(module: &[u8], options: &Options, launch: &Launch) -> Result<usize> {
    let compile = || Compiler::new(options).compile(module);
    let output = caught(|| compile().map_err(|failure| anyhow::anyhow!("{failure}")))?;
    launch.is_right(&Job::compiled(&output, 0)?)?;
    let entry = output.entries().first().context("no entry point")?;
    let text = entry.plan.text(&|_| None);
    Ok(text.matches("barrier Workgroup,").count())
}
