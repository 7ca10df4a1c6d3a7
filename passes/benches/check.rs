//! The check of the corpus, of its modules with split barriers, and of generated functions that
//! grow; beside spirv-val on the same modules where that is installed (`SPLITBAR_SPIRV_VAL` names
//! one).

#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues, assemble};
use splitbar_passes::validate::{Environment, Settings, check_static, flow, validate};
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[path = "../tests/corpus/mod.rs"]
mod corpus;
#[path = "../tests/shapes/mod.rs"]
mod shapes;

/// How much of the work is done.
#[derive(Copy, Clone, PartialEq)]
enum Part {
    Static,
    Flow,
    All,
}

/// Reads a module and checks it. The time without reading, and how many problems there are.
fn check(words: &[u32], part: Part) -> (Duration, usize) {
    let module = Module::parse(bytemuck::cast_slice(words)).unwrap();
    let mut problems = Diagnostics::new();
    let declarations = Declarations::new(&module, &mut problems);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
    let start = Instant::now();
    let settings = Settings::new(Environment::from_declarations(&declarations));
    match part {
        Part::Static => check_static(&declarations, &constants, &settings, &mut problems),
        Part::Flow => flow::check(&declarations, &constants, &settings, &mut problems),
        Part::All => validate(&declarations, &constants, &settings, &mut problems),
    }
    (start.elapsed(), problems.len())
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap()))
        .collect()
}

fn has_split_barriers(words: &[u32]) -> bool {
    let module = Module::parse(bytemuck::cast_slice(words)).unwrap();
    module
        .instructions()
        .any(|inst| matches!(inst.opcode(), 6142 | 6143))
}

fn corpus(c: &mut Criterion) {
    let all: Vec<Vec<u32>> = corpus::modules()
        .unwrap()
        .iter()
        .map(|file| words(&file.bytes))
        .collect();
    let split: Vec<Vec<u32>> = all
        .iter()
        .filter(|words| has_split_barriers(words))
        .cloned()
        .collect();
    let mut group = c.benchmark_group("check");
    group.sample_size(10);
    for (name, modules) in [("corpus", &all), ("with split barriers", &split)] {
        let bytes = modules.iter().map(|words| words.len() as u64 * 4).sum();
        group.throughput(Throughput::Bytes(bytes));
        // Reading is left out of the parts: `load` measures it.
        for (part, label) in [
            (Part::Static, "static rules"),
            (Part::Flow, "uniformity and pairing"),
            (Part::All, "everything"),
        ] {
            group.bench_function(BenchmarkId::new(label, name), |b| {
                b.iter_custom(|times| {
                    (0..times)
                        .flat_map(|_| modules)
                        .map(|words| check(words, part).0)
                        .sum()
                });
            });
        }
        group.bench_function(BenchmarkId::new("everything and reading", name), |b| {
            b.iter(|| {
                modules.iter().for_each(|words| {
                    black_box(check(words, Part::All));
                })
            });
        });
    }
    group.finish();
}

/// The cost of a block must not rise with the size of the function.
fn growth(c: &mut Criterion) {
    let mut group = c.benchmark_group("growth");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(2));
    group.warm_up_time(Duration::from_millis(500));
    for (name, shape) in shapes::SHAPES {
        for blocks in [1_000, 10_000, 100_000] {
            let module = assemble(&shape(blocks)).unwrap().module().unwrap();
            group.throughput(Throughput::Elements(blocks as u64));
            group.bench_function(BenchmarkId::new(*name, blocks), |b| {
                b.iter(|| black_box(check(module.words(), Part::All)));
            });
        }
    }
    group.finish();
}

/// Each module in a process of its own, as a build system runs both: spirv-val, and the start of a
/// process that does nothing with it.
fn peer(_: &mut Criterion) {
    let peer = std::env::var("SPLITBAR_SPIRV_VAL").unwrap_or_else(|_| "spirv-val".to_owned());
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&peer);
        command
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let start = Instant::now();
        command.status().map(|_| start.elapsed())
    };
    if run(&["--version"]).is_err() {
        println!("spirv-val: skipped, it is not installed");
        return;
    }
    let file = std::env::temp_dir().join(format!("splitbar-bench-{}.spv", std::process::id()));
    let path = file.to_string_lossy().into_owned();
    let (mut bytes, mut theirs, mut start, mut ours) =
        (0, Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for module in corpus::modules().unwrap().iter().step_by(5) {
        std::fs::write(&file, &module.bytes).unwrap();
        theirs += run(&["--target-env", "spv1.6", &path]).unwrap();
        start += run(&["--version"]).unwrap();
        let words = words(&module.bytes);
        let begin = Instant::now();
        check(&words, Part::All);
        ours += begin.elapsed();
        bytes += module.bytes.len();
    }
    let _ = std::fs::remove_file(&file);
    let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    let net = theirs.saturating_sub(start);
    println!(
        "spirv-val, every fifth module: {:.1} MB/s ({:.1} MB/s with the start of the process); splitbar in process: {:.1} MB/s, {:.1} times that",
        rate(net),
        rate(theirs),
        rate(ours),
        net.as_secs_f64() / ours.as_secs_f64()
    );
}

criterion_group!(benches, corpus, growth, peer);
criterion_main!(benches);
