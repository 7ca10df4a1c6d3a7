//! The division of a workgroup into subgroups.

/// The division of a workgroup into subgroups.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Waves {
    /// Invocations of a subgroup.
    pub size: u32,
    /// Subgroups of a workgroup, if that is known.
    pub subgroups: Option<u32>,
}
