//! The differences between two reports: of another version of the kernel, or of splitbar.

use super::model::{Difference, Differences, KernelResult, Report, VersionResult};
use super::verdict::difference;
use serde::Deserialize;
use std::collections::BTreeSet;

/// The parts of an older report that are compared.
#[derive(Deserialize)]
struct Old {
    schema_version: u32,
    tool_version: String,
    module: OldModule,
    launch: OldLaunch,
    findings: Vec<OldFinding>,
    results: Vec<OldResult>,
}

#[derive(Deserialize)]
struct OldModule {
    sha256: String,
}

#[derive(Deserialize)]
struct OldLaunch {
    words: String,
}

#[derive(Deserialize)]
struct OldFinding {
    code: Option<String>,
    message: String,
}

#[derive(Deserialize)]
struct OldResult {
    entry: String,
    target: String,
    verdict: OldVerdict,
    versions: Vec<OldVersion>,
    findings: Vec<OldFinding>,
}

#[derive(Deserialize)]
struct OldVerdict {
    version: Option<String>,
    of_full: Option<f64>,
}

#[derive(Deserialize)]
struct OldVersion {
    name: String,
    registers: Option<u32>,
    workgroups: Option<u32>,
    instructions: u32,
    cycles: Option<u64>,
}

impl Report {
    /// Compares with an older report, in JSON.
    ///
    /// # Errors
    /// Why `older` is not a report, or is one of another form.
    pub fn compare(&mut self, older: &[u8]) -> Result<(), String> {
        let not_one = |why: serde_json::Error| format!("it is not a report in JSON: {why}");
        let old: Old = serde_json::from_slice(older).map_err(not_one)?;
        if old.schema_version != self.schema_version {
            return Err(format!(
                "its schema version is {}, but this splitbar can compare only with {}",
                old.schema_version, self.schema_version
            ));
        }
        let mut all = Vec::new();
        let of_module = |what: &str, before: &str, after: &str| Difference {
            entry: String::new(),
            target: String::new(),
            what: what.to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
        };
        let own = self
            .findings
            .iter()
            .map(|one| said(one.code.as_ref(), &one.message));
        for (what, before, after) in findings(&old.findings, own) {
            all.push(of_module(what, &before, &after));
        }
        for result in &self.results {
            let mut others = old.results.iter();
            let is_same =
                |one: &&OldResult| one.entry == result.entry && one.target == result.target;
            match others.find(is_same) {
                Some(old) => compare(old, result, &mut all),
                None => all.push(of(result, "kernel", "not in the report", "new")),
            }
        }
        for old in &old.results {
            let mut own = self.results.iter();
            if !own.any(|one| one.entry == old.entry && one.target == old.target) {
                all.push(Difference {
                    entry: old.entry.clone(),
                    target: old.target.clone(),
                    ..of_module("kernel", "in the report", "gone")
                });
            }
        }
        self.against = Some(Differences {
            same_module: old.module.sha256 == self.module.sha256,
            same_launch: old.launch.words == self.launch.words,
            tool_version: old.tool_version,
            sha256: old.module.sha256,
            differences: all,
        });
        Ok(())
    }
}

fn of(result: &KernelResult, what: &str, before: &str, after: &str) -> Difference {
    Difference {
        entry: result.entry.clone(),
        target: result.target.to_owned(),
        what: what.to_owned(),
        before: before.to_owned(),
        after: after.to_owned(),
    }
}

/// A finding in words that do not name a place: places move.
fn said(code: Option<&String>, message: &str) -> String {
    match code {
        Some(code) => format!("{code} {message}"),
        None => message.to_owned(),
    }
}

/// Findings that are new or gone.
fn findings(
    old: &[OldFinding],
    own: impl Iterator<Item = String>,
) -> Vec<(&'static str, String, String)> {
    let old: BTreeSet<String> = old
        .iter()
        .map(|one| said(one.code.as_ref(), &one.message))
        .collect();
    let own: BTreeSet<String> = own.collect();
    let gone = old
        .difference(&own)
        .map(|one| ("finding", one.clone(), "gone".to_owned()));
    let new = own
        .difference(&old)
        .map(|one| ("finding", "none".to_owned(), one.clone()));
    gone.chain(new).collect()
}

fn compare(old: &OldResult, result: &KernelResult, all: &mut Vec<Difference>) {
    let answer = |version: &Option<String>, of_full: Option<f64>| {
        let version = version.as_deref().unwrap_or("none");
        match of_full {
            Some(of_full) => format!("{version} ({})", difference(of_full)),
            None => version.to_owned(),
        }
    };
    let before = answer(&old.verdict.version, old.verdict.of_full);
    let after = answer(&result.verdict.version, result.verdict.of_full);
    if before != after {
        all.push(of(result, "verdict", &before, &after));
    }
    for version in &result.versions {
        let mut others = old.versions.iter();
        match others.find(|one| one.name == version.name) {
            Some(old) => figures(old, version, result, all),
            None => all.push(of(result, &version.name, "not there", "a version")),
        }
    }
    for old in &old.versions {
        if result.versions.iter().all(|one| one.name != old.name) {
            all.push(of(result, &old.name, "a version", "not there"));
        }
    }
    let own = result
        .findings
        .iter()
        .map(|one| said(one.code.as_ref(), &one.message));
    for (what, before, after) in findings(&old.findings, own) {
        all.push(of(result, what, &before, &after));
    }
}

fn figures(
    old: &OldVersion,
    version: &VersionResult,
    result: &KernelResult,
    all: &mut Vec<Difference>,
) {
    let rows: [(&str, Option<u64>, Option<u64>); 4] = [
        ("cycles", old.cycles, version.cycles),
        (
            "registers",
            old.registers.map(u64::from),
            version.registers.map(u64::from),
        ),
        (
            "resident workgroups",
            old.workgroups.map(u64::from),
            version.workgroups.map(u64::from),
        ),
        (
            "instructions",
            Some(old.instructions.into()),
            Some(version.instructions.into()),
        ),
    ];
    for (what, before, after) in rows {
        if before != after {
            let [before, after] = [before, after]
                .map(|figure| figure.map_or("unknown".to_owned(), |figure| figure.to_string()));
            all.push(of(
                result,
                &format!("{what} of {}", version.name),
                &before,
                &after,
            ));
        }
    }
}
