//! The storage buffer that an instrumentation writes: whether a module can have one, and whether
//! its place is free.

use crate::diagnostic::{Code, Diagnostic};
use crate::module::{Declarations, Id};
use spirv::{Capability, Decoration};

/// Refuses modules without descriptors.
///
/// # Errors
/// `UnsupportedCapability` for OpenCL kernels.
pub(super) fn refuse_kernels(declarations: &Declarations<'_>) -> Result<(), Diagnostic> {
    if declarations.has_capability(Capability::Shader)
        && !declarations.has_capability(Capability::Kernel)
    {
        return Ok(());
    }
    Err(Diagnostic::error(
        Code::UnsupportedCapability,
        "the instrumentation needs a storage buffer, but OpenCL kernels have no descriptors",
    )
    .because("the module does not declare Shader, or also declares Kernel")
    .help("instrument the kernel compiled for Vulkan"))
}

/// The variables at a set and binding.
pub(super) fn variables_at(declarations: &Declarations<'_>, set: u32, binding: u32) -> Vec<Id> {
    let variables = declarations.variables.iter().map(|variable| variable.id);
    variables
        .filter(|id| {
            declarations.decoration(*id, Decoration::DescriptorSet) == Some(set)
                && declarations.decoration(*id, Decoration::Binding) == Some(binding)
        })
        .collect()
}

/// That `variable` is at the set and binding where the buffer should go.
pub(super) fn occupied(
    declarations: &Declarations<'_>,
    variable: Id,
    set: u32,
    binding: u32,
) -> Diagnostic {
    let place = declarations.module.def(variable).map(|def| def.offset);
    Diagnostic::error(
        Code::UnsupportedInstruction,
        format!("{variable} already uses set {set}, binding {binding}"),
    )
    .at_word(place)
    .because("the instrumentation needs a separate buffer")
    .help("choose a set and a binding that the module does not use")
}
