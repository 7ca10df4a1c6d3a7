//! What `lower` and `lower-ir` have in common: where code goes, and what is said on the way.

use super::emit::{Emit, EmitArg, EmitParser};
use super::limits::LimitArgs;
use super::values::Format;
use super::warnings::WarningArgs;
use clap::Args;
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
pub(super) struct CodeArgs {
    /// Selects an output and, optionally, its file; can be repeated
    ///
    /// The default is asm. Several outputs come from one compilation.
    #[arg(long, value_name = "KIND[=FILE]", value_parser = EmitParser)]
    pub(super) emit: Vec<EmitArg>,
    /// File for outputs without their own; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Format of diagnostics
    ///
    /// On standard error.
    #[arg(long, alias = "diagnostics", value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) warnings: WarningArgs,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
}

impl CodeArgs {
    /// Returns true if a reflection is written: who asks for all of it gets the windows measured.
    pub(super) fn reflects(&self) -> bool {
        self.emit.iter().any(|one| one.kind == Emit::Reflect)
    }
}
