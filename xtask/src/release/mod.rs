//! `cargo xtask release VERSION`: the version and the change log, the artefacts with their
//! checksums, the crates as the registry would take them, a commit and a tag. Nothing leaves the
//! machine: the last lines say what to push.

mod bill;
mod version;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::{package, shell};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The version, such as 0.2.0; that of Cargo.toml releases what is there
    version: String,
    /// Says what would be done, and changes nothing
    #[arg(long)]
    plan: bool,
    /// The profile of the programs and libraries
    #[arg(long, default_value = "release")]
    profile: String,
    /// The folder that gets the artefacts [default: release/VERSION in cargo's target folder]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Writes the artefacts alone: no version, commit or tag, and no dry run of publishing
    #[arg(long)]
    artefacts: bool,
    /// Builds the archive twice and compares the bytes
    #[arg(long)]
    twice: bool,
}

/// Makes the release.
pub(crate) fn run(options: &Options) -> Result<()> {
    let next = version::parse(&options.version)?;
    let folder = match &options.output {
        Some(folder) => folder.clone(),
        None => shell::target_directory()?
            .join("release")
            .join(&options.version),
    };
    if options.artefacts {
        return artefacts(&folder, options);
    }
    let root = shell::root();
    let manifest = std::fs::read_to_string(root.join("Cargo.toml"))?;
    let log = std::fs::read_to_string(root.join("CHANGELOG.md"))?;
    let current = version::of_manifest(&manifest)?;
    if next < version::parse(&current)? {
        bail!(
            "{} is older than {current}, the version that is there",
            options.version
        );
    }
    let manifest = version::manifest(&manifest, &current, &options.version)?;
    let log = version::log(&log, &options.version)?;
    if options.plan {
        return plan(options, &current);
    }
    let state = shell::read(shell::command("git", &["status", "--porcelain"]))?;
    if !state.trim().is_empty() {
        bail!("there are changes that are not committed; a release is of a commit");
    }
    std::fs::write(root.join("Cargo.toml"), manifest)?;
    std::fs::write(root.join("CHANGELOG.md"), log)?;
    // The lock file gets the version of each crate.
    shell::run(shell::cargo(&["update", "--workspace", "--offline"]))?;
    package::packages(false)?;
    let message = format!("Release {}", options.version);
    let tag = format!("v{}", options.version);
    // Before the artefacts: programs name the commit that they are built of.
    shell::run(shell::command("git", &["commit", "--all", "-m", &message]))?;
    artefacts(&folder, options)?;
    shell::run(shell::command(
        "git",
        &["tag", "--annotate", &tag, "-m", &message],
    ))?;
    println!("{}", to_push(&tag)?);
    Ok(())
}

/// Says what a run without `--plan` does.
fn plan(options: &Options, current: &str) -> Result<()> {
    let next = &options.version;
    println!("version: {current} -> {next} in Cargo.toml and Cargo.lock");
    println!("CHANGELOG.md: `## Unreleased` becomes `## {next}`");
    println!(
        "crates, in the order of publishing: {}",
        order()?.join(", ")
    );
    println!("artefacts: archive, wheel, source distribution, sbom.cdx.json, SHA256SUMS");
    println!("commit `Release {next}` and tag v{next}; nothing is pushed");
    Ok(())
}

/// Writes the archive, the wheel, the bill of materials and the checksums into `folder`.
fn artefacts(folder: &Path, options: &Options) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let archive = made("dist", folder, options)?;
    if options.twice {
        let again = tempfile::tempdir()?;
        let second = made("dist", again.path(), options)?;
        if std::fs::read(&archive)? != std::fs::read(&second)? {
            bail!("two builds of {} differ", archive.display());
        }
        println!("{}: the same bytes twice", archive.display());
    }
    made("wheel", folder, options)?;
    made("wheel --source", folder, options)?;
    std::fs::write(folder.join("sbom.cdx.json"), bill::of_materials()?)?;
    sums(folder)
}

/// What `cargo xtask COMMAND` makes in `folder`. It is a process of its own, since this program may
/// have been built with an older version.
fn made(command: &str, folder: &Path, options: &Options) -> Result<PathBuf> {
    let mut cargo = shell::cargo(&["run", "--quiet", "--package=xtask", "--"]);
    cargo.args(command.split(' '));
    cargo.args(["--profile", &options.profile, "--output"]);
    cargo.arg(folder);
    let said = shell::read(cargo)?;
    let last = said.lines().last();
    Ok(last
        .with_context(|| format!("cargo xtask {command} names nothing"))?
        .into())
}

/// Writes `SHA256SUMS`, as `sha256sum --check` reads it, sorted by name.
fn sums(folder: &Path) -> Result<()> {
    const NAME: &str = "SHA256SUMS";
    let mut lines = Vec::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == NAME || !entry.file_type()?.is_file() {
            continue;
        }
        let digest = Sha256::digest(std::fs::read(entry.path())?);
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        lines.push((name.clone(), format!("{digits}  {name}\n")));
    }
    lines.sort();
    let text: String = lines.into_iter().map(|(_, line)| line).collect();
    let file = folder.join(NAME);
    std::fs::write(&file, text)?;
    println!("{}", file.display());
    Ok(())
}

/// The crates that are published, each after those that it depends on.
fn order() -> Result<Vec<String>> {
    let metadata = bill::metadata()?;
    let crates: Vec<&bill::Package> = metadata
        .packages
        .iter()
        .filter(|one| one.is_published())
        .collect();
    let mut ordered: Vec<String> = Vec::new();
    while ordered.len() < crates.len() {
        let is_ready = |one: &&&bill::Package| {
            let is_ours = |name: &String| crates.iter().any(|other| other.name == *name);
            let mut needed = one.needed().filter(|name| is_ours(name));
            !ordered.contains(&one.name) && needed.all(|name| ordered.contains(name))
        };
        match crates.iter().find(is_ready) {
            Some(ready) => ordered.push(ready.name.clone()),
            None => bail!("the crates depend on each other in a circle"),
        }
    }
    Ok(ordered)
}

/// What a person does then.
fn to_push(tag: &str) -> Result<String> {
    let mut lines = vec![format!("git push origin HEAD {tag}")];
    lines.extend(
        order()?
            .iter()
            .map(|name| format!("cargo publish --package {name}")),
    );
    Ok(format!(
        "Nothing is pushed yet. To publish:\n  {}",
        lines.join("\n  ")
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn crates_come_after_what_they_need() {
        let order = order().unwrap();
        let place = |name: &str| order.iter().position(|other| other == name).unwrap();
        assert!(place("splitbar-target") < place("splitbar-plan"));
        assert!(place("splitbar-llvm") < place("splitbar"));
        assert!(place("splitbar") < place("splitbar-cli"));
        assert!(
            !order
                .iter()
                .any(|name| name == "xtask" || name == "splitbar-tests")
        );
    }

    #[test]
    fn checksums_are_sorted_and_leave_themselves_out() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("b"), b"").unwrap();
        std::fs::write(folder.path().join("a"), b"abc").unwrap();
        sums(folder.path()).unwrap();
        sums(folder.path()).unwrap();
        let text = std::fs::read_to_string(folder.path().join("SHA256SUMS")).unwrap();
        assert_eq!(
            text,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n\
             e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
        );
    }
}
