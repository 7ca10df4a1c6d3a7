//! `splitbar check`: the rules of SPIR-V and of its client API, without any code.

use super::given;
use super::input::modules_of_folder;
use super::limits::LimitArgs;
use super::options::{OptionArgs, SpecArgs, Takes};
use super::report;
use super::stop::{Stop, worst};
use super::values::{Format, parse_target};
use super::warnings::WarningArgs;
use clap::{Arg, Args};
use splitbar::diagnostic::{Code, Diagnostic, Diagnostics, Kind, Severity};
use splitbar::{CheckOptions, Failure, OptionInfo, Target, check, exit};
use splitbar_passes::validate::LIMITS;
use std::collections::{BTreeMap, BTreeSet};
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
            "strategy" => arg.requires("targets"),
            _ => arg,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// SPIR-V modules; `-` is standard input; a folder means all .spv files in it, at any depth
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// GPUs whose limits the modules must not exceed, separated by commas
    ///
    /// Includes the memory that the lowering reserves for split barriers.
    #[arg(long, visible_alias = "target", value_name = "GPU,...", value_delimiter = ',', value_parser = parse_target)]
    targets: Vec<&'static Target>,
    #[command(flatten)]
    spec: SpecArgs,
    #[command(flatten)]
    options: OptionArgs<Check>,
    /// Sets a device limit, such as maxComputeSharedMemorySize=32768
    #[arg(long, value_name = "NAME=N", value_parser = parse_limit)]
    limit: Vec<(String, u64)>,
    /// Format of diagnostics
    ///
    /// On standard error; SARIF on standard output.
    #[arg(long, alias = "diagnostics", value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    warnings: WarningArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

impl CheckArgs {
    /// What limits the command, its input, and how problems are printed.
    pub(super) fn limited(&self) -> (&LimitArgs, &Path, Format) {
        let first = self.inputs.first();
        let input = first.map_or(Path::new("-"), PathBuf::as_path);
        (&self.limits, input, self.format)
    }
}

/// Checks the modules that `args` name and gives the exit code, the worst of all modules: 0 without
/// errors, 1 with; 2 when a module lacks what was asked for or cannot be read, 3 when this build
/// does not know something that it has.
pub(super) fn run(args: &CheckArgs) -> u8 {
    let files = match files(args) {
        Ok(files) => files,
        Err((input, text)) => return report::usage(&text, &input, args.format),
    };
    let codes = files.iter().map(|file| check_file(args, file));
    worst(codes)
}

/// The files, in the order of the arguments, those of a folder sorted; each once.
///
/// # Errors
/// An argument, and why it has no modules.
fn files(args: &CheckArgs) -> Result<Vec<PathBuf>, (PathBuf, String)> {
    let (mut files, mut seen) = (Vec::new(), BTreeSet::new());
    for input in &args.inputs {
        let found = if input.is_dir() {
            let modules = modules_of_folder(input).map_err(|text| (input.clone(), text))?;
            if modules.is_empty() {
                let text = format!("{}: there are no modules (.spv)", input.display());
                return Err((input.clone(), text));
            }
            modules.into_iter().map(|file| input.join(file)).collect()
        } else {
            vec![input.clone()]
        };
        files.extend(found.into_iter().filter(|file| seen.insert(file.clone())));
    }
    Ok(files)
}

/// Checks one module and gives the exit code.
fn check_file(args: &CheckArgs, input: &Path) -> u8 {
    let bytes = match given::module(input) {
        Ok(bytes) => bytes,
        Err(Stop::Usage(text)) => return report::usage(&text, input, args.format),
        Err(Stop::Problems(failure)) => {
            report::show(&failure.diagnostics, input, args.format);
            return failure.exit_code();
        }
    };
    let mut options = CheckOptions::default();
    if let Err(text) = args.options.set(&mut options) {
        return report::usage(&text, input, args.format);
    }
    let found = found(args, &options, &bytes);
    let found = found.into_iter().map(|(target, problems)| {
        let judged = args.warnings.judge(&problems).sorted();
        report::show_for(&judged, input, target, args.format);
        code(&judged)
    });
    worst(found)
}

/// The problems for all targets, and those of each of them; with one target all are of that one.
fn found(
    args: &CheckArgs,
    options: &CheckOptions,
    bytes: &[u8],
) -> Vec<(Option<&'static str>, Diagnostics)> {
    let of =
        |target| problems(args, options.clone(), target, bytes).unwrap_or_else(|misfits| misfits);
    if args.targets.len() < 2 {
        return vec![(None, of(args.targets.first().copied()))];
    }
    let each: Vec<(&'static str, Diagnostics)> = args
        .targets
        .iter()
        .map(|target| (target.name, of(Some(target))))
        .collect();
    let sets: Vec<BTreeSet<&Diagnostic>> = each
        .iter()
        .map(|(_, problems)| problems.iter().collect())
        .collect();
    let is_common = |problem: &&Diagnostic| sets.iter().all(|set| set.contains(problem));
    let mut all: Vec<(Option<&'static str>, Diagnostics)> = Vec::new();
    let first = each
        .iter()
        .take(1)
        .flat_map(|(_, problems)| problems.iter());
    all.push((None, first.filter(is_common).cloned().collect()));
    for (target, problems) in &each {
        let own = problems.iter().filter(|problem| !is_common(problem));
        all.push((Some(target), own.cloned().collect()));
    }
    all
}

/// The exit code for the problems of one module.
fn code(problems: &Diagnostics) -> u8 {
    if !problems.has_errors() {
        return exit::DONE;
    }
    match Failure::from(problems.clone()).exit_code() {
        code @ (exit::BUG | exit::USAGE) => code,
        exit::UNSUPPORTED if problems.iter().any(is_unknown_here) => exit::UNSUPPORTED,
        _ => exit::INVALID, // limits of the target are errors like any other here
    }
}

/// Returns true if a problem is that this build does not know something, whatever the target.
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
    target: Option<&'static Target>,
    bytes: &[u8],
) -> Result<Diagnostics, Diagnostics> {
    let mut limits = BTreeMap::new();
    for (name, value) in args.limit.iter().cloned() {
        let limit = limits.entry(name).or_insert(value);
        *limit = value.min(*limit);
    }
    options.spec = args.spec.resolve(bytes)?;
    options.limits = limits;
    options.target = target;
    Ok(check(bytes, &options))
}

/// `NAME=N`, as `--limit` takes it.
pub(super) fn parse_limit(text: &str) -> Result<(String, u64), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("{text:?} is not NAME=N"))?;
    if !LIMITS.contains(&name) {
        return Err(format!(
            "no rule uses the limit {name:?}; the limits are {}",
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
