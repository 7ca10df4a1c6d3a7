//! Features of the code generator that are switched off.

use crate::ffi::{self, Func};
use inkwell::context::Context;
use inkwell::module::Module;
use splitbar_plan::Target;
use splitbar_plan::faults::{Guard, Guards};
use splitbar_plan::target::Arch;

/// 16-bit values in parts of registers, where instructions can name these: LLVM's default from
/// gfx11 on. Without it the code is as that of GPUs before, of which each 16-bit value has a
/// register.
const TRUE16: &str = "-real-true16";

/// The products of bytes that are added up in one instruction. Signed ones have features besides,
/// and LLVM makes none without this.
const DOT: &str = "-dot7-insts";

/// Intrinsics that need [`DOT`].
const DOTS: [&str; 2] = ["llvm.amdgcn.udot4", "llvm.amdgcn.udot8"];

/// The features that all code of `target` is generated and assembled with.
pub(crate) fn features(target: &Target, guards: Guards) -> Option<&'static str> {
    // The first GPUs with halves of registers are of the generation after the one that has literals
    // in such instructions; where there are none, nothing changes.
    let may_have = matches!(target.arch, Arch::Amdgpu(gpu) if gpu.vop3_literals);
    (may_have && guards.has(Guard::PackedHigh)).then_some(TRUE16)
}

/// Gives all functions with code the features that keep it from faults, beside their own. To be
/// called on AMDGPU after the optimiser, which inlines no function into one of other features.
pub(crate) fn set_features(
    context: &Context,
    module: &Module<'_>,
    target: &Target,
    guards: Guards,
) {
    for function in ffi::functions(ffi::module_ref(module)) {
        if !function.has_body() {
            continue;
        }
        let own = function.string_attribute_value("target-features");
        let base = own.unwrap_or_else(|| target.features());
        let dot = (guards.has(Guard::ByteProducts) && !has_dots(function)).then_some(DOT);
        let added = [features(target, guards), dot];
        let all = [Some(base.as_str()).filter(|base| !base.is_empty())];
        let all: Vec<&str> = all.into_iter().chain(added).flatten().collect();
        if added.iter().any(Option::is_some) {
            function.remove_string_attribute("target-features");
            function.string_attribute(context, "target-features", &all.join(","));
        }
    }
}

/// Returns true if the function has a dot product of its own.
pub(super) fn has_dots(function: Func<'_>) -> bool {
    function.instructions().into_iter().any(|instruction| {
        let callee = instruction.callee().map(Func::name);
        callee.is_some_and(|name| DOTS.iter().any(|dot| name.starts_with(dot)))
    })
}
