//! The table: what it says of each pass.

use crate::measure::Measured;

/// What the sample takes with all passes.
pub(crate) struct Sum {
    /// The median run.
    modules: Vec<Option<Measured>>,
    /// Seconds of that run.
    seconds: f64,
    /// How far the runs lie from it at most, in per cent.
    noise: f64,
}

impl Sum {
    /// That of runs of the same.
    pub(crate) fn of(mut runs: Vec<Vec<Option<Measured>>>) -> Option<Sum> {
        runs.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        let all: Vec<f64> = runs.iter().map(|run| seconds(run)).collect();
        let modules = runs.swap_remove(runs.len() / 2);
        let seconds = seconds(&modules);
        let noise = [all.first()?, all.last()?]
            .map(|other| 100.0 * (other / seconds - 1.0).abs())
            .into_iter()
            .fold(0.0, f64::max);
        Some(Sum {
            modules,
            seconds,
            noise,
        })
    }
}

fn seconds(modules: &[Option<Measured>]) -> f64 {
    let times = modules.iter().flatten().map(|module| module.time);
    times.sum::<std::time::Duration>().as_secs_f64()
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

    /// Compares `without` the pass with `sum`, over the modules that both compile.
    #[expect(clippy::cast_precision_loss, reason = "numbers for people")]
    pub(crate) fn of(pass: &'p str, without: &[Option<Measured>], sum: &Sum) -> Row<'p> {
        let both = || {
            let pairs = sum.modules.iter().zip(without);
            pairs.filter_map(|(with, without)| Some((with.as_ref()?, without.as_ref()?)))
        };
        let more = |of: fn(&Measured) -> f64| {
            let with: f64 = both().map(|(with, _)| of(with)).sum();
            let without: f64 = both().map(|(_, without)| of(without)).sum();
            100.0 * (without / with.max(1e-9) - 1.0)
        };
        let spilled = both().map(|(with, without)| {
            i64::from(without.registers.spilled) - i64::from(with.registers.spilled)
        });
        let change = Change {
            saved: -more(|module| module.time.as_secs_f64()),
            instructions: more(|module| module.instructions as f64),
            registers: more(|module| f64::from(module.registers.used)),
            spilled: spilled.sum(),
            other: both()
                .filter(|(with, without)| with.code != without.code)
                .count(),
            lost: sum.modules.iter().flatten().count() - both().count(),
        };
        Row {
            pass,
            change: Some(change),
        }
    }
}

/// Prints the rows, those first that save most. What saves less than the noise is listed behind.
pub(crate) fn print(target: &str, modules: usize, sum: &Sum, rows: Vec<Row<'_>>) {
    let mut changes = Vec::new();
    let (mut needed, mut idle, mut small) = (Vec::new(), Vec::new(), Vec::new());
    for Row { pass, change } in rows {
        match change {
            None => needed.push(pass.to_owned()),
            Some(change) if change.lost > 0 => {
                needed.push(format!("{pass} ({} modules)", change.lost));
            }
            Some(change) if change.saved.abs() > sum.noise => changes.push((pass, change)),
            Some(change) if change.other == 0 => idle.push(pass.to_owned()),
            Some(change) => small.push(format!(
                "{pass} ({}: {:+.2}, {:+.2})",
                change.other, change.instructions, change.registers
            )),
        }
    }
    changes.sort_by(|(_, a), (_, b)| b.saved.total_cmp(&a.saved));
    println!(
        "\n{target}: {modules} modules, {:.2} s in LLVM, noise {:.1} %\n",
        sum.seconds, sum.noise
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
