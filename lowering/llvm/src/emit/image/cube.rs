//! Cubes on AMDGPU: instructions on cubes want the place on a face, and the number of the face,
//! where SPIR-V gives a direction (Vulkan, "Cube Map Face Selection and Transformations").
//! `v_cubesc`, `v_cubetc`, `v_cubema` and `v_cubeid` select face and components; places on a face
//! are between 1 and 2 for the hardware (Southern Islands ISA, "Image Sample").

use super::super::Result;
use super::super::build::Build;
use super::sampling::Gradients;
use crate::ffi::{RealPredicate, Value};

/// A direction, put on the face that it meets.
pub(super) struct OnFace<'c> {
    /// Its number, `float`.
    face: Value<'c>,
    /// From -1/2 to 1/2.
    place: [Value<'c>; 2],
    /// Twice the component along the axis, and 1 through its magnitude.
    axis: Value<'c>,
    inverse: Value<'c>,
}

impl<'c> OnFace<'c> {
    /// Of the direction `at`: x, y, z.
    pub(super) fn new(b: &Build<'c>, at: [Value<'c>; 3]) -> Result<OnFace<'c>> {
        let select = |name| b.intrinsic(name, &[], &at);
        let (s, t) = (select("llvm.amdgcn.cubesc")?, select("llvm.amdgcn.cubetc")?);
        let (axis, face) = (select("llvm.amdgcn.cubema")?, select("llvm.amdgcn.cubeid")?);
        let float = axis.ty();
        let size = b.intrinsic("llvm.fabs", &[float], &[axis])?;
        let inverse = b.intrinsic("llvm.amdgcn.rcp", &[float], &[size])?;
        Ok(OnFace {
            face,
            place: [b.fmul(s, inverse)?, b.fmul(t, inverse)?],
            axis,
            inverse,
        })
    }

    /// The coordinates of the instruction: s, t, and the face of the cube number `layer`, of which
    /// each takes eight places.
    pub(super) fn coordinates(
        &self,
        b: &Build<'c>,
        layer: Option<Value<'c>>,
    ) -> Result<Vec<Value<'c>>> {
        let float = self.axis.ty();
        let middle = b.float(float, 1.5)?;
        let face = match layer {
            Some(layer) => {
                let nearest = b.intrinsic("llvm.rint", &[float], &[layer])?;
                let zero = float.zero();
                let layer = b.intrinsic("llvm.maxnum", &[float], &[nearest, zero])?;
                b.fadd(b.fmul(layer, b.float(float, 8.0)?)?, self.face)?
            }
            None => self.face,
        };
        let [s, t] = self.place;
        Ok(vec![b.fadd(s, middle)?, b.fadd(t, middle)?, face])
    }

    /// The gradients of a direction, as those of the place on its face.
    pub(super) fn gradients(&self, b: &Build<'c>, of: &Gradients<'c>) -> Result<Gradients<'c>> {
        Ok(Gradients {
            x: self.gradient(b, &of.x)?,
            y: self.gradient(b, &of.y)?,
            least: of.least,
        })
    }

    /// The quotients' derivatives: (ds - s da) / |a|, where s is the place and a the axis.
    fn gradient(&self, b: &Build<'c>, of: &[Value<'c>]) -> Result<Vec<Value<'c>>> {
        let [dx, dy, dz] = *of else {
            return Err(b.internal("a gradient of a cube without three components"));
        };
        let float = self.axis.ty();
        let below = |face: f64| -> Result<Value<'c>> {
            b.fcmp(RealPredicate::LLVMRealOLT, self.face, b.float(float, face)?)
        };
        // Faces 0 and 1 are on the first axis, 2 and 3 on the second.
        let (first, second) = (below(1.5)?, below(3.5)?);
        let is_negative = b.fcmp(RealPredicate::LLVMRealOLT, self.axis, float.zero())?;
        let signed = |value| b.select(is_negative, b.fneg(value)?, value);
        let of_axis = |x, y, z| b.select(first, x, b.select(second, y, z)?);
        let ds = of_axis(b.fneg(signed(dz)?)?, dx, signed(dx)?)?;
        let dt = of_axis(b.fneg(dy)?, signed(dz)?, b.fneg(dy)?)?;
        let da = signed(of_axis(dx, dy, dz)?)?;
        let da = b.fadd(da, da)?;
        let quotient = |d, place| -> Result<Value<'c>> {
            b.fmul(b.fsub(d, b.fmul(place, da)?)?, self.inverse)
        };
        let [s, t] = self.place;
        Ok(vec![quotient(ds, s)?, quotient(dt, t)?])
    }
}
