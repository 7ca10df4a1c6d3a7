//! Derivatives in compute shaders (SPV_KHR_compute_shader_derivatives): differences between the
//! invocations of a quad, which the entry point's execution mode says how to find. Undefined where
//! an invocation of the quad does not take part.
//!
//! Lanes count local invocations in order of their index. Four that follow each other are a linear
//! quad; in a square one the second row is a row of the workgroup further.

use super::build::Build;
use super::function::FunctionEmitter;
use super::lanes::Lanes;
use super::numeric::call1;
use super::{Handled, Result};
use crate::ffi::{IntPredicate, Value};
use spirv::{ExecutionMode, Op};
use splitbar_passes::module::Inst;

/// Lowers a derivative. The plain instructions are the fine ones, which Vulkan allows.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    let quad = Quad {
        b: e.b,
        row: row(e, inst)?,
        lanes: Lanes::of_wave(e, inst)?,
        value: e.operand(inst, 0)?,
    };
    let width = |coarse| -> Result<Value<'_>> {
        let x = call1(e.b, "llvm.fabs", quad.along(1, coarse)?)?;
        let y = call1(e.b, "llvm.fabs", quad.along(quad.row, coarse)?)?;
        e.b.fadd(x, y)
    };
    let result = match op {
        Op::DPdx | Op::DPdxFine => quad.along(1, false)?,
        Op::DPdxCoarse => quad.along(1, true)?,
        Op::DPdy | Op::DPdyFine => quad.along(quad.row, false)?,
        Op::DPdyCoarse => quad.along(quad.row, true)?,
        Op::Fwidth | Op::FwidthFine => width(false)?,
        Op::FwidthCoarse => width(true)?,
        _ => return Ok(Handled::No),
    };
    e.bind(inst, result)?;
    Ok(Handled::Yes)
}

/// How much each of `values` grows in the quad from its invocation to the next in x, and in y
/// (the fine derivatives).
pub(crate) fn differences<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    values: &[Value<'c>],
) -> Result<(Vec<Value<'c>>, Vec<Value<'c>>)> {
    let row = row(e, inst)?;
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for value in values {
        let quad = Quad {
            b: e.b,
            row,
            lanes: Lanes::of_wave(e, inst)?,
            value: *value,
        };
        x.push(quad.along(1, false)?);
        y.push(quad.along(row, false)?);
    }
    Ok((x, y))
}

/// Returns true if the kernel's quads are these.
pub(crate) fn has_group(e: &FunctionEmitter<'_, '_, '_>, mode: ExecutionMode) -> bool {
    let mut entries = e.module.declarations.entry_points.iter();
    let entry = entries.find(|entry| {
        entry.function == e.kernel.plan.function && entry.name == e.kernel.plan.entry
    });
    entry.is_some_and(|entry| entry.mode(mode).is_some())
}

/// How many lanes the second row of a quad is behind the first.
fn row(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<u32> {
    if has_group(e, ExecutionMode::DerivativeGroupLinearKHR) {
        return Ok(2);
    }
    if !has_group(e, ExecutionMode::DerivativeGroupQuadsKHR) {
        return Err(e.unsupported(inst, "the entry point has no derivative group"));
    }
    match e.kernel.plan.workgroup_size {
        Some([x, y, _])
            if x.is_power_of_two() && x >= 2 && y.is_multiple_of(2) && x <= e.wave_size() / 2 =>
        {
            Ok(x)
        }
        _ => Err(e.unsupported(
            inst,
            format!(
                "a row of the workgroup is not a power of two up to {}, so a square quad spans several subgroups",
                e.wave_size() / 2
            ),
        )),
    }
}

/// A value in the four invocations of a quad.
struct Quad<'e, 'c> {
    b: &'e Build<'c>,
    lanes: Lanes<'e, 'c>,
    value: Value<'c>,
    row: u32,
}

impl<'c> Quad<'_, 'c> {
    /// What the value grows by from a lane to the one `step` (a power of two) further: in this
    /// lane's pair, or (`coarse`) in the first of the quad.
    fn along(&self, step: u32, coarse: bool) -> Result<Value<'c>> {
        let b = self.b;
        if coarse {
            let first = b.and(self.lanes.id, b.i32(!(1 | self.row)))?;
            let next = b.or(first, b.i32(step))?;
            return b.fsub(
                self.lanes.read(self.value, next)?,
                self.lanes.read(self.value, first)?,
            );
        }
        let other = self
            .lanes
            .read(self.value, b.xor(self.lanes.id, b.i32(step))?)?;
        let place = b.and(self.lanes.id, b.i32(step))?;
        let is_first = b.icmp(IntPredicate::LLVMIntEQ, place, b.i32(0))?;
        let forward = b.fsub(other, self.value)?;
        let backward = b.fsub(self.value, other)?;
        b.select(is_first, forward, backward)
    }
}
