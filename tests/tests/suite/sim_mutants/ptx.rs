//! Mutants of PTX: the line of a barrier, a fence or a wait for copies is left out.

use super::mutant::{Fate, Mutant};
use super::subject::{Run, Subject};
use crate::support::{compile, told};
use anyhow::{Context, Result};
use splitbar::Optimization;
use splitbar_tests::fixture::Fixture;

/// Before mbarriers, with `test_wait`, with `try_wait`.
pub(super) const TARGETS: [&str; 3] = ["sm_75", "sm_80", "sm_90"];

/// The prefixes of the opcodes that synchronise.
const SYNCHRONISES: [&str; 8] = [
    "bar.",
    "barrier.",
    "mbarrier.",
    "fence.",
    "membar.",
    "cp.async.wait",
    "cp.async.commit",
    "cp.async.mbarrier",
];

pub(super) fn mutants(fixture: &Fixture, target: &'static str) -> Result<Vec<Mutant>> {
    let output = compile(fixture, target, Optimization::O2)?;
    let kernel = &output.entries()[0].abi.symbol;
    let subject = Subject::new(fixture, &output)?;
    let text = told(output.assembly())?;
    let lines: Vec<&str> = text.lines().collect();
    let mut mutants = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let opcode = line.trim().trim_start_matches("@%p1 ");
        if !SYNCHRONISES.iter().any(|name| opcode.starts_with(name)) {
            continue;
        }
        let mut without = lines.clone();
        without[at] = "";
        mutants.push(Mutant {
            kernel: fixture.name.clone(),
            fate: fate(
                &subject,
                &without.join("\n"),
                kernel,
                u32::try_from(at + 1)?,
            )?,
            what: opcode
                .split_whitespace()
                .next()
                .unwrap_or(opcode)
                .to_owned(),
        });
    }
    Ok(mutants)
}

/// The fate of the kernel in `text` without line `number`.
fn fate(subject: &Subject, text: &str, kernel: &str, number: u32) -> Result<Fate> {
    let whole = subject.job.ptx_text().context("no PTX")?;
    let of_line: Vec<u32> = whole
        .lines()
        .filter(|(_, line)| *line == number)
        .map(|(pc, _)| pc)
        .collect();
    if !of_line.iter().any(|pc| subject.covered.executed(*pc)) {
        return Ok(Fate::NotExecuted);
    }
    let mutant = subject.job.with_ptx(text, kernel)?;
    if let Run::Noticed(fate) = subject.run(&mutant)? {
        return Ok(fate);
    }
    let is_fence = whole.is_fence(&of_line);
    if is_fence && !of_line.iter().any(|pc| subject.covered.mattered(*pc)) {
        return Ok(Fate::Idle);
    }
    Ok(if subject.is_separated(&mutant)? {
        Fate::Separated
    } else {
        Fate::Survives
    })
}
