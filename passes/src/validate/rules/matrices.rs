//! Operations of SPV_NV_cooperative_matrix2 on all elements of a cooperative matrix: conversion to
//! another use, transposition, a function for each element, reduction.

use super::super::{Check, Context, Rule};
use crate::diagnostic::{Code, Diagnostic};
use crate::module::{Id, Inst, Type};
use spirv::{CooperativeMatrixReduce as Reduce, CooperativeMatrixUse as Use, Op};

/// A cooperative matrix type, as far as it is constant.
pub(super) struct Matrix {
    pub(super) component: Id,
    pub(super) scope: Option<u32>,
    pub(super) rows: Option<u32>,
    pub(super) columns: Option<u32>,
    pub(super) role: Option<Use>,
}

impl Matrix {
    pub(super) fn from_type(context: &Context<'_, '_>, ty: Option<Id>) -> Option<Matrix> {
        let Some(Type::CooperativeMatrix {
            component,
            operands,
        }) = context.declarations.ty(ty?)
        else {
            return None;
        };
        let [scope, rows, columns, role] = operands.map(|id| context.constants.as_u32(id));
        Some(Matrix {
            component: *component,
            scope,
            rows,
            columns,
            role: role.and_then(Use::from_u32),
        })
    }
}

/// Returns true if `a` and `b` are known and differ.
pub(super) fn differ(a: Option<u32>, b: Option<u32>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a != b)
}

/// The operations.
pub(super) const OPERATION: Rule = Rule {
    code: Code::MatrixOperation,
    vuid: None,
    text: include_str!("explain/SB1506.md"),
    check: Check::Module(|context, to| {
        let is_matrix = |(_, ty): (Id, &Type)| matches!(ty, Type::CooperativeMatrix { .. });
        if !context.declarations.types().any(is_matrix) {
            return;
        }
        for inst in context.functions().flat_map(|function| function.insts()) {
            if let Some(problem) = inst.op().and_then(|op| unfit(context, op, inst)) {
                to.push(problem);
            }
        }
    }),
};

/// The problem of an operation, if it has one.
fn unfit(context: &Context<'_, '_>, op: Op, inst: Inst<'_>) -> Option<Diagnostic> {
    if !matches!(
        op,
        Op::CooperativeMatrixConvertNV
            | Op::CooperativeMatrixTransposeNV
            | Op::CooperativeMatrixReduceNV
            | Op::CooperativeMatrixPerElementOpNV
    ) {
        return None;
    }
    let wrong =
        |message: String, help: &str| Some(OPERATION.error(context, inst, message).help(help));
    let name = inst.name();
    let operand = inst
        .id(0)
        .ok()
        .and_then(|id| context.declarations.type_of(id));
    let (Some(from), Some(to)) = (
        Matrix::from_type(context, operand),
        Matrix::from_type(context, inst.result_type()),
    ) else {
        return wrong(
            format!("the operand or the result of {name} is not a cooperative matrix"),
            "use cooperative matrices for both",
        );
    };
    if from.component != to.component || differ(from.scope, to.scope) {
        return wrong(
            format!("the operand and the result of {name} differ in component type or scope"),
            "use one component type and one scope for both",
        );
    }
    let roles = [from.role, to.role];
    let same_size = !differ(from.rows, to.rows) && !differ(from.columns, to.columns);
    match op {
        Op::CooperativeMatrixConvertNV | Op::CooperativeMatrixTransposeNV => {
            let is_transpose = op == Op::CooperativeMatrixTransposeNV;
            let fits = if is_transpose {
                !differ(from.rows, to.columns) && !differ(from.columns, to.rows)
            } else {
                same_size
            };
            if !fits {
                return wrong(
                    format!("the sizes of the operand and the result of {name} do not match"),
                    if is_transpose {
                        "give the result as many rows as the operand has columns, and as many columns as it has rows"
                    } else {
                        "use the same numbers of rows and columns for both"
                    },
                );
            }
            let takes = |role| match role {
                Use::MatrixBKHR => true,
                Use::MatrixAKHR => !is_transpose,
                Use::MatrixAccumulatorKHR => false,
            };
            let wrong_role = from
                .role
                .is_some_and(|role| role != Use::MatrixAccumulatorKHR)
                || to.role.is_some_and(|role| !takes(role));
            if wrong_role {
                let uses = if is_transpose {
                    "MatrixBKHR"
                } else {
                    "MatrixAKHR or MatrixBKHR"
                };
                return wrong(
                    format!("{name} converts only from MatrixAccumulatorKHR to {uses}"),
                    "change Use in the matrix type of the operand or the result",
                );
            }
            None
        }
        Op::CooperativeMatrixReduceNV => {
            if roles
                .into_iter()
                .flatten()
                .any(|role| role != Use::MatrixAccumulatorKHR)
            {
                return wrong(
                    format!("the operand or the result of {name} is not an accumulator"),
                    "use MatrixAccumulatorKHR for both",
                );
            }
            reduction(context, inst, &from, &to)
        }
        _ if operand != inst.result_type() => wrong(
            format!("the type of the operand of {name} is not the result type"),
            "use one type for both",
        ),
        _ => per_element(context, inst, &from),
    }
}

/// OpCooperativeMatrixReduceNV: its mask, its sizes, its function.
fn reduction(
    context: &Context<'_, '_>,
    inst: Inst<'_>,
    from: &Matrix,
    to: &Matrix,
) -> Option<Diagnostic> {
    let wrong =
        |message: &str, help: &str| Some(OPERATION.error(context, inst, message).help(help));
    let mask = Reduce::from_bits(inst.operand(1).ok()?).filter(|mask| !mask.is_empty());
    let Some(mask) = mask else {
        return wrong(
            "the reduction is not Row, Column or 2x2",
            "use Row (0x1), Column (0x2), both, or 2x2 (0x4)",
        );
    };
    if mask.contains(Reduce::_2X2) && mask != Reduce::_2X2 {
        return wrong(
            "the reduction 2x2 is combined with another one",
            "use 2x2 (0x4) without other bits",
        );
    }
    let twice = |number: Option<u32>| number.and_then(|number| number.checked_mul(2));
    let fits = if mask == Reduce::_2X2 {
        !differ(from.rows, twice(to.rows)) && !differ(from.columns, twice(to.columns))
    } else {
        (mask.contains(Reduce::COLUMN) || !differ(from.rows, to.rows))
            && (mask.contains(Reduce::ROW) || !differ(from.columns, to.columns))
    };
    if !fits {
        return wrong(
            "the size of the result does not match the reduction",
            if mask == Reduce::_2X2 {
                "give the result half the rows and half the columns of the operand"
            } else {
                "keep the number of rows unless Column is reduced, and of columns unless Row is reduced"
            },
        );
    }
    let declarations = context.declarations;
    let combine = inst.id(2).ok()?;
    let Some(function) = declarations.function(combine) else {
        return wrong(
            "the operand CombineFunc is not a function",
            "pass a function of two elements",
        );
    };
    let returned = declarations.module.def(combine).and_then(Inst::result_type);
    let of_component = function.params.iter().all(|(_, ty)| *ty == from.component);
    if returned != Some(from.component) || function.params.len() != 2 || !of_component {
        return wrong(
            "the combine function does not map two elements to one",
            "declare two parameters and a result of the component type",
        );
    }
    None
}

/// OpCooperativeMatrixPerElementOpNV: its function.
fn per_element(context: &Context<'_, '_>, inst: Inst<'_>, matrix: &Matrix) -> Option<Diagnostic> {
    let wrong =
        |message: String, help: &str| Some(OPERATION.error(context, inst, message).help(help));
    let declarations = context.declarations;
    let id = inst.id(1).ok()?;
    let shown = context.show(id);
    let Some(function) = declarations.function(id) else {
        return wrong(
            format!("the operand {shown}, which is called for each element, is not a function"),
            "pass a function of a row, a column and an element",
        );
    };
    let returned = declarations.module.def(id).and_then(Inst::result_type);
    let is_int = |ty: Id| matches!(declarations.ty(ty), Some(Type::Int { width: 32, .. }));
    let [(_, row), (_, column), (_, element), more @ ..] = function.params.as_slice() else {
        return wrong(
            format!("the function {shown} has fewer than three parameters"),
            "declare the parameters row, column and element",
        );
    };
    let fits = is_int(*row) && is_int(*column) && *element == matrix.component;
    if !fits || returned != Some(matrix.component) {
        return wrong(
            format!("the parameters or the result of the function {shown} have the wrong types"),
            "declare two 32-bit integers and one element as parameters, and an element as the result",
        );
    }
    let given = inst.operands_from(2);
    let same = |(word, (_, wanted)): (&u32, &(Id, Id))| {
        let ty = declarations.type_of(Id(*word));
        ty == Some(*wanted)
            || Matrix::from_type(context, ty).is_some_and(|matrix| matrix.component == *wanted)
    };
    if given.len() != more.len() || !given.iter().zip(more).all(same) {
        return wrong(
            format!(
                "the operands after the function {shown} do not match its parameters after the third"
            ),
            "pass one operand of the right type for each further parameter",
        );
    }
    None
}
