//! The table: what it says of each pass.

use crate::measure::Measured;
use std::time::Duration;

/// What the sample takes with all passes.
pub(crate) struct Usual {
    /// The modules as one run has them, each with its median time.
    modules: Vec<Option<Measured>>,
    /// How far the time of a run lies from that at most, in per cent.
    noise: f64,
}

impl Usual {
    /// That of runs of the same modules.
    pub(crate) fn from_runs(runs: &[Vec<Option<Measured>>]) -> Option<Usual> {
        let mut modules = runs.first()?.clone();
        for (position, module) in modules.iter_mut().enumerate() {
            let of = |run: &Vec<Option<Measured>>| Some(run.get(position)?.as_ref()?.time);
            let mut times: Vec<Duration> = runs.iter().filter_map(of).collect();
            times.sort();
            if let (Some(module), Some(time)) = (module, times.get(times.len() / 2)) {
                module.time = *time;
            }
        }
        let mut usual = Usual {
            modules,
            noise: 0.0,
        };
        let saved = runs.iter().map(|run| usual.saved(run).abs());
        usual.noise = saved.fold(0.0, f64::max);
        Some(usual)
    }

    /// The modules that `others` has too, each with what it takes there.
    fn beside<'a>(
        &'a self,
        others: &'a [Option<Measured>],
    ) -> impl Iterator<Item = (&'a Measured, &'a Measured)> {
        let pairs = self.modules.iter().zip(others);
        pairs.filter_map(|(module, other)| Some((module.as_ref()?, other.as_ref()?)))
    }

    /// How much less time `others` takes, in per cent: the median of the modules.
    fn saved(&self, others: &[Option<Measured>]) -> f64 {
        let share = |module: &Measured, other: &Measured| {
            other.time.as_secs_f64() / module.time.as_secs_f64().max(1e-9)
        };
        let pairs = self.beside(others);
        let mut shares: Vec<f64> = pairs.map(|(module, other)| share(module, other)).collect();
        shares.sort_by(f64::total_cmp);
        let median = shares.get(shares.len() / 2).copied().unwrap_or(1.0);
        100.0 * (1.0 - median)
    }
}

/// What changes without a pass.
pub(crate) struct Row<'p> {
    pass: &'p str,
    /// `None` where LLVM ended the process without it.
    change: Option<Change>,
}

struct Change {
    /// Time that is saved, and instructions and registers that come on top, in per cent.
    saved: f64,
    instructions: f64,
    registers: f64,
    /// What is spilled on top.
    spilled: i64,
    /// Modules whose code is another one.
    other: usize,
    /// Modules that are not compiled any more.
    lost: usize,
}

impl<'p> Row<'p> {
    pub(crate) fn ended(pass: &'p str) -> Row<'p> {
        Row { pass, change: None }
    }

    /// Compares `without` the pass with `usual`, over the modules that both compile.
    #[expect(clippy::cast_precision_loss, reason = "numbers for people")]
    pub(crate) fn from_parts(
        pass: &'p str,
        without: &[Option<Measured>],
        usual: &Usual,
    ) -> Row<'p> {
        let both = || usual.beside(without);
        let more = |of: fn(&Measured) -> f64| {
            let with: f64 = both().map(|(with, _)| of(with)).sum();
            let without: f64 = both().map(|(_, without)| of(without)).sum();
            100.0 * (without / with.max(1e-9) - 1.0)
        };
        let spilled = both().map(|(with, without)| {
            i64::from(without.registers.spilled) - i64::from(with.registers.spilled)
        });
        let change = Change {
            saved: usual.saved(without),
            instructions: more(|module| module.instructions as f64),
            registers: more(|module| f64::from(module.registers.used)),
            spilled: spilled.sum(),
            other: both()
                .filter(|(with, without)| with.code != without.code)
                .count(),
            lost: usual.modules.iter().flatten().count() - both().count(),
        };
        Row {
            pass,
            change: Some(change),
        }
    }
}

/// Prints the rows, those first that save most. What saves less than the noise is listed behind.
pub(crate) fn print(target: &str, modules: usize, usual: &Usual, rows: Vec<Row<'_>>) {
    let mut changes = Vec::new();
    let (mut needed, mut idle, mut small) = (Vec::new(), Vec::new(), Vec::new());
    for Row { pass, change } in rows {
        match change {
            None => needed.push(pass.to_owned()),
            Some(change) if change.lost > 0 => {
                needed.push(format!("{pass} ({} modules)", change.lost));
            }
            Some(change) if change.saved.abs() > usual.noise => changes.push((pass, change)),
            Some(change) if change.other == 0 => idle.push(pass.to_owned()),
            Some(change) => small.push(format!(
                "{pass} ({}: {:+.2}, {:+.2})",
                change.other, change.instructions, change.registers
            )),
        }
    }
    changes.sort_by(|(_, a), (_, b)| b.saved.total_cmp(&a.saved));
    let seconds = usual.modules.iter().flatten().map(|module| module.time);
    let seconds = seconds.sum::<Duration>().as_secs_f64();
    println!(
        "\n{target}: {modules} modules, {seconds:.2} s in LLVM, noise {:.1} %\n",
        usual.noise
    );
    println!("| without | time saved | instructions | registers | spilled | other code |");
    println!("|---|--:|--:|--:|--:|--:|");
    for (pass, change) in changes {
        println!(
            "| {pass} | {:.1} % | {:+.2} % | {:+.2} % | {:+} | {} |",
            change.saved, change.instructions, change.registers, change.spilled, change.other
        );
    }
    for (what, passes) in [
        ("Less than the noise, the same code", idle),
        (
            "Less than the noise (modules with other code: instructions, registers in %)",
            small,
        ),
        ("Code cannot do without", needed),
    ] {
        if !passes.is_empty() {
            println!("\n{what}: {}.", passes.join(", "));
        }
    }
}
