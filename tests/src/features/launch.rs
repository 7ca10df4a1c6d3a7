//! The launch that every feature is tested in.

/// Invocations of a launch; each has operands of its own.
pub const INVOCATIONS: usize = 256;

/// Invocations of a workgroup.
pub const WORKGROUP: usize = 64;

/// What a host function may ask of the launch.
#[derive(Copy, Clone, Debug)]
pub struct Launch {
    /// Invocations of a subgroup.
    pub subgroup: usize,
}
