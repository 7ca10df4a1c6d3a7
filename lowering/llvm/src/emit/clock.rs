//! OpReadClockKHR (SPV_KHR_shader_clock): the clock that a subgroup counts its own progress with,
//! or one for the whole device that counts in a constant rate.

use super::function::FunctionEmitter;
use super::{Handled, Result};
use splitbar_passes::module::{Inst, Scope};
use splitbar_plan::target::Arch;

/// Lowers OpReadClockKHR; the result is a 64-bit integer, or its two words.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<Handled> {
    let name = match Scope::evaluate(inst.id(0)?, inst, e.module.constants)? {
        Scope::Subgroup => "llvm.readcyclecounter",
        // A workgroup's waves may run on units with counters of their own: the device's clock is
        // the one that they share.
        Scope::Workgroup | Scope::Device => {
            if let Arch::Amdgpu(gpu) = &e.module.target.arch
                && !gpu.real_time_clock
            {
                return Err(e.unsupported_on_target(inst, "a clock for the whole device"));
            }
            "llvm.readsteadycounter"
        }
        scope => {
            let why =
                format!("the scope is {scope}; only Subgroup, Workgroup and Device have clocks");
            return Err(e.unsupported(inst, why));
        }
    };
    let value = e.b.intrinsic(name, &[], &[])?;
    let value = e.b.bitcast(value, e.result_ty(inst)?)?;
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}
