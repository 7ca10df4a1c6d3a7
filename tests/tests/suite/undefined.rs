//! Random programs with undefined values, on GPUs of both vendors, without and with optimisation:
//! results that do not depend on them have one value.
//!
//! `SPLITBAR_UNDEFINED_SEEDS=5000 cargo test -p splitbar-tests --test suite -- undefined/` runs
//! more of them, `SPLITBAR_FIRST_SEED=N` begins with this one.

use crate::found::{Found, Launch, caught};
use crate::random::variable;
use crate::support::{always_split, assembled, linkable, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::diagnostic::Code;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar::{Optimization, Options};
use splitbar_tests::undefined::{self, INVOCATIONS, Program};

const TARGETS: [&str; 4] = ["gfx942", "gfx1201", "sm_70", "sm_90"];
const LEVELS: [Optimization; 2] = [Optimization::O0, Optimization::O2];
/// Programs of a normal run.
const SEEDS: u64 = 40;
/// Programs of one trial.
const CHUNK: u64 = 10;

pub(crate) fn trials() -> Vec<Trial> {
    let asked = || -> Result<_> {
        Ok((
            variable("SPLITBAR_FIRST_SEED")?,
            variable("SPLITBAR_UNDEFINED_SEEDS")?,
        ))
    };
    let (first, count): (Option<u64>, Option<u64>) = match asked() {
        Ok(asked) => asked,
        Err(error) => return vec![trial("undefined/variables".to_owned(), move || Err(error))],
    };
    let first = first.unwrap_or(0);
    let end = first + count.unwrap_or(SEEDS);
    let chunks = (first..end).step_by(CHUNK as usize);
    let random = chunks.map(|begin| {
        let seeds = begin..end.min(begin + CHUNK);
        let name = format!("undefined/{}-{}", seeds.start, seeds.end - 1);
        trial(name, move || all(seeds))
    });
    let lost = trial("undefined/lost_effects".to_owned(), lost_effects);
    let filled = trial("undefined/filled_array".to_owned(), filled_array);
    [lost, filled].into_iter().chain(random).collect()
}

/// Only the loop writes an array that is filled before it is read, and the reads are right.
fn filled_array() -> Result<()> {
    let module = assembled(&undefined::filled())?;
    let output = crate::random::compiled(&module, always_split("sm_80")?)?;
    let code = output.assembly()?;
    // What the loop writes is in registers.
    let mut stores = code.lines().filter(|line| line.contains("st.local"));
    let clears = |line: &str| line.contains("st.local.v") || !line.contains("], %");
    ensure!(!stores.any(clears), "the array is cleared:\n{code}");
    for name in TARGETS {
        let output = crate::random::compiled(&module, always_split(name)?)?;
        let place = BufferName::Binding(0, 1);
        let inputs = Inputs::new([1, 1, 1], vec![(place, vec![0; INVOCATIONS * 4])]);
        let outcome = Job::compiled(&output, 0)?.run(&inputs, Schedule::nth(0, 0))?;
        let found = outcome.buffers.first().context("no results")?;
        // Element 0 of the first invocation is not written.
        for (id, word) in found.as_chunks::<4>().0.iter().enumerate().skip(1) {
            let wanted = (id / 2 * (id / 2)) as u32;
            ensure!(
                u32::from_le_bytes(*word) == wanted,
                "{name}: invocation {id}"
            );
        }
    }
    Ok(())
}

/// A kernel whose only write is unreachable is compiled with a warning.
fn lost_effects() -> Result<()> {
    let warned = |condition: &str| -> Result<bool> {
        let module = assembled(&undefined::guarded(condition))?;
        let output = crate::random::compiled(&module, always_split("gfx1201")?)?;
        let mut warnings = output.warnings().iter();
        Ok(warnings.any(|warning| warning.code == Code::NoEffectLeft))
    };
    ensure!(warned("OpULessThan %bool %id %c0")?);
    ensure!(!warned("OpUGreaterThan %bool %id %c0")?);
    Ok(())
}

fn all(seeds: std::ops::Range<u64>) -> Result<()> {
    linkable("gfx1201")?;
    let mut failed = Vec::new();
    for seed in seeds {
        let program = undefined::program(seed);
        let module = assembled(&undefined::text(&program)).with_context(|| format!("{seed}"))?;
        for name in TARGETS {
            for level in LEVELS {
                let mut options = always_split(name)?;
                options.optimization = level;
                let launch = launch(seed, &program);
                if let Err(error) = agrees(&module, &options, &launch) {
                    let error = format!("{error:#}");
                    let found = Found {
                        family: "undefined",
                        name: format!("{seed}-{name}-{level:?}"),
                        variables: format!("SPLITBAR_FIRST_SEED={seed} SPLITBAR_UNDEFINED_SEEDS=1"),
                        module: &module,
                        passes: &[],
                        options: &options,
                        launch: &launch,
                        error: &error,
                    };
                    let variables = &found.variables;
                    let case = found.report();
                    failed.push(format!(
                        "{variables} ({name}, {level:?}): {error}\n  {case}"
                    ));
                }
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("{}", failed.join("\n"))
}

/// The launch of a program, and the values that its results have on the host, where they have one.
fn launch(seed: u64, program: &Program) -> Launch {
    let words = undefined::inputs(seed);
    let inputs = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let results = vec![0; program.outputs * INVOCATIONS * 4];
    let mut launch = Launch::new(1, vec![inputs, results], seed);
    launch.wanted = vec![(1, undefined::run(program, &words))];
    launch
}

/// That everything the program leaves has the value that it has on the host, if it has one.
fn agrees(module: &[u8], options: &Options, launch: &Launch) -> Result<()> {
    let output = caught(|| crate::random::compiled(module, options.clone()))?;
    launch.is_right(&Job::compiled(&output, 0)?)
}
