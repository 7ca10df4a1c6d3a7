//! What is refused before any body is lowered: execution models, execution modes, capabilities.
//!
//! Most capabilities only allow instructions, types, storage classes and built-ins, and these are reported where they stand. Refused here are the ones
//! whose effect cannot be seen at such a place, and numbers that nobody knows.

use crate::Lowering;
use spirv::{Capability, ExecutionMode};
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::{Declarations, EntryPoint, Id};

/// Capabilities that change what a module means as a whole.
const REFUSED: &[Capability] = &[
    Capability::VectorComputeINTEL,
    Capability::FunctionPointersINTEL,
    Capability::VariableLengthArrayINTEL,
];

/// Capabilities that the grammar in use does not name, whose instructions are reported where they stand.
const NAMELESS: std::ops::RangeInclusive<u32> = 6912..=6919;

/// What an execution mode means for the lowering.
enum Mode {
    /// Honoured, or a hint.
    Fine,
    /// The number of the mode's first operand must be the wave size.
    SubgroupSize,
    /// Not lowered.
    Refused,
}

fn mode(mode: ExecutionMode) -> Mode {
    use ExecutionMode as M;
    match mode {
        M::LocalSize
        | M::LocalSizeId
        | M::LocalSizeHint
        | M::LocalSizeHintId
        | M::VecTypeHint
        | M::MaxWorkgroupSizeINTEL => Mode::Fine,
        // Contraction and default fast-math flags are read by the emitter.
        M::ContractionOff | M::FPFastMathDefault => Mode::Fine,
        // What both back ends do anyway.
        M::DenormPreserve
        | M::SignedZeroInfNanPreserve
        | M::RoundingModeRTE
        | M::FloatingPointModeIEEEINTEL => Mode::Fine,
        // Promises about control flow, which the lowering does not use, and about quads, whose instructions are reported.
        M::SubgroupUniformControlFlowKHR
        | M::MaximallyReconvergesKHR
        | M::DerivativeGroupQuadsKHR
        | M::DerivativeGroupLinearKHR
        | M::QuadDerivativesKHR => Mode::Fine,
        // Hints for other devices.
        M::NumSIMDWorkitemsINTEL
        | M::SchedulerTargetFmaxMhzINTEL
        | M::MaxWorkDimINTEL
        | M::NoGlobalOffsetINTEL
        | M::MaximumRegistersINTEL
        | M::NamedMaximumRegistersINTEL => Mode::Fine,
        M::SubgroupSize => Mode::SubgroupSize,
        _ => Mode::Refused,
    }
}

/// Checks everything that is lowered.
pub(crate) fn check(lowering: &Lowering<'_>, diagnostics: &mut Diagnostics) {
    let declarations = lowering.declarations;
    for (number, inst) in &declarations.capabilities {
        let name = Capability::from_u32(*number);
        if name.is_some_and(|c| !REFUSED.contains(&c)) || NAMELESS.contains(number) {
            continue;
        }
        let name = name.map_or_else(|| number.to_string(), |c| format!("{c:?}"));
        diagnostics.push(
            Diagnostic::error(
                Code::UnsupportedCapability,
                format!("the capability {name} is not lowered"),
            )
            .at_word(inst.offset),
        );
    }
    for plan in lowering.plans {
        if plan.workgroup_size.is_some_and(|size| size.contains(&0)) {
            let at = declarations
                .entry_points
                .iter()
                .find(|e| e.function == plan.function)
                .map_or(0, |e| e.inst.offset);
            diagnostics.push(
                Diagnostic::error(
                    Code::EmptyWorkgroup,
                    format!("the workgroup of `{}` has a dimension of 0", plan.entry),
                )
                .at_word(at)
                .help("give the specialization constants that its size depends on values: --workgroup-size X,Y,Z or --spec ID=VALUE"),
            );
        }
        for entry in declarations
            .entry_points
            .iter()
            .filter(|e| e.function == plan.function && e.name == plan.entry)
        {
            check_entry(entry, plan.wave_size, diagnostics);
        }
    }
}

fn check_entry(entry: &EntryPoint<'_>, wave_size: u32, diagnostics: &mut Diagnostics) {
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
            .help("lowered are GLCompute and Kernel"),
        );
    }
    for inst in &entry.modes {
        let Some(number) = inst.operands().get(1) else {
            continue;
        };
        let known = ExecutionMode::from_u32(*number);
        let verdict = known.map_or(Mode::Refused, mode);
        let refused = match verdict {
            Mode::Fine => false,
            Mode::SubgroupSize => inst.operands().get(2) != Some(&wave_size),
            Mode::Refused => true,
        };
        if refused {
            let name = known.map_or_else(|| number.to_string(), |m| format!("{m:?}"));
            let diagnostic = Diagnostic::error(
                Code::UnsupportedMode,
                format!(
                    "the execution mode {name} of `{}` is not lowered",
                    entry.name
                ),
            )
            .at_word(inst.offset);
            diagnostics.push(match verdict {
                Mode::SubgroupSize => diagnostic.because(format!(
                    "a subgroup is a wave, and waves have {wave_size} invocations here"
                )),
                Mode::Fine | Mode::Refused => diagnostic,
            });
        }
    }
}

/// Whether the entry point `function` forbids contraction of floating-point operations.
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
