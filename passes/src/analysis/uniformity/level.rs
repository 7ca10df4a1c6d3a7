//! The invocations that a value may be the same for.

/// Whose invocations are compared.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Those of a workgroup.
    Workgroup,
    /// Those of a subgroup.
    Subgroup,
}

/// Built-ins that have one value in a workgroup or a subgroup (SPIR-V 3.21).
pub(super) fn is_uniform_input(built_in: u32, level: Level) -> bool {
    use spirv::BuiltIn;
    const OF_WORKGROUP: &[BuiltIn] = &[
        BuiltIn::NumWorkgroups,
        BuiltIn::WorkgroupSize,
        BuiltIn::WorkgroupId,
        BuiltIn::WorkDim,
        BuiltIn::GlobalSize,
        BuiltIn::EnqueuedWorkgroupSize,
        BuiltIn::GlobalOffset,
        BuiltIn::NumSubgroups,
        BuiltIn::NumEnqueuedSubgroups,
        BuiltIn::SubgroupMaxSize,
        BuiltIn::DeviceIndex,
    ];
    const OF_SUBGROUP: &[BuiltIn] = &[BuiltIn::SubgroupId, BuiltIn::SubgroupSize];
    let is = |list: &[BuiltIn]| list.iter().any(|known| *known as u32 == built_in);
    is(OF_WORKGROUP) || (level == Level::Subgroup && is(OF_SUBGROUP))
}
