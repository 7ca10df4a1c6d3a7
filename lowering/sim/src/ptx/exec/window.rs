//! The state spaces in the generic address space, and the functions of addresses and atomics that
//! only this machine needs.
//!
//! Global and constant memory are generic addresses themselves; the other spaces have windows (PTX
//! ISA, "Generic Addressing").

use crate::ptx::arith::{Arguments, Mode};

/// Bytes of a window.
pub(crate) const LENGTH: u64 = 1 << 32;
/// Where shared memory begins.
pub(crate) const SHARED: u64 = 0x7000_0000_0000_0000;
/// Where a lane's local memory begins.
pub(crate) const LOCAL: u64 = 0x7100_0000_0000_0000;
/// Where the parameters begin.
pub(crate) const PARAM: u64 = 0x7200_0000_0000_0000;
/// Where the variables of the module begin.
pub(crate) const VARIABLES: u64 = 0x6000_0000_0000_0000;
/// Distance of two variables of the module.
pub(crate) const STRIDE: u64 = 1 << 36;
/// In the parameter space, what lies at this address and above is in the lane's local memory:
/// parameters of functions, and of calls.
pub(crate) const PARAM_IN_LOCAL: u64 = 1 << 31;

/// `isspacep`: whether `a` lies in the window at `b` with `c` bytes.
pub(crate) fn contains(_: &Mode, [a, base, length, _]: Arguments) -> u64 {
    u64::from(a.wrapping_sub(base) < length)
}

/// `atom.exch`: the new value.
pub(crate) fn second(_: &Mode, [_, b, ..]: Arguments) -> u64 {
    b
}

/// `atom.inc`: up to `b`, then 0 again.
pub(crate) fn increment(m: &Mode, [old, b, ..]: Arguments) -> u64 {
    if old >= b { 0 } else { m.low(old + 1) }
}

/// `atom.dec`: down to 0, then `b`; also `b` from above it.
pub(crate) fn decrement(m: &Mode, [old, b, ..]: Arguments) -> u64 {
    if old == 0 || old > b {
        m.low(b)
    } else {
        old - 1
    }
}
