//! Code that the suites share: the check language, the fixtures, their host references, and the
//! tools.
//!
//! Nothing here knows LLVM, so that this part builds and tests in seconds; the suite in
//! `tests/suite` links it.

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
