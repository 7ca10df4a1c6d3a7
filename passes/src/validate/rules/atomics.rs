//! Rules for atomics (types, storage classes, capabilities) and for named barriers.

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
                let message = "the result of OpAtomicFlagTestAndSet is not a Boolean";
                to.push(
                    RESULT
                        .error(context, operation.inst, message)
                        .help("use an OpTypeBool as the result type"),
                );
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
            let message = format!(
                "{} does not support the type {}",
                context.name(operation),
                context.show(ty)
            );
            to.push(
                RESULT
                    .error(context, operation.inst, message)
                    .help(match numbers(op) {
                        Numbers::Integers => "use an integer type, or an atomic for this type",
                        Numbers::Floats => "use a floating-point type, or an atomic for integers",
                        Numbers::Both | Numbers::Flags => "use an integer or floating-point scalar",
                    }),
            );
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
            let message = format!("the first operand of {name} is not a pointer");
            to.push(
                POINTER
                    .error_at(context, operation, operation.pointer, message)
                    .help("pass a pointer to the value"),
            );
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
            let wanted = accessed(context, operation).map_or_else(
                || "a 32-bit integer".to_owned(),
                |(ty, _)| format!("the type {}", context.show(ty)),
            );
            let message = format!(
                "the pointer of {name} points to {}, not to {wanted}",
                context.show(pointee)
            );
            to.push(
                POINTER
                    .error_at(context, operation, operation.pointer, message)
                    .help(format!("pass a pointer to {wanted}")),
            );
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
            to.push(CLASS.error_at(context, operation, operation.pointer, format!("the pointer of {} has the storage class {class:?}, which does not support atomics in {environment}", context.name(operation))).help("move the variable to a storage class that supports atomics, such as Workgroup"));
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
                let message = format!(
                    "the type of the operand {} of {} is not the result type",
                    context.show(operand.id),
                    context.name(operation)
                );
                to.push(
                    VALUE
                        .error_at(context, operation, Some(operand), message)
                        .help(format!("pass a value of type {}", context.show(ty))),
                );
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
            let message = format!(
                "{} on 64-bit integers needs the capability Int64Atomics",
                context.name(operation)
            );
            to.push(
                INTEGER
                    .error(context, operation.inst, message)
                    .declare(Some("Int64Atomics"), None),
            );
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
        const ADD: &str = "SPV_EXT_shader_atomic_float_add";
        const ADD_16: &str = "SPV_EXT_shader_atomic_float16_add";
        const MIN_MAX: &str = "SPV_EXT_shader_atomic_float_min_max";
        let (needs, extension) = match (op, width) {
            (Op::AtomicFAddEXT, 16) => (C::AtomicFloat16AddEXT, ADD_16),
            (Op::AtomicFAddEXT, 32) => (C::AtomicFloat32AddEXT, ADD),
            (Op::AtomicFAddEXT, 64) => (C::AtomicFloat64AddEXT, ADD),
            (Op::AtomicFMinEXT | Op::AtomicFMaxEXT, 16) => (C::AtomicFloat16MinMaxEXT, MIN_MAX),
            (Op::AtomicFMinEXT | Op::AtomicFMaxEXT, 32) => (C::AtomicFloat32MinMaxEXT, MIN_MAX),
            (Op::AtomicFMinEXT | Op::AtomicFMaxEXT, 64) => (C::AtomicFloat64MinMaxEXT, MIN_MAX),
            _ => return, // loads, stores and exchanges need none
        };
        if !context.has(needs) {
            let message = format!(
                "{} on {width}-bit floats needs the capability {needs:?}",
                context.name(operation)
            );
            let error = FLOAT.error(context, operation.inst, message);
            to.push(error.declare(Some(&format!("{needs:?}")), Some(extension)));
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
        let mut wrong = |message: &str, help: &str| {
            to.push(NAMED.error(context, inst, message).help(help));
        };
        match operation.kind {
            Kind::NamedBarrierInitialize if !named(inst.result_type()) => wrong(
                "the result type of OpNamedBarrierInitialize is not an OpTypeNamedBarrier",
                "use an OpTypeNamedBarrier as the result type",
            ),
            Kind::NamedBarrierInitialize if !value.is_some_and(|id| context.is_int32(id)) => wrong(
                "the subgroup count of OpNamedBarrierInitialize is not a 32-bit integer",
                "pass a 32-bit integer",
            ),
            Kind::MemoryNamedBarrier
                if !named(value.and_then(|id| context.declarations.type_of(id))) =>
            {
                wrong(
                    "the first operand of OpMemoryNamedBarrier is not a named barrier",
                    "pass the result of OpNamedBarrierInitialize",
                )
            }
            _ => {} // not a named barrier, or a valid one
        }
    }),
};
