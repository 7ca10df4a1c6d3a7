//! Time estimates: each entry of docs/timing.md is estimated again, and agrees with the reference
//! about whether a split pays off. `cargo xtask bless timing` writes the page's tables.

use crate::cli::expect;
use crate::sim::inputs;
use crate::support::{compile, compile_bytes, confirm, linkable, trial};
use anyhow::{Context, Result, anyhow, bail, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use splitbar::simulate::estimate::{Estimate, ResidentSource};
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar::{NarrowBarriers, Optimization, Strategy};
use splitbar_tests::fixture::{self, Fixture};
use splitbar_tests::reference;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = vec![
        trial("timing/entries".to_owned(), entries_agree),
        trial("timing/amd".to_owned(), amd),
        trial("timing/bounds".to_owned(), bounds),
        trial("timing/cli".to_owned(), command_line),
        trial("timing/ordered_inputs".to_owned(), ordered_inputs),
    ];
    for on in TARGETS {
        let fixtures = fixtures.to_vec();
        let name = format!("timing/fixtures/{on}");
        trials.push(trial(name, move || every_kernel(&fixtures, on)));
    }
    trials
}

/// The targets on which every kernel of `fixtures/kernels` is estimated.
const TARGETS: [&str; 8] = [
    "sm_70", "sm_80", "sm_90", "gfx906", "gfx942", "gfx1030", "gfx1100", "gfx1201",
];

/// Every kernel has an estimate without a finding, twice the same one, with one workgroup resident
/// and with two.
fn every_kernel(fixtures: &[Fixture], on: &str) -> Result<()> {
    linkable(on)?;
    for fixture in fixtures {
        let output = compile(fixture, on, Optimization::O2)?;
        let case = reference::case(&fixture.name).context("no host reference")?;
        let inputs = inputs(&case);
        let job = Job::compiled(&output, 0)?;
        let name = &fixture.name;
        for resident in [1, 2] {
            let estimate =
                (job.estimate(&inputs, Some(resident))).map_err(|e| anyhow!("{name}: {e}"))?;
            let findings: Vec<String> = estimate.findings.iter().map(ToString::to_string).collect();
            ensure!(findings.is_empty(), "{name}, {resident}: {findings:?}");
            let again = job.estimate(&inputs, Some(resident))?;
            ensure!(
                again.cycles == estimate.cycles && estimate.cycles > 0,
                "{name}"
            );
        }
    }
    Ok(())
}

/// Phases of the kernels `uneven` and `cached`.
const PHASES: u32 = 16;
/// Subgroups of 32 of a workgroup of theirs.
const SUBGROUPS: u32 = 4;

/// The kernel to launch.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kernel {
    /// `fixtures/kernels/tiled_matmul`.
    TiledMatmul,
    /// `fixtures/kernels/tiled_matmul_double_buffered`.
    DoubleBuffered,
    /// `fixtures/kernels/rotating_buffers`.
    Rotating,
    /// `fixtures/kernels/stencil_halo`, whose windows are short.
    Stencil,
    /// `fixtures/timing/ring.comp`.
    Ring,
    /// `fixtures/timing/uneven.comp`: steps before the arrive, and steps of the window.
    Uneven(Steps, u32),
    /// `fixtures/timing/cached.comp`.
    Cached,
}

/// The number of steps of a subgroup before it arrives.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Steps {
    /// All the same.
    Even(u32),
    /// 12 to 36.
    Jitter,
    /// Exponentially distributed, 24 in the mean.
    Random,
    /// 92 of one subgroup, another one in each phase; 1 of the others.
    Rotating,
    /// 92 of the first subgroup; 1 of the others.
    Same,
}

impl Steps {
    /// The buffer of the kernel, for so many workgroups.
    fn buffer(self, groups: u32) -> Vec<u8> {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut words = Vec::new();
        for _ in 0..groups {
            for subgroup in 0..SUBGROUPS {
                for phase in 0..PHASES {
                    let slow = |is: bool| if is { 92 } else { 1 };
                    words.push(match self {
                        Steps::Even(steps) => steps,
                        Steps::Jitter => rng.u32(12..=36),
                        Steps::Random => (-24.0 * (1.0 - rng.f64()).ln()).round() as u32,
                        Steps::Rotating => slow(phase % SUBGROUPS == subgroup),
                        Steps::Same => slow(subgroup == 0),
                    });
                }
            }
        }
        bytes(&words)
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Values of specialization constants, by SpecId.
pub(crate) type Constants = Vec<(u32, u32)>;

/// The module, the launch of so many workgroups, and its specialization constants.
fn launch(kernel: Kernel, groups: u32) -> Result<(Vec<u8>, Inputs, Constants)> {
    let folder = match kernel {
        Kernel::TiledMatmul => "kernels/tiled_matmul/tiled_matmul",
        Kernel::DoubleBuffered => {
            "kernels/tiled_matmul_double_buffered/tiled_matmul_double_buffered"
        }
        Kernel::Rotating => "kernels/rotating_buffers/rotating_buffers",
        Kernel::Stencil => "kernels/stencil_halo/stencil_halo",
        Kernel::Ring => "timing/ring",
        Kernel::Uneven(..) => "timing/uneven",
        Kernel::Cached => "timing/cached",
    };
    let path = fixture::root().join(format!("fixtures/{folder}.spv"));
    let module = std::fs::read(&path).with_context(|| path.display().to_string())?;
    let zeros = |words: u32| vec![0; 4 * words as usize];
    let mut constants = Vec::new();
    let (buffers, push, across) = match kernel {
        Kernel::TiledMatmul | Kernel::DoubleBuffered => {
            let tile = if kernel == Kernel::TiledMatmul {
                64
            } else {
                32
            };
            let (depth, rows) = (64, if groups > 1 { 2 } else { 1 });
            let across = groups.div_ceil(rows);
            let (m, n) = (tile * rows, tile * across);
            let buffers = vec![zeros(m * depth), zeros(n * depth), zeros(m * n)];
            (buffers, bytes(&[m, n, depth]), [across, rows, 1])
        }
        Kernel::Rotating => {
            let buffers = vec![zeros(128 * groups), zeros(128 * groups)];
            (buffers, bytes(&[24]), [groups, 1, 1])
        }
        Kernel::Stencil => {
            let buffers = vec![zeros(256 * groups), zeros(256 * groups)];
            (buffers, Vec::new(), [groups, 1, 1])
        }
        Kernel::Ring => {
            let buffers = vec![zeros(64 * 33), zeros(64 * groups)];
            (buffers, Vec::new(), [groups, 1, 1])
        }
        Kernel::Uneven(steps, window) => {
            constants.push((0, window));
            let buffers = vec![steps.buffer(groups), zeros(128 * groups)];
            (buffers, Vec::new(), [groups, 1, 1])
        }
        Kernel::Cached => {
            let mut rng = fastrand::Rng::with_seed(7);
            // Half of them a line of its own each time, half of them line 0.
            let count = groups * SUBGROUPS * PHASES;
            let lines: Vec<u32> = (1..=count)
                .map(|n| if rng.bool() { n } else { 0 })
                .collect();
            let buffers = vec![bytes(&lines), zeros(32 * (count + 1)), zeros(128 * groups)];
            (buffers, Vec::new(), [groups, 1, 1])
        }
    };
    let buffers = (0..).zip(buffers);
    let buffers = buffers.map(|(binding, bytes)| (BufferName::Binding(0, binding), bytes));
    let mut inputs = Inputs::new(across, buffers.collect());
    inputs.push = push;
    Ok((module, inputs, constants))
}

/// A kernel of `fixtures/timing` with a launch.
pub(crate) struct Launched {
    pub(crate) name: &'static str,
    pub(crate) module: Vec<u8>,
    pub(crate) inputs: Inputs,
    pub(crate) spec: Constants,
}

/// Launches of four workgroups.
pub(crate) fn launches() -> Result<Vec<Launched>> {
    let kernels = [
        ("ring", Kernel::Ring),
        ("uneven, even steps", Kernel::Uneven(Steps::Even(24), 24)),
        ("uneven, random steps", Kernel::Uneven(Steps::Random, 24)),
        (
            "uneven, one subgroup late",
            Kernel::Uneven(Steps::Rotating, 24),
        ),
        ("cached", Kernel::Cached),
    ];
    let launched = |(name, kernel)| {
        let (module, inputs, spec) = launch(kernel, 4)?;
        Ok(Launched {
            name,
            module,
            inputs,
            spec,
        })
    };
    kernels.into_iter().map(launched).collect()
}

/// The estimate of a kernel with a strategy.
fn estimate(
    kernel: Kernel,
    on: &str,
    strategy: &str,
    groups: u32,
    resident: u32,
) -> Result<Estimate> {
    let (module, inputs, constants) = launch(kernel, groups)?;
    let strategy: Strategy = (strategy.parse()).map_err(|_| anyhow!("no strategy {strategy}"))?;
    let output = compile_bytes(&module, on, |options| {
        options.strategy = Some(strategy);
        for (id, value) in &constants {
            options.spec.0.insert(*id, u64::from(*value));
        }
    })?;
    let job = Job::compiled(&output, 0)?;
    let estimate = job.estimate(&inputs, Some(resident))?;
    let findings: Vec<String> = estimate.findings.iter().map(ToString::to_string).collect();
    ensure!(
        findings.is_empty(),
        "{kernel:?} {on} {strategy}: {findings:?}"
    );
    Ok(estimate)
}

/// Workgroups that are resident of the fused kernel and of the split one, and how many there are.
#[derive(Copy, Clone)]
struct Resident(u32, u32, u32);

/// An entry of the reference: the strategy, where it is estimated, and the ratio there.
struct Entry(&'static str, &'static str, f64);

const NAMED: &str = "warp-named";
const SINGLE: &str = "warp-named-single";
const GROUP: &str = "group-named";

/// The cycles of each strategy divided by those of `fused`, from the reference, which ran all of
/// them on one model of a V100 (sm_70). `mbarrier` is the one of sm_80 there, and its `native` is
/// estimated as the `mbarrier` of sm_90.
fn entries() -> Vec<(&'static str, Kernel, Resident, Vec<Entry>)> {
    use Kernel::{Cached, DoubleBuffered, Ring, Rotating, Stencil, TiledMatmul, Uneven};
    let one = Resident(1, 1, 1);
    // Chance matters less in several workgroups, one after the other.
    let after = Resident(1, 1, 4);
    let many = |count| Resident(count, count, count);
    // `None` where the reference has no figure.
    let row = |named: (&'static str, Option<f64>), group, counter, mbarrier, native| {
        let all = [
            (named.0, "sm_70", named.1),
            (GROUP, "sm_70", group),
            ("counter", "sm_70", counter),
            ("mbarrier", "sm_80", mbarrier),
            ("mbarrier", "sm_90", native),
        ];
        let all = all.into_iter();
        all.filter_map(|(strategy, on, ratio)| Some(Entry(strategy, on, ratio?)))
            .collect::<Vec<_>>()
    };
    let s = Some;
    let random = |window| Uneven(Steps::Random, window);
    vec![
        (
            "tiled_matmul",
            TiledMatmul,
            one,
            row((SINGLE, s(0.986)), s(1.040), s(0.998), s(1.024), s(1.006)),
        ),
        (
            "tiled_matmul_double_buffered",
            DoubleBuffered,
            one,
            row((NAMED, None), s(1.064), s(1.111), s(0.992), s(0.965)),
        ),
        (
            "rotating buffers",
            Rotating,
            one,
            row((NAMED, None), s(1.072), s(1.212), s(1.075), s(0.990)),
        ),
        (
            "stencil, no window",
            Stencil,
            one,
            row((NAMED, s(1.000)), s(1.045), s(1.387), s(1.356), s(0.997)),
        ),
        (
            "ring pipeline, 64 invocations",
            Ring,
            one,
            row((NAMED, s(1.027)), None, s(1.127), s(1.160), s(1.027)),
        ),
        (
            "long window",
            Uneven(Steps::Even(4), 24),
            one,
            row((NAMED, s(1.066)), None, s(1.114), s(1.137), s(1.040)),
        ),
        (
            "tiled_matmul, registers for half",
            TiledMatmul,
            Resident(4, 2, 8),
            row((SINGLE, s(1.160)), None, None, s(1.136), s(1.144)),
        ),
        (
            "tiled_matmul, as many resident",
            TiledMatmul,
            Resident(4, 4, 8),
            row((SINGLE, s(1.043)), None, None, None, s(0.985)),
        ),
        (
            "tiled_matmul_double_buffered, registers for half",
            DoubleBuffered,
            Resident(8, 4, 16),
            row((GROUP, s(1.187)), None, None, s(1.127), s(1.092)),
        ),
        (
            "stencil, no window",
            Stencil,
            Resident(8, 8, 16),
            row((NAMED, s(1.244)), None, None, s(1.385), s(1.123)),
        ),
        (
            "long window",
            Uneven(Steps::Even(4), 24),
            many(8),
            row((NAMED, s(1.096)), None, None, s(0.985), s(0.996)),
        ),
        (
            "even",
            Uneven(Steps::Even(24), 40),
            one,
            row((NAMED, s(1.028)), None, s(1.050), s(1.052), s(1.004)),
        ),
        (
            "+-50 %",
            Uneven(Steps::Jitter, 40),
            after,
            row((NAMED, s(0.916)), None, s(0.935), s(0.937), s(0.894)),
        ),
        (
            "random",
            random(40),
            after,
            row((NAMED, s(0.838)), None, s(0.863), s(0.863), s(0.829)),
        ),
        (
            "random, window 80",
            random(80),
            after,
            row((NAMED, s(0.857)), None, None, None, s(0.844)),
        ),
        (
            "random, window 10",
            random(10),
            after,
            row((NAMED, s(0.913)), None, None, None, s(0.916)),
        ),
        (
            "random, window 0",
            random(0),
            after,
            row((NAMED, s(1.008)), None, None, None, s(1.015)),
        ),
        (
            "one subgroup, another each time",
            Uneven(Steps::Rotating, 40),
            one,
            row((NAMED, s(0.758)), None, s(0.788), s(0.787), s(0.768)),
        ),
        (
            "one subgroup, always the same",
            Uneven(Steps::Same, 40),
            one,
            row((NAMED, s(0.984)), None, s(0.996), s(0.997), s(0.971)),
        ),
        (
            "random",
            random(40),
            many(4),
            row((NAMED, s(0.865)), None, None, None, s(0.854)),
        ),
        (
            "random",
            random(40),
            many(8),
            row((NAMED, s(0.922)), None, None, None, s(0.905)),
        ),
        (
            "hit or miss of the cache",
            Cached,
            after,
            row((NAMED, s(0.966)), None, None, s(0.992), s(0.939)),
        ),
        (
            "hit or miss of the cache",
            Cached,
            many(4),
            row((NAMED, s(1.007)), None, None, s(1.011), s(0.978)),
        ),
        (
            "hit or miss of the cache",
            Cached,
            many(16),
            row((NAMED, s(1.087)), None, None, s(1.056), s(1.051)),
        ),
    ]
}

/// Entries with the opposite estimate: kernel, resident workgroups, strategy, GPU. The page has the
/// reason.
const WRONG: &[(&str, u32, &str, &str)] = &[];

/// Estimates without a reference: AMD GPUs.
const AMD: [(&str, &str); 3] = [
    ("gfx942", "counter"),
    ("gfx1100", "counter"),
    ("gfx1201", "native"),
];

/// Returns true if the reference is far enough from 1 to be significant.
fn tells(ratio: f64) -> bool {
    ((1000.0 * ratio).round() - 1000.0).abs() > 50.0
}

/// Cycles of fused kernels that were estimated already: a kernel is compared with several
/// strategies.
#[derive(Default)]
struct Fused(BTreeMap<(Kernel, &'static str, u32, u32), u64>);

impl Fused {
    /// The cycles of the kernel with a strategy divided by those of `fused`.
    fn ratio(
        &mut self,
        kernel: Kernel,
        on: &'static str,
        strategy: &str,
        Resident(whole, half, groups): Resident,
    ) -> Result<f64> {
        let key = (kernel, on, whole, groups);
        let cycles = match self.0.get(&key) {
            Some(cycles) => *cycles,
            None => estimate(kernel, on, "fused", groups, whole)?.cycles,
        };
        self.0.insert(key, cycles);
        let split = estimate(kernel, on, strategy, groups, half)?.cycles;
        Ok(split as f64 / cycles as f64)
    }
}

fn entries_agree() -> Result<()> {
    let mut fused = Fused::default();
    let mut text = String::from(
        "| kernel | resident | strategy | GPU | reference | estimate | |\n|---|--:|---|---|--:|--:|---|\n",
    );
    let mut problems = Vec::new();
    let (mut telling, mut right, mut narrow) = (0, 0, 0);
    for (name, kernel, resident, entries) in entries() {
        for Entry(strategy, on, reference) in entries {
            let ratio = fused.ratio(kernel, on, strategy, resident)?;
            let agrees = (ratio < 1.0) == (reference < 1.0);
            let known = WRONG.contains(&(name, resident.0, strategy, on));
            let verdict = match (tells(reference), agrees) {
                (false, _) => "says nothing",
                (true, true) if (ratio - 1.0).abs() < 0.02 => "right, narrowly",
                (true, true) => "right",
                (true, false) => "**wrong**",
            };
            telling += u32::from(tells(reference));
            right += u32::from(tells(reference) && agrees);
            narrow += u32::from(verdict == "right, narrowly");
            if tells(reference) && agrees == known {
                problems.push(format!(
                    "{name}, {} resident, {strategy} on {on}: the reference has {reference:.3}, the estimate {ratio:.3}",
                    resident.0
                ));
            }
            let at_once = match resident {
                Resident(whole, half, _) if whole == half => whole.to_string(),
                Resident(whole, half, _) => format!("{whole} to {half}"),
            };
            writeln!(
                text,
                "| {name} | {at_once} | {strategy} | {on} | {reference:.3} | {ratio:.3} | {verdict} |"
            )?;
        }
    }
    writeln!(
        text,
        "\n{right} of the {telling} entries that are more than 5 % from 1 are right, {narrow} of them by less than 2 %."
    )?;
    confirm_table("entries", &text)?;
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

fn amd() -> Result<()> {
    let mut fused = Fused::default();
    let mut amd = String::from("| steps |");
    for (on, strategy) in AMD {
        write!(amd, " {strategy} on {on} |")?;
    }
    amd.push_str("\n|---|--:|--:|--:|\n");
    for (name, steps) in [
        ("even", Steps::Even(24)),
        ("+-50 %", Steps::Jitter),
        ("random", Steps::Random),
        ("one subgroup, another each time", Steps::Rotating),
        ("one subgroup, always the same", Steps::Same),
    ] {
        write!(amd, "| {name} |")?;
        for (on, strategy) in AMD {
            linkable(on)?;
            let kernel = Kernel::Uneven(steps, 40);
            let ratio = fused.ratio(kernel, on, strategy, Resident(1, 1, 1))?;
            write!(amd, " {ratio:.3} |")?;
        }
        amd.push('\n');
    }
    confirm_table("amd", &amd)
}

/// Checks that the page has a table after `<!-- name -->`; `cargo xtask bless timing` writes it.
fn confirm_table(name: &str, table: &str) -> Result<()> {
    // Two tests write one page.
    static PAGE: Mutex<()> = Mutex::new(());
    let _page = PAGE
        .lock()
        .map_err(|_| anyhow!("the other test panicked"))?;
    let path = fixture::root().join("docs/timing.md");
    let written = std::fs::read_to_string(&path).context("docs/timing.md")?;
    confirm(&path, &between(&written, name, table)?)
}

/// The page with a new table after `<!-- name -->`.
fn between(page: &str, name: &str, table: &str) -> Result<String> {
    let mark = format!("<!-- {name} -->\n");
    let (before, rest) = page
        .split_once(&mark)
        .with_context(|| format!("no {mark}"))?;
    let (_, after) = rest.split_once("<!-- end -->").context("no end")?;
    Ok(format!("{before}{mark}\n{table}\n<!-- end -->{after}"))
}

/// Workgroups that cannot be resident, and GPUs without timing data, are errors. A kernel that
/// never ends is cut off.
fn bounds() -> Result<()> {
    let (module, mut inputs, _) = launch(Kernel::Ring, 4)?;
    let on = |name: &str| -> Result<Job> {
        let output = compile_bytes(&module, name, |_| ())?;
        Ok(Job::compiled(&output, 0)?)
    };
    let job = on("sm_80")?;
    for resident in [0, 33, u32::MAX] {
        ensure!(job.estimate(&inputs, Some(resident)).is_err(), "{resident}");
    }
    // The compilation did not measure: the registers are those that are live in the PTX.
    let about = job.estimate(&inputs, None)?;
    ensure!(about.resident_source == ResidentSource::Estimated && about.resident > 1);
    ensure!(about.range.is_none() && about.limiter.is_some());
    let one = job.estimate(&inputs, Some(1))?;
    let all = job.estimate(&inputs, Some(4))?;
    ensure!(all.cycles < one.cycles && all.issued > 0 && one.utilisation <= 1.0);
    ensure!(one.resident_source == ResidentSource::Requested);
    // Hardly any figure of this GPU is public: the estimate has a range.
    let estimated = on("gfx1250")?.estimate(&inputs, Some(1))?;
    let [least, most] = estimated.range.context("no range")?;
    ensure!(
        least < estimated.cycles && estimated.cycles < most && most < 2 * least + least,
        "{least}, {}, {most}",
        estimated.cycles
    );
    let unknown = on("gfx1010")?.estimate(&inputs, Some(1));
    ensure!(unknown.is_err());
    inputs.limits.steps = 100;
    let cut = job.estimate(&inputs, Some(4))?;
    ensure!(cut.findings.len() == 1, "{:?}", cut.findings);
    Ok(())
}

/// Barriers that order a buffer which is never written need less time if they are narrowed, and the
/// results are right with every choice.
fn ordered_inputs() -> Result<()> {
    let path = fixture::root().join("fixtures/timing/ordered_inputs.spv");
    let module = std::fs::read(path)?;
    let data: Vec<u32> = (0..1024_u32)
        .map(|at| at.wrapping_mul(2_654_435_761))
        .collect();
    let sum = |at: u32| {
        let elements = (0..1024_u32).map(|at| (at / 64, at % 64));
        elements.fold(at / 64, |sum: u32, (tile, k)| {
            let element = data[(64 * tile + (k ^ (at % 64)) % 64) as usize];
            sum.wrapping_add((k + 1).wrapping_mul(element))
        })
    };
    let wanted: Vec<u8> = bytes(&(0..128).map(sum).collect::<Vec<u32>>());
    let buffers = vec![
        (BufferName::Binding(0, 0), bytes(&data)),
        (BufferName::Binding(0, 1), vec![0; 512]),
    ];
    let inputs = Inputs::new([2, 1, 1], buffers);
    for name in ["gfx942", "gfx1100", "gfx1201", "sm_80"] {
        let mut cycles = Vec::new();
        for narrow in [
            NarrowBarriers::Never,
            NarrowBarriers::Aliased,
            NarrowBarriers::Declared,
        ] {
            let output = compile_bytes(&module, name, |options| {
                options.strategy = Some(Strategy::Fused);
                options.narrow_barriers = narrow;
            })?;
            let job = Job::compiled(&output, 0)?;
            for index in 0..4 {
                let outcome = job.run(&inputs, Schedule::nth(index, 5))?;
                let found = &outcome.report.findings;
                ensure!(found.is_empty(), "{name} {narrow:?}: {found:?}");
                ensure!(
                    outcome.buffers.get(1) == Some(&wanted),
                    "{name} {narrow:?}: wrong sums"
                );
            }
            cycles.push(job.estimate(&inputs, Some(1))?.cycles);
        }
        let [never, aliased, declared] = cycles[..] else {
            bail!("{} estimates", cycles.len());
        };
        ensure!(
            declared <= aliased && aliased <= never,
            "{name}: {cycles:?}"
        );
        let waits = name.starts_with("gfx1");
        ensure!(!waits || 10 * declared < 9 * never, "{name}: {cycles:?}");
    }
    Ok(())
}

/// The output and the errors of `splitbar sim --timing`.
fn command_line() -> Result<()> {
    let module = fixture::root().join("fixtures/timing/ring.spv");
    let module = module.to_str().context("the path is no text")?;
    let launch = [
        "sim",
        module,
        "--target",
        "sm_80",
        "--groups",
        "2,1,1",
        "--buffer",
        "0:0=zeros:16384",
        "--buffer",
        "0:1=zeros:512",
    ];
    let with = |more: &[&str], code| expect(&[&launch[..], more].concat(), b"", code);
    let timed = with(
        &["--timing", "--resident", "2", "--strategy", "mbarrier"],
        0,
    )?;
    let text = String::from_utf8(timed.stdout)?;
    ensure!(text.starts_with("estimate: "), "{text}");
    ensure!(
        text.contains("  arrive\n") && text.contains("  wait\n"),
        "{text}"
    );
    let json = [
        "--timing",
        "--resident",
        "2",
        "--strategy",
        "fused",
        "--format",
        "json",
    ];
    let json: Value = serde_json::from_slice(&with(&json, 0)?.stdout)?;
    ensure!(json["estimate"]["cycles"].as_u64() > Some(0), "{json}");
    let barriers = json["barriers"].as_array().context("barriers")?;
    let waits =
        |barrier: &Value| barrier["what"] == "wait" && barrier["stalled"].as_u64() > Some(0);
    ensure!(barriers.iter().any(waits), "{json}");
    let compared = ["--timing", "--resident", "2", "--compare"];
    let text = String::from_utf8(with(&compared, 0)?.stdout)?;
    ensure!(
        text.lines().any(|line| line.starts_with("mbarrier ")),
        "{text}"
    );
    let json = [&compared[..], &["--format", "json"]].concat();
    let json: Value = serde_json::from_slice(&with(&json, 0)?.stdout)?;
    let estimates = json["estimates"].as_array().context("estimates")?;
    let first = estimates.first().context("no estimate")?;
    ensure!(
        first["strategy"] == "fused" && first["of_fused"] == 1.0,
        "{json}"
    );
    for one in estimates {
        let ratio =
            one["cycles"].as_f64().context("cycles")? / first["cycles"].as_f64().unwrap_or(0.0);
        ensure!(one["of_fused"].as_f64() == Some(ratio), "{one}");
    }
    let refused = json["refused"].as_array().context("refused")?;
    let named = |of: &[Value], name: &str| of.iter().any(|one| one["strategy"] == name);
    ensure!(
        named(estimates, "mbarrier") && named(refused, "single-wave"),
        "{json}"
    );
    with(&["--timing", "--resident", "99"], 2)?;
    with(&["--resident", "2"], 2)?;
    with(&["--compare"], 2)?;
    with(&["--timing", "--compare", "--strategy", "fused"], 2)?;
    with(&["--timing", "--schedules", "3"], 2)?;
    Ok(())
}
