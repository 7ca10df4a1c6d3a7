//! Questions about a module: control flow, dominance, dataflow, and which wait belongs to which
//! arrive.
//!
//! An analysis answers and changes nothing. All of them are iterative and take graphs of any shape;
//! their cost grows almost linearly with the function, or a documented limit ends them.

pub mod alignment;
pub mod async_copy;
pub mod callgraph;
pub mod cfg;
pub mod components;
pub mod copy_order;
pub mod dataflow;
pub mod dominance;
pub mod group_copies;
pub mod guarded;
pub mod layout;
pub mod live;
pub mod loops;
pub mod marks;
pub mod pairing;
pub mod phases;
pub mod program;
pub mod qualifiers;
pub mod tangles;
pub mod undefined;
pub mod uniformity;
pub mod uses;
pub mod visible;
pub mod workgroup_memory;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
pub(crate) mod testing;
