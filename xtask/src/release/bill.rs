//! The bill of materials of a release: what is linked into the program, as CycloneDX 1.5.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::json;

use crate::shell;

/// A part of what `cargo metadata` says.
#[derive(Deserialize)]
pub(super) struct Metadata {
    pub(super) packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    publish: Option<Vec<String>>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

impl Package {
    /// Returns true for crates of ours that go to the registry.
    pub(super) fn is_published(&self) -> bool {
        self.source.is_none() && self.publish.as_ref().is_none_or(|to| !to.is_empty())
    }

    /// The crates that must be in the registry before this one.
    pub(super) fn needed(&self) -> impl Iterator<Item = &String> {
        let needed = self.dependencies.iter();
        let needed = needed.filter(|one| one.kind.as_deref() != Some("dev"));
        needed.map(|one| &one.name)
    }
}

/// All packages of the workspace and those that it depends on.
pub(super) fn metadata() -> Result<Metadata> {
    let text = shell::read(shell::cargo(&["metadata", "--format-version", "1"]))?;
    serde_json::from_str(&text).context("cargo metadata")
}

/// The bill of materials: every crate that is linked into `splitbar`, and LLVM with lld, sorted by
/// name. It has no time and no serial number, so that the same crates give the same bytes.
pub(super) fn of_materials() -> Result<String> {
    let linked = linked()?;
    let mut components = vec![json!({
        "type": "library",
        "name": "LLVM",
        "version": "23.1",
        "licenses": [{"expression": "Apache-2.0 WITH LLVM-exception"}],
    })];
    let mut packages = metadata()?.packages;
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    for package in packages {
        let Package {
            name,
            version,
            license,
            ..
        } = &package;
        if !linked.contains(&format!("{name} {version}")) {
            continue;
        }
        components.push(json!({
            "type": "library",
            "name": name,
            "version": version,
            "purl": format!("pkg:cargo/{name}@{version}"),
            "licenses": license.iter().map(|text| json!({"expression": text})).collect::<Vec<_>>(),
        }));
    }
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "components": components,
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

/// Each crate that is linked into the program, with its version.
fn linked() -> Result<BTreeSet<String>> {
    let arguments = [
        "tree",
        "--edges=normal",
        "--prefix=none",
        "--package=splitbar-cli",
    ];
    let text = shell::read(shell::cargo(&arguments))?;
    let lines = text.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (name, version) = (words.next()?, words.next()?);
        Some(format!("{name} {}", version.trim_start_matches('v')))
    });
    Ok(lines.collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_has_what_is_linked_and_is_the_same_twice() {
        let bill = of_materials().unwrap();
        for name in ["LLVM", "inkwell", "splitbar-passes", "serde_json"] {
            assert!(bill.contains(&format!("\"name\": \"{name}\"")), "{name}");
        }
        for name in ["xtask", "splitbar-tests", "libtest-mimic"] {
            assert!(!bill.contains(&format!("\"name\": \"{name}\"")), "{name}");
        }
        assert_eq!(bill, of_materials().unwrap());
    }
}
