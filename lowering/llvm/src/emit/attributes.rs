//! What every function of a kernel says of how it is launched.

use super::build::Build;
use crate::ffi::Func;
use splitbar_plan::target::Arch;
use splitbar_plan::{EntryPlan, Placement, Target};

/// What a function must say about waves and workgroups to be called by the kernel of `plan`.
pub(super) fn target_attributes<'c>(
    b: &Build<'c>,
    target: &Target,
    plan: &EntryPlan,
    function: Func<'c>,
) {
    let context = b.context();
    if let Arch::Amdgpu(_) = target.arch {
        let total = plan.workgroup_size.map(|size| {
            size.iter()
                .fold(1u64, |n, d| n.saturating_mul(u64::from(*d)))
        });
        let sizes = total.map_or_else(
            || format!("1,{}", target.max_workgroup_size),
            |n| format!("{n},{n}"),
        );
        function.string_attribute(context, "amdgpu-flat-work-group-size", &sizes);
        function.string_attribute(context, "uniform-work-group-size", "true");
        // LLVM looks whether the attribute is there, not at its value.
        if plan.placement == Placement::ThreadgroupSplit {
            function.string_attribute(context, "amdgpu-tg-split", "")
        }
        if let Some(features) = target_features(target, plan) {
            function.string_attribute(context, "target-features", &features);
        }
    }
}

/// Features that every function of the kernel of `plan` is compiled with beside the target's own:
/// LLVM inlines none that has others, and compiles it for waves of another size.
pub(crate) fn target_features(target: &Target, plan: &EntryPlan) -> Option<String> {
    let wave = (plan.wave_size != target.default_wave_size())
        .then(|| format!("+wavefrontsize{}", plan.wave_size));
    let mode = match plan.placement {
        Placement::CuMode => Some("+cumode".to_owned()),
        Placement::Default | Placement::ThreadgroupSplit => None,
    };
    let features: Vec<String> = [wave, mode].into_iter().flatten().collect();
    (!features.is_empty()).then(|| features.join(","))
}
