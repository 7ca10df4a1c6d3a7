//! Atomics: their types, their memory, and the capabilities that they need. Named barriers are here
//! too.

use super::super::context::{Kind, Operand, Operation};
use super::super::{Check, Context, Rule};
use crate::diagnostic::Code;
use crate::module::{Id, Type};
use spirv::{Capability as C, Op, StorageClass as S};

/// Numbers that an atomic works on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Numbers {
    Integers,
    Floats,
    Both,
    Flags,
}

fn numbers(op: Op) -> Numbers {
    match op {
        Op::AtomicFAddEXT | Op::AtomicFMinEXT | Op::AtomicFMaxEXT => Numbers::Floats,
        Op::AtomicLoad | Op::AtomicStore | Op::AtomicExchange => Numbers::Both,
        Op::AtomicFlagTestAndSet | Op::AtomicFlagClear => Numbers::Flags,
        _ => Numbers::Integers, // arithmetic, bits, comparison
    }
}

/// The type of what the atomic accesses, by its result or, for a store, by its value.
fn accessed(context: &Context<'_, '_>, operation: &Operation<'_>) -> Option<(Id, Op)> {
    let op = operation.inst.op().filter(|_| operation.is_atomic())?;
    match op {
        Op::AtomicStore => Some((
            context.declarations.type_of(operation.inst.id(3).ok()?)?,
            op,
        )),
        Op::AtomicFlagTestAndSet | Op::AtomicFlagClear => None,
        _ => Some((operation.inst.result_type()?, op)), // it returns what it read
    }
}

/// Storage class and pointee of the pointer operand.
fn pointer<'c>(
    context: &Context<'c, '_>,
    operation: &Operation<'_>,
) -> Option<Option<(S, Option<Id>)>> {
    let operand = operation.pointer?;
    Some(match context.type_of(operand.id) {
        Some(Type::Pointer { class, pointee }) => Some((*class, *pointee)),
        _ => None, // no pointer
    })
}

/// The result type.
pub(super) const RESULT: Rule = Rule {
    code: Code::AtomicResultType,
    vuid: None,
    text: include_str!("explain/SB1301.md"),
    check: Check::Operation(|context, operation, to| {
        let Some((ty, op)) = accessed(context, operation) else {
            let flag = operation
                .inst
                .result_type()
                .filter(|_| operation.inst.op() == Some(Op::AtomicFlagTestAndSet));
            if flag.is_some_and(|ty| context.declarations.ty(ty) != Some(&Type::Bool)) {
                to.push(RESULT.error(
                    context,
                    operation.inst,
                    "the result of OpAtomicFlagTestAndSet is not a Boolean",
                ));
            }
            return;
        };
        let fits = match (context.declarations.ty(ty), numbers(op)) {
            (Some(Type::Int { .. }), Numbers::Integers | Numbers::Both) => true,
            (Some(Type::Float { .. }), Numbers::Floats | Numbers::Both) => true,
            (Some(Type::Vector { .. }), Numbers::Floats | Numbers::Both) => {
                context.has(C::AtomicFloat16VectorNV)
            }
            // Typed by an extension that is not known here.
            (Some(Type::Pointer { .. } | Type::Other { .. }), Numbers::Both) => {
                !context.settings.environment.is_vulkan()
            }
            _ => false,
        };
        if !fits {
            to.push(RESULT.error(
                context,
                operation.inst,
                format!(
                    "{} cannot work on the type {}",
                    context.name(operation),
                    context.show(ty)
                ),
            ));
        }
    }),
};

/// The pointer.
pub(super) const POINTER: Rule = Rule {
    code: Code::AtomicPointer,
    vuid: None,
    text: include_str!("explain/SB1302.md"),
    check: Check::Operation(|context, operation, to| {
        let Some(pointer) = pointer(context, operation) else {
            return;
        };
        let name = context.name(operation);
        let Some((_, pointee)) = pointer else {
            to.push(POINTER.error_at(
                context,
                operation,
                operation.pointer,
                format!("the first operand of {name} is not a pointer"),
            ));
            return;
        };
        let Some(pointee) = pointee else { return };
        let fits = match accessed(context, operation) {
            Some((ty, _)) => ty == pointee,
            None => matches!(
                context.declarations.ty(pointee),
                Some(Type::Int { width: 32, .. })
            ),
        };
        if !fits {
            to.push(POINTER.error_at(
                context,
                operation,
                operation.pointer,
                format!(
                    "the pointer of {name} points to {}, another type than the atomic's",
                    context.show(pointee)
                ),
            ));
        }
    }),
};

/// The storage class.
pub(super) const CLASS: Rule = Rule {
    code: Code::AtomicStorageClass,
    vuid: Some("VUID-StandaloneSpirv-None-04686"),
    text: include_str!("explain/SB1303.md"),
    check: Check::Operation(|context, operation, to| {
        let Some(Some((class, _))) = pointer(context, operation) else {
            return;
        };
        let environment = context.settings.environment;
        let fits = if environment.is_vulkan() {
            matches!(
                class,
                S::Uniform
                    | S::Workgroup
                    | S::Image
                    | S::StorageBuffer
                    | S::PhysicalStorageBuffer
                    | S::TaskPayloadWorkgroupEXT
            )
        } else if environment.is_opencl() {
            matches!(
                class,
                S::Function | S::Workgroup | S::CrossWorkgroup | S::Generic
            )
        } else {
            !matches!(
                class,
                S::UniformConstant | S::Input | S::Output | S::Private | S::PushConstant
            ) && (class != S::Function || !context.has(C::Shader))
        };
        if !fits {
            to.push(CLASS.error_at(context, operation, operation.pointer, format!("the pointer of {} is in the storage class {class:?}, which has no atomics in {environment}", context.name(operation))));
        }
    }),
};

/// Value and comparator.
pub(super) const VALUE: Rule = Rule {
    code: Code::AtomicValueType,
    vuid: None,
    text: include_str!("explain/SB1304.md"),
    check: Check::Operation(|context, operation, to| {
        let Some((ty, op)) = accessed(context, operation) else {
            return;
        };
        let values: &[usize] = match op {
            Op::AtomicLoad | Op::AtomicStore | Op::AtomicIIncrement | Op::AtomicIDecrement => &[],
            Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => &[4, 5],
            _ => &[3], // one value
        };
        for operand in values.iter().filter_map(|number| {
            let id = operation.inst.id(*number).ok()?;
            Some(Operand {
                number: *number,
                id,
            })
        }) {
            if context.declarations.type_of(operand.id) != Some(ty) {
                to.push(VALUE.error_at(
                    context,
                    operation,
                    Some(operand),
                    format!(
                        "the operand {} of {} has another type than the result",
                        context.show(operand.id),
                        context.name(operation)
                    ),
                ));
            }
        }
    }),
};

/// 64-bit integers.
pub(super) const INTEGER: Rule = Rule {
    code: Code::AtomicIntegerCapability,
    vuid: None,
    text: include_str!("explain/SB1305.md"),
    check: Check::Operation(|context, operation, to| {
        let Some((ty, _)) = accessed(context, operation) else {
            return;
        };
        if matches!(
            context.declarations.ty(ty),
            Some(Type::Int { width: 64, .. })
        ) && !context.has(C::Int64Atomics)
        {
            to.push(INTEGER.error(
                context,
                operation.inst,
                format!(
                    "{} on 64-bit integers needs the capability Int64Atomics",
                    context.name(operation)
                ),
            ));
        }
    }),
};

/// Floating-point numbers.
pub(super) const FLOAT: Rule = Rule {
    code: Code::AtomicFloatCapability,
    vuid: None,
    text: include_str!("explain/SB1306.md"),
    check: Check::Operation(|context, operation, to| {
        let Some((ty, op)) = accessed(context, operation) else {
            return;
        };
        let Some(Type::Float { width, .. }) = context.declarations.ty(ty) else {
            return;
        };
        let needs = match (op, width) {
            (Op::AtomicFAddEXT, 16) => C::AtomicFloat16AddEXT,
            (Op::AtomicFAddEXT, 32) => C::AtomicFloat32AddEXT,
            (Op::AtomicFAddEXT, 64) => C::AtomicFloat64AddEXT,
            (Op::AtomicFMinEXT | Op::AtomicFMaxEXT, 16) => C::AtomicFloat16MinMaxEXT,
            (Op::AtomicFMinEXT | Op::AtomicFMaxEXT, 32) => C::AtomicFloat32MinMaxEXT,
            (Op::AtomicFMinEXT | Op::AtomicFMaxEXT, 64) => C::AtomicFloat64MinMaxEXT,
            _ => return, // loads, stores and exchanges need none
        };
        if !context.has(needs) {
            to.push(FLOAT.error(
                context,
                operation.inst,
                format!(
                    "{} on {width} bits needs the capability {needs:?}",
                    context.name(operation)
                ),
            ));
        }
    }),
};

/// Named barriers.
pub(super) const NAMED: Rule = Rule {
    code: Code::NamedBarrierType,
    vuid: None,
    text: include_str!("explain/SB1307.md"),
    check: Check::Operation(|context, operation, to| {
        let inst = operation.inst;
        let named = |id: Option<Id>| {
            id.and_then(|id| context.declarations.ty(id)) == Some(&Type::NamedBarrier)
        };
        let value = inst.id(0).ok();
        match operation.kind {
            Kind::NamedBarrierInitialize if !named(inst.result_type()) => to.push(NAMED.error(
                context,
                inst,
                "the result type of OpNamedBarrierInitialize is not an OpTypeNamedBarrier",
            )),
            Kind::NamedBarrierInitialize if !value.is_some_and(|id| context.is_int32(id)) => to
                .push(NAMED.error(
                    context,
                    inst,
                    "the subgroup count of OpNamedBarrierInitialize is not a 32-bit integer",
                )),
            Kind::MemoryNamedBarrier
                if !named(value.and_then(|id| context.declarations.type_of(id))) =>
            {
                to.push(NAMED.error(
                    context,
                    inst,
                    "the first operand of OpMemoryNamedBarrier is not a named barrier",
                ))
            }
            _ => {} // no named barrier, or a right one
        }
    }),
};
