//! Subgroup instructions: OpGroupNonUniform* (SPIR-V 1.6, section 3.52.24), OpGroup* at subgroup
//! scope (3.52.21), SPV_KHR_shader_ballot, SPV_KHR_subgroup_vote, SPV_INTEL_subgroups and
//! SPV_EXT_shader_subgroup_partitioned, which compares bits: 0 and -0 are in different sets.
//!
//! A subgroup is a wave or warp, or a part of one; which of its lanes take part is asked for at run
//! time (see [`super::lanes`]). Reading a lane that does not take part is undefined in SPIR-V.
//! Floating-point reductions combine neighbours first, in order of lane number; SPIR-V leaves the
//! order open.

use super::build::Build;
use super::collective::collective;
use super::function::FunctionEmitter;
use super::lanes::{self, Lanes};
use super::memory::Access;
use super::{Handled, Result};
use crate::ffi::{IntPredicate, RealPredicate, Ty, Value};
use spirv::{GroupOperation, Op};
use splitbar_passes::module::{Inst, Scope};

/// Returns true if the first operand of `op` is its scope: so it is in the core and in the KHR
/// extensions for groups.
fn names_scope(op: Op) -> bool {
    !matches!(
        op,
        Op::SubgroupBallotKHR
            | Op::SubgroupFirstInvocationKHR
            | Op::SubgroupAllKHR
            | Op::SubgroupAnyKHR
            | Op::SubgroupAllEqualKHR
            | Op::SubgroupReadInvocationKHR
            | Op::SubgroupShuffleINTEL
            | Op::SubgroupShuffleDownINTEL
            | Op::SubgroupShuffleUpINTEL
            | Op::SubgroupShuffleXorINTEL
            | Op::SubgroupBlockReadINTEL
            | Op::SubgroupBlockWriteINTEL
            | Op::SubgroupMatrixMultiplyAccumulateINTEL
            | Op::GroupNonUniformQuadAllKHR
            | Op::GroupNonUniformQuadAnyKHR
            | Op::GroupNonUniformPartitionEXT
    )
}

/// Lowers subgroup instructions, and hands OpGroup* of workgroup scope on.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    let scoped = names_scope(op);
    if scoped {
        let scope = Scope::evaluate(inst.id(0)?, inst, e.module.constants)?;
        match scope {
            Scope::Subgroup => {}
            // Those of SPV_AMD_shader_ballot need no uniform control flow, which barriers do.
            Scope::Workgroup
                if !(Op::GroupIAddNonUniformAMD..=Op::GroupSMaxNonUniformAMD).contains(&op) =>
            {
                return super::group::emit(e, op, inst);
            }
            _ => {
                return Err(e.unsupported(
                    inst,
                    format!("the scope is {scope}; only Subgroup and Workgroup are supported"),
                ));
            }
        }
    }
    let first = usize::from(scoped);
    // One table: an instruction of more than a few lines has a function of its own.
    let value = match op {
        Op::GroupNonUniformBroadcast
        | Op::GroupNonUniformShuffle
        | Op::SubgroupShuffleINTEL
        | Op::SubgroupReadInvocationKHR
        | Op::GroupBroadcast => {
            let lanes = Lanes::new(e, inst)?;
            let lane = index(e, e.operand(inst, first + 1)?)?;
            lanes.read(e.operand(inst, first)?, lane)?
        }
        Op::SubgroupMatrixMultiplyAccumulateINTEL => super::subgroup_product::multiply(e, inst)?,
        Op::GroupNonUniformShuffleXor | Op::SubgroupShuffleXorINTEL => {
            let lanes = Lanes::new(e, inst)?;
            let mask = index(e, e.operand(inst, first + 1)?)?;
            lanes.read(e.operand(inst, first)?, e.b.xor(lanes.id, mask)?)?
        }
        Op::GroupNonUniformShuffleUp | Op::GroupNonUniformShuffleDown => {
            let lanes = Lanes::new(e, inst)?;
            let delta = index(e, e.operand(inst, 2)?)?;
            let lane = if op == Op::GroupNonUniformShuffleUp {
                e.b.sub(lanes.id, delta)?
            } else {
                e.b.add(lanes.id, delta)?
            };
            lanes.read(e.operand(inst, 1)?, lane)?
        }
        Op::GroupNonUniformRotateKHR => rotate(e, inst)?,
        Op::SubgroupBlockReadINTEL => block_read(e, inst)?,
        Op::SubgroupBlockWriteINTEL => {
            block_write(e, inst)?;
            return Ok(Handled::Yes);
        }
        Op::SubgroupShuffleDownINTEL | Op::SubgroupShuffleUpINTEL => shuffle_pair(e, op, inst)?,
        Op::GroupNonUniformBroadcastFirst | Op::SubgroupFirstInvocationKHR => {
            let lanes = Lanes::new(e, inst)?;
            lanes.read_first(e.operand(inst, first)?)?
        }
        Op::GroupNonUniformElect => {
            let lanes = Lanes::new(e, inst)?;
            e.b.icmp(IntPredicate::LLVMIntEQ, lanes.id, lanes.first()?)?
        }
        Op::GroupNonUniformAll | Op::SubgroupAllKHR | Op::GroupAll => {
            Lanes::new(e, inst)?.all(e.operand(inst, first)?)?
        }
        Op::GroupNonUniformAny | Op::SubgroupAnyKHR | Op::GroupAny => {
            Lanes::new(e, inst)?.any(e.operand(inst, first)?)?
        }
        Op::GroupNonUniformAllEqual | Op::SubgroupAllEqualKHR => all_equal(e, inst, first)?,
        Op::GroupNonUniformBallot | Op::SubgroupBallotKHR => {
            let set = Lanes::new(e, inst)?.ballot(e.operand(inst, first)?)?;
            to_words(e.b, set)?
        }
        Op::GroupNonUniformPartitionEXT => {
            let lanes = Lanes::new(e, inst)?;
            let set = lanes.partition(e.operand(inst, first)?)?;
            to_words(e.b, lanes.of_wave_set(set)?)?
        }
        Op::GroupNonUniformInverseBallot => {
            let set = from_words(e, e.operand(inst, 1)?)?;
            test_lane(e.b, set, lanes::place(e)?)?
        }
        Op::GroupNonUniformBallotBitExtract => {
            let set = from_words(e, e.operand(inst, 1)?)?;
            let lane = index(e, e.operand(inst, 2)?)?;
            test_lane(e.b, set, lane)?
        }
        Op::GroupNonUniformBallotBitCount => ballot_bit_count(e, inst)?,
        Op::GroupNonUniformBallotFindLSB => {
            lanes::lowest(e.b, from_words(e, e.operand(inst, 1)?)?)?
        }
        Op::GroupNonUniformBallotFindMSB => {
            lanes::highest(e.b, from_words(e, e.operand(inst, 1)?)?)?
        }
        Op::GroupNonUniformQuadBroadcast => {
            let lanes = quads(e, inst)?;
            let corner = e.b.and(lanes.id, e.b.i32(!3))?;
            let lane = e.b.or(corner, index(e, e.operand(inst, 2)?)?)?;
            lanes.read(e.operand(inst, 1)?, lane)?
        }
        Op::GroupNonUniformQuadSwap => quad_swap(e, inst)?,
        Op::GroupNonUniformQuadAllKHR | Op::GroupNonUniformQuadAnyKHR => quad_vote(e, op, inst)?,
        _ => return reduce(e, op, inst),
    };
    let value = as_result(e, inst, value)?;
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

/// A lane index or distance as `i32`. OpGroupBroadcast may give it as a vector, of which a subgroup
/// uses the first component.
fn index<'c>(e: &FunctionEmitter<'_, 'c, '_>, value: Value<'c>) -> Result<Value<'c>> {
    e.b.int_resize(e.b.lane(value, 0)?, e.b.int_type(32), false)
}

/// Counts and indices are 32 bits here; the result type may be another integer.
fn as_result<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    value: Value<'c>,
) -> Result<Value<'c>> {
    let to = e.result_ty(inst)?;
    if value.ty() == e.b.int_type(32) && to.is_int() {
        e.b.int_resize(value, to, false)
    } else {
        Ok(value)
    }
}

/// A set of lanes as the four words of a ballot.
fn to_words<'c>(b: &Build<'c>, set: Value<'c>) -> Result<Value<'c>> {
    let halves = b.bitcast(set, b.int_type(32).vector(2))?;
    b.shuffle(
        halves,
        b.int_type(32).vector(2).zero(),
        &[Some(0), Some(1), Some(2), Some(3)],
    )
}

/// The lanes that a ballot names; bits beyond the subgroup do not count.
fn from_words<'c>(e: &FunctionEmitter<'_, 'c, '_>, words: Value<'c>) -> Result<Value<'c>> {
    let b = e.b;
    let mut low = b.lane(words, 0)?;
    if e.subgroup_size() <= 32 {
        if e.subgroup_size() < 32 {
            low = b.and(low, b.i32((1 << e.subgroup_size()) - 1))?;
        }
        return b.int_resize(low, b.int_type(64), false);
    }
    let high = b.lane(words, 1)?;
    b.bitcast(b.vector(&[low, high])?, b.int_type(64))
}

fn test_lane<'c>(b: &Build<'c>, set: Value<'c>, lane: Value<'c>) -> Result<Value<'c>> {
    let shifted = b.lshr(set, b.int_resize(lane, b.int_type(64), false)?)?;
    b.int_resize(shifted, b.int_type(1), false)
}

fn ballot_bit_count<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let b = e.b;
    let set = from_words(e, e.operand(inst, 2)?)?;
    let lane = b.int_resize(lanes::place(e)?, b.int_type(64), false)?;
    let counted = match GroupOperation::from_u32(inst.operand(1)?) {
        Some(GroupOperation::Reduce) => set,
        Some(GroupOperation::InclusiveScan) => {
            b.and(set, b.sub(b.shl(b.i64(2), lane)?, b.i64(1))?)?
        }
        Some(GroupOperation::ExclusiveScan) => {
            b.and(set, b.sub(b.shl(b.i64(1), lane)?, b.i64(1))?)?
        }
        _ => return Err(e.unsupported(inst, "this group operation")),
    };
    let count = b.intrinsic("llvm.ctpop", &[b.int_type(64)], &[counted])?;
    b.int_resize(count, b.int_type(32), false)
}

/// Whether every active lane holds what the first one holds. Numbers compare as numbers: a NaN
/// differs from itself.
fn all_equal<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    first: usize,
) -> Result<Value<'c>> {
    let b = e.b;
    let lanes = Lanes::new(e, inst)?;
    let value = e.operand(inst, first)?;
    let other = lanes.read_first(value)?;
    let mut equal = b.bool(true);
    for lane in 0..value.ty().lanes() {
        let (x, y) = (b.lane(value, lane)?, b.lane(other, lane)?);
        let same = if x.ty().is_float() {
            b.fcmp(RealPredicate::LLVMRealOEQ, x, y)?
        } else {
            b.icmp(IntPredicate::LLVMIntEQ, x, y)?
        };
        equal = b.and(equal, same)?;
    }
    lanes.all(equal)
}

/// From lane (id + delta) mod the cluster (the subgroup when none is given).
fn rotate<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let b = e.b;
    let size = match inst.operands().get(3) {
        Some(_) => cluster_size(e, inst)?,
        None => e.subgroup_size(),
    };
    let lanes = Lanes::new(e, inst)?;
    let moved = b.add(lanes.id, index(e, e.operand(inst, 2)?)?)?;
    let within = b.and(moved, b.i32(size - 1))?;
    let corner = b.and(lanes.id, b.i32(!(size - 1)))?;
    lanes.read(e.operand(inst, 1)?, b.or(corner, within)?)
}

/// SPV_INTEL_subgroups: two registers side by side, shifted by delta lanes. Down:
/// `[current, next]`; up: `[previous, current]`.
fn shuffle_pair<'c>(e: &FunctionEmitter<'_, 'c, '_>, op: Op, inst: Inst<'_>) -> Result<Value<'c>> {
    let b = e.b;
    let (left, right) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
    let delta = index(e, e.operand(inst, 2)?)?;
    let lanes = Lanes::new(e, inst)?;
    let size = b.i32(e.subgroup_size());
    let own = lanes.place()?;
    let place = if op == Op::SubgroupShuffleDownINTEL {
        b.add(own, delta)?
    } else {
        b.sub(b.add(own, size)?, delta)?
    };
    let in_left = b.icmp(IntPredicate::LLVMIntULT, place, size)?;
    let lane = b.and(place, b.i32(e.subgroup_size() - 1))?;
    let (from_left, from_right) = (lanes.read(left, lane)?, lanes.read(right, lane)?);
    b.select(in_left, from_left, from_right)
}

/// The lanes, for what quads do: every quad is in one subgroup.
fn quads<'e, 'c>(e: &FunctionEmitter<'e, 'c, '_>, inst: Inst<'_>) -> Result<Lanes<'e, 'c>> {
    if e.subgroup_size() < 4 {
        let size = e.subgroup_size();
        return Err(e.unsupported(inst, format!("a subgroup of {size} has no quads")));
    }
    Lanes::new(e, inst)
}

/// Direction 0 swaps horizontally, 1 vertically, 2 diagonally.
fn quad_swap<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let Some(direction @ 0..=2) = e.constant_u32(inst.id(2)?) else {
        return Err(e.unsupported(inst, "a direction that is not a constant from 0 to 2"));
    };
    let lanes = quads(e, inst)?;
    lanes.read(
        e.operand(inst, 1)?,
        e.b.xor(lanes.id, e.b.i32(direction + 1))?,
    )
}

/// Whether the predicate holds in all, or in one, of the active lanes of the quad.
fn quad_vote<'c>(e: &FunctionEmitter<'_, 'c, '_>, op: Op, inst: Inst<'_>) -> Result<Value<'c>> {
    let b = e.b;
    let lanes = quads(e, inst)?;
    let predicate = e.operand(inst, 0)?;
    let all = op == Op::GroupNonUniformQuadAllKHR;
    let votes = lanes.wave_ballot(if all { b.not(predicate)? } else { predicate })?;
    let corner = b.int_resize(b.and(lanes.id, b.i32(!3))?, b.int_type(64), false)?;
    let quad = b.and(b.lshr(votes, corner)?, b.i64(0xf))?;
    b.icmp(
        if all {
            IntPredicate::LLVMIntEQ
        } else {
            IntPredicate::LLVMIntNE
        },
        quad,
        b.i64(0),
    )
}

/// The constant cluster size operand: a power of two.
fn cluster_size(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<u32> {
    match e.constant_u32(inst.id(3)?) {
        Some(size) if size.is_power_of_two() => Ok(size.min(e.subgroup_size())),
        _ => Err(e.mismatch(inst, "the cluster size is not a constant power of two")),
    }
}

/// Reductions and scans, vectors by component.
fn reduce(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    let Some(operation) = collective(op) else {
        return Ok(Handled::No);
    };
    let value = e.operand(inst, 2)?;
    let lanes = Lanes::new(e, inst)?;
    let result = match GroupOperation::from_u32(inst.operand(1)?) {
        Some(GroupOperation::Reduce) => lanes.reduce(value, None, operation)?,
        Some(GroupOperation::InclusiveScan) => lanes.scan(value, None, operation)?,
        Some(GroupOperation::ExclusiveScan) => lanes.exclusive_scan(value, operation)?,
        Some(GroupOperation::ClusteredReduce) => {
            lanes.reduce(value, Some(cluster_size(e, inst)?), operation)?
        }
        Some(
            shape @ (GroupOperation::PartitionedReduceEXT
            | GroupOperation::PartitionedInclusiveScanEXT
            | GroupOperation::PartitionedExclusiveScanEXT),
        ) => {
            let lanes = lanes.within(from_words(e, e.operand(inst, 3)?)?)?;
            match shape {
                GroupOperation::PartitionedInclusiveScanEXT => {
                    lanes.scan(value, None, operation)?
                }
                GroupOperation::PartitionedExclusiveScanEXT => {
                    lanes.exclusive_scan(value, operation)?
                }
                _ => lanes.reduce(value, None, operation)?,
            }
        }
        _ => return Err(e.unsupported(inst, "this group operation")),
    };
    e.bind(inst, result)?;
    Ok(Handled::Yes)
}

/// The places of a block (SPV_INTEL_subgroups): component i of a lane is element
/// `i * subgroup size + lane` behind the pointer.
fn block_places<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    element: Ty<'c>,
    components: u32,
) -> Result<(Vec<Value<'c>>, Access)> {
    let (pointer, access) = e.with_access(&e.pointer(inst.id(0)?)?, Access::default())?;
    let bytes = element.scalar_bits().div_ceil(8);
    let word = e.b.int_type(if pointer.address.ty().address_space() == 3 {
        32
    } else {
        64
    });
    let lane = e.b.int_resize(lanes::place(e)?, word, false)?;
    let first = e.b.offset(
        pointer.address,
        e.b.mul(lane, word.int(u64::from(bytes)))?,
        true,
    )?;
    let places = (0..components).map(|i| {
        let step = u64::from(i) * u64::from(e.subgroup_size()) * u64::from(bytes);
        e.b.offset(first, word.int(step), true)
    });
    Ok((places.collect::<Result<_>>()?, access))
}

fn block_read<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let ty = e.result_ty(inst)?;
    let element = ty.element_if_vector();
    let (places, access) = block_places(e, inst, element, ty.lanes())?;
    let align = element.scalar_bits().div_ceil(8);
    let parts = places
        .into_iter()
        .map(|place| e.leaf_load(element, place, align, access))
        .collect::<Result<Vec<_>>>()?;
    e.b.vector(&parts)
}

fn block_write(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let data = e.operand(inst, 1)?;
    let element = data.ty().element_if_vector();
    let (places, access) = block_places(e, inst, element, data.ty().lanes())?;
    for (lane, place) in (0..).zip(places) {
        let part = e.b.lane(data, lane)?;
        e.leaf_store(part, place, element.scalar_bits().div_ceil(8), access)?;
    }
    Ok(())
}
