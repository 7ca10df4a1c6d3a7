//! The numbers of the buffer of an iteration and of that of the next one.

use crate::diagnostic::Diagnostic;
use crate::module::Id;
use crate::transform::barrier_loop::cut::Cuts;
use crate::transform::barrier_loop::shape::Shape;
use crate::transform::edit::Edit;
use spirv::Op;

/// Buffers of an array.
pub(super) const BUFFERS: u32 = 2;

/// The ids of these numbers.
pub(super) struct Numbers {
    pub(super) first: u32,
    pub(super) current: u32,
    pub(super) next: u32,
}

impl Numbers {
    pub(super) fn new(edit: &mut Edit<'_, '_>) -> Result<Numbers, Diagnostic> {
        Ok(Numbers {
            first: edit.number(0)?,
            current: edit.fresh()?,
            next: edit.fresh()?,
        })
    }

    /// Writes the phi of the header that counts buffers, and the number of the next one.
    pub(super) fn count(
        &self,
        edit: &mut Edit<'_, '_>,
        shape: &Shape<'_, '_>,
        cut: &Cuts,
    ) -> Result<(), Diagnostic> {
        let lost = || Diagnostic::bug("the header of a loop is not there");
        let header = shape.function.block(shape.header).ok_or_else(lost)?;
        let first = header.insts.first().ok_or_else(lost)?.offset;
        let plain = header.after_phis().ok_or_else(lost)?;
        let uint = edit.uint()?;
        let one = edit.number(BUFFERS - 1)?;
        let Numbers {
            first: zero,
            current,
            next,
        } = *self;
        let last_part = |label: Id| cut.get(&label.0).copied().unwrap_or(label.0);
        let (front, latch) = (last_part(shape.front_label), last_part(shape.latch_label));
        edit.before(first, Op::Phi, &[uint, current, zero, front, next, latch])?;
        edit.before(plain.offset, Op::ISub, &[uint, next, one, current])
    }
}
