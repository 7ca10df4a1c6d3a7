//! Memory that invocations share, in parts that are told apart.

use crate::module::Classes;
use std::ops::{BitAnd, BitOr, BitOrAssign};

/// A set of parts of the shared memory.
///
/// Buffers, CrossWorkgroup memory and images have a part each for accesses of which the variable is
/// not known, or that may be to the memory of any, and a part for each of the first variables.
/// Workgroup memory is a part for each of the first variables, and one for all that follow.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(u128);

/// The bits of the variables of one kind: the first, and how many. The last is for all that follow.
type Pool = (u32, u32);

const BUFFERS: Pool = (3, 32);
const IMAGES: Pool = (35, 16);
const CROSS_WORKGROUP: Pool = (51, 16);
const WORKGROUP: Pool = (67, 61);

/// The parts of a kind of memory: `any`, and those of its variables.
const fn all(any: u128, (first, count): Pool) -> u128 {
    any | (((1 << count) - 1) << first)
}

/// The part of variable number `number` of a kind.
fn one((first, count): Pool, number: u32) -> Places {
    Places(1 << (first + number.min(count - 1)))
}

impl Places {
    /// No memory.
    pub const NONE: Places = Places(0);
    /// All memory.
    pub const ALL: Places = Places(u128::MAX);
    /// Storage buffers, uniform buffers that are written, and physical addresses.
    pub const BUFFERS: Places = Places(all(1, BUFFERS));
    /// OpenCL's global memory.
    pub const CROSS_WORKGROUP: Places = Places(all(2, CROSS_WORKGROUP));
    /// Images and texel buffers.
    pub const IMAGES: Places = Places(all(4, IMAGES));
    /// Tensors: whatever orders buffers or images orders them.
    pub const TENSORS: Places = Places(Places::BUFFERS.0 | Places::IMAGES.0);
    /// Everything that lives longer than the workgroup.
    pub const GLOBAL: Places = Places(Places::TENSORS.0 | Places::CROSS_WORKGROUP.0);
    /// All Workgroup variables.
    pub const WORKGROUP: Places = Places(all(0, WORKGROUP));
    /// Of the global memory, what may be the memory of any variable.
    const ANY: Places = Places(7);

    /// Workgroup variable number `number`.
    pub fn variable(number: u32) -> Places {
        one(WORKGROUP, number)
    }

    /// Buffer number `number`, of those that overlap no other.
    pub(super) fn buffer(number: u32) -> Places {
        one(BUFFERS, number)
    }

    /// Image number `number`, of those that overlap no other.
    pub(super) fn image(number: u32) -> Places {
        one(IMAGES, number)
    }

    /// What pointer number `number` to CrossWorkgroup memory leads to, of those that overlap no
    /// other.
    pub(super) fn cross_workgroup(number: u32) -> Places {
        one(CROSS_WORKGROUP, number)
    }

    /// What semantics with `classes` speak of (SPIR-V 3.25).
    pub fn of(classes: Classes) -> Places {
        let part = |named: bool, places| if named { places } else { Places::NONE };
        part(classes.uniform, Places::BUFFERS)
            | part(classes.workgroup, Places::WORKGROUP)
            | part(classes.cross_workgroup, Places::CROSS_WORKGROUP)
            | part(classes.image, Places::IMAGES)
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self == Places::NONE
    }

    /// All but `other`.
    #[must_use]
    pub fn without(self, other: Places) -> Places {
        Places(self.0 & !other.0)
    }

    /// Whether memory of `self` may be memory of `other`. Workgroup variables do not overlap; one
    /// buffer or image can be bound in many places, so what is not a variable that overlaps no
    /// other may be any of them.
    pub fn meets(self, other: Places) -> bool {
        let has = |places: Places, part| !(places & part).is_empty();
        let may_be_any = has(self, Places::ANY) && has(other, Places::GLOBAL)
            || has(other, Places::ANY) && has(self, Places::GLOBAL);
        may_be_any || has(self, other)
    }
}

impl BitOr for Places {
    type Output = Places;

    fn bitor(self, other: Places) -> Places {
        Places(self.0 | other.0)
    }
}

impl BitOrAssign for Places {
    fn bitor_assign(&mut self, other: Places) {
        *self = *self | other;
    }
}

impl BitAnd for Places {
    type Output = Places;

    fn bitand(self, other: Places) -> Places {
        Places(self.0 & other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_do_not_overlap_and_buffers_do() {
        let (first, second) = (Places::variable(0), Places::variable(1));
        assert!(!first.meets(second) && first.meets(first) && first.meets(Places::WORKGROUP));
        assert!(Places::variable(60).meets(Places::variable(4_000)));
        assert!(!Places::variable(59).meets(Places::variable(60)));
        assert!(Places::BUFFERS.meets(Places::IMAGES) && !Places::BUFFERS.meets(first));
        assert!(!Places::NONE.meets(Places::ALL));
    }

    #[test]
    fn buffers_that_overlap_no_other_meet_themselves_and_what_may_be_any() {
        let kinds = [Places::buffer, Places::image, Places::cross_workgroup];
        for (at, kind) in kinds.iter().enumerate() {
            let (first, second) = (kind(0), kind(1));
            assert!(first.meets(first) && !first.meets(second));
            assert!(first.meets(Places::BUFFERS) && Places::GLOBAL.meets(first));
            assert!(kind(40).meets(kind(4_000)) && !kind(0).meets(kind(40)));
            for other in &kinds[at + 1..] {
                assert!(!first.meets(other(0)) && !kind(4_000).meets(other(0)));
            }
            assert!(!first.meets(Places::WORKGROUP));
        }
        assert_eq!(Places::ALL, Places::GLOBAL | Places::WORKGROUP);
    }

    #[test]
    fn semantics_name_places() {
        let classes = Classes {
            uniform: true,
            workgroup: true,
            ..Classes::default()
        };
        assert_eq!(Places::of(classes), Places::BUFFERS | Places::WORKGROUP);
        assert_eq!(Places::ALL.without(Places::WORKGROUP), Places::GLOBAL);
    }
}
