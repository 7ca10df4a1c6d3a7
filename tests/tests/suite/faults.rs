//! Faults of LLVM and the guards against them (docs/llvm.md). Kernels of small shapes
//! (`splitbar_tests::shapes`) have the same results on the simulator as on the host. Without a
//! guard, the shape in which its fault was found does not. If a test fails because the results are
//! right without a guard, the guard and its row can be removed.
//!
//! `SPLITBAR_SHAPES=1000 cargo test --release -p splitbar-tests --test suite -- faults/` runs so
//! many kernels of each family, `SPLITBAR_FIRST_SEED=N` begins with this one, and
//! `SPLITBAR_BOTH_LEVELS=1` runs each at two levels instead of one. With `SPLITBAR_LLD` set, no
//! link has to look for the linker, which saves a tenth of the time.

mod modules;
mod support;

use crate::found::{Found, Launch};
use crate::random::variable;
use crate::support::{always_split, assembled, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs};
use splitbar::{Optimization, Options};
use splitbar_plan::faults::Guard;
use splitbar_tests::corpus;
use splitbar_tests::shapes::{self, Family, GROUPS, SHAPES, SIZE, Shape, Wanted};
use support::{bytes, run};

use Optimization::{O0, O1, O2, O3};

/// Kernels of each family in a normal run.
const KERNELS: u64 = 2;

/// GPUs that random kernels are run on.
const TARGETS: [&str; 10] = [
    "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_70", "sm_80",
    "sm_90",
];

/// A guard, the family and number of the shape in which its fault was found, and where the fault
/// shows.
struct Row {
    guard: Guard,
    name: &'static str,
    family: Family,
    shape: usize,
    on: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row {
        guard: Guard::ByteProducts,
        name: "byte_products",
        family: Family::Arithmetic,
        shape: 0,
        on: &["gfx906", "gfx942", "gfx1030", "gfx1201"],
    },
    Row {
        guard: Guard::ByteProducts,
        name: "byte_products_twice",
        family: Family::Arithmetic,
        shape: 1,
        on: &["gfx906", "gfx942", "gfx1030", "gfx1201"],
    },
    Row {
        guard: Guard::PackedHigh,
        name: "packed_high",
        family: Family::Arithmetic,
        shape: 2,
        on: &["gfx1100", "gfx1201", "gfx1250"],
    },
    Row {
        guard: Guard::NanSelect,
        name: "nan_select",
        family: Family::Arithmetic,
        shape: 3,
        on: &["gfx906", "gfx942", "gfx1030", "gfx1201"],
    },
    Row {
        guard: Guard::ZeroMinus,
        name: "zero_minus",
        family: Family::Arithmetic,
        shape: 4,
        on: &["gfx906", "gfx942", "gfx1030", "gfx1201"],
    },
    Row {
        guard: Guard::ScaledOffset,
        name: "scaled_offset",
        family: Family::Indices,
        shape: 0,
        on: &["gfx1250"],
    },
    Row {
        guard: Guard::LoopExits,
        name: "loop_exits",
        family: Family::Lanes,
        shape: 0,
        on: &["gfx90a", "gfx942", "gfx950"],
    },
    Row {
        guard: Guard::MaskedId,
        name: "masked_id",
        family: Family::Lanes,
        shape: 2,
        on: &["gfx906", "gfx942", "gfx1030", "gfx1201", "gfx1250"],
    },
];

pub(crate) fn trials() -> Vec<Trial> {
    let away = ROWS.iter().map(|row| {
        trial(format!("faults/{}/kept_away", row.name), move || {
            kept_away(row)
        })
    });
    let there = ROWS.iter().map(|row| {
        trial(format!("faults/{}/still_there", row.name), move || {
            still_there(row)
        })
    });
    let asked = || -> Result<(Option<u64>, Option<u64>)> {
        Ok((
            variable("SPLITBAR_FIRST_SEED")?,
            variable("SPLITBAR_SHAPES")?,
        ))
    };
    let (first, count) = match asked() {
        Ok(asked) => asked,
        Err(error) => return vec![trial("faults/variables".to_owned(), move || Err(error))],
    };
    let first = first.unwrap_or(0);
    let end = first + count.unwrap_or(KERNELS);
    let random = Family::ALL.into_iter().flat_map(move |family| {
        (first..end).map(move |seed| {
            let name = format!("faults/shapes/{family:?}/{seed}");
            trial(name.to_lowercase(), move || random(family, seed))
        })
    });
    let costs = trial("faults/costs".to_owned(), costs);
    let modules = modules::trials();
    let all = away.chain(there).chain(random).chain([costs]);
    all.chain(modules).collect()
}

/// The size of a module's code: instructions, and registers if the assembly has them.
#[derive(Clone, Copy, Default)]
struct Size {
    instructions: usize,
    registers: u32,
}

/// The sizes of a sample of the corpus with all guards, without each, and without all of them. A
/// plain run takes one module, and looks only at whether it compiles.
fn costs() -> Result<()> {
    let measures = std::env::var_os("SPLITBAR_GUARD_COSTS").is_some();
    let modules = corpus::modules()?;
    let every = if measures { 8 } else { modules.len() };
    let each = Guard::ALL.iter().map(std::slice::from_ref);
    let choices: Vec<&[Guard]> = each.chain([&Guard::ALL[..]]).collect();
    for name in ["gfx1201", "gfx942", "gfx1250", "sm_80"] {
        let mut options = always_split(name)?;
        options.measure = measures; // Says how many registers there are.
        let mut guarded = Size::default();
        let mut sums = vec![Size::default(); choices.len()];
        let mut changed = vec![0; choices.len()];
        let mut taken = 0;
        for (_, module) in modules.iter().step_by(every) {
            let Some(with) = size(module, &options, &[]) else {
                continue;
            };
            if with.instructions >= 1500 {
                continue;
            }
            taken += 1;
            guarded.add(with);
            for (at, left_out) in choices.iter().enumerate() {
                // A fault that ends the compilation has no size.
                let without = size(module, &options, left_out).unwrap_or(with);
                sums[at].add(without);
                changed[at] += usize::from(without.instructions != with.instructions);
            }
        }
        if measures {
            for ((left_out, sum), changed) in choices.iter().zip(&sums).zip(&changed) {
                let guard = match left_out {
                    [guard] => format!("{guard:?}"),
                    _ => "all".to_owned(),
                };
                println!(
                    "{name} {guard}: {} instructions with, {} without, in {changed} of {taken} \
                     modules; {} registers with, {} without",
                    guarded.instructions, sum.instructions, guarded.registers, sum.registers
                );
            }
        }
    }
    Ok(())
}

impl Size {
    fn add(&mut self, other: Size) {
        self.instructions += other.instructions;
        self.registers += other.registers;
    }
}

/// The size of the code of a module without some guards; `None` if it does not compile.
fn size(module: &[u8], options: &Options, left_out: &[Guard]) -> Option<Size> {
    let output = splitbar::Compiler::new(options)
        .without_guards(left_out)
        .compile(module)
        .ok()?;
    let registers = output.entries().iter().filter_map(|entry| entry.usage);
    let assembly = output.assembly().ok()?;
    let functions = splitbar::asm::parse(&assembly, &options.target.arch).ok()?;
    let instructions = functions.iter().map(|code| code.instructions.len()).sum();
    Some(Size {
        instructions,
        registers: registers.map(|usage| usage.registers).sum(),
    })
}

/// With all guards every shape of the kernel is right on every GPU and at every level.
fn kept_away(row: &Row) -> Result<()> {
    let shapes = [shapes::found(row.family)[row.shape].clone()];
    for name in row.on {
        for level in [O0, O1, O2, O3] {
            let wrong = wrong(&shapes, 0, (name, level), &[])?;
            ensure!(wrong.is_empty(), "{name} {level:?}: {}", wrong.join("; "));
        }
    }
    Ok(())
}

/// Without the guard the shape is wrong on every GPU that the row names, at one level at least.
fn still_there(row: &Row) -> Result<()> {
    let shapes = [shapes::found(row.family)[row.shape].clone()];
    for name in row.on {
        let mut is_wrong = false;
        for level in [O2, O0, O3, O1] {
            is_wrong = is_wrong || !wrong(&shapes, 0, (name, level), &[row.guard])?.is_empty();
        }
        ensure!(
            is_wrong,
            "{name}: the results are right without {:?}: LLVM no longer has the fault there",
            row.guard
        );
    }
    Ok(())
}

fn random(family: Family, seed: u64) -> Result<()> {
    let shapes = shapes::shapes(family, seed);
    ensure!(shapes.len() == SHAPES, "a kernel lacks shapes");
    let both = variable::<u64>("SPLITBAR_BOTH_LEVELS")?.is_some();
    // Neighbours differ, and a tenth of the kernels is for the other levels.
    let levels = if seed % 10 == 9 { [O1, O3] } else { [O0, O2] };
    let mut failed = Vec::new();
    for (at, name) in TARGETS.iter().enumerate() {
        let mut levels = levels.to_vec();
        if !both {
            levels.remove((at + seed as usize + 1) % 2);
        }
        for level in levels {
            let wrong = wrong(&shapes, seed, (name, level), &[])?;
            if !wrong.is_empty() {
                let wrong = wrong.join("\n");
                let case = case(family, seed, &shapes, (name, level), &wrong);
                let case = case.unwrap_or_else(|error| format!("{error:#}"));
                failed.push(format!("{name} {level:?}: {wrong}\n  {case}"));
            }
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// Writes a kernel of the first shape that is wrong without the others, or else of all of them, as
/// a case; words for the report.
fn case(
    family: Family,
    seed: u64,
    all: &[Shape],
    way: (&str, Optimization),
    error: &str,
) -> Result<String> {
    let mut kept = all;
    for shape in all {
        let one = std::slice::from_ref(shape);
        if !wrong(one, seed, way, &[])?.is_empty() {
            kept = one;
            break;
        }
    }
    let module = assembled(&shapes::text(kept))?;
    let mut options = always_split(way.0)?;
    options.optimization = way.1;
    let inputs = inputs(kept, seed);
    let (output, _) = run(&module, way, &[], &inputs, Schedule::nth(0, seed))?;
    let wave = output.entries().first().context("no entry point")?;
    let wave = wave.plan.wave_size as usize;
    let (words, indexed) = (shapes::inputs(seed), shapes::indexed());
    let mut results = vec![None; SHAPES * SIZE * GROUPS];
    for at in 0..SIZE * GROUPS {
        for (number, shape) in kept.iter().enumerate() {
            results[SHAPES * at + number] = match shapes::value(shape, at, &words, &indexed, wave) {
                Wanted::Word(word) => Some(word),
                Wanted::Number(number) if number.is_nan() => None,
                Wanted::Number(number) => Some(number.to_bits()),
            };
        }
    }
    let launch = Launch {
        inputs,
        schedules: vec![0],
        seed,
        wanted: vec![(1, results)],
    };
    let family = format!("{family:?}").to_lowercase();
    let found = Found {
        family: "faults",
        name: format!("{family}-{seed}-{}-{:?}", way.0, way.1),
        variables: format!("SPLITBAR_FIRST_SEED={seed} SPLITBAR_SHAPES=1"),
        module: &module,
        passes: &[],
        options: &options,
        launch: &launch,
        error,
    };
    Ok(found.report())
}

/// The launch of a kernel of `shapes`.
fn inputs(shapes: &[Shape], seed: u64) -> Inputs {
    let contents: [Vec<u8>; 3] = [
        bytes(&shapes::inputs(seed)),
        vec![0; 4 * SHAPES * SIZE * GROUPS],
        bytes(&shapes::indexed()),
    ];
    let places = (0..).map(|binding| BufferName::Binding(0, binding));
    // A kernel that uses no element of a buffer has no argument for it.
    let used = places.zip(contents).filter(|(place, _)| {
        let indexes = shapes
            .iter()
            .any(|shape| matches!(shape, Shape::Index { .. }));
        *place != BufferName::Binding(0, 2) || indexes
    });
    Inputs::new([GROUPS as u32, 1, 1], used.collect())
}

/// The shapes whose results are wrong, each with the first of them, and what the simulator finds.
fn wrong(
    shapes: &[Shape],
    seed: u64,
    way: (&str, Optimization),
    left_out: &[Guard],
) -> Result<Vec<String>> {
    let module = assembled(&shapes::text(shapes)).context("the kernel is no module")?;
    let (words, indexed) = (shapes::inputs(seed), shapes::indexed());
    let inputs = inputs(shapes, seed);
    let schedule = Schedule::nth(0, seed);
    let (output, outcome) = run(&module, way, left_out, &inputs, schedule)?;
    let entry = output.entries().first().context("no entry point")?;
    let wave = entry.plan.wave_size as usize;
    let findings = outcome.report.findings.iter();
    let mut wrong: Vec<String> = findings.map(ToString::to_string).take(1).collect();
    let results = outcome.buffers.get(1).context("no results")?;
    let results = results.as_chunks::<4>().0;
    for (number, shape) in shapes.iter().enumerate() {
        let of = |at: usize| {
            let found = results
                .get(SHAPES * at + number)
                .copied()
                .map(u32::from_le_bytes);
            (shapes::value(shape, at, &words, &indexed, wave), found)
        };
        let is_wrong =
            |(wanted, found): &(Wanted, Option<u32>)| found.is_none_or(|found| !wanted.is(found));
        if let Some((at, (wanted, found))) = (0..SIZE * GROUPS)
            .map(|at| (at, of(at)))
            .find(|(_, both)| is_wrong(both))
        {
            wrong.push(format!(
                "invocation {at} leaves {:x?} instead of {wanted:x?} for {shape:?} of seed {seed}",
                found.unwrap_or_default()
            ));
        }
    }
    if results.is_empty() {
        bail!("the kernel leaves nothing");
    }
    Ok(wrong)
}
