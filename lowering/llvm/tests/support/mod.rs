//! What these tests share: each has a process of its own.

use splitbar_llvm::{Lines, Lowering, Optimization, lower};
use splitbar_passes::analysis::program::Program;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
use splitbar_passes::validate::{Checked, Inlined, Validation};
use splitbar_plan::faults::Guards;
use splitbar_plan::{PlanOptions, Target, plan};
use splitbar_typed::abi::AbiForm;
use splitbar_typed::{Kernel, Wanted};

/// The assembly of the kernel of a module.
pub(crate) fn lowered(bytes: &[u8], target: &'static Target) -> String {
    let module = Module::parse(bytes).unwrap();
    let mut diagnostics = Diagnostics::new();
    let declarations = Declarations::of(&module, &mut diagnostics);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut diagnostics);
    let entry = &declarations.entry_points[0];
    let wanted = Wanted::default();
    let inlined = Inlined::of(&declarations).unwrap();
    let program = Program::new(&declarations, &constants);
    let kernel = Kernel::of(&program, entry, target, wanted, &mut diagnostics).unwrap();
    let kernels = [kernel];
    let plans = [plan(&kernels[0], PlanOptions::default(), &mut diagnostics)];
    let (module, _) = Checked::of(&inlined, &program, Validation::Waived).unwrap();
    let lowering = Lowering {
        module,
        origin: None,
        target,
        kernels: &kernels,
        plans: &plans,
        lines: Lines::None,
        optimization: Optimization::O2,
        abi: &AbiForm::Arguments,
        late_windows: None,
        ir: None,
        correctly_rounded: false,
        calls: false,
        guards: Guards::default(),
    };
    lower(&lowering).unwrap().assembly().unwrap()
}
