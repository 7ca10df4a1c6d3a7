//! Guards against faults of LLVM's AMDGPU code generator that are rewrites of the module
//! (`splitbar_plan::faults` lists the faults, docs/llvm.md is the list as text).

mod features;
mod hide;
mod loop_exits;
mod scaled_offset;
mod shape;
mod values;

pub(crate) use features::{features, set_features};
pub(crate) use values::hide_masked_ids;

use crate::ffi::{self, Func, RawBuilder};
use inkwell::context::Context;
use inkwell::module::Module;
use shape::Shape;
use splitbar_plan::Target;
use splitbar_plan::faults::{Guard, Guards};
use splitbar_plan::target::{Arch, Matrix};

/// Rewrites what the code generator would get wrong. To be called on AMDGPU after the optimiser.
pub(crate) fn rewrite(context: &Context, module: &Module<'_>, target: &Target, guards: Guards) {
    let builder = RawBuilder::new(context);
    let functions = ffi::functions(ffi::module_ref(module));
    for function in functions.into_iter().filter(|f| Func::has_body(*f)) {
        if guards.has(Guard::LoopExits) {
            loop_exits::hide(&builder, function, &Shape::summarize(function));
        }
        if guards.has(Guard::ScaledOffset) && scales_offsets(target) {
            scaled_offset::hide(&builder, function, &Shape::summarize(function));
        }
        if guards.has(Guard::NanSelect) {
            values::hide_selected(&builder, function);
        }
        if guards.has(Guard::ZeroMinus) {
            values::hide_differences(&builder, function);
        }
        if guards.has(Guard::MaskedId) {
            values::hide_ids(&builder, function);
        }
        if guards.has(Guard::PackedExtremes) && lacks_packed_extremes(target) {
            values::hide_packed_extremes(&builder, function);
        }
        if guards.has(Guard::ByteProducts) && features::has_dots(function) {
            values::hide_products(&builder, function);
        }
    }
}

/// Returns true if LLVM puts a multiplication of the offset into the access itself. It does so on
/// the GPUs whose copies to workgroup memory have a counter, and on what follows them.
fn scales_offsets(target: &Target) -> bool {
    match target.arch {
        Arch::Amdgpu(gpu) => gpu.cluster_barrier,
        Arch::Nvptx(_) => false,
    }
}

/// Returns true if LLVM selects minima and maxima of three vectors of 16-bit integers that it has
/// no encoding for: on the first GPUs behind gfx12.5, which have no matrix products yet.
fn lacks_packed_extremes(target: &Target) -> bool {
    match target.arch {
        Arch::Amdgpu(gpu) => gpu.kmcnt && gpu.matrix == Matrix::None,
        Arch::Nvptx(_) => false,
    }
}
