//! SPIR-V bodies and barrier steps to LLVM IR, assembly and objects. The only crate that names
//! LLVM.
//!
//! [`lower`] takes a module's declarations, its constants and the barrier plans of its entry
//! points, and gives a [`Lowered`]: verified LLVM IR that the mid-level optimiser has been over,
//! from which text, bitcode, assembly and objects are made.
//!
//! The crate splitbar makes a [`Lowering`] of a module; its `compile` is the way in:
//!
//! ```
//! fn assembly(lowering: &splitbar_llvm::Lowering<'_>) -> Option<String> {
//!     splitbar_llvm::lower(lowering).ok()?.assembly().ok()
//! }
//! assert!(splitbar_llvm::version().is_some_and(|release| release.starts_with("23.1")));
//! ```
#![deny(unsafe_code)]

mod assemble;
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
mod guarded_division;
mod hidden_lanes;
pub mod ir;
mod lane_moves;
mod late_functions;
mod late_windows;
mod machines;
pub mod marks;
mod masked_division;
mod own_memory;
mod private_arrays;
mod schedule;
mod shared_blocks;
mod shared_contents;
mod shared_offsets;
mod signed_zero;
mod work;

pub use disassemble::{Disassembled, disassemble};
pub use ffi::{Fork, end_with_llvm, fork};
pub use late_windows::LateWindows;
pub use splitbar_plan::Optimization;
pub use work::{Work, work};

use crate::ir::IrModule;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::FileType;
use splitbar_assembly::amdgpu::late_windows::{Ordered, widen};
use splitbar_passes::diagnostic::{Diagnostic, Diagnostics};
use splitbar_passes::transform::Origin;
use splitbar_passes::validate::Checked;
use splitbar_plan::faults::{Guard, Guards};
use splitbar_plan::target::Arch;
use splitbar_plan::{EntryPlan, Target};
use splitbar_typed::Kernel;
use splitbar_typed::abi::{AbiForm, KernelAbi};
use std::collections::{BTreeMap, BTreeSet};

/// Which code of a compilation carries debug lines.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Lines {
    /// None does.
    #[default]
    None,
    /// That of [`Lowered::lined_assembly`] alone.
    Beside,
    /// All of it.
    All,
}

/// What is lowered.
#[derive(Copy, Clone, Debug)]
pub struct Lowering<'m> {
    /// The module, checked or waived, with its constants under the specialization that is wanted.
    pub module: Checked<'m>,
    /// For which target.
    pub target: &'static Target,
    /// The entry points that become kernels.
    pub kernels: &'m [Kernel<'m>],
    /// The barrier plan of each.
    pub plans: &'m [EntryPlan],
    /// Which code carries debug lines. A line is the word offset of the SPIR-V instruction plus
    /// one.
    pub lines: Lines,
    /// Where the declarations' module came from, if a pass has made it: lines then count the words
    /// of the module before the pass.
    pub origin: Option<&'m Origin>,
    /// How much LLVM optimises.
    pub optimization: Optimization,
    /// How buffers and images are handed over.
    pub abi: &'m AbiForm,
    /// Whether windows are widened in final code.
    pub late_windows: Option<LateWindows>,
    /// The LLVM module whose skeleton the module is: its kernels are lowered then.
    pub ir: Option<&'m IrModule>,
    /// Rounds quotients and square roots of 32 and 16 bits correctly, where the environment would
    /// be content with less.
    pub correctly_rounded: bool,
    /// Leaves barriers as calls of functions that nothing defines, which [`ir`] takes,
    /// and writes no steps.
    pub calls: bool,
    /// What keeps code from faults of LLVM.
    pub guards: Guards,
}

/// A lowered module.
#[derive(Clone, Debug)]
pub struct Lowered {
    #[cfg(test)]
    unoptimized: Vec<u8>,
    bitcode: Vec<u8>,
    /// Its assembly, where it has been generated already.
    assembly: Option<String>,
    /// The same code with debug lines, where `bitcode` has none.
    lined: Option<Vec<u8>>,
    kernels: Vec<KernelAbi>,
    target: &'static Target,
    optimization: Optimization,
    /// What kernels are compiled with beside the target's own features.
    features: Option<String>,
    /// The kernels whose windows are widened in final code, by symbol.
    widened: BTreeMap<String, Ordered>,
    /// The kernels whose code leaves nothing that others can see, by symbol.
    idle: BTreeSet<String>,
}

/// Lowers the kernels of all plans into one LLVM module.
///
/// # Errors
/// Everything that is not lowered, each with its place (`UnsupportedInstruction`,
/// `UnsupportedType`, ...), or what LLVM refused (`LlvmFailed`).
pub fn lower(lowering: &Lowering<'_>) -> Result<Lowered, Diagnostics> {
    codegen::on_large_stack(|| {
        let context = Context::create();
        let errors = ffi::Errors::collect(&context);
        let module = begin(&context, lowering)?;
        let machine = codegen::machine(lowering.target, lowering.optimization)?;
        codegen::adopt(&module, &machine);
        let kernels = write(&context, &module, lowering)?;
        #[cfg(test)]
        let unoptimized = module.write_bitcode_to_memory().as_slice().to_vec();
        // Wave size and mode are options of the compilation, the same for all entry points.
        let features = lowering
            .plans
            .first()
            .and_then(|plan| emit::attributes::target_features(lowering.target, plan));
        emit::library::link(&module, lowering.target, features.as_deref())?;
        let level = match lowering.optimization {
            Optimization::O0 => "default<O0>",
            Optimization::O1 => "default<O1>",
            Optimization::O2 => "default<O2>",
            Optimization::O3 => "default<O3>",
        };
        let owns_memory = lowering.ir.is_none() || own_memory::is_said(&context, &module);
        let hides = matches!(lowering.target.arch, Arch::Amdgpu(_))
            && lowering.optimization != Optimization::O0;
        let guards = lowering.guards;
        let hides = hides && guards.has(Guard::HiddenLanes);
        if hides {
            hidden_lanes::hide(&module);
        }
        let decides = matches!(lowering.optimization, Optimization::O1 | Optimization::O2);
        if decides && matches!(lowering.target.arch, Arch::Nvptx(_)) {
            constant_loops::unroll(&module, &machine)?;
        }
        codegen::run(&module, &machine, level)?;
        if hides && hidden_lanes::show(&module) {
            if guards.has(Guard::MaskedId) {
                faults::hide_masked_ids(&context, &module);
            }
            codegen::run(&module, &machine, hidden_lanes::PASSES)?;
        }
        shared_contents::close(&module);
        if lowering.ir.is_none() && lowering.optimization != Optimization::O0 {
            guarded_division::release(&module);
        }
        expand::expand(&context, &module, lowering.target, &machine)?;
        if guards.has(Guard::MaskedDivision) {
            masked_division::expand(&module)?;
        }
        if lowering.optimization != Optimization::O0 && has_short_buffers(lowering) {
            shared_offsets::share(&context, &module);
        }
        if let Arch::Amdgpu(_) = lowering.target.arch {
            if guards.has(Guard::RoundedProduct) {
                signed_zero::keep(&context, &module)?;
            }
            if guards.has(Guard::LaneMoves) {
                lane_moves::keep(&context, &module)?;
            }
            if owns_memory {
                own_memory::say(&context, &module)?;
            }
            if guards.has(Guard::PrivateArrays) {
                private_arrays::keep(&module, &machine)?;
            }
            dot_sums::fold(&context, &module);
            faults::rewrite(&context, &module, lowering.target, guards);
            if guards.has(Guard::SharedBlocks) {
                shared_blocks::keep(&context, &module)?;
            }
            faults::set_features(&context, &module, lowering.target, guards);
        }
        let guarding = faults::features(lowering.target, guards).map(str::to_owned);
        let features = [features, guarding].into_iter().flatten();
        let features = features.reduce(|own, more| format!("{own},{more}"));
        // Who generates code takes the same one.
        drop(machine);
        codegen::check(&errors)?;
        codegen::verify(&module, "after optimisation")?;
        let assembly = match lowering.target.arch {
            Arch::Amdgpu(_) => schedule::choose(
                &context,
                &module,
                lowering.target,
                lowering.plans,
                lowering.optimization,
            )?,
            Arch::Nvptx(_) => None,
        };
        // It has no debug lines.
        let assembly = assembly.filter(|_| lowering.lines != Lines::All);
        let written = |module: &Module<'_>| module.write_bitcode_to_memory().as_slice().to_vec();
        let with_lines = || {
            debug::place(&context, &module);
            debug::mark_accesses(&context, &module);
            debug::declare_lines(&module);
            written(&module)
        };
        let (bitcode, lined) = match lowering.lines {
            Lines::None => (written(&module), None),
            Lines::Beside => (written(&debug::without_lines(&module)), Some(with_lines())),
            Lines::All => (with_lines(), None),
        };
        let widened = kernels.iter().zip(lowering.plans);
        let widened = widened.filter_map(|(kernel, plan)| {
            let ordered = late_windows::ordered(lowering.target, plan, lowering.late_windows?)?;
            Some((kernel.symbol.clone(), ordered))
        });
        let widened = widened.collect();
        let idle = kernels
            .iter()
            .filter(|kernel| !effects::are_left(&module, &kernel.symbol));
        let idle = idle.map(|kernel| kernel.symbol.clone()).collect();
        Ok(Lowered {
            #[cfg(test)]
            unoptimized,
            bitcode,
            assembly,
            lined,
            kernels,
            target: lowering.target,
            optimization: lowering.optimization,
            features,
            widened,
            idle,
        })
    })
}

/// Lowers the kernels of all plans, and gives the bitcode as the emitter wrote it: nothing is
/// linked, optimised or expanded.
///
/// # Errors
/// As [`lower`].
pub fn translate(lowering: &Lowering<'_>) -> Result<Vec<u8>, Diagnostics> {
    codegen::on_large_stack(|| {
        let context = Context::create();
        let module = begin(&context, lowering)?;
        codegen::describe(&module, lowering.target)?;
        write(&context, &module, lowering)?;
        shared_contents::close(&module);
        if lowering.calls && matches!(lowering.target.arch, Arch::Amdgpu(_)) {
            // Who compiles it knows no more of its memory than it says.
            own_memory::say(&context, &module)?;
        }
        Ok(module.write_bitcode_to_memory().as_slice().to_vec())
    })
}

/// The module that the kernels are written into.
fn begin<'c>(context: &'c Context, lowering: &Lowering<'_>) -> Result<Module<'c>, Diagnostics> {
    match lowering.ir {
        Some(ir) => codegen::parse(context, &ir.bitcode),
        None => Ok(context.create_module("splitbar")),
    }
}

/// Writes the kernels of all plans into `module`, which LLVM has to accept.
fn write<'c>(
    context: &'c Context,
    module: &Module<'c>,
    lowering: &Lowering<'_>,
) -> Result<Vec<KernelAbi>, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let of = |(kernel, plan): (&Kernel<'_>, &EntryPlan)| {
        kernel.entry.name == plan.entry && kernel.entry.function == plan.function
    };
    let (all, plans) = (lowering.kernels, lowering.plans);
    if all.len() != plans.len() || !all.iter().zip(plans).all(of) {
        diagnostics.push(Diagnostic::bug("the plans are not those of the kernels"));
        return Err(diagnostics);
    }
    let kernels = match lowering.ir {
        Some(ir) => ir::insert::insert(context, module, lowering, ir, &mut diagnostics),
        None => emit::module::emit(context, module, lowering, &mut diagnostics),
    };
    if diagnostics.has_errors() {
        return Err(located(lowering, diagnostics));
    }
    codegen::verify(module, "as it was written")?;
    Ok(kernels)
}

/// Whether all addresses of 32-bit offsets lead into buffers, whose length docs/abi.md limits.
fn has_short_buffers(lowering: &Lowering<'_>) -> bool {
    use spirv::Capability::{Kernel, PhysicalStorageBufferAddresses};
    let declarations = lowering.module.declarations();
    let physical = [Kernel, PhysicalStorageBufferAddresses];
    lowering.ir.is_none() && !physical.iter().any(|it| declarations.has_capability(*it))
}

fn located(lowering: &Lowering<'_>, diagnostics: Diagnostics) -> Diagnostics {
    let mut sorted = diagnostics.sorted();
    lowering.module.declarations().locate_all(&mut sorted);
    sorted
}

/// The release of LLVM that is linked, such as `23.1.1`; there always is one.
pub fn version() -> Option<String> {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    Some(format!("{major}.{minor}.{patch}"))
}

/// Lets LLVM say on the standard error which pass begins, whenever one does on a module that is not
/// small: `Running pass: NAME on ...` or `... Executing Pass 'NAME' on ...`; the line `no_pass`
/// says that all have ended. It sets options of LLVM that hold for the process, for all its users:
/// it is for processes that compile one module after the other, and nothing else.
pub fn report_passes(no_pass: &'static str) {
    ffi::report_passes(no_pass);
}

/// Sets options of LLVM, as its own programs take them (`-opt-disable=licm`). They hold for the
/// process, for all its users of LLVM, from now on, and LLVM ends the process on an option that it
/// does not have: this is for measurements, in processes that do nothing else.
pub fn set_llvm_options(options: &[&str]) {
    ffi::set_options(options);
}

impl Lowered {
    /// A module that somebody else wrote, without kernels of ours.
    pub(crate) fn of_bitcode(
        bitcode: Vec<u8>,
        target: &'static Target,
        optimization: Optimization,
    ) -> Lowered {
        Lowered {
            #[cfg(test)]
            unoptimized: bitcode.clone(),
            bitcode,
            assembly: None,
            lined: None,
            kernels: Vec::new(),
            target,
            optimization,
            features: None,
            widened: BTreeMap::new(),
            idle: BTreeSet::new(),
        }
    }

    /// The final LLVM IR as text.
    pub fn ir(&self) -> String {
        text(&self.bitcode)
    }

    /// The final LLVM IR as bitcode.
    pub fn bitcode(&self) -> Vec<u8> {
        self.bitcode.clone()
    }

    /// The LLVM IR as it was written, before the mid-level optimiser and with the NVPTX barriers as
    /// calls, as text.
    #[cfg(test)]
    pub(crate) fn unoptimized(&self) -> String {
        text(&self.unoptimized)
    }

    /// Assembly: AMDGPU assembly or PTX.
    ///
    /// # Errors
    /// `LlvmFailed` with LLVM's reason.
    pub fn assembly(&self) -> Result<String, Diagnostics> {
        match &self.assembly {
            Some(assembly) => Ok(self.widened(assembly.clone())),
            None => self.assembly_of(&self.bitcode, false),
        }
    }

    /// The assembly with debug lines, if [`Lowering::lines`] asked for them, and with LLVM's
    /// comments: for AMD GPUs these alone say where inlined code was inlined.
    ///
    /// # Errors
    /// `LlvmFailed` with LLVM's reason.
    pub fn lined_assembly(&self) -> Result<String, Diagnostics> {
        self.assembly_of(self.lined.as_ref().unwrap_or(&self.bitcode), true)
    }

    fn assembly_of(&self, bitcode: &[u8], comments: bool) -> Result<String, Diagnostics> {
        let file = FileType::Assembly;
        let bytes = codegen::generate(bitcode, self.target, self.optimization, file, comments)?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(self.widened(text.trim_end_matches('\0').to_owned()))
    }

    /// Assembly with its windows widened.
    fn widened(&self, text: String) -> String {
        match self.widened.is_empty() {
            true => text,
            false => widen(&text, self.target, &self.widened).into_owned(),
        }
    }

    /// Returns true if the code of the kernel with this symbol writes anything that others can see.
    pub fn has_effects(&self, symbol: &str) -> bool {
        !self.idle.contains(symbol)
    }

    /// Whether windows are widened in final code.
    pub fn has_late_windows(&self) -> bool {
        !self.widened.is_empty()
    }

    /// The same with final code as LLVM makes it.
    pub fn without_late_windows(&self) -> Lowered {
        Lowered {
            widened: BTreeMap::new(),
            ..self.clone()
        }
    }

    /// A relocatable AMDGPU ELF object; for NVPTX the PTX text, which is what drivers and ptxas
    /// take.
    ///
    /// # Errors
    /// `LlvmFailed` with LLVM's reason.
    pub fn object(&self) -> Result<Vec<u8>, Diagnostics> {
        match self.target.arch {
            // What is widened is the text; and to assemble code that is there takes less time than
            // to generate it.
            Arch::Amdgpu(_) if self.has_late_windows() || self.assembly.is_some() => {
                assemble::assemble(
                    &self.assembly()?,
                    self.target,
                    self.features.as_deref(),
                    self.optimization,
                )
            }
            Arch::Amdgpu(_) => self.generated_object(),
            Arch::Nvptx(_) => self.assembly().map(String::into_bytes),
        }
    }

    /// The object as LLVM makes it of the bitcode.
    fn generated_object(&self) -> Result<Vec<u8>, Diagnostics> {
        let file = FileType::Object;
        codegen::generate(&self.bitcode, self.target, self.optimization, file, false)
    }

    /// The binary interface of each kernel, in the order of the plans.
    pub fn kernels(&self) -> &[KernelAbi] {
        &self.kernels
    }
}

/// Bitcode that this crate wrote, as text; if LLVM could not read it back, its reason as a comment.
pub fn text(bitcode: &[u8]) -> String {
    let printed = codegen::on_large_stack(|| {
        let context = Context::create();
        // Debug lines that are not declared yet are dropped, with a warning that nobody needs.
        let _errors = ffi::Errors::collect(&context);
        Ok(ffi::module_text(&codegen::parse(&context, bitcode)?))
    });
    printed.unwrap_or_else(|problems| format!("; {problems}"))
}
