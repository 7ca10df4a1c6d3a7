//! Load and index the corpus, beside the loader of `rspirv` on the modules that it accepts.

#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rspirv::dr;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Declarations, Module};
use std::hint::black_box;

#[path = "../tests/corpus/mod.rs"]
mod corpus;

/// The corpus as words, so that the bytes of a module are aligned as those of a mapped file are.
fn modules() -> Vec<Vec<u32>> {
    let to_words = |file: corpus::File| {
        file.bytes
            .chunks_exact(4)
            .map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap()))
            .collect()
    };
    corpus::modules()
        .unwrap()
        .into_iter()
        .map(to_words)
        .collect()
}

fn bytes(modules: &[&Vec<u32>]) -> u64 {
    modules.iter().map(|words| words.len() as u64 * 4).sum()
}

fn load(c: &mut Criterion) {
    let all = modules();
    let accepted: Vec<&Vec<u32>> = all
        .iter()
        .filter(|words| dr::load_words(words).is_ok())
        .collect();
    let all: Vec<&Vec<u32>> = all.iter().collect();
    let mut group = c.benchmark_group("load");
    group.sample_size(20);
    for (name, modules) in [("corpus", &all), ("accepted by rspirv", &accepted)] {
        group.throughput(Throughput::Bytes(bytes(modules)));
        group.bench_function(BenchmarkId::new("splitbar", name), |b| {
            b.iter(|| {
                modules.iter().for_each(|words| {
                    drop(black_box(
                        Module::parse(bytemuck::cast_slice(words)).unwrap(),
                    ))
                })
            });
        });
    }
    group.bench_function(BenchmarkId::new("rspirv", "accepted by rspirv"), |b| {
        b.iter(|| {
            accepted
                .iter()
                .for_each(|words| drop(black_box(dr::load_words(words).unwrap())))
        });
    });
    group.throughput(Throughput::Bytes(bytes(&all)));
    group.bench_function(
        BenchmarkId::new("splitbar with declarations", "corpus"),
        |b| {
            b.iter(|| {
                for words in &all {
                    let module = Module::parse(bytemuck::cast_slice(words)).unwrap();
                    black_box(Declarations::new(&module, &mut Diagnostics::new()));
                }
            });
        },
    );
    group.finish();
}

criterion_group!(benches, load);
criterion_main!(benches);
