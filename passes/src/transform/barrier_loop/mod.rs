//! Loops with barriers, and what of an iteration can be computed for another one: what
//! `prefetch-barrier-loop-loads` and `pipeline-barrier-loops` have in common.
//!
//! A loop has one way in, one way back, and a barrier that every iteration comes to first
//! (`shape.rs`). What some loads and stores of the part before that barrier (`region.rs`) need is a
//! slice (`slice.rs`), which is copied for another iteration (`copy.rs`). The values that iteration
//! begins with are computed from this one's (`values.rs`),
//! and those of iterations further ahead from these (`iterations.rs`).

pub(super) mod arrays;
pub(super) mod copy;
pub(super) mod cut;
pub(super) mod iterations;
pub(super) mod kept;
pub(super) mod names;
pub(super) mod private;
pub(super) mod reason;
pub(super) mod region;
pub(super) mod scratch;
pub(super) mod shape;
pub(super) mod slice;
pub(super) mod unfailing;
pub(super) mod unused;
pub(super) mod values;
