//! The bundle: a folder with PTX, launches and a manifest, which is all that a machine with a GPU
//! needs.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use splitbar_tests::reference::Case;
use std::path::{Path, PathBuf};

/// The manifest's name in the folder.
const MANIFEST: &str = "manifest.json";

/// Raised when the manifest changes its meaning.
const VERSION: u32 = 2;

/// The content of a bundle.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    version: u32,
    /// The compiled kernels, in the order in which they run.
    pub kernels: Vec<Kernel>,
    /// The kernel of [`break_even`](crate::break_even), in the order of its table.
    pub points: Vec<Point>,
    /// The kernels that could not be compiled, with the reasons.
    pub left_out: Vec<String>,
}

/// One kernel, compiled for one target with one strategy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The launch: the name of a case.
    pub case: String,
    /// The target, for example `sm_80`.
    pub target: String,
    /// The requested strategy.
    pub strategy: String,
    /// Other strategies that come to the same PTX.
    pub also: Vec<String>,
    /// True if it is the planner's choice without a requested strategy.
    pub default: bool,
    /// The kernel's name in the PTX.
    pub symbol: String,
    /// The parameters, as `splitbar lower --emit reflect` describes them.
    pub arguments: Vec<Argument>,
}

/// One parameter of a kernel. Sizes and offsets are bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// Its position.
    pub index: u32,
    /// `buffer`, `push_constant`, `array_length`, `value` or `image`.
    pub kind: String,
    /// The descriptor set of the resource.
    pub set: Option<u32>,
    /// The binding of the resource.
    pub binding: Option<u32>,
    /// Its size.
    pub size: u32,
    /// Offset in the parameter block.
    pub offset: u32,
}

/// The kernel of [`break_even`](crate::break_even), compiled for workgroups of one size and windows
/// of one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// The compiled kernel.
    pub kernel: Kernel,
    /// Waves of a workgroup.
    pub waves: u32,
    /// Steps of a window.
    pub window: u32,
}

impl Kernel {
    /// The name of the kernel in messages.
    pub fn label(&self) -> String {
        format!("{} {} {}", self.case, self.target, self.strategies())
    }

    /// The strategies with this code: `warp-named = group-named (default)`.
    pub fn strategies(&self) -> String {
        let mut text = self.strategy.clone();
        for other in &self.also {
            text.push_str(" = ");
            text.push_str(other);
        }
        if self.default {
            text.push_str(" (default)");
        }
        text
    }

    /// Returns true if this strategy was requested.
    pub fn is(&self, strategy: &str) -> bool {
        self.strategy == strategy || self.also.iter().any(|other| other == strategy)
    }

    fn file(&self) -> String {
        format!("{}.{}.{}.ptx", self.case, self.target, self.strategy)
    }
}

impl Manifest {
    /// A manifest of this version.
    pub fn new(kernels: Vec<Kernel>, points: Vec<Point>, left_out: Vec<String>) -> Manifest {
        Manifest {
            version: VERSION,
            kernels,
            points,
            left_out,
        }
    }
}

/// A bundle's folder.
#[derive(Clone, Debug)]
pub struct Bundle {
    folder: PathBuf,
}

impl Bundle {
    /// The bundle in `folder`, which need not exist yet.
    pub fn at(folder: impl Into<PathBuf>) -> Bundle {
        Bundle {
            folder: folder.into(),
        }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes an older bundle from the folder and makes the folder.
    ///
    /// # Errors
    /// The folder has files but no manifest, so it is none of ours; or it cannot be written.
    pub fn clear(&self) -> Result<()> {
        if self.folder.join(MANIFEST).is_file() {
            std::fs::remove_dir_all(&self.folder).context("the older bundle cannot be removed")?;
        }
        std::fs::create_dir_all(&self.folder).with_context(|| self.folder.display().to_string())?;
        anyhow::ensure!(
            std::fs::read_dir(&self.folder)?.next().is_none(),
            "{} has files and is no bundle: name another folder",
            self.folder.display()
        );
        Ok(())
    }

    /// Writes a kernel's PTX.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_ptx(&self, kernel: &Kernel, ptx: &str) -> Result<()> {
        self.write(&kernel.file(), ptx)
    }

    /// Writes a launch.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_case(&self, name: &str, case: &Case) -> Result<()> {
        self.write(&format!("{name}.json"), &serde_json::to_string(case)?)
    }

    /// Writes the manifest. It is written last, because it marks the bundle as complete.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<()> {
        self.write(MANIFEST, &serde_json::to_string_pretty(manifest)?)
    }

    /// The manifest.
    ///
    /// # Errors
    /// There is none, or it is another version's.
    pub fn manifest(&self) -> Result<Manifest> {
        let manifest: Manifest = serde_json::from_str(&self.read(MANIFEST)?).context(MANIFEST)?;
        anyhow::ensure!(
            manifest.version == VERSION,
            "the bundle is of version {}, this program reads {VERSION}: build it again",
            manifest.version
        );
        Ok(manifest)
    }

    /// A kernel's PTX.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn ptx(&self, kernel: &Kernel) -> Result<String> {
        self.read(&kernel.file())
    }

    /// A launch.
    ///
    /// # Errors
    /// The file cannot be read, or holds something else.
    pub fn case(&self, name: &str) -> Result<Case> {
        serde_json::from_str(&self.read(&format!("{name}.json"))?).context(name.to_owned())
    }

    fn write(&self, file: &str, text: &str) -> Result<()> {
        let path = self.folder.join(file);
        std::fs::write(&path, text).with_context(|| path.display().to_string())
    }

    fn read(&self, file: &str) -> Result<String> {
        let path = self.folder.join(file);
        std::fs::read_to_string(&path).with_context(|| path.display().to_string())
    }
}
