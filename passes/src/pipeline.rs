//! The pass manager: runs passes one after the other, and never hands on a module that cannot be
//! read. Nothing else runs a pass.

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Kind, Severity};
use crate::module::{Constants, Declarations, Module, SpecValues};
use crate::transform::registry::{Pass, PassOptions};
use crate::transform::{RewrittenModule, SourceMap, keeps_order};
use crate::validate::{self, Environment, validate};
use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// A pass with its options.
#[derive(Clone, Debug)]
pub struct Step {
    /// The pass.
    pub pass: &'static Pass,
    /// Its options.
    pub options: PassOptions,
}

impl FromStr for Step {
    type Err = String;

    /// Reads a pass as a flag without its dashes: `name` or `name=value`.
    ///
    /// # Errors
    /// There is no such pass, or its value is written in another way.
    fn from_str(text: &str) -> Result<Step, String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let pass = Pass::named(name).ok_or_else(|| format!("there is no pass {name:?}"))?;
        let options = pass.options(value)?;
        Ok(Step { pass, options })
    }
}

impl Step {
    /// A pass that is told nothing.
    pub const fn plain(pass: &'static Pass) -> Step {
        Step {
            pass,
            options: PassOptions::None,
        }
    }
}

/// The settings of a pipeline.
#[derive(Copy, Clone, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Look closely at the module after every pass: that it breaks no rule of [`crate::validate`]
    /// that it did not break before, that accesses which barriers kept apart are kept apart still,
    /// that "changed" is true, and that the pass finds nothing to do
    /// when it runs again.
    pub validate_after_all: bool,
    /// Passes that may change the module, counted from the first; those that come later are left
    /// out. `None`: all.
    pub fuel: Option<u64>,
}

impl Settings {
    /// The checks after every pass in debug builds, and no limit: for pipelines of compilations.
    pub const IN_COMPILATIONS: Settings = Settings {
        validate_after_all: cfg!(debug_assertions),
        fuel: None,
    };

    /// Sets `validate_after_all`.
    #[must_use]
    pub const fn with_validation(mut self, validate_after_all: bool) -> Settings {
        self.validate_after_all = validate_after_all;
        self
    }

    /// Sets `fuel`.
    #[must_use]
    pub const fn with_fuel(mut self, fuel: Option<u64>) -> Settings {
        self.fuel = fuel;
        self
    }
}

/// The result of one pass.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its name.
    pub name: &'static str,
    /// True if the module is another one now.
    pub changed: bool,
    /// True if it was left out because the fuel was used up.
    pub out_of_fuel: bool,
    /// The elapsed time, including declarations and checks.
    pub time: Duration,
}

/// The end of a pipeline.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The module.
    pub module: Module<'static>,
    /// The origins of its instructions; `None` if nothing has changed.
    pub source_map: Option<SourceMap>,
    /// The results of the passes, in order.
    pub ran: Vec<Ran>,
    /// Warnings and notes, at places of the first module.
    pub diagnostics: Diagnostics,
}

/// Runs `steps` on `module`. `observe` sees the module after every pass that changed it.
///
/// # Errors
/// What is wrong with the module or what a pass cannot do, at places of the first module;
/// `Internal` when a pass left a module that cannot be read. If the first module breaks rules, they
/// take the place of an `Internal`, but not with `validate_after_all`.
pub fn run(
    module: Module<'static>,
    steps: &[Step],
    settings: Settings,
    observe: &mut dyn FnMut(&Step, &Declarations<'_>),
) -> Result<Outcome, Diagnostics> {
    let given = (!settings.validate_after_all).then(|| module.clone());
    run_steps(module, steps, settings, observe).map_err(|problems| match &given {
        Some(given) => explained(problems, given),
        None => problems,
    })
}

/// The rules that the module `given` breaks, if a pass failed on it as it may only fail on an
/// invalid module; else `problems`.
fn explained(problems: Diagnostics, given: &Module<'_>) -> Diagnostics {
    let is_bug = |problem: &Diagnostic| {
        problem.severity == Severity::Error && problem.code.kind() == Kind::Internal
    };
    if !problems.iter().any(is_bug) {
        return problems;
    }
    let declarations = Declarations::new(given, &mut Diagnostics::new());
    let mut broken = errors(&declarations, Environment::for_lowering(&declarations));
    if broken.is_empty() {
        return problems;
    }
    declarations.locate_all(&mut broken);
    broken
}

fn run_steps(
    module: Module<'static>,
    steps: &[Step],
    settings: Settings,
    observe: &mut dyn FnMut(&Step, &Declarations<'_>),
) -> Result<Outcome, Diagnostics> {
    let rewritten = rewrite(&declared(&module, None)?, steps, settings, observe)?;
    let (changed, source_map) = match rewritten.edited {
        Some(RewrittenModule { module, source_map }) => (Some(module), Some(source_map)),
        None => (None, None),
    };
    Ok(Outcome {
        module: changed.unwrap_or(module),
        source_map,
        ran: rewritten.ran,
        diagnostics: rewritten.diagnostics,
    })
}

/// The result of [`rewrite`].
#[derive(Debug)]
pub struct Rewritten {
    /// The new module; `None` where no pass changed it.
    pub edited: Option<RewrittenModule>,
    /// The results of the passes, in order.
    pub ran: Vec<Ran>,
    /// Warnings and notes, at places of the first module.
    pub diagnostics: Diagnostics,
}

/// As [`run`], on a module whose declarations are read already, and have no errors. A module that
/// no pass changes is neither copied nor read again.
///
/// # Errors
/// As [`run`], without the rules that the first module breaks: callers check them.
pub fn rewrite(
    first: &Declarations<'_>,
    steps: &[Step],
    settings: Settings,
    observe: &mut dyn FnMut(&Step, &Declarations<'_>),
) -> Result<Rewritten, Diagnostics> {
    let mut work = Work {
        fuel: settings.fuel,
        source_map: None,
        ran: Vec::new(),
        diagnostics: Diagnostics::new(),
    };
    let mut steps = steps.iter();
    let mut before: Option<Module<'static>> = None;
    let mut last = work.until_changed(first, &mut steps)?;
    while let Some(Change { edited, step }) = &last {
        let next = {
            let started = Instant::now();
            // What is wrong with the module that the step left, at places of the first one.
            let of_first = |problems: Diagnostics| {
                let problems = map_to_source(problems, Some(&edited.source_map));
                map_to_source(problems, work.source_map.as_ref())
            };
            let declarations = declared(&edited.module, Some(step)).map_err(of_first)?;
            if settings.validate_after_all {
                let before = before.as_ref().unwrap_or(first.module);
                check(before, &declarations, &edited.source_map, step).map_err(of_first)?;
            }
            observe(step, &declarations);
            work.changed(&edited.source_map, started.elapsed());
            work.until_changed(&declarations, &mut steps)?
        };
        if next.is_none() {
            break;
        }
        before = std::mem::replace(&mut last, next).map(|change| change.edited.module);
    }
    let Work {
        source_map,
        ran,
        diagnostics,
        ..
    } = work;
    Ok(Rewritten {
        edited: last
            .zip(source_map)
            .map(|(change, source_map)| RewrittenModule {
                module: change.edited.module,
                source_map,
            }),
        ran,
        diagnostics,
    })
}

/// A module that a step changed.
struct Change<'s> {
    edited: RewrittenModule,
    step: &'s Step,
}

/// The results of passes, without the module.
struct Work {
    fuel: Option<u64>,
    /// Where the instructions of the module came from; `None` when nothing has changed.
    source_map: Option<SourceMap>,
    ran: Vec<Ran>,
    diagnostics: Diagnostics,
}

impl Work {
    /// Runs steps up to one that changes the module; `None` when none does.
    fn until_changed<'s>(
        &mut self,
        declarations: &Declarations<'_>,
        steps: &mut std::slice::Iter<'s, Step>,
    ) -> Result<Option<Change<'s>>, Diagnostics> {
        for step in steps {
            let started = Instant::now();
            let is_empty = self.fuel == Some(0);
            let mut found = Diagnostics::new();
            let edited = if is_empty {
                Ok(None)
            } else {
                let pass = step.pass;
                pass.run(declarations.module, declarations, &step.options, &mut found)
            };
            let source_map = self.source_map.as_ref();
            self.diagnostics.extend(map_to_source(found, source_map));
            let edited = edited.map_err(|problems| map_to_source(problems, source_map))?;
            self.ran.push(Ran {
                name: step.pass.name,
                changed: edited.is_some(),
                out_of_fuel: is_empty,
                time: started.elapsed(),
            });
            if let Some(edited) = edited {
                return Ok(Some(Change { edited, step }));
            }
        }
        Ok(None)
    }

    /// Notes that the last step changed the module, whose instructions came from those before by
    /// `source_map`, and that it took so long to look at it.
    fn changed(&mut self, source_map: &SourceMap, looked: Duration) {
        self.fuel = self.fuel.map(|left| left.saturating_sub(1));
        self.source_map = Some(match &self.source_map {
            Some(earlier) => source_map.through(earlier),
            None => source_map.clone(),
        });
        if let Some(ran) = self.ran.last_mut() {
            ran.time += looked;
        }
    }
}

/// Declarations without errors. After a pass an error is the pass's own.
fn declared<'m>(
    module: &'m Module<'m>,
    after: Option<&Step>,
) -> Result<Declarations<'m>, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let declarations = Declarations::new(module, &mut diagnostics);
    if !diagnostics.has_errors() {
        return Ok(declarations);
    }
    if let Some(step) = after {
        diagnostics.push(guilty(step, "left a module that cannot be read"));
    } else {
        declarations.locate_all(&mut diagnostics);
    }
    Err(diagnostics)
}

/// Looks closely at what `step` left, whose instructions come from those of `before` by
/// `source_map`.
fn check(
    before: &Module<'_>,
    declarations: &Declarations<'_>,
    source_map: &SourceMap,
    step: &Step,
) -> Result<(), Diagnostics> {
    if before.words() == declarations.module.words() {
        return Err(guilty(step, "says that it changed the module and did not").into());
    }
    let old = Declarations::new(before, &mut Diagnostics::new());
    // A pass that adds the module's first capability leaves the environment as it was.
    let environment = Environment::from_declarations(&old);
    let known = errors(&old, environment);
    let mut known: BTreeSet<Code> = known.iter().map(|problem| problem.code).collect();
    // Splitting a barrier, or joining its arrive and wait, changes the code of one fault.
    const OF_UNIFORMITY: [Code; 2] = [Code::NonUniformSplitBarrier, Code::NonUniformBarrier];
    if OF_UNIFORMITY.iter().any(|code| known.contains(code))
        || before
            .instructions()
            .any(|inst| inst.op() == Some(spirv::Op::ControlBarrier))
    {
        known.extend(OF_UNIFORMITY);
    }
    let mut found = errors(declarations, environment);
    if found.iter().any(|problem| !known.contains(&problem.code)) {
        found.push(guilty(step, "left a module that breaks rules"));
        return Err(found);
    }
    if step.pass.keeps_order
        && let Err(mut problems) = keeps_order(&old, declarations, source_map, &step.options)
    {
        problems.push(guilty(step, "left accesses without their order"));
        return Err(problems);
    }
    if step.options.name_places() {
        return Ok(());
    }
    let (again, mut ignored) = (step.pass, Diagnostics::new());
    match again.run(
        declarations.module,
        declarations,
        &step.options,
        &mut ignored,
    ) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err(guilty(step, "finds something to do when it runs again").into()),
        Err(mut problems) => {
            problems.push(guilty(step, "does not take the module that it left"));
            Err(problems)
        }
    }
}

/// What the rules of `environment` have against the module, warnings left out.
fn errors(declarations: &Declarations<'_>, environment: Environment) -> Diagnostics {
    let mut found = Diagnostics::new();
    let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut found);
    let settings = validate::Settings::new(environment);
    validate(declarations, &constants, &settings, &mut found);
    found.errors()
}

fn guilty(step: &Step, what: &str) -> Diagnostic {
    Diagnostic::error(
        Code::Internal,
        format!("the pass {} {what}", step.pass.name),
    )
    .help("report this with the module and the list of passes")
}

/// Problems at their places in the first module.
fn map_to_source(problems: Diagnostics, source_map: Option<&SourceMap>) -> Diagnostics {
    match source_map {
        Some(source_map) => problems.moved(|word| source_map.of(word)),
        None => problems,
    }
}
