//! Tensors (SPV_ARM_tensors): their types, what accesses them, and the operands of accesses.

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
            if let Some(wrong) = wrong_type(context, ty) {
                let message = format!("{} {wrong}", shown(context, inst));
                report.push(TYPE.error(context, inst, message));
            }
        }
    }),
};

/// What instructions ask of their tensor, coordinates and values.
pub(super) const ACCESS: Rule = Rule {
    code: Code::TensorAccess,
    vuid: None,
    text: include_str!("explain/SB1402.md"),
    check: Check::Module(|context, to| {
        let mut report = Report::new(to);
        for (inst, op) in accesses(context) {
            let wrong = TensorType::of_value(context.declarations, operand(inst, 0))
                .ok_or("its first operand is not a tensor".to_owned())
                .and_then(|tensor| wrong_access(context, inst, op, tensor));
            if let Err(wrong) = wrong {
                let message = format!("{}: {wrong}", inst.name());
                report.push(ACCESS.error(context, inst, message));
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

/// The instructions that access or ask tensors. A module without tensor types has none that is
/// lowered.
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

/// Why `ty` is not a tensor type: what follows its name.
fn wrong_type(context: &Context<'_, '_>, ty: TensorType) -> Option<String> {
    if !is_scalar(context, ty.element) {
        return Some("has elements that are not scalars".to_owned());
    }
    let rank_id = ty.rank?;
    let rank = ty.rank(context.constants);
    let Some(rank) = rank.filter(|_| is_integer(context.type_of(rank_id))) else {
        return Some("has a rank that is not a constant integer".to_owned());
    };
    if rank == 0 {
        return Some("has the rank 0; a tensor has at least one dimension".to_owned());
    }
    let shape = ty.shape?;
    let Some(Type::Array { element, length }) = context.type_of(shape) else {
        return Some("has a shape that is not an array".to_owned());
    };
    if !is_integer(context.declarations.ty(*element)) {
        return Some("has a shape whose elements are not integers".to_owned());
    }
    let length = context.constants.get(*length).and_then(Constant::as_u64);
    if length != Some(rank) {
        let length = length.map_or_else(|| "an unknown number of".to_owned(), |n| n.to_string());
        return Some(format!(
            "has the rank {rank} and a shape of {length} elements"
        ));
    }
    let is_constant = context.constants.get(shape).is_some();
    (!is_constant).then(|| "has a shape that is not a constant".to_owned())
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

/// What is wrong with `inst`, whose tensor is of the type `tensor`.
fn wrong_access(
    context: &Context<'_, '_>,
    inst: Inst<'_>,
    op: Op,
    tensor: TensorType,
) -> Result<(), String> {
    if tensor.rank.is_none() {
        return Err("the type of its tensor has no rank".to_owned());
    }
    // A rank that is not a constant is a problem of the type.
    let Some(rank) = tensor.rank(context.constants) else {
        return Ok(());
    };
    if op == Op::TensorQuerySizeARM {
        return wrong_query(context, inst, rank);
    }
    let coordinates = context.declarations.type_of(operand(inst, 1));
    match coordinates.and_then(|ty| array(context, ty)) {
        Some((element, Some(length)))
            if is_integer(context.declarations.ty(element)) && length == rank => {}
        Some((element, Some(length))) if is_integer(context.declarations.ty(element)) => {
            return Err(format!(
                "there are {length} coordinates; the tensor has the rank {rank}"
            ));
        }
        _ => return Err("its coordinates are not an array of integers".to_owned()),
    }
    let (what, ty) = match op {
        Op::TensorReadARM => ("result", inst.result_type()),
        _ => ("object", context.declarations.type_of(operand(inst, 2))),
    };
    let fits = ty.is_some_and(|ty| {
        let element = array(context, ty).map_or(ty, |(element, _)| element);
        element == tensor.element
    });
    if !fits {
        let element = context.show(tensor.element);
        return Err(format!(
            "its {what} is neither of the tensor's element type {element} nor an array of it"
        ));
    }
    Ok(())
}

fn wrong_query(context: &Context<'_, '_>, inst: Inst<'_>, rank: u64) -> Result<(), String> {
    if !is_integer(
        inst.result_type()
            .and_then(|ty| context.declarations.ty(ty)),
    ) {
        return Err("its result is not an integer".to_owned());
    }
    let dimension = operand(inst, 1);
    let number = context.constants.get(dimension).and_then(Constant::as_u64);
    match number.filter(|_| is_integer(context.type_of(dimension))) {
        None => Err("its dimension is not a constant integer".to_owned()),
        Some(number) if number >= rank => Err(format!(
            "it asks for dimension {number}; the tensor has the rank {rank}"
        )),
        Some(_) => Ok(()),
    }
}

/// What is wrong with the tensor operands of `inst`. Bits that no grammar names are refused where
/// all operands are.
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
    let mut say = |message: &str| {
        let message = format!("{} {message}", inst.name());
        wrong.push(OPERANDS.error(context, inst, message).at_operand(at));
    };
    let (foreign, name, named) = match op {
        Op::TensorReadARM => (
            T::MAKE_ELEMENT_AVAILABLE_ARM,
            "has MakeElementAvailableARM, which is for writes",
            T::MAKE_ELEMENT_VISIBLE_ARM,
        ),
        _ => (
            T::MAKE_ELEMENT_VISIBLE_ARM,
            "has MakeElementVisibleARM, which is for reads",
            T::MAKE_ELEMENT_AVAILABLE_ARM,
        ),
    };
    if mask.contains(foreign) {
        say(name);
    }
    if op == Op::TensorWriteARM && mask.contains(T::OUT_OF_BOUNDS_VALUE_ARM) {
        say("has OutOfBoundsValueARM, which is for reads");
    }
    if mask.intersects(foreign | named) && !mask.contains(T::NON_PRIVATE_ELEMENT_ARM) {
        say("makes elements available or visible without NonPrivateElementARM");
    }
    let vulkan =
        T::MAKE_ELEMENT_AVAILABLE_ARM | T::MAKE_ELEMENT_VISIBLE_ARM | T::NON_PRIVATE_ELEMENT_ARM;
    if mask.intersects(vulkan) && !context.has(spirv::Capability::VulkanMemoryModel) {
        say("has a tensor operand that needs the capability VulkanMemoryModel");
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
                say("has a scope that is not a constant, or not a scope");
            }
            continue;
        }
        let tensor = TensorType::of_value(context.declarations, operand(inst, 0));
        let ty = context.declarations.type_of(id);
        if context.constants.get(id).is_none() {
            say("has an OutOfBoundsValueARM that is not a constant");
        } else if tensor.is_some_and(|tensor| ty != Some(tensor.element)) {
            say("has an OutOfBoundsValueARM that is not of the tensor's element type");
        }
    }
    wrong
}
