//! A check costs about as much for each block of a large function as for each of a small one,
//! whatever the shape, and no depth overflows the stack.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../shapes/mod.rs"]
mod shapes;

use shapes::SHAPES;
use splitbar_harness::cpu_time;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues, assemble};
use splitbar_passes::validate::{Environment, Settings, validate};
use std::time::Duration;

/// Problems and the time that the check took: the least of some runs.
fn check(module: &Module<'_>, runs: usize) -> (usize, Duration) {
    let mut least = Duration::MAX;
    let mut problems = 0;
    for _ in 0..runs {
        let (diagnostics, took) = cpu_time(|| {
            let mut diagnostics = Diagnostics::new();
            let declarations = Declarations::new(module, &mut diagnostics);
            assert!(diagnostics.is_empty(), "{diagnostics}");
            let constants =
                Constants::evaluate(&declarations, &SpecValues::default(), &mut diagnostics);
            let settings = Settings::new(Environment::from_declarations(&declarations));
            validate(&declarations, &constants, &settings, &mut diagnostics);
            diagnostics
        });
        least = least.min(took);
        problems = diagnostics.len();
    }
    (problems, least)
}

/// Blocks (or pairs) of the small function and of the large one; the benchmark `growth` has
/// 100,000.
const FEW: usize = MANY / 20;
const MANY: usize = if cfg!(debug_assertions) {
    10_000
} else {
    100_000
};

/// Room for caches and a busy machine; a square law would make it at least twenty.
const MOST_GROWTH: f64 = 10.0;

/// Recursion on depth would need more: the deepest shape has thousands of levels.
const STACK: usize = 256 << 10;

#[test]
fn time_for_each_block_stays_about_the_same() {
    let mut wrong = Vec::new();
    for (name, shape) in SHAPES {
        let [small, large] = [(FEW, 5), (MANY, 1)].map(|(blocks, runs)| {
            let module = assemble(&shape(blocks)).unwrap().module().unwrap();
            let (problems, time) = std::thread::scope(|scope| {
                let run = std::thread::Builder::new()
                    .stack_size(STACK)
                    .spawn_scoped(scope, || check(&module, runs));
                run.unwrap().join().unwrap()
            });
            println!("{name}: {blocks} blocks in {time:?}, {problems} problems");
            assert!(problems > 0, "{name}: every shape has something to be said");
            time.as_secs_f64() / blocks as f64
        });
        if large / small > MOST_GROWTH {
            wrong.push(format!(
                "{name}: {:.1} times as much for each block",
                large / small
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
