//! Elements that go from one subgroup to another: through workgroup memory, between two barriers.

use super::super::function::FunctionEmitter;
use super::super::{Result, group};
use super::Matrix;
use super::element::At;
use super::transfer::{Inside, inside, is_inside, places, stores};
use crate::ffi::Value;
use splitbar_passes::module::Inst;
use splitbar_typed::exchange::element_bytes;

/// `value` with the elements where a matrix of type `to` has them, rows and columns exchanged if it
/// is `transposed`.
pub(super) fn through_memory<'c>(
    e: &mut FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    [from, to]: [&Matrix; 2],
    value: Value<'c>,
    transposed: bool,
) -> Result<Value<'c>> {
    let memory = group::exchange_memory(e, inst)?;
    let bytes = element_bytes(from.component);
    let first = e.first_row(from)?;
    let sources = places(e, from)?;
    let place = |e: &FunctionEmitter<'_, 'c, '_>, row: Value<'c>, column: Value<'c>| {
        let index = e.b.add(e.b.mul(row, e.b.i32(from.columns))?, column)?;
        e.b.offset(memory, e.b.mul(index, e.b.i32(bytes))?, true)
    };
    let store_all = |e: &mut FunctionEmitter<'_, 'c, '_>| {
        for (slot, at) in (0..).zip(&sources) {
            let element = e.b.lane(value, slot)?;
            let row = with_first(e, first, at.row)?;
            let store = |e: &FunctionEmitter<'_, 'c, '_>| {
                e.b.store(element, place(e, row, at.column)?, bytes)
                    .map(|_| ())
            };
            match inside(from, slot, e.wave_size) {
                Inside::None => {}
                Inside::All => store(e)?,
                Inside::Some => {
                    let condition = is_inside(e, from, *at)?;
                    e.when(condition, |e| store(e))?;
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
    let first = e.first_row(to)?;
    let ty = value.ty().element_if_vector();
    let mut elements = Vec::new();
    for (slot, at) in (0..).zip(places(e, to)?) {
        if let Inside::None = inside(to, slot, e.wave_size) {
            elements.push(ty.zero());
            continue;
        }
        // Beyond the matrix something of it is read.
        let at = At {
            row: e.extreme("llvm.umin", at.row, e.b.i32(to.rows - 1))?,
            column: e.extreme("llvm.umin", at.column, e.b.i32(to.columns - 1))?,
        };
        let row = with_first(e, first, at.row)?;
        let place = match transposed {
            true => place(e, at.column, row)?,
            false => place(e, row, at.column)?,
        };
        elements.push(e.b.load(ty, place, bytes)?);
    }
    group::barrier(e)?;
    e.b.vector(&elements)
}

fn with_first<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    first: Option<Value<'c>>,
    row: Value<'c>,
) -> Result<Value<'c>> {
    match first {
        Some(first) => e.b.add(first, row),
        None => Ok(row),
    }
}
