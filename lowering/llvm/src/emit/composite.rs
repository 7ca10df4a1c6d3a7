//! Composites (SPIR-V 1.6, section 3.52.12): taking apart, putting together, shuffling.
//!
//! A cooperative matrix is constructed of one scalar, which every element gets. A vector is an LLVM
//! vector, a matrix an array of its columns, arrays and structures are LLVM aggregates; so one walk
//! along the literal indices serves them all.

use super::function::FunctionEmitter;
use super::types::Kind;
use super::{Handled, Result};
use crate::ffi::Value;
use spirv::Op;
use splitbar_passes::module::Inst;

/// Lowers the composite instructions.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    let value = match op {
        Op::CompositeConstruct => construct(e, inst)?,
        Op::CompositeConstructReplicateEXT => replicate(e, inst)?,
        Op::CompositeExtract if beyond_matrix(e, inst, 0)? => e.result_ty(inst)?.zero(),
        Op::CompositeExtract => {
            let mut part = e.operand(inst, 0)?;
            for &index in inst.operands_from(1) {
                part = e.b.member(part, index)?;
            }
            part
        }
        Op::CompositeInsert if beyond_matrix(e, inst, 1)? => e.operand(inst, 1)?,
        Op::CompositeInsert => insert(e, inst)?,
        Op::VectorExtractDynamic => e.b.lane_dynamic(e.operand(inst, 0)?, e.operand(inst, 1)?)?,
        Op::VectorInsertDynamic => e.b.with_lane(
            e.operand(inst, 0)?,
            e.operand(inst, 1)?,
            e.operand(inst, 2)?,
        )?,
        Op::VectorShuffle => shuffle(e, inst)?,
        // The two types differ in decorations only, so their LLVM types are the same.
        Op::CopyLogical => e.operand(inst, 0)?,
        _ => return Ok(Handled::No),
    };
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

/// Whether the index names an element beyond those that this invocation holds of the cooperative
/// matrix, operand `matrix`. Their number is the target's, so that is nothing that the module could
/// know: the result is undefined.
fn beyond_matrix(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>, matrix: usize) -> Result<bool> {
    let indices = inst.operands_from(matrix + 1);
    let ty = e.type_of(inst.id(matrix).map_err(Box::new)?)?;
    Ok(matches!(e.kind(ty)?, Kind::Cooperative(_))
        && indices
            .first()
            .is_some_and(|index| e.ty(ty).is_ok_and(|held| *index >= held.lanes())))
}

/// A vector takes scalars and vectors one after the other; every other composite takes its members.
fn construct<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let ty = e.result_ty(inst)?;
    let parts = e.operands(inst, 0)?;
    if let (Kind::Cooperative(_), [every]) = (e.kind(e.result_type(inst)?)?, parts.as_slice()) {
        return e.b.splat(*every, ty.lanes());
    }
    if let ([one], false) = (parts.as_slice(), ty.is_vector())
        && one.ty() == ty
        && e.component_type(e.result_type(inst)?).is_some()
    {
        return Ok(*one); // a vector of one element
    }
    if ty.is_vector() {
        let mut lanes = Vec::with_capacity(ty.lanes() as usize);
        for part in parts {
            for lane in 0..part.ty().lanes() {
                lanes.push(e.b.lane(part, lane)?);
            }
        }
        return e.b.vector(&lanes);
    }
    let mut result = ty.poison();
    for (index, part) in parts.into_iter().enumerate() {
        result = e.b.with_member(result, part, index as u32)?;
    }
    Ok(result)
}

/// The one operand in every part (SPV_EXT_replicated_composites).
fn replicate<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let (ty, part) = (e.result_ty(inst)?, e.operand(inst, 0)?);
    if ty.is_vector() || ty == part.ty() {
        return e.b.splat(part, ty.lanes());
    }
    let mut result = ty.poison();
    for index in 0..ty.count() {
        result = e.b.with_member(result, part, index as u32)?;
    }
    Ok(result)
}

/// Takes the composite apart down to the member, replaces it and puts the rest back around it.
fn insert<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let object = e.operand(inst, 0)?;
    let indices = inst.operands_from(2);
    let mut around = Vec::with_capacity(indices.len());
    let mut part = e.operand(inst, 1)?;
    for (depth, &index) in indices.iter().enumerate() {
        around.push((part, index));
        if depth + 1 < indices.len() {
            part = e.b.member(part, index)?;
        }
    }
    let mut result = object;
    for (composite, index) in around.into_iter().rev() {
        result = e.b.with_member(composite, result, index)?;
    }
    Ok(result)
}

/// The literals count through the components of both vectors; 0xFFFFFFFF leaves a component
/// undefined, which becomes one that is at hand.
fn shuffle<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let (first, second) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
    let any = |at: usize| (at as u32) % first.ty().lanes();
    let literals: Vec<u32> = (inst.operands_from(2).iter().enumerate())
        .map(|(at, &literal)| match literal {
            u32::MAX => any(at),
            literal => literal,
        })
        .collect();
    if first.ty() == second.ty() && first.ty().is_vector() {
        let mask: Vec<Option<u32>> = literals.into_iter().map(Some).collect();
        return e.b.shuffle(first, second, &mask);
    }
    let count = first.ty().lanes();
    let mut lanes = Vec::with_capacity(literals.len());
    for literal in literals {
        lanes.push(match literal {
            lane if lane < count => e.b.lane(first, lane)?,
            lane => e.b.lane(second, lane - count)?,
        });
    }
    e.b.vector(&lanes)
}
