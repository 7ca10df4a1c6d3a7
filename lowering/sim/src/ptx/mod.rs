//! PTX: text to a program of dense operations, and what one warp does with them.
//!
//! ```text
//! text -> lex -> parse (syntax) -> decode (program) -> execution on the machine
//! ```

pub mod lex;
pub mod parse;
mod problem;
pub mod syntax;

pub use problem::{Problem, ProblemKind};
