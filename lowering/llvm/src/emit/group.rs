//! OpGroup* of a whole workgroup (SPIR-V 1.6, section 3.52.21): every wave reduces or scans its own
//! lanes, its last lane leaves the result in workgroup memory, and after a barrier every invocation
//! combines what it needs in order of wave number. A second barrier keeps the memory
//! until all have read it.
//!
//! These instructions are barriers themselves. Between an arrive and a wait of the target's own
//! split barrier a full barrier would complete the open phase, so they are refused there; choose
//! another strategy.
//!
//! On NVPTX votes and counts of predicates are one barrier instruction (PTX ISA, `bar.red`).

use super::build::Build;
use super::collective::{Collective, collective};
use super::function::FunctionEmitter;
use super::lanes::{self, Lanes};
use super::{Handled, Result, builtin};
use crate::ffi::{self, IntPredicate, Linkage, Ty, Value};
use spirv::{GroupOperation, Op};
use splitbar_layout::exchange::{EXCHANGE_ALIGN, MAX_EXCHANGE_BYTES};
use splitbar_layout::scratch::{SCRATCH_ALIGN, SCRATCH_BYTES, Vote, is_group, vote};
use splitbar_passes::module::Inst;
use splitbar_plan::target::Arch;
use splitbar_plan::{
    AmdgpuStep, Fence, FenceMemory, FenceOrder, FenceScope, MeetsAt, NvptxStep, Step,
};

/// Lowers an instruction of workgroup scope.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    if !is_group(inst) {
        return Err(e.unsupported(inst, "the scope is Workgroup; only Subgroup is supported"));
    }
    if may_be_open(e, inst) {
        return Err(e.unsupported(inst, "it may be executed between an arrive and a wait of the target's own split barrier; choose the strategy fused, or named where the target has it"));
    }
    if let Some((predicate, vote)) = vote(
        e.module.declarations,
        e.module.constants,
        e.module.target,
        inst,
    ) {
        let result = barrier_reduction(e, vote, e.value(predicate)?)?;
        e.bind(inst, result)?;
        return Ok(Handled::Yes);
    }
    let value = match op {
        Op::GroupBroadcast => broadcast(e, inst)?,
        Op::GroupAll => reduce(
            e,
            inst,
            Collective::And,
            GroupOperation::Reduce,
            e.operand(inst, 1)?,
        )?,
        Op::GroupAny => reduce(
            e,
            inst,
            Collective::Or,
            GroupOperation::Reduce,
            e.operand(inst, 1)?,
        )?,
        _ => {
            let (Some(operation), Some(shape)) =
                (collective(op), GroupOperation::from_u32(inst.operand(1)?))
            else {
                return Ok(Handled::No);
            };
            let value = e.operand(inst, 2)?;
            let mut results = Vec::with_capacity(value.ty().lanes() as usize);
            for lane in 0..value.ty().lanes() {
                let scalar = e.b.lane(value, lane)?;
                results.push(reduce(e, inst, operation, shape, scalar)?);
            }
            e.b.vector(&results)?
        }
    };
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

/// A full barrier that reduces a predicate of all invocations on the way.
fn barrier_reduction<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    vote: Vote,
    predicate: Value<'c>,
) -> Result<Value<'c>> {
    let name = match vote {
        Vote::All => "llvm.nvvm.barrier.cta.red.and.aligned.all",
        Vote::Any => "llvm.nvvm.barrier.cta.red.or.aligned.all",
        Vote::Count => "llvm.nvvm.barrier.cta.red.popc.aligned.all",
    };
    e.b.intrinsic(name, &[], &[e.b.i32(0), predicate])
}

/// Returns true if an arrive on the target's own split barrier can be outstanding at `inst`: it
/// stands in the window of a pair, or in a function that could be called from one, or some arrive
/// is never waited for.
pub(super) fn may_be_open(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> bool {
    open_at(e, inst, MeetsAt::WorkgroupBarrier)
}

/// The same for an arrive at `object`.
pub(super) fn open_at(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>, object: MeetsAt) -> bool {
    let mut pairs = e
        .kernel
        .plan
        .pairs
        .iter()
        .filter(|pair| pair.strategy.meets_at() == object)
        .peekable();
    if pairs.peek().is_none() {
        return false;
    }
    let in_entry = e
        .module
        .declarations
        .function(e.kernel.plan.function)
        .is_some_and(|f| {
            f.blocks
                .iter()
                .flat_map(|b| &b.insts)
                .any(|i| i.offset == inst.offset)
        });
    !in_entry || pairs.any(|pair| pair.waits.is_empty() || pair.window.contains(&inst.offset))
}

/// A full barrier of the workgroup that orders workgroup memory.
pub(super) fn barrier(e: &mut FunctionEmitter<'_, '_, '_>) -> Result<()> {
    let fence = |order| {
        Step::Fence(Fence {
            order,
            scope: FenceScope::Workgroup,
            memory: FenceMemory::Local,
        })
    };
    match e.module.target.arch {
        Arch::Amdgpu(_) => e.steps(&[
            fence(FenceOrder::Release),
            Step::Amdgpu(AmdgpuStep::WorkgroupBarrier),
            fence(FenceOrder::Acquire),
        ]),
        // bar.sync orders by itself.
        Arch::Nvptx(_) => e.steps(&[Step::Nvptx(NvptxStep::CtaSync)]),
    }
}

/// The shared memory, one global for the whole module.
fn scratch<'c>(e: &FunctionEmitter<'_, 'c, '_>) -> Value<'c> {
    *e.module
        .barriers
        .scratch
        .borrow_mut()
        .get_or_insert_with(|| {
            let ty = e.b.int_type(8).array(u64::from(SCRATCH_BYTES));
            let global = ffi::add_global(e.b.module(), ty, 3, "splitbar_group_scratch");
            global.set_initializer(ty.poison());
            global.set_linkage(Linkage::LLVMInternalLinkage);
            global.set_alignment(SCRATCH_ALIGN.bytes());
            global
        })
}

/// The shared memory through which subgroups exchange elements of matrices for `inst`, which is a
/// barrier then; one global for each kernel.
pub(super) fn exchange_memory<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
) -> Result<Value<'c>> {
    if may_be_open(e, inst) {
        return Err(e.unsupported(inst, "subgroups exchange elements at a barrier, and it may be executed between an arrive and a wait of the target's own split barrier; choose the strategy fused, or named where the target has it"));
    }
    let bytes = e.kernel.exchange_bytes;
    if !(1..=MAX_EXCHANGE_BYTES).contains(&bytes) {
        return Err(e.unsupported(inst, format!("the subgroups need {bytes} bytes of workgroup memory to exchange elements; the limit is {MAX_EXCHANGE_BYTES}")));
    }
    let mut known = e.module.barriers.exchange.borrow_mut();
    let global = known.entry(e.kernel.plan.function).or_insert_with(|| {
        let ty = e.b.int_type(8).array(bytes);
        let global = ffi::add_global(e.b.module(), ty, 3, "splitbar_matrix_exchange");
        global.set_initializer(ty.poison());
        global.set_linkage(Linkage::LLVMInternalLinkage);
        global.set_alignment(EXCHANGE_ALIGN.bytes());
        global
    });
    Ok(*global)
}

/// The slot of wave `index`, for a scalar of `bytes` bytes. Slots have no gaps between them: LLVM
/// reads neighbours at once, and would read the gaps, which nobody writes.
fn slot<'c>(e: &FunctionEmitter<'_, 'c, '_>, index: Value<'c>, bytes: u32) -> Result<Value<'c>> {
    e.b.offset(scratch(e), e.b.mul(index, e.b.i32(bytes))?, true)
}

/// The type that values of `ty` have in memory: integers of at least a word.
fn memory_type<'c>(b: &Build<'c>, ty: Ty<'c>) -> Ty<'c> {
    b.int_type(ty.scalar_bits().max(32)).vector(ty.lanes())
}

fn to_memory<'c>(b: &Build<'c>, value: Value<'c>) -> Result<Value<'c>> {
    let ty = value.ty();
    let raw = b.bitcast(value, b.int_type(ty.scalar_bits()).vector(ty.lanes()))?;
    b.int_resize(raw, memory_type(b, ty), false)
}

fn from_memory<'c>(b: &Build<'c>, stored: Value<'c>, ty: Ty<'c>) -> Result<Value<'c>> {
    let raw = b.int_resize(
        stored,
        b.int_type(ty.scalar_bits()).vector(ty.lanes()),
        false,
    )?;
    b.bitcast(raw, ty)
}

/// Does `store` only where `condition` holds.
fn store_if<'c>(
    e: &mut FunctionEmitter<'_, 'c, '_>,
    condition: Value<'c>,
    value: Value<'c>,
    place: Value<'c>,
    align: u32,
) -> Result<()> {
    e.when(condition, |e| {
        e.b.store(value, place, align)?;
        Ok(())
    })
}

/// A reduction or scan of a scalar over the workgroup.
fn reduce<'c>(
    e: &mut FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    operation: Collective,
    shape: GroupOperation,
    value: Value<'c>,
) -> Result<Value<'c>> {
    let b = e.b;
    let ty = value.ty();
    let lanes = Lanes::of_wave(e, inst)?;
    let (inclusive, own) = match shape {
        GroupOperation::Reduce | GroupOperation::InclusiveScan => {
            let inclusive = lanes.scan(value, None, operation)?;
            (inclusive, inclusive)
        }
        GroupOperation::ExclusiveScan => lanes.both_scans(value, operation)?,
        _ => return Err(e.unsupported(inst, "this group operation")),
    };
    let last = b.icmp(
        IntPredicate::LLVMIntEQ,
        lanes.id,
        lanes::highest(b, lanes.members()?)?,
    )?;
    let wave = builtin::wave_id(e)?;
    let count = builtin::num_waves(e)?;
    let bytes = memory_type(b, ty).scalar_bits() / 8;
    let place = slot(e, wave, bytes)?;
    store_if(e, last, to_memory(b, inclusive)?, place, bytes)?;
    barrier(e)?;

    // for (index = 0; index < count; ++index): the total, and its value when it came to the own
    // wave.
    let identity = operation.identity(b, ty)?;
    let before = b.block()?;
    let (body, done) = (e.new_block(), e.new_block());
    b.br(body);
    b.position(body);
    let index = b.phi(&[(b.i32(0), before)])?;
    let total = b.phi(&[(identity, before)])?;
    let prefix = b.phi(&[(identity, before)])?;
    let here = b.icmp(IntPredicate::LLVMIntEQ, index, wave)?;
    let next_prefix = b.select(here, total, prefix)?;
    let stored = b.load(memory_type(b, ty), slot(e, index, bytes)?, bytes)?;
    let next_total = operation.combine(b, total, from_memory(b, stored, ty)?)?;
    let next = b.add(index, b.i32(1))?;
    let end = b.block()?;
    index.add_incoming(next, end);
    total.add_incoming(next_total, end);
    prefix.add_incoming(next_prefix, end);
    b.cond_br(b.icmp(IntPredicate::LLVMIntULT, next, count)?, body, done)?;
    b.position(done);

    barrier(e)?;
    if shape == GroupOperation::Reduce {
        Ok(next_total)
    } else {
        operation.combine(b, next_prefix, own)
    }
}

/// The value of the invocation with the local id of the third operand.
fn broadcast<'c>(e: &mut FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let b = e.b;
    let (value, id) = (e.operand(inst, 1)?, e.operand(inst, 2)?);
    let mut chosen = b.bool(true);
    for dimension in 0..id.ty().lanes().min(3) {
        let wanted = b.int_resize(b.lane(id, dimension)?, b.int_type(32), false)?;
        let same = b.icmp(
            IntPredicate::LLVMIntEQ,
            wanted,
            builtin::local_id(e, dimension as usize)?,
        )?;
        chosen = b.and(chosen, same)?;
    }
    let place = scratch(e);
    store_if(e, chosen, to_memory(b, value)?, place, 16)?;
    barrier(e)?;
    let stored = b.load(memory_type(b, value.ty()), place, 16)?;
    let result = from_memory(b, stored, value.ty())?;
    barrier(e)?;
    Ok(result)
}
