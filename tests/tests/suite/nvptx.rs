//! NVPTX: every target with every strategy and kind of workgroup, and the text that the PTX of
//! every fixture must or must not contain.

use crate::strategies;
use crate::support::{compile_bytes, target, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use regex::Regex;
use splitbar::{Optimization, Strategy, Target};
use splitbar_tests::fixture::Fixture;

/// Invocations of the workgroup: one warp, one and a bit, up to one set of named barriers and more,
/// the most.
const SIZES: [u32; 5] = [32, 65, 224, 480, 1024];

/// One of each kind: no independent threads, named barriers with and without them, both mbarriers,
/// the newest.
const GPUS: [&str; 6] = ["sm_50", "sm_70", "sm_75", "sm_80", "sm_90", "sm_120"];

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for target in Target::all().iter().filter(|t| t.nvptx().is_some()) {
        trials.push(trial(format!("nvptx/grid/{}", target.name), move || {
            grid(target)
        }));
    }
    // Without a pair no strategy shows.
    for fixture in fixtures.iter().filter(|f| !f.expectations.pairs.is_empty()) {
        let fixture = fixture.clone();
        trials.push(trial(format!("nvptx/text/{}", fixture.name), move || {
            every_text(&fixture)
        }));
    }
    trials
}

/// A kernel whose workgroup size is a specialization constant, with every combination that the
/// target has.
fn grid(target: &'static Target) -> Result<()> {
    let module = Fixture::load("spec_size")?.module()?;
    let ptx = target.nvptx().context("not NVIDIA's")?.ptx;
    let version = format!(".version {}.{}\n", ptx / 10, ptx % 10);
    let mut built = 0;
    for strategy in Strategy::ALL {
        for size in SIZES {
            let compiled = compile_bytes(&module, target.name, |options| {
                options.strategy = Some(*strategy);
                options.optimization = Optimization::O1;
                options.spec.0.insert(0, size.into());
            });
            // A strategy that the target lacks is refused by name; nothing else is.
            match compiled {
                Ok(output) => {
                    let text = told(output.assembly())?;
                    ensure!(
                        text.contains(&version),
                        "{strategy}: not for PTX {ptx}, the least that has all"
                    );
                    rely(&Text::read(&text, size)?)
                        .with_context(|| format!("{strategy}, {size} invocations"))?;
                    built += 1;
                }
                Err(refusal) => ensure!(
                    format!("{refusal:#}").contains("cannot lower the split barriers"),
                    "{strategy}, {size} invocations: {refusal:#}"
                ),
            }
        }
    }
    // Fused and another one are everywhere.
    ensure!(built >= 2 * SIZES.len() - 1, "only {built} combinations");
    Ok(())
}

fn every_text(fixture: &Fixture) -> Result<()> {
    let [x, y, z] = fixture.expectations.reference.workgroup_size;
    for gpu in GPUS {
        for (strategy, output) in strategies::outputs(fixture, gpu)? {
            let text = told(output.assembly())?;
            let here = || format!("{gpu}, {strategy}");
            let read = Text::read(&text, x * y * z).with_context(here)?;
            rely(&read).with_context(here)?;
            // A size that only the launch knows is not written.
            if let Some([x, y, z]) = output.entries().first().and_then(|e| e.abi.workgroup_size) {
                ensure!(
                    text.contains(&format!(".reqntid {x}, {y}, {z}")),
                    "{}: the workgroup's size is not said",
                    here()
                );
            }
            for line in output
                .ir()
                .lines()
                .filter(|line| line.starts_with("define"))
            {
                // Without it LLVM copies what is passed by value to local memory.
                ensure!(
                    line.matches("byval(").count() == line.matches("nvvm.grid_constant").count(),
                    "{}: {line}",
                    here()
                );
                ensure!(
                    line.contains("ptx_kernel") || line.contains("internal"),
                    "{}: {line}",
                    here()
                );
            }
        }
    }
    Ok(())
}

/// The parts of a PTX text that are looked at.
struct Text<'t> {
    lines: Vec<&'t str>,
    invocations: u32,
    /// ptxas counts the barriers of a kernel. The reserved barriers limit the number of workgroups
    /// on an SM.
    limited: bool,
    barriers: Vec<Barrier<'t>>,
}

/// `bar` or `barrier` with its operands.
struct Barrier<'t> {
    line: &'t str,
    arrives: bool,
    /// The barrier's number; `None` from a register.
    number: Option<u32>,
    /// The number of threads; `None` without one: all.
    threads: Option<&'t str>,
}

impl<'t> Text<'t> {
    fn read(text: &'t str, invocations: u32) -> Result<Text<'t>> {
        let gpu = text
            .lines()
            .find_map(|line| line.strip_prefix(".target "))
            .context("no target")?;
        let gpu = gpu.split(',').next().unwrap_or_default().trim();
        let limited = target(gpu)?
            .nvptx()
            .is_some_and(|gpu| gpu.barriers_limit_occupancy);
        let lines: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split("//").next())
            .map(str::trim)
            .collect();
        // A reduction has its result in front of the number and its predicate behind it.
        let form = Regex::new(
            r"\b(?:bar|barrier)(?:\.cta)?\.(?:(sync|arrive)\S*|red\S*\s+%\w+,)\s+(%r\d+|\d+)(?:, (%r\d+|\d+))?[,;]",
        )?;
        let barriers = lines
            .iter()
            .filter_map(|line| {
                let found = form.captures(line)?;
                Some(Barrier {
                    line,
                    arrives: found.get(1).is_some_and(|m| m.as_str() == "arrive"),
                    number: found.get(2)?.as_str().parse().ok(),
                    threads: found.get(3).map(|m| m.as_str()),
                })
            })
            .collect();
        Ok(Text {
            lines,
            invocations,
            limited,
            barriers,
        })
    }

    fn never(&self, what: &str, pattern: &str) -> Result<()> {
        let pattern = Regex::new(pattern)?;
        let line = self.lines.iter().find(|line| pattern.is_match(line));
        ensure!(line.is_none(), "{what}: {}", line.unwrap_or(&""));
        Ok(())
    }
}

/// Checks that the code relies only on guarantees of PTX.
///
/// Sources: PTX ISA, "bar, barrier" (numbers 0 to 15; counts are multiples of the warp size; an
/// arrive followed by another barrier instruction on the same barrier counts twice), "Special
/// Registers: %warpid" (it may change while a thread runs), "State Spaces: Shared" (no
/// initialisers); ptxas: a count of 4096 is encoded as all threads, and a barrier number in a
/// register reserves all sixteen.
fn rely(text: &Text<'_>) -> Result<()> {
    text.never("a warp's slot is not its number", r"%n?warpid")?;
    text.never(
        "shared memory is not initialised",
        r"^\.(visible \.)?shared\b.*=",
    )?;
    let all = text.invocations.div_ceil(32) * 32;
    for barrier in &text.barriers {
        let line = barrier.line;
        match barrier.number {
            Some(number) => ensure!(number < 16, "there are sixteen barriers: {line}"),
            None => ensure!(!text.limited, "all barriers are reserved: {line}"),
        }
        match barrier.threads.map(str::parse::<u32>) {
            None => ensure!(!barrier.arrives, "an arrival needs a count: {line}"),
            Some(Ok(count)) => ensure!(
                count > 0 && count % 32 == 0 && count <= all && count < 4096,
                "a count for a workgroup of {}: {line}",
                text.invocations
            ),
            Some(Err(_)) => anyhow::bail!("a count in a register: {line}"),
        }
    }
    // A warp that has arrived at a barrier and then syncs on it is counted twice, so a phase ends
    // before all are there.
    for arrive in text.barriers.iter().filter(|b| b.arrives) {
        let same = |b: &&Barrier<'_>| !b.arrives && b.number.is_some() && b.number == arrive.number;
        let sync = text.barriers.iter().find(same);
        ensure!(
            sync.is_none(),
            "{}, and {}",
            arrive.line,
            sync.map_or("", |b| b.line)
        );
    }
    let explicit = text.lines.iter().any(|l| l.contains(".explicitcluster"));
    let arrives = text
        .lines
        .iter()
        .any(|l| l.contains("barrier.cluster.arrive"));
    ensure!(
        explicit == arrives,
        "a cluster's barrier needs an explicit cluster, and nothing else does"
    );
    Ok(())
}
