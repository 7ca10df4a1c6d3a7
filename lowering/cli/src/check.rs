//! `splitbar check`: the rules of SPIR-V and of its client API, without any code.

use super::input::read;
use super::{CheckArgs, report};
use splitbar::diagnostic::{Code, Diagnostic, Diagnostics, Kind, Severity};
use splitbar::{CheckOptions, Failure, check, exit, spec};
use splitbar_passes::validate::LIMITS;
use std::collections::BTreeMap;

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
