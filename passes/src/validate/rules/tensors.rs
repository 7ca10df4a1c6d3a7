//! Rules for tensors (SPV_ARM_tensors): their types, their accesses, and the tensor operands.

use super::super::{Check, Context, Rule};
use crate::diagnostic::{Code, Diagnostic};
use crate::module::report::Report;
use crate::module::{Constant, Id, Inst, Scope, TensorType, Type};
use spirv::{Op, TensorOperands as T};

/// OpTypeTensorARM.
pub(super) const TYPE: Rule = Rule {
    code: Code::TensorType,
    vuid: None,
    text: include_str!("explain/SB1401.md"),
    check: Check::Module(|context, to| {
        let mut report = Report::new(to);
        for (inst, ty) in types(context) {
            if let Some((wrong, help)) = wrong_type(context, ty) {
                let message = format!("{} {wrong}", shown(context, inst));
                report.push(TYPE.error(context, inst, message).help(help));
            }
        }
    }),
};

/// Tensor, coordinates and values of an access.
pub(super) const ACCESS: Rule = Rule {
    code: Code::TensorAccess,
    vuid: None,
    text: include_str!("explain/SB1402.md"),
    check: Check::Module(|context, to| {
        let mut report = Report::new(to);
        for (inst, op) in accesses(context) {
            let checked = TensorType::of_value(context.declarations, operand(inst, 0))
                .ok_or_else(|| wrong("has a first operand that is not a tensor", "pass a tensor"))
                .and_then(|tensor| check_access(context, inst, op, tensor));
            if let Err((wrong, help)) = checked {
                let message = format!("{} {wrong}", inst.name());
                report.push(ACCESS.error(context, inst, message).help(help));
            }
            if report.is_full() {
                return;
            }
        }
    }),
};

/// Tensor operands.
pub(super) const OPERANDS: Rule = Rule {
    code: Code::TensorOperand,
    vuid: None,
    text: include_str!("explain/SB1403.md"),
    check: Check::Module(|context, to| {
        let mut report = Report::new(to);
        for (inst, op) in accesses(context) {
            for wrong in wrong_operands(context, inst, op) {
                report.push(wrong);
            }
            if report.is_full() {
                return;
            }
        }
    }),
};

/// The tensor types of the module.
fn types<'c>(context: &'c Context<'_, '_>) -> impl Iterator<Item = (Inst<'c>, TensorType)> {
    let declared = context.declarations.other_types(&[Op::TypeTensorARM]);
    declared.filter_map(|(inst, _)| Some((inst, TensorType::from_inst(inst)?)))
}

/// The instructions that access or query tensors. A module without tensor types has none that can
/// be lowered.
fn accesses<'c>(context: &'c Context<'_, '_>) -> impl Iterator<Item = (Inst<'c>, Op)> {
    let has_tensors = types(context).next().is_some();
    let functions = context.functions().filter(move |_| has_tensors);
    functions.flat_map(|function| {
        function.insts().filter_map(|inst| match inst.op()? {
            op @ (Op::TensorReadARM | Op::TensorWriteARM | Op::TensorQuerySizeARM) => {
                Some((inst, op))
            }
            _ => None, // another instruction
        })
    })
}

/// Operand `index`; no id where it is missing, which the reader has reported.
fn operand(inst: Inst<'_>, index: usize) -> Id {
    inst.id(index).unwrap_or(Id(0))
}

fn shown(context: &Context<'_, '_>, inst: Inst<'_>) -> String {
    inst.result()
        .map_or_else(|| inst.name(), |id| context.show(id))
}

fn is_scalar(context: &Context<'_, '_>, ty: Id) -> bool {
    context.declarations.ty(ty).is_some_and(Type::is_scalar)
}

fn is_integer(ty: Option<&Type>) -> bool {
    matches!(ty, Some(Type::Int { .. }))
}

/// A problem, and what to change.
type Wrong = (String, String);

fn wrong(is: impl Into<String>, help: impl Into<String>) -> Wrong {
    (is.into(), help.into())
}

/// The problem of the tensor type `ty`, as the rest of a sentence whose subject is the type.
fn wrong_type(context: &Context<'_, '_>, ty: TensorType) -> Option<Wrong> {
    if !is_scalar(context, ty.element) {
        return Some(wrong(
            "has elements that are not scalars",
            "use a scalar element type",
        ));
    }
    let rank_id = ty.rank?;
    let rank = ty.rank(context.constants);
    let Some(rank) = rank.filter(|_| is_integer(context.type_of(rank_id))) else {
        return Some(wrong(
            "has a rank that is not a constant integer",
            "use an integer constant as the rank",
        ));
    };
    if rank == 0 {
        return Some(wrong(
            "has rank 0, but a tensor must have at least one dimension",
            "use a rank of at least 1",
        ));
    }
    let shape = ty.shape?;
    let Some(Type::Array { element, length }) = context.type_of(shape) else {
        return Some(wrong(
            "has a shape that is not an array",
            format!("use a constant array of {rank} integers as the shape"),
        ));
    };
    if !is_integer(context.declarations.ty(*element)) {
        return Some(wrong(
            "has a shape whose elements are not integers",
            format!("use a constant array of {rank} integers as the shape"),
        ));
    }
    let length = context.constants.get(*length).and_then(Constant::as_u64);
    if length != Some(rank) {
        let length = length.map_or_else(|| "an unknown number of".to_owned(), |n| n.to_string());
        return Some(wrong(
            format!("has rank {rank}, but a shape of {length} elements"),
            format!("use a shape of {rank} elements, or another rank"),
        ));
    }
    let is_constant = context.constants.get(shape).is_some();
    (!is_constant).then(|| {
        wrong(
            "has a shape that is not a constant",
            "use a constant array as the shape, or a type without a shape",
        )
    })
}

/// The element type and length of the array type `ty`.
fn array(context: &Context<'_, '_>, ty: Id) -> Option<(Id, Option<u64>)> {
    match context.declarations.ty(ty)? {
        Type::Array { element, length } => {
            let length = context.constants.get(*length).and_then(Constant::as_u64);
            Some((*element, length))
        }
        _ => None, // not an array
    }
}

/// Checks the access `inst`, whose tensor has the type `tensor`.
fn check_access(
    context: &Context<'_, '_>,
    inst: Inst<'_>,
    op: Op,
    tensor: TensorType,
) -> Result<(), Wrong> {
    if tensor.rank.is_none() {
        return Err(wrong(
            "accesses a tensor whose type has no rank",
            "give the tensor type a rank",
        ));
    }
    // A rank that is not a constant is a problem of the type.
    let Some(rank) = tensor.rank(context.constants) else {
        return Ok(());
    };
    if op == Op::TensorQuerySizeARM {
        return check_query(context, inst, rank);
    }
    let coordinates = context.declarations.type_of(operand(inst, 1));
    match coordinates.and_then(|ty| array(context, ty)) {
        Some((element, Some(length)))
            if is_integer(context.declarations.ty(element)) && length == rank => {}
        Some((element, Some(length))) if is_integer(context.declarations.ty(element)) => {
            return Err(wrong(
                format!("has {length} coordinates, but the tensor has rank {rank}"),
                format!("pass an array of {rank} coordinates"),
            ));
        }
        _ => {
            return Err(wrong(
                "has coordinates that are not an array of integers",
                format!("pass an array of {rank} integers"),
            ));
        }
    }
    let (what, ty) = match op {
        Op::TensorReadARM => ("a result", inst.result_type()),
        _ => ("an object", context.declarations.type_of(operand(inst, 2))),
    };
    let fits = ty.is_some_and(|ty| {
        let element = array(context, ty).map_or(ty, |(element, _)| element);
        element == tensor.element
    });
    if !fits {
        let element = context.show(tensor.element);
        return Err(wrong(
            format!(
                "has {what} whose type is neither {element}, the tensor's element type, nor an array of it"
            ),
            format!("use the type {element}, or an array of it"),
        ));
    }
    Ok(())
}

fn check_query(context: &Context<'_, '_>, inst: Inst<'_>, rank: u64) -> Result<(), Wrong> {
    if !is_integer(
        inst.result_type()
            .and_then(|ty| context.declarations.ty(ty)),
    ) {
        return Err(wrong(
            "has a result that is not an integer",
            "use an integer type for the result",
        ));
    }
    let dimension = operand(inst, 1);
    let number = context.constants.get(dimension).and_then(Constant::as_u64);
    match number.filter(|_| is_integer(context.type_of(dimension))) {
        None => Err(wrong(
            "has a dimension that is not a constant integer",
            "use an integer constant as the dimension",
        )),
        Some(number) if number >= rank => Err(wrong(
            format!("queries dimension {number}, but the tensor has rank {rank}"),
            format!("query a dimension below {rank}"),
        )),
        Some(_) => Ok(()),
    }
}

/// The problems of the tensor operands of `inst`. Undefined bits are rejected with those of all
/// other operands.
fn wrong_operands(context: &Context<'_, '_>, inst: Inst<'_>, op: Op) -> Vec<Diagnostic> {
    let at = match op {
        Op::TensorReadARM => 2,
        Op::TensorWriteARM => 3,
        _ => return Vec::new(), // it has none
    };
    let Some(bits) = inst.operands().get(at) else {
        return Vec::new();
    };
    let mask = T::from_bits_retain(*bits);
    let mut wrong = Vec::new();
    let mut say = |message: &str, help: &str| {
        let message = format!("{} {message}", inst.name());
        let error = OPERANDS.error(context, inst, message);
        wrong.push(error.at_operand(at).help(help));
    };
    let (foreign, is, help, named) = match op {
        Op::TensorReadARM => (
            T::MAKE_ELEMENT_AVAILABLE_ARM,
            "has MakeElementAvailableARM, which is allowed only on writes",
            "use MakeElementVisibleARM, or clear the bit",
            T::MAKE_ELEMENT_VISIBLE_ARM,
        ),
        _ => (
            T::MAKE_ELEMENT_VISIBLE_ARM,
            "has MakeElementVisibleARM, which is allowed only on reads",
            "use MakeElementAvailableARM, or clear the bit",
            T::MAKE_ELEMENT_AVAILABLE_ARM,
        ),
    };
    if mask.contains(foreign) {
        say(is, help);
    }
    if op == Op::TensorWriteARM && mask.contains(T::OUT_OF_BOUNDS_VALUE_ARM) {
        say(
            "has OutOfBoundsValueARM, which is allowed only on reads",
            "clear OutOfBoundsValueARM, and remove its value",
        );
    }
    if mask.intersects(foreign | named) && !mask.contains(T::NON_PRIVATE_ELEMENT_ARM) {
        say(
            "makes elements available or visible without NonPrivateElementARM",
            "set NonPrivateElementARM too",
        );
    }
    let vulkan: Vec<&str> = [
        (T::NON_PRIVATE_ELEMENT_ARM, "NonPrivateElementARM"),
        (T::MAKE_ELEMENT_AVAILABLE_ARM, "MakeElementAvailableARM"),
        (T::MAKE_ELEMENT_VISIBLE_ARM, "MakeElementVisibleARM"),
    ]
    .into_iter()
    .filter(|(bit, _)| mask.contains(*bit))
    .map(|(_, name)| name)
    .collect();
    if !vulkan.is_empty() && !context.has(spirv::Capability::VulkanMemoryModel) {
        let need = match vulkan.len() {
            1 => "needs",
            _ => "need",
        };
        let names = vulkan.join(" and ");
        say(
            &format!("has {names}, which {need} the capability VulkanMemoryModel"),
            "declare OpCapability VulkanMemoryModel and the memory model Vulkan",
        );
    }
    // The ids follow in the order of the bits.
    let with_id = [
        T::OUT_OF_BOUNDS_VALUE_ARM,
        T::MAKE_ELEMENT_AVAILABLE_ARM,
        T::MAKE_ELEMENT_VISIBLE_ARM,
    ];
    for (index, bit) in with_id
        .iter()
        .filter(|bit| mask.contains(**bit))
        .enumerate()
    {
        let id = operand(inst, at + 1 + index);
        if *bit != T::OUT_OF_BOUNDS_VALUE_ARM {
            let scope = context.value(id).and_then(Scope::from_u32);
            if scope.is_none() {
                say(
                    "has a scope that is not a constant, or not a valid scope",
                    "use a constant scope, such as Workgroup (2)",
                );
            }
            continue;
        }
        let tensor = TensorType::of_value(context.declarations, operand(inst, 0));
        let ty = context.declarations.type_of(id);
        if context.constants.get(id).is_none() {
            say(
                "has an OutOfBoundsValueARM that is not a constant",
                "use a constant",
            );
        } else if tensor.is_some_and(|tensor| ty != Some(tensor.element)) {
            say(
                "has an OutOfBoundsValueARM whose type is not the tensor's element type",
                "use a constant of the tensor's element type",
            );
        }
    }
    wrong
}
