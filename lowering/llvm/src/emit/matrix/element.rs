//! Coordinates at run time, and elements that another invocation holds.

use super::super::Result;
use super::super::function::FunctionEmitter;
use super::super::lanes::{self, Lanes};
use super::Matrix;
use super::layout::{Axis, Element, Holder, LaneSlot, Layout};
use crate::ffi::{IntPredicate, Ty, Value};
use std::collections::BTreeSet;

/// Coordinates of elements, `i32` each.
#[derive(Copy, Clone)]
pub(super) struct At<'c> {
    pub(super) row: Value<'c>,
    pub(super) column: Value<'c>,
}

/// A layout in a function that is being written: what this lane contributes is computed once.
pub(super) struct Held<'e, 'f, 'c, 'm> {
    e: &'e FunctionEmitter<'f, 'c, 'm>,
    pub(super) layout: &'e Layout,
    /// The coordinates of slot 0.
    first: At<'c>,
}

impl<'e, 'f, 'c, 'm> Held<'e, 'f, 'c, 'm> {
    pub(super) fn new(
        e: &'e FunctionEmitter<'f, 'c, 'm>,
        layout: &'e Layout,
    ) -> Result<Held<'e, 'f, 'c, 'm>> {
        let lane = lanes::lane_id(e)?;
        let count = |axis| -> Result<Value<'c>> {
            let mut sum = e.b.i32(0);
            for digit in &layout.digits {
                if digit.holder == Holder::Lane && digit.axis == axis {
                    sum = e.b.add(
                        sum,
                        digits(e, lane, digit.place, digit.radix, digit.weight)?,
                    )?;
                }
            }
            Ok(sum)
        };
        Ok(Held {
            e,
            layout,
            first: At {
                row: count(Axis::Row)?,
                column: count(Axis::Column)?,
            },
        })
    }

    /// The coordinates of the element in `slot`.
    pub(super) fn at(&self, slot: u32) -> Result<At<'c>> {
        let part = self.layout.part(Holder::Slot, slot);
        let b = self.e.b;
        Ok(At {
            row: b.add(self.first.row, b.i32(part.row))?,
            column: b.add(self.first.column, b.i32(part.column))?,
        })
    }
}

/// The coordinates of the element in `slot`, which is known at run time; `first`: those of slot 0.
pub(super) fn at_slot<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    layout: &Layout,
    first: At<'c>,
    slot: Value<'c>,
) -> Result<At<'c>> {
    let mut at = first;
    for digit in layout.digits.iter().filter(|d| d.holder == Holder::Slot) {
        let count = digits(e, slot, digit.place, digit.radix, digit.weight)?;
        let coordinate = match digit.axis {
            Axis::Row => &mut at.row,
            Axis::Column => &mut at.column,
        };
        *coordinate = e.b.add(*coordinate, count)?;
    }
    Ok(at)
}

/// `number / place % radix * weight`; all three are powers of two.
fn digits<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    number: Value<'c>,
    place: u32,
    radix: u32,
    weight: u32,
) -> Result<Value<'c>> {
    let b = e.b;
    let shifted = b.lshr(number, b.i32(place.trailing_zeros()))?;
    let digit = b.and(shifted, b.i32(radix - 1))?;
    b.shl(digit, b.i32(weight.trailing_zeros()))
}

/// A matrix whose elements other invocations ask for.
pub(super) struct Shared<'e, 'f, 'c, 'm> {
    e: &'e FunctionEmitter<'f, 'c, 'm>,
    layout: &'e Layout,
    value: Value<'c>,
    lanes: Lanes<'f, 'c>,
}

impl<'e, 'f, 'c, 'm> Shared<'e, 'f, 'c, 'm> {
    pub(super) fn new(
        e: &'e FunctionEmitter<'f, 'c, 'm>,
        matrix: &'e Matrix,
        value: Value<'c>,
    ) -> Result<Self> {
        Ok(Shared {
            e,
            layout: &matrix.layout,
            value,
            lanes: Lanes::all_active(e)?,
        })
    }

    /// The element at `at`; `asked` says which one each lane asks for, so that only the slots that
    /// can hold one of them are read.
    pub(super) fn read(&self, at: At<'c>, asked: impl Fn(u32) -> Element) -> Result<Value<'c>> {
        let b = self.e.b;
        let slots: BTreeSet<u32> = (0..self.e.wave_size())
            .map(|lane| self.layout.place(asked(lane)).slot)
            .collect();
        let lane = number(self.e, self.layout, Holder::Lane, at)?;
        let mut result = None;
        for slot in &slots {
            let value = self.lanes.read(b.lane(self.value, *slot)?, lane)?;
            result = Some(match result {
                None => value,
                Some(other) => {
                    let wanted = b.icmp(
                        IntPredicate::LLVMIntEQ,
                        number(self.e, self.layout, Holder::Slot, at)?,
                        b.i32(*slot),
                    )?;
                    b.select(wanted, value, other)?
                }
            });
        }
        result.ok_or_else(|| b.internal("no element is requested"))
    }
}

/// The lane or slot that holds the element at `at`.
fn number<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    layout: &Layout,
    holder: Holder,
    at: At<'c>,
) -> Result<Value<'c>> {
    let mut sum = e.b.i32(0);
    for digit in layout.digits.iter().filter(|d| d.holder == holder) {
        let coordinate = match digit.axis {
            Axis::Row => at.row,
            Axis::Column => at.column,
        };
        let part = digits(e, coordinate, digit.weight, digit.radix, digit.place)?;
        sum = e.b.add(sum, part)?;
    }
    Ok(sum)
}

/// A matrix on the stack: all lanes ask for elements of one row, or of one column, that a loop
/// counts.
pub(super) struct Stored<'e, 'f, 'c, 'm> {
    e: &'e FunctionEmitter<'f, 'c, 'm>,
    layout: &'e Layout,
    place: Value<'c>,
    element: Ty<'c>,
    lanes: Lanes<'f, 'c>,
}

impl<'e, 'f, 'c, 'm> Stored<'e, 'f, 'c, 'm> {
    /// Writes `value` to the stack; the builder stands in the first block of a function.
    pub(super) fn new(
        e: &'e FunctionEmitter<'f, 'c, 'm>,
        matrix: &'e Matrix,
        value: Value<'c>,
    ) -> Result<Self> {
        let b = e.b;
        let slots = matrix.layout.slots;
        let element = value.ty().element_if_vector();
        let place = b.raw().alloca(element.array(u64::from(slots)));
        place.set_alignment(16);
        let stored = Stored {
            e,
            layout: &matrix.layout,
            place,
            element,
            lanes: Lanes::all_active(e)?,
        };
        for slot in 0..slots {
            b.store(
                b.lane(value, slot)?,
                stored.slot(b.i32(slot))?,
                stored.bytes(),
            )?;
        }
        Ok(stored)
    }

    fn bytes(&self) -> u32 {
        self.element.scalar_bits().div_ceil(8)
    }

    fn slot(&self, slot: Value<'c>) -> Result<Value<'c>> {
        let b = self.e.b;
        b.offset(self.place, b.mul(slot, b.i32(self.bytes()))?, true)
    }

    /// The element at `at`, whose coordinate along `axis` is the same in all lanes; `asked` says
    /// what each lane asks for when that coordinate is 0.
    pub(super) fn read(
        &self,
        at: At<'c>,
        axis: Axis,
        asked: impl Fn(u32) -> Element,
    ) -> Result<Value<'c>> {
        let b = self.e.b;
        let zero = b.i32(0);
        let along = match axis {
            Axis::Row => At { column: zero, ..at },
            Axis::Column => At { row: zero, ..at },
        };
        let common = number(self.e, self.layout, Holder::Slot, along)?;
        let slots: BTreeSet<u32> = (0..self.e.wave_size())
            .map(|lane| self.layout.place(asked(lane)).slot)
            .collect();
        let lane = number(self.e, self.layout, Holder::Lane, at)?;
        let mut result = None;
        for slot in &slots {
            let slot = b.add(common, b.i32(*slot))?;
            let own = b.load(self.element, self.slot(slot)?, self.bytes())?;
            let value = self.lanes.read(own, lane)?;
            result = Some(match result {
                None => value,
                Some(other) => {
                    let held = number(self.e, self.layout, Holder::Slot, at)?;
                    b.select(b.icmp(IntPredicate::LLVMIntEQ, held, slot)?, value, other)?
                }
            });
        }
        result.ok_or_else(|| b.internal("no element is requested"))
    }
}

/// The elements that the lanes hold in `slot`, by lane.
pub(super) fn held_by(layout: &Layout, slot: u32) -> impl Fn(u32) -> Element + '_ {
    move |lane| layout.element(LaneSlot { slot, lane })
}
