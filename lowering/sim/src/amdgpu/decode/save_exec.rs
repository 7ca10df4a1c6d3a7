//! Scalar instructions that save EXEC and change it.

use super::super::inst::Op;
use super::super::operand::Operand;
use super::super::table::scalar;

pub(super) fn save_exec(name: &str, operands: &[Operand]) -> Option<Op> {
    let (stem, registers) = match (name.strip_suffix("_b32"), name.strip_suffix("_b64")) {
        (Some(stem), _) => (stem, 1),
        (_, Some(stem)) => (stem, 2),
        (None, None) => return None,
    };
    let stem = stem.strip_prefix("s_")?;
    let (stem, wrexec) = match (stem.strip_suffix("_saveexec"), stem.strip_suffix("_wrexec")) {
        (Some(stem), _) => (stem, false),
        (_, Some(stem)) => (stem, true),
        (None, None) => return None,
    };
    let (_, compute) = scalar::SAVE_EXEC.iter().find(|(name, _)| *name == stem)?;
    Some(Op::SaveExec {
        compute: *compute,
        dst: *operands.first()?,
        src: *operands.get(1)?,
        registers,
        wrexec,
    })
}
