//! The outcomes for the OpControlBarriers of the workgroup while a module is split.

use super::motion::BarrierMotion;
use spirv::{Capability, Op};
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::module::{
    Constants, Declarations, EntryPoint, Id, Inst, Scope, WordOffset, callee,
};
use std::collections::{BTreeMap, BTreeSet};

/// The barriers that one entry point can execute, by their words in the given module, and why those
/// without a window have none.
pub(crate) type FatesOfEntry = BTreeMap<WordOffset, Option<Fate>>;

/// The same by the functions of the entry points.
pub(crate) type Fates = BTreeMap<Id, FatesOfEntry>;

/// What became of a barrier without a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is not there any more, since.
    Removed(&'static str),
    /// It is a full barrier, since.
    Full(String),
    /// It is a barrier of the subgroup, since.
    Narrowed(&'static str),
}

/// It is the reason of [`Fate::Removed`] for barriers that order nothing.
pub(super) const ORDERS_NOTHING: &str = "it orders no accesses that can conflict";

/// The OpControlBarriers of the workgroup that `entry` can execute, by their words.
pub(super) fn executed(
    declarations: &Declarations<'_>,
    constants: &Constants,
    entry: &EntryPoint<'_>,
) -> BTreeSet<WordOffset> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::from([entry.function]);
    let mut work = vec![entry.function];
    while let Some(function) = work.pop().and_then(|id| declarations.function(id)) {
        if function.syncs.is_empty() && function.calls.is_empty() {
            continue;
        }
        let cfg = Cfg::analyze(declarations.module, function);
        for (index, block) in cfg.blocks().zip(&function.blocks) {
            if !cfg.is_reachable(index) {
                continue;
            }
            for inst in &block.insts {
                if let Some(callee) = callee(*inst)
                    && seen.insert(callee)
                {
                    work.push(callee);
                }
                if is_of_workgroup(constants, *inst) {
                    found.insert(inst.offset);
                }
            }
        }
    }
    found
}

/// Returns true for an OpControlBarrier of execution scope Workgroup.
pub(super) fn is_of_workgroup(constants: &Constants, inst: Inst<'_>) -> bool {
    let scope = || constants.as_u32(inst.id(0).ok()?);
    inst.op() == Some(Op::ControlBarrier)
        && scope().and_then(Scope::from_u32) == Some(Scope::Workgroup)
}

/// Why the pass that splits barriers leaves `inst` alone, as far as that is a matter of the
/// instruction and the module.
pub(super) fn why_left(declarations: &Declarations<'_>, inst: Inst<'_>) -> Option<&'static str> {
    const ACQUIRES_AND_RELEASES: u32 = 0x8 | 0x10;
    const VOLATILE: u32 = 0x8000;
    if !declarations.entry_points.iter().all(EntryPoint::is_compute) {
        return Some("an entry point of the module is not a compute kernel");
    }
    let literal = |operand| {
        let constant = declarations.module.def(inst.id(operand).ok()?)?;
        match constant.op()? {
            Op::Constant => constant.operand(0).ok(),
            Op::ConstantNull => Some(0),
            _ => None,
        }
    };
    let [Some(_), Some(_), Some(semantics)] = [0, 1, 2].map(literal) else {
        return Some("its scope or semantics come from a specialization constant");
    };
    if semantics & VOLATILE != 0 {
        return Some("its semantics have Volatile");
    }
    if declarations.has_capability(Capability::Kernel) && semantics & ACQUIRES_AND_RELEASES == 0 {
        return Some(
            "split barriers of OpenCL acquire and release, and this barrier does not do both",
        );
    }
    let mut insts = declarations.module.instructions();
    let is_arrive = |inst: Inst<'_>| inst.op() == Some(Op::ControlBarrierArriveINTEL);
    insts
        .any(is_arrive)
        .then_some("it may execute in the window of another pair")
}

/// Why a pair with this motion became a full barrier again; `least` instructions must be in its
/// window.
pub(super) fn too_narrow(motion: Option<&BarrierMotion>, least: u32) -> String {
    match motion {
        Some(motion) => format!(
            "SPIR-V instructions in the window: {}, and {least} are needed; the arrive is stopped by {}, the wait by {}",
            motion.operations, motion.arrive, motion.wait
        ),
        None => format!("its window has fewer than {least} SPIR-V instructions"),
    }
}
