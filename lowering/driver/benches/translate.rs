//! How fast real modules become LLVM IR, and what of a whole compilation is LLVM's.
//!
//! Each module of the corpus is translated to unoptimised bitcode, reading and planning included,
//! and then compiled to an object (AMDGPU) or PTX at -O1. The time that the second takes longer is
//! LLVM's: its optimiser and its code generator. Not criterion's: what counts is the sum over many
//! modules of different kinds. `SPLITBAR_BENCH_EVERY=N` takes every N-th module (default 10), a
//! word on the command line is the target (default gfx1201), and `ir` leaves compiling out, for a
//! profiler.

#[path = "../../../passes/tests/corpus/mod.rs"]
mod corpus;

use anyhow::{Context, Result};
use splitbar::{Optimization, Options, Target};
use std::time::{Duration, Instant};

/// How often a module is translated; the fastest time counts.
const TIMES: u32 = 3;

/// For modules whose workgroup size the application has to choose.
const WORKGROUP_SIZE: [u32; 3] = [64, 1, 1];

/// What one set of modules took.
#[derive(Default)]
struct Sum {
    modules: u32,
    bytes: usize,
    translated: Duration,
    compiled: Duration,
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
        .unwrap_or(10usize)
        .max(1);
    let compiles = std::env::args().all(|word| word != "ir");
    println!("{}, every module in {every}", target.name);
    println!("| set | modules | MB | to LLVM IR, MB/s | to code, ms each | LLVM's share |");
    println!("|---|--:|--:|--:|--:|--:|");
    let files = corpus::modules()?;
    for set in ["glcompute/", "glcompute-split/", "kernel/", "kernel-split/"] {
        let mut sum = Sum::default();
        let members = files
            .iter()
            .filter(|file| file.path.contains(&format!("/{set}")) || file.path.starts_with(set));
        for file in members.step_by(every) {
            sum.add(&file.bytes, target, compiles);
        }
        sum.print(set.trim_end_matches('/'), compiles);
    }
    Ok(())
}

impl Sum {
    /// Adds a module; one that is refused says nothing about speed.
    fn add(&mut self, bytes: &[u8], target: &'static Target, compiles: bool) {
        let mut options = Options::new(target);
        options.optimization = Optimization::O1;
        let mut translated = Duration::MAX;
        for _ in 0..TIMES {
            let begin = Instant::now();
            if splitbar::Compiler::new(&options)
                .translate(bytes, splitbar::BarrierForm::Planned)
                .is_err()
            {
                if options.workgroup_size.is_some() {
                    return;
                }
                options.workgroup_size = Some(WORKGROUP_SIZE);
                continue;
            }
            translated = translated.min(begin.elapsed());
        }
        let begin = Instant::now();
        let compile = || splitbar::Compiler::new(&options).compile(bytes);
        let done = !compiles
            || compile().is_ok_and(|output| match output.object() {
                Ok(_) => true,
                Err(_) => output.assembly().is_ok(),
            });
        if done && translated < Duration::MAX {
            self.modules += 1;
            self.bytes += bytes.len();
            self.translated += translated;
            self.compiled += begin.elapsed();
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers for people")]
    fn print(&self, name: &str, compiles: bool) {
        let megabytes = self.bytes as f64 / 1e6;
        let (translated, compiled) = (self.translated.as_secs_f64(), self.compiled.as_secs_f64());
        let speed = megabytes / translated.max(1e-9);
        print!(
            "| {name} | {} | {megabytes:.2} | {speed:.1} |",
            self.modules
        );
        if compiles {
            let each = 1e3 * compiled / f64::from(self.modules.max(1));
            let share = 100.0 * (1.0 - translated / compiled.max(1e-9));
            println!(" {each:.1} | {share:.0} % |");
        } else {
            println!(" - | - |");
        }
    }
}
