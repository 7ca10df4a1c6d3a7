//! The kernel's parameters as LLVM has them.
//!
//! By-value blocks are `byref` in AMDGPU's kernarg segment and `byval` with `nvvm.grid_constant` on
//! NVPTX, so that both are read in place.

use super::types::Types;
use crate::ffi::{self, Func, Ty};
use inkwell::context::Context;
use splitbar_layout::abi::{Abi, Passing, Role};
use splitbar_plan::Target;
use splitbar_plan::target::Arch;

/// The type of a parameter; `None` when its SPIR-V type is not that of a value.
pub(crate) fn parameter<'c>(
    context: &'c Context,
    types: &Types<'c>,
    passing: Passing,
) -> Option<Ty<'c>> {
    Some(match passing {
        Passing::Pointer { space } | Passing::Block { space, .. } => {
            ffi::pointer_type(context, space)
        }
        Passing::Word => ffi::int_type(context, 32),
        Passing::Value(ty) => types.value(ty)?,
    })
}

/// Writes the attributes of the kernel's parameters.
pub(crate) fn attributes<'c>(abi: &Abi, function: Func<'c>, context: &'c Context, target: &Target) {
    for (index, parameter) in abi.parameters.iter().enumerate() {
        let index = index as u32;
        let block = match parameter.passing {
            Passing::Block { bytes, align, .. } => {
                Some((ffi::int_type(context, 8).array(bytes), align))
            }
            Passing::Pointer { .. } | Passing::Word | Passing::Value(_) => None,
        };
        match (block, &target.arch) {
            (Some((ty, align)), Arch::Amdgpu(_)) => {
                function.param_type_attribute(context, index, "byref", ty);
                function.param_attribute(context, index, "align", u64::from(align.bytes()));
            }
            (Some((ty, align)), Arch::Nvptx(_)) => {
                function.param_type_attribute(context, index, "byval", ty);
                function.param_attribute(context, index, "align", u64::from(align.bytes()));
                if matches!(parameter.role, Role::PushConstant(_)) {
                    function.param_string_attribute(context, index, "nvvm.grid_constant");
                }
            }
            (None, _) => {
                // An OpenCL kernel's own pointers are as aligned as its accesses say.
                let align = match parameter.role {
                    Role::Own(_) => None,
                    _ => parameter.argument.pointee_align,
                };
                if let Some(align) = align {
                    function.param_attribute(context, index, "align", u64::from(align));
                }
                if parameter.read_only {
                    function.param_attribute(context, index, "noalias", 0);
                    function.param_attribute(context, index, "readonly", 0);
                }
            }
        }
    }
}
