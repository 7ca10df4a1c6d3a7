//! Stores that have become copies: what a load has read goes to workgroup memory asynchronously, or
//! through registers that hold it.
//!
//! Where the load stands behind a branch the copy is made at the store all the same, by every
//! invocation, so that marks and counters count the same on all paths. Whoever comes to the store
//! without the load copies zeros. What the load would have read is noted where it stands, in stack
//! slots that the optimiser turns into registers; the store looks there and clears the note.
//! `cp.async` reads no bytes then, and fills with zeros what it does not read (PTX ISA, "cp.async",
//! operand `src-size`); all others read zeros from memory.

use super::function::FunctionEmitter;
use super::memory::Access;
use super::slots::Pointer;
use super::staged::plain;
use super::state::Note;
use super::{Handled, Result, lanes};
use crate::ffi::{self, Linkage, Value};
use spirv::Op;
use splitbar_passes::module::{Id, Inst};
use splitbar_plan::{CopyPlan, Engine};

/// The most that is copied at once, in bytes.
const MOST_BYTES: usize = 16;

/// Where a copy reads.
#[derive(Copy, Clone)]
struct Source<'c> {
    address: Value<'c>,
    /// How many bytes, `i32`; `None`: all.
    read: Option<Value<'c>>,
}

/// Returns true if the plan has a copy for the instruction.
pub(super) fn is_copy(e: &FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> bool {
    op == Op::Store && e.kernel.plan.copies.contains_key(&inst.offset)
}

/// Lowers a store that copies.
pub(super) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<Handled> {
    let plan = e.kernel.plan.copies.get(&inst.offset).copied();
    let load = plan.and_then(|plan| e.module.declarations.module.at(plan.load?));
    let (Some(plan), Some(load)) = (plan, load) else {
        return Err(e.b.internal("a store became a copy of nothing"));
    };
    let (writes, _) = e.access(inst, 2)?;
    let (place, writes) = e.with_access(&e.pointer(inst.id(0)?)?, writes)?;
    let to = aligned(e, e.result_type(load)?, plan.unit, place, writes)?;
    let from = chosen(e, load, plan)?;
    begin(e, plan, from, to)?;
    Ok(Handled::Yes)
}

/// Begins a copy from `from` to `to`.
fn begin<'c>(
    e: &mut FunctionEmitter<'_, 'c, '_>,
    plan: CopyPlan,
    from: Source<'c>,
    to: Value<'c>,
) -> Result<()> {
    let b = e.b;
    match plan.engine {
        Engine::LdsDma => {
            // The plan has it that the lanes follow each other: the first lane's place is the
            // wave's.
            let before = b.mul(lanes::lane_id(e)?, b.i32(plan.unit))?;
            let first = b.offset(to, b.neg(before)?, false)?;
            let first = b.intrinsic("llvm.amdgcn.readfirstlane", &[first.ty()], &[first])?;
            e.lds_dma(from.address, first, plan.unit)
        }
        Engine::AsyncLds => e.async_lds(plan.direction, from.address, to, plan.unit),
        Engine::CpAsync => e.cp_async(from.address, to, plan.unit, from.read),
        Engine::Registers => {
            let Some(set) = plan.staged else {
                return Err(b.internal("a store became a copy by registers that does not hold"));
            };
            let value = b.load(plain(e, plan.unit), from.address, plan.unit)?;
            e.hold_value(set, 0, value)?;
            e.hold(set, to)
        }
        Engine::Bulk => Err(b.internal("a store became a bulk copy")),
    }
}

/// Where a copy reads, by what its load has noted and by the selection behind that.
fn chosen<'c>(
    e: &mut FunctionEmitter<'_, 'c, '_>,
    load: Inst<'_>,
    plan: CopyPlan,
) -> Result<Source<'c>> {
    let b = e.b;
    let source = if plan.zeros.by_branch {
        let note = e.barrier_state.notes.get(&load.offset).copied();
        let note = note.ok_or_else(|| b.internal("the load of a copy has noted nothing"))?;
        note.take(e)?
    } else {
        Source {
            address: source(e, load, plan.unit)?,
            read: None,
        }
    };
    let Some(choice) = plan.zeros.by_select else {
        return Ok(source);
    };
    let Some(select) = e.module.declarations.module.at(choice.select) else {
        return Err(b.internal("the plan has no such selection"));
    };
    let condition = e.operand(select, 0)?;
    let pick = |yes, no| {
        if choice.when {
            b.select(condition, yes, no)
        } else {
            b.select(condition, no, yes)
        }
    };
    // A source that does not say how much of it is read is read in whole.
    Ok(Source {
        address: pick(source.address, nothing(e, plan.engine))?,
        read: Some(pick(source.read.unwrap_or(b.i32(plan.unit)), b.i32(0))?),
    })
}

/// The place in global memory that `load` reads.
fn source<'c>(e: &FunctionEmitter<'_, 'c, '_>, load: Inst<'_>, unit: u32) -> Result<Value<'c>> {
    let (reads, _) = e.access(load, 1)?;
    let (place, reads) = e.with_access(&e.pointer(load.id(0)?)?, reads)?;
    aligned(e, e.result_type(load)?, unit, place, reads)
}

/// The address of a place of a value of type `ty`, which the plan has taken to be aligned to `unit`
/// bytes ([`splitbar_passes::analysis::alignment`]).
fn aligned<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    ty: Id,
    unit: u32,
    pointer: Pointer<'c>,
    access: Access,
) -> Result<Value<'c>> {
    // Without an operand that says more, a place is aligned as its components are.
    let component = e.ty(ty)?.scalar_bits() / 8;
    let known = access.aligned.map_or(component, |_| 1).max(pointer.align);
    if known < unit || pointer.matrix.is_some() {
        let what = format!("a copy of {unit} bytes at a place that is aligned to {known}");
        return Err(e.b.internal(what));
    }
    Ok(pointer.address)
}

/// Where a copy by `engine` reads that has no source.
fn nothing<'c>(e: &FunctionEmitter<'_, 'c, '_>, engine: Engine) -> Value<'c> {
    match engine {
        // No byte of it is read.
        Engine::CpAsync => e.b.pointer_type(1).zero(),
        Engine::Registers | Engine::LdsDma | Engine::AsyncLds | Engine::Bulk => zeros(e),
    }
}

/// Zeros in global memory, one global for the whole module.
fn zeros<'c>(e: &FunctionEmitter<'_, 'c, '_>) -> Value<'c> {
    *e.module.barriers.zeros.borrow_mut().get_or_insert_with(|| {
        let value = ffi::const_bytes(e.b.context(), &[0; MOST_BYTES]);
        let global = ffi::add_global(e.b.module(), value.ty(), 1, "splitbar_zeros");
        global.set_initializer(value);
        global.set_constant();
        global.set_linkage(Linkage::LLVMPrivateLinkage);
        global.set_alignment(MOST_BYTES as u32);
        global
    })
}

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// Makes the notes of the copies of the plan whose loads stand behind branches.
    pub(super) fn empty_notes(&mut self) -> Result<()> {
        let plan = self.kernel.plan;
        for copy in plan.copies.values() {
            let (Some(load), true) = (copy.load, copy.zeros.by_branch) else {
                continue;
            };
            let note = Note {
                unit: copy.unit,
                nothing: nothing(self, copy.engine),
                address: self.stack_slot(self.b.pointer_type(1), 8)?,
                read: self.stack_slot(self.b.int_type(32), 4)?,
            };
            note.clear(self)?;
            self.barrier_state.notes.insert(load, note);
        }
        Ok(())
    }

    /// Notes that the load `inst` has read, if a copy wants to know.
    pub(super) fn note_source(&mut self, inst: Inst<'_>) -> Result<()> {
        let Some(note) = self.barrier_state.notes.get(&inst.offset).copied() else {
            return Ok(());
        };
        let address = source(self, inst, note.unit)?;
        self.b.store(address, note.address, 8)?;
        self.b.store(self.b.i32(note.unit), note.read, 4)?;
        Ok(())
    }
}

impl<'c> Note<'c> {
    fn clear(self, e: &FunctionEmitter<'_, 'c, '_>) -> Result<()> {
        e.b.store(self.nothing, self.address, 8)?;
        e.b.store(e.b.i32(0), self.read, 4)?;
        Ok(())
    }

    /// What is noted, which is cleared.
    fn take(self, e: &FunctionEmitter<'_, 'c, '_>) -> Result<Source<'c>> {
        let source = Source {
            address: e.b.load(e.b.pointer_type(1), self.address, 8)?,
            read: Some(e.b.load(e.b.int_type(32), self.read, 4)?),
        };
        self.clear(e)?;
        Ok(source)
    }
}
