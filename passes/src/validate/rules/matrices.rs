//! What SPV_NV_cooperative_matrix2 does with all elements of a cooperative matrix: conversions for
//! another use, transposition, functions of each element, reductions.

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

/// Whether two numbers differ that are both known.
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

/// What is wrong with an operation.
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
    let wrong = |message: String| Some(OPERATION.error(context, inst, message));
    let name = inst.name();
    let operand = inst
        .id(0)
        .ok()
        .and_then(|id| context.declarations.type_of(id));
    let (Some(from), Some(to)) = (
        Matrix::from_type(context, operand),
        Matrix::from_type(context, inst.result_type()),
    ) else {
        return wrong(format!(
            "the operand or the result of {name} is not a cooperative matrix"
        ));
    };
    if from.component != to.component || differ(from.scope, to.scope) {
        return wrong(format!(
            "the operand and the result of {name} have another component type or scope"
        ));
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
                return wrong(format!(
                    "the sizes of the operand and the result of {name} do not fit"
                ));
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
                return wrong(format!(
                    "{name} does not make such a use of an accumulator: it makes {}",
                    if is_transpose {
                        "MatrixBKHR"
                    } else {
                        "MatrixAKHR and MatrixBKHR"
                    }
                ));
            }
            None
        }
        Op::CooperativeMatrixReduceNV => {
            if roles
                .into_iter()
                .flatten()
                .any(|role| role != Use::MatrixAccumulatorKHR)
            {
                return wrong(format!("{name} takes and makes accumulators only"));
            }
            reduction(context, inst, &from, &to)
        }
        _ if operand != inst.result_type() => wrong(format!(
            "the operand of {name} has another type than the result"
        )),
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
    let wrong = |message: &str| Some(OPERATION.error(context, inst, message));
    let mask = Reduce::from_bits(inst.operand(1).ok()?).filter(|mask| !mask.is_empty());
    let Some(mask) = mask else {
        return wrong("the reduction is neither Row, Column nor 2x2");
    };
    if mask.contains(Reduce::_2X2) && mask != Reduce::_2X2 {
        return wrong("the reduction 2x2 is combined with another one");
    }
    let twice = |number: Option<u32>| number.and_then(|number| number.checked_mul(2));
    let fits = if mask == Reduce::_2X2 {
        !differ(from.rows, twice(to.rows)) && !differ(from.columns, twice(to.columns))
    } else {
        (mask.contains(Reduce::COLUMN) || !differ(from.rows, to.rows))
            && (mask.contains(Reduce::ROW) || !differ(from.columns, to.columns))
    };
    if !fits {
        return wrong("the size of the result is not the one that the reduction leaves");
    }
    let declarations = context.declarations;
    let combine = inst.id(2).ok()?;
    let Some(function) = declarations.function(combine) else {
        return wrong("what combines elements is not a function");
    };
    let returned = declarations.module.def(combine).and_then(Inst::result_type);
    let of_component = function.params.iter().all(|(_, ty)| *ty == from.component);
    if returned != Some(from.component) || function.params.len() != 2 || !of_component {
        return wrong(
            "the function that combines elements does not take two of the component type and return one",
        );
    }
    None
}

/// OpCooperativeMatrixPerElementOpNV: its function.
fn per_element(context: &Context<'_, '_>, inst: Inst<'_>, matrix: &Matrix) -> Option<Diagnostic> {
    let wrong = |message: String| Some(OPERATION.error(context, inst, message));
    let declarations = context.declarations;
    let id = inst.id(1).ok()?;
    let shown = context.show(id);
    let Some(function) = declarations.function(id) else {
        return wrong(format!(
            "{shown}, which is called for each element, is not a function"
        ));
    };
    let returned = declarations.module.def(id).and_then(Inst::result_type);
    let is_int = |ty: Id| matches!(declarations.ty(ty), Some(Type::Int { width: 32, .. }));
    let [(_, row), (_, column), (_, element), more @ ..] = function.params.as_slice() else {
        return wrong(format!(
            "the function {shown} does not take a row, a column and an element"
        ));
    };
    let fits = is_int(*row) && is_int(*column) && *element == matrix.component;
    if !fits || returned != Some(matrix.component) {
        return wrong(format!(
            "the function {shown} does not take two 32-bit integers and an element, and return an element"
        ));
    }
    let given = inst.operands_from(2);
    let same = |(word, (_, wanted)): (&u32, &(Id, Id))| {
        let ty = declarations.type_of(Id(*word));
        ty == Some(*wanted)
            || Matrix::from_type(context, ty).is_some_and(|matrix| matrix.component == *wanted)
    };
    if given.len() != more.len() || !given.iter().zip(more).all(same) {
        return wrong(format!(
            "the operands behind the function {shown} are not what its parameters behind the third are"
        ));
    }
    None
}
