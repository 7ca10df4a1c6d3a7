//! The signal and the wait of the workgroup barrier.

/// The signal or the wait of the workgroup barrier.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Signal,
    Wait,
}

impl Half {
    /// Other barriers, and a signal that returns whether it was the first, do not move.
    pub(super) fn parse(mnemonic: &str, operands: &str) -> Option<Half> {
        match (mnemonic, operands) {
            ("s_barrier_signal", "-1") => Some(Half::Signal),
            ("s_barrier_wait", "-1" | "0xffff") => Some(Half::Wait),
            _ => None,
        }
    }
}
