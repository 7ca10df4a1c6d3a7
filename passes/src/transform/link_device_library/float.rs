//! Arithmetic of one float type, as formulas are written.

use super::write::{Body, Result};
use spirv::{Op, OpenclStd100Op as Cl};

/// Floats of one type.
pub(super) struct Float<'b, 'e, 'd, 'm> {
    pub(super) body: &'b Body<'e, 'd, 'm>,
    /// The type.
    pub(super) ty: u32,
    /// Its width.
    pub(super) bits: u32,
    boolean: u32,
}

impl<'b, 'e, 'd, 'm> Float<'b, 'e, 'd, 'm> {
    pub(super) fn new(body: &'b Body<'e, 'd, 'm>, ty: u32, bits: u32) -> Result<Self> {
        let boolean = body.bool_type()?;
        Ok(Float {
            body,
            ty,
            bits,
            boolean,
        })
    }

    pub(super) fn number(&self, value: f64) -> Result<u32> {
        self.body.float(self.ty, self.bits, value)
    }

    fn op(&self, op: Op, operands: &[u32]) -> Result<u32> {
        self.body.value(op, self.ty, operands)
    }

    fn test(&self, op: Op, operands: &[u32]) -> Result<u32> {
        self.body.value(op, self.boolean, operands)
    }

    /// A function of OpenCL.std.
    pub(super) fn call(&self, op: Cl, operands: &[u32]) -> Result<u32> {
        self.body.ext(op, self.ty, operands)
    }

    pub(super) fn add(&self, x: u32, y: u32) -> Result<u32> {
        self.op(Op::FAdd, &[x, y])
    }

    pub(super) fn sub(&self, x: u32, y: u32) -> Result<u32> {
        self.op(Op::FSub, &[x, y])
    }

    pub(super) fn mul(&self, x: u32, y: u32) -> Result<u32> {
        self.op(Op::FMul, &[x, y])
    }

    pub(super) fn div(&self, x: u32, y: u32) -> Result<u32> {
        self.op(Op::FDiv, &[x, y])
    }

    pub(super) fn neg(&self, x: u32) -> Result<u32> {
        self.op(Op::FNegate, &[x])
    }

    pub(super) fn abs(&self, x: u32) -> Result<u32> {
        self.call(Cl::fabs, &[x])
    }

    /// The magnitude of `x` with the sign of `y`.
    pub(super) fn signed(&self, x: u32, y: u32) -> Result<u32> {
        self.call(Cl::copysign, &[x, y])
    }

    pub(super) fn select(&self, test: u32, yes: u32, no: u32) -> Result<u32> {
        self.op(Op::Select, &[test, yes, no])
    }

    pub(super) fn less(&self, x: u32, y: u32) -> Result<u32> {
        self.test(Op::FOrdLessThan, &[x, y])
    }

    pub(super) fn equal(&self, x: u32, y: u32) -> Result<u32> {
        self.test(Op::FOrdEqual, &[x, y])
    }

    pub(super) fn is_zero(&self, x: u32) -> Result<u32> {
        self.equal(x, self.number(0.0)?)
    }

    pub(super) fn is_nan(&self, x: u32) -> Result<u32> {
        self.test(Op::IsNan, &[x])
    }

    pub(super) fn is_inf(&self, x: u32) -> Result<u32> {
        self.test(Op::IsInf, &[x])
    }

    pub(super) fn is_finite(&self, x: u32) -> Result<u32> {
        self.less(self.abs(x)?, self.number(f64::INFINITY)?)
    }

    pub(super) fn both(&self, x: u32, y: u32) -> Result<u32> {
        self.test(Op::LogicalAnd, &[x, y])
    }

    pub(super) fn either(&self, x: u32, y: u32) -> Result<u32> {
        self.test(Op::LogicalOr, &[x, y])
    }

    pub(super) fn not(&self, x: u32) -> Result<u32> {
        self.test(Op::LogicalNot, &[x])
    }

    /// 1 for an infinity and 0 for anything else, with the sign of `x`.
    pub(super) fn boxed(&self, x: u32) -> Result<u32> {
        let size = self.select(self.is_inf(x)?, self.number(1.0)?, self.number(0.0)?)?;
        self.signed(size, x)
    }

    /// A NaN as a zero of its sign, any other number as it is.
    pub(super) fn without_nan(&self, x: u32) -> Result<u32> {
        let zero = self.signed(self.number(0.0)?, x)?;
        self.select(self.is_nan(x)?, zero, x)
    }
}
