//! OpenCL.std: printf. The format is taken apart here, at compile time; the kernel writes a record
//! of its arguments ([`splitbar_passes::printf`]).
//!
//! A record is reserved by one relaxed addition at device scope and written by plain stores: a
//! memory operation that stays where it stands among barriers, and no fence.

use super::EXT_ARGS;
use super::function::FunctionEmitter;
use super::{Handled, Result, barrier};
use crate::ffi::{AtomicOrdering, IntPredicate, Opcode, RmwOp, TypeKind, Value};
use spirv::{Decoration, Op, StorageClass};
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::facts::Chain;
use splitbar_passes::module::{Constant, Declarations, Id, Inst, Type};
use splitbar_passes::printf::format::Conversion;
use splitbar_passes::printf::{Argument, Call, Format, HEADER_BYTES, Shape, layout};
use splitbar_plan::FenceScope;

/// Offset in the buffer of the bytes that calls have asked for.
const WRITTEN: u64 = 8;
/// Characters of a string: as many as a C compiler must take in a literal (C99, 5.2.4.1). Every
/// call reads its strings again.
const LONGEST: usize = 4095;
/// Instructions between a string and the place that names it: casts and access chains.
const MOST_STEPS: usize = 64;

/// Lowers a printf. Its result is 0, or -1 when the buffer has no room for the record.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<Handled> {
    let Some(text) = literal(e, inst, inst.id(EXT_ARGS)?) else {
        let what = "the format of a printf is not a constant";
        return Err(Box::new(
            refused(inst, what)
                .because("the compiler writes the formats for the host")
                .help("use a string literal; if an optimiser has merged calls with two formats, compile the kernel without it"),
        ));
    };
    let text = text?;
    let format = Format::parse(&text).map_err(|problem| {
        let message = format!("`{}` {}", problem.conversion, problem.why);
        Box::new(refused(inst, message))
    })?;
    let mut arguments = Vec::new();
    let mut components = Vec::new();
    for (position, conversion) in format.conversions().enumerate() {
        let number = position + 1;
        let id = inst.id(EXT_ARGS + number).map_err(|_| {
            let message =
                format!("the format of a printf has no argument for its conversion {number}");
            Box::new(refused(inst, message))
        })?;
        arguments.push(argument(e, inst, number, conversion, id, &mut components)?);
    }
    let call = e.kernel.prints.borrow_mut().call(Call {
        format: text,
        arguments: arguments.clone(),
    });
    let status = write(e, call, &arguments, &components)?;
    let status = e.b.int_resize(status, e.result_ty(inst)?, true)?;
    e.bind(inst, status)?;
    Ok(Handled::Yes)
}

fn refused(inst: Inst<'_>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::UnsupportedPrint, message).at_word(inst.offset)
}

/// The argument `id` of conversion `number`: its components are added to `components`.
fn argument<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    number: usize,
    conversion: &Conversion,
    id: Id,
    components: &mut Vec<Value<'c>>,
) -> Result<Argument> {
    let b = e.b;
    let misfit = |what: &str| {
        Box::new(refused(
            inst,
            format!(
                "conversion {number} of a printf needs {what}, but its argument has another type"
            ),
        ))
    };
    if conversion.argument(32).shape == Shape::String {
        components.push(string(e, inst, id).ok_or_else(|| misfit("a string literal"))??);
        return Ok(conversion.argument(32));
    }
    let value = e.value(id)?;
    let ty = value.ty();
    let argument = conversion.argument(ty.scalar_bits());
    let fits = ty.lanes() == argument.lanes;
    let mut each = |change: &dyn Fn(Value<'c>) -> Result<Value<'c>>| -> Result<()> {
        for index in 0..argument.lanes {
            let lane = if ty.is_vector() {
                b.lane(value, index)?
            } else {
                value
            };
            components.push(change(lane)?);
        }
        Ok(())
    };
    match argument.shape {
        Shape::Integer if ty.is_int() && fits => each(&|lane| {
            let signed = conversion.is_signed();
            let narrow = b.int_resize(lane, b.int_type(conversion.bits), signed)?;
            b.int_resize(narrow, b.int_type(argument.bits), signed)
        })?,
        Shape::Float if ty.is_float() && fits => {
            each(&|lane| b.float_resize(lane, b.float_type(argument.bits)))?;
        }
        Shape::Pointer if ty.kind() == TypeKind::LLVMPointerTypeKind => {
            components.push(b.cast(Opcode::LLVMPtrToInt, value, b.int_type(64))?);
        }
        Shape::Integer => return Err(misfit(&many("integer", argument.lanes))),
        Shape::Float => return Err(misfit(&many("floating-point number", argument.lanes))),
        Shape::Pointer | Shape::String => return Err(misfit("a pointer")),
    }
    Ok(argument)
}

fn many(what: &str, lanes: u32) -> String {
    match lanes {
        1 => format!("one {what}"),
        lanes => format!("a vector of {lanes} {what}s"),
    }
}

/// The number of the string literal `id`, or of the one of two that OpSelect chooses; `None` for
/// what is no literal.
fn string<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    id: Id,
) -> Option<Result<Value<'c>>> {
    let number = |id: Id| {
        let text = literal(e, inst, id)?;
        Some(text.map(|text| e.b.i32(e.kernel.prints.borrow_mut().string(text))))
    };
    let select = e.module.declarations.module.def(id)?;
    if select.op() != Some(Op::Select) {
        return number(id);
    }
    let (yes, no) = (number(select.id(1).ok()?)?, number(select.id(2).ok()?)?);
    Some((|| e.b.select(e.operand(select, 0)?, yes?, no?))())
}

/// The constant string that the pointer `id` points to, up to its zero byte, or a refusal of the
/// call `inst` where it is too long; `None` for what is not a constant string. They need not be of
/// class UniformConstant (SPV_EXT_relaxed_printf_string_address_space), if nobody writes them.
fn literal(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>, id: Id) -> Option<Result<Vec<u8>>> {
    let (id, offset) = place(e, id)?;
    let declarations = e.module.declarations;
    let variable = declarations.variable(id)?;
    let is_constant = declarations.decoration(id, Decoration::Constant).is_some();
    if variable.class != StorageClass::UniformConstant && !is_constant {
        return None;
    }
    let byte = |constant: &Constant| match constant {
        Constant::Int { bits, width: 8 } => Some(*bits as u8),
        Constant::Null => Some(0),
        _ => None,
    };
    let bytes: Vec<u8> = match e.module.constants.get(variable.initializer?)? {
        Constant::Composite(parts) => {
            let rest = parts.get(usize::try_from(offset).ok()?..)?;
            let text = rest.iter().map(byte).take_while(|byte| *byte != Some(0));
            text.take(LONGEST + 1).collect::<Option<_>>()?
        }
        Constant::Null => Vec::new(),
        _ => return None,
    };
    Some(if bytes.len() > LONGEST {
        let message = format!("a printf has a string of more than {LONGEST} characters");
        let problem = refused(inst, message).help("split it into several calls");
        Err(Box::new(problem))
    } else {
        Ok(bytes)
    })
}

/// The variable that the pointer `id` points into, and the index of the byte there.
fn place(e: &FunctionEmitter<'_, '_, '_>, id: Id) -> Option<(Id, u64)> {
    let declarations: &Declarations<'_> = e.module.declarations;
    let (mut id, mut offset) = (id, 0u64);
    for _ in 0..MOST_STEPS {
        if declarations.variable(id).is_some() {
            return Some((id, offset));
        }
        let inst = declarations.module.def(id)?;
        // The operation of a constant expression stands before its operands.
        let (op, operands) = match (inst.op()?, inst.operands()) {
            (Op::SpecConstantOp, [op, operands @ ..]) => (Op::from_u32(*op)?, operands),
            (op, operands) => (op, operands),
        };
        let base = match (op, Chain::decode(op, operands)) {
            (Op::Bitcast | Op::CopyObject | Op::PtrCastToGeneric | Op::GenericCastToPtr, _) => {
                Id(*operands.first()?)
            }
            (_, Some(chain)) => {
                // Where the result points to a byte, the last index counts bytes.
                let index = |id: &Id| e.module.constants.get(*id)?.as_u64();
                let indexes = chain.indexes.iter().map(|id| Id(*id));
                let indexes: Vec<Id> = chain.element.into_iter().chain(indexes).collect();
                let (last, outer) = indexes.split_last()?;
                let Type::Pointer { pointee, .. } = declarations.ty(inst.result_type()?)? else {
                    return None;
                };
                let is_byte = e.type_info((*pointee)?).ok()?.size == 1;
                let is_inside = outer.iter().all(|id| index(id) == Some(0));
                let last = index(last).filter(|last| is_inside && (is_byte || *last == 0))?;
                offset = offset.checked_add(last)?;
                chain.base
            }
            _ => return None,
        };
        id = base;
    }
    None
}

/// Reserves a record and fills it, where it finds room; the result of the call, 32 bits.
fn write<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    call: u32,
    arguments: &[Argument],
    components: &[Value<'c>],
) -> Result<Value<'c>> {
    let b = e.b;
    let Some(buffer) = e.arguments.printf_buffer else {
        return Err(b.internal("the printf buffer is not there"));
    };
    let (offsets, size) = layout(arguments);
    let bytes = b.i64(size.into());
    let written = b.offset(buffer, b.i64(WRITTEN), true)?;
    let at = b.rmw(
        RmwOp::LLVMAtomicRMWBinOpAdd,
        written,
        bytes,
        AtomicOrdering::LLVMAtomicOrderingMonotonic,
        barrier::sync_scope(b, e.module.target, FenceScope::Device),
    )?;
    let capacity = b.load(b.int_type(64), buffer, 8)?;
    // Where the sum would wrap around, too, `at` is above the capacity.
    let begins = b.icmp(IntPredicate::LLVMIntULE, at, capacity)?;
    let room = b.sub(capacity, at)?;
    let ends = b.icmp(IntPredicate::LLVMIntULE, bytes, room)?;
    let fits = b.and(begins, ends)?;
    let before = b.block()?;
    let (fill, done) = (e.new_block(), e.new_block());
    b.cond_br(fits, fill, done)?;
    b.position(fill);
    let records = b.offset(buffer, b.i64(HEADER_BYTES as u64), true)?;
    let record = b.offset(records, at, false)?;
    b.store(b.i32(size), record, 8)?;
    b.store(b.i32(call), b.offset(record, b.i64(4), true)?, 4)?;
    for (offset, component) in offsets.iter().zip(components) {
        let place = b.offset(record, b.i64((*offset).into()), true)?;
        b.store(*component, place, component.ty().scalar_bits() / 8)?;
    }
    b.br(done);
    b.position(done);
    b.phi(&[(b.i32(u32::MAX), before), (b.i32(0), fill)])
}
