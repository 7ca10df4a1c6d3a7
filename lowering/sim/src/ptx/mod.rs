//! PTX: text to a program of dense operations, and what one warp does with them.
//!
//! ```text
//! text -> splitbar-assembly (syntax) -> decode (program) -> exec: steps on the machine
//! ```
//!
//! Read are the PTX ISA 9.1's kernels as LLVM and nvcc write them; `exec::warp` says how lanes
//! diverge and meet. Clusters are one workgroup.

mod arith;
mod cost;
mod decode;
mod exec;
mod operand;
mod problem;
mod program;
mod roles;
mod touched;
mod types;

pub use decode::{kernel, kernels};
pub use exec::warp::Warp;
pub use problem::{Problem, ProblemKind};
pub use program::{Kernel, Parameter};
