//! Workgroup memory through which subgroups exchange elements of cooperative matrices of workgroup
//! scope: for transpositions, for uses that are cut into other blocks, for reductions of columns
//! and of neighbours. What is more than a kernel gets goes through it in pieces.

use crate::matrix::BLOCK_ROWS;
use crate::types::Scalar;
use spirv::{CooperativeMatrixReduce as Reduce, CooperativeMatrixUse, Op};
use splitbar_passes::analysis::layout::Alignment;
use splitbar_passes::analysis::uses::Reached;
use splitbar_passes::module::{Constants, Declarations, EntryPoint, Id, Inst, Scope, Type};

/// Most bytes of it that a kernel gets.
pub const MAX_EXCHANGE_BYTES: u64 = 32 << 10;

/// Its alignment.
pub const EXCHANGE_ALIGN: Alignment = Alignment::QUAD;

/// Fewest invocations of a subgroup: a workgroup of no more is one.
const SMALLEST_WAVE: u32 = 32;

/// Bytes of an element there.
pub fn element_bytes(component: Scalar) -> u32 {
    component.bytes()
}

/// What `entry` needs of it, as far as the module tells: whether its matrices are held by several
/// subgroups depends on the target. More than [`MAX_EXCHANGE_BYTES`] are not given.
pub(crate) fn exchange_bytes(
    declarations: &Declarations<'_>,
    constants: &Constants,
    entry: &EntryPoint<'_>,
    reached: &Reached,
) -> u64 {
    let is_matrix = |(_, ty): (Id, &Type)| matches!(ty, Type::CooperativeMatrix { .. });
    let size = declarations.workgroup_size(entry, constants);
    let invocations = size.map(|size| size.iter().fold(1u32, |all, one| all.saturating_mul(*one)));
    let is_one_wave = invocations.is_some_and(|count| count <= SMALLEST_WAVE);
    if is_one_wave || !declarations.types().any(is_matrix) {
        return 0;
    }
    let functions = reached.order.iter();
    functions
        .filter_map(|id| declarations.function(*id))
        .flat_map(|function| function.insts())
        .filter_map(|inst| needed(declarations, constants, inst))
        .max()
        .unwrap_or(0) // no instruction needs any
        .min(MAX_EXCHANGE_BYTES)
}

/// Bytes that one instruction needs.
fn needed(declarations: &Declarations<'_>, constants: &Constants, inst: Inst<'_>) -> Option<u64> {
    let op = inst.op()?;
    let is_exchange = matches!(
        op,
        Op::CooperativeMatrixConvertNV
            | Op::CooperativeMatrixTransposeNV
            | Op::CooperativeMatrixReduceNV
    ) || (converts(op) && changes_blocks(declarations, constants, inst));
    let ty = is_exchange.then(|| declarations.type_of(inst.id(0).ok()?))??;
    let Some(Type::CooperativeMatrix {
        component,
        operands: [scope, rows, columns, _],
    }) = declarations.ty(ty)
    else {
        return None;
    };
    let bits = match declarations.ty(*component)? {
        Type::Int { width, .. } | Type::Float { width, .. } => *width,
        _ => return None,
    };
    let [scope, rows, columns] = [scope, rows, columns].map(|id| constants.as_u32(*id));
    let (rows, columns) = (u64::from(rows?), u64::from(columns?));
    let blocks = rows / u64::from(BLOCK_ROWS);
    if scope.and_then(Scope::from_u32) != Some(Scope::Workgroup) || blocks < 2 {
        return None;
    }
    let elements = match op {
        Op::CooperativeMatrixReduceNV => {
            let mask = Reduce::from_bits_truncate(inst.operand(1).ok()?);
            // Sums of whole rows are exchanged alone, unless some sides are no powers of two.
            let halves = rows.is_power_of_two() && columns.is_power_of_two();
            match (mask.contains(Reduce::COLUMN), mask.contains(Reduce::ROW)) {
                (true, true) if halves => blocks,
                (true, _) => blocks.saturating_mul(columns),
                (false, _) if mask.contains(Reduce::_2X2) => rows.saturating_mul(columns) / 4,
                (false, _) => return None,
            }
        }
        _ => rows.saturating_mul(columns),
    };
    Some(elements.saturating_mul(u64::from(bits.div_ceil(8))))
}

/// Returns true if the instruction converts each element, and may change the use too.
fn converts(op: Op) -> bool {
    matches!(
        op,
        Op::FConvert
            | Op::SConvert
            | Op::UConvert
            | Op::ConvertFToS
            | Op::ConvertFToU
            | Op::ConvertSToF
            | Op::ConvertUToF
    )
}

/// Returns true if the operand or the result is a matrix B and the other is not: only matrices B
/// are not cut into blocks.
fn changes_blocks(declarations: &Declarations<'_>, constants: &Constants, inst: Inst<'_>) -> bool {
    let is_b = |ty: Option<Id>| match declarations.ty(ty?)? {
        Type::CooperativeMatrix { operands, .. } => {
            let [_, _, _, role] = operands;
            Some(constants.as_u32(*role) == Some(CooperativeMatrixUse::MatrixBKHR as u32))
        }
        _ => None,
    };
    let operand = inst.id(0).ok().and_then(|id| declarations.type_of(id));
    match (is_b(operand), is_b(inst.result_type())) {
        (Some(from), Some(to)) => from != to,
        _ => false,
    }
}
