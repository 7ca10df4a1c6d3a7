//! Exit codes, the same as those of `splitbar`.

pub(crate) const DONE: u8 = 0;
pub(crate) const INVALID: u8 = 1;
pub(crate) const USAGE: u8 = 2;
pub(crate) const UNSUPPORTED: u8 = 3;
pub(crate) const BUG: u8 = 4;
