//! OpCooperativeMatrixLoadTensorNV and OpCooperativeMatrixStoreTensorNV: each invocation moves the
//! elements that it holds, one by one.
//!
//! Many elements, and those that a function decodes, go through a loop and an array on the stack:
//! the code would be as large as the matrix otherwise.

use super::super::super::Result;
use super::super::super::function::FunctionEmitter;
use super::super::super::memory::Access;
use super::super::super::place::take_stack;
use super::super::super::slots::Pointer;
use super::super::super::types::Kind;
use super::super::Matrix;
use super::super::element::{At, Held, at_slot};
use super::super::transfer::{Inside, inside, is_inside, is_padded, places, stores};
use super::locate::{Located, Mapping};
use crate::ffi::{IntPredicate, Ty, Value};
use splitbar_passes::module::{Id, Inst, TensorAccess};

/// Most elements of one invocation that are moved without a loop.
const MAX_UNROLLED: u32 = 128;
/// The same, where a function decodes them.
const MAX_DECODED: u32 = 8;
/// Alignment of an array on the stack that is accessed as a whole.
const ARRAY_ALIGN: u32 = 16;

/// A matrix and the tensor that it is loaded from or stored to.
struct Transfer<'e, 'm, 'c> {
    inst: Inst<'m>,
    matrix: &'e Matrix,
    pointer: Pointer<'c>,
    access: Access,
    mapping: Mapping<'e, 'c>,
    decode: Option<Decode<'c>>,
    /// The row of the matrix that the subgroup's block begins with, if it is not 0.
    first_row: Option<Value<'c>>,
}

/// A function that makes an element from a block.
struct Decode<'c> {
    function: Id,
    /// Bytes of what its pointer points to.
    bytes: u64,
    /// The types of its coordinates.
    coordinates: [Ty<'c>; 2],
}

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// A place on the stack for a vector of `slots` elements.
    fn stack_array(&mut self, ty: Ty<'c>, slots: u32) -> Result<Value<'c>> {
        let bytes = ty.element_if_vector().scalar_bits().div_ceil(8) * slots;
        take_stack(self.b, bytes.into())?;
        self.stack_slot(ty, ARRAY_ALIGN)
    }
}

impl<'c> Decode<'c> {
    fn from_inst(
        e: &FunctionEmitter<'_, 'c, '_>,
        inst: Inst<'_>,
        function: Id,
        pointer: &Pointer<'c>,
        dimensions: u32,
    ) -> Result<Decode<'c>> {
        let wrong = || {
            e.mismatch(
                inst,
                "the parameters of the decode function are not a pointer to PhysicalStorageBuffer and two arrays with one 32-bit integer for each dimension",
            )
        };
        let params = e
            .module
            .declarations
            .function(function)
            .map(|function| function.params.as_slice());
        let Some([(_, place), (_, block), (_, in_block)]) = params else {
            return Err(wrong());
        };
        let Kind::Pointer {
            pointee: Some(pointee),
            ..
        } = e.kind(*place)?
        else {
            return Err(wrong());
        };
        let coordinates = [e.ty(*block)?, e.ty(*in_block)?];
        let fits = |ty: &Ty<'c>| {
            ty.count() == u64::from(dimensions) && ty.member(0) == Some(e.b.int_type(32))
        };
        if !coordinates.iter().all(fits) || e.ty(*place)? != pointer.address.ty() {
            return Err(wrong());
        }
        Ok(Decode {
            function,
            bytes: e.type_info(*pointee)?.size,
            coordinates,
        })
    }
}

impl<'e, 'm, 'c> Transfer<'e, 'm, 'c> {
    fn decode(
        e: &FunctionEmitter<'e, 'c, '_>,
        inst: Inst<'m>,
        operands: &TensorAccess,
        matrix: &'e Matrix,
    ) -> Result<Transfer<'e, 'm, 'c>> {
        let pointer = e.pointer(operands.pointer)?;
        let (access, _) = e.access(inst, operands.memory)?;
        let (pointer, access) = e.with_access(&pointer, access)?;
        let columns = matrix.columns;
        let mapping = Mapping::decode(e, operands, columns)?;
        let decode = operands
            .decode
            .map(|function| Decode::from_inst(e, inst, function, &pointer, mapping.dimensions()))
            .transpose()?;
        if decode.is_some() && access.is_special() {
            return Err(e.unsupported(
                inst,
                "a decode function with memory operands that are volatile or make memory visible; its own loads can be",
            ));
        }
        Ok(Transfer {
            inst,
            matrix,
            pointer,
            access,
            mapping,
            decode,
            first_row: e.first_row(matrix)?,
        })
    }

    /// Where the element at `at` of this subgroup's block is.
    fn locate(&self, e: &FunctionEmitter<'_, 'c, '_>, at: At<'c>) -> Result<Located<'c>> {
        let row = e.with_first(self.first_row, at.row)?;
        self.mapping.locate(e, At { row, ..at })
    }

    /// The address of element `index`, of elements or blocks of `bytes`.
    fn address(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        index: Value<'c>,
        bytes: u64,
    ) -> Result<Value<'c>> {
        let wide = match self.pointer.address.ty().address_space() {
            3 => e.b.int_type(32),
            _ => e.b.int_type(64),
        };
        let index = e.b.int_resize(index, wide, false)?;
        e.b.offset(self.pointer.address, e.b.mul(index, wide.int(bytes))?, true)
    }

    /// Whether the element is one that is moved; `None`: it is. `at`: where it is in the block, if
    /// it may be beyond the matrix.
    fn wanted(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        located: &Located<'c>,
        at: Option<At<'c>>,
    ) -> Result<Option<Value<'c>>> {
        let inside = at.map(|at| is_inside(e, self.matrix, at)).transpose()?;
        both(e, inside, located.taken)
    }

    /// What lies in memory at an element's place.
    fn fetch(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        ty: Ty<'c>,
        located: &Located<'c>,
    ) -> Result<Value<'c>> {
        let bytes = self.matrix.component.bytes();
        let Some(decode) = &self.decode else {
            let address = self.address(e, located.index, bytes.into())?;
            return e.leaf_load(ty, address, bytes, self.access);
        };
        let mut arguments = vec![self.address(e, located.index, decode.bytes)?];
        for (ty, coordinates) in decode
            .coordinates
            .iter()
            .zip([&located.block, &located.in_block])
        {
            let mut array = ty.poison();
            for (dimension, coordinate) in (0..).zip(coordinates) {
                array = e.b.with_member(array, *coordinate, dimension)?;
            }
            arguments.push(array);
        }
        let value = e.call_function(self.inst, decode.function, &arguments)?;
        if value.ty() != ty {
            return Err(e.mismatch(
                self.inst,
                "the decode function does not return an element of the matrix",
            ));
        }
        Ok(value)
    }

    /// Loads the element at `at`, which may be beyond the matrix if it is `padded`. `keep`: what it
    /// is where the view leaves it out.
    fn load(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        at: At<'c>,
        padded: bool,
        keep: Value<'c>,
    ) -> Result<Value<'c>> {
        let located = self.locate(e, at)?;
        let wanted = self.wanted(e, &located, padded.then_some(at))?;
        let Some(condition) = both(e, wanted, located.within)? else {
            return self.fetch(e, keep.ty(), &located);
        };
        let other = match (located.within, wanted) {
            (None, _) => keep,
            (Some(_), None) => self.clamp_value(e, keep.ty())?,
            (Some(_), Some(wanted)) => e.b.select(wanted, self.clamp_value(e, keep.ty())?, keep)?,
        };
        let (before, body, after) = (e.b.block()?, e.new_block(), e.new_block());
        e.b.cond_br(condition, body, after)?;
        e.b.position(body);
        let value = self.fetch(e, keep.ty(), &located)?;
        let end = e.b.block()?;
        e.b.br(after);
        e.b.position(after);
        e.b.phi(&[(other, before), (value, end)])
    }

    /// The element that loads give beyond the tensor: the low bits of the layout's number.
    fn clamp_value(&self, e: &FunctionEmitter<'_, 'c, '_>, ty: Ty<'c>) -> Result<Value<'c>> {
        let bits = e.b.int_type(ty.scalar_bits());
        e.b.bitcast(e.b.int_resize(self.mapping.clamp_value(), bits, false)?, ty)
    }

    /// Stores all elements: of the vector `value`, or of an array on the stack that holds them.
    fn store_all(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        value: Value<'c>,
        array: Option<Value<'c>>,
    ) -> Result<()> {
        let layout = &self.matrix.layout;
        let ty = value.ty().element_if_vector();
        if let Some(array) = array {
            let first = Held::new(e, layout)?.at(0)?;
            let padded = is_padded(self.matrix, e.wave_size());
            return repeat(e, layout.slots, |e, slot| {
                let at = at_slot(e, layout, first, slot)?;
                let place = place(e, array, slot, ty)?;
                let element = e.b.load(ty, place, self.matrix.component.bytes())?;
                self.store(e, at, padded, element)
            });
        }
        for (slot, at) in (0..).zip(places(e, self.matrix)?) {
            let padded = match inside(self.matrix, slot, e.wave_size()) {
                Inside::None => continue,
                within => matches!(within, Inside::Some),
            };
            self.store(e, at, padded, e.b.lane(value, slot)?)?;
        }
        Ok(())
    }

    /// Stores the element at `at`, which may be beyond the matrix if it is `padded`.
    fn store(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        at: At<'c>,
        padded: bool,
        element: Value<'c>,
    ) -> Result<()> {
        let located = self.locate(e, at)?;
        let wanted = self.wanted(e, &located, padded.then_some(at))?;
        let bytes = self.matrix.component.bytes();
        let act = || {
            let address = self.address(e, located.index, bytes.into())?;
            e.leaf_store(element, address, bytes, self.access)
        };
        let Some(condition) = both(e, wanted, located.within)? else {
            return act();
        };
        let (body, after) = (e.new_block(), e.new_block());
        e.b.cond_br(condition, body, after)?;
        e.b.position(body);
        act()?;
        e.b.br(after);
        e.b.position(after);
        Ok(())
    }

    /// Returns true if all slots take a loop.
    fn is_long(&self) -> bool {
        let most = if self.decode.is_some() {
            MAX_DECODED
        } else {
            MAX_UNROLLED
        };
        self.matrix.layout.slots > most
    }
}

/// `a && b`; `None` is true.
fn both<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    a: Option<Value<'c>>,
    b: Option<Value<'c>>,
) -> Result<Option<Value<'c>>> {
    match (a, b) {
        (Some(a), Some(b)) => e.b.and(a, b).map(Some),
        (a, b) => Ok(a.or(b)),
    }
}

/// Runs `body` for the numbers below `count`, which is not 0.
fn repeat<'f, 'c, 'm>(
    e: &FunctionEmitter<'f, 'c, 'm>,
    count: u32,
    body: impl FnOnce(&FunctionEmitter<'f, 'c, 'm>, Value<'c>) -> Result<()>,
) -> Result<()> {
    let (before, again, done) = (e.b.block()?, e.new_block(), e.new_block());
    e.b.br(again);
    e.b.position(again);
    let number = e.b.phi(&[(e.b.i32(0), before)])?;
    body(e, number)?;
    let here = e.b.block()?;
    let next = e.b.add(number, e.b.i32(1))?;
    number.add_incoming(next, here);
    let more = e.b.icmp(IntPredicate::LLVMIntULT, next, e.b.i32(count))?;
    e.b.cond_br(more, again, done)?;
    e.b.position(done);
    Ok(())
}

/// The place of an element in an array on the stack.
fn place<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    array: Value<'c>,
    slot: Value<'c>,
    ty: Ty<'c>,
) -> Result<Value<'c>> {
    let bytes = e.b.i32(ty.scalar_bits().div_ceil(8));
    e.b.offset(array, e.b.mul(slot, bytes)?, true)
}

/// Lowers OpCooperativeMatrixLoadTensorNV.
pub(super) fn load<'m>(e: &mut FunctionEmitter<'_, '_, 'm>, inst: Inst<'m>) -> Result<()> {
    let operands = operands(e, inst)?;
    let matrix = e.matrix(e.result_type(inst)?)?;
    let object = e.value(operands.object)?;
    if object.ty() != e.result_ty(inst)? {
        return Err(e.mismatch(inst, "the type of the object is not the result type"));
    }
    let transfer = Transfer::decode(e, inst, &operands, matrix)?;
    let slots = matrix.layout.slots;
    e.count_parts(u64::from(slots))?;
    let ty = object.ty().element_if_vector();
    if !transfer.is_long() {
        let mut elements = Vec::with_capacity(slots as usize);
        for (slot, at) in (0..).zip(places(e, matrix)?) {
            let keep = e.b.lane(object, slot)?;
            elements.push(match inside(matrix, slot, e.wave_size()) {
                Inside::None => ty.zero(),
                within => {
                    let padded = matches!(within, Inside::Some);
                    transfer.load(e, at, padded, keep)?
                }
            });
        }
        let value = e.b.vector(&elements)?;
        return e.bind(inst, value);
    }
    let padded = is_padded(matrix, e.wave_size());
    let array = e.stack_array(object.ty(), slots)?;
    e.b.store(object, array, ARRAY_ALIGN)?;
    let first = Held::new(e, &matrix.layout)?.at(0)?;
    repeat(e, slots, |e, slot| {
        let at = at_slot(e, &matrix.layout, first, slot)?;
        let place = place(e, array, slot, ty)?;
        let bytes = matrix.component.bytes();
        let keep = e.b.load(ty, place, bytes)?;
        let element = transfer.load(e, at, padded, keep)?;
        e.b.store(element, place, bytes).map(|_| ())
    })?;
    let value = e.b.load(object.ty(), array, ARRAY_ALIGN)?;
    e.bind(inst, value)
}

/// Lowers OpCooperativeMatrixStoreTensorNV.
pub(super) fn store<'m>(e: &mut FunctionEmitter<'_, '_, 'm>, inst: Inst<'m>) -> Result<()> {
    let operands = operands(e, inst)?;
    if operands.decode.is_some() {
        return Err(e.mismatch(inst, "a store has a decode function"));
    }
    let (value, matrix) = e.matrix_operand(inst, 1)?;
    let transfer = Transfer::decode(e, inst, &operands, matrix)?;
    e.count_parts(u64::from(matrix.layout.slots))?;
    let array = if transfer.is_long() {
        let array = e.stack_array(value.ty(), matrix.layout.slots)?;
        e.b.store(value, array, ARRAY_ALIGN)?;
        Some(array)
    } else {
        None
    };
    match stores(e, matrix)? {
        Some(condition) => e.when(condition, |e| transfer.store_all(e, value, array)),
        None => transfer.store_all(e, value, array),
    }
}

fn operands(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<TensorAccess> {
    let operands = TensorAccess::from_inst(inst)
        .ok_or_else(|| e.mismatch(inst, format!("operands of {} are missing", inst.name())))?;
    if operands.unknown != 0 {
        return Err(e.unsupported(
            inst,
            format!("the tensor addressing operand {:#x}", operands.unknown),
        ));
    }
    Ok(operands)
}
