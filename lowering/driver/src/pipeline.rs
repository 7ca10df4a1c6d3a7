//! The whole way from bytes to code, in order, with the reason for each step. The one file that calls the other crates' work.

use crate::asm;
use crate::failure::Failure;
use crate::measure::{self, Measured};
use crate::options::Options;
use crate::output::{Entry, Output, plan_text};
use crate::shape;
use crate::stage::{Artefact, Observer, Stage};
use splitbar_llvm::{Lines, Lowered, Lowering, Optimization};
use splitbar_passes::analysis::pairing::Pairing;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics, Location};
use splitbar_passes::module::{Constants, Declarations, EntryPoint, Module};
use splitbar_passes::transform::{Edited, Origin};
use splitbar_passes::validate::{Checked, Inlined};
use splitbar_plan::{Copies, EntryPlan, Request};
use splitbar_typed::scratch::shared_bytes;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tracing::info_span;

/// Compiles the SPIR-V module in `bytes`.
///
/// # Errors
/// Everything that is wrong with the module, that the target or this build cannot do, or that went wrong here.
pub fn compile(bytes: &[u8], options: &Options) -> Result<Output, Failure> {
    compile_observed(bytes, options, &mut ())
}

/// As [`compile`], with `observer` told of each stage and shown what it produced.
///
/// # Errors
/// As [`compile`].
pub fn compile_observed(
    bytes: &[u8],
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Output, Failure> {
    guarded(options, || {
        run(
            bytes,
            options,
            observer,
            |work, problems, pairings, plans, observer| {
                let changed = plans.clone();
                lower(work, problems, pairings, plans, &changed, observer)
            },
        )
    })
}

/// As [`compile`], with `change` made to the plans before they are lowered: for tests that ask what a missing step does. The audit goes by the plans
/// as they were.
///
/// # Errors
/// As [`compile`].
pub fn compile_changed(
    bytes: &[u8],
    options: &Options,
    change: impl FnOnce(&mut [EntryPlan]),
) -> Result<Output, Failure> {
    guarded(options, || {
        run(
            bytes,
            options,
            &mut (),
            |work, problems, pairings, plans, observer| {
                let mut changed = plans.clone();
                change(&mut changed);
                lower(work, problems, pairings, plans, &changed, observer)
            },
        )
    })
}

/// Translates the SPIR-V module in `bytes` to LLVM bitcode and goes no further: nothing is optimised, and barriers of NVPTX are calls still.
///
/// # Errors
/// As [`compile`], but for what code generation says.
pub fn translate(bytes: &[u8], options: &Options) -> Result<Vec<u8>, Failure> {
    guarded(options, || {
        run(
            bytes,
            options,
            &mut (),
            |work, mut problems, _, plans, _| {
                splitbar_llvm::translate(&work.lowering(&plans, Lines::None, Words::Planned))
                    .map_err(|refused| problems.and(refused))
            },
        )
    })
}

/// Plans the barriers of the SPIR-V module in `bytes` and goes no further: no code is generated, and what only the
/// lowering of bodies refuses is not looked at.
///
/// # Errors
/// As [`compile`].
pub fn plan(
    bytes: &[u8],
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Planned, Failure> {
    guarded(options, || {
        run(bytes, options, observer, |_, mut problems, _, plans, _| {
            Ok(Planned {
                plans,
                warnings: problems.take_all(),
            })
        })
    })
}

/// The plans of a module's entry points. Printed, they are what `--emit plan` shows.
#[derive(Clone, Debug)]
pub struct Planned {
    /// One per entry point, in the module's order.
    pub plans: Vec<EntryPlan>,
    /// What did not stop the planning but should be looked at.
    pub warnings: Diagnostics,
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plan_text(&self.plans, None))
    }
}

/// A panic anywhere below is a bug of ours, and the caller's process is not ours to end.
pub(crate) fn guarded<R>(
    options: &Options,
    work: impl FnOnce() -> Result<R, Failure>,
) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(bug(options, payload.as_ref()).into()))
}

/// Bytes to plans, and then whatever `then` makes of them ([`lower`], for one).
pub(crate) fn run<R>(
    bytes: &[u8],
    options: &Options,
    observer: &mut dyn Observer,
    then: impl FnOnce(
        &Work<'_>,
        Problems<'_>,
        &[Pairing],
        Vec<EntryPlan>,
        &mut dyn Observer,
    ) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // Read: instructions, then declarations, then the constants that these specialization values give; each needs the one before.
    let span = info_span!("read").entered();
    observer.begin(Stage::Read);
    show(observer, Artefact::Input, || bytes.to_vec());
    let module = Module::parse(bytes)?;
    let mut found = Diagnostics::new();
    let declarations = Declarations::of(&module, &mut found);
    let mut spec = options.spec.clone();
    if let Some(size) = options.workgroup_size {
        declarations.specialize_workgroup_size(size, &mut spec);
    }
    let constants = Constants::evaluate(&declarations, &spec, &mut found);
    // What follows relies on declarations and constants being whole.
    let mut problems = Problems::of(&declarations);
    problems.take(found)?;
    show(observer, Artefact::Disassembly, || {
        disassembly(&module, &declarations).into_bytes()
    });
    span.exit();

    // Validate: what follows takes checked modules only. The rules are asked of the module as it was given, since that is the one that people know.
    let span = info_span!("validate").entered();
    observer.begin(Stage::Validate);
    let (checked, warnings) = Checked::of(&declarations, &constants, options.validation)
        .map_err(|refused| problems.and(refused))?;
    problems.add(warnings);
    span.exit();

    // Inline: from here on every barrier stands in an entry point's own function, so one function's paths are all there is to know.
    let span = info_span!("inline").entered();
    observer.begin(Stage::Inline);
    let edited = checked.inlined().map_err(|refused| problems.and(refused))?;
    problems.edited = edited.as_ref().map(Inlined::edited);
    let mut found = Diagnostics::new();
    let inlined = edited.as_ref().map(|inlined| {
        let module = &inlined.edited().module;
        show(observer, Artefact::Inlined, || module.to_bytes());
        let declarations = Declarations::of(module, &mut found);
        let constants = Constants::evaluate(&declarations, &spec, &mut found);
        (inlined, declarations, constants)
    });
    problems.take(found)?;
    let checked = match &inlined {
        None => checked,
        Some((inlined, declarations, constants)) => {
            inlined.checked(declarations, constants).ok_or_else(|| {
                Diagnostic::error(
                    Code::Internal,
                    "the inlined module is not the one that was read",
                )
                .help(REPORT)
            })?
        }
    };
    let work = Work {
        checked,
        options,
        origin: edited.as_ref().map(|inlined| &inlined.edited().origin),
    };
    span.exit();

    // Plan: pair the barriers, then choose what each becomes. Planning needs the size of the workgroup and how much of its memory is taken.
    let span = info_span!("plan").entered();
    observer.begin(Stage::Plan);
    let mut found = Diagnostics::new();
    let (pairings, plans) = work.plan(&mut found);
    show(observer, Artefact::Plan, || {
        plan_text(&plans, None).into_bytes()
    });
    problems.take(found)?;
    span.exit();
    then(&work, problems, &pairings, plans, observer)
}

/// Plans to code: `changed` is what is lowered, `plans` what the code is judged by.
fn lower(
    work: &Work<'_>,
    mut problems: Problems<'_>,
    pairings: &[Pairing],
    plans: Vec<EntryPlan>,
    changed: &[EntryPlan],
    observer: &mut dyn Observer,
) -> Result<Output, Failure> {
    // Lower: bodies and steps to IR; the mid-level optimiser; barriers spelled out after it, so that it cannot close the windows.
    let span = info_span!("lower").entered();
    observer.begin(Stage::Lower);
    let options = work.options;
    if observer.wants_artefacts() {
        // The IR as it was written, from a run that optimises nothing: it must be there before the optimiser begins, which may not come back.
        let written = Lowering {
            optimization: Optimization::O0,
            ..work.lowering(changed, Lines::None, Words::Planned)
        };
        let written = splitbar_llvm::lower(&written).map_err(|refused| problems.and(refused))?;
        observer.produced(Artefact::UnoptimizedIr, written.unoptimized().as_bytes());
    }
    let measures = options.measure || options.audit;
    let lines = match (options.lines, measures) {
        (true, _) => Lines::All,
        (false, true) => Lines::Beside,
        (false, false) => Lines::None,
    };
    // People want the words of their own module, measurements those of the one that is planned.
    let words = if options.lines {
        Words::Original
    } else {
        Words::Planned
    };
    let lowered = splitbar_llvm::lower(&work.lowering(changed, lines, words))
        .map_err(|refused| problems.and(refused))?;
    show(observer, Artefact::Ir, || lowered.ir().into_bytes());
    span.exit();

    // Measure: debug lines tell where each machine instruction came from.
    let mut measured: Vec<Measured> = plans.iter().map(|_| Measured::default()).collect();
    if measures {
        let _span = info_span!("measure").entered();
        observer.begin(Stage::Measure);
        let mut found = Diagnostics::new();
        measured = work
            .measure(&lowered, pairings, (&plans, changed), observer, &mut found)
            .map_err(|refused| problems.and(refused))?;
        problems.take(found)?;
    }

    let kernels = lowered.kernels().iter().cloned();
    let entries = plans
        .into_iter()
        .zip(kernels)
        .zip(measured)
        .map(|((plan, abi), measured)| Entry {
            plan,
            abi,
            windows: measured.windows,
            machine_windows: measured.machine_windows,
            usage: measured.usage,
            audit: measured.audit,
        })
        .collect();
    Ok(Output {
        target: options.target,
        entries,
        lowered,
        ptxas: options.ptxas.clone(),
        lines: options.lines,
        warnings: problems.take_all(),
    })
}

/// What was found so far, located in the module that the user gave.
pub(crate) struct Problems<'p> {
    original: &'p Declarations<'p>,
    /// Once something was inlined, problems name instructions of that module; users know only their own.
    edited: Option<&'p Edited>,
    found: Diagnostics,
}

impl<'p> Problems<'p> {
    fn of(original: &'p Declarations<'p>) -> Self {
        Problems {
            original,
            edited: None,
            found: Diagnostics::new(),
        }
    }

    /// Adds problems, and stops here if one of them is an error.
    fn take(&mut self, found: Diagnostics) -> Result<(), Failure> {
        self.add(found);
        if self.found.has_errors() {
            Err(self.take_all().into())
        } else {
            Ok(())
        }
    }

    /// The failure that `refused` makes together with what was found before.
    pub(crate) fn and(&mut self, refused: Diagnostics) -> Failure {
        self.add(refused);
        self.take_all().into()
    }

    /// Everything that was found, sorted.
    pub(crate) fn take_all(&mut self) -> Diagnostics {
        std::mem::take(&mut self.found).sorted()
    }

    /// The word of the user's module that word `offset` of the one that is planned comes from.
    pub(crate) fn original_word(&self, offset: u32) -> Option<u32> {
        match self.edited {
            Some(edited) => edited.origin.of(offset),
            None => Some(offset),
        }
    }

    fn add(&mut self, mut found: Diagnostics) {
        for diagnostic in found.iter_mut() {
            if let (Some(_), Some(word)) = (self.edited, diagnostic.location.word) {
                // Whoever found it may have located it in the inlined module; all of that is told anew.
                *diagnostic.location = Location {
                    word: self.original_word(word),
                    ..Location::default()
                };
            }
        }
        self.original.locate_all(&mut found);
        self.found.extend(found);
    }
}

/// The module that is planned and lowered (the inlined one, if something was inlined), and how.
pub(crate) struct Work<'w> {
    pub(crate) checked: Checked<'w>,
    pub(crate) options: &'w Options,
    /// Where the module came from, if something was inlined.
    origin: Option<&'w Origin>,
}

/// Which words debug lines count.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Words {
    /// Those of the user's module.
    Original,
    /// Those of the module that is planned and lowered.
    Planned,
}

impl<'w> Work<'w> {
    /// Pairing and plan of each entry point that is compiled.
    fn plan(&self, diagnostics: &mut Diagnostics) -> (Vec<Pairing>, Vec<EntryPlan>) {
        let (mut pairings, mut plans) = (Vec::new(), Vec::new());
        for entry in self.entries(diagnostics) {
            let workgroup_size = self.workgroup_size(entry, diagnostics);
            let pairing = Pairing::analyse(
                self.checked.declarations(),
                self.checked.constants(),
                entry,
                diagnostics,
            );
            let copies = Copies::of(
                self.checked.declarations(),
                self.checked.constants(),
                entry,
                workgroup_size,
                self.options.promote_async_copies,
            );
            let request = Request {
                entry,
                pairing: &pairing,
                copies: copies.as_ref(),
                workgroup_size,
                shared_bytes: shared_bytes(
                    self.checked.declarations(),
                    self.checked.constants(),
                    self.options.target,
                    entry,
                ),
                target: self.options.target,
                options: self.options.plan(),
            };
            plans.push(splitbar_plan::plan(request, diagnostics));
            pairings.push(pairing);
        }
        (pairings, plans)
    }

    /// The entry points to compile: all, or those of the name that was asked for. A module may hold the other stages of a pipeline beside its kernels; they
    /// are left out with a note, and refused later where there is nothing else.
    fn entries(&self, diagnostics: &mut Diagnostics) -> Vec<&'w EntryPoint<'w>> {
        let all = &self.checked.declarations().entry_points;
        let mut chosen: Vec<_> = all
            .iter()
            .filter(|entry| {
                self.options
                    .entry
                    .as_ref()
                    .is_none_or(|name| *name == entry.name)
            })
            .collect();
        if all.is_empty() {
            diagnostics.push(
                Diagnostic::error(Code::NoEntryPoint, "the module has no entry point")
                    .help("link it with the module that has one, then lower the result"),
            );
        } else if let (Some(name), true) = (&self.options.entry, chosen.is_empty()) {
            let names: Vec<String> = all
                .iter()
                .map(|entry| format!("`{}`", entry.name))
                .collect();
            diagnostics.push(
                Diagnostic::error(
                    Code::UnknownEntryPoint,
                    format!("no entry point is called `{name}`"),
                )
                .help(format!("the module has {}", names.join(", "))),
            );
        }
        if chosen.iter().any(|entry| entry.is_compute()) {
            chosen.retain(|entry| {
                if !entry.is_compute() {
                    diagnostics.push(
                        Diagnostic::note(
                            Code::UnsupportedExecutionModel,
                            format!(
                                "the entry point `{}` is not a kernel; it is left out",
                                entry.name
                            ),
                        )
                        .at_word(entry.inst.offset),
                    );
                }
                entry.is_compute()
            });
        }
        chosen
    }

    /// The workgroup size: what the module says, else what the caller says.
    fn workgroup_size(
        &self,
        entry: &EntryPoint<'w>,
        diagnostics: &mut Diagnostics,
    ) -> Option<[u32; 3]> {
        let fixed = self
            .checked
            .declarations()
            .workgroup_size(entry, self.checked.constants());
        match (fixed, self.options.workgroup_size) {
            (Some(fixed), Some(asked)) if fixed != asked => {
                let by = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
                diagnostics.push(
                    Diagnostic::error(
                        Code::UnsupportedMode,
                        format!(
                            "entry point `{}` fixes its workgroup size at {}; it cannot be {}",
                            entry.name,
                            by(fixed),
                            by(asked)
                        ),
                    )
                    .at_word(entry.inst.offset)
                    .help("leave the size out"),
                );
                Some(fixed)
            }
            (fixed, asked) => fixed.or(asked),
        }
    }

    /// What LLVM is asked for.
    fn lowering<'a>(&'a self, plans: &'a [EntryPlan], lines: Lines, words: Words) -> Lowering<'a> {
        Lowering {
            module: self.checked,
            target: self.options.target,
            plans,
            lines,
            origin: self.origin.filter(|_| words == Words::Original),
            optimization: self.options.optimization,
        }
    }

    /// What the final assembly of every entry point says of windows and waits. `lowered` is the
    /// code of the plans `changed`, which is judged by the plans as they were.
    fn measure(
        &self,
        lowered: &Lowered,
        pairings: &[Pairing],
        (plans, changed): (&[EntryPlan], &[EntryPlan]),
        observer: &mut dyn Observer,
        diagnostics: &mut Diagnostics,
    ) -> Result<Vec<Measured>, Diagnostics> {
        let again;
        let lowered = if self.options.lines && self.origin.is_some() {
            // Its lines count the words of the user's module, which several copies of an
            // inlined instruction share.
            again = splitbar_llvm::lower(&self.lowering(changed, Lines::All, Words::Planned))?;
            &again
        } else {
            lowered
        };
        let assembly = lowered.lined_assembly()?;
        show(observer, Artefact::MeasuredAssembly, || {
            assembly.clone().into_bytes()
        });
        let functions = asm::parse(&assembly, &self.options.target.arch);
        let machine = measure::machine(&assembly, self.options, diagnostics);
        let kernels = pairings.iter().zip(plans).zip(lowered.kernels());
        kernels
            .map(|((pairing, plan), abi)| {
                let kernel = functions
                    .iter()
                    .find(|function| function.name == abi.symbol)
                    .ok_or_else(|| {
                        Diagnostic::error(
                            Code::Internal,
                            format!(
                                "the assembly has no function for entry point `{}`",
                                plan.entry
                            ),
                        )
                        .help(REPORT)
                    })?;
                let shape = self.options.audit.then(|| {
                    let function = plan.function;
                    shape::shape(
                        self.checked.declarations(),
                        self.checked.constants(),
                        function,
                        self.options,
                    )
                    .ok_or_else(|| {
                        let message = format!("entry point `{}` has no function", plan.entry);
                        Diagnostic::error(Code::Internal, message).help(REPORT)
                    })
                });
                let shape = shape.transpose()?;
                Ok(measure::kernel(
                    kernel,
                    &machine,
                    pairing,
                    plan,
                    shape.as_ref(),
                    self.options,
                    diagnostics,
                ))
            })
            .collect()
    }
}

fn show(observer: &mut dyn Observer, artefact: Artefact, bytes: impl FnOnce() -> Vec<u8>) {
    if observer.wants_artefacts() {
        observer.produced(artefact, &bytes());
    }
}

/// One instruction on a line, its word offset in front.
fn disassembly(module: &Module<'_>, declarations: &Declarations<'_>) -> String {
    module
        .instructions()
        .map(|inst| format!("{:>8}  {}\n", inst.offset, declarations.disassemble(inst)))
        .collect()
}

/// What to do about a bug of ours.
const REPORT: &str = concat!(
    "this is a bug in splitbar ",
    env!("CARGO_PKG_VERSION"),
    ": please report it with the module and the command line"
);

fn bug(options: &Options, payload: &(dyn std::any::Any + Send)) -> Diagnostic {
    let words = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it left no message");
    Diagnostic::error(
        Code::Internal,
        format!("a panic while compiling for {}", options.target.name),
    )
    .because(words)
    .help(REPORT)
}
