//! Random programs with group operations in every kind of control flow: the simulator's results are
//! those of tangles that diverge and reconverge by SPIR-V's rules.
//!
//! A plain run takes some programs, each on one target at one level.
//!
//! - `SPLITBAR_TANGLES=3000 cargo test -p splitbar-tests --test suite -- tangles/` runs so many, each
//!   on every target: at -O0 or -O2, a tenth at -O1 or -O3;
//! - `SPLITBAR_FIRST_SEED=N` begins with this one;
//! - `SPLITBAR_WAY=gfx1201,O2` runs all of them one way only.
//!
//! A program that fails is made smaller, and becomes a case (`found/`).

use crate::found::{Found, Launch, caught};
use crate::random::{errors, wave_size};
use crate::support::{always_split, assembled, linkable, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::Job;
use splitbar::{Optimization, Options};
use splitbar_tests::tangles::{self, Program};
use std::time::{Duration, Instant};

const TARGETS: [&str; 10] = [
    "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_60", "sm_70", "sm_80",
    "sm_90",
];
const LEVELS: [(&str, Optimization); 4] = [
    ("O0", Optimization::O0),
    ("O1", Optimization::O1),
    ("O2", Optimization::O2),
    ("O3", Optimization::O3),
];
/// Programs of a normal run.
const PROGRAMS: u64 = 40;
/// Programs of one trial.
const CHUNK: u64 = 20;
/// The time limit for reducing a program.
const PATIENCE: Duration = Duration::from_secs(20);

/// A target and a level.
type Way = (&'static str, (&'static str, Optimization));

fn number(name: &str) -> Result<Option<u64>> {
    let value = std::env::var(name).ok();
    let parse = |value: String| value.parse().with_context(|| format!("{name}={value}"));
    value.map(parse).transpose()
}

/// The first program, the number of programs after it, and the only way to compile them, if one is
/// selected.
fn plan() -> Result<(u64, Option<u64>, Option<Way>)> {
    let way = match std::env::var("SPLITBAR_WAY") {
        Err(_) => None,
        Ok(text) => {
            let mut parts = text.split(',');
            let (target, level) = (parts.next(), parts.next());
            let target = TARGETS.into_iter().find(|name| Some(*name) == target);
            let level = LEVELS.into_iter().find(|(name, _)| Some(*name) == level);
            target.zip(level)
        }
    };
    let first = number("SPLITBAR_FIRST_SEED")?.unwrap_or(0);
    Ok((first, number("SPLITBAR_TANGLES")?, way))
}

pub(crate) fn trials() -> Vec<Trial> {
    let (first, count, only) = match plan() {
        Ok(plan) => plan,
        Err(error) => return vec![trial("tangles/variables".to_owned(), move || Err(error))],
    };
    let end = first + count.unwrap_or(PROGRAMS);
    let mut trials = Vec::new();
    for (name, program) in tangles::found() {
        trials.push(trial(format!("tangles/found/{name}"), move || {
            right_everywhere(&program)
        }));
    }
    let mut begin = first;
    while begin < end {
        let seeds = begin..(begin + CHUNK).min(end);
        begin = seeds.end;
        let name = format!("tangles/{}-{}", seeds.start, seeds.end - 1);
        trials.push(trial(name, move || all(seeds, count.is_some(), only)));
    }
    trials
}

/// Checks that the program is right on every target at every level.
fn right_everywhere(program: &Program) -> Result<()> {
    linkable("gfx1201")?;
    for name in TARGETS {
        for level in LEVELS {
            agrees(0, program, (name, level)).with_context(|| format!("{name} {}", level.0))?;
        }
    }
    Ok(())
}

/// The ways to compile a program.
fn ways(seed: u64, every: bool, only: Option<Way>) -> Vec<Way> {
    if let Some(way) = only {
        return vec![way];
    }
    let level = LEVELS[match seed % 20 {
        0 => 1,
        10 => 3,
        seed => 2 * (seed % 2) as usize,
    }];
    let all = TARGETS.map(|name| (name, level));
    if every {
        all.to_vec()
    } else {
        // Each target at -O0 and at -O2 comes among the first programs.
        vec![all[(seed / 2) as usize % all.len()]]
    }
}

fn all(seeds: std::ops::Range<u64>, every: bool, only: Option<Way>) -> Result<()> {
    linkable("gfx1201")?;
    let mut failed = Vec::new();
    for seed in seeds {
        let program = tangles::program(seed);
        for way in ways(seed, every, only) {
            if let Err(error) = agrees(seed, &program, way) {
                println!("{}", report(seed, &program, way, &error));
                failed.push(format!("{seed} ({},{})", way.0, way.1.0));
            }
        }
    }
    ensure!(
        failed.is_empty(),
        "programs whose reports are above: {}",
        failed.join(", ")
    );
    Ok(())
}

/// A report of an error: the command that runs only this program, the difference, and a reduced
/// program.
fn report(seed: u64, program: &Program, way: Way, error: &anyhow::Error) -> String {
    let begin = Instant::now();
    let small = tangles::shrink(program, |candidate| {
        begin.elapsed() < PATIENCE && agrees(seed, candidate, way).is_err()
    });
    let (name, (level, _)) = way;
    let variables =
        format!("SPLITBAR_FIRST_SEED={seed} SPLITBAR_TANGLES=1 SPLITBAR_WAY={name},{level}");
    let error = format!("{error:#}");
    let case = || -> Result<String> {
        let options = options(way)?;
        let module = assembled(&tangles::text(&small))?;
        let compiled = || crate::random::compiled(&module, options.clone());
        let wave = match caught(compiled) {
            Ok(output) => wave_size(&output)?,
            Err(_) => options.target.default_wave_size() as usize,
        };
        let found = Found {
            family: "tangles",
            name: format!("{seed}-{name}-{level}"),
            variables: variables.clone(),
            module: &module,
            passes: &[],
            options: &options,
            launch: &launch(seed, &small, wave)?,
            error: &error,
        };
        Ok(found.report())
    };
    let case = case().unwrap_or_else(|error| format!("{error:#}"));
    let outline = small.outline();
    format!("{variables}\n  {error}\n  {case}\n  made smaller:\n{outline}")
}

/// The options of a way.
fn options((name, (_, level)): Way) -> Result<Options> {
    let mut options = always_split(name)?;
    options.optimization = level;
    Ok(options)
}

/// The launch of a program in waves of `wave` invocations, and what it leaves by SPIR-V's rules.
fn launch(seed: u64, program: &Program, wave: usize) -> Result<Launch> {
    let wanted = tangles::run(program, u32::try_from(wave)?);
    let mut launch = Launch::new(1, vec![vec![0; wanted.len() * 4]], seed).leaves(0, &wanted);
    launch.schedules = vec![(seed % 8) as u32];
    Ok(launch)
}

/// That the program leaves on the simulated machine what it leaves by SPIR-V's rules.
fn agrees(seed: u64, program: &Program, way: Way) -> Result<()> {
    let bytes = assembled(&tangles::text(program))?;
    let options = options(way)?;
    let compile = || splitbar::Compiler::new(&options).compile(&bytes);
    let output = caught(|| compile().map_err(|refused| errors(&refused)))?;
    launch(seed, program, wave_size(&output)?)?.is_right(&Job::compiled(&output, 0)?)
}
