//! Compiles a kernel without some guards, and runs it.

use crate::support::{always_split, linkable};
use anyhow::Result;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{Inputs, Job, Outcome};
use splitbar::{Optimization, Output};
use splitbar_plan::faults::Guard;

/// The code of `module` for a GPU at a level, without the guards `left_out`, and its results.
pub(super) fn run(
    module: &[u8],
    (name, level): (&str, Optimization),
    left_out: &[Guard],
    inputs: &Inputs,
    schedule: Schedule,
) -> Result<(Output, Outcome)> {
    linkable(name)?;
    let mut options = always_split(name)?;
    options.optimization = level;
    let output = splitbar::Compiler::new(&options)
        .without_guards(left_out)
        .compile(module)
        .map_err(|failure| anyhow::anyhow!("{name}: {failure}"))?;
    let outcome = Job::compiled(&output, 0)?.run(inputs, schedule)?;
    Ok((output, outcome))
}

/// The words of a buffer, in bytes.
pub(super) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
