//! Split barriers on every target: calls that stand for them while a module is written, and the
//! plan for all of them once it is whole.

use crate::codegen;
use crate::emit::build::Build;
use crate::expand as bodies;
use crate::ffi::{self, Func};
use crate::ir::{self, IrModule};
use inkwell::basic_block::BasicBlock;
use inkwell::context::Context;
use inkwell::module::Module;
use splitbar_layout::abi::AbiForm;
use splitbar_layout::{Kernel, KernelOptions};
use splitbar_passes::analysis::program::Program;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Module as Skeleton, SpecValues};
use splitbar_passes::validate::{Checked, Inlined, Validation};
use splitbar_plan::Optimization;
use splitbar_plan::backend::{DebugLines, IrModule as _, LowerInput, LowerKernel};
use splitbar_plan::faults::Guards;
use splitbar_plan::{EntryPlan, PlanOptions, Target, plan};

/// Arrives at the end of `block`, which has no terminator yet, at the barrier of `scope`; what
/// `semantics` name is released. [`finish`] puts instructions in its place.
///
/// # Errors
/// `Internal` when the module has a function of another type under the name that this takes.
pub fn arrive<'c>(
    context: &'c Context,
    module: &Module<'c>,
    block: BasicBlock<'c>,
    scope: spirv::Scope,
    semantics: spirv::MemorySemantics,
) -> super::Result<()> {
    let name = "__spirv_ControlBarrierArriveINTEL";
    call(context, module, block, name, scope, semantics)
}

/// Waits, as [`arrive`] arrives; what `semantics` name is acquired.
///
/// # Errors
/// As [`arrive`].
pub fn wait<'c>(
    context: &'c Context,
    module: &Module<'c>,
    block: BasicBlock<'c>,
    scope: spirv::Scope,
    semantics: spirv::MemorySemantics,
) -> super::Result<()> {
    let name = "__spirv_ControlBarrierWaitINTEL";
    call(context, module, block, name, scope, semantics)
}

/// A call of the function that stands for a half.
fn call<'c>(
    context: &'c Context,
    module: &Module<'c>,
    block: BasicBlock<'c>,
    name: &str,
    scope: spirv::Scope,
    semantics: spirv::MemorySemantics,
) -> super::Result<()> {
    let module = ffi::module_ref(module);
    let build = Build::new(context, module);
    build.position(ffi::block_ref(block));
    let function = ffi::named_function(module, name).unwrap_or_else(|| {
        let word = build.int_type(32);
        let ty = ffi::void_type(context).function(&[word, word, word]);
        let function = Func::add(module, name, ty);
        function.attribute(context, "convergent");
        function.attribute(context, "nounwind");
        function
    });
    let scope = build.i32(scope as u32);
    let semantics = build.i32(semantics.bits());
    build.call(function, &[scope, scope, semantics])?;
    Ok(())
}

/// How [`finish`] works.
#[derive(Clone, Debug, Default)]
pub struct Finish {
    /// What is asked of the plans.
    pub plan: PlanOptions,
    /// The workgroup size of kernels that do not say it.
    pub workgroup_size: Option<[u32; 3]>,
    /// Leaves what makes a window a call of a function that no optimiser looks into: [`expand`]
    /// gives these their bodies. For modules that are still to be optimised, which may close the
    /// windows of NVIDIA GPUs else.
    pub late: bool,
}

/// Plans all split barriers of `module` together, those of [`arrive`] and [`wait`] and those under
/// the names of `docs/llvm_ir.md`, and writes the instructions of `target` in their place; gives
/// the plans, one per kernel with barriers. The workgroup's barriers are then the planner's:
/// [`Barriers::signal`](super::Barriers::signal) may not stand beside them.
///
/// The module must be trusted: LLVM takes one that its verifier accepts for one of a compiler, and
/// works on the caller's stack here. Whoever got it from elsewhere gives its bytes to a worker
/// process instead (`splitbar::Worker`, `splitbar lower-ir`).
///
/// ```
/// use inkwell::context::Context;
/// use spirv::{MemorySemantics as Semantics, Scope};
/// use splitbar_llvm::barriers::{self, Finish};
/// use splitbar_plan::Target;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// for (name, split) in [("gfx1201", "barrier.signal"), ("sm_80", "mbarrier"), ("gfx942", "fence")] {
///     let target = Target::by_name(name).ok_or("no such target")?;
///     let context = Context::create();
///     let module = context.create_module("kernels");
///     module.set_triple(&inkwell::targets::TargetTriple::create(target.triple()));
///     let kernel = module.add_function("k", context.void_type().fn_type(&[], false), None);
///     kernel.set_call_conventions(if target.nvptx().is_some() { 71 } else { 91 });
///     let block = context.append_basic_block(kernel, "entry");
///     let local = Semantics::WORKGROUP_MEMORY;
///     barriers::arrive(&context, &module, block, Scope::Workgroup, Semantics::RELEASE | local)?;
///     // ... what needs nothing of the others ...
///     barriers::wait(&context, &module, block, Scope::Workgroup, Semantics::ACQUIRE | local)?;
///     let builder = context.create_builder();
///     builder.position_at_end(block);
///     builder.build_return(None)?;
///
///     let options = Finish { workgroup_size: Some([256, 1, 1]), ..Finish::default() };
///     let plans = barriers::finish(&context, &module, target, &options)?;
///     println!("{}", plans[0].pairs[0].reason);
///     assert!(module.print_to_string().to_string().contains(split));
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// What [`IrModule::read`](crate::ir::IrModule::read) says of calls, what a module with such
/// barriers must not do, and what the plan says of the target; the module is only good for being
/// dropped then.
pub fn finish<'c>(
    context: &'c Context,
    module: &Module<'c>,
    target: &'static Target,
    options: &Finish,
) -> Result<Vec<EntryPlan>, Diagnostics> {
    let Some(ir) = IrModule::new(context, module, target, options.workgroup_size)? else {
        return Ok(Vec::new());
    };
    let plans = planned(context, module, &ir, target, options).map_err(|mut problems| {
        ir.relocate(&mut problems);
        problems
    })?;
    codegen::verify(module, "with its barriers planned")?;
    if !options.late {
        expand(context, module, target)?;
    }
    Ok(plans)
}

/// Plans the kernels of `ir`, and writes the steps of the plans into `module`, which it is of.
fn planned<'c>(
    context: &'c Context,
    module: &Module<'c>,
    ir: &IrModule,
    target: &'static Target,
    options: &Finish,
) -> Result<Vec<EntryPlan>, Diagnostics> {
    let mut found = Diagnostics::new();
    let skeleton = Skeleton::parse(ir.skeleton())?;
    let declarations = Declarations::new(&skeleton, &mut found);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut found);
    let inlined = Inlined::new(&declarations)?;
    let program = Program::new(&declarations, &constants);
    let (checked, _) = Checked::validate(&inlined, &program, Validation::Default)?;
    let wanted = KernelOptions {
        workgroup_size: options.workgroup_size,
        ..KernelOptions::default()
    };
    let (mut kernels, mut plans) = (Vec::new(), Vec::new());
    for entry in &declarations.entry_points {
        match Kernel::analyze(checked.program(), entry, target, wanted, &mut found) {
            Ok(kernel) => {
                plans.push(plan(&kernel, options.plan.clone(), &mut found));
                kernels.push(kernel);
            }
            Err(bug) => found.push(bug),
        }
    }
    if found.has_errors() {
        return Err(found.sorted());
    }
    let pairs = kernels.iter().zip(&plans);
    let pairs: Vec<LowerKernel<'_>> = pairs
        .map(|(kernel, plan)| LowerKernel { kernel, plan })
        .collect();
    let input = LowerInput {
        module: checked,
        target,
        kernels: &pairs,
        lines: DebugLines::None,
        source_map: None,
        optimization: Optimization::O2,
        abi: &AbiForm::Arguments,
        late_windows: None,
        correctly_rounded: false,
        calls: false,
        guards: Guards::default(),
    };
    ir::insert::insert(context, module, &input, ir, &mut found);
    if found.has_errors() {
        return Err(found.sorted());
    }
    Ok(plans)
}

/// Gives what [`finish`] has left as calls its bodies, and inlines them: after the optimiser, and
/// before code is generated.
///
/// # Errors
/// `Internal` when LLVM lacks what a body needs, `LlvmFailed` when it refuses one.
pub fn expand<'c>(
    context: &'c Context,
    module: &Module<'c>,
    target: &'static Target,
) -> Result<(), Diagnostics> {
    let machine = codegen::machine(target, Optimization::O2)?;
    bodies::expand(context, module, target, &machine)
}

/// As [`finish`], of the module in `bytes`, bitcode or text; gives its bitcode and the plans. LLVM
/// works on a stack of its own, but in this process: the bytes must be trusted as well.
///
/// # Errors
/// As [`finish`], and `UnreadableIr` for what LLVM cannot read or verify.
pub fn finish_bitcode(
    bytes: &[u8],
    target: &'static Target,
    options: &Finish,
) -> Result<(Vec<u8>, Vec<EntryPlan>), Diagnostics> {
    codegen::on_large_stack(|| {
        let context = Context::create();
        let module = ir::parse(&context, bytes)?;
        let plans = finish(&context, &module, target, options)?;
        Ok((module.write_bitcode_to_memory().as_slice().to_vec(), plans))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use inkwell::targets::{FileType, TargetTriple};
    use splitbar_passes::diagnostic::Code;
    use splitbar_plan::Strategy;

    /// A kernel of 256 invocations with a pair, for `target`.
    fn kernel<'c>(context: &'c Context, target: &Target) -> Module<'c> {
        let module = context.create_module("m");
        module.set_triple(&TargetTriple::create(target.triple()));
        let word = context.i32_type();
        let pointer = context.ptr_type(inkwell::AddressSpace::from(1u16));
        let ty = context
            .void_type()
            .fn_type(&[pointer.into(), word.into()], false);
        let kernel = module.add_function("k", ty, None);
        kernel.set_call_conventions(if target.nvptx().is_some() { 71 } else { 91 });
        let block = context.append_basic_block(kernel, "entry");
        let semantics = spirv::MemorySemantics::WORKGROUP_MEMORY;
        let scope = spirv::Scope::Workgroup;
        let release = spirv::MemorySemantics::RELEASE | semantics;
        arrive(context, &module, block, scope, release).unwrap();
        let builder = context.create_builder();
        builder.position_at_end(block);
        let value = kernel.get_nth_param(1).unwrap().into_int_value();
        let square = builder.build_int_mul(value, value, "square").unwrap();
        let acquire = spirv::MemorySemantics::ACQUIRE | semantics;
        wait(context, &module, block, scope, acquire).unwrap();
        builder.position_at_end(block);
        let to = kernel.get_nth_param(0).unwrap().into_pointer_value();
        builder.build_store(to, square).unwrap();
        builder.build_return(None).unwrap();
        module
    }

    fn options(strategy: Option<Strategy>) -> Finish {
        Finish {
            plan: PlanOptions {
                strategy,
                ..PlanOptions::default()
            },
            workgroup_size: Some([256, 1, 1]),
            late: false,
        }
    }

    #[test]
    fn every_target_gets_every_strategy_that_it_has() {
        let mut made = 0;
        for name in [
            "gfx906", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_60", "sm_75",
            "sm_80", "sm_90",
        ] {
            let target = Target::by_name(name).unwrap();
            let all = Strategy::all_of_target(target).into_iter().map(Some);
            for strategy in all.chain([None]) {
                let context = Context::create();
                let module = kernel(&context, target);
                let plans = match finish(&context, &module, target, &options(strategy)) {
                    Ok(plans) => plans,
                    Err(refused) => {
                        assert!(strategy.is_some(), "{name}: {refused}");
                        let unsupported = |one: &splitbar_passes::diagnostic::Diagnostic| {
                            one.code == Code::UnsupportedStrategy
                        };
                        assert!(refused.iter().any(unsupported), "{name}: {refused}");
                        continue;
                    }
                };
                assert_eq!(plans[0].pairs.len(), 1);
                if let Some(strategy) = strategy {
                    assert_eq!(plans[0].pairs[0].strategy, strategy, "{name}");
                }
                let text = module.print_to_string().to_string();
                assert!(
                    !text.contains("__spirv_") && !text.contains("@splitbar."),
                    "{text}"
                );
                let bitcode = module.write_bitcode_to_memory();
                let (level, file) = (Optimization::O2, FileType::Assembly);
                let code = codegen::generate(bitcode.as_slice(), target, level, file, false);
                let code = String::from_utf8(code.unwrap()).unwrap();
                assert!(
                    code.contains("barrier") || code.contains("bar."),
                    "{name}: {code}"
                );
                made += 1;
            }
        }
        assert!(made > 20, "{made}");
    }

    #[test]
    fn what_is_left_as_calls_is_expanded_later() {
        let target = Target::by_name("sm_90").unwrap();
        let late = Finish {
            late: true,
            ..options(Some(Strategy::Mbarrier))
        };
        let context = Context::create();
        let module = kernel(&context, target);
        finish(&context, &module, target, &late).unwrap();
        assert!(module.print_to_string().to_string().contains("@splitbar."));
        expand(&context, &module, target).unwrap();
        assert!(!module.print_to_string().to_string().contains("@splitbar."));

        let module = kernel(&context, target);
        let bytes = module.write_bitcode_to_memory();
        let (made, plans) = finish_bitcode(bytes.as_slice(), target, &options(None)).unwrap();
        assert_eq!(plans.len(), 1);
        assert!(crate::printed::text(&made).contains("mbarrier"));
    }

    #[test]
    fn a_module_without_pairs_has_no_plans_and_one_alone_is_refused() {
        let target = Target::by_name("gfx1201").unwrap();
        let context = Context::create();
        let module = context.create_module("m");
        module.set_triple(&TargetTriple::create(target.triple()));
        let nothing = finish(&context, &module, target, &options(None)).unwrap();
        assert!(nothing.is_empty());
        let module = kernel(&context, target);
        let foreign = Target::by_name("sm_90").unwrap();
        let refused = finish(&context, &module, foreign, &options(None)).unwrap_err();
        assert!(
            refused.iter().any(|one| one.code == Code::ForeignIr),
            "{refused}"
        );
    }
}
