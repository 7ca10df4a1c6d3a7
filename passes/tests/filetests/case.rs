//! A case as its file says it: the passes, what is expected, and the module.

use anyhow::{Context, Result, bail, ensure};
use splitbar_harness::check::Check;
use splitbar_passes::pipeline::Step;
use splitbar_passes::transform::registry::OPTIMIZE;
use std::collections::BTreeSet;

/// The beginning of each line of a block.
pub(crate) const INDENT: &str = ";   ";

/// All directives.
const DIRECTIVES: [&str; 10] = [
    "RUN",
    "BREAKS",
    "UNCHANGED",
    "CHECK",
    "NEXT",
    "NOT",
    "COUNT",
    "LEAST",
    "BECOMES",
    "MODULE",
];

/// A case.
#[derive(Debug)]
pub(crate) struct Case {
    /// The passes.
    pub(crate) steps: Vec<Step>,
    /// Codes of rules that the module breaks, before the passes or after them.
    pub(crate) breaks: BTreeSet<String>,
    /// True if the passes find nothing to do.
    pub(crate) unchanged: bool,
    /// Lines that the result has.
    pub(crate) check: Option<Check>,
    /// Texts that the result has.
    pub(crate) blocks: Vec<Block>,
}

/// A text in the file that a bless run writes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The line of its directive, from 0.
    pub(crate) line: usize,
    /// Whose text it is.
    pub(crate) of: Of,
    /// The lines, without that beginning.
    pub(crate) expected: Vec<String>,
}

/// Whose text a block has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// The whole module.
    Module,
    /// The function with this id, named as in the file.
    Function(String),
}

impl Case {
    /// Reads the comments of a file.
    pub(crate) fn parse(text: &str) -> Result<Case> {
        let lines: Vec<&str> = text.lines().collect();
        let mut run = None;
        let mut breaks = BTreeSet::new();
        let mut unchanged = false;
        let mut entries = Vec::new();
        let mut blocks = Vec::new();
        let (mut is_head, mut has_sentence) = (true, false);
        let mut function = None;
        let mut end_of_block = 0;
        for (number, line) in lines.iter().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix(';') else {
                is_head &= line.trim().is_empty();
                function = defined_function(line).or(function);
                continue;
            };
            let place = format!("line {}", number + 1);
            if line.starts_with(INDENT) {
                ensure!(number < end_of_block, "{place}: it stands in no block");
                continue;
            }
            let Some((word, rest)) = directive(comment)? else {
                has_sentence |= is_head && comment.trim().ends_with('.');
                continue;
            };
            let mut block = |of| {
                ensure!(rest.is_empty(), "{place}: {word} takes nothing");
                let expected = block_after(&lines, number);
                end_of_block = number + 1 + expected.len();
                blocks.push(Block {
                    line: number,
                    of,
                    expected,
                });
                Ok(())
            };
            match word {
                "RUN" => {
                    ensure!(run.is_none() && is_head, "{place}: one RUN, in the head");
                    run = Some(steps(rest).context(place)?);
                }
                "BREAKS" => breaks.extend(rest.split_whitespace().map(str::to_owned)),
                "UNCHANGED" => {
                    ensure!(rest.is_empty(), "{place}: {word} takes nothing");
                    unchanged = true;
                }
                "CHECK" => entries.push(rest.to_owned()),
                "NEXT" | "NOT" | "COUNT" | "LEAST" => {
                    entries.push(format!("{}: {rest}", word.to_ascii_lowercase()));
                }
                "BECOMES" => {
                    let of = function.clone();
                    let of = of.with_context(|| format!("{place}: no function stands above"))?;
                    block(Of::Function(of))?;
                }
                "MODULE" => block(Of::Module)?,
                _ => bail!("{place}: there is no directive {word}"),
            }
        }
        ensure!(
            has_sentence,
            "no sentence in the head says what it is about"
        );
        let check = (!entries.is_empty()).then(|| Check::parse(&entries));
        Ok(Case {
            steps: run.context("there is no RUN")?,
            breaks,
            unchanged,
            check: check.transpose().map_err(anyhow::Error::msg)?,
            blocks,
        })
    }
}

/// The passes of a command line as `splitbar-opt` takes it.
fn steps(line: &str) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for flag in line.split_whitespace() {
        if flag == "-O" {
            steps.extend(OPTIMIZE.iter().copied().map(Step::plain));
            continue;
        }
        let name = flag.strip_prefix("--");
        let name = name.with_context(|| format!("{flag:?} is not a flag"))?;
        steps.push(name.parse().map_err(anyhow::Error::msg)?);
    }
    ensure!(!steps.is_empty(), "no pass is run");
    Ok(steps)
}

/// The word of a directive and what follows it; `None` for words that people read.
fn directive(comment: &str) -> Result<Option<(&str, &str)>> {
    let comment = comment.trim();
    let end = comment.find(|c: char| !c.is_ascii_alphabetic());
    let (word, rest) = comment.split_at(end.unwrap_or(comment.len()));
    let is_capital = word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
    match rest.strip_prefix(':') {
        Some(rest) if is_capital => Ok(Some((word, rest.trim()))),
        Some(_) if DIRECTIVES.contains(&&*word.to_ascii_uppercase()) => {
            bail!("`{comment}`: a directive is written in capitals")
        }
        None if is_capital && rest.is_empty() => Ok(Some((word, ""))),
        _ => Ok(None),
    }
}

/// The name of the function that a line begins.
fn defined_function(line: &str) -> Option<String> {
    let (result, rest) = line.trim().split_once(" = ")?;
    let is_function = rest.split_whitespace().next() == Some("OpFunction");
    let name = result.strip_prefix('%').filter(|_| is_function)?;
    Some(name.to_owned())
}

/// The lines of the block whose directive is on line `at`.
fn block_after(lines: &[&str], at: usize) -> Vec<String> {
    let after = lines.iter().skip(at + 1);
    let block = after.map_while(|line| line.strip_prefix(INDENT));
    block.map(str::to_owned).collect()
}
