//! The file of results: a first line that says what they hold for, then a line for each
//! compilation.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::attempt::{Attempt, Outcome};

/// What became of one module for one target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The module's path in the archive.
    pub module: String,
    /// The target.
    pub target: String,
    /// The compilation.
    pub attempt: Attempt,
}

/// Results in memory and on disk.
pub(super) struct Results {
    file: File,
    done: BTreeMap<(String, String), Entry>,
}

impl Results {
    /// Reads the results at `path` that hold for `fingerprint`; with `keep`, also what was compiled
    /// under another one.
    pub(super) fn open(path: &Path, fingerprint: &str, keep: bool) -> Result<Results> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let mut lines = text.lines();
        let same = lines.next() == Some(fingerprint);
        // A line that was cut short by the end of its run is left out.
        let kept = lines
            .filter_map(|line| serde_json::from_str::<Entry>(line).ok())
            .filter(|entry| same || (keep && entry.attempt.outcome == Outcome::Compiled));
        let folder = path.parent().unwrap_or(path);
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let mut file = File::create(path).with_context(|| path.display().to_string())?;
        writeln!(file, "{fingerprint}")?;
        let mut results = Results {
            file,
            done: BTreeMap::new(),
        };
        for entry in kept {
            results.add(entry)?;
        }
        Ok(results)
    }

    /// Whether there is a result.
    pub(super) fn has(&self, module: &str, target: &str) -> bool {
        self.get(module, target).is_some()
    }

    /// The result of a module for a target.
    pub(super) fn get(&self, module: &str, target: &str) -> Option<&Attempt> {
        self.done
            .get(&(module.to_owned(), target.to_owned()))
            .map(|entry| &entry.attempt)
    }

    /// All results, in order of module and target.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.done.values()
    }

    /// Writes a result down.
    pub(super) fn add(&mut self, entry: Entry) -> Result<()> {
        writeln!(self.file, "{}", serde_json::to_string(&entry)?)?;
        self.done
            .insert((entry.module.clone(), entry.target.clone()), entry);
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn entry(module: &str, outcome: Outcome) -> Entry {
        Entry {
            module: module.to_owned(),
            target: "gfx1201".to_owned(),
            attempt: Attempt {
                outcome,
                sized: false,
                seconds: 0.0,
                reasons: Vec::new(),
            },
        }
    }

    #[test]
    fn a_run_goes_on_where_it_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let mut first = Results::open(&path, "one", false).unwrap();
        first.add(entry("a", Outcome::Compiled)).unwrap();
        first.add(entry("b", Outcome::Refused)).unwrap();
        drop(first);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text + "{\"module\": \"cut sho").unwrap();

        let has = |results: &Results| ["a", "b"].map(|name| results.has(name, "gfx1201"));
        let again = Results::open(&path, "one", false).unwrap();
        assert_eq!(has(&again), [true, true]);
        let kept = Results::open(&path, "two", true).unwrap();
        assert_eq!(has(&kept), [true, false]);
        let fresh = Results::open(&path, "three", false).unwrap();
        assert_eq!(has(&fresh), [false, false]);
    }
}
