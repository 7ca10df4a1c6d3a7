//! How fast real modules become plans, stage by stage: reading, inlining (and pairing), rules,
//! planning. No LLVM.
//!
//! Not criterion's: what counts is the sum over many modules of different kinds, and each stage's
//! share of it. `SPLITBAR_BENCH_EVERY=N` takes every N-th module (default 1), a word on the command
//! line is the target (default gfx1201).

#[path = "../../../passes/tests/corpus/mod.rs"]
mod corpus;

use anyhow::{Context, Result};
use splitbar::{Observer, Options, Stage, Target};
use std::time::{Duration, Instant};

/// How often a module is prepared; the fastest time of each stage counts.
const TIMES: u32 = 5;

/// For modules whose workgroup size the application has to choose.
const WORKGROUP_SIZE: [u32; 3] = [64, 1, 1];

/// The stages that are measured, in their order.
const STAGES: [Stage; 4] = [Stage::Read, Stage::Inline, Stage::Validate, Stage::Plan];

/// When each stage of one run began.
#[derive(Default)]
struct Begins(Vec<Instant>);

impl Observer for Begins {
    fn begin(&mut self, _: Stage) {
        self.0.push(Instant::now());
    }
}

/// What one set of modules took.
#[derive(Default)]
struct Sum {
    modules: u32,
    bytes: usize,
    stages: [Duration; STAGES.len()],
}

fn main() -> Result<()> {
    let target = std::env::args()
        .skip(1)
        .find_map(|word| Target::by_name(&word));
    let target = target
        .or_else(|| Target::by_name("gfx1201"))
        .context("no target")?;
    let every = std::env::var("SPLITBAR_BENCH_EVERY")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1usize)
        .max(1);
    println!("{}, every module in {every}; MB/s", target.name);
    println!("| set | modules | MB | read | inline | validate | plan | all |");
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    let files = corpus::modules()?;
    for set in [
        "glcompute/",
        "glcompute-split/",
        "kernel/",
        "kernel-split/",
        "",
    ] {
        let mut sum = Sum::default();
        let members = files
            .iter()
            .filter(|file| file.path.contains(&format!("/{set}")) || file.path.starts_with(set));
        for file in members.step_by(every) {
            sum.add(&file.bytes, target);
        }
        sum.print(set.trim_end_matches('/'));
    }
    Ok(())
}

impl Sum {
    /// Adds a module; one that is refused says nothing about speed.
    fn add(&mut self, bytes: &[u8], target: &'static Target) {
        let mut options = Options::new(target);
        let mut best = [Duration::MAX; STAGES.len()];
        let mut times = 0;
        while times < TIMES {
            let mut begins = Begins::default();
            let planned = splitbar::Compiler::new(&options)
                .with_observer(&mut begins)
                .plan(bytes);
            begins.0.push(Instant::now());
            if planned.is_err() {
                if options.workgroup_size.is_some() {
                    return;
                }
                options.workgroup_size = Some(WORKGROUP_SIZE);
                continue;
            }
            for (best, ends) in best.iter_mut().zip(begins.0.windows(2)) {
                if let [begin, end] = ends {
                    *best = (*best).min(*end - *begin);
                }
            }
            times += 1;
        }
        self.modules += 1;
        self.bytes += bytes.len();
        for (sum, best) in self.stages.iter_mut().zip(best) {
            *sum += best;
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers for people")]
    fn print(&self, name: &str) {
        let megabytes = self.bytes as f64 / 1e6;
        let rate = |time: Duration| megabytes / time.as_secs_f64().max(1e-9);
        let name = if name.is_empty() { "all" } else { name };
        print!("| {name} | {} | {megabytes:.2} |", self.modules);
        for stage in self.stages {
            print!(" {:.0} |", rate(stage));
        }
        println!(" {:.0} |", rate(self.stages.iter().sum()));
    }
}
