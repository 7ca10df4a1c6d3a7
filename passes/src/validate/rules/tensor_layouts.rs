//! Tensor layouts, tensor views, and the loads and stores of cooperative matrices through them
//! (SPV_NV_tensor_addressing, SPV_NV_cooperative_matrix2).

use super::super::{Check, Context, Rule};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::{Id, Inst, TensorAccess, Type};
use spirv::{Capability as C, Op, StorageClass, TensorClampMode};

/// Most dimensions of a tensor.
const MAX_DIMENSIONS: u32 = 5;

/// The number of operands after the layout or view.
fn numbers(op: Op, dimensions: usize) -> Option<usize> {
    Some(match op {
        Op::TensorLayoutSetBlockSizeNV
        | Op::TensorLayoutSetDimensionNV
        | Op::TensorLayoutSetStrideNV
        | Op::TensorViewSetDimensionNV
        | Op::TensorViewSetStrideNV => dimensions,
        Op::TensorLayoutSliceNV => dimensions * 2,
        Op::TensorLayoutSetClampValueNV => 1,
        Op::TensorViewSetClipNV => 4,
        _ => return None, // another instruction
    })
}

fn is_of_layout(op: Op) -> bool {
    matches!(
        op,
        Op::CreateTensorLayoutNV
            | Op::TensorLayoutSetBlockSizeNV
            | Op::TensorLayoutSetDimensionNV
            | Op::TensorLayoutSetStrideNV
            | Op::TensorLayoutSliceNV
            | Op::TensorLayoutSetClampValueNV
    )
}

fn is_of_view(op: Op) -> bool {
    matches!(
        op,
        Op::CreateTensorViewNV
            | Op::TensorViewSetDimensionNV
            | Op::TensorViewSetStrideNV
            | Op::TensorViewSetClipNV
    )
}

/// The instructions of all functions, if the module has a type of layouts or views.
fn insts<'c, 'm>(context: &'c Context<'c, 'm>) -> impl Iterator<Item = Inst<'m>> + 'c {
    let has_tensors = types(context).next().is_some();
    let functions = context.functions().filter(move |_| has_tensors);
    functions.flat_map(|function| function.insts())
}

/// The declarations of layouts and views.
fn types<'c, 'm>(context: &'c Context<'c, 'm>) -> impl Iterator<Item = (Inst<'m>, Op)> + 'c {
    context
        .declarations
        .other_types(&[Op::TypeTensorLayoutNV, Op::TypeTensorViewNV])
}

/// The declaration of the type `ty`, if it has this opcode.
fn declared<'m>(context: &Context<'_, 'm>, ty: Option<Id>, op: Op) -> Option<Inst<'m>> {
    let inst = context.declarations.module.def(ty?)?;
    (inst.op() == Some(op)).then_some(inst)
}

/// The number of dimensions that a declaration of a layout or a view has.
fn dimensions(context: &Context<'_, '_>, inst: Inst<'_>) -> Option<usize> {
    let count = context.value(inst.id(0).ok()?)?;
    (1..=MAX_DIMENSIONS)
        .contains(&count)
        .then_some(count as usize)
}

/// The operands of the types.
pub(super) const TYPE: Rule = Rule {
    code: Code::TensorLayoutType,
    vuid: None,
    text: include_str!("explain/SB1501.md"),
    check: Check::Module(|context, to| {
        for (inst, op) in types(context) {
            let name = inst.name();
            let mut wrong = |message: String, help: String| {
                to.push(TYPE.error(context, inst, message).help(help));
            };
            let constant = |index| context.value(inst.id(index).ok()?);
            let Some(count) = dimensions(context, inst) else {
                let is = constant(0).map_or_else(
                    || "not a 32-bit integer constant".to_owned(),
                    |count| format!("{count}, not 1 to {MAX_DIMENSIONS}"),
                );
                wrong(
                    format!("the number of dimensions of {name} is {is}"),
                    format!("use a constant from 1 to {MAX_DIMENSIONS}"),
                );
                continue;
            };
            if op == Op::TypeTensorLayoutNV {
                let known =
                    constant(1).is_some_and(|mode| TensorClampMode::from_u32(mode).is_some());
                if !known {
                    wrong(
                        format!("the clamp mode of {name} is not a constant from 0 to 4"),
                        "use a constant from 0 (Undefined) to 4 (RepeatMirrored)".to_owned(),
                    );
                }
                continue;
            }
            let boolean = inst
                .id(1)
                .ok()
                .and_then(|id| context.constants.get(id)?.as_bool());
            if boolean.is_none() {
                wrong(
                    format!("the operand HasDimensions of {name} is not a Boolean constant"),
                    "use OpConstantTrue or OpConstantFalse".to_owned(),
                );
            }
            let order: Vec<Option<u32>> = (2..inst.operands().len()).map(constant).collect();
            let is_permutation =
                order.len() == count && (0..count as u32).all(|at| order.contains(&Some(at)));
            if !is_permutation {
                wrong(
                    format!(
                        "the operands of {name} after HasDimensions are not a permutation of the numbers below {count}"
                    ),
                    format!("name each dimension from 0 to {} once", count - 1),
                );
            }
        }
    }),
};

/// The operands of instructions that create layouts and views.
pub(super) const OPERAND: Rule = Rule {
    code: Code::TensorLayoutOperand,
    vuid: None,
    text: include_str!("explain/SB1502.md"),
    check: Check::Module(|context, to| {
        for inst in insts(context) {
            let Some(op) = inst.op() else { continue };
            let (what, of_type) = match op {
                _ if is_of_layout(op) => ("a tensor layout", Op::TypeTensorLayoutNV),
                _ if is_of_view(op) => ("a tensor view", Op::TypeTensorViewNV),
                _ => continue,
            };
            let name = inst.name();
            let mut wrong = |message: String, help: String| {
                to.push(OPERAND.error(context, inst, message).help(help));
            };
            let Some(ty) = declared(context, inst.result_type(), of_type) else {
                wrong(
                    format!("the result type of {name} is not {what}"),
                    format!("use the type of {what}"),
                );
                continue;
            };
            let Some(count) = dimensions(context, ty) else {
                continue; // the type is wrong
            };
            let Some(count) = numbers(op, count) else {
                continue; // it has no operands
            };
            let operand = inst
                .id(0)
                .ok()
                .and_then(|id| context.declarations.type_of(id));
            if operand != inst.result_type() {
                wrong(
                    format!("the type of the first operand of {name} is not the result type"),
                    format!("pass {what} of the result type"),
                );
            }
            let rest = inst.operands_from(1);
            if rest.len() != count {
                wrong(
                    format!(
                        "{name} has {} operands after the first, but its type requires {count}",
                        rest.len()
                    ),
                    format!("pass {count} operands after the first"),
                );
            }
            for id in rest
                .iter()
                .map(|word| Id(*word))
                .filter(|id| !context.is_int32(*id))
            {
                let shown = context.show(id);
                wrong(
                    format!("the operand {shown} of {name} is not a 32-bit integer"),
                    format!("replace {shown} with a 32-bit integer"),
                );
            }
        }
    }),
};

fn accesses<'c, 'm>(
    context: &'c Context<'c, 'm>,
) -> impl Iterator<Item = (Inst<'m>, TensorAccess)> + 'c {
    insts(context).filter_map(|inst| Some((inst, TensorAccess::from_inst(inst)?)))
}

/// Loads and stores.
pub(super) const ACCESS: Rule = Rule {
    code: Code::TensorTransfer,
    vuid: None,
    text: include_str!("explain/SB1503.md"),
    check: Check::Module(|context, to| {
        for (inst, access) in accesses(context) {
            access_operands(context, inst, &access, to);
        }
    }),
};

fn access_operands(
    context: &Context<'_, '_>,
    inst: Inst<'_>,
    access: &TensorAccess,
    to: &mut Diagnostics,
) {
    let name = inst.name();
    let mut wrong = |message: String, help: &str| {
        to.push(ACCESS.error(context, inst, message).help(help));
    };
    let type_of = |id| context.declarations.type_of(id);
    let object = type_of(access.object);
    let is_matrix = |ty: Option<Id>| {
        let ty = ty.and_then(|ty| context.declarations.ty(ty));
        matches!(ty, Some(Type::CooperativeMatrix { .. }))
    };
    if !is_matrix(object) {
        wrong(
            format!("the object of {name} is not a cooperative matrix"),
            "pass a cooperative matrix",
        );
    } else if !access.is_store && object != inst.result_type() {
        wrong(
            format!("the type of the object of {name} is not the result type"),
            "pass an object of the result type",
        );
    }
    if !matches!(context.type_of(access.pointer), Some(Type::Pointer { .. })) {
        wrong(
            format!("the first operand of {name} is not a pointer"),
            "pass a pointer",
        );
    }
    let layout = declared(context, type_of(access.layout), Op::TypeTensorLayoutNV);
    if layout.is_none() {
        wrong(
            format!("the third operand of {name} is not a tensor layout"),
            "pass a tensor layout",
        );
    }
    let Some(view) = access.view else { return };
    let Some(view) = declared(context, type_of(view), Op::TypeTensorViewNV) else {
        wrong(
            format!("the operand TensorView of {name} is not a tensor view"),
            "pass a tensor view",
        );
        return;
    };
    let has_dimensions = view
        .id(1)
        .ok()
        .and_then(|id| context.constants.get(id)?.as_bool());
    let counts = layout.map(|layout| [layout, view].map(|ty| dimensions(context, ty)));
    if let (Some(false), Some([Some(layout), Some(view)])) = (has_dimensions, counts)
        && layout != view
    {
        wrong(
            format!(
                "the tensor view of {name} takes its dimensions from the layout, but has {view} and the layout has {layout}"
            ),
            "use a view with as many dimensions as the layout, or one with HasDimensions",
        );
    }
}

/// Decode functions.
pub(super) const DECODE: Rule = Rule {
    code: Code::TensorDecode,
    vuid: None,
    text: include_str!("explain/SB1504.md"),
    check: Check::Module(|context, to| {
        for (inst, access) in accesses(context) {
            if let Some(problem) = access
                .decode
                .and_then(|decode| undecodable(context, inst, &access, decode))
            {
                to.push(problem);
            }
        }
    }),
};

/// The problem of the decode function of a load, if it has one.
fn undecodable(
    context: &Context<'_, '_>,
    inst: Inst<'_>,
    access: &TensorAccess,
    decode: Id,
) -> Option<Diagnostic> {
    let name = inst.name();
    let wrong =
        |message: String, help: String| Some(DECODE.error(context, inst, message).help(help));
    let declarations = context.declarations;
    if access.is_store {
        return wrong(
            format!("{name} has a decode function, which is allowed only on loads"),
            "remove the operand DecodeFunc".to_owned(),
        );
    }
    let Some(function) = declarations.function(decode) else {
        return wrong(
            format!("the operand DecodeFunc of {name} is not a function"),
            "pass a function".to_owned(),
        );
    };
    let component = match declarations.ty(inst.result_type()?) {
        Some(Type::CooperativeMatrix { component, .. }) => *component,
        _ => return None, // reported by itself
    };
    let shown = context.show(decode);
    let returned = declarations.module.def(decode).and_then(Inst::result_type);
    if returned != Some(component) {
        return wrong(
            format!("the decode function {shown} does not return the component type of the matrix"),
            format!("return the type {}", context.show(component)),
        );
    }
    let [(_, place), coordinates @ ..] = function.params.as_slice() else {
        return wrong(
            format!("the decode function {shown} has no parameters"),
            "declare three parameters: a pointer, and two arrays of coordinates".to_owned(),
        );
    };
    if !matches!(
        declarations.ty(*place),
        Some(Type::Pointer {
            class: StorageClass::PhysicalStorageBuffer,
            pointee: Some(_)
        })
    ) {
        return wrong(
            format!(
                "the first parameter of the decode function {shown} is not a pointer to the storage class PhysicalStorageBuffer"
            ),
            "declare it as a pointer to the storage class PhysicalStorageBuffer".to_owned(),
        );
    }
    let layout = declarations.type_of(access.layout);
    let count = declared(context, layout, Op::TypeTensorLayoutNV)
        .and_then(|layout| dimensions(context, layout))?;
    let fits = |(_, ty): &(Id, Id)| match declarations.ty(*ty) {
        Some(Type::Array { element, length }) => {
            let is_int = matches!(declarations.ty(*element), Some(Type::Int { width: 32, .. }));
            is_int && context.constants.as_u32(*length) == Some(count as u32)
        }
        _ => false, // no array
    };
    if coordinates.len() != 2 || !coordinates.iter().all(fits) {
        return wrong(
            format!(
                "the second and third parameters of the decode function {shown} are not arrays of {count} 32-bit integers"
            ),
            format!(
                "after the pointer, declare two parameters that are arrays of {count} 32-bit integers"
            ),
        );
    }
    match context.type_of(access.pointer) {
        Some(Type::Pointer {
            class: StorageClass::PhysicalStorageBuffer | StorageClass::StorageBuffer,
            ..
        }) => None,
        _ => wrong(
            format!("a decode function cannot read the storage class of the pointer of {name}"),
            "use the storage class PhysicalStorageBuffer or StorageBuffer".to_owned(),
        ),
    }
}

/// Capabilities.
pub(super) const CAPABILITY: Rule = Rule {
    code: Code::TensorLayoutCapability,
    vuid: None,
    text: include_str!("explain/SB1505.md"),
    check: Check::Module(|context, to| {
        let mut needs = |inst: Inst<'_>, capability: C| {
            if !context.has(capability) {
                let name = inst.name();
                let message = format!("{name} needs the capability {capability:?}");
                to.push(
                    CAPABILITY
                        .error(context, inst, message)
                        .declare(Some(&format!("{capability:?}")), None),
                );
            }
        };
        for (inst, _) in types(context) {
            needs(inst, C::TensorAddressingNV);
        }
        for (inst, access) in accesses(context) {
            needs(inst, C::CooperativeMatrixTensorAddressingNV);
            if access.decode.is_some() {
                needs(inst, C::CooperativeMatrixBlockLoadsNV);
            }
        }
    }),
};
