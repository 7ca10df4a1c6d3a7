//! OpCooperativeMatrixReduceNV (SPV_NV_cooperative_matrix2): the elements of a row, a column, all,
//! or four neighbours, combined by a function that may be given them in any order.
//!
//! Each invocation combines its own elements, then lanes combine theirs in pairs, and at last the
//! subgroups that share a matrix of workgroup scope do so through workgroup memory. Matrices whose
//! sides are no powers of two, and neighbours, are read element by element.

use super::super::function::FunctionEmitter;
use super::super::lanes::{self, Lanes};
use super::super::{Result, builtin, group};
use super::Matrix;
use super::element::{At, Held, Shared};
use super::exchange::{Moved, Pieces, through_memory};
use super::layout::{Axis, Element, Holder, LaneSlot, Layout};
use super::transfer::is_padded;
use super::whole::gather;
use crate::ffi::{IntPredicate, Value};
use spirv::CooperativeMatrixReduce as Mask;
use splitbar_layout::exchange;
use splitbar_passes::module::{Id, Inst};
use std::collections::{BTreeMap, BTreeSet};

/// What is reduced.
#[derive(Copy, Clone)]
struct Reduction<'e, 'm> {
    inst: Inst<'m>,
    function: Id,
    from: &'e Matrix,
    to: &'e Matrix,
    /// True if whole columns are combined.
    rows: bool,
    /// True if whole rows are combined.
    columns: bool,
}

/// Sums by the part of the coordinates, row and column, that the slot decides and that stays.
type Sums<'c> = BTreeMap<(u32, u32), Value<'c>>;

/// Lowers OpCooperativeMatrixReduceNV.
pub(super) fn reduce<'m>(e: &mut FunctionEmitter<'_, '_, 'm>, inst: Inst<'m>) -> Result<()> {
    let (value, from) = e.matrix_operand(inst, 0)?;
    let to = e.matrix(e.result_type(inst)?)?;
    let mask = Mask::from_bits(inst.operand(1).map_err(Box::new)?);
    let is_known =
        |mask: &Mask| !mask.is_empty() && (!mask.contains(Mask::_2X2) || *mask == Mask::_2X2);
    let Some(mask) = mask.filter(is_known) else {
        return Err(e.mismatch(inst, "the reduction is not Row, Column, both or 2x2"));
    };
    let reduction = Reduction {
        inst,
        function: inst.id(2).map_err(Box::new)?,
        from,
        to,
        rows: mask.contains(Mask::COLUMN),
        columns: mask.contains(Mask::ROW),
    };
    let whole = |matrix: &Matrix| (matrix.rows * matrix.blocks, matrix.columns);
    let ((rows, columns), (to_rows, to_columns)) = (whole(from), whole(to));
    let fits = if mask == Mask::_2X2 {
        (rows, columns) == (to_rows * 2, to_columns * 2)
    } else {
        (reduction.rows || rows == to_rows) && (reduction.columns || columns == to_columns)
    };
    if !fits {
        return Err(e.mismatch(inst, "the size of the result does not match the reduction"));
    }
    let is_slow = mask == Mask::_2X2 || is_padded(from, e.wave_size());
    // Elements are read from the same subgroup.
    let stays = from.blocks == to.blocks && (from.blocks == 1 || !reduction.rows);
    let value = if !is_slow {
        reduction.by_halves(e, value)?
    } else if stays {
        reduction.by_element(e, value, mask)?
    } else {
        reduction.across_subgroups(e, value, mask)?
    };
    e.bind(inst, value)
}

impl Reduction<'_, '_> {
    fn combine<'c>(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        a: Value<'c>,
        b: Value<'c>,
    ) -> Result<Value<'c>> {
        e.call_function(self.inst, self.function, &[a, b])
    }

    fn combines(&self, axis: Axis) -> bool {
        match axis {
            Axis::Row => self.rows,
            Axis::Column => self.columns,
        }
    }

    /// The part of a slot's coordinates that stays.
    fn kept(&self, slot: u32) -> (u32, u32) {
        let Element { row, column } = self.from.layout.part(Holder::Slot, slot);
        (
            if self.rows { 0 } else { row },
            if self.columns { 0 } else { column },
        )
    }

    /// Own elements, then those of other lanes, then those of other subgroups.
    fn by_halves<'c>(
        &self,
        e: &mut FunctionEmitter<'_, 'c, '_>,
        value: Value<'c>,
    ) -> Result<Value<'c>> {
        let layout = &self.from.layout;
        let mut sums: Sums<'c> = BTreeMap::new();
        for slot in 0..layout.slots {
            let element = e.b.lane(value, slot)?;
            let sum = match sums.get(&self.kept(slot)) {
                Some(sum) => self.combine(e, *sum, element)?,
                None => element,
            };
            sums.insert(self.kept(slot), sum);
        }
        let lanes = Lanes::all_active(e)?;
        let digits = layout.digits.iter().filter(|d| d.holder == Holder::Lane);
        let mut combined_lanes = 0;
        for digit in digits.filter(|digit| self.combines(digit.axis)) {
            for step in (0..digit.radix.trailing_zeros()).map(|bit| digit.place << bit) {
                combined_lanes |= step;
                let other = e.b.xor(lanes.id, e.b.i32(step))?;
                let own = e.b.and(lanes.id, e.b.i32(step))?;
                let is_first = e.b.icmp(IntPredicate::LLVMIntEQ, own, e.b.i32(0))?;
                for sum in sums.values_mut() {
                    let theirs = lanes.read(*sum, other)?;
                    // Both lanes must get the same bits.
                    let first = e.b.select(is_first, *sum, theirs)?;
                    let second = e.b.select(is_first, theirs, *sum)?;
                    *sum = self.combine(e, first, second)?;
                }
            }
        }
        if self.rows && self.from.blocks > 1 {
            self.exchange(e, &mut sums, combined_lanes)?;
        }
        let spread = (0..layout.slots)
            .map(|slot| {
                let sum = sums.get(&self.kept(slot)).copied();
                sum.ok_or_else(|| e.b.internal("nothing is reduced"))
            })
            .collect::<Result<Vec<_>>>()?;
        let value = e.b.vector(&spread)?;
        if self.to.layout == *layout {
            return Ok(value);
        }
        let zero = e.b.i32(0);
        gather(e, self.from, self.to, value, |source, at, asked| {
            let at = At {
                row: if self.rows { zero } else { at.row },
                column: if self.columns { zero } else { at.column },
            };
            source.read(at, |lane| {
                let Element { row, column } = asked(lane);
                Element {
                    row: if self.rows { 0 } else { row },
                    column: if self.columns { 0 } else { column },
                }
            })
        })
    }

    /// Combines the sums of the blocks of rows, in the order of the blocks. `combined`: the bits of
    /// a lane's number in which lanes have the same sums.
    fn exchange<'c>(
        &self,
        e: &mut FunctionEmitter<'_, 'c, '_>,
        sums: &mut Sums<'c>,
        combined: u32,
    ) -> Result<()> {
        let bytes = exchange::element_bytes(self.from.component);
        let width = if self.columns { 1 } else { self.from.columns };
        let pieces = Pieces::new(e, self.inst, bytes, self.from.blocks, width)?;
        let first = Held::new(e, &self.from.layout)?.at(0)?.column;
        let number = |e: &FunctionEmitter<'_, 'c, '_>, column: u32| {
            if self.columns {
                Ok(e.b.i32(0))
            } else {
                e.b.add(first, e.b.i32(column))
            }
        };
        // The columns that the lanes have for this part of a slot's.
        let in_pieces = |column: u32| {
            let of_lane = |lane| self.from.layout.part(Holder::Lane, lane).column + column;
            if self.columns {
                pieces.of([0].into_iter())
            } else {
                pieces.of((0..e.wave_size()).map(of_lane))
            }
        };
        let covered: BTreeMap<u32, BTreeSet<u32>> = sums
            .keys()
            .map(|(_, column)| (*column, in_pieces(*column)))
            .collect();
        let wave = builtin::wave_id(e)?;
        let same = combined | self.from.layout.copies(e.wave_size());
        let lane = e.b.and(lanes::lane_id(e)?, e.b.i32(same))?;
        let is_first = e.b.icmp(IntPredicate::LLVMIntEQ, lane, e.b.i32(0))?;
        let has_block =
            e.b.icmp(IntPredicate::LLVMIntULT, wave, e.b.i32(self.from.blocks))?;
        let stores = e.b.and(is_first, has_block)?;
        let ty = sums.values().next().map(|sum| sum.ty());
        let ty = ty.ok_or_else(|| e.b.internal("nothing is reduced"))?;
        let mut loaded: BTreeMap<(u32, u32), Value<'c>> = BTreeMap::new();
        for piece in 0..pieces.count {
            let here = |column: u32| covered.get(&column).filter(|all| all.contains(&piece));
            e.when(stores, |e| {
                for ((_, column), sum) in sums.iter() {
                    let Some(all) = here(*column) else { continue };
                    let moved = Moved {
                        block: wave,
                        number: number(e, *column)?,
                    };
                    pieces.store(e, piece, all.len() == 1, moved, *sum)?;
                }
                Ok(())
            })?;
            group::barrier(e)?;
            for (_, column) in sums.keys().filter(|(_, column)| here(*column).is_some()) {
                for block in 0..self.from.blocks {
                    let moved = Moved {
                        block: e.b.i32(block),
                        number: number(e, *column)?,
                    };
                    let before = loaded.get(&(*column, block)).copied();
                    let one = pieces.load(e, piece, moved, ty, before)?;
                    loaded.insert((*column, block), one);
                }
            }
            group::barrier(e)?;
        }
        for ((_, column), sum) in sums.iter_mut() {
            let mut all = None;
            for block in 0..self.from.blocks {
                let one = loaded.get(&(*column, block)).copied();
                let one = one.ok_or_else(|| e.b.internal("a sum was not exchanged"))?;
                all = Some(match all {
                    Some(all) => self.combine(e, all, one)?,
                    None => one,
                });
            }
            *sum = all.unwrap_or(*sum);
        }
        Ok(())
    }

    /// The slow way, of elements of several subgroups: what each subgroup combines by itself goes
    /// to those that hold the result. Sums of columns are brought together in all of them.
    fn across_subgroups<'c>(
        &self,
        e: &mut FunctionEmitter<'_, 'c, '_>,
        value: Value<'c>,
        mask: Mask,
    ) -> Result<Value<'c>> {
        let from = self.from;
        let wave = e.wave_size();
        let part = |rows: u32, columns: u32, blocks: u32| Matrix {
            rows,
            columns,
            blocks,
            layout: Layout::striped(rows, columns, wave),
            ..from.clone()
        };
        let combined = if self.rows {
            part(1, from.columns, from.blocks)
        } else {
            part(from.rows / 2, from.columns / 2, from.blocks)
        };
        let of_block = Reduction {
            to: &combined,
            columns: false,
            ..*self
        };
        let value = of_block.by_element(e, value, mask)?;
        if !self.rows {
            return through_memory(e, self.inst, [&combined, self.to], value, false);
        }
        let all = part(from.blocks, from.columns, 1);
        let value = through_memory(e, self.inst, [&combined, &all], value, false)?;
        let of_all = Reduction {
            from: &all,
            ..*self
        };
        of_all.by_element(e, value, mask)
    }

    /// Every element of the result reads those that it combines.
    fn by_element<'c>(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        value: Value<'c>,
        mask: Mask,
    ) -> Result<Value<'c>> {
        let (rows, columns, step) = if mask == Mask::_2X2 {
            (2, 2, 2)
        } else {
            let rows = if self.rows { self.from.rows } else { 1 };
            let columns = if self.columns { self.from.columns } else { 1 };
            (rows, columns, 1)
        };
        let source = Shared::new(e, self.from, value)?;
        let held = Held::new(e, &self.to.layout)?;
        let mut elements = Vec::new();
        for slot in 0..self.to.layout.slots {
            let at = held.at(slot)?;
            let origin = |lane| {
                let Element { row, column } = self.to.layout.element(LaneSlot { slot, lane });
                Element {
                    row: if self.rows { 0 } else { row * step },
                    column: if self.columns { 0 } else { column * step },
                }
            };
            let (zero, stride) = (e.b.i32(0), e.b.i32(step));
            let row = if self.rows {
                zero
            } else {
                e.b.mul(at.row, stride)?
            };
            let column = if self.columns {
                zero
            } else {
                e.b.mul(at.column, stride)?
            };
            let mut sum = None;
            for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                let at = At {
                    row: e.b.add(row, e.b.i32(i))?,
                    column: e.b.add(column, e.b.i32(j))?,
                };
                let element = source.read(at, |lane| {
                    let Element { row, column } = origin(lane);
                    Element {
                        row: row + i,
                        column: column + j,
                    }
                })?;
                sum = Some(match sum {
                    None => element,
                    Some(sum) => self.combine(e, sum, element)?,
                });
            }
            elements.push(sum.ok_or_else(|| e.b.internal("nothing is reduced"))?);
        }
        e.b.vector(&elements)
    }
}
