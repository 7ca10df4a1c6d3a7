//! LLVM IR with split barriers to code: the skeleton of its kernels goes the way of every SPIR-V
//! module, and what is said of the skeleton is said of the LLVM instructions behind it.

use crate::failure::Failure;
use crate::llvm::ir::IrModule;
use crate::model::{Bounds, Explored, model_changed};
use crate::options::{Options, SplitBarriers};
use crate::output::Output;
use crate::pipeline::{compile_changed, compile_observed};
use crate::prepare::{Planned, guarded, plan};
use crate::stage::{Observer, Stage};
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_plan::EntryPlan;
use std::sync::Arc;

/// Compiles the LLVM module in `bytes`, bitcode or text, whose kernels call split barriers
/// (docs/llvm_ir.md). A module that calls none comes out as it is.
///
#[cfg_attr(feature = "llvm", doc = "```")]
#[cfg_attr(not(feature = "llvm"), doc = "```no_run")]
/// use splitbar::{Options, Target};
///
/// let module = include_bytes!("../../../docs/examples/rotate.ll");
/// let options = Options::new(Target::by_name("gfx1201").ok_or("no such target")?);
/// let assembly = splitbar::compile_ir(module, &options)?.assembly()?;
/// let signal = assembly.find("s_barrier_signal -1").ok_or("no signal")?;
/// assert!(assembly[signal..].contains("s_barrier_wait -1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// LLVM takes a module that its verifier accepts for one of a compiler. Where it gives up, this
/// returns `IrEndsLlvm`, and the thread that LLVM ran on stays. LLVM may also crash: if you do not
/// trust the source, use a [`Worker`](crate::Worker) with [`Source::llvm_ir`](crate::Source::llvm_ir).
///
/// # Errors
/// What LLVM cannot read (`UnreadableIr`), what a call of a barrier asks and the module does not
/// have, and as [`compile`](crate::compile).
pub fn compile_ir(bytes: &[u8], options: &Options) -> Result<Output, Failure> {
    compile_ir_observed(bytes, options, &mut ())
}

/// As [`compile_ir`], with `observer` told of each stage and shown what it produced.
///
/// # Errors
/// As [`compile_ir`].
pub fn compile_ir_observed(
    bytes: &[u8],
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Output, Failure> {
    guarded(options, || {
        let Some((ir, options)) = read(bytes, options, observer)? else {
            return unchanged(bytes, options);
        };
        let made = compile_observed(ir.skeleton(), &options, observer);
        let mut output = made.map_err(|failure| said_of(&ir, failure))?;
        ir.relocate(&mut output.warnings);
        Ok(output)
    })
}

/// Plans the barriers of the LLVM module in `bytes` and goes no further.
///
/// # Errors
/// As [`compile_ir`].
pub fn plan_ir(
    bytes: &[u8],
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Planned, Failure> {
    guarded(options, || {
        let Some((ir, options)) = read(bytes, options, observer)? else {
            return Ok(Planned::nothing());
        };
        let made = plan(ir.skeleton(), &options, observer);
        let mut planned = made.map_err(|failure| said_of(&ir, failure))?;
        ir.relocate(&mut planned.warnings);
        Ok(planned)
    })
}

/// As [`compile_ir`], with `change` made to the plans before they are lowered, as
/// [`compile_changed`](crate::compile_changed).
///
/// # Errors
/// As [`compile_ir`].
pub fn compile_ir_changed(
    bytes: &[u8],
    options: &Options,
    change: impl FnOnce(&mut [EntryPlan]),
) -> Result<Output, Failure> {
    guarded(options, || {
        let Some((ir, options)) = read(bytes, options, &mut ())? else {
            return unchanged(bytes, options);
        };
        let made = compile_changed(ir.skeleton(), &options, change);
        made.map_err(|failure| said_of(&ir, failure))
    })
}

/// Explores the barriers of the LLVM module in `bytes`, as [`model`](crate::model()), with `change`
/// made to the plans before.
///
/// # Errors
/// As [`compile_ir`] and [`model`](crate::model()).
pub fn model_ir_changed(
    bytes: &[u8],
    options: &Options,
    bounds: Bounds,
    change: impl FnOnce(&mut [EntryPlan]),
) -> Result<(Vec<Explored>, Diagnostics), Failure> {
    guarded(options, || {
        let Some((ir, options)) = read(bytes, options, &mut ())? else {
            return Ok((Vec::new(), Diagnostics::new()));
        };
        let made = model_changed(ir.skeleton(), &options, bounds, change);
        made.map_err(|failure| said_of(&ir, failure))
    })
}

/// The module, and the options by which its skeleton is compiled; `None` where it has no barriers.
fn read(
    bytes: &[u8],
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Option<(Arc<IrModule>, Options)>, Failure> {
    observer.begin(Stage::Read);
    if options.split_barriers != SplitBarriers::Never {
        let refused = Diagnostic::error(
            Code::WrongUsage,
            "barriers of LLVM IR are split where it says so, and nowhere else",
        );
        return Err(refused.into());
    }
    let read = IrModule::read(bytes, options.target, options.workgroup_size)?;
    Ok(read.map(|ir| {
        let ir = Arc::new(ir);
        let options = Options {
            ir: Some(Arc::clone(&ir)),
            ..options.clone()
        };
        (ir, options)
    }))
}

/// The module as it is.
fn unchanged(bytes: &[u8], options: &Options) -> Result<Output, Failure> {
    let lowered = crate::llvm::ir::unchanged(bytes, options.target, options.optimization)
        .map_err(refused_all)?;
    Ok(Output {
        is_ir: true,
        target: options.target,
        entries: Vec::new(),
        lowered,
        ptxas: options.ptxas.clone(),
        lld: options.lld.clone(),
        lines: options.lines,
        warnings: Diagnostics::new(),
    })
}

fn said_of(ir: &IrModule, failure: Failure) -> Failure {
    let mut problems = refused_all(failure.diagnostics);
    ir.relocate(&mut problems);
    problems.into()
}

/// Turns a refusal by LLVM or another tool into `IrEndsLlvm`: it is no bug here, since others wrote
/// the module.
pub(crate) fn refused(problem: Diagnostic) -> Diagnostic {
    if !matches!(
        problem.code,
        Code::LlvmFailed | Code::Internal | Code::LinkerFailed | Code::AssemblerFailed
    ) {
        return problem;
    }
    let refused = Diagnostic::error(Code::IrEndsLlvm, problem.message);
    let refused = problem
        .reasons
        .into_iter()
        .fold(refused, Diagnostic::because);
    refused.help("leave out what the reason names, or compile the module for a target that has it")
}

/// As [`refused`], for all `problems` but our own bugs.
pub(crate) fn refused_all(problems: Diagnostics) -> Diagnostics {
    let mut all = Diagnostics::new();
    for problem in problems.iter().cloned() {
        all.push(match problem.code {
            Code::Internal => problem,
            _ => refused(problem),
        });
    }
    all
}
