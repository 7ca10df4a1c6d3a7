//! The way in: a module and options to code, or to less than code.

use crate::compile::{Output, Request, Slots, candidate, compile, lowered_plans, translate};
use crate::expect::expect;
use crate::failure::Failure;
use crate::foreign_ir;
use crate::internal_error::{guarded, internal};
use crate::model::{Bounds, Explorations, explore};
use crate::options::{Choice, Options};
use crate::planned::Planned;
use crate::stage::Observer;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_plan::EntryPlan;
#[cfg(any(test, feature = "test-hooks"))]
use splitbar_plan::faults::Guard;
use splitbar_plan::faults::Guards;
use std::cell::RefCell;

/// A module to compile. Bytes alone are a SPIR-V module.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub enum Input<'i> {
    /// A SPIR-V module.
    SpirV(&'i [u8]),
    /// A module in LLVM IR, bitcode or text, whose kernels call split barriers (docs/llvm_ir.md).
    /// LLVM takes a module that its verifier accepts for one of a compiler. Where it gives up, a
    /// compilation returns `IrEndsLlvm`, and the thread that LLVM ran on stays. LLVM may also
    /// crash: if you do not trust the source, use a [`Worker`](crate::Worker) with
    /// [`Source::llvm_ir`](crate::Source::llvm_ir).
    LlvmIr(&'i [u8]),
}

impl<'i, B: AsRef<[u8]> + ?Sized> From<&'i B> for Input<'i> {
    fn from(bytes: &'i B) -> Input<'i> {
        Input::SpirV(bytes.as_ref())
    }
}

/// The form of barriers in LLVM IR that is not optimised.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BarrierForm {
    /// As the steps of their plan; on NVPTX these are calls that the expansion behind the optimiser
    /// replaces.
    Planned,
    /// As calls of functions that nothing defines, as [`Input::LlvmIr`] takes them: for tool chains
    /// that change the module before its barriers are planned. The strategy that the options ask
    /// for is one for then.
    Calls,
}

/// Changes plans before they are lowered.
type PlanChange<'c> = dyn FnMut(&mut [EntryPlan]) + 'c;

/// Compiles modules with the same options.
///
#[cfg_attr(feature = "llvm", doc = "```")]
#[cfg_attr(not(feature = "llvm"), doc = "```no_run")]
/// use splitbar::{Choice, Compiler, Input, Options, Strategy, Target};
///
/// let module = include_bytes!("../../../docs/examples/rounds.spv");
/// let mut options = Options::new(Target::by_name("sm_90").ok_or("no such target")?);
/// options.measure = true;
/// options.choice = Choice::AlwaysSplit;
/// let output = Compiler::new(&options).compile(module)?;
/// let entry = output.entries().first().ok_or("no entry point")?;
/// assert_eq!(entry.plan.pairs[0].strategy, Strategy::Mbarrier);
/// println!("{}\n{}", output.reflect(), output.assembly()?);
///
/// let module = include_bytes!("../../../docs/examples/rotate.ll");
/// let options = Options::new(Target::by_name("gfx1201").ok_or("no such target")?);
/// let assembly = Compiler::new(&options).compile(Input::LlvmIr(module))?.assembly()?;
/// let signal = assembly.find("s_barrier_signal -1").ok_or("no signal")?;
/// assert!(assembly[signal..].contains("s_barrier_wait -1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Compiler<'c> {
    options: &'c Options,
    observer: Option<&'c mut dyn Observer>,
    guards: Guards,
    change_plans: Option<&'c mut PlanChange<'c>>,
}

impl<'c> Compiler<'c> {
    /// Creates a compiler with `options`.
    pub fn new(options: &'c Options) -> Compiler<'c> {
        Compiler {
            options,
            observer: None,
            guards: Guards::default(),
            change_plans: None,
        }
    }

    /// Tells `observer` of each stage, and shows it what the stages produced.
    #[must_use]
    pub fn with_observer(mut self, observer: &'c mut dyn Observer) -> Compiler<'c> {
        self.observer = Some(observer);
        self
    }

    /// Makes `change` to the plans before they are lowered or explored: for tests that ask what a
    /// missing step does. The audit goes by the plans as they were.
    #[cfg(any(test, feature = "test-hooks"))]
    #[must_use]
    pub fn with_changed_plans(
        mut self,
        change: &'c mut dyn FnMut(&mut [EntryPlan]),
    ) -> Compiler<'c> {
        self.change_plans = Some(change);
        self
    }

    /// Leaves guards against faults of LLVM out: for tests of whether it still has them.
    #[cfg(any(test, feature = "test-hooks"))]
    #[must_use]
    pub fn without_guards(mut self, left_out: &[Guard]) -> Compiler<'c> {
        self.guards = Guards::without(left_out);
        self
    }

    /// Compiles a module. One in LLVM IR that calls no barriers comes out as it is.
    ///
    /// # Errors
    /// Everything that is wrong with the module, that the target or this build cannot do
    /// (`LlvmMissing` in one without the feature `llvm`), or that went wrong here. Of a module in
    /// LLVM IR, what LLVM cannot read (`UnreadableIr`), and what a call of a barrier asks and the
    /// module does not have.
    pub fn compile<'i>(&mut self, input: impl Into<Input<'i>>) -> Result<Output, Failure> {
        let input = input.into();
        let compile =
            |request: Request<'_>, observer: &mut dyn Observer| compile(request, expect, observer);
        match self.run(input, compile, |output| &mut output.warnings)? {
            Some(output) => Ok(output),
            None => self.unchanged(input),
        }
    }

    /// Plans the barriers of a module and goes no further: no code is generated, and what only the
    /// lowering of bodies refuses is not looked at.
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn plan<'i>(&mut self, input: impl Into<Input<'i>>) -> Result<Planned, Failure> {
        let plan = |request: Request<'_>, observer: &mut dyn Observer| {
            let slots = Slots::default();
            Ok(Planned::from(candidate(&slots, request, expect, observer)?))
        };
        let planned = self.run(input.into(), plan, |planned| &mut planned.warnings)?;
        Ok(planned.unwrap_or_default())
    }

    /// Explores the barriers of a module, as [`Compiler::compile`] would lower them, in every
    /// interleaving within `bounds`: one answer per entry point.
    ///
    /// Control flow around barriers is taken to be uniform: at a branch every wave goes the same
    /// way, and both ways are looked at. Where the rules on control flow cannot show that,
    /// [`Explored::left_out`](crate::Explored::left_out) has a
    /// [`LeftOut::Finding`](crate::LeftOut::Finding), also without validation.
    ///
    /// With [`Strategy::Cluster`](crate::Strategy::Cluster) all workgroups of [`Options::cluster`]
    /// are explored side by side; the arrives and waits are promised to be those of the whole
    /// cluster.
    ///
    /// # Errors
    /// As [`Compiler::plan`]; a `ModuleTooLarge` when the unrolled control flow is too large, or
    /// has no end within the bound, or when a cluster has more waves than can be explored.
    pub fn model<'i>(
        &mut self,
        input: impl Into<Input<'i>>,
        bounds: Bounds,
    ) -> Result<Explorations, Failure> {
        let model = |request: Request<'_>, observer: &mut dyn Observer| {
            let slots = Slots::default();
            explore(
                candidate(&slots, request, expect, observer)?,
                request,
                bounds,
            )
        };
        let explored = self.run(input.into(), model, |explored| &mut explored.warnings)?;
        Ok(explored.unwrap_or_default())
    }

    /// Translates a module to LLVM bitcode and goes no further: nothing is optimised.
    ///
    /// # Errors
    /// As [`Compiler::compile`], but for what code generation says.
    pub fn translate<'i>(
        &mut self,
        input: impl Into<Input<'i>>,
        barriers: BarrierForm,
    ) -> Result<Vec<u8>, Failure> {
        let calls = barriers == BarrierForm::Calls;
        let options = Options {
            strategy: self.options.strategy.filter(|_| !calls),
            cluster: self.options.cluster.filter(|_| !calls),
            ..self.options.clone()
        };
        let translate = |request: Request<'_>, observer: &mut dyn Observer| {
            let slots = Slots::default();
            let request = request.with(&options);
            let mut candidate = candidate(&slots, request, expect, observer)?;
            let plans = lowered_plans(&candidate, request);
            let bitcode = translate(&candidate, &plans, request, calls)
                .map_err(|refused| candidate.problems.and(refused))?;
            let warnings = candidate.problems.take_all();
            Ok(Translated { bitcode, warnings })
        };
        let input = input.into();
        let translated = self.run(input, translate, |translated| &mut translated.warnings)?;
        match translated {
            Some(translated) => Ok(translated.bitcode),
            None => Ok(self.unchanged(input)?.bitcode()),
        }
    }

    /// A module in LLVM IR without barriers, as it is.
    fn unchanged(&self, input: Input<'_>) -> Result<Output, Failure> {
        match input {
            Input::LlvmIr(bytes) => {
                guarded(self.options, || foreign_ir::unchanged(bytes, self.options))
            }
            Input::SpirV(_) => Err(internal("a compilation gave nothing").into()),
        }
    }

    /// Does `work` with the request for `input`, whose warnings are then said of the user's module;
    /// `None` for a module in LLVM IR without barriers.
    fn run<R>(
        &mut self,
        input: Input<'_>,
        work: impl FnOnce(Request<'_>, &mut dyn Observer) -> Result<R, Failure>,
        warnings: fn(&mut R) -> &mut Diagnostics,
    ) -> Result<Option<R>, Failure> {
        let (options, guards) = (self.options, self.guards);
        let mut nobody = ();
        let observer: &mut dyn Observer = match &mut self.observer {
            Some(observer) => *observer,
            None => &mut nobody,
        };
        let change_plans = RefCell::new(&mut self.change_plans);
        let change_plans = |plans: &mut [EntryPlan]| {
            if let Some(change) = change_plans.borrow_mut().as_mut() {
                change(plans);
            }
        };
        if options.choice == Choice::Measured && options.launch.is_none() {
            return Err(no_launch().into());
        }
        guarded(options, || match input {
            Input::SpirV(bytes) => {
                let request = Request::spirv(bytes, options);
                work(request.with_hooks(guards, &change_plans), observer).map(Some)
            }
            Input::LlvmIr(bytes) => {
                let Some(ir) = foreign_ir::read(bytes, options, observer)? else {
                    return Ok(None);
                };
                let request = Request::of_ir(&*ir, options);
                let done = work(request.with_hooks(guards, &change_plans), observer);
                let mut done = done.map_err(|failure| foreign_ir::failure_of(&*ir, failure))?;
                ir.relocate(warnings(&mut done));
                Ok(Some(done))
            }
        })
    }
}

/// The diagnostic for a choice that goes by a launch, without one.
fn no_launch() -> Diagnostic {
    Diagnostic::error(
        Code::UnsupportedStrategy,
        "`auto=measured` needs a launch, but none was described",
    )
    .help("set `Options::launch` (`--groups` and `--buffer` of lower and sim), or use `auto`")
}

/// Bitcode, and what should be looked at.
struct Translated {
    bitcode: Vec<u8>,
    warnings: Diagnostics,
}
