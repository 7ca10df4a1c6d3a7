//! Functions that these tests share.

use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, RelocMode, Target as LlvmTarget, TargetMachine, TargetTriple};
use splitbar_layout::abi::AbiForm;
use splitbar_layout::{Kernel, KernelOptions};
use splitbar_llvm::Llvm;
use splitbar_passes::analysis::program::Program;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
use splitbar_passes::validate::{Checked, Inlined, Validation};
use splitbar_plan::backend::{DebugLines, Lower, LowerInput, LowerKernel};
use splitbar_plan::faults::Guards;
use splitbar_plan::{Optimization, PlanOptions, Target, plan};

/// A machine for `target`, as a host makes one. The targets of LLVM must be initialised.
pub(crate) fn machine(target: &Target) -> TargetMachine {
    let triple = TargetTriple::create(target.triple());
    LlvmTarget::from_triple(&triple)
        .unwrap()
        .create_target_machine(
            &triple,
            target.cpu(),
            &target.features(),
            OptimizationLevel::Default,
            RelocMode::PIC,
            CodeModel::Default,
        )
        .unwrap()
}

/// The assembly of the kernel of a module.
pub(crate) fn lowered(bytes: &[u8], target: &'static Target) -> String {
    let module = Module::parse(bytes).unwrap();
    let mut diagnostics = Diagnostics::new();
    let declarations = Declarations::new(&module, &mut diagnostics);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut diagnostics);
    let entry = &declarations.entry_points[0];
    let wanted = KernelOptions::default();
    let inlined = Inlined::new(&declarations).unwrap();
    let program = Program::new(&declarations, &constants);
    let kernel = Kernel::analyze(&program, entry, target, wanted, &mut diagnostics).unwrap();
    let plan = plan(&kernel, PlanOptions::default(), &mut diagnostics);
    let kernels = [LowerKernel {
        kernel: &kernel,
        plan: &plan,
    }];
    let (module, _) = Checked::validate(&inlined, &program, Validation::Waived).unwrap();
    let input = LowerInput {
        module,
        source_map: None,
        target,
        kernels: &kernels,
        lines: DebugLines::None,
        optimization: Optimization::O2,
        abi: &AbiForm::Arguments,
        late_windows: None,
        correctly_rounded: false,
        calls: false,
        guards: Guards::default(),
    };
    Llvm.lower(&input).unwrap().assembly().unwrap()
}
