//! The control flow of an entry function, as the audit of fences asks for it.

use crate::options::Options;
use splitbar_audit::fences::{Atomic, ControlFlowSummary};
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::module::facts::Class;
use splitbar_passes::module::{Constants, Declarations, Id, Inst, Scope, Semantics, WordOffset};
use splitbar_plan::{Fence, FenceOrder, Step, around_barrier};
use std::collections::{BTreeMap, BTreeSet};

/// The shape of the function `id`, whose workgroups are placed on the target as `options` say;
/// `None` if the module has no such function.
pub(super) fn control_flow(
    declarations: &Declarations<'_>,
    constants: &Constants,
    id: Id,
    options: &Options,
) -> Option<ControlFlowSummary> {
    let function = declarations.function(id)?;
    let cfg = Cfg::analyze(declarations.module, function);
    let mut ends: Vec<WordOffset> = function.blocks.iter().map(|block| block.offset).collect();
    ends.push(function.end);
    let words = ends.iter().zip(ends.iter().skip(1));
    let words = words.map(|(start, end)| *start..*end);
    let mut atomics = BTreeMap::new();
    let mut accesses = BTreeSet::new();
    for inst in function.insts() {
        let access = Access::from_inst(declarations, inst);
        if access == Access::Atomic {
            let atomic = ordered(inst, constants, options);
            // One that is refused elsewhere has no fences.
            atomics.insert(inst.offset, atomic.unwrap_or_default());
        }
        if access != Access::None {
            accesses.insert(inst.offset);
        }
    }
    Some(ControlFlowSummary::new(
        cfg,
        words.collect(),
        atomics,
        accesses,
    ))
}

/// The fences that an atomic operation stands for: those around a barrier with its scope and
/// semantics. Behind it an acquire is enough: one total order is made in front of it. `None` where
/// the operands say nothing, which is refused elsewhere.
fn ordered(inst: Inst<'_>, constants: &Constants, options: &Options) -> Option<Atomic> {
    let operands = inst.sync_operands();
    let id = |operand: Option<u8>| inst.id(operand?.into()).ok();
    let scope = Scope::evaluate(id(operands.memory)?, inst, constants).ok()?;
    let semantics = Semantics::evaluate(id(operands.semantics)?, inst, constants).ok()?;
    let [before, after] = around_barrier(semantics, scope, options.target, options.placement);
    let fences = |steps: Vec<Step>| {
        steps.into_iter().filter_map(|step| match step {
            Step::Fence(fence) => Some(fence),
            _ => None, // waits, which belong to the fence
        })
    };
    let acquire = |fence: Fence| Fence {
        order: FenceOrder::Acquire,
        ..fence
    };
    Some(Atomic {
        before: fences(before).collect(),
        after: fences(after).map(acquire).collect(),
    })
}

/// How an instruction accesses memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Access {
    /// Not at all.
    None,
    /// It may.
    Plain,
    /// Atomically.
    Atomic,
}

impl Access {
    /// The access of `inst` as its row says it. Instructions that no row describes may access
    /// memory.
    fn from_inst(declarations: &Declarations<'_>, inst: Inst<'_>) -> Access {
        let facts = declarations.facts(inst);
        match facts.class {
            Class::Atomic(_) => Access::Atomic,
            // The steps that a barrier is lowered to are the plan's.
            Class::Barrier(_) | Class::Fence | Class::Exit => Access::None,
            _ if facts.touches_no_memory() => Access::None,
            _ => Access::Plain,
        }
    }
}
