//! The treatment of every decoration, execution mode, memory operand, image operand, control,
//! floating-point mode, built-in, storage class and capability of the grammar that a kernel can
//! have: one table, `docs/enumerants.md` as text. None is dropped silently: each is lowered, has no
//! effect on code for a reason, or is rejected with a code.
//!
//! Enumerations are matched without a default, so that a grammar with one more row does not
//! compile; a test holds the rows of masks against their types.

mod capability;
mod check;
mod decoration;
mod mode;
mod operand;
mod outcome;
#[cfg(test)]
mod page;
mod variable;

use crate::diagnostic::Code;
pub use outcome::Outcome;

pub use capability::capability;
pub use check::check;
pub use decoration::decoration;
pub use mode::{denorm_mode, execution_mode, operation_mode, rounding_mode};
pub use variable::{built_in, storage_class};

/// Capabilities that the grammar in use does not name, whose instructions are reported where they
/// stand.
const NAMELESS: [std::ops::RangeInclusive<u32>; 5] = [
    4228..=4232, // SPV_EXT_ocp_microscaling_types
    6192..=6192, // SPV_INTEL_joint_matrix, and the next two
    6411..=6411,
    6434..=6437,
    6912..=6919, // SPV_VALVE_mixed_float_dot_product
];

/// The outcome for the capability with this number; one that the grammar does not have is rejected.
pub fn capability_number(number: u32) -> Outcome {
    match spirv::Capability::from_u32(number) {
        Some(one) => capability(one),
        None if NAMELESS.iter().any(|numbers| numbers.contains(&number)) => {
            Outcome::NoEffect("it permits instructions, which are checked where they occur")
        }
        None => Outcome::Refused(Code::UnsupportedCapability),
    }
}
