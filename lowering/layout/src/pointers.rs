//! The memory of pointers: the address spaces of the targets, and arrays of descriptors.

use crate::types::{Kind, Types};
use spirv::{Decoration, StorageClass};
use splitbar_passes::analysis::layout::{self, Alignment, BUFFER_ALIGN};
use splitbar_passes::module::{Declarations, Id};
use splitbar_target::{Arch, Target};

/// The address space of buffers.
pub const GLOBAL: u32 = 1;

/// The address space of read-only data that a host passes.
pub fn read_only_space(target: &Target) -> u32 {
    match target.arch {
        Arch::Amdgpu(_) => 4,
        Arch::Nvptx(_) => GLOBAL,
    }
}

/// The address space of blocks that are passed by value.
pub fn block_space(target: &Target) -> u32 {
    match target.arch {
        Arch::Amdgpu(_) => 4,
        Arch::Nvptx(_) => 0,
    }
}

/// The address space of a storage class, as LLVM numbers them; `None` when the class is not
/// lowered.
///
/// AMDGPU: global 1, LDS 3, constant 4, private 5 (LLVM AMDGPUUsage, "Address Spaces"). NVPTX:
/// global 1, shared 3, and 0 (generic) for the stack, whose allocas LLVM makes local by itself;
/// read-only data stays in global memory there because a host passes global addresses.
pub fn address_space(target: &Target, class: StorageClass) -> Option<u32> {
    use StorageClass as S;
    Some(match class {
        S::Function | S::Private | S::Input => match target.arch {
            Arch::Amdgpu(_) => 5,
            Arch::Nvptx(_) => 0,
        },
        S::Workgroup => 3,
        S::StorageBuffer | S::Uniform | S::CrossWorkgroup | S::PhysicalStorageBuffer => GLOBAL,
        S::UniformConstant => read_only_space(target),
        S::PushConstant => block_space(target),
        S::Generic => 0,
        _ => return None,
    })
}

/// Alignment that the address of a buffer must have whose content is of the type
/// `pointee`.
///
/// AMD GPUs read and write unaligned vectors as fast, so that only what the content is aligned to
/// is asked for. NVIDIA GPUs do not, and LLVM makes vectors of neighbouring accesses only where it
/// knows the alignment.
pub fn buffer_align(types: &Types, target: &Target, pointee: Option<Id>) -> Alignment {
    let natural = pointee.and_then(|ty| types.get(ty)).map(|info| info.align);
    match (&target.arch, natural) {
        (Arch::Amdgpu(_), Some(natural)) => layout::buffer_align(natural),
        _ => BUFFER_ALIGN,
    }
}

/// Returns true if a pointer of class `class` to `pointee` is one to an array of descriptors: one
/// or more arrays of a block.
pub fn is_descriptor_array(
    types: &Types,
    declarations: &Declarations<'_>,
    class: StorageClass,
    pointee: Option<Id>,
) -> bool {
    if !matches!(class, StorageClass::StorageBuffer | StorageClass::Uniform) {
        return false;
    }
    let mut ty = pointee;
    let mut arrays = 0;
    // Types are nested finitely.
    loop {
        match ty.and_then(|t| types.get(t)).map(|info| &info.kind) {
            Some(Kind::Array { element, .. } | Kind::RuntimeArray { element }) => {
                arrays += 1;
                ty = Some(*element);
            }
            Some(Kind::Struct { .. }) => {
                let has = |decoration| {
                    ty.is_some_and(|t| declarations.decoration(t, decoration).is_some())
                };
                return arrays > 0 && (has(Decoration::Block) || has(Decoration::BufferBlock));
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use splitbar_passes::enumerants::{Outcome, storage_class};

    /// A class has memory or values exactly where the table says that it is honoured; texels have
    /// no address.
    #[test]
    fn storage_classes_are_as_the_table_has_them() {
        for target in ["gfx1100", "sm_90"] {
            let target = Target::by_name(target).unwrap();
            for class in (0..1 << 13).filter_map(StorageClass::from_u32) {
                let honoured = matches!(storage_class(class), Outcome::Honoured(_));
                let placed = address_space(target, class).is_some() || class == StorageClass::Image;
                assert_eq!(honoured, placed, "{class:?}");
            }
        }
    }
}
