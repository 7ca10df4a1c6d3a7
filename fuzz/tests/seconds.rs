//! The bodies of the fuzz targets on damaged kernels, fixtures and modules of the corpus, for some
//! seconds each.
//!
//! `SPLITBAR_FUZZ_SECONDS` says for how many (3 by default), `SPLITBAR_FUZZ_SEED` where the damage
//! begins; the same seed gives the same modules. `SPLITBAR_FUZZ_SEEDS` names a folder of folders of
//! modules that are damaged instead.
//!
//! A module that breaks a promise is made smaller and kept as `fuzz/BODY.SEED.spv` in the folder
//! that `SPLITBAR_FOUND` names, or else in that for temporary files. The test `found` runs the
//! bodies of all such files of `fixtures/found`.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../../passes/tests/corpus/mod.rs"]
mod corpus;

use fastrand::Rng;
use splitbar_fuzz::mutate::mutate;
use splitbar_fuzz::{FLAGS, check, forgotten, load, pass, shrink};
use splitbar_passes::module::{Module, assemble};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Larger modules tell no more and take longer.
const MOST_BYTES: usize = 24 << 10;

/// What one module may take, in a build without optimisation on a busy machine.
const MOST_TIME: Duration = Duration::from_secs(10);

/// How long a module may be made smaller.
const PATIENCE: Duration = Duration::from_secs(20);

/// Modules without damage.
fn seeds() -> &'static [Module<'static>] {
    static SEEDS: OnceLock<Vec<Module<'static>>> = OnceLock::new();
    SEEDS.get_or_init(|| {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
        let mut all: Vec<Vec<u8>> = Vec::new();
        for path in files(&fixtures.join("kernels"), "spv") {
            all.push(std::fs::read(path).unwrap());
        }
        for path in files(&fixtures.join("invalid"), "spvasm") {
            let text = std::fs::read_to_string(path).unwrap();
            all.push(assemble(&text).unwrap().module().unwrap().to_bytes());
        }
        let of_corpus = corpus::modules().unwrap().into_iter();
        all.extend(of_corpus.step_by(3).map(|file| file.bytes));
        assert!(all.len() > 300, "{} seeds", all.len());
        if let Ok(folder) = std::env::var("SPLITBAR_FUZZ_SEEDS") {
            let more = files(Path::new(&folder), "spv");
            assert!(!more.is_empty(), "{folder} has no folders of modules");
            all = more
                .iter()
                .map(|path| std::fs::read(path).unwrap())
                .collect();
        }
        all.retain(|bytes| bytes.len() <= MOST_BYTES);
        let modules = all
            .iter()
            .map(|bytes| Module::parse(bytes).unwrap().into_owned());
        modules.collect()
    })
}

/// Files of the folders in `folder`, by name.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .flat_map(|path| std::fs::read_dir(path).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

fn number(variable: &str, otherwise: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The promise that `body` breaks on `bytes`.
fn broken(body: impl Fn(&[u8]), bytes: &[u8]) -> Option<String> {
    let started = Instant::now();
    let ended = catch_unwind(AssertUnwindSafe(|| body(bytes)));
    let took = started.elapsed();
    match ended {
        Err(_) => Some("it panics".to_owned()),
        Ok(()) if took > MOST_TIME => Some(format!("it takes {took:?}")),
        Ok(()) => None,
    }
}

/// Runs `body` on damaged modules until the time is over; what broke a promise.
fn run(name: &str, body: impl Fn(&[u8])) -> Vec<String> {
    let seeds = seeds();
    let first = number("SPLITBAR_FUZZ_SEED", 1);
    let end = Instant::now() + Duration::from_secs(number("SPLITBAR_FUZZ_SECONDS", 3));
    let mut failures = Vec::new();
    let mut count = 0;
    while (Instant::now() < end || count == 0) && failures.len() < 5 {
        let seed = first + count;
        count += 1;
        let mut random = Rng::with_seed(seed);
        let module = &seeds[random.usize(..seeds.len())];
        let other = &seeds[random.usize(..seeds.len())];
        let bytes = mutate(module, other, &mut random);
        if let Some(problem) = broken(&body, &bytes) {
            let begin = Instant::now();
            let small = shrink(&bytes, |candidate| {
                begin.elapsed() < PATIENCE && broken(&body, candidate).is_some()
            });
            let folder = std::env::var_os("SPLITBAR_FOUND")
                .map_or_else(
                    || std::env::temp_dir().join("splitbar-found"),
                    PathBuf::from,
                )
                .join("fuzz");
            std::fs::create_dir_all(&folder).unwrap();
            let kept = folder.join(format!("{name}.{seed}.spv"));
            std::fs::write(&kept, &small).unwrap();
            failures.push(format!(
                "SPLITBAR_FUZZ_SEED={seed}: {name}: {problem}: {}",
                kept.display()
            ));
        }
    }
    println!("{name}: {count} modules");
    failures
}

#[test]
fn every_pass_has_a_target() {
    assert_eq!(forgotten(), [""; 0]);
}

/// The modules that broke a promise once, each with the body in its name.
#[test]
fn found() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/found");
    let mut failures = Vec::new();
    for path in files(&fixtures, "spv") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let folder = path.parent().and_then(Path::file_name);
        if folder.is_none_or(|folder| folder != "fuzz") {
            continue;
        }
        let body = name.split('.').next().unwrap_or_default();
        let bytes = std::fs::read(&path).unwrap();
        let run: &dyn Fn(&[u8]) = match body {
            "load" => &load,
            "check" => &check,
            flag => &|bytes| pass(flag, bytes),
        };
        failures.extend(broken(run, &bytes).map(|problem| format!("{name}: {problem}")));
    }
    assert_eq!(failures, [""; 0]);
}

#[test]
fn loader() {
    assert_eq!(run("load", load), [""; 0]);
}

#[test]
fn validator() {
    assert_eq!(run("check", check), [""; 0]);
}

/// Two passes at a time: the other tests of this file end long before.
#[test]
fn passes() {
    let (first, second) = FLAGS.split_at(FLAGS.len() / 2);
    let failures = |flags: &[&str]| -> Vec<String> {
        let of_flag = |flag: &&str| run(flag, |bytes| pass(flag, bytes));
        flags.iter().flat_map(of_flag).collect()
    };
    let failures = std::thread::scope(|scope| {
        let other = scope.spawn(|| failures(second));
        let mut failures = failures(first);
        failures.extend(other.join().unwrap());
        failures
    });
    assert_eq!(failures, [""; 0]);
}
