//! The registers that an instruction of PTX defines and uses, by their names in the text.
//!
//! Source: PTX ISA, the syntax of each instruction. The simulator declares the same with its
//! decoded operations; its tests compare the two.

use super::syntax::{Base, Instruction, Operand};

/// The use of a register in an instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It reads it.
    Use,
    /// It writes it.
    Definition,
}

/// Opcodes, up to the first point, whose first operand is none that they write, though it is a
/// register.
const WITHOUT_RESULT: &[&str] = &[
    "bar",
    "barrier",
    "bra",
    "brx",
    "exit",
    "membar",
    "mbarrier",
    "nanosleep",
    "ret",
    "setmaxnreg",
    "trap",
];

/// Calls `act` with every name of an operand of `inst`, uses before definitions. Names of
/// variables, labels and special registers are among them.
pub fn each_register<'t>(inst: &'t Instruction<'t>, act: &mut impl FnMut(&'t str, Role)) {
    let base = inst.opcode.split('.').next().unwrap_or(inst.opcode);
    let writes = !WITHOUT_RESULT.contains(&base)
        || inst.opcode.contains(".red.")
        || base == "mbarrier"
            && ["arrive", "wait"]
                .iter()
                .any(|what| inst.opcode.contains(what))
        || base == "mbarrier" && inst.opcode.contains("pending_count");
    let (first, others) = match inst.operands.split_first() {
        Some((first, others)) if writes => (Some(first), others),
        _ => (None, inst.operands.as_slice()),
    };
    if let Some((guard, _)) = inst.guard {
        act(guard, Role::Use);
    }
    others
        .iter()
        .for_each(|operand| names(operand, Role::Use, act));
    if let Some(first) = first {
        names(first, Role::Definition, act);
    }
}

fn names<'t>(operand: &'t Operand<'t>, kind: Role, act: &mut impl FnMut(&'t str, Role)) {
    match operand {
        Operand::Name(name, _) => act(name, kind),
        Operand::Not(name) => act(name, Role::Use),
        Operand::Pair(one, other) => [one, other].into_iter().for_each(|name| act(name, kind)),
        Operand::Address(Base::Name(name), _) => act(name, Role::Use),
        Operand::Texel(base, places) => {
            if let Base::Name(name) = base {
                act(name, Role::Use);
            }
            places.iter().for_each(|place| names(place, Role::Use, act));
        }
        Operand::List(list) => list.iter().for_each(|one| names(one, kind, act)),
        Operand::Address(Base::Number, _)
        | Operand::Integer(_)
        | Operand::Single(_)
        | Operand::Double(_)
        | Operand::Nothing
        | Operand::Other => {}
    }
}
