//! Elements that go from one subgroup to another: through workgroup memory, between two barriers.
//!
//! What does not fit into that memory goes in pieces: each has the same elements of all blocks,
//! counted row after row, and two barriers of its own.

use super::super::function::FunctionEmitter;
use super::super::{Result, group};
use super::Matrix;
use super::element::{At, held_by};
use super::layout::Element;
use super::transfer::{Inside, inside, is_inside, places, stores};
use crate::ffi::{IntPredicate, Ty, Value};
use splitbar_layout::exchange::element_bytes;
use splitbar_passes::module::Inst;
use std::collections::BTreeSet;

/// The memory as blocks of elements: `length` of each block at once.
pub(super) struct Pieces<'c> {
    memory: Value<'c>,
    bytes: u32,
    /// A power of two, unless there is one piece.
    length: u32,
    /// How many there are.
    pub(super) count: u32,
}

/// An element on its way.
#[derive(Copy, Clone)]
pub(super) struct Moved<'c> {
    /// The block that it comes from.
    pub(super) block: Value<'c>,
    /// Its number in the block.
    pub(super) number: Value<'c>,
}

impl<'c> Pieces<'c> {
    /// For `blocks` of so many `elements`, of `bytes` each.
    pub(super) fn new(
        e: &FunctionEmitter<'_, 'c, '_>,
        inst: Inst<'_>,
        bytes: u32,
        blocks: u32,
        elements: u32,
    ) -> Result<Pieces<'c>> {
        let memory = group::exchange_memory(e, inst)?;
        let most = (e.kernel.exchange_bytes / u64::from(bytes * blocks)) as u32;
        let length = if elements <= most {
            elements
        } else {
            1 << most.max(1).ilog2() // the greatest power of two that is not above
        };
        Ok(Pieces {
            memory,
            bytes,
            length,
            count: elements.div_ceil(length),
        })
    }

    /// The pieces that elements with these numbers are in.
    pub(super) fn of(&self, numbers: impl Iterator<Item = u32>) -> BTreeSet<u32> {
        numbers.map(|number| number / self.length).collect()
    }

    /// Whether an element is in `piece`.
    fn has(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        piece: u32,
        number: Value<'c>,
    ) -> Result<Value<'c>> {
        let own = e.b.lshr(number, e.b.i32(self.length.trailing_zeros()))?;
        e.b.icmp(IntPredicate::LLVMIntEQ, own, e.b.i32(piece))
    }

    /// Where an element of `piece` is; of another piece, a place in the memory.
    fn place(&self, e: &FunctionEmitter<'_, 'c, '_>, moved: Moved<'c>) -> Result<Value<'c>> {
        let number = match self.count {
            1 => moved.number,
            _ => e.b.and(moved.number, e.b.i32(self.length - 1))?,
        };
        let index =
            e.b.add(e.b.mul(moved.block, e.b.i32(self.length))?, number)?;
        e.b.offset(self.memory, e.b.mul(index, e.b.i32(self.bytes))?, true)
    }

    /// Stores an element, if it is in `piece`; `sure`: it is.
    pub(super) fn store(
        &self,
        e: &mut FunctionEmitter<'_, 'c, '_>,
        piece: u32,
        sure: bool,
        moved: Moved<'c>,
        element: Value<'c>,
    ) -> Result<()> {
        let write = |e: &mut FunctionEmitter<'_, 'c, '_>| {
            let place = self.place(e, moved)?;
            e.b.store(element, place, self.bytes).map(|_| ())
        };
        if sure {
            write(e)
        } else {
            let condition = self.has(e, piece, moved.number)?;
            e.when(condition, write)
        }
    }

    /// The element, of type `ty`, where it is in `piece`, else `before`.
    pub(super) fn load(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        piece: u32,
        moved: Moved<'c>,
        ty: Ty<'c>,
        before: Option<Value<'c>>,
    ) -> Result<Value<'c>> {
        let element = e.b.load(ty, self.place(e, moved)?, self.bytes)?;
        match before {
            None => Ok(element),
            Some(before) => {
                e.b.select(self.has(e, piece, moved.number)?, element, before)
            }
        }
    }
}

/// `value` with the elements where a matrix of type `to` has them, rows and columns exchanged if it
/// is `transposed`.
pub(super) fn through_memory<'c>(
    e: &mut FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    [from, to]: [&Matrix; 2],
    value: Value<'c>,
    transposed: bool,
) -> Result<Value<'c>> {
    let bytes = element_bytes(from.component);
    let pieces = Pieces::new(e, inst, bytes, from.blocks, from.rows * from.columns)?;
    let (own, shape) = (own_block(e, from)?, e.b.i32(from.columns));
    let sources = places(e, from)?;
    let wanted = asked(e, [from, to], transposed)?;
    let lanes = e.wave_size();
    let ty = value.ty().element_if_vector();
    let of_source: Vec<BTreeSet<u32>> = (0..from.layout.slots)
        .map(|slot| {
            let is_element = |at: &Element| at.row < from.rows && at.column < from.columns;
            let held = (0..lanes)
                .map(held_by(&from.layout, slot))
                .filter(is_element);
            pieces.of(held.map(|at| at.row * from.columns + at.column))
        })
        .collect();
    let of_result: Vec<BTreeSet<u32>> = (0..to.layout.slots)
        .map(|slot| pieces.of(numbers_asked([from, to], slot, lanes, transposed)))
        .collect();
    let mut elements: Vec<Option<Value<'c>>> = vec![None; to.layout.slots as usize];
    for piece in 0..pieces.count {
        let store_all = |e: &mut FunctionEmitter<'_, 'c, '_>| {
            for ((slot, at), in_pieces) in (0..).zip(&sources).zip(&of_source) {
                if !in_pieces.contains(&piece) {
                    continue;
                }
                let element = e.b.lane(value, slot)?;
                let moved = Moved {
                    block: own,
                    number: e.b.add(e.b.mul(at.row, shape)?, at.column)?,
                };
                let sure = in_pieces.len() == 1;
                let store = |e: &mut FunctionEmitter<'_, 'c, '_>| {
                    pieces.store(e, piece, sure, moved, element)
                };
                match inside(from, slot, lanes) {
                    Inside::None => {}
                    Inside::All => store(e)?,
                    Inside::Some => {
                        let condition = is_inside(e, from, *at)?;
                        e.when(condition, store)?;
                    }
                }
            }
            Ok(())
        };
        match stores(e, from)? {
            Some(condition) => e.when(condition, store_all)?,
            None => store_all(e)?,
        }
        group::barrier(e)?;
        let slots = (0..).zip(&wanted).zip(&of_result).zip(&mut elements);
        for (((slot, wanted), in_pieces), element) in slots {
            if let Inside::None = inside(to, slot, lanes) {
                continue;
            }
            if in_pieces.contains(&piece) {
                *element = Some(pieces.load(e, piece, *wanted, ty, *element)?);
            }
        }
        group::barrier(e)?;
    }
    let elements = elements.into_iter().map(|x| x.unwrap_or_else(|| ty.zero()));
    e.b.vector(&elements.collect::<Vec<_>>())
}

/// The number of the block that the subgroup holds.
fn own_block<'c>(e: &FunctionEmitter<'_, 'c, '_>, matrix: &Matrix) -> Result<Value<'c>> {
    match matrix.blocks {
        1 => Ok(e.b.i32(0)),
        blocks => {
            let wave = super::super::builtin::wave_id(e)?;
            e.b.and(wave, e.b.i32(blocks - 1))
        }
    }
}

/// Which element of `from` each slot of `to` is. Beyond the matrix it is something of it.
fn asked<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    [from, to]: [&Matrix; 2],
    transposed: bool,
) -> Result<Vec<Moved<'c>>> {
    let first = e.first_row(to)?;
    let mut wanted = Vec::new();
    for at in places(e, to)? {
        let at = At {
            row: e.extreme("llvm.umin", at.row, e.b.i32(to.rows - 1))?,
            column: e.extreme("llvm.umin", at.column, e.b.i32(to.columns - 1))?,
        };
        let row = e.with_first(first, at.row)?;
        let (row, column) = if transposed {
            (at.column, row)
        } else {
            (row, at.column)
        };
        let rows = e.b.i32(from.rows);
        let (block, row) = match from.blocks {
            1 => (e.b.i32(0), row),
            _ => {
                let block = e.b.binary(crate::ffi::Opcode::LLVMUDiv, row, rows)?;
                (block, e.b.sub(row, e.b.mul(block, rows)?)?)
            }
        };
        let number = e.b.add(e.b.mul(row, e.b.i32(from.columns))?, column)?;
        wanted.push(Moved { block, number });
    }
    Ok(wanted)
}

/// The numbers in their blocks of the elements of `from` that a slot of `to` may be, in all lanes
/// of all subgroups.
fn numbers_asked(
    [from, to]: [&Matrix; 2],
    slot: u32,
    lanes: u32,
    transposed: bool,
) -> impl Iterator<Item = u32> {
    let blocks = 0..to.blocks;
    let all = blocks.flat_map(move |block| (0..lanes).map(move |lane| (block, lane)));
    all.map(move |(block, lane)| {
        let at = held_by(&to.layout, slot)(lane);
        let row = block * to.rows + at.row.min(to.rows - 1);
        let column = at.column.min(to.columns - 1);
        let (row, column) = if transposed {
            (column, row)
        } else {
            (row, column)
        };
        row % from.rows * from.columns + column
    })
}
