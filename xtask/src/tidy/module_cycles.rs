//! No two files of a crate take from each other in a circle. Neither do the folders in its `src/`,
//! nor the modules of some large folders.

mod module;
mod ties;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use crate::shell;
use ties::Ties;

/// Rooms whose modules make no circle either.
const LARGE: &[&str] = &["lowering/llvm/src/emit/"];

/// Reports circles of files in each crate, of folders in each `src/`, and of modules in large
/// folders. Tests may look anywhere.
pub(super) fn check(files: &[String], problems: &mut Vec<String>) {
    let sources = files.iter().filter(|file| file.ends_with(".rs"));
    let texts = sources.filter_map(|file| {
        let text = std::fs::read_to_string(shell::root().join(file)).ok()?;
        Some((file.clone(), text))
    });
    judge(&texts.collect(), problems);
}

/// Reports the circles of files, paths with their texts, and of their folders.
fn judge(files: &BTreeMap<String, String>, problems: &mut Vec<String>) {
    let ties = ties::ties(files);
    report("files", &ties, problems);
    report("folders", &between(&ties, folder), problems);
    report("modules", &between(&ties, module_of_large_folder), problems);
}

/// The ties between the places that hold the files.
fn between(ties: &Ties, place: fn(&str) -> Option<String>) -> Ties {
    let mut between = Ties::new();
    for (from, to) in ties {
        for (to, names) in to {
            if let (Some(from), Some(to)) = (place(from), place(to))
                && from != to
            {
                let known = between.entry(from).or_default().entry(to).or_default();
                known.extend(names.iter().cloned());
            }
        }
    }
    between
}

/// The folder in `src/` of a file.
fn folder(file: &str) -> Option<String> {
    let (source, inside) = file.split_once("/src/")?;
    let (folder, _) = inside.split_once('/')?;
    (folder != "bin").then(|| format!("{source}/src/{folder}"))
}

/// The file or folder of a large folder that a file is, or is in.
fn module_of_large_folder(file: &str) -> Option<String> {
    LARGE.iter().find_map(|folder| {
        let inside = file.strip_prefix(folder)?;
        let module = inside.trim_end_matches(".rs").split('/').next()?;
        (module != "mod").then(|| format!("{folder}{module}"))
    })
}

/// Reports each circle, with the names that tie it.
fn report(what: &str, ties: &Ties, problems: &mut Vec<String>) {
    for circle in circles(ties) {
        let mut text = format!("{} {what} take from each other in a circle:", circle.len());
        for from in &circle {
            for (to, names) in &ties[*from] {
                if circle.contains(to.as_str()) {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    text += &format!("\n  {from} -> {to}: {}", names.join(", "));
                }
            }
        }
        problems.push(text);
    }
}

/// The groups of places of which each reaches every other.
fn circles(ties: &Ties) -> Vec<BTreeSet<&str>> {
    let mut search = Search::default();
    for place in ties.keys() {
        search.visit(ties, place);
    }
    search.circles.sort();
    search.circles
}

/// Tarjan's search for strongly connected places.
#[derive(Default)]
struct Search<'t> {
    /// When each place was met.
    met: BTreeMap<&'t str, usize>,
    /// The places whose group is not yet known.
    open: Vec<&'t str>,
    circles: Vec<BTreeSet<&'t str>>,
}

impl<'t> Search<'t> {
    /// Visits a place and returns the earliest open place that it reaches.
    fn visit(&mut self, ties: &'t Ties, place: &'t str) -> usize {
        if let Some(&met) = self.met.get(place) {
            return if self.open.contains(&place) {
                met
            } else {
                usize::MAX
            };
        }
        let met = self.met.len();
        self.met.insert(place, met);
        let begin = self.open.len();
        self.open.push(place);
        let mut earliest = met;
        for next in ties.get(place).into_iter().flat_map(BTreeMap::keys) {
            earliest = earliest.min(self.visit(ties, next));
        }
        if earliest == met {
            let group: BTreeSet<&str> = self.open.drain(begin..).collect();
            if group.len() > 1 {
                self.circles.push(group);
            }
        }
        earliest
    }
}

#[cfg(test)]
mod tests;
