//! What is between the halves of barriers in final gfx1201 code of the corpus.

use crate::corpus::modules::Module;
use crate::each::each;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Options, and what they are in words.
const WAYS: [(&[&str], &str); 4] = [
    (&["never"], "full barriers, as LLVM separates them"),
    (
        &["always", "--no-window-guards"],
        "split, the final code as LLVM leaves it",
    ),
    (&["always"], "split, and widened in final code"),
    (
        &["always", "--fill-windows"],
        "split, filled, and widened in final code",
    ),
];

/// A module counts as one with a wide window from so many vector instructions on.
const WIDE: usize = 16;

/// A table of all modules that compile, each with workgroups of 256 where it leaves that open.
pub(super) fn table(tool: &Path, modules: &[&Module]) -> Result<String> {
    let mut table = HEAD.to_owned();
    for (options, about) in WAYS {
        let texts = each(modules, None, |module, _| {
            compiled(tool, &module.path, options)
        })?;
        let mut all: Vec<Vec<Window>> = texts.iter().flatten().map(|text| windows(text)).collect();
        all.retain(|windows| !windows.is_empty());
        let looped = || all.iter().flatten().filter(|window| window.in_loop);
        let wide = |windows: &&Vec<Window>| windows.iter().any(|window| window.vector >= WIDE);
        writeln!(
            table,
            "| {about} | {} | {} | {} | {} | {} |",
            all.len(),
            looped().count(),
            looped().map(|window| window.vector).sum::<usize>(),
            all.iter()
                .flatten()
                .map(|window| window.loads)
                .sum::<usize>(),
            all.iter().filter(wide).count(),
        )?;
    }
    Ok(table)
}

const HEAD: &str = "\
| `--split-barriers` | modules with barriers | barriers in loops | vector instructions in the windows of these | global loads in all windows | modules with a window of 16 and more |
| --- | --- | --- | --- | --- | --- |
";

/// The assembly of a module; `None` if it does not compile.
fn compiled(tool: &Path, module: &Path, options: &[&str]) -> Result<Option<String>> {
    for size in [&["--workgroup-size", "256,1,1"][..], &[]] {
        let output = Command::new(tool)
            .args(["lower", "--target", "gfx1201", "--split-barriers"])
            .args(options)
            .args(size)
            .arg(module)
            .output()
            .context("splitbar cannot be started")?;
        if output.status.success() {
            return Ok(Some(String::from_utf8(output.stdout)?));
        }
    }
    Ok(None)
}

/// The window that a signal opens.
struct Window {
    in_loop: bool,
    vector: usize,
    loads: usize,
}

/// The windows of all functions of assembly text.
fn windows(text: &str) -> Vec<Window> {
    let mut code = Vec::new();
    let mut labels = BTreeMap::new();
    for line in text.lines() {
        let line = line.split(';').next().unwrap_or("").trim();
        match line.strip_suffix(':') {
            Some(label) => {
                labels.insert(label, code.len());
            }
            None if line.is_empty() || line.starts_with('.') => {}
            None => code.push(line),
        }
    }
    let after = |at: usize| -> Vec<usize> {
        let line = code.get(at).copied().unwrap_or("s_endpgm");
        let target = line.split_whitespace().nth(1);
        let target = target.and_then(|label| labels.get(label)).copied();
        match line {
            _ if line.starts_with("s_branch") => target.into_iter().collect(),
            _ if line.starts_with("s_endpgm") || line.starts_with("s_setpc") => Vec::new(),
            _ if line.starts_with("s_cbranch") => target.into_iter().chain([at + 1]).collect(),
            _ => vec![at + 1],
        }
    };
    // What control comes to behind a signal, up to a wait or to the end.
    let reached = |from: usize, ends: &dyn Fn(&str) -> bool| {
        let mut seen = BTreeSet::new();
        let mut todo = after(from);
        while let Some(at) = todo.pop() {
            if code.get(at).is_some_and(|line| !ends(line)) && seen.insert(at) {
                todo.extend(after(at));
            }
        }
        seen
    };
    let signals = code.iter().enumerate();
    let signals = signals.filter(|(_, line)| line.starts_with("s_barrier_signal"));
    let window = |(at, _): (usize, &&str)| {
        let inside = reached(at, &|line| line.starts_with("s_barrier_wait"));
        let count = |starts: &[&str]| {
            let lines = inside.iter().filter_map(|at| code.get(*at));
            lines
                .filter(|line| starts.iter().any(|start| line.starts_with(start)))
                .count()
        };
        Window {
            in_loop: reached(at, &|_| false).contains(&at),
            vector: count(&["v_"]),
            loads: count(&["global_load", "buffer_load"]),
        }
    };
    signals.map(window).collect()
}
