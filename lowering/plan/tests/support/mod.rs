//! Plans of fixture kernels.

use anyhow::{Context, Result, ensure};
use splitbar_layout::{Kernel, KernelOptions};
use splitbar_passes::analysis::program::Program;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
use splitbar_passes::transform::inline::inline_barrier_functions;
use splitbar_plan::{EntryPlan, PlanOptions, Target, plan};

/// Plans the first entry point of the fixture `name` for `target`, with the options that `options`
/// has for it, and hands the plan to `then` with the module that it is of.
///
/// # Errors
/// What `options` and `then` say; what is wrong with the fixture or does not work on the target.
pub(crate) fn with_plan<T>(
    name: &str,
    target: &str,
    options: impl FnOnce(&Kernel<'_>) -> Result<PlanOptions>,
    then: impl FnOnce(&Declarations<'_>, EntryPlan) -> Result<T>,
) -> Result<T> {
    let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/kernels");
    let path = format!("{kernels}/{name}/{name}.spv");
    let bytes = std::fs::read(&path).with_context(|| path.clone())?;
    let mut diagnostics = Diagnostics::new();
    let module = Module::parse(&bytes)?;
    let inlined = {
        let declarations = Declarations::new(&module, &mut diagnostics);
        inline_barrier_functions(&module, &declarations)?.map(|edited| edited.module)
    };
    let module = inlined.as_ref().unwrap_or(&module);
    let declarations = Declarations::new(module, &mut diagnostics);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut diagnostics);
    let program = Program::new(&declarations, &constants);
    let kernel = Kernel::analyze(
        &program,
        declarations
            .entry_points
            .first()
            .context("no entry point")?,
        Target::by_name(target).context("no such target")?,
        KernelOptions::default(),
        &mut diagnostics,
    )?;
    let plan = plan(&kernel, options(&kernel)?, &mut diagnostics);
    ensure!(!diagnostics.has_errors(), "{diagnostics}");
    then(&declarations, plan)
}
