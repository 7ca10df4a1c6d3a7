//! Values of flags that several commands take, and how they are read.

use clap::ValueEnum;
use splitbar::{Target, UnknownTarget};
use std::time::Duration;

/// The form of diagnostics and findings.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
    /// SARIF 2.1.0, one document
    Sarif,
    /// Workflow commands of GitHub
    Github,
}

/// The form of results that are no diagnostics.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

impl From<DataFormat> for Format {
    fn from(format: DataFormat) -> Format {
        match format {
            DataFormat::Text => Format::Text,
            DataFormat::Json => Format::Json,
        }
    }
}

/// Reads the name of a target, or of a product with its GPU.
///
/// # Errors
/// The candidates, and the command that lists all targets.
pub(crate) fn parse_target(name: &str) -> Result<&'static Target, String> {
    Target::named(name).map_err(|unknown| match unknown {
        UnknownTarget::Variant(why) => why,
        unknown => format!("{unknown} (`splitbar targets` lists them)"),
    })
}

pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| !time.is_zero())
        .ok_or_else(|| format!("{text:?} is not a number of seconds above 0"))
}
