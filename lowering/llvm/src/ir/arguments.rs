//! The arguments of a kernel that somebody else wrote, where its parameters place them.

use crate::emit::Result;
use crate::ffi::{self, Func, ModuleRef, Value};
use splitbar_layout::abi::{Argument, ArgumentKind, MAX_BLOCK_BYTES};
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_plan::target::Arch;

/// The arguments of `function`, the kernel `name`, in order. Each stands at the next multiple of
/// the alignment of its type: LLVM AMDGPUUsage, "Kernarg Segment"; PTX ISA, "Kernel Function
/// Parameters".
///
/// # Errors
/// `BlockTooLarge` for more bytes than are passed by value.
pub(super) fn arguments<'c>(
    module: ModuleRef<'c>,
    function: Func<'c>,
    name: &str,
    arch: &Arch,
) -> Result<Vec<Argument>> {
    let mut end = 0u64;
    (0..)
        .zip(function.params())
        .map(|(index, parameter)| {
            let (size, align) = room(module, function, index, parameter);
            let offset = end.next_multiple_of(u64::from(align.max(1)));
            let fits = offset
                .checked_add(size)
                .filter(|end| *end <= MAX_BLOCK_BYTES);
            end = fits.ok_or_else(|| too_large(name, index))?;
            // What ends below that limit begins below it.
            let [size, offset] = [size, offset].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
            let kind = kind(function, index, parameter, arch);
            let pointee_align = (kind == ArgumentKind::GlobalBuffer)
                .then(|| function.param_align(index).unwrap_or(1));
            Ok(Argument {
                index,
                kind,
                set: None,
                binding: None,
                size,
                offset,
                align,
                pointee_align,
            })
        })
        .collect()
}

fn too_large(name: &str, index: u32) -> Box<Diagnostic> {
    let message = format!(
        "with parameter {index} the kernel `{name}` takes more than {MAX_BLOCK_BYTES} bytes of \
         arguments"
    );
    Box::new(Diagnostic::error(Code::BlockTooLarge, message).help("move large data to a buffer"))
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
) -> (u64, u32) {
    let inside = contents(function, index);
    let ty = inside.unwrap_or(parameter.ty());
    let size = ffi::size_of_type(module, ty);
    let own = ffi::align_of_type(module, ty);
    let asked = inside.and_then(|_| function.param_align(index));
    (size, asked.unwrap_or(own))
}

/// What the launch gives for parameter `index`. Address spaces: as in `skeleton/values.rs`.
fn kind<'c>(function: Func<'c>, index: u32, parameter: Value<'c>, arch: &Arch) -> ArgumentKind {
    let ty = parameter.ty();
    if contents(function, index).is_some() || !ty.is_pointer() {
        return ArgumentKind::ByValue;
    }
    match (arch, ty.address_space()) {
        (_, 3) => ArgumentKind::DynamicSharedPointer,
        (_, 0 | 1) | (Arch::Amdgpu(_), 4 | 6) | (Arch::Nvptx(_), 4) => ArgumentKind::GlobalBuffer,
        _ => ArgumentKind::ByValue,
    }
}
