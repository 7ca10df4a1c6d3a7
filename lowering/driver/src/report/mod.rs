//! A report on a module: whether to split the barriers of each kernel on each GPU, and everything
//! that the answer comes from, in one document.
//!
//! ```text
//! module, options of each GPU, launch --> versions --> estimates --> verdict --+
//!                                 +-----> code, timelines, findings -----------+--> Report --> JSON, text, page
//! ```
//!
//! [`Report`] is the data model. [`Report::json`], [`Report::text`] and [`Report::html`] write it
//! without looking at the module again. Same input, same bytes.

mod against;
mod code;
mod findings;
mod html;
mod kernel;
mod model;
mod room;
mod text;
mod time;
mod verdict;
mod versions;

pub use model::*;
pub use time::{GivenLaunch, Launch};

use crate::check::{CheckOptions, check};
use crate::failure::Failure;
use crate::llvm_missing::require_llvm;
use crate::options::Options;
use kernel::Compiled;
use room::Room;
use sha2::{Digest, Sha256};
use splitbar_passes::module::Module;
use std::fmt::Write;

/// A request for a report.
#[derive(Copy, Clone)]
pub struct Request<'r> {
    /// The name of the module.
    pub name: &'r str,
    /// The module.
    pub bytes: &'r [u8],
    /// The options for each GPU. Their strategies, splitting and pipelining are ignored: the report
    /// compares these.
    pub options: &'r [Options],
    /// The rules that the module is checked by.
    pub check: &'r CheckOptions,
    /// The launch.
    pub launch: Launch<'r>,
}

/// Reports on a module.
///
/// # Errors
/// As [`Compiler::compile`](crate::Compiler::compile), if the module cannot be compiled for any of
/// the GPUs; `LlvmMissing` in a build without the feature `llvm`.
pub fn report(request: Request<'_>) -> Result<Report, Failure> {
    require_llvm("a report, which compiles the module")?;
    let module = parse(request.bytes)?;
    let mut cut = Vec::new();
    let (source, spirv, places) = code::listing(&module, &mut cut);
    let is_plain = versions::has_plain_barriers(&module);
    let found = check(request.bytes, request.check);
    let mut results = Vec::new();
    let mut failed = Vec::new();
    let mut last = None;
    let room = Room::new(&module, request.options.len());
    for options in request.options {
        match Compiled::new(request.bytes, options, is_plain) {
            Ok(compiled) => results.extend(compiled.results(kernel::Known {
                launch: &request.launch,
                places: &places,
                checked: &found,
                has_source: !source.is_empty(),
                room,
                cut: &mut cut,
            })),
            Err(failure) => {
                failed.push(FailedTarget {
                    target: options.target.name,
                    findings: findings::diagnostics("compile", &failure.diagnostics, &places),
                });
                last = Some(failure);
            }
        }
    }
    if let (true, Some(failure)) = (results.is_empty(), last) {
        return Err(failure);
    }
    Ok(Report {
        schema_version: SCHEMA_VERSION,
        tool_version: env!("CARGO_PKG_VERSION"),
        module: ModuleFacts {
            name: code::plain(request.name),
            bytes: request.bytes.len(),
            sha256: digest(request.bytes),
        },
        launch: LaunchFacts {
            made_up: matches!(request.launch, Launch::MadeUp),
            words: code::plain(&request.launch.words()),
        },
        source,
        spirv,
        findings: findings::diagnostics("check", &found, &places),
        results,
        failed,
        cut,
        against: None,
    })
}

impl Report {
    /// The report as JSON (docs/schemas/report.json), on one line.
    pub fn json(&self) -> String {
        // Serialising plain structs has no way to fail: no maps, no foreign impls.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn parse(bytes: &[u8]) -> Result<Module<'_>, Failure> {
    Module::parse(bytes).map_err(Failure::from)
}

fn digest(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
