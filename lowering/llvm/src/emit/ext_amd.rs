//! The extended instructions of SPV_AMD_shader_ballot, SPV_AMD_gcn_shader and
//! SPV_AMD_shader_trinary_minmax, spelled for both vendors.

use super::EXT_ARGS;
use super::build::Build;
use super::function::FunctionEmitter;
use super::lanes::{self, Lanes};
use super::numeric::{call1, call2};
use super::{Handled, Result};
use crate::ffi::{IntPredicate, RealPredicate, Value};
use spirv::{
    SpvAmdGcnShaderOp as Gcn, SpvAmdShaderBallotOp as Ballot,
    SpvAmdShaderTrinaryMinmaxOp as Trinary,
};
use splitbar_passes::module::Inst;

/// Lowers the instruction `number` of the set called `set`.
pub(crate) fn emit(
    e: &mut FunctionEmitter<'_, '_, '_>,
    inst: Inst<'_>,
    set: &str,
    number: u32,
) -> Result<Handled> {
    let args = e.operands(inst, EXT_ARGS)?;
    let value = match set {
        "SPV_AMD_shader_ballot" => match Ballot::from_u32(number) {
            Some(op) => ballot(e, inst, op, &args)?,
            None => None,
        },
        "SPV_AMD_gcn_shader" => match Gcn::from_u32(number) {
            Some(op) => gcn(e.b, op, &args)?,
            None => None,
        },
        "SPV_AMD_shader_trinary_minmax" => match (Trinary::from_u32(number), args.as_slice()) {
            (Some(op), [x, y, z]) => Some(trinary(e.b, op, *x, *y, *z)?),
            _ => None,
        },
        _ => None,
    };
    let Some(value) = value else {
        return Ok(Handled::No);
    };
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

/// What lanes of a subgroup read of each other. Lanes that are not active give no value to rely on,
/// as in [`super::subgroup`].
fn ballot<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    op: Ballot,
    args: &[Value<'c>],
) -> Result<Option<Value<'c>>> {
    let b = e.b;
    Ok(Some(match (op, args) {
        // From the lane of this lane's quad that the offset's component for this lane names.
        (Ballot::SwizzleInvocationsAMD, [data, offset]) => {
            let lanes = Lanes::new(e, inst)?;
            let place = b.and(lanes.id, b.i32(3))?;
            let mut chosen = b.lane(*offset, 0)?;
            for component in 1..offset.ty().lanes().min(4) {
                let here = b.icmp(IntPredicate::LLVMIntEQ, place, b.i32(component))?;
                chosen = b.select(here, b.lane(*offset, component)?, chosen)?;
            }
            let corner = b.and(lanes.id, b.i32(!3))?;
            lanes.read(*data, b.or(corner, b.and(chosen, b.i32(3))?)?)?
        }
        // Within 32 lanes: ((lane & x) | y) ^ z.
        (Ballot::SwizzleInvocationsMaskedAMD, [data, mask]) if mask.ty().lanes() >= 3 => {
            let lanes = Lanes::new(e, inst)?;
            let kept = b.and(lanes.id, b.lane(*mask, 0)?)?;
            let moved = b.xor(b.or(kept, b.lane(*mask, 1)?)?, b.lane(*mask, 2)?)?;
            let half = b.and(lanes.id, b.i32(!31))?;
            lanes.read(*data, b.or(half, b.and(moved, b.i32(31))?)?)?
        }
        (Ballot::WriteInvocationAMD, [kept, written, lane]) => {
            let here = b.icmp(IntPredicate::LLVMIntEQ, lanes::place(e)?, *lane)?;
            b.select(here, *written, *kept)?
        }
        // How many of the mask's lanes are below this one.
        (Ballot::MbcntAMD, [mask]) => {
            let mask = b.bitcast(*mask, b.int_type(64))?;
            let lanes = Lanes::new(e, inst)?;
            let below = lanes.below(lanes.of_subgroup_set(mask)?)?;
            let count = call1(b, "llvm.ctpop", below)?;
            b.int_resize(count, e.result_ty(inst)?, false)?
        }
        _ => return Ok(None),
    }))
}

/// Faces of cube maps, and a clock.
fn gcn<'c>(b: &Build<'c>, op: Gcn, args: &[Value<'c>]) -> Result<Option<Value<'c>>> {
    Ok(Some(match (op, args) {
        (Gcn::CubeFaceIndexAMD, [direction]) => Cube::new(b, *direction)?.face,
        (Gcn::CubeFaceCoordAMD, [direction]) => {
            let Cube { s, t, major, .. } = Cube::new(b, *direction)?;
            let half = b.float(major.ty(), 0.5)?;
            let twice = b.fadd(major, major)?;
            let coordinate = |along| b.fadd(b.fdiv(along, twice)?, half);
            b.vector(&[coordinate(s)?, coordinate(t)?])?
        }
        (Gcn::TimeAMD, []) => b.intrinsic("llvm.readcyclecounter", &[], &[])?,
        _ => return Ok(None),
    }))
}

/// The face of a cube map that a direction points at, and where: Vulkan, Cube Map Face Selection.
struct Cube<'c> {
    /// 0 to 5: +x, -x, +y, -y, +z, -z.
    face: Value<'c>,
    /// The coordinates on the face, from -`major` to `major`.
    s: Value<'c>,
    t: Value<'c>,
    /// The size of the component along the axis of the face.
    major: Value<'c>,
}

impl<'c> Cube<'c> {
    fn new(b: &Build<'c>, direction: Value<'c>) -> Result<Cube<'c>> {
        let [x, y, z] = [
            b.lane(direction, 0)?,
            b.lane(direction, 1)?,
            b.lane(direction, 2)?,
        ];
        let [size_x, size_y, size_z] = [
            call1(b, "llvm.fabs", x)?,
            call1(b, "llvm.fabs", y)?,
            call1(b, "llvm.fabs", z)?,
        ];
        let at_least = |p, q| b.fcmp(RealPredicate::LLVMRealOGE, p, q);
        // Of equals z wins over y, and y over x.
        let along_z = b.and(at_least(size_z, size_x)?, at_least(size_z, size_y)?)?;
        let along_y = at_least(size_y, size_x)?;
        let pick = |on_x, on_y, on_z| b.select(along_z, on_z, b.select(along_y, on_y, on_x)?);
        let negative = |v: Value<'c>| b.fcmp(RealPredicate::LLVMRealOLT, v, b.float(v.ty(), 0.0)?);
        let [below_x, below_y, below_z] = [negative(x)?, negative(y)?, negative(z)?];
        let number = |value| b.float(x.ty(), value);
        let face = |below, plus, minus| b.select(below, number(minus)?, number(plus)?);
        let [minus_x, minus_y, minus_z] = [b.fneg(x)?, b.fneg(y)?, b.fneg(z)?];
        Ok(Cube {
            face: pick(
                face(below_x, 0.0, 1.0)?,
                face(below_y, 2.0, 3.0)?,
                face(below_z, 4.0, 5.0)?,
            )?,
            s: pick(
                b.select(below_x, z, minus_z)?,
                x,
                b.select(below_z, minus_x, x)?,
            )?,
            t: pick(minus_y, b.select(below_y, minus_z, z)?, minus_y)?,
            major: pick(size_x, size_y, size_z)?,
        })
    }
}

/// The least, the greatest or the middle of three. Floating-point ones prefer a number to a NaN.
fn trinary<'c>(
    b: &Build<'c>,
    op: Trinary,
    x: Value<'c>,
    y: Value<'c>,
    z: Value<'c>,
) -> Result<Value<'c>> {
    let all = |name| call2(b, name, call2(b, name, x, y)?, z);
    let middle = |least, greatest| {
        let low = call2(b, least, x, y)?;
        let high = call2(b, greatest, x, y)?;
        call2(b, greatest, low, call2(b, least, high, z)?)
    };
    match op {
        Trinary::FMin3AMD => all("llvm.minnum"),
        Trinary::UMin3AMD => all("llvm.umin"),
        Trinary::SMin3AMD => all("llvm.smin"),
        Trinary::FMax3AMD => all("llvm.maxnum"),
        Trinary::UMax3AMD => all("llvm.umax"),
        Trinary::SMax3AMD => all("llvm.smax"),
        Trinary::FMid3AMD => middle("llvm.minnum", "llvm.maxnum"),
        Trinary::UMid3AMD => middle("llvm.umin", "llvm.umax"),
        Trinary::SMid3AMD => middle("llvm.smin", "llvm.smax"),
    }
}
