//! The launch that every feature is tested in.

/// Invocations of a launch; each has its own operands.
pub const INVOCATIONS: usize = 256;

/// Invocations of a workgroup.
pub const WORKGROUP: usize = 64;

/// Properties of the launch for a host function.
#[derive(Copy, Clone, Debug)]
pub struct Launch {
    /// Invocations of a subgroup.
    pub subgroup: usize,
}
