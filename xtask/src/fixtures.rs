//! `cargo xtask fixtures`: compiles the sources of fixtures/kernels, fixtures/timing and
//! fixtures/llvm_ir again.
//!
//! Every source says in its header, after `Regenerate:`, by which command its module was made;
//! those of fixtures/llvm_ir have the flags of clang in files beside them. The modules are
//! committed; the compilers are needed only for this.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell;

/// What precedes the command in a source's header.
const MARK: &str = "Regenerate:";

/// Runs the recorded commands of the named kernels, or of all.
pub(crate) fn run(names: &[String]) -> Result<()> {
    let folder = shell::root().join("fixtures/kernels");
    let kernels = kernels(&folder)?;
    let mut all: Vec<(String, PathBuf)> = (kernels.into_iter())
        .map(|name| (name.clone(), folder.join(name)))
        .collect();
    let timing = shell::root().join("fixtures/timing");
    all.extend(
        sources(&timing, ".comp")?
            .into_iter()
            .map(|name| (name, timing.clone())),
    );
    let names_of = || all.iter().map(|(name, _)| name.as_str());
    if let Some(unknown) = names.iter().find(|n| !names_of().any(|name| name == *n)) {
        bail!(
            "there is no kernel `{unknown}` in fixtures/kernels and fixtures/timing; there are: {}",
            names_of().collect::<Vec<_>>().join(", ")
        );
    }
    let mut failed = Vec::new();
    for name in sources(&shell::root().join(LLVM_IR), ".cl")? {
        if names.is_empty() || names.contains(&name) {
            for vendor in ["amdgcn", "nvptx64"] {
                if let Err(e) = translate(&name, vendor) {
                    eprintln!("{name} for {vendor}: {e:#}");
                    failed.push(format!("{name}.{vendor}"));
                }
            }
        }
    }
    for (name, folder) in all
        .iter()
        .filter(|(n, _)| names.is_empty() || names.contains(n))
    {
        match regenerate(folder, name) {
            Ok(true) => println!("{name}: changed"),
            Ok(false) => println!("{name}: the same"),
            Err(e) => {
                eprintln!("{name}: {e:#}");
                failed.push(name.clone());
            }
        }
    }
    if !failed.is_empty() {
        bail!("not made again: {}", failed.join(", "));
    }
    Ok(())
}

/// The names of the kernels, sorted.
pub(crate) fn kernels(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in
        std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?
    {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Where kernels are LLVM IR.
const LLVM_IR: &str = "fixtures/llvm_ir";

/// Has clang make LLVM IR of a kernel.
fn translate(name: &str, vendor: &str) -> Result<()> {
    let mut command = Command::new("clang-22");
    command
        .arg(format!("@{vendor}.flags"))
        .args(["-c", &format!("{name}.cl")])
        .args(["-o", &format!("{name}.{vendor}.bc")])
        .current_dir(shell::root().join(LLVM_IR));
    shell::read(command).context("are clang-22 and libclc-22 installed?")?;
    Ok(())
}

/// The names of the sources with this ending in a folder, sorted.
fn sources(folder: &Path, ending: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in
        std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?
    {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(ending).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// The source of a kernel: its one file that has a recorded command.
fn source_of(folder: &Path, name: &str) -> Result<String> {
    for extension in ["comp", "cl", "spvasm"] {
        if let Ok(text) = std::fs::read_to_string(folder.join(name).with_extension(extension)) {
            return Ok(text);
        }
    }
    bail!("there is no {name}.comp, {name}.cl or {name}.spvasm")
}

/// Runs a kernel's command; whether its module is another one now.
fn regenerate(folder: &Path, name: &str) -> Result<bool> {
    let source = source_of(folder, name)?;
    let line = source
        .lines()
        .find_map(|l| l.split_once(MARK))
        .map(|(_, command)| command)
        .with_context(|| format!("the header has no `{MARK}` line"))?;
    // No shell: the words of a command are just words.
    let mut words = line.split_whitespace();
    let program = words.next().context("the recorded command is empty")?;
    let module = folder.join(name).with_extension("spv");
    let before = std::fs::read(&module).ok();
    let mut command = Command::new(program);
    command.args(words).current_dir(folder);
    shell::read(command).with_context(|| format!("is {program} installed?"))?;
    Ok(before
        != Some(
            std::fs::read(&module)
                .with_context(|| format!("the command did not write {name}.spv"))?,
        ))
}
