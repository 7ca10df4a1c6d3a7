//! Arithmetic, comparisons, selections and casts, the same for scalars and vectors.

use super::super::Result;
use super::Build;
use crate::ffi::{IntPredicate, Opcode, RealPredicate, Ty, Value};

impl<'c> Build<'c> {
    /// A two-operand instruction: operands of one type, integer or floating-point as the opcode
    /// asks for. Floating-point ones carry [`Build::fast_math`].
    pub(crate) fn binary(&self, op: Opcode, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        use Opcode::*;
        self.same("arithmetic", a, b)?;
        let float = matches!(op, LLVMFAdd | LLVMFSub | LLVMFMul | LLVMFDiv | LLVMFRem);
        let ty = a.ty();
        if !(if float { ty.is_float() } else { ty.is_int() }) {
            return Err(self.mismatch(format!("{op:?} of {}", ty.print())));
        }
        let result = self.raw.binary(op, a, b);
        if float {
            result.set_fast_math(self.fast_math.get());
        }
        Ok(result)
    }

    /// `a + b`, integers, wrapping.
    pub(crate) fn add(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMAdd, a, b)
    }
    /// `a - b`, integers, wrapping.
    pub(crate) fn sub(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMSub, a, b)
    }
    /// `a * b`, integers, wrapping.
    pub(crate) fn mul(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMMul, a, b)
    }
    /// Bitwise and.
    pub(crate) fn and(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMAnd, a, b)
    }
    /// Bitwise or.
    pub(crate) fn or(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMOr, a, b)
    }
    /// Bitwise exclusive or.
    pub(crate) fn xor(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMXor, a, b)
    }
    /// `a << b`; poison when b is not below the width.
    pub(crate) fn shl(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMShl, a, b)
    }
    /// Logical shift right; poison when b is not below the width.
    pub(crate) fn lshr(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMLShr, a, b)
    }
    /// Arithmetic shift right; poison when b is not below the width.
    pub(crate) fn ashr(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMAShr, a, b)
    }
    /// `a + b`, floating-point.
    pub(crate) fn fadd(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMFAdd, a, b)
    }
    /// `a - b`, floating-point.
    pub(crate) fn fsub(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMFSub, a, b)
    }
    /// `a * b`, floating-point.
    pub(crate) fn fmul(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMFMul, a, b)
    }

    /// What `write` writes, without fast-math flags: for sums and products that are exact, or
    /// rounded as they stand.
    pub(crate) fn exactly<T>(&self, write: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = self.fast_math.replace(0);
        let value = write();
        self.fast_math.set(before);
        value
    }

    /// `-a`, floating-point.
    pub(crate) fn fneg(&self, a: Value<'c>) -> Result<Value<'c>> {
        if a.ty().is_float() {
            Ok(self.raw.fneg(a))
        } else {
            Err(self.mismatch(format!("negation of {}", a.ty().print())))
        }
    }

    /// `-a`, integers, wrapping.
    pub(crate) fn neg(&self, a: Value<'c>) -> Result<Value<'c>> {
        self.sub(a.ty().zero(), a)
    }

    /// `~a`.
    pub(crate) fn not(&self, a: Value<'c>) -> Result<Value<'c>> {
        let ones = self.int(a.ty(), u64::MAX)?;
        self.xor(a, ones)
    }

    /// Integer or pointer comparison: `i1` or a vector of them.
    pub(crate) fn icmp(
        &self,
        predicate: IntPredicate,
        a: Value<'c>,
        b: Value<'c>,
    ) -> Result<Value<'c>> {
        self.same("comparison", a, b)?;
        if !(a.ty().is_int() || a.ty().is_pointer()) {
            return Err(self.mismatch(format!("integer comparison of {}", a.ty().print())));
        }
        Ok(self.raw.icmp(predicate, a, b))
    }

    /// Floating-point comparison: `i1` or a vector of them.
    pub(crate) fn fcmp(
        &self,
        predicate: RealPredicate,
        a: Value<'c>,
        b: Value<'c>,
    ) -> Result<Value<'c>> {
        self.same("comparison", a, b)?;
        if !a.ty().is_float() {
            return Err(self.mismatch(format!("floating-point comparison of {}", a.ty().print())));
        }
        Ok(self.raw.fcmp(predicate, a, b))
    }

    /// `condition ? yes : no`; the condition is `i1`, or a vector of `i1` with as many lanes as the
    /// operands.
    pub(crate) fn select(
        &self,
        condition: Value<'c>,
        yes: Value<'c>,
        no: Value<'c>,
    ) -> Result<Value<'c>> {
        self.same("selection", yes, no)?;
        let c = condition.ty();
        let fits = c.scalar_bits() == 1
            && c.is_int()
            && (!c.is_vector() || (yes.ty().is_vector() && yes.ty().lanes() == c.lanes()));
        if fits {
            Ok(self.raw.select(condition, yes, no))
        } else {
            Err(self.mismatch(format!(
                "selection by {} among {}",
                c.print(),
                yes.ty().print()
            )))
        }
    }

    /// A cast, checked. Equal types come back as they are for bitcasts and address space casts.
    pub(crate) fn cast(&self, op: Opcode, a: Value<'c>, to: Ty<'c>) -> Result<Value<'c>> {
        use Opcode::*;
        let from = a.ty();
        let lanes = from.lanes() == to.lanes();
        let (f, t) = (from.scalar_bits(), to.scalar_bits());
        let ok = match op {
            LLVMTrunc => lanes && from.is_int() && to.is_int() && f > t,
            LLVMZExt | LLVMSExt => lanes && from.is_int() && to.is_int() && f < t,
            LLVMFPTrunc => lanes && from.is_float() && to.is_float() && f > t,
            LLVMFPExt => lanes && from.is_float() && to.is_float() && f < t,
            LLVMFPToUI | LLVMFPToSI => lanes && from.is_float() && to.is_int(),
            LLVMUIToFP | LLVMSIToFP => lanes && from.is_int() && to.is_float(),
            LLVMPtrToInt => lanes && from.is_pointer() && to.is_int(),
            LLVMIntToPtr => lanes && from.is_int() && to.is_pointer(),
            LLVMAddrSpaceCast => {
                if from == to {
                    return Ok(a);
                }
                lanes && from.is_pointer() && to.is_pointer()
            }
            LLVMBitCast => {
                if from == to {
                    return Ok(a);
                }
                f != 0
                    && t != 0
                    && u64::from(f) * u64::from(from.lanes())
                        == u64::from(t) * u64::from(to.lanes())
            }
            _ => false,
        };
        if ok {
            Ok(self.raw.cast(op, a, to))
        } else {
            Err(self.mismatch(format!("{op:?} from {} to {}", from.print(), to.print())))
        }
    }

    /// Integer to integer of any width: truncation, sign or zero extension, or nothing.
    pub(crate) fn int_resize(&self, a: Value<'c>, to: Ty<'c>, signed: bool) -> Result<Value<'c>> {
        let wider = if signed {
            Opcode::LLVMSExt
        } else {
            Opcode::LLVMZExt
        };
        self.resize(a, to, Opcode::LLVMTrunc, wider)
    }

    /// Floating-point to floating-point of any width (IEEE types; round to nearest even).
    pub(crate) fn float_resize(&self, a: Value<'c>, to: Ty<'c>) -> Result<Value<'c>> {
        self.resize(a, to, Opcode::LLVMFPTrunc, Opcode::LLVMFPExt)
    }

    /// As wide as `to`: by `narrower`, by `wider`, or as it is.
    fn resize(
        &self,
        a: Value<'c>,
        to: Ty<'c>,
        narrower: Opcode,
        wider: Opcode,
    ) -> Result<Value<'c>> {
        match a.ty().scalar_bits().cmp(&to.scalar_bits()) {
            std::cmp::Ordering::Equal if a.ty() == to => Ok(a),
            std::cmp::Ordering::Equal => Err(self.mismatch(format!(
                "{} where {} is asked for",
                a.ty().print(),
                to.print()
            ))),
            std::cmp::Ordering::Greater => self.cast(narrower, a, to),
            std::cmp::Ordering::Less => self.cast(wider, a, to),
        }
    }

    /// The same bits as another type of the same size.
    pub(crate) fn bitcast(&self, a: Value<'c>, to: Ty<'c>) -> Result<Value<'c>> {
        self.cast(Opcode::LLVMBitCast, a, to)
    }
}
