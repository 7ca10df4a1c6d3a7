//! Versions in the manifest of the workspace and in the change log.

use anyhow::{Context, Result, bail};

/// Reads `MAJOR.MINOR.PATCH`.
pub(super) fn parse(text: &str) -> Result<[u32; 3]> {
    let numbers: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
    match numbers.ok().as_deref() {
        Some([major, minor, patch]) => Ok([*major, *minor, *patch]),
        _ => bail!("{text:?} is not a version MAJOR.MINOR.PATCH"),
    }
}

/// The line of `[workspace.package]` with the version.
const LINE: &str = "\nversion = \"";

/// The version of the workspace.
pub(super) fn of_manifest(manifest: &str) -> Result<String> {
    let (_, rest) = manifest
        .split_once(LINE)
        .context("Cargo.toml has no version")?;
    let (version, _) = rest
        .split_once('"')
        .context("Cargo.toml: the version has no end")?;
    Ok(version.to_owned())
}

/// The manifest with `next` for `current`, in the package and in the dependencies on crates of
/// ours.
pub(super) fn manifest(manifest: &str, current: &str, next: &str) -> Result<String> {
    let lines = manifest.lines().map(|line| {
        let is_ours = line.starts_with("version = ") || line.contains("path = ");
        if is_ours {
            line.replace(&format!("\"{current}\""), &format!("\"{next}\""))
        } else {
            line.to_owned()
        }
    });
    let changed: String = lines.map(|line| line + "\n").collect();
    if of_manifest(&changed)? != next {
        bail!("Cargo.toml: the version cannot be replaced");
    }
    Ok(changed)
}

/// The change log whose unreleased changes are those of `next`.
///
/// # Errors
/// There are none, or `next` is there already.
pub(super) fn log(log: &str, next: &str) -> Result<String> {
    const UNRELEASED: &str = "## Unreleased\n";
    if log.lines().any(|line| line == format!("## {next}")) {
        bail!("CHANGELOG.md has `## {next}` already");
    }
    let (before, rest) = log
        .split_once(UNRELEASED)
        .context("CHANGELOG.md has no `## Unreleased`")?;
    let changes = rest.split("\n## ").next().unwrap_or(rest);
    if changes.trim().is_empty() {
        bail!("CHANGELOG.md: there is nothing under `## Unreleased`");
    }
    Ok(format!("{before}## {next}\n{rest}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::shell;

    const MANIFEST: &str = "[workspace.package]\nversion = \"0.1.0\"\n\n[workspace.dependencies]\n\
        splitbar = { path = \"lowering/driver\", version = \"0.1.0\" }\nother = \"0.1.0\"\n";

    #[test]
    fn versions_are_three_numbers() {
        assert!(parse("0.2.0").unwrap() > parse("0.1.9").unwrap());
        for wrong in ["", "1", "1.0", "1.0.0.0", "v1.0.0", "1.0.0-rc1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn our_crates_alone_get_the_version() {
        let changed = manifest(MANIFEST, "0.1.0", "0.2.0").unwrap();
        assert_eq!(of_manifest(&changed).unwrap(), "0.2.0");
        assert!(changed.contains("path = \"lowering/driver\", version = \"0.2.0\""));
        assert!(changed.contains("other = \"0.1.0\""));
    }

    /// Crates take the versions of our others from the workspace.
    #[test]
    fn no_other_manifest_has_versions_of_ours() {
        let listed = shell::command("git", &["ls-files", "*Cargo.toml"]);
        for file in shell::read(listed).unwrap().lines().skip(1) {
            let text = std::fs::read_to_string(shell::root().join(file)).unwrap();
            let mut lines = text.lines();
            let versioned = lines.find(|line| line.contains("path = ") && line.contains("version"));
            assert_eq!(versioned, None, "{file}");
        }
    }

    #[test]
    fn unreleased_changes_become_those_of_the_version() {
        let text = "# Changes\n\n## Unreleased\n\n- One.\n\n## 0.1.0\n\n- Old.\n";
        let changed = log(text, "0.2.0").unwrap();
        assert!(changed.starts_with("# Changes\n\n## 0.2.0\n\n- One."));
        assert!(log(text, "0.1.0").is_err());
        assert!(log("## Unreleased\n\n## 0.1.0\n\n- Old.\n", "0.2.0").is_err());
        assert!(log("- One.\n", "0.2.0").is_err());
    }
}
