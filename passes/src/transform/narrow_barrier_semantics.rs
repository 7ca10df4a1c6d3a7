//! Takes classes of memory out of the semantics of the workgroup's barriers that order nothing of
//! them: no two invocations can conflict there around the barrier
//! ([`crate::analysis::phases::Narrowed`]). Other compilers then wait for less, too.
//!
//! Buffers and images that are not decorated Aliased are taken for separate memory (SPIR-V 2.18.2);
//! with the value `aliased` any two may be the same.
//!
//! In entry functions; functions with barriers are inlined first.

use super::edit::Edit;
use super::inlined::{entries, inlined};
use super::operands::{self, CLASSES};
use super::registry::PassOptions;
use super::rewrite::RewrittenModule;
use crate::analysis::cfg::Cfg;
use crate::analysis::pairing::{Pairing, SiteKind};
use crate::analysis::phases::{Aliasing, Narrowed};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Constants, Declarations, Module, Semantics, SpecValues};
use spirv::Capability;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    if !module
        .instructions()
        .any(|inst| SiteKind::from_inst(inst).is_some())
    {
        return Ok(None);
    }
    let aliasing = match options {
        PassOptions::Aliased => Aliasing::Possible,
        _ => Aliasing::Declared,
    };
    inlined(module, declarations, |declarations| {
        let mut diagnostics = Diagnostics::new();
        let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
        let mut edit = Edit::new(declarations);
        for (entry, function) in entries(declarations) {
            let pairing = Pairing::analyse(declarations, &constants, entry, &mut diagnostics);
            if diagnostics.has_errors() {
                return Err(diagnostics);
            }
            let cfg = Cfg::analyze(declarations.module, function);
            let narrowed =
                Narrowed::analyze(declarations, &constants, function, &cfg, &pairing, aliasing)?;
            write(&mut edit, &pairing, &narrowed)?;
        }
        edit.finish()
    })
}

/// Gives each barrier that was narrowed its new semantics.
fn write(
    edit: &mut Edit<'_, '_>,
    pairing: &Pairing,
    narrowed: &Narrowed,
) -> Result<(), Diagnostics> {
    // OpenCL gives each half an order, also without memory (cl_intel_split_work_group_barrier).
    let is_opencl = edit.declarations.has_capability(Capability::Kernel);
    for site in &pairing.sites {
        let semantics = narrowed.semantics(site);
        if semantics == site.semantics {
            continue;
        }
        let inst = edit.module().at(site.offset);
        let known = inst.and_then(|inst| {
            let fence = operands::fence(edit.declarations, inst)?;
            Some((
                inst.op()?,
                operands::execution(edit.declarations, inst)?,
                fence,
            ))
        });
        let Some((op, execution, fence)) = known else {
            let lost = Diagnostic::bug("a barrier that was narrowed has no constant operands");
            return Err(lost.at_word(site.offset).into());
        };
        let is_half = matches!(site.kind, SiteKind::Arrive | SiteKind::Wait);
        let bits = if semantics == Semantics::NONE && !(is_half && is_opencl) {
            0
        } else {
            fence.bits & !CLASSES | semantics.classes.bits()
        };
        let fence = operands::Fence { bits, ..fence };
        let words = operands::barrier_operands(edit, execution, fence)?;
        edit.replace(site.offset, op, &words)?;
    }
    Ok(())
}
