//! Memory that invocations share, in parts that are told apart.

use crate::module::Classes;
use std::ops::{BitAnd, BitOr, BitOrAssign};

/// A set of parts of the shared memory.
///
/// Buffers, CrossWorkgroup memory and images have a part each for accesses of which the variable is
/// not known, or that may be to the memory of any, and a part for each of the first variables.
/// Workgroup memory is a part for each of the first variables, and one for all that follow.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryRegions(u128);

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
fn one((first, count): Pool, number: u32) -> MemoryRegions {
    MemoryRegions(1 << (first + number.min(count - 1)))
}

impl MemoryRegions {
    /// No memory.
    pub const NONE: MemoryRegions = MemoryRegions(0);
    /// All memory.
    pub const ALL: MemoryRegions = MemoryRegions(u128::MAX);
    /// Storage buffers, uniform buffers that are written, and physical addresses.
    pub const BUFFERS: MemoryRegions = MemoryRegions(all(1, BUFFERS));
    /// OpenCL's global memory.
    pub const CROSS_WORKGROUP: MemoryRegions = MemoryRegions(all(2, CROSS_WORKGROUP));
    /// Images and texel buffers.
    pub const IMAGES: MemoryRegions = MemoryRegions(all(4, IMAGES));
    /// Tensors: whatever orders buffers or images orders them.
    pub const TENSORS: MemoryRegions =
        MemoryRegions(MemoryRegions::BUFFERS.0 | MemoryRegions::IMAGES.0);
    /// Everything that lives longer than the workgroup.
    pub const GLOBAL: MemoryRegions =
        MemoryRegions(MemoryRegions::TENSORS.0 | MemoryRegions::CROSS_WORKGROUP.0);
    /// All Workgroup variables.
    pub const WORKGROUP: MemoryRegions = MemoryRegions(all(0, WORKGROUP));
    /// Of the global memory, what may be the memory of any variable.
    const ANY: MemoryRegions = MemoryRegions(7);

    /// Workgroup variable number `number`.
    pub fn variable(number: u32) -> MemoryRegions {
        one(WORKGROUP, number)
    }

    /// Buffer number `number`, of those that overlap no other.
    pub(super) fn buffer(number: u32) -> MemoryRegions {
        one(BUFFERS, number)
    }

    /// Image number `number`, of those that overlap no other.
    pub(super) fn image(number: u32) -> MemoryRegions {
        one(IMAGES, number)
    }

    /// What pointer number `number` to CrossWorkgroup memory leads to, of those that overlap no
    /// other.
    pub(super) fn cross_workgroup(number: u32) -> MemoryRegions {
        one(CROSS_WORKGROUP, number)
    }

    /// The memory to which memory semantics with `classes` apply (SPIR-V 3.25).
    pub fn from_classes(classes: Classes) -> MemoryRegions {
        let part = |named: bool, places| if named { places } else { MemoryRegions::NONE };
        part(classes.uniform, MemoryRegions::BUFFERS)
            | part(classes.workgroup, MemoryRegions::WORKGROUP)
            | part(classes.cross_workgroup, MemoryRegions::CROSS_WORKGROUP)
            | part(classes.image, MemoryRegions::IMAGES)
    }

    /// Returns true if there is none.
    pub fn is_empty(self) -> bool {
        self == MemoryRegions::NONE
    }

    /// All but `other`.
    #[must_use]
    pub fn without(self, other: MemoryRegions) -> MemoryRegions {
        MemoryRegions(self.0 & !other.0)
    }

    /// Returns true if memory of `self` may be memory of `other`. Workgroup variables do not
    /// overlap; one buffer or image can be bound in many places, so what is not a variable that
    /// overlaps no other may be any of them.
    pub fn meets(self, other: MemoryRegions) -> bool {
        let has = |places: MemoryRegions, part| !(places & part).is_empty();
        let may_be_any = has(self, MemoryRegions::ANY) && has(other, MemoryRegions::GLOBAL)
            || has(other, MemoryRegions::ANY) && has(self, MemoryRegions::GLOBAL);
        may_be_any || has(self, other)
    }
}

impl BitOr for MemoryRegions {
    type Output = MemoryRegions;

    fn bitor(self, other: MemoryRegions) -> MemoryRegions {
        MemoryRegions(self.0 | other.0)
    }
}

impl BitOrAssign for MemoryRegions {
    fn bitor_assign(&mut self, other: MemoryRegions) {
        *self = *self | other;
    }
}

impl BitAnd for MemoryRegions {
    type Output = MemoryRegions;

    fn bitand(self, other: MemoryRegions) -> MemoryRegions {
        MemoryRegions(self.0 & other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_do_not_overlap_and_buffers_do() {
        let (first, second) = (MemoryRegions::variable(0), MemoryRegions::variable(1));
        assert!(
            !first.meets(second) && first.meets(first) && first.meets(MemoryRegions::WORKGROUP)
        );
        assert!(MemoryRegions::variable(60).meets(MemoryRegions::variable(4_000)));
        assert!(!MemoryRegions::variable(59).meets(MemoryRegions::variable(60)));
        assert!(
            MemoryRegions::BUFFERS.meets(MemoryRegions::IMAGES)
                && !MemoryRegions::BUFFERS.meets(first)
        );
        assert!(!MemoryRegions::NONE.meets(MemoryRegions::ALL));
    }

    #[test]
    fn buffers_that_overlap_no_other_meet_themselves_and_what_may_be_any() {
        let kinds = [
            MemoryRegions::buffer,
            MemoryRegions::image,
            MemoryRegions::cross_workgroup,
        ];
        for (at, kind) in kinds.iter().enumerate() {
            let (first, second) = (kind(0), kind(1));
            assert!(first.meets(first) && !first.meets(second));
            assert!(first.meets(MemoryRegions::BUFFERS) && MemoryRegions::GLOBAL.meets(first));
            assert!(kind(40).meets(kind(4_000)) && !kind(0).meets(kind(40)));
            for other in &kinds[at + 1..] {
                assert!(!first.meets(other(0)) && !kind(4_000).meets(other(0)));
            }
            assert!(!first.meets(MemoryRegions::WORKGROUP));
        }
        assert_eq!(
            MemoryRegions::ALL,
            MemoryRegions::GLOBAL | MemoryRegions::WORKGROUP
        );
    }

    #[test]
    fn semantics_name_places() {
        let classes = Classes {
            uniform: true,
            workgroup: true,
            ..Classes::default()
        };
        assert_eq!(
            MemoryRegions::from_classes(classes),
            MemoryRegions::BUFFERS | MemoryRegions::WORKGROUP
        );
        assert_eq!(
            MemoryRegions::ALL.without(MemoryRegions::WORKGROUP),
            MemoryRegions::GLOBAL
        );
    }
}
