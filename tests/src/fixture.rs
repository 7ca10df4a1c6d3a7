//! The kernels of `fixtures/kernels`: their paths, and the expectations in their `NAME.toml`.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The targets that every kernel must compile for.
pub const GRID: [&str; 12] = [
    "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_60", "sm_75",
    "sm_80", "sm_90", "sm_120",
];

/// The targets whose plans are stored as snapshots, `plan.TARGET.txt` next to the kernel.
pub const SNAPSHOTS: [&str; 4] = ["gfx1201", "gfx1100", "sm_75", "sm_90"];

/// One kernel of `fixtures/kernels`.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// The folder's name, which is the kernel's.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// The expectations.
    pub expectations: Expectations,
}

/// `NAME.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// The purpose of the kernel, in one sentence.
    pub about: String,
    /// The file that it is generated from.
    pub source: String,
    /// The exact command that generates `NAME.spv`, run in the folder.
    pub command: String,
    /// The split-barrier pairs, in the order of their ids.
    pub pairs: Vec<Pair>,
    /// The launch that the host reference computes.
    pub reference: Launch,
    /// The checks of its outputs.
    #[serde(default)]
    pub check: Vec<CheckTable>,
}

/// One split-barrier pair.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// Its execution scope, in lower case.
    pub scope: String,
}

/// The launch of the host reference.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// Workgroups in x, y and z.
    pub groups: [u32; 3],
    /// Invocations of a workgroup in x, y and z.
    pub workgroup_size: [u32; 3],
    /// The words of the push-constant block.
    #[serde(default)]
    pub push_constants: Vec<u32>,
    /// The buffers.
    pub buffers: Vec<BufferTable>,
}

/// One buffer of the launch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferTable {
    /// Descriptor set and binding; kernels with parameters of their own have `argument` instead.
    pub binding: Option<[u32; 2]>,
    /// The kernel's parameter.
    pub argument: Option<u32>,
    /// Its name in the source.
    pub name: String,
    /// `u32` or `f32`.
    pub element: String,
    /// Its number of elements, four bytes each.
    pub count: usize,
    /// True if the reference computes its final content.
    pub output: bool,
}

/// One check.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckTable {
    /// The targets that it is for.
    pub target: Targets,
    /// The requested strategy; by default the planner chooses.
    pub strategy: Option<String>,
    /// The output that it looks at.
    pub emit: Emit,
    /// Options that differ from the defaults.
    #[serde(default)]
    pub options: Choices,
    /// Entries of the check language, see [`crate::check`].
    pub order: Vec<String>,
}

/// Options of the command line, with the same names. An option without a value has its default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Choices {
    /// `--fuse-at arrive`.
    pub fuse_at_arrive: bool,
    /// `--promote-async-copies`.
    pub promote_async_copies: bool,
    /// `--wavefront-size`.
    pub wave: Option<u32>,
    /// `--waits`.
    pub waits: ChosenWaits,
    /// `--cu-mode`.
    pub cu_mode: bool,
    /// `--tgsplit`.
    pub tgsplit: bool,
}

/// `--waits`.
#[derive(Copy, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChosenWaits {
    /// `auto`.
    #[default]
    Auto,
    /// `explicit`.
    Explicit,
    /// `conservative`.
    Conservative,
}

/// One target or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Targets {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl Targets {
    /// The names.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Targets::One(name) => vec![name],
            Targets::Many(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

/// An output of the compiler that a check can look at.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Emit {
    /// Assembly or PTX.
    Asm,
    /// LLVM IR after optimisation.
    LlvmIr,
    /// The barrier plan.
    Plan,
}

/// The root of the repository.
pub fn root() -> &'static Path {
    // The crate's folder is one below it, always.
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// Every kernel, sorted by name.
///
/// # Errors
/// A folder without its module or its expectations, expectations that do not parse, or no kernel at
/// all.
pub fn all() -> Result<Vec<Fixture>> {
    let folder = root().join("fixtures/kernels");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    ensure!(!names.is_empty(), "{} has no kernels", folder.display());
    names.iter().map(|name| Fixture::load(name)).collect()
}

impl Fixture {
    /// The kernel of this name.
    ///
    /// # Errors
    /// As [`all`].
    pub fn load(name: &str) -> Result<Fixture> {
        let folder = root().join("fixtures/kernels").join(name);
        let path = folder.join(format!("{name}.toml"));
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let expectations: Expectations =
            toml::from_str(&text).with_context(|| path.display().to_string())?;
        for file in [&format!("{name}.spv"), &expectations.source] {
            if !folder.join(file).is_file() {
                bail!("{} has no {file}", folder.display());
            }
        }
        Ok(Fixture {
            name: name.to_owned(),
            folder,
            expectations,
        })
    }

    /// The module.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn module(&self) -> Result<Vec<u8>> {
        let path = self.module_path();
        std::fs::read(&path).with_context(|| path.display().to_string())
    }

    /// The module's file.
    pub fn module_path(&self) -> PathBuf {
        self.folder.join(format!("{}.spv", self.name))
    }
}
