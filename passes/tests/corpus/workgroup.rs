//! The size of the workgroups of a published module.

use spirv::{Decoration, Op};
use splitbar_passes::module::{Declarations, SpecValues};
use std::collections::BTreeMap;

/// Values for the dimensions of a workgroup that are specialization constants of default 0 or 1,
/// which no application leaves so: the greatest default of another constant with the same SpecId,
/// by which the code reckons, else the dimension of `size`.
pub(crate) fn usual_workgroup(declarations: &Declarations<'_>, size: [u32; 3]) -> SpecValues {
    let mut dimensions = SpecValues::default();
    declarations.specialize_workgroup_size(size, &mut dimensions);
    let mut defaults: BTreeMap<u32, u32> = BTreeMap::new();
    for inst in declarations.module.instructions() {
        let spec = inst
            .result()
            .and_then(|id| declarations.decoration(id, Decoration::SpecId));
        if let (Some(Op::SpecConstant), Some(spec), Ok(value)) = (inst.op(), spec, inst.operand(0))
        {
            let greatest = defaults.entry(spec).or_insert(value);
            *greatest = value.max(*greatest);
        }
    }
    for (id, value) in &mut dimensions.0 {
        if let Some(default) = defaults.get(id).filter(|default| **default > 1) {
            *value = u64::from(*default);
        }
    }
    dimensions
}
