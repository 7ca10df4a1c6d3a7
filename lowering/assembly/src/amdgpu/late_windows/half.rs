//! The halves of the barrier of the workgroup.

/// Half of the barrier of the workgroup.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Signal,
    Wait,
}

impl Half {
    /// Other barriers, and a signal that says whether it was the first, stay where they are.
    pub(super) fn parse(mnemonic: &str, operands: &str) -> Option<Half> {
        match (mnemonic, operands) {
            ("s_barrier_signal", "-1") => Some(Half::Signal),
            ("s_barrier_wait", "-1" | "0xffff") => Some(Half::Wait),
            _ => None,
        }
    }
}
