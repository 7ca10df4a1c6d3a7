//! `cargo xtask pipeline-loops`: docs/pipelining_code.md, what `--pipeline-loops auto` does with the
//! matrix products of llama.cpp in the corpus.

use super::picture::{bars, counts};
use super::{Options, deliver};
use crate::corpus::modules::{self, Module};
use crate::each::each;
use crate::shell;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

pub(super) const PAGE: &str = "docs/pipelining_code.md";

const PICTURE: &str = "docs/pipelining_code.svg";

/// The end of the page.
const SHOWN: &str = "\n![The same as bars: how many modules are in each column, for both GPUs](pipelining_code.svg)\n";

/// A GPU of each vendor with split barriers of its own.
const TARGETS: [&str; 2] = ["gfx1201", "sm_90"];

/// SpecIds of those shaders, with the values of the medium tile that llama.cpp's Vulkan backend
/// gives them on GPUs with subgroups of 32: invocations, rows and columns of a tile, those of a
/// subgroup, repetitions, those of an invocation, and the subgroup.
const TILE: [(u32, u32); 9] = [
    (0, 128),
    (1, 64),
    (2, 64),
    (4, 32),
    (5, 32),
    (6, 2),
    (7, 4),
    (8, 2),
    (10, 32),
];

/// The last SpecId of those shaders: theirs are steps of the loop and alignment.
const LAST: u32 = 11;

/// Bounds of the columns, in per cent of the cycles of the module as it is.
const BOUNDS: [f64; 6] = [-10.0, -5.0, -3.0, 3.0, 5.0, 10.0];

/// The plan's line about the loops of one module.
struct Outcome {
    pipelined: bool,
    /// The difference in per cent; none where cycles are not known.
    difference: Option<f64>,
}

/// Writes the page; with `--check` nothing is looked at again, since all modules take minutes.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.check {
        bail!("this page takes many modules of the corpus: there is no short check of it");
    }
    let tool = options.tool.path()?;
    let folder = shell::target_directory()?.join("corpus").join("modules");
    let mut products = Vec::new();
    for module in modules::unpack(&folder)? {
        let specified = module.spec_ids()?;
        let has_all = TILE.iter().all(|(id, _)| specified.contains(id));
        let has_others = specified.iter().any(|id| *id > LAST);
        if module.set == "glcompute" && has_all && !has_others && module.has_barrier()? {
            products.push(module);
        }
    }
    ensure!(!products.is_empty(), "the corpus has no such module");
    let modules: Vec<&Module> = products.iter().collect();
    let mut page = format!("{INTRODUCTION}\n{}\n", head());
    for target in TARGETS {
        let outcomes = each(&modules, None, |module, _| outcome(&tool, module, target))?;
        let compiled: Vec<Outcome> = outcomes.into_iter().flatten().collect();
        page.push_str(&row(target, &compiled));
    }
    page.push_str(SHOWN);
    deliver(PAGE, &page, false)?;
    deliver(PICTURE, &picture(&page), false)
}

/// The picture of a page's table.
fn picture(page: &str) -> String {
    let (columns, rows) = counts(page, "GPU", 3);
    bars(
        "Modules by the cycles that pipelining saves",
        &columns,
        &rows,
    )
}

/// Compiles a module with and without pipelined loops; `None` where the GPU does not support it.
fn outcome(tool: &Path, module: &Module, target: &str) -> Result<Option<Outcome>> {
    let mut command = Command::new(tool);
    command.arg("lower").arg(&module.path);
    command.args([
        "--target",
        target,
        "--pipeline-loops",
        "auto",
        "--emit",
        "plan",
    ]);
    for (id, value) in TILE {
        command.args(["--spec", &format!("{id}={value}")]);
    }
    let output = command.output().context("splitbar cannot be started")?;
    if output.status.code() == Some(3) {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().last().unwrap_or_default();
    let Some(why) = line
        .strip_prefix("loops: ")
        .filter(|_| output.status.success())
    else {
        let problems = String::from_utf8_lossy(&output.stderr);
        bail!("{} for {target}: {line}{problems}", module.name);
    };
    let between = why
        .rsplit_once('(')
        .and_then(|(_, rest)| rest.split_once(" %)"));
    Ok(Some(Outcome {
        pipelined: why.starts_with("pipelined"),
        difference: between.and_then(|(number, _)| number.parse().ok()),
    }))
}

fn head() -> String {
    let mut columns = vec![
        "GPU".to_owned(),
        "modules".to_owned(),
        "pipelined".to_owned(),
    ];
    columns.push(format!("below {:+} %", BOUNDS.first().unwrap_or(&0.0)));
    for bounds in BOUNDS.windows(2) {
        if let [low, high] = bounds {
            columns.push(format!("{low:+} to {high:+} %"));
        }
    }
    columns.push(format!("above {:+} %", BOUNDS.last().unwrap_or(&0.0)));
    columns.push("not known".to_owned());
    let rule = " --: |".repeat(columns.len() - 1);
    format!("| {} |\n| --- |{rule}", columns.join(" | "))
}

fn row(target: &str, outcomes: &[Outcome]) -> String {
    let mut counts = [0; BOUNDS.len() + 1];
    let mut unknown = 0;
    for outcome in outcomes {
        match outcome.difference {
            Some(difference) => {
                let column = BOUNDS.partition_point(|bound| *bound <= difference);
                if let Some(count) = counts.get_mut(column) {
                    *count += 1;
                }
            }
            None => unknown += 1,
        }
    }
    let pipelined = outcomes.iter().filter(|outcome| outcome.pipelined).count();
    let mut row = format!("| {target} | {} | {pipelined} |", outcomes.len());
    for count in counts.into_iter().chain([unknown]) {
        // Writing to a string does not fail.
        let _ = write!(row, " {count} |");
    }
    row.push('\n');
    row
}

impl Module {
    /// The SpecIds of its specialization constants: OpDecorate (71) with SpecId (1).
    fn spec_ids(&self) -> Result<BTreeSet<u32>> {
        let mut found = BTreeSet::new();
        for words in self.instructions()? {
            if let [first, _, 1, id, ..] = *words
                && first & 0xffff == 71
            {
                found.insert(id);
            }
        }
        Ok(found)
    }
}

pub(super) const INTRODUCTION: &str = "\
# Effect of pipelining on published matrix multiplications

Generated by `cargo xtask pipeline-loops` from the matrix-multiplication shaders of llama.cpp in `fixtures/corpus`. They are recognised by the specialization constants for the tile
size. These constants have the values of the medium tile that the Vulkan backend of llama.cpp uses on GPUs with subgroups of 32: 128 invocations and 64 x 64 elements. [Pipelined loops](pipelining.md) describes the rules. None of this code has run on a GPU yet.

- modules: the modules that the GPU supports. pipelined: modules whose loops `--pipeline-loops auto` pipelines, at the occupancy that the code allows, with a synthetic launch ([choice](choice.md)).
- The other columns count modules by the difference in cycles between the fastest pipelined version and the original module, even if `auto` does not pipeline it. `auto` chooses a version that saves more than 2 %,
  or 5 % if the model covers only a part of the launch.
";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_is_that_of_the_page() {
        let read = |file| std::fs::read_to_string(shell::root().join(file)).unwrap();
        let page = read(PAGE);
        assert!(page.ends_with(SHOWN));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(shell::root().join(PICTURE), picture(&page)).unwrap();
        }
        assert_eq!(read(PICTURE), picture(&page));
    }

    #[test]
    fn differences_are_counted_by_column() {
        let outcome = |pipelined, difference| Outcome {
            pipelined,
            difference,
        };
        let outcomes = [
            outcome(true, Some(-24.7)),
            outcome(true, Some(-10.0)),
            outcome(false, Some(3.0)),
            outcome(false, Some(87.6)),
            outcome(false, None),
        ];
        let expected = "| sm_90 | 5 | 2 | 1 | 1 | 0 | 0 | 1 | 0 | 1 | 1 |\n";
        assert_eq!(row("sm_90", &outcomes), expected);
        assert_eq!(
            head()
                .lines()
                .next()
                .unwrap_or_default()
                .matches('|')
                .count(),
            12
        );
    }
}
