//! The result of passes on the module of a file, and the rules that are broken before and after.

use super::case::Case;
use super::printed::Printed;
use anyhow::{Result, anyhow, ensure};
use splitbar_passes::diagnostic::{Diagnostics, Kind, Severity};
use splitbar_passes::module::{Assembled, Constants, Declarations, Module, SpecValues, assemble};
use splitbar_passes::pipeline::{self, Settings};
use splitbar_passes::validate::{self, Environment, validate};
use std::collections::BTreeSet;

/// Line (0 where the place is not known), severity, code.
pub(crate) type Finding = (u32, Severity, String);

/// The outcome of a case.
pub(crate) struct Outcome {
    /// The text of the result; `None` where the passes refuse the module.
    pub(crate) printed: Option<Printed>,
    /// True if the passes changed the module.
    pub(crate) changed: bool,
    /// Diagnostics of the passes.
    pub(crate) findings: BTreeSet<Finding>,
    /// Codes of the rules that are broken before or after.
    pub(crate) broken: BTreeSet<String>,
}

/// Runs the passes of a case on the module that `text` is.
pub(crate) fn run(case: &Case, text: &str) -> Result<Outcome> {
    let problem = |problems: Diagnostics| anyhow!("{problems}");
    let assembled = assemble(text).map_err(problem)?;
    let module = assembled.module().map_err(problem)?;
    let mut broken = broken(&module)?;
    let settings = Settings::default().with_validation(true);
    match pipeline::run(module.clone(), &case.steps, settings, &mut |_, _| {}) {
        Err(problems) => Ok(Outcome {
            printed: None,
            changed: false,
            findings: findings(&assembled, &problems)?,
            broken,
        }),
        Ok(done) => {
            let changed = done.module.words() != module.words();
            ensure!(
                changed == done.ran.iter().any(|ran| ran.changed),
                "a pass says that it changed the module and did not, or the other way round"
            );
            // People get a file.
            let bytes = done.module.to_bytes();
            let module = Module::parse(&bytes).map_err(problem)?;
            broken.extend(self::broken(&module)?);
            Ok(Outcome {
                printed: Some(Printed::new(&module, &assembled)),
                changed,
                findings: findings(&assembled, &done.diagnostics)?,
                broken,
            })
        }
    }
}

/// The diagnostics, at the lines of the text. No file may expect a bug in a pass.
fn findings(assembled: &Assembled, problems: &Diagnostics) -> Result<BTreeSet<Finding>> {
    let place = |word| assembled.lines.get(&word).copied();
    let mut all = BTreeSet::new();
    for problem in problems.iter() {
        ensure!(problem.code.kind() != Kind::Internal, "{problems}");
        let line = problem.location.word.and_then(place).unwrap_or(0);
        all.insert((line, problem.severity, problem.code.to_string()));
    }
    Ok(all)
}

/// Codes of the rules that a module breaks.
fn broken(module: &Module<'_>) -> Result<BTreeSet<String>> {
    let mut found = Diagnostics::new();
    let declarations = Declarations::new(module, &mut found);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut found);
    let settings = validate::Settings::new(Environment::from_declarations(&declarations));
    validate(&declarations, &constants, &settings, &mut found);
    let errors = found.iter();
    let errors = errors.filter(|problem| problem.severity == Severity::Error);
    Ok(errors.map(|problem| problem.code.to_string()).collect())
}
