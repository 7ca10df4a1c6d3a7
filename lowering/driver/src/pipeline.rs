//! Plans to code, in order, with the reason for each step. What comes before is in prepare.rs.

use crate::asm;
use crate::choose;
use crate::failure::Failure;
use crate::llvm::{self, LateWindows, Lines, Lowered, Lowering};
use crate::measure::{self, Measured};
use crate::options::{Options, SplitBarriers};
use crate::output::{Entry, Output};
use crate::prepare::{Prepared, REPORT, Work, guarded, run, show};
use crate::shape;
use crate::stage::{Artefact, Observer, Stage};
use splitbar_passes::analysis::visible::first_effect;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_plan::faults::{Guard, Guards};
use splitbar_plan::{EntryPlan, Optimization};
use splitbar_typed::Kernel;
use tracing::info_span;

/// Compiles the SPIR-V module in `bytes`.
///
#[cfg_attr(feature = "llvm", doc = "```")]
#[cfg_attr(not(feature = "llvm"), doc = "```no_run")]
/// use splitbar::{Options, Strategy, Target};
///
/// let module = include_bytes!("../../../docs/examples/rounds.spv");
/// let mut options = Options::new(Target::by_name("sm_90").ok_or("no such target")?);
/// options.measure = true;
/// let output = splitbar::compile(module, &options)?;
/// let entry = output.entries().first().ok_or("no entry point")?;
/// assert_eq!(entry.plan.pairs[0].strategy, Strategy::Mbarrier);
/// println!("{}\n{}", output.reflect(), output.assembly()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the module, that the target or this build cannot do (`LlvmMissing`
/// in one without the feature `llvm`), or that went wrong here.
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
        let settled = choose::settle(bytes, options)?;
        let settled = settled.map(|settled| settled.reuse(options, observer.wants_artefacts()));
        let chosen = match settled {
            Some(Ok(output)) => return Ok(output),
            Some(Err(chosen)) => Some(chosen),
            None => None,
        };
        run(
            bytes,
            chosen.as_deref().unwrap_or(options),
            observer,
            |prepared, observer| {
                let changed = prepared.plans.clone();
                lower(prepared, &changed, observer)
            },
        )
    })
}

/// As [`compile`], with `change` made to the plans before they are lowered: for tests that ask what
/// a missing step does. The audit goes by the plans as they were.
///
/// # Errors
/// As [`compile`].
pub fn compile_changed(
    bytes: &[u8],
    options: &Options,
    change: impl FnOnce(&mut [EntryPlan]),
) -> Result<Output, Failure> {
    guarded(options, || {
        run(bytes, options, &mut (), |prepared, observer| {
            let mut changed = prepared.plans.clone();
            change(&mut changed);
            lower(prepared, &changed, observer)
        })
    })
}

/// As [`compile`], without the guards `left_out`: for tests of whether LLVM still has a fault.
///
/// # Errors
/// As [`compile`].
pub fn compile_unguarded(
    bytes: &[u8],
    options: &Options,
    left_out: &[Guard],
) -> Result<Output, Failure> {
    guarded(options, || {
        run(bytes, options, &mut (), |mut prepared, observer| {
            prepared.work.guards = Guards::without(left_out);
            let plans = prepared.plans.clone();
            lower(prepared, &plans, observer)
        })
    })
}

/// Translates the SPIR-V module in `bytes` to LLVM bitcode and goes no further: nothing is
/// optimised, and barriers of NVPTX are calls still.
///
/// # Errors
/// As [`compile`], but for what code generation says.
pub fn translate(bytes: &[u8], options: &Options) -> Result<Vec<u8>, Failure> {
    guarded(options, || {
        run(bytes, options, &mut (), |mut prepared, _| {
            let (work, kernels) = (&prepared.work, &prepared.kernels);
            let plans = &prepared.plans;
            llvm::translate(&work.lowering(kernels, plans, Lines::None, Words::Planned))
                .map_err(|refused| prepared.problems.and(refused))
        })
    })
}

/// As [`translate`], but barriers are calls of functions that nothing defines, as
/// [`compile_ir`](crate::compile_ir) takes them: for tool chains that change the module before its
/// barriers are planned. The strategy that the options ask for is one for then.
///
/// # Errors
/// As [`translate`].
pub fn translate_with_calls(bytes: &[u8], options: &Options) -> Result<Vec<u8>, Failure> {
    let options = Options {
        strategy: None,
        cluster: None,
        ..options.clone()
    };
    guarded(&options, || {
        run(bytes, &options, &mut (), |mut prepared, _| {
            let (kernels, plans) = (&prepared.kernels, &prepared.plans);
            let work = &prepared.work;
            let lowering = work.lowering(kernels, plans, Lines::None, Words::Planned);
            let lowering = Lowering {
                calls: true,
                ..lowering
            };
            llvm::translate(&lowering).map_err(|refused| prepared.problems.and(refused))
        })
    })
}

/// Plans to code: `changed` is what is lowered, `plans` what the code is judged by.
fn lower(
    prepared: Prepared<'_>,
    changed: &[EntryPlan],
    observer: &mut dyn Observer,
) -> Result<Output, Failure> {
    let Prepared {
        work,
        mut problems,
        kernels,
        plans,
        written,
        weighed,
        moves,
    } = prepared;
    // Lower: bodies and steps to IR; the mid-level optimiser; barriers spelled out after it, so
    // that it cannot close the windows.
    let span = info_span!("lower").entered();
    observer.begin(Stage::Lower);
    let options = work.options;
    if observer.wants_artefacts() {
        // The IR as it was written must be there before the optimiser begins, which may not come
        // back.
        let written =
            llvm::translate(&work.lowering(&kernels, changed, Lines::None, Words::Planned))
                .map_err(|refused| problems.and(refused))?;
        observer.produced(Artefact::UnoptimizedIr, llvm::text(&written).as_bytes());
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
    let mut lowered = llvm::lower(&work.lowering(&kernels, changed, lines, words))
        .map_err(|refused| problems.and(refused))?;
    show(observer, Artefact::Ir, || lowered.ir().into_bytes());
    span.exit();

    problems.take(work.lost_effects(&plans, &lowered))?;

    // Measure: debug lines tell where each machine instruction came from.
    let mut measured: Vec<Measured> = plans.iter().map(|_| Measured::default()).collect();
    if measures {
        let _span = info_span!("measure").entered();
        observer.begin(Stage::Measure);
        let mut look = |lowered: &Lowered| {
            let mut found = Diagnostics::new();
            let measured = work.measure(lowered, &kernels, (&plans, changed), observer, &mut found);
            measured.map(|measured| (measured, found))
        };
        let (seen, mut found) = look(&lowered).map_err(|refused| problems.and(refused))?;
        measured = seen;
        if found.has_errors() && lowered.has_late_windows() {
            let unmoved = lowered.without_late_windows();
            let (seen, left) = look(&unmoved).map_err(|refused| problems.and(refused))?;
            if !left.has_errors() {
                debug_assert!(false, "late windows break what the audit asks: {found}");
                (lowered, measured, found) = (unmoved, seen, left);
            }
        }
        problems.take(found)?;
    }

    let kernels = lowered.kernels().iter().cloned();
    let entries = plans
        .into_iter()
        .zip(kernels)
        .zip(measured)
        .zip(weighed.into_iter().zip(written).zip(moves))
        .map(
            |(((plan, abi), measured), ((weighed, written), moves))| Entry {
                plan,
                abi,
                weighed,
                written,
                moves,
                windows: measured.windows,
                machine_windows: measured.machine_windows,
                usage: measured.usage,
                resident: measured.resident,
                resident_between: measured.resident_between,
                audit: measured.audit,
            },
        )
        .collect();
    Ok(Output {
        is_ir: options.ir.is_some(),
        target: options.target,
        entries,
        lowered,
        ptxas: options.ptxas.clone(),
        lld: options.lld.clone(),
        lines: options.lines,
        warnings: problems.take_all(),
    })
}

/// Which words debug lines count.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Words {
    /// Those of the user's module.
    Original,
    /// Those of the module that is planned and lowered.
    Planned,
}

impl Work<'_> {
    /// What LLVM is asked for.
    fn lowering<'a>(
        &'a self,
        kernels: &'a [Kernel<'a>],
        plans: &'a [EntryPlan],
        lines: Lines,
        words: Words,
    ) -> Lowering<'a> {
        Lowering {
            module: self.checked,
            target: self.options.target,
            kernels,
            plans,
            lines,
            origin: self.origin.filter(|_| words == Words::Original),
            optimization: self.options.optimization,
            abi: &self.options.abi,
            late_windows: self.late_windows(),
            ir: self.options.ir.as_deref(),
            correctly_rounded: self.options.correctly_rounded_divide_sqrt,
            calls: false,
            guards: self.guards,
        }
    }

    /// Nothing moves where nobody optimises, and where windows are measured as LLVM leaves them.
    fn late_windows(&self) -> Option<LateWindows> {
        let options = self.options;
        let wanted = options.window_guards && options.optimization != Optimization::O0;
        wanted.then_some(LateWindows {
            full_barriers: options.split_barriers != SplitBarriers::Never,
            all_memory: options.barriers_order_all_memory,
        })
    }

    /// Warnings of entry points that others can see the effects of, as the module has it, and whose
    /// code has none.
    fn lost_effects(&self, plans: &[EntryPlan], lowered: &Lowered) -> Diagnostics {
        let checked = &self.checked;
        let mut found = Diagnostics::new();
        for (plan, abi) in plans.iter().zip(lowered.kernels()) {
            // A skeleton has only the barriers of the kernel in LLVM IR.
            if lowered.has_effects(&abi.symbol) || self.options.ir.is_some() {
                continue;
            }
            let (declarations, constants) = (checked.declarations(), checked.constants());
            if let Some(first) = first_effect(declarations, constants, plan.function) {
                let message = format!(
                    "nothing is left of what entry point `{}` writes",
                    plan.entry
                );
                found.push(
                    Diagnostic::warning(Code::NoEffectLeft, message)
                        .at_word(first)
                        .because("its final code writes no memory that outlives the workgroup")
                        .help("check that a write can be reached, and report a bug if one can"),
                );
            }
        }
        found
    }

    /// What the final assembly of every entry point says of windows and waits. `lowered` is the
    /// code of the plans `changed`, which is judged by the plans as they were.
    fn measure(
        &self,
        lowered: &Lowered,
        kernels: &[Kernel<'_>],
        (plans, changed): (&[EntryPlan], &[EntryPlan]),
        observer: &mut dyn Observer,
        diagnostics: &mut Diagnostics,
    ) -> Result<Vec<Measured>, Diagnostics> {
        let again;
        let lowered = if self.options.lines && self.origin.is_some() {
            // Its lines count the words of the user's module, which several copies of an
            // inlined instruction share.
            let planned =
                llvm::lower(&self.lowering(kernels, changed, Lines::All, Words::Planned))?;
            again = match lowered.has_late_windows() {
                true => planned,
                false => planned.without_late_windows(),
            };
            &again
        } else {
            lowered
        };
        let assembly = lowered.lined_assembly()?;
        show(observer, Artefact::MeasuredAssembly, || {
            assembly.clone().into_bytes()
        });
        let functions = asm::parse(&assembly, &self.options.target.arch).map_err(|error| {
            self.unreadable("the assembly cannot be read back".to_owned())
                .because(error.to_string())
        })?;
        let machine = measure::machine(&assembly, self.options, diagnostics);
        let kernels = kernels.iter().zip(plans).zip(lowered.kernels());
        kernels
            .map(|((kernel, plan), abi)| {
                let code = functions
                    .iter()
                    .find(|function| function.name == abi.symbol)
                    .ok_or_else(|| {
                        let entry = &plan.entry;
                        self.unreadable(format!(
                            "the assembly has no function for entry point `{entry}`"
                        ))
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
                    code,
                    &machine,
                    kernel.pairing,
                    (plan, abi.static_shared_bytes()),
                    shape.as_ref(),
                    self.options,
                    diagnostics,
                ))
            })
            .collect()
    }

    /// The diagnostic for assembly that is not as expected: a bug, unless others wrote the module
    /// for LLVM, which takes what they write for right.
    fn unreadable(&self, message: String) -> Diagnostic {
        match self.options.ir {
            Some(_) => Diagnostic::error(Code::UnreadableIrAssembly, message).help(
                "leave out what makes LLVM write such assembly, or lower barriers as full ones, \
                 which are not measured",
            ),
            None => Diagnostic::error(Code::Internal, message).help(REPORT),
        }
    }
}
