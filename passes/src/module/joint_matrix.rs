//! The instructions of SPV_INTEL_joint_matrix (revision 16), which work on cooperative matrices of
//! SPV_KHR_cooperative_matrix. The `spirv` crate does not know them; their numbers are those of the
//! specification in intel/llvm, which LLVM and SPIRV-LLVM-Translator have too.

use super::{Id, Inst};

pub use super::nameless::{
    APPLY_FUNCTION, BFLOAT16_CAPABILITY, CHECKED_CAPABILITY, CONSTRUCT_CHECKED, GET_ELEMENT_COORD,
    INVOCATION_CAPABILITY, LOAD_CHECKED, PACKED_CAPABILITY, PREFETCH, PREFETCH_CAPABILITY,
    STORE_CHECKED, TF32_CAPABILITY,
};

/// The Cooperative Matrix Layout PackedINTEL.
pub const PACKED: u32 = 2;
/// The bytes that PackedINTEL puts together: elements of one column.
pub const PACKED_BYTES: u32 = 4;

/// Cooperative Matrix Operands: A and B are TF32 in 32 bits.
pub const FACTORS_TF32: u32 = 0x20;
/// Cooperative Matrix Operands: A and B are bfloat16 in 16-bit integers.
pub const FACTORS_BFLOAT16: u32 = 0x40;
/// Cooperative Matrix Operands: so is C.
pub const SUMMAND_BFLOAT16: u32 = 0x80;
/// Cooperative Matrix Operands: so is the result.
pub const RESULT_BFLOAT16: u32 = 0x100;

/// The operands of a checked load or store.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CheckedAccess {
    /// True if it is a store.
    pub is_store: bool,
    /// The pointer to the region of memory.
    pub pointer: Id,
    /// The offset of the matrix in the region, in elements: the line, and the place in it.
    pub offsets: [Id; 2],
    /// Lines of the region, and elements of each.
    pub size: [Id; 2],
    /// The stored value.
    pub object: Option<Id>,
    /// The number of the layout among the operands.
    pub layout: usize,
    /// The number of the stride, which memory operands follow.
    pub stride: usize,
}

impl CheckedAccess {
    /// `None`: `inst` is another instruction, or operands are missing.
    pub fn from_inst(inst: Inst<'_>) -> Option<CheckedAccess> {
        let is_store = match inst.opcode() {
            LOAD_CHECKED => false,
            STORE_CHECKED => true,
            _ => return None,
        };
        let id = |index: usize| inst.id(index).ok();
        let layout = 3 + usize::from(is_store);
        Some(CheckedAccess {
            is_store,
            pointer: id(0)?,
            offsets: [id(1)?, id(2)?],
            size: [id(layout + 1)?, id(layout + 2)?],
            object: if is_store { Some(id(3)?) } else { None },
            layout,
            stride: layout + 3,
        })
    }
}
