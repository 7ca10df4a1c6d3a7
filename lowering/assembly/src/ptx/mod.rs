//! PTX text.
//!
//! ```text
//! text -> lex -> parse -> syntax -> functions, pressure
//! ```
//!
//! Read are modules as LLVM and nvcc write them (PTX ISA 9.1). What the opcodes mean is left to
//! those who ask.

mod access;
mod error;
mod functions;
mod lex;
mod parse;
mod pressure;
mod registers;
pub mod syntax;

pub use access::{Access, access};
pub use error::SyntaxError;
pub(crate) use functions::ROLES;
pub use functions::functions;
pub use parse::module;
pub use pressure::{Pressure, RegisterEstimate, estimate_registers, pressure};
pub use registers::{Role, each_register};
