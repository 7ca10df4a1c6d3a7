//! Facts of instructions: one row for each opcode and each extended instruction that a GLCompute or
//! Kernel module can have. Each analysis, rule and pass asks these rows which memory an instruction
//! reads, writes or points to, and whether it is pure, atomic, a barrier or a group operation.
//!
//! `core` has the rows of the core instructions and of extensions, `refused` the instructions
//! that are refused by name, `glsl`, `opencl` and `amd` the extended instructions.
//! `docs/facts.md` shows all of it. Scope and semantics operands are not in the rows: the grammar
//! knows them ([`SyncOperands`]).

mod amd;
mod core;
mod glsl;
mod opencl;
#[cfg(test)]
mod page;
mod query;
mod refused;
mod row;
mod sync;
#[cfg(test)]
mod tests;

pub use query::Chain;
pub use row::{
    Access, Address, Atomic, Barrier, Calls, Class, Consequence, Extent, Facts, Group, Operand,
    Role, Undefined, When,
};
use row::{behaviour, facts, image, pointer, tensor, value};
pub use sync::SyncOperands;

/// The facts of an opcode, for the grammar; [`super::Inst::facts`] is the way to ask.
pub(super) fn of_opcode(opcode: u16) -> &'static Facts {
    core::row_of(opcode)
}
