//! What is between the halves of barriers in final gfx1201 code of the corpus.

use crate::corpus::modules::Module;
use crate::each::each;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Options, and what they are in words.
const WAYS: [(&[&str], &str); 5] = [
    (&["never"], "full barriers, as LLVM separates them"),
    (
        &["always", "--no-scheduling-barriers"],
        "split, the final code as LLVM leaves it",
    ),
    (&["always"], "split, and widened in final code"),
    (
        &["always", "--fill-windows"],
        "split, filled, and widened in final code",
    ),
    (
        &[
            "always",
            "--fill-windows",
            "--prefetch-loop-loads",
            "--unroll-barrier-loops=4096",
        ],
        "the same with loops unrolled and loads prefetched",
    ),
];

/// A module counts as one with a wide window from so many vector instructions on.
const WIDE: usize = 16;

/// A table of all modules that compile, each with workgroups of 256 where it leaves that open. Each
/// way has a second row: what would be in the windows if the halves stood as far apart as they
/// can.
pub(super) fn table(tool: &Path, modules: &[&Module]) -> Result<String> {
    let mut table = HEAD.to_owned();
    for (options, about) in WAYS {
        let all = each(modules, None, |module, _| {
            let text = compiled(tool, &module.path, options)?;
            Ok(text.map(|text| Code::read(&text).windows()))
        })?;
        let mut all: Vec<Vec<Window>> = all.into_iter().flatten().collect();
        all.retain(|windows| !windows.is_empty());
        row(&mut table, about, &all, |window| &window.is)?;
        row(&mut table, "upper bound", &all, |window| &window.could_be)?;
    }
    Ok(table)
}

fn row(
    table: &mut String,
    about: &str,
    all: &[Vec<Window>],
    extent: impl Fn(&Window) -> &Extent,
) -> Result<()> {
    let looped = || all.iter().flatten().filter(|window| window.in_loop);
    let wide = |windows: &&Vec<Window>| windows.iter().any(|window| extent(window).vector >= WIDE);
    writeln!(
        table,
        "| {about} | {} | {} | {} | {} | {} |",
        all.len(),
        looped().count(),
        looped().map(|window| extent(window).vector).sum::<usize>(),
        all.iter()
            .flatten()
            .map(|window| extent(window).loads)
            .sum::<usize>(),
        all.iter().filter(wide).count(),
    )?;
    Ok(())
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
    is: Extent,
    could_be: Extent,
}

/// What is in a window.
struct Extent {
    vector: usize,
    loads: usize,
}

/// The instructions of assembly text, and where control goes from each and comes from.
struct Code<'t> {
    lines: Vec<&'t str>,
    next: Vec<Vec<usize>>,
    previous: Vec<Vec<usize>>,
}

impl<'t> Code<'t> {
    fn read(text: &'t str) -> Code<'t> {
        let mut lines = Vec::new();
        let mut labels = BTreeMap::new();
        for line in text.lines() {
            let line = line.split(';').next().unwrap_or("").trim();
            match line.strip_suffix(':') {
                Some(label) => {
                    labels.insert(label, lines.len());
                }
                None if line.is_empty() || line.starts_with('.') => {}
                None => lines.push(line),
            }
        }
        let after = |at: usize, line: &str| -> Vec<usize> {
            let target = line.split_whitespace().nth(1);
            let target = target.and_then(|label| labels.get(label)).copied();
            match line {
                _ if line.starts_with("s_branch") => target.into_iter().collect(),
                _ if line.starts_with("s_endpgm") || line.starts_with("s_setpc") => Vec::new(),
                _ if line.starts_with("s_cbranch") => target.into_iter().chain([at + 1]).collect(),
                _ => vec![at + 1],
            }
        };
        let mut next = Vec::new();
        let mut previous = vec![Vec::new(); lines.len()];
        for (at, line) in lines.iter().enumerate() {
            let mut leads = after(at, line);
            leads.retain(|to| *to < lines.len());
            for to in &leads {
                if let Some(from) = previous.get_mut(*to) {
                    from.push(at);
                }
            }
            next.push(leads);
        }
        Code {
            lines,
            next,
            previous,
        }
    }

    fn is(&self, at: usize, starts: &[&str]) -> bool {
        let line = self.lines.get(at).copied().unwrap_or("");
        starts.iter().any(|start| line.starts_with(start))
    }

    /// Whether the halves of a barrier that orders workgroup memory may not pass the instruction;
    /// one that orders more has more such.
    fn stops(&self, at: usize) -> bool {
        let lanes = ["ds_bpermute", "ds_permute", "ds_swizzle", "ds_nop"];
        self.is(at, &["s_barrier", "ds_", "s_sendmsg"]) && !self.is(at, &lanes)
            || self
                .lines
                .get(at)
                .is_some_and(|line| line.contains("atomic"))
    }

    /// What control comes to from `from` by `ways`, without what `ends` it.
    fn reached(
        from: &[usize],
        ways: &[Vec<usize>],
        ends: &dyn Fn(usize) -> bool,
    ) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut todo = from.to_vec();
        while let Some(at) = todo.pop() {
            if !ends(at) && seen.insert(at) {
                todo.extend(ways.get(at).into_iter().flatten());
            }
        }
        seen
    }

    /// What half a barrier can pass on its way along `ways` from `from`, `back` being the other
    /// direction: instructions, and all that
    /// lies between a branch and where its ways meet.
    fn passed(&self, from: usize, [ways, back]: [&[Vec<usize>]; 2]) -> BTreeSet<usize> {
        let is_end = |at: &usize| ways.get(*at).is_none_or(Vec::is_empty);
        let mut passed = BTreeSet::new();
        let mut at = from;
        while !self.stops(at) && !passed.contains(&at) {
            let leads = ways.get(at).map_or(&[][..], Vec::as_slice);
            match leads {
                [] => break,
                [to] => {
                    passed.insert(at);
                    at = *to;
                }
                several => {
                    let around = |meet: &usize| {
                        let region = Self::reached(several, ways, &|at| at == *meet);
                        let closed = !region.iter().any(is_end) && !region.contains(&at);
                        closed.then_some((*meet, region))
                    };
                    let near = Self::reached(several, ways, &|at| self.stops(at));
                    // Each is reached from the one before it: the nearest has the least region.
                    let joins = |at: &&usize| back.get(**at).is_some_and(|from| from.len() > 1);
                    let meets = near.iter().filter(joins).filter_map(around);
                    let Some((meet, region)) = meets.min_by_key(|(_, region)| region.len()) else {
                        break;
                    };
                    if region.iter().any(|at| self.stops(*at)) {
                        break;
                    }
                    passed.insert(at);
                    passed.extend(region);
                    at = meet;
                }
            }
        }
        passed
    }

    fn extent(&self, inside: &BTreeSet<usize>) -> Extent {
        let count = |starts: &[&str]| inside.iter().filter(|at| self.is(**at, starts)).count();
        Extent {
            vector: count(&["v_"]),
            loads: count(&["global_load", "buffer_load"]),
        }
    }

    /// The windows of all functions.
    fn windows(&self) -> Vec<Window> {
        let signals = (0..self.lines.len()).filter(|at| self.is(*at, &["s_barrier_signal"]));
        let window = |at: usize| {
            let after = self.next.get(at).map_or(&[][..], Vec::as_slice);
            let before = self.previous.get(at).map_or(&[][..], Vec::as_slice);
            let is_wait = |at: usize| self.is(at, &["s_barrier_wait"]);
            // Up to a wait or to the end.
            let inside = Self::reached(after, &self.next, &is_wait);
            let mut could_be = inside.clone();
            let last = inside.iter().chain([&at]);
            let waits: BTreeSet<usize> = last
                .flat_map(|at| self.next.get(*at).into_iter().flatten())
                .copied()
                .filter(|at| is_wait(*at))
                .collect();
            for wait in waits {
                for below in self.next.get(wait).into_iter().flatten() {
                    could_be.extend(self.passed(*below, [&self.next, &self.previous]));
                }
            }
            if let [above] = before {
                could_be.extend(self.passed(*above, [&self.previous, &self.next]));
            }
            Window {
                in_loop: Self::reached(after, &self.next, &|_| false).contains(&at),
                is: self.extent(&inside),
                could_be: self.extent(&could_be),
            }
        };
        signals.map(window).collect()
    }
}
