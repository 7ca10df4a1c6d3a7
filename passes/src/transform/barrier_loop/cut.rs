//! Blocks that copies have cut in two.

use crate::diagnostic::Diagnostic;
use crate::module::Function;
use crate::transform::edit::Edit;
use spirv::Op;
use std::collections::BTreeMap;

/// By label of a block that was cut: the label of its last part.
pub(in crate::transform) type Cuts = BTreeMap<u32, u32>;

/// Phis that name a block which was cut take their values from its last part.
pub(in crate::transform) fn rename_phis(
    edit: &mut Edit<'_, '_>,
    function: &Function<'_>,
    cuts: &Cuts,
) -> Result<(), Diagnostic> {
    for phi in &function.phis {
        let mut operands = phi.words.get(1..).unwrap_or(&[]).to_vec();
        for from in operands.iter_mut().skip(3).step_by(2) {
            if let Some(last) = cuts.get(from) {
                *from = *last;
            }
        }
        if phi.words.get(1..) != Some(&operands) {
            edit.replace(phi.offset, Op::Phi, &operands)?;
        }
    }
    Ok(())
}
