//! Divisions and square roots, as exact as the function asks for.

use super::super::Result;
use super::quotient::Quotient;
use super::{Build, fast};
use crate::ffi::{Opcode, Value, meta_node, meta_value};

impl<'c> Build<'c> {
    /// `x / y`, as exact as [`Build::quotients`] says.
    pub(crate) fn fdiv(&self, x: Value<'c>, y: Value<'c>) -> Result<Value<'c>> {
        let divide = || self.binary(Opcode::LLVMFDiv, x, y);
        match self.quotient(x) {
            Quotient::Rounded => divide(),
            Quotient::Approximate => self.approximately(divide),
            Quotient::Bounded if self.quotients.get().nvptx && x.ty().scalar_bits() == 32 => {
                self.same("division", x, y)?;
                self.each_lane(&[x, y], |&[x, y]| {
                    self.intrinsic("llvm.nvvm.div.full", &[], &[x, y])
                })
            }
            Quotient::Bounded => self.with_error(divide()?, 2.5),
        }
    }

    /// The square root of `x`, as exact as [`Build::quotients`] says.
    pub(crate) fn sqrt(&self, x: Value<'c>) -> Result<Value<'c>> {
        let root = || self.intrinsic("llvm.sqrt", &[x.ty()], &[x]);
        match self.quotient(x) {
            Quotient::Rounded => root(),
            Quotient::Approximate => self.approximately(root),
            Quotient::Bounded if self.quotients.get().nvptx && x.ty().scalar_bits() == 32 => self
                .each_lane(&[x], |&[x]| {
                    self.intrinsic("llvm.nvvm.sqrt.approx.f", &[], &[x])
                }),
            Quotient::Bounded => self.with_error(root()?, 3.0),
        }
    }

    /// What is asked for numbers of the type of `x`.
    pub(crate) fn quotient(&self, x: Value<'c>) -> Quotient {
        let brain = x.ty().element_if_vector() == self.bfloat_type();
        self.quotients.get().of_type(x.ty(), brain)
    }

    /// Builds with `afn` besides the instruction's own flags.
    fn approximately<T>(&self, build: impl FnOnce() -> T) -> T {
        let before = self.fast_math.get();
        self.fast_math.set(before | fast::APPROXIMATE);
        let result = build();
        self.fast_math.set(before);
        result
    }

    /// Says how many ULP `value`, of 32 bits, may be wrong (LLVM LangRef, `fpmath`).
    fn with_error(&self, value: Value<'c>, ulp: f64) -> Result<Value<'c>> {
        if value.ty().scalar_bits() == 32 {
            let bound = meta_value(self.float(self.float_type(32), ulp)?);
            let node = meta_node(self.context(), &[bound]);
            value.set_metadata(self.context(), "fpmath", node);
        }
        Ok(value)
    }
}
