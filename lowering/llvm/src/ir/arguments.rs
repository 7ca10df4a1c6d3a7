//! The arguments of a kernel that somebody else wrote, where its parameters place them.

use crate::ffi::{self, Func, ModuleRef, Value};
use splitbar_plan::target::Arch;
use splitbar_typed::abi::{Argument, ArgumentKind};

/// The arguments of `function`, in order. Each stands at the next multiple of the alignment of its
/// type: LLVM AMDGPUUsage, "Kernarg Segment"; PTX ISA, "Kernel Function Parameters".
pub(super) fn arguments<'c>(
    module: ModuleRef<'c>,
    function: Func<'c>,
    arch: &Arch,
) -> Vec<Argument> {
    let mut end = 0u32;
    (0..)
        .zip(function.params())
        .map(|(index, parameter)| {
            let (size, align) = room(module, function, index, parameter);
            let offset = end.next_multiple_of(align.max(1));
            end = offset.saturating_add(size);
            let kind = kind(function, index, parameter, arch);
            let address_align =
                (kind == ArgumentKind::Buffer).then(|| function.param_align(index).unwrap_or(1));
            Argument {
                index,
                kind,
                set: None,
                binding: None,
                size,
                offset,
                align,
                address_align,
            }
        })
        .collect()
}

/// The type that lies in the argument block where parameter `index` is the address of its part.
fn contents<'c>(function: Func<'c>, index: u32) -> Option<ffi::Ty<'c>> {
    let mut names = ["byref", "byval"].iter();
    names.find_map(|name| function.param_type(index, name))
}

/// Bytes and alignment of parameter `index`.
fn room<'c>(
    module: ModuleRef<'c>,
    function: Func<'c>,
    index: u32,
    parameter: Value<'c>,
) -> (u32, u32) {
    let inside = contents(function, index);
    let ty = inside.unwrap_or(parameter.ty());
    let size = u32::try_from(ffi::size_of_type(module, ty)).unwrap_or(u32::MAX);
    let own = ffi::align_of_type(module, ty);
    let asked = inside.and_then(|_| function.param_align(index));
    (size, asked.unwrap_or(own))
}

/// What the launch gives for parameter `index`. Address spaces: as in `skeleton/values.rs`.
fn kind<'c>(function: Func<'c>, index: u32, parameter: Value<'c>, arch: &Arch) -> ArgumentKind {
    let ty = parameter.ty();
    if contents(function, index).is_some() || !ty.is_pointer() {
        return ArgumentKind::Value;
    }
    match (arch, ty.address_space()) {
        (_, 3) => ArgumentKind::SharedAddress,
        (_, 0 | 1) | (Arch::Amdgpu(_), 4 | 6) | (Arch::Nvptx(_), 4) => ArgumentKind::Buffer,
        _ => ArgumentKind::Value,
    }
}
