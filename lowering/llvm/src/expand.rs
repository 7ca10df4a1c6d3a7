//! Bodies for the barrier functions, given after the mid-level optimiser has run and inlined at
//! once: `nvptx.rs` has those of NVPTX, `counter.rs` AMDGPU's.

mod counter;
mod nvptx;

use crate::codegen;
use crate::emit::Result;
use crate::emit::barrier::names;
use crate::ffi::{self, Block, Func, RawBuilder, Ty, Value};
use crate::late_functions;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::TargetMachine;
use splitbar_passes::diagnostic::{Diagnostic, Diagnostics};
use splitbar_plan::Target;
use splitbar_plan::target::Arch;

/// The passes that inline the bodies, and functions that come late, and drop what is left of them.
fn passes(target: &Target) -> &'static str {
    match target.arch {
        // What a kernel does not ask its launch for is found out once more: before, there were
        // calls in it that might have asked.
        Arch::Amdgpu(_) => "always-inline,globaldce,amdgpu-attributor",
        Arch::Nvptx(_) => "always-inline,globaldce",
    }
}

struct Expansion<'c> {
    context: &'c Context,
    module: ffi::ModuleRef<'c>,
    b: RawBuilder<'c>,
}

/// Gives every barrier function of the module a body, and has LLVM inline them.
///
/// # Errors
/// `Internal` when LLVM or the module lacks what a body needs, or a body was not inlined.
pub(crate) fn expand<'c>(
    context: &'c Context,
    module: &Module<'c>,
    target: &Target,
    machine: &TargetMachine,
) -> std::result::Result<(), Diagnostics> {
    let has_bodies = has_bodies(context, module, target)?;
    let has_late = late_functions::release(context, module)?;
    if has_late || has_bodies {
        codegen::verify(module, "with its barriers expanded")?;
        codegen::run(module, machine, passes(target))?;
        if has_late {
            // They were given the addresses of built-in variables. This pass moves no arithmetic.
            codegen::run(module, machine, "function(sroa)")?;
        }
        none_left(module)?;
    }
    Ok(())
}

/// Whether there was a barrier function; each has a body now.
fn has_bodies<'c>(context: &'c Context, module: &Module<'c>, target: &Target) -> Result<bool> {
    let expansion = Expansion {
        context,
        module: ffi::module_ref(module),
        b: RawBuilder::new(context),
    };
    match &target.arch {
        Arch::Amdgpu(_) => expansion.counter(),
        Arch::Nvptx(gpu) => expansion.nvptx(gpu),
    }
}

/// That LLVM has inlined all the bodies: what it leaves would be compiled for another kernel than
/// its caller.
///
/// # Errors
/// `Internal` with the name of a function that is left.
fn none_left(module: &Module<'_>) -> Result<()> {
    let left = module.get_functions().find_map(|function| {
        let name = function.get_name().to_string_lossy().into_owned();
        (name.starts_with(names::PREFIX) && function.count_basic_blocks() > 0).then_some(name)
    });
    match left {
        None => Ok(()),
        Some(name) => Err(Box::new(Diagnostic::bug(format!("{name} was not inlined")))),
    }
}

fn missing(name: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::bug(format!("{name} is not there")))
}

/// The two parameters that each of the counter's functions has.
fn pair<'c>(function: Func<'c>) -> Result<(Value<'c>, Value<'c>)> {
    function
        .param(0)
        .zip(function.param(1))
        .ok_or_else(|| missing("an operand of the counter's functions"))
}

impl<'c> Expansion<'c> {
    /// The declared function, made internal and always inlined; `None` when nothing calls it.
    fn begin(&self, name: &str) -> Option<Func<'c>> {
        let function = ffi::declaration(self.module, name)?;
        function.set_internal();
        function.attribute(self.context, "alwaysinline");
        Some(function)
    }

    fn word(&self) -> Ty<'c> {
        ffi::int_type(self.context, 32)
    }

    fn intrinsic(&self, name: &str, args: &[Value<'c>]) -> Result<Value<'c>> {
        let (id, _) = ffi::intrinsic_id(name).ok_or_else(|| missing(name))?;
        let function = ffi::intrinsic(self.module, id, &[]);
        Ok(self.b.call(function.ty(), function.value(), args))
    }

    fn blocks<const N: usize>(&self, function: Func<'c>) -> [Block<'c>; N] {
        std::array::from_fn(|_| function.append(self.context))
    }
}
