//! The treatment of an enumerant by the compiler.

use crate::diagnostic::Code;

/// The treatment of an enumerant.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The code is what it asks for; where that is seen to.
    Honoured(&'static str),
    /// The code is right with and without it; why.
    NoEffect(&'static str),
    /// A module that has it where it matters is refused.
    Refused(Code),
}
