//! Random programs on GPUs of both vendors, with every strategy and optimisation level: the
//! simulator's results are those of the host, and neither the simulator nor the rules have
//! findings.
//!
//! A plain run takes the first programs, and with them every target at every level by every
//! strategy. More programs take one way each, all ways in turn:
//!
//! - `SPLITBAR_SEEDS=50000 cargo test --release -p splitbar-tests --test suite -- random/` runs so
//!   many programs;
//! - `SPLITBAR_FIRST_SEED=N` begins with this one;
//! - `SPLITBAR_WAY=gfx1201,O2,native` runs all of them one way only (`auto` leaves the strategy to
//!   the planner);
//! - `SPLITBAR_SPLIT=1` splits and moves the barriers of all programs, not of a quarter;
//! - `SPLITBAR_UNAUDITED=1` leaves the audit of the code out, which takes half of the time.
//!
//! A program that fails is made smaller, and becomes a case (`found/`).

use crate::found::{Found, Launch, after_passes, caught};
use crate::support::{always_split_on, assembled, linkable, target, trial};
pub(crate) use crate::support::{compiled, errors};
use anyhow::{Context, Result, bail};
use libtest_mimic::Trial;
use splitbar::simulate::Job;
use splitbar::{
    AbiForm, DescriptorSets, FuseAt, NarrowBarriers, Optimization, Options, Output, Placement,
    SplitBarriers, Strategy, Target, Waits,
};
use splitbar_passes::validate::{Environment, Validation};
use splitbar_tests::random::{self, GROUPS, Program, VARIABLES};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const TARGETS: [&str; 9] = [
    "gfx906", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_75", "sm_80", "sm_90",
];
const LEVELS: [(&str, Optimization); 3] = [
    ("O0", Optimization::O0),
    ("O2", Optimization::O2),
    ("O3", Optimization::O3),
];
/// Programs of a normal run.
const SEEDS: u64 = 48;
/// Programs of one trial, where there are many.
pub(crate) const CHUNK: u64 = 100;
/// The time limit for reducing a program.
const PATIENCE: Duration = Duration::from_secs(20);
/// So many failures of a run are made smaller.
const MADE_SMALLER: u64 = 4;

/// The way to compile a program.
#[derive(Copy, Clone)]
pub(crate) struct Way {
    pub(crate) target: &'static Target,
    level: (&'static str, Optimization),
    /// `None` leaves it to the planner.
    strategy: Option<Strategy>,
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let strategy = self.strategy.map_or("auto", Strategy::name);
        write!(f, "{},{},{strategy}", self.target.name, self.level.0)
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(text: &str) -> Result<Way, String> {
        let all = ways().map_err(|error| format!("{error:#}"))?;
        let names: Vec<String> = all.iter().map(Way::to_string).collect();
        let found = all.into_iter().find(|way| way.to_string() == text);
        found.ok_or_else(|| format!("{text:?} is none of {}", names.join(" ")))
    }
}

/// Every target at every level by every strategy that it has.
fn ways() -> Result<Vec<Way>> {
    let mut ways = Vec::new();
    for name in TARGETS {
        let target = target(name)?;
        let own = [Strategy::SingleWave, Strategy::Subgroup];
        let strategies = Strategy::all_of_target(target)
            .into_iter()
            .filter(|strategy| !own.contains(strategy))
            .map(Some);
        for strategy in [None].into_iter().chain(strategies) {
            ways.extend(LEVELS.map(|level| Way {
                target,
                level,
                strategy,
            }));
        }
    }
    Ok(ways)
}

/// The value of the environment variable `name`, if it is set.
pub(crate) fn variable<T: FromStr>(name: &str) -> Result<Option<T>>
where
    T::Err: std::fmt::Display,
{
    let Some(value) = std::env::var_os(name) else {
        return Ok(None);
    };
    let value = value.into_string().ok().context("not UTF-8")?;
    value
        .parse()
        .map(Some)
        .map_err(|error| anyhow::anyhow!("{name}={value}: {error}"))
}

/// The programs of a run, and the ways to compile them.
pub(crate) fn plan() -> Result<(std::ops::Range<u64>, Vec<Way>)> {
    let first: u64 = variable("SPLITBAR_FIRST_SEED")?.unwrap_or(0);
    let count: u64 = variable("SPLITBAR_SEEDS")?.unwrap_or(SEEDS);
    let ways = match variable("SPLITBAR_WAY")? {
        Some(way) => vec![way],
        None => ways()?,
    };
    Ok((first..first + count, ways))
}

pub(crate) fn trials() -> Vec<Trial> {
    let (seeds, ways) = match plan() {
        Ok(plan) => plan,
        Err(error) => return vec![trial("random/variables".to_owned(), move || Err(error))],
    };
    // All ways once, if there are so many programs or not.
    let share = (ways.len() as u64).div_ceil(seeds.end - seeds.start);
    let chunk = if seeds.end - seeds.start > 1000 {
        CHUNK
    } else {
        1
    };
    let mut trials = vec![trial("found/comes_back".to_owned(), cases_come_back)];
    let mut begin = seeds.start;
    while begin < seeds.end {
        let end = (begin + chunk).min(seeds.end);
        let name = match end - begin {
            1 => format!("random/{begin}"),
            _ => format!("random/{begin}-{}", end - 1),
        };
        let ways = ways.clone();
        trials.push(trial(name, move || all(begin..end, &ways, share)));
        begin = end;
    }
    trials
}

/// Runs these programs, and reports for each failure the command that runs only that program.
fn all(seeds: std::ops::Range<u64>, ways: &[Way], share: u64) -> Result<()> {
    linkable("gfx1201")?;
    static DONE: AtomicU64 = AtomicU64::new(0);
    let mut failed = Vec::new();
    for seed in seeds {
        let program = random::program(seed);
        for number in 0..share {
            let at = (seed * share + number) % ways.len() as u64;
            let way = ways[at as usize];
            if let Err(error) = agrees(seed, &program, options(seed, &program, way)) {
                // At once: the harness shows what failed in the end, which may be far away.
                println!("{}", report(seed, &program, way, &error));
                failed.push(format!("{seed} ({way})"));
            }
        }
        let done = DONE.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(1000) {
            println!("random: {done} programs");
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("programs whose reports stand above: {}", failed.join(", "))
}

/// A report of an error: the command that runs only this program, the difference, and a reduced
/// program.
fn report(seed: u64, program: &Program, way: Way, error: &anyhow::Error) -> String {
    let run = |program: &Program| agrees(seed, program, options(seed, program, way)).err();
    let error = format!("{error:#}");
    let mut report =
        format!("SPLITBAR_FIRST_SEED={seed} SPLITBAR_SEEDS=1 SPLITBAR_WAY={way}\n  {error}");
    static REPORTED: AtomicU64 = AtomicU64::new(0);
    if REPORTED.fetch_add(1, Ordering::Relaxed) >= MADE_SMALLER {
        return report;
    }
    let begin = Instant::now();
    let small = random::shrink(program, |candidate| {
        let found = || run(candidate).map(|found| format!("{found:#}"));
        begin.elapsed() < PATIENCE && found().is_some_and(|found| code(&found) == code(&error))
    });
    let case = case(seed, &small, way, &error).unwrap_or_else(|error| format!("{error:#}"));
    report += &format!("\n  {case}\n  made smaller:\n{}", small.outline());
    report
}

/// Writes the program as a case; words for the report.
fn case(seed: u64, program: &Program, way: Way, error: &str) -> Result<String> {
    let options = options(seed, program, way);
    let (module, passes) = module(seed, program, &options)?;
    let output = caught(|| compiled(&after_passes(&module, &passes)?, options.clone()));
    // A program that does not compile has waves all the same when it does.
    let of_target = || {
        let target = way.target.default_wave_size();
        options.wave_size.unwrap_or(target) as usize
    };
    let subgroup = output.and_then(|output| wave_size(&output));
    let found = Found {
        family: "random",
        name: format!("{seed}-{way}"),
        variables: format!("SPLITBAR_FIRST_SEED={seed} SPLITBAR_SEEDS=1 SPLITBAR_WAY={way}"),
        module: &module,
        passes: &passes,
        options: &options,
        launch: &launch(seed, program, subgroup.unwrap_or_else(|_| of_target())),
        error,
    };
    Ok(found.report())
}

/// That the options and launches of programs are the same after they are written and read.
fn cases_come_back() -> Result<()> {
    let ways = ways()?;
    for seed in 0..40 {
        let program = random::program(seed);
        let options = options(seed, &program, ways[(seed * 7) as usize % ways.len()]);
        let found = Found {
            family: "random",
            name: seed.to_string(),
            variables: String::new(),
            module: &[],
            passes: &["fuse-split-barriers=wait".to_owned()],
            options: &options,
            launch: &launch(seed, &program, 32),
            error: "it's\nwrong",
        };
        found.comes_back().with_context(|| format!("{seed}"))?;
    }
    Ok(())
}

/// The first code of a diagnostic or a finding in a text; empty where a result is wrong.
fn code(text: &str) -> &str {
    let is_code = |word: &&str| {
        let number = word.strip_prefix("SB");
        number.is_some_and(|n| n.len() == 4 && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.find(is_code).unwrap_or_default()
}

/// Options that follow from the seed: they change code and must not change results.
pub(crate) fn options(seed: u64, program: &Program, way: Way) -> Options {
    // The parts of the seed that the way does not follow from.
    let mut rest = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let mut one_of = |count: u64| {
        let is_chosen = rest.is_multiple_of(count);
        rest /= count;
        is_chosen
    };
    let mut options = always_split_on(way.target);
    options.optimization = way.level.1;
    options.strategy = way.strategy;
    if !program.is_for_vulkan() {
        options.validation = Validation::Environment(Environment::Universal);
    }
    if one_of(4) {
        options.fuse_at = FuseAt::Arrive;
    }
    options.audit = std::env::var_os("SPLITBAR_UNAUDITED").is_none();
    if one_of(4) {
        options.waits = Waits::Explicit;
    } else if one_of(6) {
        options.waits = Waits::Conservative;
    }
    if one_of(4) {
        options.wave_size = way.target.wave_sizes.last().copied();
    }
    if one_of(4) && Placement::CuMode.exists_on(way.target) {
        options.placement = Placement::CuMode;
    }
    options.promote_async_copies = one_of(4);
    options.scheduling_barriers = !one_of(8);
    options.narrow_barriers = match (one_of(4), one_of(4)) {
        (true, true) => NarrowBarriers::Never,
        (true, false) => NarrowBarriers::Aliased,
        (false, _) => NarrowBarriers::Declared,
    };
    if one_of(4) {
        options.abi = AbiForm::DescriptorSets(DescriptorSets::default());
    }
    if std::env::var_os("SPLITBAR_SPLIT").is_some() || one_of(4) {
        options.split_barriers = SplitBarriers::Always;
        options.fill_windows = one_of(2).then_some(96);
        options.prefetch_loop_loads = one_of(2);
        options.unroll_barrier_loops = one_of(2).then_some(512);
    }
    if way.strategy == Some(Strategy::Cluster) {
        // The workgroup is alone in its cluster: what workgroups do differs.
        options.cluster = Some([1; 3]);
    }
    options
}

fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The module of the program that is compiled with `options`, and the passes that run on it first.
fn module(seed: u64, program: &Program, options: &Options) -> Result<(Vec<u8>, Vec<String>)> {
    let bytes = assembled(&random::text(program))?;
    let splits = options.split_barriers == SplitBarriers::Always;
    // Written pairs become barriers first, and these are split; or else pairs move.
    let fuses = splits && !seed.is_multiple_of(3);
    let passes = fuses.then(|| "fuse-split-barriers=wait".to_owned());
    Ok((bytes, passes.into_iter().collect()))
}

/// Checks that the program has the same results on the simulator as on the host.
fn agrees(seed: u64, program: &Program, options: Options) -> Result<()> {
    let (bytes, passes) = module(seed, program, &options)?;
    let bytes = after_passes(&bytes, &passes)?;
    let splits = options.split_barriers == SplitBarriers::Always;
    let settings = format!(
        "fuse at {:?}, waits {:?}, wave size {:?}, {}, promoted copies: {}, guards: {}, narrows: {:?}, splits: {splits}, fills: {:?}, stages: {}, unrolls: {:?}, {}",
        options.fuse_at,
        options.waits,
        options.wave_size,
        options.placement.name(),
        options.promote_async_copies,
        options.scheduling_barriers,
        options.narrow_barriers,
        options.fill_windows,
        options.prefetch_loop_loads,
        options.unroll_barrier_loops,
        options.abi
    );
    let output = caught(|| compiled(&bytes, options)).context(settings.clone())?;
    let job = Job::compiled(&output, 0).context(settings.clone())?;
    let subgroup = wave_size(&output)?;
    leaves(seed, program, &job, subgroup).context(settings)
}

/// Invocations of a wave of a compiled program.
pub(crate) fn wave_size(output: &Output) -> Result<usize> {
    let entry = output.entries().first().context("no entry point")?;
    Ok(entry.plan.wave_size as usize)
}

/// Checks that `job` has the results of the program on the host, without findings.
pub(crate) fn leaves(seed: u64, program: &Program, job: &Job, subgroup: usize) -> Result<()> {
    launch(seed, program, subgroup).is_right(job)
}

/// The launch of a program in waves of `subgroup` invocations.
fn launch(seed: u64, program: &Program, subgroup: usize) -> Launch {
    let words = random::inputs(seed, program);
    let slots = random::buffers(seed, program);
    let wanted = random::run(program, &words, &slots, subgroup);
    let all = program.size * GROUPS;
    let (both, last) = slots.split_at(2 * all);
    let contents = vec![
        bytes_of(&words),
        vec![0; all * VARIABLES * 4],
        bytes_of(both),
        bytes_of(last),
        vec![0; 4],
        vec![0; all * 4],
        vec![0; program.size * 4],
    ];
    let (left_in_both, left_in_last) = wanted.buffers.split_at(2 * all);
    let mut launch = Launch::new(GROUPS as u32, contents, seed)
        .leaves(1, &wanted.variables)
        .leaves(2, left_in_both)
        .leaves(3, left_in_last)
        .leaves(6, &wanted.sums);
    launch.inputs.push = bytes_of(&program.counts);
    // Another kind of schedule for each program.
    launch.schedules = vec![(seed / 7 % 8) as u32];
    launch
}
