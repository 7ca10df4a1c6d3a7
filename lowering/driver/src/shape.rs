//! The control flow of an entry function, as the audit of fences asks for it.

use crate::options::Options;
use splitbar_audit::fences::{Atomic, Shape};
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::module::{Constants, Declarations, Id, Inst, Scope, Semantics, WordOffset};
use splitbar_plan::{Fence, FenceOrder, Step, around_barrier};
use std::collections::{BTreeMap, BTreeSet};

/// The shape of the function `id`, whose workgroups are placed on the target as `options` say;
/// `None` if the module has no such function.
pub(crate) fn shape(
    declarations: &Declarations<'_>,
    constants: &Constants,
    id: Id,
    options: &Options,
) -> Option<Shape> {
    let function = declarations.function(id)?;
    let cfg = Cfg::of(declarations.module, function);
    let mut ends: Vec<WordOffset> = function.blocks.iter().map(|block| block.offset).collect();
    ends.push(function.end);
    let words = ends.iter().zip(ends.iter().skip(1));
    let words = words.map(|(start, end)| *start..*end);
    let mut atomics = BTreeMap::new();
    let mut accesses = BTreeSet::new();
    for inst in function.insts() {
        let access = Access::of(inst);
        if access == Access::Atomic {
            let atomic = ordered(inst, constants, options);
            // One that is refused elsewhere has no fences.
            atomics.insert(inst.offset, atomic.unwrap_or_default());
        }
        if access != Access::None {
            accesses.insert(inst.offset);
        }
    }
    Some(Shape::new(cfg, words.collect(), atomics, accesses))
}

/// The fences that an atomic operation stands for: those around a barrier with its scope and
/// semantics. Behind it an acquire is enough: one total order is made in front of it. `None` where
/// the operands say nothing, which is refused elsewhere.
fn ordered(inst: Inst<'_>, constants: &Constants, options: &Options) -> Option<Atomic> {
    let scope = Scope::of(inst.id(1).ok()?, inst, constants).ok()?;
    let semantics = Semantics::of(inst.id(2).ok()?, inst, constants).ok()?;
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
    /// The grammar's names say it: every atomic operation is an `OpAtomic`, and what loads, stores,
    /// copies, calls or reads an image says so.
    fn of(inst: Inst<'_>) -> Access {
        const PLAIN: &[&str] = &[
            "Load", "Store", "Copy", "Call", "Image", "ExtInst", "Memory", "Prefetch", "Group",
        ];
        let Some(op) = inst.op() else {
            return Access::Plain; // an unknown instruction may access memory
        };
        let name = format!("{op:?}");
        if name.starts_with("Atomic") {
            Access::Atomic
        } else if PLAIN.iter().any(|part| name.contains(part)) {
            Access::Plain
        } else {
            Access::None
        }
    }
}
