//! What is refused before any body is lowered: execution models, and what the table of enumerants
//! refuses or does not have.

use spirv::{Capability, ExecutionMode};
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::enumerants::{self, Outcome};
use splitbar_passes::module::{Constants, Declarations, EntryPoint, Id, Inst};
use splitbar_plan::EntryPlan;
use splitbar_plan::backend::{LowerInput, LowerKernel};
use std::collections::BTreeSet;

/// Checks everything that is lowered.
pub(crate) fn check(lowering: &LowerInput<'_>, diagnostics: &mut Diagnostics) {
    let (declarations, constants) = (lowering.module.declarations(), lowering.module.constants());
    for (number, inst) in &declarations.capabilities {
        let Outcome::Refused(code) = enumerants::capability_number(*number) else {
            continue;
        };
        let name =
            Capability::from_u32(*number).map_or_else(|| number.to_string(), |c| format!("{c:?}"));
        diagnostics.push(
            Diagnostic::error(code, format!("the capability {name} is not lowered"))
                .at_word(inst.offset),
        );
    }
    let unique: BTreeSet<Id> = lowering
        .kernels
        .iter()
        .flat_map(|of| &of.kernel.reached.order)
        .copied()
        .collect();
    let reached: Vec<Id> = unique.into_iter().collect();
    enumerants::check(declarations, &reached, diagnostics);
    for LowerKernel { kernel, plan } in lowering.kernels {
        if plan.workgroup_size.is_some_and(|size| size.contains(&0)) {
            let at = kernel.entry.inst.offset;
            diagnostics.push(
                Diagnostic::error(
                    Code::EmptyWorkgroup,
                    format!("the workgroup of `{}` has a dimension of 0", plan.entry),
                )
                .at_word(at)
                .help("set the specialization constants of its size with `Options::workgroup_size` or `Options::spec`"),
            );
        }
        check_entry(kernel.entry, plan, constants, diagnostics);
    }
}

fn check_entry(
    entry: &EntryPoint<'_>,
    plan: &EntryPlan,
    constants: &Constants,
    diagnostics: &mut Diagnostics,
) {
    if !entry.is_compute() {
        let model = entry.model.map_or_else(
            || "of an unknown execution model".to_owned(),
            |m| format!("of execution model {m:?}"),
        );
        diagnostics.push(
            Diagnostic::error(
                Code::UnsupportedExecutionModel,
                format!("the entry point `{}` is {model}", entry.name),
            )
            .at_word(entry.inst.offset)
            .help("only GLCompute and Kernel are supported"),
        );
    }
    for inst in &entry.modes {
        let Some(number) = inst.operands().get(1) else {
            continue; // the reader refuses it
        };
        let known = ExecutionMode::from_u32(*number);
        let mut why = None;
        let code = match known.map(enumerants::execution_mode) {
            None => Code::UnsupportedMode,
            Some(Outcome::Refused(code)) => code,
            Some(Outcome::Honoured(_) | Outcome::NoEffect(_)) => {
                why = known.and_then(|mode| subgroups(mode, *inst, plan, constants));
                if why.is_none() {
                    continue;
                }
                Code::UnsupportedMode
            }
        };
        let name = known.map_or_else(|| number.to_string(), |m| format!("{m:?}"));
        let message = format!(
            "the execution mode {name} of `{}` is not lowered",
            entry.name
        );
        let problem = Diagnostic::error(code, message).at_word(inst.offset);
        diagnostics.push(match why {
            Some(why) => problem.because(why),
            None => problem,
        });
    }
}

/// Why the plan has other subgroups than the execution mode `inst` asks for.
fn subgroups(
    mode: ExecutionMode,
    inst: Inst<'_>,
    plan: &EntryPlan,
    constants: &Constants,
) -> Option<String> {
    let operand = inst.operands().get(2).copied();
    let (wave, size) = (plan.wave_size, plan.subgroup_size);
    let wanted = match mode {
        ExecutionMode::SubgroupSize => {
            return (operand != Some(size)).then(|| {
                format!("subgroups have {size} invocations and waves have {wave}; a subgroup must be a wave, or a power of two of its invocations")
            });
        }
        ExecutionMode::SubgroupsPerWorkgroup => operand,
        ExecutionMode::SubgroupsPerWorkgroupId => constants.as_u32(Id(operand?)),
        _ => return None,
    };
    // Else the launch has to choose a size that has so many.
    let workgroup = plan.workgroup_size?;
    let invocations = workgroup.iter().map(|n| u64::from(*n)).product::<u64>();
    let found = invocations.div_ceil(u64::from(size.max(1)));
    (wanted.map(u64::from) != Some(found))
        .then(|| format!("its workgroup has {found} subgroups of {size}"))
}

/// Returns true if the entry point `function` forbids contraction of floating-point operations.
pub(crate) fn contraction_off(declarations: &Declarations<'_>, function: Id) -> bool {
    let modes = declarations
        .entry_points
        .iter()
        .filter(|entry| entry.function == function)
        .flat_map(|entry| &entry.modes);
    modes
        .into_iter()
        .any(|inst| inst.operands().get(1) == Some(&(ExecutionMode::ContractionOff as u32)))
}
