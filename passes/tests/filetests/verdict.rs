//! Compares a case with its file, and writes the file in a bless run.

use super::case::{Block, Case, INDENT};
use super::outcome::{self, Finding, Outcome};
use anyhow::{Context, Result, bail, ensure};
use splitbar_passes::diagnostic::Severity;
use std::collections::BTreeSet;

#[path = "../validate/fixtures.rs"]
#[allow(dead_code, reason = "the tests of rules need more of it")]
mod fixtures;

/// Runs the case of a file.
///
/// # Errors
/// The first difference from the file.
pub(crate) fn judge(text: &str) -> Result<()> {
    let case = Case::parse(text)?;
    let expected = expected(text);
    let outcome = outcome::run(&case, text)?;
    ensure!(
        outcome.findings == expected,
        "said: {:?}\nexpected: {expected:?}",
        outcome.findings
    );
    ensure!(
        outcome.broken == case.breaks,
        "rules that are broken, before or after: {:?}, and BREAKS says {:?}",
        outcome.broken,
        case.breaks
    );
    let has_text = case.check.is_some() || !case.blocks.is_empty();
    let Some(printed) = &outcome.printed else {
        ensure!(
            !has_text && !case.unchanged,
            "the passes refuse the module, so that there is nothing to compare"
        );
        return Ok(()); // an error was expected, and is there
    };
    ensure!(has_text || case.unchanged, "the file expects nothing");
    match (outcome.changed, case.unchanged) {
        (true, true) => bail!("the module has changed:\n{}", printed.module.join("\n")),
        (false, false) => bail!("nothing has changed, which the file does not say (UNCHANGED)"),
        _ => {}
    }
    for block in &case.blocks {
        compare(block, &printed.lines(&block.of))?;
    }
    match &case.check {
        Some(check) => check
            .run(&printed.module.join("\n"))
            .map_err(anyhow::Error::msg),
        None => Ok(()),
    }
}

/// The file with the blocks that its directives ask for.
pub(crate) fn blessed(text: &str) -> Result<String> {
    let case = Case::parse(text)?;
    if case.blocks.is_empty() {
        return Ok(text.to_owned());
    }
    let Outcome {
        printed, findings, ..
    } = outcome::run(&case, text)?;
    let printed = printed.with_context(|| format!("the passes refuse the module: {findings:?}"))?;
    let mut out = String::new();
    let mut left_out = 0..0;
    for (number, line) in text.lines().enumerate() {
        if left_out.contains(&number) {
            continue;
        }
        out.push_str(line);
        out.push('\n');
        let Some(block) = case.blocks.iter().find(|block| block.line == number) else {
            continue;
        };
        left_out = number + 1..number + 1 + block.expected.len();
        for line in printed.lines(&block.of) {
            out.push_str(INDENT);
            out.push_str(&line);
            out.push('\n');
        }
    }
    Ok(out)
}

/// The diagnostics that the file expects. A line without an instruction means an unknown place.
fn expected(text: &str) -> BTreeSet<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let has_instruction = |number: u32| {
        let line = lines.get(number as usize - 1);
        line.is_some_and(|line| !line.trim_start().starts_with(';'))
    };
    let found = fixtures::expected(text).into_iter();
    let placed = found.map(|(line, severity, code): (u32, Severity, String)| {
        let line = if has_instruction(line) { line } else { 0 };
        (line, severity, code)
    });
    placed.collect()
}

/// Compares a block with what it should be, and shows the first line that differs.
fn compare(block: &Block, found: &[String]) -> Result<()> {
    if block.expected == found {
        return Ok(());
    }
    let mut at = 0;
    while block.expected.get(at).is_some() && block.expected.get(at) == found.get(at) {
        at += 1;
    }
    bail!(
        "the block of line {} differs in its line {}:\nexpected: {}\nfound:    {}\nall of it:\n{}",
        block.line + 1,
        at + 1,
        block.expected.get(at).map_or("(its end)", String::as_str),
        found.get(at).map_or("(its end)", String::as_str),
        found.join("\n")
    )
}
