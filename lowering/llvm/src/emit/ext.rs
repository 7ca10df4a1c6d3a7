//! OpExtInst: from the imported set to the room that lowers it.

use super::function::FunctionEmitter;
use super::{Handled, Result, ext_amd, ext_glsl, ext_opencl};
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::{ExtInstSet, Inst};

/// Lowers an OpExtInst. Instructions of debug and non-semantic sets do nothing.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<Handled> {
    let set = inst.id(0)?;
    let number = inst.operand(1)?;
    let (name, handled) = match e.module.declarations.ext_inst_sets.get(&set) {
        Some(ExtInstSet::Glsl450) => ("GLSL.std.450", ext_glsl::emit(e, inst, number)?),
        Some(ExtInstSet::OpenCl) => ("OpenCL.std", ext_opencl::emit(e, inst, number)?),
        Some(ExtInstSet::Amd(name)) => (name.as_str(), ext_amd::emit(e, inst, name, number)?),
        Some(ExtInstSet::NonSemantic) => return Ok(Handled::Yes),
        Some(ExtInstSet::Other(name)) => (name.as_str(), Handled::No),
        None => return Err(e.mismatch(inst, format!("{set} is not an imported instruction set"))),
    };
    if handled == Handled::Yes {
        return Ok(Handled::Yes);
    }
    let called = match e.module.declarations.ext_inst_sets.get(&set) {
        Some(ExtInstSet::Glsl450) => {
            spirv::GlslStd450Op::from_u32(number).map(|op| format!("{op:?}"))
        }
        Some(ExtInstSet::OpenCl) => {
            spirv::OpenclStd100Op::from_u32(number).map(|op| format!("{op:?}"))
        }
        _ => None,
    };
    let called = called.unwrap_or_else(|| format!("instruction {number}"));
    Err(Box::new(
        Diagnostic::error(
            Code::UnsupportedExtendedInstruction,
            format!("{called} of {name} is not lowered"),
        )
        .at_word(inst.offset)
        .help("use core instructions instead (docs/instructions.md)"),
    ))
}
