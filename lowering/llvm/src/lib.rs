//! Translates SPIR-V functions and barrier steps to LLVM IR, assembly and objects. No other crate
//! uses LLVM.
//!
//! [`Llvm`] is the back end. From a checked module and the barrier plans of its kernels
//! ([`LowerInput`]), it generates LLVM IR, verifies and optimises it, and writes it as text,
//! bitcode, assembly or an object. The crate splitbar calls it:
//!
//! ```
//! use splitbar_plan::backend::{Backend, Lower, LowerInput};
//!
//! fn assembly(input: &LowerInput<'_>) -> Option<String> {
//!     splitbar_llvm::Llvm.lower(input).ok()?.assembly().ok()
//! }
//! let release = splitbar_llvm::Llvm.version();
//! assert!(release.is_some_and(|release| release.starts_with("23.1")));
//! ```
#![deny(unsafe_code)]

mod assemble;
mod atomic_annotations;
mod balanced_windows;
pub mod barriers;
mod codegen;
mod constant_loops;
mod debug;
mod disassemble;
mod dot_sums;
mod effects;
mod emit;
mod expand;
mod faults;
mod ffi;
mod fixups;
mod guarded_division;
pub mod ir;
mod lane_moves;
mod late_functions;
mod late_windows;
mod leaving;
mod lowered;
mod machines;
pub mod marks;
mod masked_division;
mod negative_zero;
mod opaque_cross_lane;
mod printed;
mod private_arrays;
mod release;
mod schedule;
mod shared_blocks;
mod shared_contents;
mod shared_offsets;
mod work;

pub use work::{Work, work};

use crate::ir::IrModule;
use crate::lowered::Lowered;
use inkwell::context::Context;
use inkwell::module::Module;
use splitbar_layout::abi::KernelAbi;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_plan::backend::{
    self, Backend, DebugLines, Disassembled, Fork, Lower, LowerInput, LoweredModule,
};
use splitbar_plan::target::Arch;
use splitbar_plan::{Optimization, Target};
use std::io;
use std::sync::OnceLock;

/// The back end.
#[derive(Copy, Clone, Debug, Default)]
pub struct Llvm;

impl Lower for Llvm {
    fn lower(&self, input: &LowerInput<'_>) -> Result<Box<dyn LoweredModule>, Diagnostics> {
        Ok(Box::new(lower(input, None)?))
    }

    fn translate(&self, input: &LowerInput<'_>) -> Result<Vec<u8>, Diagnostics> {
        translate(input, None)
    }
}

impl Lower for IrModule {
    fn lower(&self, input: &LowerInput<'_>) -> Result<Box<dyn LoweredModule>, Diagnostics> {
        Ok(Box::new(lower(input, Some(self))?))
    }

    fn translate(&self, input: &LowerInput<'_>) -> Result<Vec<u8>, Diagnostics> {
        translate(input, Some(self))
    }
}

impl Backend for Llvm {
    fn version(&self) -> Option<String> {
        Some(release::version())
    }

    fn text(&self, bitcode: &[u8]) -> String {
        printed::text(bitcode)
    }

    fn read_ir(
        &self,
        bytes: &[u8],
        target: &'static Target,
        workgroup_size: Option<[u32; 3]>,
    ) -> Result<Option<Box<dyn backend::IrModule>>, Diagnostics> {
        let read = IrModule::read(bytes, target, workgroup_size)?;
        Ok(read.map(|module| Box::new(module) as Box<dyn backend::IrModule>))
    }

    fn unchanged_ir(
        &self,
        bytes: &[u8],
        target: &'static Target,
        optimization: Optimization,
    ) -> Result<Box<dyn LoweredModule>, Diagnostics> {
        Ok(Box::new(ir::unchanged(bytes, target, optimization)?))
    }

    fn disassemble(
        &self,
        target: &Target,
        wave_size: u32,
        code: &[u8],
        address: u64,
    ) -> Result<Vec<Disassembled>, Diagnostics> {
        disassemble::disassemble(target, wave_size, code, address)
    }

    fn fork(&self) -> io::Result<Fork> {
        ffi::fork()
    }

    fn end_with_llvm(&self) {
        ffi::end_with_llvm();
    }

    fn report_passes(&self, no_pass: &'static str) {
        // Lines are `Running pass: NAME on ...` or `... Executing Pass 'NAME' on ...`.
        ffi::report_passes(no_pass);
    }
}

/// Lowers the kernels into one LLVM module: their bodies, or those of `ir`.
fn lower(input: &LowerInput<'_>, ir: Option<&IrModule>) -> Result<Lowered, Diagnostics> {
    codegen::on_large_stack(|| {
        let context = Context::create();
        let errors = ffi::Errors::collect(&context);
        let module = begin(&context, ir)?;
        let machine = codegen::machine(input.target, input.optimization)?;
        codegen::adopt(&module, &machine);
        let kernels = write(&context, &module, input, ir)?;
        #[cfg(test)]
        let unoptimized = module.write_bitcode_to_memory().as_slice().to_vec();
        // Wave size and mode are options of the compilation, the same for all entry points.
        let mut plans = input.plans();
        let features = plans
            .next()
            .and_then(|plan| emit::attributes::target_features(input.target, plan));
        emit::library::link(&module, input.target, features.as_deref())?;
        let work = fixups::Work {
            context: &context,
            module: &module,
            machine: &machine,
            input,
            is_ir: ir.is_some(),
            owns_memory: ir.is_none() || atomic_annotations::has_annotations(&context, &module),
        };
        fixups::run(fixups::BEFORE_OPTIMISER, &work)?;
        codegen::run(&module, &machine, pipeline(input.optimization))?;
        fixups::run(fixups::AFTER_OPTIMISER, &work)?;
        // Code is generated by the same machine, which is kept.
        drop(machine);
        codegen::check(&errors)?;
        codegen::verify(&module, "after optimisation")?;
        let guarding = faults::features(input.target, input.guards).map(str::to_owned);
        let features = [features, guarding]
            .into_iter()
            .flatten()
            .reduce(|own, more| format!("{own},{more}"));
        let assembly = match input.target.arch {
            Arch::Amdgpu(_) => schedule::choose(&context, &module, input)?,
            Arch::Nvptx(_) => None,
        };
        // It has no debug lines.
        let assembly = assembly.filter(|_| input.lines != DebugLines::All);
        let idle = kernels
            .iter()
            .filter(|kernel| !effects::are_left(&module, &kernel.symbol))
            .map(|kernel| kernel.symbol.clone())
            .collect();
        let ordered = |plan| late_windows::ordered(input.target, plan, input.late_windows?);
        let widened = kernels
            .iter()
            .zip(input.plans())
            .filter_map(|(kernel, plan)| Some((kernel.symbol.clone(), ordered(plan)?)))
            .collect();
        let (bitcode, lined) = bitcode(&context, &module, input.lines);
        Ok(Lowered {
            #[cfg(test)]
            unoptimized,
            bitcode,
            assembly,
            generated: OnceLock::new(),
            lined,
            lined_assembly: OnceLock::new(),
            kernels,
            target: input.target,
            optimization: input.optimization,
            features,
            widened,
            idle,
        })
    })
}

/// The optimiser's passes.
fn pipeline(optimization: Optimization) -> &'static str {
    match optimization {
        Optimization::O0 => "default<O0>",
        Optimization::O1 => "default<O1>",
        Optimization::O2 => "default<O2>",
        Optimization::O3 => "default<O3>",
    }
}

/// The bitcode of `module`, and the one with debug lines if it has none itself.
fn bitcode<'c>(
    context: &'c Context,
    module: &Module<'c>,
    lines: DebugLines,
) -> (Vec<u8>, Option<Vec<u8>>) {
    let written = |module: &Module<'_>| module.write_bitcode_to_memory().as_slice().to_vec();
    let with_lines = || {
        debug::place(context, module);
        debug::mark_accesses(context, module);
        debug::declare_lines(module);
        written(module)
    };
    match lines {
        DebugLines::None => (written(module), None),
        DebugLines::Separate => (written(&debug::without_lines(module)), Some(with_lines())),
        DebugLines::All => (with_lines(), None),
    }
}

/// Lowers the kernels, and gives the bitcode as the emitter wrote it.
fn translate(input: &LowerInput<'_>, ir: Option<&IrModule>) -> Result<Vec<u8>, Diagnostics> {
    codegen::on_large_stack(|| {
        let context = Context::create();
        let module = begin(&context, ir)?;
        codegen::describe(&module, input.target)?;
        write(&context, &module, input, ir)?;
        shared_contents::close(&module);
        if input.calls && matches!(input.target.arch, Arch::Amdgpu(_)) {
            // Who compiles it knows no more of its memory than it says.
            atomic_annotations::annotate(&context, &module)?;
        }
        Ok(module.write_bitcode_to_memory().as_slice().to_vec())
    })
}

/// The module that the kernels are written into.
fn begin<'c>(context: &'c Context, ir: Option<&IrModule>) -> Result<Module<'c>, Diagnostics> {
    match ir {
        Some(ir) => codegen::parse(context, &ir.bitcode),
        None => Ok(context.create_module("splitbar")),
    }
}

/// Writes the kernels into `module`, which LLVM has to accept.
fn write<'c>(
    context: &'c Context,
    module: &Module<'c>,
    input: &LowerInput<'_>,
    ir: Option<&IrModule>,
) -> Result<Vec<KernelAbi>, Diagnostics> {
    debug_assert!(
        input
            .kernels
            .iter()
            .all(|of| of.kernel.entry.name == of.plan.entry
                && of.kernel.entry.function == of.plan.function),
        "each plan is that of its kernel"
    );
    let mut diagnostics = Diagnostics::new();
    let kernels = match ir {
        Some(ir) => ir::insert::insert(context, module, input, ir, &mut diagnostics),
        None => emit::module::emit(context, module, input, &mut diagnostics),
    };
    if diagnostics.has_errors() {
        return Err(located(input, diagnostics));
    }
    codegen::verify(module, "as it was written")?;
    Ok(kernels)
}

fn located(input: &LowerInput<'_>, diagnostics: Diagnostics) -> Diagnostics {
    let mut sorted = diagnostics.sorted();
    input.module.declarations().locate_all(&mut sorted);
    sorted
}

/// Sets options of LLVM, as its own programs take them (`-opt-disable=licm`). They hold for the
/// process, for all its users of LLVM, from now on, and LLVM ends the process on an option that it
/// does not have: this is for measurements, in processes that do nothing else.
pub fn set_llvm_options(options: &[&str]) {
    ffi::set_options(options);
}
