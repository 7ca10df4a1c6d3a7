//! Random programs through both interfaces: as SPIR-V, and as LLVM IR whose barriers are calls,
//! which splitbar's own translation produces. Both machine codes run with the same buffers under
//! the same schedule, and both must have the results of the host: the variables of all invocations,
//! the buffers and the sums, word by word.
//!
//! Programs, targets, levels, strategies and options are those of `random/`, with its variables:
//! `SPLITBAR_SEEDS=2000 cargo test -p splitbar-tests --test suite -- ir/random` runs so many.

use crate::random::{CHUNK, Way, compiled, errors, leaves, options, plan, wave_size};
use crate::support::{assembled, linkable, told, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::Job;
use splitbar::{AbiForm, Options, SplitBarriers, diagnostic::Code};
use splitbar_tests::random::{self, Program};

pub(super) fn trials() -> Vec<Trial> {
    let (seeds, ways) = match plan() {
        Ok(plan) => plan,
        Err(error) => {
            let name = "ir/random/variables".to_owned();
            return vec![trial(name, move || Err(error))];
        }
    };
    let chunk = if seeds.end - seeds.start > 1000 {
        CHUNK
    } else {
        1
    };
    let mut trials = Vec::new();
    for begin in seeds.clone().step_by(chunk as usize) {
        let end = (begin + chunk).min(seeds.end);
        let ways = ways.clone();
        trials.push(trial(format!("ir/random/{begin}"), move || {
            all(begin..end, &ways)
        }));
    }
    trials
}

fn all(seeds: std::ops::Range<u64>, ways: &[Way]) -> Result<()> {
    linkable("gfx1201")?;
    let mut failed = Vec::new();
    for seed in seeds {
        // Another way than that of `random/`.
        let way = ways[(seed * 7 % ways.len() as u64) as usize];
        let program = random::program(seed);
        if let Err(error) = both_doors(seed, &program, way) {
            let options = ir_options(seed, &program, way);
            let left = std::env::temp_dir().join(format!("splitbar-ir-{seed}-{way}.bc"));
            let module = assembled(&random::text(&program))?;
            if let Ok(calls) =
                splitbar::Compiler::new(&options).translate(&module, splitbar::BarrierForm::Calls)
            {
                std::fs::write(&left, calls)?;
            }
            failed.push(format!(
                "SPLITBAR_FIRST_SEED={seed} SPLITBAR_SEEDS=1 SPLITBAR_WAY={way} ({}): {error:#}",
                left.display()
            ));
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        bail!("{}", failed.join("\n"))
    }
}

/// The options of `random/` that LLVM IR has too.
fn ir_options(seed: u64, program: &Program, way: Way) -> Options {
    let mut options = options(seed, program, way);
    options.split_barriers = SplitBarriers::Never;
    // Marks of copies in LLVM IR are not planned.
    options.promote_async_copies = false;
    // Loads of descriptors are the module's own in LLVM IR, and scalar loads of data to the audit.
    options.audit &= options.abi == AbiForm::Arguments;
    options
}

fn both_doors(seed: u64, program: &Program, way: Way) -> Result<()> {
    let bytes = assembled(&random::text(program))?;
    let options = ir_options(seed, program, way);
    let spirv = compiled(&bytes, options.clone())?;
    let job = Job::compiled(&spirv, 0)?;
    leaves(seed, program, &job, wave_size(&spirv)?).context("as SPIR-V")?;

    let calls = splitbar::Compiler::new(&options)
        .translate(&bytes, splitbar::BarrierForm::Calls)
        .map_err(|r| errors(&r))?;
    let made = splitbar::Compiler::new(&options)
        .compile(splitbar::Input::LlvmIr(&calls))
        .or_else(|refused| {
            let mut all = refused.diagnostics.iter();
            if !all.any(|problem| problem.code == Code::UnsupportedStrategy) {
                return Err(errors(&refused));
            }
            let mut options = options.clone();
            (options.strategy, options.cluster) = (None, None);
            splitbar::Compiler::new(&options)
                .compile(splitbar::Input::LlvmIr(&calls))
                .map_err(|refused| errors(&refused))
        });
    let ir = made.context("as LLVM IR")?;
    let symbol = &spirv.entries()[0].abi.symbol;
    let job = match way.target.nvptx() {
        Some(_) => job.with_ptx(&told(ir.assembly())?, symbol)?,
        None => job.with_code_object(&told(ir.hsaco())?, way.target, symbol)?,
    };
    if let Some(entry) = ir.entries().first() {
        ensure!(
            entry.plan.pairs.len() == spirv.entries()[0].plan.pairs.len(),
            "{} pairs in LLVM IR, {} in SPIR-V",
            entry.plan.pairs.len(),
            spirv.entries()[0].plan.pairs.len()
        );
    }
    leaves(seed, program, &job, wave_size(&spirv)?).context("as LLVM IR")
}
