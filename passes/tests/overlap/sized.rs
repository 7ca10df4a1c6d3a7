//! Published modules as applications use them: with a workgroup size, where that is a
//! specialization constant whose default no application leaves.

use crate::workgroup::usual_workgroup;
use anyhow::{Result, anyhow};
use splitbar_passes::module::{Declarations, Module};
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::registry::{FREEZE_SPECIALIZATION_CONSTANTS, PassOptions};

/// The invocations of a workgroup, in a row, where the module says nothing better.
const WIDTH: u32 = 64;

/// The module with the values of its specialization constants in place of their uses; `None` where
/// it has none.
///
/// # Errors
/// Modules that the pass refuses.
pub(crate) fn sized(original: &Declarations<'_>) -> Result<Option<Module<'static>>> {
    let values = PassOptions::Values {
        spec: usual_workgroup(original, [WIDTH, 1, 1]),
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
