//! Memory that invocations share, in parts that are told apart.

use crate::module::Classes;
use std::ops::{BitAnd, BitOr, BitOrAssign};

/// A set of parts of the shared memory.
///
/// Buffers, CrossWorkgroup memory and images are one part each; Workgroup memory is a part for each
/// of the first variables, and one for all that follow.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(u64);

/// The first of the bits of Workgroup variables.
const FIRST_VARIABLE: u32 = 3;

impl Places {
    /// No memory.
    pub const NONE: Places = Places(0);
    /// All memory.
    pub const ALL: Places = Places(u64::MAX);
    /// Storage buffers, uniform buffers that are written, and physical addresses.
    pub const BUFFERS: Places = Places(1);
    /// OpenCL's global memory.
    pub const CROSS_WORKGROUP: Places = Places(2);
    /// Images and texel buffers.
    pub const IMAGES: Places = Places(4);
    /// Tensors: whatever orders buffers or images orders them.
    pub const TENSORS: Places = Places(1 | 4);
    /// Everything that lives longer than the workgroup.
    pub const GLOBAL: Places = Places(7);
    /// All Workgroup variables.
    pub const WORKGROUP: Places = Places(!7);

    /// Workgroup variable number `number`.
    pub fn variable(number: u32) -> Places {
        Places(1 << number.saturating_add(FIRST_VARIABLE).min(63))
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
    /// buffer or image can be bound in many places.
    pub fn meets(self, other: Places) -> bool {
        let both_global =
            !(self & Places::GLOBAL).is_empty() && !(other & Places::GLOBAL).is_empty();
        both_global || !(self & other).is_empty()
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
