//! The accesses that the barriers of a workgroup order.
//!
//! An arrive at which all before it is released, and a wait behind which all after it is acquired,
//! order the accesses before the arrive (A) before those behind the wait (C) in all invocations of
//! the workgroup. Accesses in the window (B) they do not order. So an arrive may move up over an
//! access of A when no access of C conflicts with it, and a wait down over one of C when none of A
//! does; every barrier is executed by the whole workgroup or not at all (VUID 13558), in one order.
//!
//! How far A and C reach. Neighbours order what they order: what stands in front of the arrive of
//! the pair before is before its wait, and so before this barrier in any case. What stands in the
//! window of the pair before is not. A therefore reaches back to the arrive of the last barrier
//! that surely orders the memory in question, and C forward to the wait of the next ([`Zones`]).
//!
//! What conflicts: two accesses to memory that may be the same, one of them a write
//! ([`MemoryRegions::meets`]), of classes that the barrier's semantics name, or those of an
//! OpMemoryBarrier of the entry point: with one beside it a barrier without semantics orders what
//! the other names. An atomic operation that may tell invocations of other workgroups what this
//! invocation has seen conflicts with everything ([`Effect::publishes`]): locations alone do not
//! show cumulativity.
//!
//! [`still_ordered`] asks the same question once more and in another way, of two versions of a
//! module.

mod aliasing;
mod body;
mod effects;
mod memory_regions;
pub(crate) mod mutant;
mod narrowed;
mod openness;
mod ordered;
mod own;
mod zones;

pub use aliasing::Aliasing;
pub use body::{Barrier, Body, Item, Role, Side};
pub use effects::{Effect, Effects};
pub use memory_regions::MemoryRegions;
pub use narrowed::Narrowed;
pub use openness::{Open, Openness};
pub use ordered::still_ordered;
pub use own::Own;
pub use zones::Zones;
