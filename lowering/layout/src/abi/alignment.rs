//! The alignment of tables of descriptors.

use splitbar_passes::analysis::layout::{Alignment, BUFFER_ALIGN};
use splitbar_target::{Arch, Target};

/// What LLVM is told of the alignment of texture and surface objects. With more it loads the
/// objects of an array side by side, and then does not know what it has (docs/llvm.md).
const HANDLE_ALIGN: Alignment = Alignment::POINTER;

/// Alignment that the address of a table of descriptors is known to have. Hosts align to
/// 16 for all targets; of tables that hold handles NVPTX may know no more than their own alignment.
pub fn table_align(target: &Target) -> Alignment {
    match target.arch {
        Arch::Amdgpu(_) => BUFFER_ALIGN,
        Arch::Nvptx(_) => HANDLE_ALIGN,
    }
}
