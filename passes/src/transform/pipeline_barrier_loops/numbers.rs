//! The numbers of the buffers of an iteration and of those after it.

use super::depth::Depth;
use crate::diagnostic::Diagnostic;
use crate::module::{Id, WordOffset};
use crate::transform::barrier_loop::cut::Cuts;
use crate::transform::barrier_loop::shape::Shape;
use crate::transform::edit::Edit;
use spirv::Op;

/// The ids of these numbers.
pub(super) struct Numbers {
    depth: Depth,
    /// Before the loop, of each iteration whose stage is executed there.
    pub(super) first: Vec<u32>,
    pub(super) current: u32,
    /// That of the next iteration.
    next: u32,
    /// That of the iteration whose stage this one executes.
    pub(super) ahead: u32,
}

impl Numbers {
    pub(super) fn new(edit: &mut Edit<'_, '_>, depth: Depth) -> Result<Numbers, Diagnostic> {
        let first = (0..).take(depth.distance).map(|number| edit.number(number));
        let first = first.collect::<Result<_, _>>()?;
        let (current, next) = (edit.fresh()?, edit.fresh()?);
        let ahead = match depth.distance {
            1 => next,
            _ => edit.fresh()?,
        };
        Ok(Numbers {
            depth,
            first,
            current,
            next,
            ahead,
        })
    }

    /// Writes the phi of the header that counts buffers, and the other numbers.
    pub(super) fn count(
        &self,
        edit: &mut Edit<'_, '_>,
        shape: &Shape<'_, '_>,
        cut: &Cuts,
    ) -> Result<(), Diagnostic> {
        let lost = || Diagnostic::bug("the header of a loop is not there");
        let header = shape.function.block(shape.header).ok_or_else(lost)?;
        let first = header.insts.first().ok_or_else(lost)?.offset;
        let plain = header.after_phis().ok_or_else(lost)?.offset;
        let uint = edit.uint()?;
        let zero = edit.number(0)?;
        let (current, next) = (self.current, self.next);
        let last_part = |label: Id| cut.get(&label.0).copied().unwrap_or(label.0);
        let (front, latch) = (last_part(shape.front_label), last_part(shape.latch_label));
        edit.before(first, Op::Phi, &[uint, current, zero, front, next, latch])?;
        self.later(edit, plain, next, 1)?;
        if self.ahead != next {
            self.later(
                edit,
                plain,
                self.ahead,
                u32::try_from(self.depth.distance).unwrap_or(1),
            )?;
        }
        Ok(())
    }

    /// Computes the number of the buffer `by` iterations later.
    fn later(
        &self,
        edit: &mut Edit<'_, '_>,
        place: WordOffset,
        result: u32,
        by: u32,
    ) -> Result<(), Diagnostic> {
        let uint = edit.uint()?;
        let (current, buffers) = (self.current, self.depth.buffers);
        if buffers == 2 {
            let one = edit.number(1)?;
            return edit.before(place, Op::ISub, &[uint, result, one, current]);
        }
        let (by, sum) = (edit.number(by)?, edit.fresh()?);
        edit.before(place, Op::IAdd, &[uint, sum, current, by])?;
        if buffers.is_power_of_two() {
            let mask = edit.number(buffers - 1)?;
            return edit.before(place, Op::BitwiseAnd, &[uint, result, sum, mask]);
        }
        let bool = edit.type_of(Op::TypeBool, &[])?;
        let (all, less, is_less) = (edit.number(buffers)?, edit.fresh()?, edit.fresh()?);
        edit.before(place, Op::ULessThan, &[bool, is_less, sum, all])?;
        edit.before(place, Op::ISub, &[uint, less, sum, all])?;
        edit.before(place, Op::Select, &[uint, result, is_less, sum, less])
    }
}
