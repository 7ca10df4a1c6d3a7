//! `splitbar check`: the rules of SPIR-V and of its client API, without any code.

use super::input::read;
use super::limits::LimitArgs;
use super::report;
use super::strategy::{Choice, strategies};
use super::values::{Format, parse_environment, parse_setting, parse_target};
use super::warnings::WarningArgs;
use clap::Args;
use splitbar::diagnostic::{Code, Diagnostic, Diagnostics, Kind, Severity};
use splitbar::spec::Setting;
use splitbar::{CheckOptions, Failure, Target, check, exit, spec};
use splitbar_passes::validate::{Environment, LIMITS};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The SPIR-V module; `-` is the standard input
    input: PathBuf,
    /// Whose rules: universal, vulkan1.0 to 1.4, opencl1.2 to 3.0
    ///
    /// Without it, by the module's capabilities.
    #[arg(long, value_name = "ENV", value_parser = parse_environment)]
    target_env: Option<Environment>,
    /// A GPU whose limits the module must keep
    ///
    /// With what its lowering reserves for split barriers.
    #[arg(long, value_parser = parse_target)]
    target: Option<&'static Target>,
    /// How the lowering for --target takes split barriers
    #[arg(long, default_value = "auto", value_parser = strategies(), requires = "target")]
    strategy: Choice,
    /// A specialization constant: decimal, 0x bits, a float, true, false
    #[arg(long, value_name = "ID=VALUE", value_parser = parse_setting, allow_hyphen_values = true)]
    spec: Vec<Setting>,
    /// Takes specialization constants without --spec at their defaults
    ///
    /// As `lower` does; else a branch on one is undecided.
    #[arg(long)]
    assume_default_spec: bool,
    /// Reports what can be neither proved nor refuted as an error
    #[arg(long)]
    strict: bool,
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
    let found = problems(args, &bytes).unwrap_or_else(|misfits| misfits);
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
fn problems(args: &CheckArgs, bytes: &[u8]) -> Result<Diagnostics, Diagnostics> {
    let mut limits = BTreeMap::new();
    for (name, value) in args.limit.iter().cloned() {
        let limit = limits.entry(name).or_insert(value);
        *limit = value.min(*limit);
    }
    let mut options = CheckOptions::default();
    options.spec = spec::resolve_for(bytes, &args.spec)?;
    options.environment = args.target_env;
    options.strict = args.strict;
    options.assume_default_spec = args.assume_default_spec;
    options.limits = limits;
    options.target = args.target;
    options.strategy = args.strategy.0;
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
