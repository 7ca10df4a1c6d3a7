//! Fixtures and real modules, damaged by the mutator of the fuzz targets, through `splitbar lower`:
//! done, invalid or unsupported, in time. Never a bug report, a crash or a hang.
//!
//! A plain run takes some. `SPLITBAR_DAMAGED=5000 cargo test --release -p splitbar-tests --test
//! suite -- damaged/` takes so many, `SPLITBAR_FIRST_DAMAGE=N` begins with this one. A module that
//! fails is made smaller, and becomes the case `damaged/SEED.TARGET.LEVEL.spv` (`found/`).

use crate::found;
use crate::support::trial;
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar_fuzz::mutate::mutate;
use splitbar_fuzz::shrink;
use splitbar_passes::module::Module;
use splitbar_tests::{corpus, fixture, tools};
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const TARGETS: [&str; 7] = [
    "gfx1201", "sm_90", "gfx1030", "gfx942", "sm_75", "gfx1250", "gfx906",
];
const LEVELS: [&str; 3] = ["-O2", "-O0", "-O3"];
/// Modules of a plain run.
const COUNT: u64 = 60;
/// Modules of one trial.
const CHUNK: u64 = 20;
/// Larger modules tell no more and take longer.
const MOST_BYTES: usize = 24 << 10;
/// The time limit of one module.
const MOST_TIME: Duration = Duration::from_secs(20);
/// How long a module may be made smaller.
const PATIENCE: Duration = Duration::from_secs(20);
/// So many modules of a run are made smaller.
const MADE_SMALLER: u64 = 4;

pub(crate) fn trials() -> Vec<Trial> {
    let number = |name: &str, otherwise| {
        let value = std::env::var(name).ok();
        value
            .and_then(|value| value.parse().ok())
            .unwrap_or(otherwise)
    };
    let first = number("SPLITBAR_FIRST_DAMAGE", 0);
    let end = first + number("SPLITBAR_DAMAGED", COUNT);
    let found = found::files("damaged", "spv").into_iter().map(|file| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        trial(format!("damaged/found/{name}"), move || survives(&file))
    });
    let random = (first..end).step_by(CHUNK as usize).map(|begin| {
        let seeds = begin..(begin + CHUNK).min(end);
        let name = format!("damaged/{begin}-{}", seeds.end - 1);
        trial(name, move || survive(seeds))
    });
    found.chain(random).collect()
}

/// Modules without damage.
fn whole() -> Result<&'static [Module<'static>]> {
    static WHOLE: OnceLock<Result<Vec<Module<'static>>, String>> = OnceLock::new();
    let load = || -> Result<Vec<Module<'static>>> {
        let mut all = Vec::new();
        for fixture in fixture::all()? {
            all.push(fixture.module()?);
        }
        all.extend(corpus::modules()?.iter().map(|module| module.1.clone()));
        all.retain(|bytes| bytes.len() <= MOST_BYTES);
        let modules = all.iter().filter_map(|bytes| Module::parse(bytes).ok());
        Ok(modules.map(Module::into_owned).collect())
    };
    let loaded = WHOLE.get_or_init(|| load().map_err(|error| format!("{error:#}")));
    loaded
        .as_deref()
        .map_err(|error| anyhow::anyhow!("{error}"))
}

fn survive(seeds: Range<u64>) -> Result<()> {
    let whole = whole()?;
    ensure!(whole.len() > 300, "{} modules", whole.len());
    let mut wrong = Vec::new();
    for seed in seeds {
        let mut random = fastrand::Rng::with_seed(seed);
        let module = &whole[random.usize(..whole.len())];
        let other = &whole[random.usize(..whole.len())];
        let bytes = mutate(module, other, &mut random);
        let target = TARGETS[(seed % TARGETS.len() as u64) as usize];
        let level = LEVELS[(seed / 7 % LEVELS.len() as u64) as usize];
        let folder = tempfile::tempdir()?;
        let input = folder.path().join("damaged.spv");
        std::fs::write(&input, &bytes)?;
        let arguments = arguments(target, level);
        let ended = lower(&input, &arguments)?;
        let Some(said) = ended.problem() else {
            continue;
        };
        let begin = Instant::now();
        static SHRUNK: AtomicU64 = AtomicU64::new(0);
        let is_shrunk = SHRUNK.fetch_add(1, Ordering::Relaxed) < MADE_SMALLER;
        let small = shrink(&bytes, |candidate| {
            // A module that is late would take all the time.
            is_shrunk
                && begin.elapsed() < PATIENCE
                && matches!(ended, Ended::Wrong(_))
                && std::fs::write(&input, candidate).is_ok()
                && matches!(lower(&input, &arguments), Ok(Ended::Wrong(_)))
        });
        let level = level.trim_start_matches('-');
        let kept = found::folder("damaged")?.join(format!("{seed}.{target}.{level}.spv"));
        std::fs::write(&kept, small)?;
        wrong.push(format!(
            "SPLITBAR_FIRST_DAMAGE={seed} SPLITBAR_DAMAGED=1: splitbar {} {}\n{said}",
            arguments.join(" "),
            kept.display()
        ));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn arguments<'a>(target: &'a str, level: &'a str) -> [&'a str; 6] {
    ["lower", "--target", target, level, "-o", "/dev/null"]
}

/// Checks that a module that failed once now ends with an answer.
fn survives(file: &Path) -> Result<()> {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let parts: Vec<&str> = name.split('.').collect();
    let [_, target, level] = parts.as_slice() else {
        bail!("{name} is not SEED.TARGET.LEVEL");
    };
    let level = format!("-{level}");
    match lower(file, &arguments(target, &level))?.problem() {
        Some(said) => bail!("{said}"),
        None => Ok(()),
    }
}

/// The end of a run of the command line.
enum Ended {
    /// With code or with a diagnostic.
    Answer,
    /// It did not.
    Late,
    /// Any other end.
    Wrong(String),
}

impl Ended {
    /// What is wrong with it.
    fn problem(&self) -> Option<String> {
        match self {
            Ended::Answer => None,
            Ended::Late => Some(format!("it takes more than {MOST_TIME:?}")),
            Ended::Wrong(said) => Some(said.clone()),
        }
    }
}

fn lower(input: &Path, arguments: &[&str]) -> Result<Ended> {
    let mut child = Command::new(tools::splitbar()?)
        .args(arguments)
        .arg(input)
        // One process: it is ended when it is late, and a crash is seen as one.
        .env("SPLITBAR_IN_PROCESS", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut pipe = child.stderr.take().context("no standard error")?;
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = pipe.read_to_end(&mut said);
        said
    });
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begin.elapsed() > MOST_TIME {
            child.kill()?;
            child.wait()?;
            return Ok(Ended::Late);
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    if matches!(status.code(), Some(0 | 1 | 3)) {
        return Ok(Ended::Answer);
    }
    let said = reader.join().unwrap_or_default();
    let said: String = String::from_utf8_lossy(&said).chars().take(800).collect();
    Ok(Ended::Wrong(format!("{status}\n{said}")))
}
