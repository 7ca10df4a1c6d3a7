//! Programs of the generators that failed once: each is a case in `fixtures/found/programs`, a
//! module with a table of its options, its launch and the results that it must leave.
//!
//! A generator writes such a case for a program that fails, made smaller, into the folder that
//! `SPLITBAR_FOUND` names, or else into that for temporary files. `cargo xtask soak` names
//! `fixtures/found`; the case is then the trial `found/NAME`. Damaged modules that `splitbar lower`
//! does not survive are in `fixtures/found/damaged`.

mod flags;
mod launch;

use crate::support::{compiled, linkable, target, told, trial};
use anyhow::{Context, Result, bail, ensure};
pub(crate) use launch::Launch;
use launch::LaunchTable;
use libtest_mimic::Trial;
use serde::Deserialize;
use splitbar::Options;
use splitbar::simulate::Job;
use splitbar_passes::module::Module;
use splitbar_passes::pipeline::{self, Settings, Step};
use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

/// The variable with the folder that gets the cases.
const FOLDER: &str = "SPLITBAR_FOUND";

/// A program that failed.
pub(crate) struct Found<'f> {
    /// The family of the suite, without a slash at its end.
    pub(crate) family: &'f str,
    /// The seed, and more of the name if a seed runs in several ways.
    pub(crate) name: String,
    /// The variables that make the generator run this program.
    pub(crate) variables: String,
    /// The module.
    pub(crate) module: &'f [u8],
    /// The passes that ran on it, as flags without dashes.
    pub(crate) passes: &'f [String],
    /// How it was compiled.
    pub(crate) options: &'f Options,
    /// How it ran, and what it must leave.
    pub(crate) launch: &'f Launch,
    /// What was wrong.
    pub(crate) error: &'f str,
}

/// The table of a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "found")]
    _found: String,
    #[serde(rename = "again")]
    _again: String,
    /// Passes that run first, as flags without dashes.
    passes: Vec<String>,
    target: String,
    /// Names and values, in the order in which they are set.
    options: Vec<[String; 2]>,
    launch: LaunchTable,
}

impl Found<'_> {
    /// Writes the case; its trial and its file, or why it is not written, in words for a report.
    pub(crate) fn report(&self) -> String {
        match self.write() {
            Ok((name, file)) => format!("case found/{name}: {}", file.display()),
            Err(error) => format!("no case is written: {error:#}"),
        }
    }

    fn write(&self) -> Result<(String, PathBuf)> {
        let text = self.text()?;
        let folder = folder("programs")?;
        let name = format!("{}-{}", self.family, self.name).replace([',', '/'], "-");
        std::fs::write(folder.join(format!("{name}.spv")), self.module)?;
        let file = folder.join(format!("{name}.toml"));
        std::fs::write(&file, text)?;
        Ok((name, file))
    }

    /// That the passes, the options and the launch are the same after they are written and read.
    pub(crate) fn comes_back(&self) -> Result<()> {
        let table: Table = toml::from_str(&self.text()?)?;
        let (options, launch) = options_and_launch(&table)?;
        ensure!(table.passes == self.passes, "{:?}", table.passes);
        ensure!(format!("{options:?}") == format!("{:?}", self.options));
        ensure!(format!("{launch:?}") == format!("{:?}", self.launch));
        Ok(())
    }

    fn text(&self) -> Result<String> {
        let mut text = String::new();
        let first = self.error.lines().next().unwrap_or_default();
        // A literal string of TOML has no quotes and no control characters.
        let plain = |c: char| if c == '\'' || c.is_control() { ' ' } else { c };
        let found: String = first.chars().map(plain).take(300).collect();
        writeln!(text, "found = '{found}'")?;
        let (family, variables) = (self.family, &self.variables);
        writeln!(
            text,
            "again = '{variables} cargo test --release -p splitbar-tests --test suite -- {family}/'"
        )?;
        writeln!(text, "passes = {:?}", self.passes)?;
        writeln!(text, "target = '{}'\noptions = [", self.options.target.name)?;
        for (name, value) in flags::of(self.options)? {
            writeln!(text, "  ['{name}', '{value}'],")?;
        }
        writeln!(text, "]\n")?;
        self.launch.write(&mut text)?;
        Ok(text)
    }
}

/// The result of `compile`; an error if it panics, so that the program becomes a case.
pub(crate) fn caught<T>(compile: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(AssertUnwindSafe(compile)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let said = text.or_else(|| panic.downcast_ref().copied());
        bail!("the compiler panics: {}", said.unwrap_or_default())
    })
}

/// The folder `kind` of those that get cases; it is created.
pub(crate) fn folder(kind: &str) -> Result<PathBuf> {
    let folder = match std::env::var_os(FOLDER) {
        Some(folder) => PathBuf::from(folder),
        None => std::env::temp_dir().join("splitbar-found"),
    };
    let folder = folder.join(kind);
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

/// The files with this extension in a folder of `fixtures/found`, by name; none if there is no such
/// folder.
pub(crate) fn files(kind: &str, extension: &str) -> Vec<PathBuf> {
    let folder = splitbar_tests::fixture::root()
        .join("fixtures/found")
        .join(kind);
    let entries = folder.read_dir().into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}

pub(crate) fn trials() -> Vec<Trial> {
    let cases = files("programs", "toml").into_iter().map(|file| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        trial(format!("found/{name}"), move || is_right(&file))
    });
    cases.collect()
}

/// `module` after passes, each as a flag without dashes.
pub(crate) fn after_passes(module: &[u8], passes: &[String]) -> Result<Vec<u8>> {
    if passes.is_empty() {
        return Ok(module.to_vec());
    }
    let steps = passes.iter().map(|flag| flag.parse::<Step>());
    let steps: Vec<Step> = steps
        .collect::<Result<_, _>>()
        .map_err(anyhow::Error::msg)?;
    let module = told(Module::parse(module))?.into_owned();
    let settings = Settings::default();
    let done = told(pipeline::run(module, &steps, settings, &mut |_, _| ()))?;
    Ok(done.module.to_bytes())
}

/// The options and the launch of a table.
fn options_and_launch(table: &Table) -> Result<(Options, Launch)> {
    let mut options = Options::new(target(&table.target)?);
    for [name, value] in &table.options {
        options.set(name, value).map_err(anyhow::Error::msg)?;
    }
    Ok((options, table.launch.launch()?))
}

/// That a program that failed once leaves what it must.
fn is_right(file: &Path) -> Result<()> {
    linkable("gfx1201")?;
    let text = std::fs::read_to_string(file)?;
    let table: Table = toml::from_str(&text).with_context(|| file.display().to_string())?;
    let (options, launch) = options_and_launch(&table)?;
    let module = std::fs::read(file.with_extension("spv"))?;
    let module = after_passes(&module, &table.passes)?;
    let output = compiled(&module, options)?;
    launch.is_right(&Job::compiled(&output, 0)?)
}
