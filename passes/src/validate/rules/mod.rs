//! The table of rules: a file for the checks of each family, and in `explain/` a text for each
//! rule.

mod atomics;
mod constants;
mod declarations;
mod definitions;
mod guarded;
mod image_operands;
mod images;
mod joint_matrices;
mod matrices;
mod opencl;
mod scopes;
mod semantics;
mod shared;
mod tensor_layouts;
mod tensors;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

pub use super::flow::rules::RULES as RUN_TIME_RULES;

use super::Rule;
use crate::diagnostic::Code;

/// Every static rule, in order of code within each family.
pub const RULES: &[&Rule] = &[
    &definitions::DOMINANCE,
    &definitions::PHI_PARENTS,
    &definitions::PHI_PLACE,
    &declarations::CAPABILITY,
    &declarations::EXTENSION,
    &declarations::BOTH_EXTENSIONS,
    &declarations::FOREIGN_EXTENSION,
    &declarations::SPLIT_MODEL,
    &declarations::CONTROL_MODEL,
    &shared::LIMIT,
    &scopes::TYPE,
    &scopes::CONSTANT,
    &scopes::VALUE,
    &scopes::SPLIT_EXECUTION,
    &scopes::EXECUTION,
    &scopes::WORKGROUP_EXECUTION,
    &scopes::MEMORY,
    &scopes::WORKGROUP_MEMORY,
    &scopes::SUBGROUP_VULKAN10,
    &scopes::QUEUE_FAMILY,
    &scopes::DEVICE,
    &scopes::INVOCATION,
    &scopes::SHADER_CALL,
    &scopes::GROUP,
    &scopes::GRAPHICS,
    &scopes::TESSELLATION,
    &opencl::SPLIT_SCOPE,
    &opencl::EXECUTION,
    &opencl::MEMORY,
    &opencl::BARRIER_12,
    &opencl::ATOMIC_12,
    &opencl::IMAGES,
    &opencl::ARRIVE,
    &opencl::WAIT,
    &semantics::TYPE,
    &semantics::CONSTANT,
    &semantics::UNKNOWN,
    &semantics::SEVERAL,
    &semantics::SEQUENTIAL,
    &semantics::STORE,
    &semantics::LOAD,
    &semantics::RELAXED,
    &semantics::NO_CLASS,
    &semantics::NO_ORDER,
    &semantics::AVAILABLE,
    &semantics::VISIBLE,
    &semantics::NEEDS_MODEL,
    &semantics::VOLATILE,
    &semantics::UNIFORM,
    &semantics::ARRIVE,
    &semantics::WAIT,
    &semantics::UNEQUAL_RELEASES,
    &semantics::UNEQUAL_STRONGER,
    &semantics::UNEQUAL_CLASSES,
    &atomics::RESULT,
    &atomics::POINTER,
    &atomics::CLASS,
    &atomics::VALUE,
    &atomics::INTEGER,
    &atomics::FLOAT,
    &atomics::NAMED,
    &tensors::TYPE,
    &tensors::ACCESS,
    &tensors::OPERANDS,
    &tensor_layouts::TYPE,
    &tensor_layouts::OPERAND,
    &tensor_layouts::ACCESS,
    &tensor_layouts::DECODE,
    &tensor_layouts::CAPABILITY,
    &matrices::OPERATION,
    &joint_matrices::OPERANDS,
    &joint_matrices::CAPABILITY,
    &images::SAMPLED_IMAGE,
    &image_operands::OPERANDS,
    &images::SAMPLE,
    &images::IMPLICIT,
    &guarded::PREDICATED,
    &guarded::MASKED,
    &guarded::CAPABILITY,
];

/// The rules that code generation depends on. No waiver covers them, and each checks the module as
/// a whole.
pub const REQUIRED: &[&Rule] = &[
    &definitions::DOMINANCE,
    &definitions::PHI_PARENTS,
    &definitions::PHI_PLACE,
];

/// Codes that are only reported as warnings and notes: a module that gets them is valid.
pub const LINTS: &[Code] = &[
    Code::FenceOutsideSplit,
    Code::BothSplitExtensions,
    Code::ForeignSplitExtension,
    Code::DanglingArrive,
    Code::DisjointClasses,
    Code::EmptyWindow,
    Code::BarrierInWindow,
    Code::WindowRace,
    Code::WindowWrite,
];

/// The rule with this code.
pub fn find(code: Code) -> Option<&'static Rule> {
    RULES
        .iter()
        .chain(RUN_TIME_RULES)
        .copied()
        .find(|rule| rule.code == code)
}
