//! Published modules as applications use them: with a workgroup size, where that is a
//! specialization constant whose default no application leaves.

use anyhow::{Result, anyhow};
use spirv::{Decoration, Op};
use splitbar_passes::module::{Declarations, Module, SpecValues};
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::registry::{FREEZE_SPECIALIZATION_CONSTANTS, PassOptions};
use std::collections::BTreeMap;

/// The invocations of a workgroup, in a row, where the module says nothing better.
const WIDTH: u32 = 64;

/// The module with the values of its specialization constants in place of their uses; `None` where
/// it has none.
///
/// # Errors
/// Modules that the pass refuses.
pub(crate) fn sized(original: &Declarations<'_>) -> Result<Option<Module<'static>>> {
    let values = PassOptions::Values {
        spec: workgroup(original),
        workgroup_size: None,
    };
    let step = Step {
        pass: FREEZE_SPECIALIZATION_CONSTANTS,
        options: values,
    };
    let rewritten = pipeline::rewrite(original, &[step], Settings::default(), &mut |_, _| ());
    let rewritten = rewritten.map_err(|_| anyhow!("constants cannot be frozen"))?;
    Ok(rewritten.edited.map(|edited| edited.module))
}

/// Values for the dimensions of a workgroup that are specialization constants of default 0 or 1:
/// the greatest default of another constant with the same SpecId, by which the code reckons.
fn workgroup(original: &Declarations<'_>) -> SpecValues {
    let mut dimensions = SpecValues::default();
    original.specialize_workgroup_size([WIDTH, 1, 1], &mut dimensions);
    let mut defaults: BTreeMap<u32, u32> = BTreeMap::new();
    for inst in original.module.instructions() {
        let spec = inst
            .result()
            .and_then(|id| original.decoration(id, Decoration::SpecId));
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
