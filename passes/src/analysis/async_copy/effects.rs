//! Which functions do nothing that a copy in flight could meet.

use crate::analysis::callgraph::CallGraph;
use crate::analysis::pairing::SiteKind;
use crate::analysis::uniformity::memory;
use crate::module::{Declarations, Function, Id, Inst, called_for_elements};
use spirv::{Op, StorageClass};
use std::collections::BTreeSet;

/// The functions that touch Workgroup memory, write global memory, or order memory, themselves or
/// by their calls.
#[derive(Clone, Debug)]
pub(super) struct Effects {
    touching: BTreeSet<Id>,
}

impl Effects {
    pub(super) fn of(declarations: &Declarations<'_>) -> Effects {
        let functions = declarations.functions.iter();
        let seeds: Vec<Id> = functions
            .filter(|function| does(declarations, function))
            .map(|function| function.id)
            .collect();
        Effects {
            touching: CallGraph::of(declarations).callers(seeds),
        }
    }

    /// Whether a call of `function` may do such a thing.
    pub(super) fn touches(&self, function: Id) -> bool {
        self.touching.contains(&function)
    }
}

fn does(declarations: &Declarations<'_>, function: &Function<'_>) -> bool {
    function.blocks.is_empty() || function.insts().any(|inst| is_seen(declarations, inst))
}

fn is_seen(declarations: &Declarations<'_>, inst: Inst<'_>) -> bool {
    let Some(op) = inst.op() else {
        return true;
    };
    let indirect = called_for_elements(inst).is_some();
    let orders = SiteKind::of(inst).is_some()
        || matches!(
            op,
            Op::AtomicStore
                | Op::AtomicFlagClear
                | Op::GroupAsyncCopy
                | Op::GroupWaitEvents
                | Op::MemoryNamedBarrier
        )
        || memory::is_atomic(op);
    if orders || indirect || matches!(op, Op::ImageWrite | Op::TensorWriteARM) {
        return true;
    }
    let reads = op == Op::Load;
    declarations.module.ids(inst).any(|(_, id)| {
        match memory::class_of(declarations, id) {
            Some(StorageClass::Workgroup | StorageClass::Generic) => true,
            // Addresses of global memory go into loads and address computations; everything else
            // may write.
            Some(
                StorageClass::StorageBuffer
                | StorageClass::Uniform
                | StorageClass::CrossWorkgroup
                | StorageClass::PhysicalStorageBuffer,
            ) => {
                !reads
                    && !matches!(
                        op,
                        Op::AccessChain
                            | Op::InBoundsAccessChain
                            | Op::PtrAccessChain
                            | Op::InBoundsPtrAccessChain
                            | Op::CopyObject
                            | Op::ArrayLength
                            | Op::FunctionCall
                    )
            }
            _ => false, // memory of the invocation's own, and what nobody writes
        }
    })
}
