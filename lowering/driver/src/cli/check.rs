//! `splitbar check`: the rules of SPIR-V and of its client API, without any code.

use super::input::read;
use super::{CheckArgs, report};
use splitbar::diagnostic::Diagnostics;
use splitbar::exit;
use splitbar_passes::diagnostic::Kind;
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
use splitbar_passes::validate::{
    Environment, LIMITS, MAX_COMPUTE_SHARED_MEMORY, Settings, validate,
};

/// Checks the module that `args` name and gives the exit code: 0 without errors, 1 with.
pub fn run(args: &CheckArgs) -> u8 {
    let bytes = match read(&args.input) {
        Ok(bytes) => bytes,
        Err(text) => {
            eprintln!("error: {text}");
            return exit::USAGE;
        }
    };
    let problems = check(&bytes, &SpecValues::default(), |declarations| {
        let mut settings = Settings::new(
            args.target_env
                .unwrap_or_else(|| Environment::of(declarations)),
        );
        settings.strict = args.strict;
        if let Some(target) = args.target {
            settings.limits.insert(
                MAX_COMPUTE_SHARED_MEMORY.to_owned(),
                u64::from(target.lds_bytes),
            );
        }
        settings.limits.extend(args.limit.iter().cloned());
        settings
    });
    report::show(&problems, &args.input, args.diagnostics);
    if problems
        .iter()
        .any(|problem| problem.code.kind() == Kind::Internal)
    {
        exit::BUG
    } else if problems.has_errors() {
        exit::INVALID
    } else {
        exit::DONE
    }
}

/// Everything that is wrong with the module in `bytes`, located and sorted.
pub fn check(
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
        for problem in problems.iter_mut() {
            declarations.locate(problem);
        }
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
