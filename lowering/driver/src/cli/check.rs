//! `splitbar check`: the rules of SPIR-V and of its client API, without any code.

use super::input::read;
use super::{CheckArgs, report};
use splitbar::diagnostic::{Code, Diagnostic, Diagnostics, Kind, Severity};
use splitbar::{Failure, Options, Validation, exit, spec};
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
use splitbar_passes::validate::{
    Environment, LIMITS, MAX_COMPUTE_SHARED_MEMORY, Settings, validate,
};
use std::collections::BTreeMap;

/// Checks the module that `args` name and gives the exit code: 0 without errors, 1 with; 2 when the module lacks what was asked for, 3 when this build does not
/// know something that it has.
pub fn run(args: &CheckArgs) -> u8 {
    let bytes = match read(&args.input) {
        Ok(bytes) => bytes,
        Err(text) => return report::usage(&text, &args.input, args.diagnostics),
    };
    let failure = Failure::from(problems(args, &bytes).unwrap_or_else(|misfits| misfits));
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
    let spec = spec::resolve_for(bytes, &args.spec)?;
    let planned = args.target.map(|target| {
        let mut options = Options::new(target);
        options.spec = spec.clone();
        options.strategy = args.strategy.0;
        options.validation = Validation::Waived; // checked below, with the limits of the target
        splitbar::plan(bytes, &options, &mut ())
    });
    let mut problems = check(bytes, &spec, |declarations| {
        let mut settings = Settings::new(
            args.target_env
                .unwrap_or_else(|| Environment::of(declarations)),
        );
        settings.strict = args.strict;
        settings.assume_default_spec = args.assume_default_spec;
        settings.limits = limits(args);
        if let Some(Ok(planned)) = &planned {
            let reserved = planned.plans.iter().map(|plan| plan.reserved_shared_bytes);
            settings.reserved_shared_bytes = reserved.max().unwrap_or(0);
        }
        settings
    });
    let of_target = planned.map(|planned| {
        planned.map_or_else(|refused| refused.diagnostics, |planned| planned.warnings)
    });
    // Rules that are broken, and memory that is too large by rule 13562, the planner would say once more.
    let (broken, too_large) = (
        problems.has_errors(),
        has(&problems, Code::SharedMemoryLimit),
    );
    for problem in of_target.iter().flat_map(Diagnostics::iter) {
        let is_said = broken && problem.code.kind() == Kind::Invalid
            || too_large && problem.code == Code::TooMuchSharedMemory;
        if !is_said {
            problems.push(problem.clone());
        }
    }
    Ok(problems)
}

fn has(problems: &Diagnostics, code: Code) -> bool {
    problems.iter().any(|problem| problem.code == code)
}

/// The smallest of the limits that were given and of those that the target has, by name.
fn limits(args: &CheckArgs) -> BTreeMap<String, u64> {
    let mut limits = BTreeMap::new();
    let of_target = args.target.map(|target| {
        (
            MAX_COMPUTE_SHARED_MEMORY.to_owned(),
            u64::from(target.lds_bytes),
        )
    });
    for (name, value) in args.limit.iter().cloned().chain(of_target) {
        let limit = limits.entry(name).or_insert(value);
        *limit = value.min(*limit);
    }
    limits
}

/// Everything that is wrong with the module in `bytes`, located and sorted.
fn check(
    bytes: &[u8],
    spec: &SpecValues,
    settings: impl FnOnce(&Declarations<'_>) -> Settings,
) -> Diagnostics {
    let module = match Module::parse(bytes) {
        Ok(module) => module,
        Err(problems) => return problems.sorted(),
    };
    let mut problems = Diagnostics::new();
    let declarations = Declarations::of(&module, &mut problems);
    let constants = Constants::evaluate(&declarations, spec, &mut problems);
    if problems.has_errors() {
        // The rules count on declarations that are whole.
        declarations.locate_all(&mut problems);
    } else {
        validate(
            &declarations,
            &constants,
            &settings(&declarations),
            &mut problems,
        );
    }
    problems.sorted()
}

/// `NAME=N`, as `--limit` takes it.
pub fn parse_limit(text: &str) -> Result<(String, u64), String> {
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
        .map_err(|_| format!("{value:?} is no number of bytes"))?;
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

    #[test]
    fn what_is_no_module_is_reported() {
        assert!(
            check(b"x", &SpecValues::default(), |_| Settings::new(
                Environment::Universal
            ))
            .has_errors()
        );
    }
}
