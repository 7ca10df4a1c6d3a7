//! Named barriers: the strategy that gives the split barrier an object of its own, and
//! OpNamedBarrierInitialize and OpMemoryNamedBarrier of OpenCL 2.2 (SPIR-V 1.6, section 3.52.20),
//! on GPUs that have named barrier objects.
//!
//! An object is set up by one wave and made known by a full barrier of the workgroup before anybody
//! uses it. A wave waits for the object that it joined last.

use super::function::FunctionEmitter;
use super::objects::Objects;
use super::{Handled, Result, builtin};
use crate::ffi::{IntPredicate, Value};
use spirv::Op;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::{Inst, Scope, Semantics};
use splitbar_plan::MeetsAt;

/// The object of the workgroup's split barrier.
const OWN: &str = "splitbar_named_barrier";

impl<'e, 'c> FunctionEmitter<'e, 'c, '_> {
    pub(super) fn objects(&self) -> Objects<'e, 'c> {
        Objects {
            b: self.b,
            target: self.module.target,
        }
    }

    /// Sets the split barrier's object up.
    pub(super) fn named_init(&mut self) -> Result<()> {
        let object = self.objects().named_object(OWN)?;
        let waves = builtin::num_waves(self)?;
        self.set_up(object, waves)
    }

    /// Joins the split barrier's object.
    pub(super) fn named_join(&self) -> Result<()> {
        let objects = self.objects();
        objects.join(objects.named_object(OWN)?)
    }

    /// Arrives at the split barrier's object.
    pub(super) fn named_arrive(&self) -> Result<()> {
        let objects = self.objects();
        objects.named_signal(objects.named_object(OWN)?, self.b.i32(0))
    }

    /// One wave initialises `object` for `members` waves, and a full barrier makes that known.
    fn set_up(&mut self, object: Value<'c>, members: Value<'c>) -> Result<()> {
        let b = self.b;
        let wave = builtin::wave_id(self)?;
        let is_first = b.icmp(IntPredicate::LLVMIntEQ, wave, b.i32(0))?;
        self.when(is_first, |e| e.objects().init(object, members))?;
        self.publish()
    }
}

/// Lowers the two instructions.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    match op {
        Op::NamedBarrierInitialize => initialize(e, inst)?,
        Op::MemoryNamedBarrier => meet(e, inst)?,
        _ => return Ok(Handled::No),
    }
    Ok(Handled::Yes)
}

/// The result is the address of an object of its own. All waves of the workgroup execute the
/// instruction, once.
fn initialize(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    if super::group::may_be_open(e, inst) {
        return Err(e.unsupported(inst, "it may be executed between an arrive and a wait of the target's own split barrier, whose object it needs; choose the strategy named"));
    }
    let object = e
        .objects()
        .named_object(&format!("{OWN}.{}", inst.offset))?;
    let members = e.operand(inst, 0)?;
    let members = e.b.int_resize(members, e.b.int_type(32), false)?;
    if let Some(count) = members.as_u64()
        && (count == 0 || count > MOST_MEMBERS)
    {
        return Err(Box::new(
            Diagnostic::error(
                Code::UnsupportedOnTarget,
                format!(
                    "a named barrier has {count} subgroups; {} supports 1 to {MOST_MEMBERS}",
                    e.module.target.name
                ),
            )
            .at_word(inst.offset),
        ));
    }
    e.set_up(object, members)?;
    e.bind(inst, object)
}

/// Most waves that an object can wait for (bits 16 to 22 of M0, of which LLVM 23.1 fills six).
const MOST_MEMBERS: u64 = 63;

/// The waves that take part meet at the object. A wave is joined to one object at a time: it goes
/// back to that of the split barrier, which it must have done before the last wave arrives there,
/// so none of its arrivals may be open.
fn meet(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let shares = e
        .kernel
        .plan
        .pairs
        .iter()
        .any(|pair| pair.strategy.meets_at() == MeetsAt::NamedObject);
    if super::group::open_at(e, inst, MeetsAt::NamedObject) {
        return Err(e.unsupported(inst, "it may be executed between an arrive and a wait of the strategy named, and a wave can join only one named barrier at a time; choose the strategy native"));
    }
    let object = e.operand(inst, 0)?;
    let scope = Scope::evaluate(inst.id(1)?, inst, e.module.constants)?;
    let semantics = Semantics::evaluate(inst.id(2)?, inst, e.module.constants)?;
    let [before, after] =
        splitbar_plan::around_barrier(semantics, scope, e.module.target, e.kernel.plan.placement);
    e.steps(&before)?;
    let objects = e.objects();
    objects.join(object)?;
    objects.named_signal(object, e.b.i32(0))?;
    objects.named_wait()?;
    if shares {
        e.named_join()?;
    }
    e.steps(&after)
}
