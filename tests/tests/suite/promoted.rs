//! Every kernel with asynchronous copies, on the simulator: the results are those of the host
//! references, without findings. If the wait for a copy is too late, the destination is read too
//! early under one of the schedules.

use crate::sim::{agrees, compare, inputs};
use crate::support::{always_split, compile_bytes, is_nvptx, linkable, told, trial};
use anyhow::{Context, Result, anyhow, bail, ensure};
use libtest_mimic::Trial;
use object::{Object, ObjectSection};
use regex::Regex;
use splitbar::SpecValues;
use splitbar::simulate::Job;
use splitbar::simulate::machine::Schedule;
use splitbar_plan::{NvptxStep, Step};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::reference::{self, Case};

/// Targets with instructions for copies, one of each kind: LDS DMA without and with BackOffBarrier,
/// with a counter of stores, loads to LDS, `cp.async` with mbarriers that are tested and tried; and
/// without any: loads that wait in registers, in one counter and in counters of their own, NVIDIA.
const TARGETS: [&str; 9] = [
    "gfx906", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_75", "sm_80", "sm_90",
];

/// Schedules of a kernel in which something is copied.
const SCHEDULES: u32 = 8;

/// Kernels in which copies are found, with the asynchronous instructions of gfx1250 in their code.
const COPIES: [(&str, usize); 2] = [("tiled_matmul", 4), ("tiled_matmul_double_buffered", 2)];

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for target in ["sm_80", "sm_90"] {
        trials.push(trial(
            format!("promoted/async_double_buffer/{target}/nobody_waits"),
            move || nobody_waits(target),
        ));
    }
    for target in TARGETS {
        trials.push(trial(
            format!("promoted/async_bounds/{target}/sizes"),
            move || bounds(target),
        ));
        trials.push(trial(
            format!("promoted/async_bounds/{target}/no_zeros"),
            move || no_zeros(target),
        ));
    }
    for fixture in fixtures {
        for target in TARGETS {
            let fixture = fixture.clone();
            let name = format!("promoted/{}/{target}", fixture.name);
            trials.push(trial(name, move || simulated(&fixture, target)));
        }
        let count = COPIES.iter().find(|(name, _)| *name == fixture.name);
        if let Some((_, count)) = count {
            let fixture = fixture.clone();
            let name = format!("promoted/{}/copies", fixture.name);
            trials.push(trial(name, move || copies(&fixture, *count)));
        }
    }
    trials
}

fn simulated(fixture: &Fixture, target: &str) -> Result<()> {
    let output = compile_bytes(&fixture.module()?, target, |options| {
        options.promote_async_copies = true;
    })?;
    let copies = output
        .entries()
        .iter()
        .any(|entry| !entry.plan.copies.is_empty());
    if !copies {
        // Other tests run the code without promotion.
        let without = compile_bytes(&fixture.module()?, target, |_| {})?;
        ensure!(
            told(output.assembly())? == told(without.assembly())?,
            "no copy is promoted, but the code is another"
        );
        return Ok(());
    }
    linkable(target)?;
    agrees(fixture, &output, SCHEDULES)
}

/// If the mbarrier waits for copies, no other instruction does: without their arrival they are read
/// too early.
fn nobody_waits(target: &str) -> Result<()> {
    let fixture = Fixture::load("async_double_buffer")?;
    let mut options = always_split(target)?;
    options.promote_async_copies = true;
    let mut left_out = 0;
    let output = splitbar::Compiler::new(&options)
        .with_changed_plans(&mut |plans| {
            let steps = plans.iter_mut().flat_map(|p| p.at_instruction.values_mut());
            for steps in steps {
                let before = steps.len();
                steps.retain(|step| *step != Step::Nvptx(NvptxStep::CopiesArrive { noinc: false }));
                left_out += before - steps.len();
            }
        })
        .compile(&fixture.module()?)?;
    ensure!(left_out == 1, "{left_out} arrivals of copies");
    let found = agrees(&fixture, &output, SCHEDULES);
    ensure!(
        found.is_err_and(|found| found.to_string().contains("SB3001")),
        "the copies are not missed"
    );
    Ok(())
}

fn copies(fixture: &Fixture, expected: usize) -> Result<()> {
    let output = compile_bytes(&fixture.module()?, "gfx1250", |options| {
        options.promote_async_copies = true;
        options.optimization = splitbar::Optimization::O0;
    })?;
    let code = told(output.assembly())?;
    let found = code.matches("global_load_async_to_lds").count();
    ensure!(
        found == expected,
        "{found} asynchronous loads instead of {expected}"
    );
    Ok(())
}

/// Copies that take zeros outside of a matrix, in workgroups of one invocation, of a partial wave,
/// of full and of partial last ones.
fn bounds(target: &str) -> Result<()> {
    linkable(target)?;
    let module = Fixture::load("async_bounds")?.module()?;
    for lanes in [1u32, 20, 32, 96, 150, 256] {
        let output = compile_bytes(&module, target, |options| {
            options.promote_async_copies = true;
            options.spec = SpecValues([(0, u64::from(lanes))].into());
        })?;
        let copies = output.entries().iter().map(|entry| &entry.plan.copies);
        let with_zeros = copies.flat_map(|copies| copies.values());
        let with_zeros = with_zeros.filter(|copy| copy.zeros.by_branch).count();
        ensure!(with_zeros == 6, "{lanes}: {with_zeros} copies of 6");
        let case = reference::async_bounds(lanes as usize);
        runs(&Job::compiled(&output, 0)?, &case).with_context(|| format!("{lanes} invocations"))?;
    }
    Ok(())
}

/// Runs `job` under some schedules: nothing may be found, and the results are the reference's.
fn runs(job: &Job, case: &Case) -> Result<()> {
    let inputs = inputs(case);
    for index in 0..SCHEDULES {
        let outcome = job.run(&inputs, Schedule::nth(index, 1))?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("schedule {index}: {finding}");
        }
        compare(case, &outcome).map_err(|difference| anyhow!("schedule {index}: {difference}"))?;
    }
    Ok(())
}

/// Without the zeros, a copy reads memory outside, or the memory in place of the zeros.
fn no_zeros(target: &str) -> Result<()> {
    linkable(target)?;
    let fixture = Fixture::load("async_bounds")?;
    let output = compile_bytes(&fixture.module()?, target, |options| {
        options.promote_async_copies = true;
    })?;
    let case = reference::case(&fixture.name).context("no host reference")?;
    let kernel = &output.entries()[0].abi.symbol;
    let job = Job::compiled(&output, 0)?;
    let mutants = if is_nvptx(target) {
        let texts = without_zeros(&told(output.assembly())?);
        let jobs = texts.iter().map(|text| Ok(job.with_ptx(text, kernel)?));
        jobs.collect::<Result<Vec<_>>>()?
    } else {
        let bytes = with_ones(told(output.hsaco())?)?;
        vec![job.with_code_object(&bytes, crate::support::target(target)?, kernel)?]
    };
    ensure!(!mutants.is_empty(), "nothing takes zeros");
    for (number, mutant) in mutants.iter().enumerate() {
        ensure!(
            runs(mutant, &case).is_err(),
            "mutant {number} is not noticed"
        );
    }
    Ok(())
}

/// PTX in which one `cp.async` reads all of its bytes, each in turn, or the zeros in memory are
/// ones.
fn without_zeros(text: &str) -> Vec<String> {
    let sized = Regex::new(r"(?m)^(\s*cp\.async\.c.*, \d+), %r\d+;$").unwrap();
    let of_copies = sized.captures_iter(text).map(|found| {
        let (all, part) = (found.get(0).unwrap().range(), &found[1]);
        format!("{}{part};{}", &text[..all.start], &text[all.end..])
    });
    let zeros = Regex::new(r"(splitbar_zeros\[16\]);").unwrap();
    let ones = format!("$1 = {{{}}};", ["1"; 16].join(", "));
    let of_memory = zeros.is_match(text).then(|| zeros.replace(text, ones));
    of_copies.chain(of_memory.map(String::from)).collect()
}

/// A code object in whose constants all zeros are ones.
fn with_ones(mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    let (start, length) = object::File::parse(&*bytes)?
        .section_by_name(".rodata")
        .and_then(|section| section.file_range())
        .context("no constants")?;
    let constants = bytes.get_mut(start as usize..(start + length) as usize);
    let constants = constants.context("no such part of the file")?;
    // The kernel's descriptor stands there as well.
    let zeros = constants
        .chunks_exact_mut(16)
        .rfind(|chunk| chunk.iter().all(|byte| *byte == 0));
    zeros.context("no zeros")?.fill(1);
    Ok(bytes)
}
