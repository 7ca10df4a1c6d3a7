//! Writes the body of one function: instructions in order, types and constants where the module has
//! none.

use super::super::edit::Edit;
use crate::diagnostic::Diagnostic;
use spirv::{Decoration, FPRoundingMode, MemoryAccess, Op, OpenclStd100Op as Cl};
use std::cell::RefCell;

pub(super) type Result<T> = std::result::Result<T, Diagnostic>;

/// The function that is being written. Its methods take it shared, so that calls nest as the
/// formulas do.
pub(super) struct Body<'e, 'd, 'm> {
    edit: RefCell<&'e mut Edit<'d, 'm>>,
    /// OpenCL.std.
    set: u32,
}

impl<'e, 'd, 'm> Body<'e, 'd, 'm> {
    pub(super) fn new(edit: &'e mut Edit<'d, 'm>, set: u32) -> Self {
        Body {
            edit: RefCell::new(edit),
            set,
        }
    }

    /// An instruction without a result.
    pub(super) fn effect(&self, op: Op, operands: &[u32]) -> Result<()> {
        self.edit.borrow_mut().function(op, operands)
    }

    /// An instruction with a result of type `ty`.
    pub(super) fn value(&self, op: Op, ty: u32, operands: &[u32]) -> Result<u32> {
        let mut edit = self.edit.borrow_mut();
        let id = edit.fresh()?;
        let mut all = vec![ty, id];
        all.extend(operands);
        edit.function(op, &all)?;
        Ok(id)
    }

    /// An instruction of OpenCL.std.
    pub(super) fn ext(&self, op: Cl, ty: u32, operands: &[u32]) -> Result<u32> {
        let mut all = vec![self.set, op as u32];
        all.extend(operands);
        self.value(Op::ExtInst, ty, &all)
    }

    pub(super) fn fresh(&self) -> Result<u32> {
        self.edit.borrow_mut().fresh()
    }

    pub(super) fn ty(&self, op: Op, operands: &[u32]) -> Result<u32> {
        self.edit.borrow_mut().type_of(op, operands)
    }

    pub(super) fn bool_type(&self) -> Result<u32> {
        self.ty(Op::TypeBool, &[])
    }

    pub(super) fn uint(&self) -> Result<u32> {
        self.edit.borrow_mut().uint()
    }

    /// A constant of an integer type of so many bits.
    pub(super) fn int(&self, ty: u32, bits: u32, value: u64) -> Result<u32> {
        let words = [value as u32, (value >> 32) as u32];
        let words = if bits > 32 { &words[..] } else { &words[..1] };
        self.edit.borrow_mut().constant(Op::Constant, ty, words)
    }

    /// A constant of a float type of so many bits.
    pub(super) fn float(&self, ty: u32, bits: u32, value: f64) -> Result<u32> {
        let value = match bits {
            64 => value.to_bits(),
            32 => u64::from((value as f32).to_bits()),
            _ => u64::from(half(value)),
        };
        self.int(ty, bits, value)
    }

    /// Decorates the result of a conversion with a rounding mode.
    pub(super) fn round(&self, value: u32, mode: FPRoundingMode) -> Result<()> {
        let operands = [value, Decoration::FPRoundingMode as u32, mode as u32];
        self.edit.borrow_mut().annotation(Op::Decorate, &operands)
    }

    /// Loads from a pointer to a scalar, or to a structure or vector of scalars, of so many bits.
    pub(super) fn load(&self, ty: u32, pointer: u32, bits: u32) -> Result<u32> {
        let aligned = [pointer, MemoryAccess::ALIGNED.bits(), bits / 8];
        self.value(Op::Load, ty, &aligned)
    }

    /// Stores, as [`Body::load`].
    pub(super) fn store(&self, pointer: u32, value: u32, bits: u32) -> Result<()> {
        let aligned = [pointer, value, MemoryAccess::ALIGNED.bits(), bits / 8];
        self.effect(Op::Store, &aligned)
    }
}

/// The bits of a binary16 that has the value: the constants of routines are small powers of two,
/// 0, infinities and NaN.
fn half(value: f64) -> u16 {
    let sign = u16::from(value.is_sign_negative()) << 15;
    let size = value.abs();
    let magnitude = if size.is_nan() {
        0x7e00
    } else if size.is_infinite() {
        0x7c00
    } else if size == 0.0 {
        0
    } else {
        // A normal number whose significand fits.
        let bits = size.to_bits();
        let exponent = (bits >> 52) as i32 - 1023 + 15;
        debug_assert!((1..31).contains(&exponent) && bits << 22 == 0, "{value}");
        (exponent as u16) << 10 | (bits >> 42) as u16 & 0x3ff
    };
    sign | magnitude
}
