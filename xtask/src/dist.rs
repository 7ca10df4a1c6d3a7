//! `cargo xtask dist`: an archive with the programs, the libraries, the header, and what other
//! build systems, shells and man need. The same files give the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use indicatif::ProgressBar;
use serde::Deserialize;

use crate::unify::{self, Splitbar};
use crate::{llvm, shell};

/// The version of the C interface, in the names of the libraries.
const ABI: u32 = 1;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The shared libraries: the crate, how it uses `splitbar`, the name, and what it is.
const LIBRARIES: [(&str, Splitbar, &str, &str); 2] = [
    (
        "splitbar-c-full",
        Splitbar::WithLlvm,
        "splitbar",
        "Compiles SPIR-V modules with split barriers for AMD and NVIDIA GPUs",
    ),
    (
        "splitbar-c-passes",
        Splitbar::WithoutLlvm,
        "splitbar_passes",
        "Checks and transforms SPIR-V modules with split barriers",
    ),
];

/// The programs: the crate, how it uses `splitbar`, and the name.
const PROGRAMS: [(&str, Splitbar, &str); 2] = [
    ("splitbar-cli", Splitbar::WithLlvm, "splitbar"),
    ("splitbar-passes", Splitbar::Unused, "splitbar-opt"),
];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The profile that is built
    #[arg(long, default_value = "release")]
    profile: String,
    /// The folder that gets the archive [default: dist in cargo's target folder]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Gives the crates the features that they have in the tests, so that few are built again
    #[arg(long)]
    unified: bool,
}

/// What stands at a path of the archive.
enum Entry {
    File { mode: u32, bytes: Vec<u8> },
    Link(String),
}

/// The archive by path.
#[derive(Default)]
struct Tree(BTreeMap<String, Entry>);

impl Tree {
    fn text(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        self.0
            .insert(path.into(), Entry::File { mode: 0o644, bytes });
    }

    fn program(&mut self, path: impl Into<String>, bytes: Vec<u8>) {
        self.0
            .insert(path.into(), Entry::File { mode: 0o755, bytes });
    }

    fn link(&mut self, path: impl Into<String>, to: String) {
        self.0.insert(path.into(), Entry::Link(to));
    }
}

/// Builds everything and writes the archive; prints its path.
pub(crate) fn run(options: &Options) -> Result<()> {
    llvm::ensure()?;
    let built = build(options)?;
    let mut tree = Tree::default();
    binaries(&built, &mut tree)?;
    interfaces(&mut tree)?;
    documents(&built, &mut tree)?;
    licences(&mut tree)?;
    let output = match &options.output {
        Some(folder) => folder.clone(),
        None => shell::target_directory()?.join("dist"),
    };
    std::fs::create_dir_all(&output).with_context(|| output.display().to_string())?;
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    let name = format!("splitbar-{VERSION}-{processor}-{system}");
    let file = output.join(format!("{name}.tar.gz"));
    pack(&tree, &name, &file)?;
    println!("{}", file.display());
    Ok(())
}

/// Builds the programs and the libraries; the folder that they are in. Each alone, so that the
/// features of one do not come into the other: libsplitbar_passes has no LLVM.
fn build(options: &Options) -> Result<PathBuf> {
    let profile = format!("--profile={}", options.profile);
    let build = |splitbar: Splitbar, what: &[&str]| {
        let with = unify::selection(options.unified, splitbar);
        let command = [&["build", &profile][..], with, what].concat();
        shell::run(shell::cargo(&command))
    };
    for (package, splitbar, program) in PROGRAMS {
        build(splitbar, &["--package", package, "--bin", program])?;
    }
    for (package, splitbar, _, _) in LIBRARIES {
        build(splitbar, &["--package", package])?;
    }
    folder(&options.profile)
}

/// Where cargo builds what is of `profile`.
pub(crate) fn folder(profile: &str) -> Result<PathBuf> {
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(shell::target_directory()?.join(folder))
}

fn binaries(built: &Path, tree: &mut Tree) -> Result<()> {
    for (_, _, program) in PROGRAMS {
        tree.program(format!("bin/{program}"), stripped(&built.join(program))?);
    }
    for (_, _, name, _) in LIBRARIES {
        let file = format!("lib{name}.so");
        let versioned = format!("{file}.{ABI}");
        tree.program(format!("lib/{versioned}"), stripped(&built.join(&file))?);
        tree.link(format!("lib/{file}"), versioned);
    }
    Ok(())
}

fn stripped(file: &Path) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("copy");
    strip(file, &copy)?;
    Ok(std::fs::read(copy)?)
}

/// Copies a program or library, without symbols and what debuggers read where `strip` is there.
pub(crate) fn strip(file: &Path, copy: &Path) -> Result<()> {
    let mut strip = Command::new("strip");
    strip.arg("--strip-unneeded").arg("-o").arg(copy).arg(file);
    if !strip.output().is_ok_and(|output| output.status.success()) {
        std::fs::copy(file, copy).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

/// The header, and what finds the libraries.
fn interfaces(tree: &mut Tree) -> Result<()> {
    tree.text("include/splitbar.h", read("bindings/c/include/splitbar.h")?);
    tree.text(
        "include/splitbar_device.h",
        read("bindings/device/splitbar_device.h")?,
    );
    let abi = ABI.to_string();
    let filled = |text: String, name: &str, about: &str| {
        let values = [
            ("@NAME@", name),
            ("@ABOUT@", about),
            ("@VERSION@", VERSION),
            ("@ABI@", &abi),
        ];
        values
            .iter()
            .fold(text, |text, (key, value)| text.replace(key, value))
    };
    for (_, _, name, about) in LIBRARIES {
        let text = filled(read("bindings/c/dist/library.pc.in")?, name, about);
        tree.text(format!("lib/pkgconfig/{name}.pc"), text);
    }
    tree.text(
        "lib/cmake/splitbar/splitbar-embed.cmake",
        read("bindings/c/dist/splitbar-embed.cmake")?,
    );
    for file in ["splitbar-config.cmake", "splitbar-config-version.cmake"] {
        let text = filled(read(&format!("bindings/c/dist/{file}.in"))?, "", "");
        tree.text(format!("lib/cmake/splitbar/{file}"), text);
    }
    Ok(())
}

/// Pages for man, completions, and the project's own documents.
fn documents(built: &Path, tree: &mut Tree) -> Result<()> {
    let program = built.join("splitbar");
    let completions = [
        ("bash", "share/bash-completion/completions/splitbar"),
        ("zsh", "share/zsh/site-functions/_splitbar"),
        ("fish", "share/fish/vendor_completions.d/splitbar.fish"),
    ];
    for (name, path) in completions {
        tree.text(
            path,
            shell::read(shell::command(&program, &["completions", name]))?,
        );
    }
    let pages = tempfile::tempdir()?;
    let mut manual = shell::command(&program, &["manual"]);
    manual.arg(pages.path());
    shell::read(manual)?;
    for page in pages.path().read_dir()? {
        let page = page?;
        let name = page.file_name().to_string_lossy().into_owned();
        tree.text(
            format!("share/man/man1/{name}"),
            std::fs::read(page.path())?,
        );
    }
    for name in [
        "README.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
    ] {
        tree.text(format!("share/doc/splitbar/{name}"), read(name)?);
    }
    Ok(())
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
}

/// The licences of everything that is linked: a list, and the texts that the crates have.
fn licences(tree: &mut Tree) -> Result<()> {
    let mut linked = BTreeSet::new();
    let packages = PROGRAMS.map(|(package, _, _)| package).into_iter();
    for package in packages.chain(LIBRARIES.map(|(package, _, _, _)| package)) {
        let edges = [
            "tree",
            "--edges=normal",
            "--prefix=none",
            "--package",
            package,
        ];
        for line in shell::read(shell::cargo(&edges))?.lines() {
            let mut words = line.split(' ');
            if let (Some(name), Some(version)) = (words.next(), words.next()) {
                linked.insert(format!("{name} {}", version.trim_start_matches('v')));
            }
        }
    }
    let text = shell::read(shell::cargo(&["metadata", "--format-version", "1"]))?;
    let metadata: Metadata = serde_json::from_str(&text).context("cargo metadata")?;
    let mut list = vec!["LLVM 23.1: Apache-2.0 WITH LLVM-exception".to_owned()];
    for package in &metadata.packages {
        let name = format!("{} {}", package.name, package.version);
        let is_ours = package.manifest_path.starts_with(shell::root());
        if is_ours || !linked.contains(&name) {
            continue;
        }
        let licence = package.license.as_deref().unwrap_or("see its text");
        list.push(format!("{name}: {licence}"));
        let folder = package.manifest_path.parent().unwrap_or(Path::new(""));
        for file in folder.read_dir()?.flatten() {
            let file_name = file.file_name().to_string_lossy().into_owned();
            let is_licence = ["LICENSE", "LICENCE", "COPYING", "NOTICE"]
                .iter()
                .any(|word| file_name.to_uppercase().starts_with(word));
            if is_licence && file.path().is_file() {
                let place = name.replace(' ', "-");
                let place = format!("share/doc/splitbar/licences/{place}/{file_name}");
                tree.text(place, std::fs::read(file.path())?);
            }
        }
    }
    list.sort();
    list.dedup();
    tree.text("share/doc/splitbar/licences/LIST", list.join("\n") + "\n");
    Ok(())
}

/// Writes the archive: sorted, of no time and no owner.
fn pack(tree: &Tree, top: &str, file: &Path) -> Result<()> {
    let out = File::create(file).with_context(|| file.display().to_string())?;
    let gzip = GzBuilder::new()
        .mtime(0)
        .write(BufWriter::new(out), Compression::fast());
    let mut archive = tar::Builder::new(gzip);
    let bar = ProgressBar::new(tree.0.len() as u64);
    for (path, entry) in &tree.0 {
        let path = format!("{top}/{path}");
        let mut header = tar::Header::new_gnu();
        header.set_mtime(0);
        match entry {
            Entry::File { mode, bytes } => {
                header.set_mode(*mode);
                header.set_size(bytes.len() as u64);
                archive.append_data(&mut header, path, bytes.as_slice())?;
            }
            Entry::Link(to) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_mode(0o777);
                header.set_size(0);
                archive.append_link(&mut header, path, to)?;
            }
        }
        bar.inc(1);
    }
    archive.into_inner()?.finish()?;
    bar.finish_and_clear();
    Ok(())
}

fn read(file: &str) -> Result<String> {
    std::fs::read_to_string(shell::root().join(file)).with_context(|| file.to_owned())
}
