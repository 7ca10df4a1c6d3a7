//! The operands of barriers as bits: decoding, encoding, and comparing the memory that they order.
//!
//! Bits, and not the decoded [`crate::module::Semantics`], because passes write operands back and
//! must keep every bit that they do not mean to change.

use super::edit::Edit;
use crate::diagnostic::{Code, Diagnostic};
use crate::module::{Declarations, Id, Inst};
use spirv::Op;

/// Scope Workgroup (SPIR-V 3.27).
pub(super) const WORKGROUP: u32 = 2;
/// Scope Subgroup.
pub(super) const SUBGROUP: u32 = 3;

/// Memory orders (SPIR-V 3.25).
pub(super) const ACQUIRE: u32 = 0x2;
pub(super) const RELEASE: u32 = 0x4;
pub(super) const ACQUIRE_RELEASE: u32 = 0x8;
pub(super) const SEQUENTIALLY_CONSISTENT: u32 = 0x10;
pub(super) const ORDERS: u32 = 0x1e;
pub(super) const CLASSES: u32 = 0x1fc0;
pub(super) const IMAGE_MEMORY: u32 = 0x800;
pub(super) const MAKE_AVAILABLE: u32 = 0x2000;
pub(super) const MAKE_VISIBLE: u32 = 0x4000;
pub(super) const VOLATILE: u32 = 0x8000;

/// Capability SplitBarrierEXT; the two names of its extension follow.
pub(super) const CAPABILITY: u32 = 6141;
pub(super) const EXTENSION_EXT: &str = "SPV_EXT_split_barrier";
pub(super) const EXTENSION_INTEL: &str = "SPV_INTEL_split_barrier";

/// Memory scope and semantics of one barrier, both known for good.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fence {
    pub(super) scope: u32,
    pub(super) bits: u32,
}

impl Fence {
    pub(super) fn releases(self) -> bool {
        self.bits & (RELEASE | ACQUIRE_RELEASE | SEQUENTIALLY_CONSISTENT) != 0
    }

    pub(super) fn acquires(self) -> bool {
        self.bits & (ACQUIRE | ACQUIRE_RELEASE | SEQUENTIALLY_CONSISTENT) != 0
    }

    /// The weakest that orders all that `self` and `other` order: classes of both, the wider memory
    /// scope. A side whose semantics are None has no scope to speak of: SPIR-V ignores it. `None`
    /// for ShaderCallKHR against another scope: neither contains the other.
    pub(super) fn union(self, other: Fence) -> Option<Fence> {
        if other.bits == 0 {
            return Some(self);
        }
        if self.bits == 0 {
            return Some(other);
        }
        let releases = self.releases() || other.releases();
        let acquires = self.acquires() || other.acquires();
        let order = if (self.bits | other.bits) & SEQUENTIALLY_CONSISTENT != 0 {
            SEQUENTIALLY_CONSISTENT
        } else {
            order(releases, acquires)
        };
        let scope = match (width(self.scope), width(other.scope)) {
            _ if self.scope == other.scope => self.scope,
            (Some(mine), Some(theirs)) if mine > theirs => self.scope,
            (Some(_), Some(_)) => other.scope,
            (None, _) | (_, None) => return None,
        };
        Some(Fence {
            scope,
            bits: (self.bits | other.bits) & !ORDERS | order,
        })
    }

    /// The half of it that belongs to an arrive: what it releases.
    pub(super) fn release_half(self) -> Fence {
        let bits = if self.releases() {
            RELEASE | self.bits & (CLASSES | MAKE_AVAILABLE)
        } else {
            0
        };
        Fence { bits, ..self }
    }

    /// The half of it that belongs to a wait: what it acquires.
    pub(super) fn acquire_half(self) -> Fence {
        let bits = if self.acquires() {
            ACQUIRE | self.bits & (CLASSES | MAKE_VISIBLE)
        } else {
            0
        };
        Fence { bits, ..self }
    }

    /// Returns true if it orders all that `other` orders.
    pub(super) fn covers(self, other: Fence) -> bool {
        let kept = CLASSES | MAKE_AVAILABLE | MAKE_VISIBLE | VOLATILE | SEQUENTIALLY_CONSISTENT;
        let scope = self.scope == other.scope
            || matches!((width(self.scope), width(other.scope)), (Some(mine), Some(theirs)) if mine >= theirs);
        other.bits & ORDERS == 0 && other.bits & VOLATILE == 0
            || (scope
                && (self.releases() || !other.releases())
                && (self.acquires() || !other.acquires())
                && other.bits & kept & !self.bits == 0)
    }
}

/// The order that releases and acquires.
fn order(releases: bool, acquires: bool) -> u32 {
    match (releases, acquires) {
        (true, true) => ACQUIRE_RELEASE,
        (true, false) => RELEASE,
        (false, true) => ACQUIRE,
        (false, false) => 0,
    }
}

/// How much a memory scope contains, by rank.
fn width(scope: u32) -> Option<u32> {
    [4, SUBGROUP, WORKGROUP, 5, 1, 0]
        .iter()
        .zip(0..)
        .find_map(|(known, rank)| (*known == scope).then_some(rank))
}

/// The value of the constant `id` of a 32-bit integer type; `None` for a specialization constant,
/// whose value may still change.
pub(super) fn literal(declarations: &Declarations<'_>, id: Id) -> Option<u32> {
    let def = declarations.module.def(id)?;
    let ty = declarations.module.def(def.result_type()?)?;
    if ty.op() != Some(Op::TypeInt) || ty.operand(0).ok() != Some(32) {
        return None;
    }
    match def.op()? {
        Op::Constant => def.operand(0).ok(),
        Op::ConstantNull => Some(0),
        _ => None, // a specialization constant, or no constant
    }
}

/// Execution scope of an arrive, a wait or an OpControlBarrier, when it is known for good.
pub(super) fn execution(declarations: &Declarations<'_>, inst: Inst<'_>) -> Option<u32> {
    literal(declarations, inst.id(0).ok()?)
}

/// Memory scope and semantics of an arrive, a wait or an OpControlBarrier, when both are known for
/// good.
pub(super) fn fence(declarations: &Declarations<'_>, inst: Inst<'_>) -> Option<Fence> {
    Some(Fence {
        scope: literal(declarations, inst.id(1).ok()?)?,
        bits: literal(declarations, inst.id(2).ok()?)?,
    })
}

/// As [`fence`].
///
/// # Errors
/// `UnsupportedInstruction` when a specialization constant gives an operand.
pub(super) fn known_fence(
    declarations: &Declarations<'_>,
    inst: Inst<'_>,
) -> Result<Fence, Diagnostic> {
    fence(declarations, inst).ok_or_else(|| {
        Diagnostic::error(
            Code::UnsupportedInstruction,
            format!(
                "the memory scope and semantics of this {} cannot be changed",
                declarations.op_name(inst)
            ),
        )
        .at_word(inst.offset)
        .because("they depend on specialization constants whose values are unknown")
        .help("specialize the module first")
    })
}

/// Words of an arrive, a wait or an OpControlBarrier with a new fence; constants that are missing
/// are added.
pub(super) fn barrier_operands(
    edit: &mut Edit<'_, '_>,
    execution: u32,
    fence: Fence,
) -> Result<[u32; 3], Diagnostic> {
    Ok([
        edit.number(execution)?,
        edit.number(fence.scope)?,
        edit.number(fence.bits)?,
    ])
}

/// Returns true if the semantics of a barrier set an order.
pub(super) fn is_ordered(fence: Fence) -> bool {
    fence.bits & ORDERS != 0
}

/// Returns true if `inst` is an arrive or a wait.
pub(super) fn is_split(inst: Inst<'_>) -> bool {
    matches!(
        inst.op(),
        Some(Op::ControlBarrierArriveINTEL | Op::ControlBarrierWaitINTEL)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fence(scope: u32, bits: u32) -> Fence {
        Fence { scope, bits }
    }

    #[test]
    fn union_takes_classes_of_both_and_the_wider_scope() {
        assert_eq!(fence(2, 0x104).union(fence(1, 0x42)), Some(fence(1, 0x148)));
        assert_eq!(
            fence(2, 0).union(fence(1, 0x42)),
            Some(fence(1, 0x42)),
            "None has no scope"
        );
        assert_eq!(fence(2, 0x104).union(fence(4, 0)), Some(fence(2, 0x104)));
        assert_eq!(
            fence(2, 0x110).union(fence(2, 0x102)),
            Some(fence(2, 0x110))
        );
        assert_eq!(fence(2, 0x104).union(fence(6, 0x102)), None);
        assert_eq!(
            fence(5, 0x2104).union(fence(2, 0x4102)),
            Some(fence(5, 0x6108))
        );
    }

    #[test]
    fn halves_put_together_are_the_whole() {
        for bits in [0x108, 0x6148, 0x104, 0x2104, 0x102, 0x4102, 0] {
            let whole = fence(2, bits);
            assert_eq!(
                whole
                    .release_half()
                    .union(whole.acquire_half())
                    .map(|f| f.bits),
                Some(bits)
            );
        }
        assert_eq!(fence(2, 0x6110).release_half().bits, 0x2104);
        assert_eq!(fence(2, 0x6110).acquire_half().bits, 0x4102);
    }

    #[test]
    fn covering_is_an_order() {
        let strong = fence(1, 0x148);
        assert!(
            strong.covers(fence(2, 0x108))
                && strong.covers(fence(5, 0x42))
                && strong.covers(strong)
        );
        assert!(!strong.covers(fence(2, 0x908)), "another class");
        assert!(!strong.covers(fence(0, 0x108)), "a wider scope");
        assert!(!fence(2, 0x104).covers(fence(2, 0x108)), "no acquire");
        assert!(!strong.covers(fence(2, 0x2108)), "no availability");
        assert!(fence(2, 0).covers(fence(0, 0)) && !fence(2, 0).covers(fence(2, 0x102)));
    }
}
