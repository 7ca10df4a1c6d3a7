//! Code that the suites share: the check language, the fixtures, their host references, and the
//! tools.
//!
//! The crate does not use LLVM, so it builds and tests in seconds. The suite in `tests/suite` links
//! LLVM.

pub mod corpus;
pub mod exchanges;
pub mod features;
pub mod fixture;
pub mod joint_matrices;
pub mod launch;
pub mod matrices;
pub mod matrix_operations;
pub mod opencl;
pub mod pipelines;
pub mod random;
pub mod reference;
pub mod sampling;
pub mod schema;
pub mod shapes;
pub mod tangles;
pub mod tensor_layouts;
pub mod tools;
pub mod undefined;

pub use splitbar_harness as harness;
pub use splitbar_harness::check;
