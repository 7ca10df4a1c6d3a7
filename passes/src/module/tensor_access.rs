//! The operands of loads and stores of cooperative matrices through tensor layouts
//! (SPV_NV_cooperative_matrix2).

use super::grammar;
use super::{Id, Inst};
use rspirv::grammar::OperandKind;
use spirv::{Op, TensorAddressingOperands as Addressing};

/// A load or a store of a cooperative matrix through a tensor layout.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TensorAccess {
    /// True if it is a store.
    pub is_store: bool,
    /// The pointer to the tensor.
    pub pointer: Id,
    /// The stored value, or the value that a load keeps where its view clips.
    pub object: Id,
    /// The tensor layout.
    pub layout: Id,
    /// The number of the memory operands' mask among the operands.
    pub memory: usize,
    /// The tensor view.
    pub view: Option<Id>,
    /// The function that makes an element from what lies in memory.
    pub decode: Option<Id>,
    /// The bits of the mask that no specification names.
    pub unknown: u32,
}

impl TensorAccess {
    /// `None`: `inst` is another instruction, or operands are missing.
    pub fn from_inst(inst: Inst<'_>) -> Option<TensorAccess> {
        let is_store = match inst.op()? {
            Op::CooperativeMatrixLoadTensorNV => false,
            Op::CooperativeMatrixStoreTensorNV => true,
            _ => return None,
        };
        let id = |index: usize| inst.id(index).ok();
        let memory = 3;
        let mask = behind_mask(inst, memory, OperandKind::MemoryAccess)?;
        let bits = *inst.operands().get(mask)?;
        let mut next = mask;
        let mut operand = |bit: Addressing| {
            if bits & bit.bits() == 0 {
                return Some(None);
            }
            next += 1;
            id(next).map(Some)
        };
        Some(TensorAccess {
            is_store,
            pointer: id(0)?,
            object: id(1)?,
            layout: id(2)?,
            memory,
            view: operand(Addressing::TENSOR_VIEW)?,
            decode: operand(Addressing::DECODE_FUNC)?,
            unknown: bits & !Addressing::all().bits(),
        })
    }
}

/// The index behind the mask at operand `index` and the parameters of its bits.
fn behind_mask(inst: Inst<'_>, index: usize, kind: OperandKind) -> Option<usize> {
    let bits = *inst.operands().get(index)?;
    let (class, _) = grammar::parameter_class(kind)?;
    let set = (0..32).map(|at| 1 << at).filter(|bit| bits & bit != 0);
    let parameters: usize = set.map(|bit| grammar::parameters(class, bit).len()).sum();
    Some(index + 1 + parameters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::WordOffset;

    fn of(operands: &[u32]) -> Option<TensorAccess> {
        let op = Op::CooperativeMatrixStoreTensorNV as u32;
        let mut words = vec![(operands.len() as u32 + 1) << 16 | op];
        words.extend(operands);
        let inst = Inst {
            offset: WordOffset::FIRST,
            words: &words,
        };
        TensorAccess::from_inst(inst)
    }

    #[test]
    fn operands_follow_their_masks() {
        let plain = of(&[1, 2, 3, 0, 0]);
        assert_eq!(
            plain.map(|access| (access.view, access.decode)),
            Some((None, None))
        );
        // Aligned 16, MakePointerAvailable %4, NonPrivatePointer; TensorView %5, DecodeFunc %6.
        let full = of(&[1, 2, 3, 0x2 | 0x8 | 0x20, 16, 4, 3, 5, 6]);
        assert_eq!(
            full.map(|access| (access.view, access.decode)),
            Some((Some(Id(5)), Some(Id(6))))
        );
        assert_eq!(of(&[1, 2, 3, 0, 4]).map(|access| access.unknown), Some(4));
    }

    #[test]
    fn missing_operands_are_no_access() {
        assert_eq!(of(&[1, 2, 3]), None);
        assert_eq!(of(&[1, 2, 3, 0]), None);
        assert_eq!(of(&[1, 2, 3, 0, 2]), None);
        assert_eq!(of(&[1, 2, 3, 2, 16]), None);
    }
}
