//! `splitbar check`: the rules of SPIR-V and of its client API, without any code.

use super::input::read;
use super::limits::LimitArgs;
use super::options::{OptionArgs, SpecArgs, Takes};
use super::report;
use super::values::{Format, parse_target};
use super::warnings::WarningArgs;
use clap::{Arg, Args};
use splitbar::diagnostic::{Code, Diagnostic, Diagnostics, Kind, Severity};
use splitbar::{CheckOptions, Failure, OptionInfo, Target, check, exit};
use splitbar_passes::validate::LIMITS;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// `check` takes every option of a check.
#[derive(Clone, Debug)]
struct Check;

impl Takes for Check {
    type Options = CheckOptions;

    fn takes(_: &OptionInfo<CheckOptions>) -> bool {
        true
    }

    fn flag(arg: Arg) -> Arg {
        match arg.get_id().as_str() {
            "strategy" => arg.requires("target"),
            _ => arg,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The SPIR-V module; `-` is the standard input
    input: PathBuf,
    /// A GPU whose limits the module must keep
    ///
    /// With what its lowering reserves for split barriers.
    #[arg(long, value_parser = parse_target)]
    target: Option<&'static Target>,
    #[command(flatten)]
    spec: SpecArgs,
    #[command(flatten)]
    options: OptionArgs<Check>,
    /// A limit, such as maxComputeSharedMemorySize=32768
    #[arg(long, value_name = "NAME=N", value_parser = parse_limit)]
    limit: Vec<(String, u64)>,
    /// How problems are printed
    ///
    /// On the standard error.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    diagnostics: Format,
    #[command(flatten)]
    warnings: WarningArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

impl CheckArgs {
    /// What limits the command, its input, and how problems are printed.
    pub(super) fn limited(&self) -> (&LimitArgs, &Path, Format) {
        (&self.limits, &self.input, self.diagnostics)
    }
}

/// Checks the module that `args` name and gives the exit code: 0 without errors, 1 with; 2 when the
/// module lacks what was asked for, 3 when this build does not know something that it has.
pub(super) fn run(args: &CheckArgs) -> u8 {
    let bytes = match read(&args.input) {
        Ok(bytes) => bytes,
        Err(text) => return report::usage(&text, &args.input, args.diagnostics),
    };
    let mut options = CheckOptions::default();
    if let Err(text) = args.options.set(&mut options) {
        return report::usage(&text, &args.input, args.diagnostics);
    }
    let found = problems(args, options, &bytes).unwrap_or_else(|misfits| misfits);
    let failure = Failure::from(args.warnings.judge(&found));
    report::show(&failure.diagnostics, &args.input, args.diagnostics);
    if !failure.diagnostics.has_errors() {
        return exit::DONE;
    }
    match failure.exit_code() {
        code @ (exit::BUG | exit::USAGE) => code,
        exit::UNSUPPORTED if failure.diagnostics.iter().any(is_unknown_here) => exit::UNSUPPORTED,
        _ => exit::INVALID, // limits of the target are errors like any other here
    }
}

/// Whether a problem is that this build does not know something, whatever the target.
fn is_unknown_here(problem: &Diagnostic) -> bool {
    let of_target = [Code::UnsupportedStrategy, Code::UnsupportedOnTarget];
    problem.severity == Severity::Error
        && problem.code.kind() == Kind::Unsupported
        && !of_target.contains(&problem.code)
}

/// What the rules say, and the planner of the lowering when there is a target.
fn problems(
    args: &CheckArgs,
    mut options: CheckOptions,
    bytes: &[u8],
) -> Result<Diagnostics, Diagnostics> {
    let mut limits = BTreeMap::new();
    for (name, value) in args.limit.iter().cloned() {
        let limit = limits.entry(name).or_insert(value);
        *limit = value.min(*limit);
    }
    options.spec = args.spec.resolve(bytes)?;
    options.limits = limits;
    options.target = args.target;
    Ok(check(bytes, &options))
}

/// `NAME=N`, as `--limit` takes it.
pub(super) fn parse_limit(text: &str) -> Result<(String, u64), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("{text:?} is not NAME=N"))?;
    if !LIMITS.contains(&name) {
        return Err(format!(
            "no rule asks for the limit {name:?}; the limits are {}",
            LIMITS.join(", ")
        ));
    }
    let value = value
        .parse()
        .map_err(|_| format!("{value:?} is not a number of bytes"))?;
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_names_that_rules_ask_for() {
        assert_eq!(
            parse_limit("maxComputeSharedMemorySize=32768"),
            Ok(("maxComputeSharedMemorySize".to_owned(), 32768))
        );
        for wrong in [
            "maxComputeSharedMemorySize",
            "x=1",
            "maxComputeSharedMemorySize=x",
        ] {
            assert!(parse_limit(wrong).is_err(), "{wrong}");
        }
    }
}
