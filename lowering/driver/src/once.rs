//! Each stage of a compilation runs once, whatever is asked for beside the code: stages are counted
//! by their tracing spans. `tracing` notes for the whole process which spans anybody wants, so each
//! of these tests runs in a process of its own.
#![allow(clippy::unwrap_used)]

use crate::{Choice, Compiler, Options, SplitBarriers, Target};
use pretty_assertions::assert_eq;
use splitbar_harness::alone;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Counts spans by name.
#[derive(Clone, Default)]
struct Counts {
    spans: Arc<Mutex<BTreeMap<&'static str, u32>>>,
    next: Arc<AtomicU64>,
}

impl Subscriber for Counts {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut spans = self.spans.lock().unwrap();
        *spans.entry(span.metadata().name()).or_default() += 1;
        Id::from_u64(self.next.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The spans of one compilation, with every pair split but for what `change` does.
fn stages(kernel: &str, change: impl FnOnce(&mut Options)) -> Vec<(&'static str, u32)> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/kernels");
    let bytes = std::fs::read(format!("{root}/{kernel}/{kernel}.spv")).unwrap();
    let mut options = Options::new(Target::by_name("gfx1201").unwrap());
    options.choice = Choice::AlwaysSplit;
    change(&mut options);
    let counts = Counts::default();
    tracing::subscriber::with_default(counts.clone(), || {
        Compiler::new(&options).compile(&bytes).unwrap()
    });
    let spans = counts.spans.lock().unwrap();
    spans.iter().map(|(name, count)| (*name, *count)).collect()
}

#[test]
fn every_stage_runs_once() {
    alone("once::every_stage_runs_once", stages_run_once);
}

fn stages_run_once() {
    let stages_of_code = [
        ("inline", 1),
        ("lower", 1),
        ("pair", 1),
        ("plan", 1),
        ("read", 1),
        ("validate", 1),
    ];
    // The barriers of one stand in its entry function, those of the other in functions.
    for kernel in ["tiled_matmul", "split_functions"] {
        assert_eq!(stages(kernel, |_| ()), stages_of_code, "{kernel}");
        let mut with_measure = stages_of_code.to_vec();
        with_measure.insert(2, ("measure", 1));
        let measured = stages(kernel, |options| {
            options.measure = true;
            options.audit = true;
        });
        assert_eq!(measured, with_measure, "{kernel}");
        let mut with_split = stages_of_code.to_vec();
        with_split.insert(5, ("split", 1));
        let split = stages(kernel, |options| {
            options.split_barriers = SplitBarriers::Always;
        });
        assert_eq!(split, with_split, "{kernel}");
    }
}

#[test]
fn each_version_is_compiled_once() {
    alone(
        "once::each_version_is_compiled_once",
        versions_are_compiled_once,
    );
}

/// Where versions of a module are compared, each is compiled once: the code of the one that is
/// taken is what comes out, audited too.
fn versions_are_compiled_once() {
    let count = |stages: &[(&str, u32)], name: &str| {
        let found = stages.iter().find(|(stage, _)| *stage == name);
        found.map_or(0, |(_, count)| *count)
    };
    for (kernel, when) in [
        ("tiled_matmul", SplitBarriers::Never),
        ("tiled_matmul", SplitBarriers::Auto),
        ("split_functions", SplitBarriers::Never),
        ("reduction", SplitBarriers::Auto),
    ] {
        let compared = |audit| {
            stages(kernel, |options| {
                options.choice = Choice::Balanced;
                options.split_barriers = when;
                options.audit = audit;
            })
        };
        let plain = compared(false);
        assert_eq!(plain, compared(true), "{kernel}");
        let versions = count(&plain, "lower");
        assert!((1..=3).contains(&versions), "{kernel}: {plain:?}");
        assert_eq!(count(&plain, "read"), 1, "{kernel}: {plain:?}");
        // One module where nothing is split, whatever the plans are; else one for each version.
        let modules = match when {
            SplitBarriers::Never => 1,
            _ => versions,
        };
        assert_eq!(count(&plain, "inline"), modules, "{kernel}: {plain:?}");
    }
}
