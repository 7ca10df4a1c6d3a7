//! Removes barriers that a neighbour makes redundant. A barrier here is an OpControlBarrier, or an
//! arrive and the wait that follows it in the same block.
//!
//! What is provably redundant: X, when on every path to it (or on every path from it) a barrier U
//! of the same execution scope comes, nothing that memory or other invocations could see happens
//! between them, U has nothing in its own window (OpControlBarrier, or arrive and wait with nothing
//! seen between), and U orders at least what X orders: order, storage classes, memory scope,
//! availability and visibility, on both sides.
//!
//! Proof. Let U come before X. No access, fence or barrier is between U and X, so whatever is
//! before X is before U or U itself, and what is behind X is behind U. X lets accesses before its
//! arrive happen before accesses behind its wait in other invocations of the scope; these are
//! before U and behind U, and U orders them with at least the same semantics. Accesses in X's
//! window X does not order, and removing it does not either. A fence elsewhere that synchronises
//! through X does so through U in the same way: it is before or behind both. X waits for
//! invocations to get to its arrive, and between U and it they do nothing that can be seen. With U
//! behind X it is the same, mirrored. The window of X may have plain accesses; with an atomic, a
//! call, a fence or a barrier in it X stays.
//!
//! Who takes part: all invocations that execute one of two barriers in a block execute the other.
//! Over several blocks that is so for the scope Workgroup, whose barriers all invocations of the
//! workgroup execute or none (SPIR-V, OpControlBarrier: undefined otherwise; VUID 13558), and not
//! for Subgroup, whose barriers may stand where only some invocations come: these are looked at
//! block by block.
//!
//! Never looked at: pairs over several blocks, barriers of another scope (a Workgroup barrier does
//! not replace a Subgroup one here), operands from specialization constants. Capability and
//! extension stay declared.

mod part;
mod reduce;

use super::edit::Edit;
use super::operands::{
    Fence, SEQUENTIALLY_CONSISTENT, SUBGROUP, VOLATILE, WORKGROUP, execution, fence,
};
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::analysis::cfg::Cfg;
use crate::diagnostic::Diagnostics;
use crate::module::facts::{Class, Operand};
use crate::module::{Block, BlockMap, Declarations, Inst, Module, Type, WordOffset};
use part::{Barrier, Part};
use spirv::{Op, StorageClass};

pub(super) fn run(
    _: &Module<'_>,
    declarations: &Declarations<'_>,
    _: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut redundant = Vec::new();
    for function in &declarations.functions {
        if function
            .insts()
            .filter(|inst| is_control(*inst))
            .nth(1)
            .is_none()
        {
            continue; // two are needed
        }
        let cfg = Cfg::analyze(declarations.module, function);
        for (scope, cfg) in [(WORKGROUP, Some(&cfg)), (SUBGROUP, None)] {
            let blocks = function.blocks.iter();
            let mut blocks: BlockMap<Vec<Part>> = blocks
                .map(|block| parts(declarations, block, scope))
                .collect();
            reduce::reduce(cfg, &mut blocks, &mut redundant);
        }
    }
    if redundant.is_empty() {
        return Ok(None);
    }
    let mut edit = Edit::new(declarations);
    redundant.into_iter().for_each(|offset| edit.remove(offset));
    edit.finish()
}

/// An arrive whose wait has not come yet.
struct Pending {
    offset: WordOffset,
    fence: Fence,
    /// Only accesses in the window, and none of them seen.
    is_quiet: bool,
    /// No atomic, call, fence or barrier in the window.
    is_plain: bool,
}

fn parts(declarations: &Declarations<'_>, block: &Block<'_>, scope: u32) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut pending: Option<Pending> = None;
    for inst in &block.insts {
        let fence = (is_control(*inst) && execution(declarations, *inst) == Some(scope))
            .then(|| fence(declarations, *inst))
            .flatten();
        match (inst.op(), fence, pending.take()) {
            (Some(Op::ControlBarrierArriveINTEL), Some(fence), open) if !fence.acquires() => {
                // An arrive in an open pair breaks a rule: nothing is concluded from either.
                parts.extend(open.map(|_| Part::Seen));
                pending = Some(Pending {
                    offset: inst.offset,
                    fence,
                    is_quiet: true,
                    is_plain: true,
                });
            }
            (Some(Op::ControlBarrierWaitINTEL), Some(fence), Some(open))
                if open.is_plain && !fence.releases() =>
            {
                parts.push(Part::Barrier(Barrier {
                    first: open.offset,
                    last: inst.offset,
                    release: open.fence.release_half(),
                    acquire: fence.acquire_half(),
                    strict: (open.fence.bits | fence.bits) & VOLATILE,
                    is_whole: open.is_quiet,
                }));
            }
            (Some(Op::ControlBarrier), Some(fence), None) => parts.push(Part::Barrier(Barrier {
                first: inst.offset,
                last: inst.offset,
                release: fence.release_half(),
                acquire: fence.acquire_half(),
                strict: fence.bits & (VOLATILE | SEQUENTIALLY_CONSISTENT),
                is_whole: true,
            })),
            (Some(Op::ControlBarrierWaitINTEL), Some(_), _) => parts.push(Part::Seen),
            (_, _, Some(open)) => {
                let is_quiet = is_quiet(declarations, *inst);
                pending = Some(Pending {
                    is_quiet: open.is_quiet && is_quiet,
                    is_plain: open.is_plain && (is_quiet || is_plain_access(declarations, *inst)),
                    ..open
                });
            }
            (_, _, None) if is_quiet(declarations, *inst) => {}
            (_, _, None) => parts.push(Part::Seen),
        }
    }
    // A pair over several blocks: nothing is concluded from it.
    parts.extend(pending.map(|_| Part::Seen));
    parts
}

fn is_control(inst: Inst<'_>) -> bool {
    matches!(
        inst.op(),
        Some(Op::ControlBarrier | Op::ControlBarrierArriveINTEL | Op::ControlBarrierWaitINTEL)
    )
}

/// Returns true for accesses that are not atomic and that the invocation makes alone.
fn is_plain_access<'m>(declarations: &Declarations<'m>, inst: Inst<'m>) -> bool {
    let facts = declarations.facts(inst);
    let mut accesses = facts.accesses.iter();
    facts.class == Class::Memory
        && !facts.active_lanes
        && !facts.calls.any()
        && accesses.all(|access| access.kind == Operand::Pointer)
}

/// Returns true if `inst` does nothing that another invocation can see, and sees nothing that
/// another one does: values, addresses, and accesses to memory of its invocation.
fn is_quiet<'m>(declarations: &Declarations<'m>, inst: Inst<'m>) -> bool {
    let facts = declarations.facts(inst);
    if facts.active_lanes {
        return false;
    }
    match facts.class {
        Class::Memory => {
            let mut is_own = !facts.calls.any();
            declarations.accesses(inst, |id, access| {
                let ty = declarations.type_of(id).and_then(|ty| declarations.ty(ty));
                is_own &= access.kind == Operand::Pointer
                    && matches!(
                        ty,
                        Some(Type::Pointer {
                            class: StorageClass::Function
                                | StorageClass::Private
                                | StorageClass::Input,
                            ..
                        })
                    );
            });
            is_own
        }
        _ => facts.touches_no_memory(),
    }
}
