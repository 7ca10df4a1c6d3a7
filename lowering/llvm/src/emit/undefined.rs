//! Values for what SPIR-V leaves undefined. LLVM's `undef` and `poison` are no values: it deletes
//! what a branch on one dominates, and a division by zero with all that leads to it. A kernel has
//! to go on with some value instead, as on every driver, so each source gives one where the
//! analysis (`splitbar_passes::analysis::undefined`) does not exclude it.

use super::Result;
use super::function::FunctionEmitter;
use super::slots::Slot;
use crate::ffi::{Opcode, Value};
use splitbar_passes::analysis::undefined::Cause;
use splitbar_passes::module::{Id, Inst};
use splitbar_plan::target::Arch;

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// Returns true if the result of `inst` may be undefined, whatever its operands.
    pub(super) fn may_be_undefined(&self, inst: Inst<'_>) -> bool {
        inst.result()
            .is_some_and(|result| self.undefined.cause(result).is_some())
    }

    /// Freezes the result of `inst` if it may be undefined and its family has not made it a value.
    pub(super) fn settle(&mut self, inst: Inst<'_>) {
        let Some(result) = inst.result() else { return };
        match self.undefined.cause(result) {
            Some(
                Cause::FieldBeyondWidth { .. }
                | Cause::ComponentBeyondVector { .. }
                | Cause::NumberDoesNotFit
                | Cause::PlaceBeyondArray
                | Cause::SignedQuotient
                | Cause::BitBeyondBallot { .. },
            ) => {
                if let Slot::Value(value) = self.slot(result) {
                    let frozen = self.b.raw().freeze(value);
                    self.set(result, Slot::Value(frozen));
                }
            }
            // The family's work: `constant`, `shift`, `divisor`.
            Some(Cause::Unspecified | Cause::ShiftBeyondWidth | Cause::ZeroDivisor) | None => {
                if self.undefined.loads_unwritten(result)
                    && let Slot::Value(value) = self.slot(result)
                {
                    let frozen = self.b.raw().freeze(value);
                    self.set(result, Slot::Value(frozen));
                }
            }
        }
    }

    /// Gives the variable `id` at `address`, which has no initial value, zeros if it may be read
    /// before it is written. LLVM drops them again where it finds the write.
    pub(super) fn give_contents(&self, id: Id, address: Value<'c>, bytes: u64, align: u32) {
        if self.undefined.is_read_unwritten(id) {
            let zero = self.b.int_type(8).zero();
            self.b.raw().memset(address, zero, self.b.i64(bytes), align);
        }
    }
}

/// A shift by an amount that may be the width or more. AMD's instructions take the low bits of the
/// amount, and LLVM knows it, so to say that costs nothing. NVIDIA's do not, and the result is
/// frozen.
pub(super) fn shift<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    opcode: Opcode,
    base: Value<'c>,
    amount: Value<'c>,
) -> Result<Value<'c>> {
    let (b, ty) = (e.b, base.ty());
    match e.module.target.arch {
        Arch::Amdgpu(_) if ty.scalar_bits().is_power_of_two() => {
            let low = b.int(ty, u64::from(ty.scalar_bits()) - 1)?;
            b.binary(opcode, base, b.and(amount, low)?)
        }
        Arch::Amdgpu(_) | Arch::Nvptx(_) => {
            let shifted = b.binary(opcode, base, amount)?;
            Ok(b.raw().freeze(shifted))
        }
    }
}

/// The divisor of `inst`, or 1 in the place of 0. A signed quotient that does not fit stays poison
/// to LLVM, which is frozen: LLVM deletes no code for its sake, and a guard costs several
/// instructions.
pub(super) fn divisor<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let divisor = e.operand(inst, 1)?;
    let ty = divisor.ty();
    if e.may_be_undefined(inst) {
        e.b.intrinsic("llvm.umax", &[ty], &[divisor, e.b.int(ty, 1)?])
    } else {
        Ok(divisor)
    }
}
