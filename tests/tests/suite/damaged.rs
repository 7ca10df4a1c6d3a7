//! Fixtures and real modules, damaged by the mutator of the fuzz targets, through `splitbar lower`:
//! done, invalid or unsupported, in time. Never a bug report, a crash or a hang.
//!
//! A plain run takes some. `SPLITBAR_DAMAGED=5000 cargo test --release -p splitbar-tests --test
//! suite -- damaged/` takes so many, `SPLITBAR_FIRST_DAMAGE=N` begins with this one. A module that
//! fails is left in the folder for temporary files.

use crate::support::trial;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar_fuzz::mutate::mutate;
use splitbar_passes::module::Module;
use splitbar_tests::{corpus, fixture, tools};
use std::io::Read;
use std::ops::Range;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
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

pub(crate) fn trials() -> Vec<Trial> {
    let number = |name: &str, otherwise| {
        let value = std::env::var(name).ok();
        value
            .and_then(|value| value.parse().ok())
            .unwrap_or(otherwise)
    };
    let first = number("SPLITBAR_FIRST_DAMAGE", 0);
    let end = first + number("SPLITBAR_DAMAGED", COUNT);
    (first..end)
        .step_by(CHUNK as usize)
        .map(|begin| {
            let seeds = begin..(begin + CHUNK).min(end);
            let name = format!("damaged/{begin}-{}", seeds.end - 1);
            trial(name, move || survive(seeds))
        })
        .collect()
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
        let arguments = ["lower", "--target", target, level, "-o", "/dev/null"];
        let said = match lower(&input, &arguments)? {
            Ended::Answer => continue,
            Ended::Late => format!("it takes more than {MOST_TIME:?}"),
            Ended::Wrong(said) => said,
        };
        let kept = std::env::temp_dir().join(format!("splitbar-damaged-{seed}.spv"));
        std::fs::copy(&input, &kept)?;
        wrong.push(format!(
            "seed {seed}: splitbar {} {}\n{said}",
            arguments.join(" "),
            kept.display()
        ));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
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

fn lower(input: &std::path::Path, arguments: &[&str]) -> Result<Ended> {
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
