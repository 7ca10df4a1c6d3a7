//! Target machines, the mid-level optimiser, assembly and objects: LLVM in this process.

use crate::Optimization;
use crate::ffi::{self, Errors, Lost};
use crate::machines::{Key, Machine};
use crate::work;
use inkwell::OptimizationLevel;
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target as LlvmTarget, TargetData,
    TargetMachine, TargetTriple,
};
use inkwell::types::BasicType;
use inkwell::values::{BasicValueEnum, InstructionValue};
use splitbar_assembly::amdgpu::dual_issue;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_plan::Target;
use splitbar_plan::target::Arch;
use std::cell::Cell;
use std::sync::OnceLock;

/// Stack of the thread that LLVM runs on: it walks expressions and control flow recursively.
const STACK_BYTES: usize = 256 << 20;

thread_local! {
    /// Whether this thread has a large stack.
    static IS_LARGE: Cell<bool> = const { Cell::new(false) };
}

/// Runs LLVM work on a thread with a large stack: this one, if it has one.
///
/// # Errors
/// `WorkerLimit` when the system refuses the thread, `LlvmFailed` when LLVM gives up, `Internal`
/// when the work does not finish.
pub(crate) fn on_large_stack<T: Send>(
    work: impl FnOnce() -> Result<T, Diagnostics> + Send,
) -> Result<T, Diagnostics> {
    if IS_LARGE.get() {
        return work();
    }
    work::THREADS.count();
    let work = || {
        IS_LARGE.set(true);
        work()
    };
    match ffi::on_thread(STACK_BYTES, work) {
        Ok(result) => result,
        Err(Lost::Panicked) => Err(Diagnostic::bug("the code generator's thread panicked").into()),
        Err(Lost::GaveUp(reason)) => Err(llvm_failed("LLVM gave up", &reason).into()),
        Err(Lost::NotStarted(problem)) => Err(Diagnostic::error(
            Code::WorkerLimit,
            format!("the code generator's thread could not be started: {problem}"),
        )
        .help("allow the process more memory or threads")
        .into()),
    }
}

/// What LLVM said when it refused.
pub(crate) fn llvm_failed(what: &str, text: &str) -> Diagnostic {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or("no reason given").trim().to_owned();
    let failed = Diagnostic::error(Code::LlvmFailed, format!("{what}: {first}"))
        .help("please report this with the module");
    lines
        .take(8)
        .fold(failed, |diagnostic, line| diagnostic.because(line.trim()))
}

/// What LLVM reported while it worked: none, or the diagnostics for it.
///
/// # Errors
/// `ModuleTooLarge` for a limit of the back end that the program exceeds (stack, registers),
/// `LlvmFailed` for anything else.
pub(crate) fn check(errors: &Errors) -> Result<(), Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    for text in errors.take() {
        diagnostics.push(if text.contains("limit") && text.contains("exceed") {
            Diagnostic::error(
                Code::ModuleTooLarge,
                format!("the program exceeds a limit of the target: {text}"),
            )
            .help("use less private memory per invocation")
        } else {
            llvm_failed("code generation failed", &text)
        });
    }
    if diagnostics.is_empty() {
        Ok(())
    } else {
        Err(diagnostics.sorted())
    }
}

/// Makes both back ends known to LLVM, and the disassembler of the one that has one.
pub(crate) fn initialize() {
    static INITIALIZED: OnceLock<()> = OnceLock::new();
    INITIALIZED.get_or_init(|| {
        let config = InitializationConfig {
            asm_parser: true,
            asm_printer: true,
            base: true,
            disassembler: false,
            info: true,
            machine_code: true,
        };
        LlvmTarget::initialize_amd_gpu(&config);
        LlvmTarget::initialize_nvptx(&config);
        ffi::LLVMInitializeAMDGPUDisassembler();
    });
}

/// The target machine for a target row.
///
/// # Errors
/// `LlvmFailed` when this LLVM lacks the target.
pub(crate) fn machine(target: &Target, optimization: Optimization) -> Result<Machine, Diagnostics> {
    machine_with(target, None, optimization)
}

/// As [`machine`], with `features` beside the target's own.
///
/// # Errors
/// As [`machine`].
pub(crate) fn machine_with(
    target: &Target,
    features: Option<&str>,
    optimization: Optimization,
) -> Result<Machine, Diagnostics> {
    initialize();
    let own = target.features();
    let all_features = [own.as_str(), features.unwrap_or_default()];
    let all_features = all_features.into_iter().filter(|list| !list.is_empty());
    let key = Key {
        triple: target.triple(),
        cpu: target.cpu(),
        features: all_features.collect::<Vec<_>>().join(","),
        optimization,
        is_reused: matches!(target.arch, Arch::Amdgpu(_)),
    };
    Machine::take(key, |key| new_machine(key, target))
}

/// A machine that nobody has used.
fn new_machine(key: &Key, target: &Target) -> Result<TargetMachine, Diagnostics> {
    work::MACHINES.count();
    let triple = TargetTriple::create(key.triple);
    let llvm = LlvmTarget::from_triple(&triple)
        .map_err(|e| llvm_failed("LLVM lacks the target", &e.to_string()))?;
    let level = match (key.optimization, &target.arch) {
        // Without any optimisation LLVM does not look for what is uniform, takes nearly all for it,
        // and cannot put the code that it selects right (docs/llvm.md).
        (Optimization::O0, Arch::Amdgpu(_)) => OptimizationLevel::Less,
        (Optimization::O0, Arch::Nvptx(_)) => OptimizationLevel::None,
        (Optimization::O1, _) => OptimizationLevel::Less,
        (Optimization::O2, _) => OptimizationLevel::Default,
        (Optimization::O3, _) => OptimizationLevel::Aggressive,
    };
    llvm.create_target_machine(
        &triple,
        key.cpu,
        &key.features,
        level,
        RelocMode::PIC,
        CodeModel::Default,
    )
    .ok_or_else(|| llvm_failed("LLVM has no machine", target.name).into())
}

/// Generates code for `module`, which is left as LLVM's passes leave it; with LLVM's comments if
/// they are asked for.
///
/// # Errors
/// `LlvmFailed` with LLVM's reason behind `what` was done.
pub(crate) fn write(
    module: &Module<'_>,
    machine: &Machine,
    file: FileType,
    comments: bool,
    what: &str,
) -> Result<MemoryBuffer<'static>, Diagnostics> {
    work::GENERATIONS.count();
    machine.set_asm_verbosity(comments);
    let written = machine.write_to_memory_buffer(module, file);
    written.map_err(|e| llvm_failed(what, &e.to_string()).into())
}

/// Gives `module` the machine's triple and data layout. Without them LLVM's AMDGPU printer crashes.
pub(crate) fn adopt(module: &Module<'_>, machine: &TargetMachine) {
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
}

/// As [`adopt`], of a machine for `target`: its data layout is that of the architecture, for which
/// LLVM is asked once.
///
/// # Errors
/// As [`machine`].
pub(crate) fn describe(module: &Module<'_>, target: &Target) -> Result<(), Diagnostics> {
    static LAYOUTS: [OnceLock<String>; 2] = [OnceLock::new(), OnceLock::new()];
    let [amdgpu, nvptx] = &LAYOUTS;
    let layout = match target.arch {
        Arch::Amdgpu(_) => amdgpu,
        Arch::Nvptx(_) => nvptx,
    };
    let layout = match layout.get() {
        Some(layout) => layout,
        None => {
            let machine = machine(target, Optimization::O0)?;
            let text = machine.get_target_data().get_data_layout();
            layout.get_or_init(|| text.as_str().to_string_lossy().into_owned())
        }
    };
    module.set_triple(&TargetTriple::create(target.triple()));
    module.set_data_layout(&TargetData::create(layout).get_data_layout());
    Ok(())
}

/// Runs passes over `module`.
///
/// # Errors
/// `LlvmFailed` with LLVM's reason.
pub(crate) fn run(
    module: &Module<'_>,
    machine: &TargetMachine,
    passes: &str,
) -> Result<(), Diagnostics> {
    report(module);
    work::PIPELINES.count();
    let options = PassBuilderOptions::create();
    options.set_debug_logging(ffi::reports_passes());
    let result = module.run_passes(passes, machine, options);
    ffi::report_no_pass();
    result.map_err(|e| llvm_failed("an LLVM pass failed", &e.to_string()).into())
}

/// LLVM reports its passes on modules with more instructions than this: a report is a dozen writes,
/// which for a small kernel take longer than the passes.
const MOST_UNREPORTED: usize = 2000;

/// Has LLVM report its passes over `module` where somebody wants that and they may take long.
fn report(module: &Module<'_>) {
    if ffi::wants_reports() {
        ffi::switch_reports(instructions(module).nth(MOST_UNREPORTED).is_some());
    }
}

/// The instructions of all functions of `module`, in order.
pub(crate) fn instructions<'c>(module: &Module<'c>) -> impl Iterator<Item = InstructionValue<'c>> {
    module
        .get_functions()
        .flat_map(|function| function.get_basic_block_iter())
        .flat_map(|block| block.get_instructions())
}

/// A value of a vector register through an empty assembly statement, which LLVM does not look
/// through.
///
/// # Errors
/// `BuilderError` when the statement cannot be built or gives no value.
pub(crate) fn hide<'c>(
    context: &'c Context,
    builder: &Builder<'c>,
    value: BasicValueEnum<'c>,
) -> Result<BasicValueEnum<'c>, BuilderError> {
    let ty = value.get_type();
    let signature = ty.fn_type(&[ty.into()], false);
    // In a vector register, in front and behind the same.
    let statement = context.create_inline_asm(
        signature,
        String::new(),
        "=v,0".to_owned(),
        false,
        false,
        None,
        false,
    );
    let call = builder.build_indirect_call(signature, statement, &[value.into()], "")?;
    let hidden = call.try_as_basic_value().basic();
    hidden.ok_or(BuilderError::PointeeTypeMismatch)
}

/// Verifies `module`.
///
/// # Errors
/// `LlvmFailed` with what the verifier found.
pub(crate) fn verify(module: &Module<'_>, stage: &str) -> Result<(), Diagnostics> {
    module.verify().map_err(|e| {
        llvm_failed(
            &format!("LLVM's verifier rejects the module {stage}"),
            &e.to_string(),
        )
        .into()
    })
}

/// Reads a module from bitcode.
///
/// # Errors
/// `LlvmFailed` with LLVM's reason.
pub(crate) fn parse<'c>(context: &'c Context, bitcode: &[u8]) -> Result<Module<'c>, Diagnostics> {
    work::READS.count();
    let buffer = MemoryBuffer::create_from_memory_range_copy(bitcode, "module");
    Module::parse_bitcode_from_buffer(&buffer, context)
        .map_err(|e| llvm_failed("bitcode cannot be read back", &e.to_string()).into())
}

/// Generates assembly from bitcode, with LLVM's comments if they are wanted, and without the pairs
/// of instructions that the GPU may execute wrongly.
///
/// # Errors
/// `LlvmFailed` with LLVM's reason, `Internal` for pairs that cannot be separated.
pub(crate) fn assembly(
    bitcode: &[u8],
    target: &Target,
    optimization: Optimization,
    comments: bool,
) -> Result<String, Diagnostics> {
    let bytes = generate(bitcode, target, optimization, FileType::Assembly, comments)?;
    let text = String::from_utf8_lossy(&bytes);
    let separated = dual_issue::separate(text.trim_end_matches('\0'), target);
    Ok(separated.map_err(Diagnostic::bug)?.into_owned())
}

/// Generates code from bitcode, assembly with LLVM's comments if they are asked for.
///
/// # Errors
/// `LlvmFailed` with LLVM's reason.
pub(crate) fn generate(
    bitcode: &[u8],
    target: &Target,
    optimization: Optimization,
    file: FileType,
    comments: bool,
) -> Result<Vec<u8>, Diagnostics> {
    on_large_stack(|| {
        let context = Context::create();
        let errors = Errors::collect(&context);
        let machine = machine(target, optimization)?;
        let module = parse(&context, bitcode)?;
        report(&module);
        let written = write(&module, &machine, file, comments, "code generation failed");
        ffi::report_no_pass();
        let buffer = written?;
        check(&errors)?;
        Ok(buffer.as_slice().to_vec())
    })
}
