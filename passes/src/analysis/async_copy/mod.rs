//! Finds plain copies from global to workgroup memory that can run while the invocation continues:
//! the stores that are such copies, the places where they must be complete, and the number of newer
//! ones that may be outstanding there.
//!
//! A copy is an OpStore to Workgroup memory of a value that an OpLoad has read from global memory,
//! in the same block or in one that leads there alone, with zeros on the other ways. Made
//! asynchronous it starts at the store, and ends at some time before a wait. In between the program
//! must not be able to tell: nobody looks at the destination, and nobody changes the source. What
//! others may do is bounded by what orders them behind the copy, so the copy has to be complete at
//! those release points (an arrive, a control barrier, a fence) behind which they may come to its
//! destination, and need not be at the others. That is what a pipeline lives on: the copy into the
//! stage after the next stays in flight over the barrier that publishes the next one.
//!
//! Completion is counted in marks, in program order: a mark stands behind a group of copies, a wait
//! lets the newest `n` marks be outstanding. The same holds for `asyncmark` and `wait.asyncmark` of
//! LLVM's AMDGPU back end (AMDGPUAsyncOperations) and for `cp.async.commit_group` and
//! `cp.async.wait_group` (PTX ISA 9.7.9.25.3).

mod address;
mod candidate;
mod deferred;
mod effects;
mod expression;
mod fill;
mod flow;
mod induction;
mod input;
mod lanes;
mod order;
mod origin;
mod refused;
mod scan;
mod split;
mod sum;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests;
mod value;
mod zeros;

use crate::analysis::loops::Loops;
use crate::analysis::uniformity::{Level, Model, SlicingCriterion, Uniformity};
use crate::module::{BlockIndex, Id, WordOffset};
use address::Address;
use fill::Fills;
use flow::Flow;
pub use input::Input;
pub use order::Wait;
pub use refused::{Reason, Refused};
use scan::Scan;
use split::Split;
use std::collections::BTreeSet;
pub use zeros::{Choice, Zeros};

/// How often copies that would be waited for at once are left out and the others looked at again.
const MOST_ROUNDS: usize = 8;

/// Loops of a function; where there are more, none is looked at.
const MOST_LOOPS: usize = 256;

/// The asynchronous copies of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AsyncCopies {
    /// The copies, in module order.
    pub copies: Vec<AsyncCopy>,
    /// Stores of loaded values that stay as they are, in module order.
    pub refused: Vec<Refused>,
    /// Word offsets of the instructions with a mark before them, ascending, each once. If a wait is
    /// before the same instruction, the mark comes first.
    pub marks: Vec<WordOffset>,
    /// The waits, by their places.
    pub waits: Vec<Wait>,
    /// Word offsets of the arrives at which a barrier that waits for copies itself need not find
    /// any complete: when its wait returns is early enough. Ascending.
    pub deferred: Vec<WordOffset>,
}

/// A store that may become an asynchronous copy.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AsyncCopy {
    /// Word offset of the OpLoad. Its value has no other use than the store.
    pub load: WordOffset,
    /// Word offset of the OpStore, where the copy is issued. No instruction between load and store
    /// orders memory.
    pub store: WordOffset,
    /// The conditions under which zeros are copied instead.
    pub zeros: Zeros,
    /// Bytes that one invocation copies: 4, 8 or 16.
    pub bytes: u32,
    /// True if all invocations of the workgroup execute the store, or none. Otherwise it depends on
    /// a branch that some of them may not take.
    pub uniform: bool,
    /// True if the destination of the invocation with LocalInvocationIndex `i` is `base + i *
    /// bytes`, with one `base` for all invocations of a subgroup that execute the store together:
    /// the only form that LDS DMA of gfx9 and gfx10 has.
    pub lane_linear: bool,
}

/// Finds the copies of a function and orders them.
///
/// Assumptions, each granted by the specification: the module has no data race (SPIR-V 2.18.1),
/// memory objects without the decoration Aliased do not overlap (SPIR-V 2.18.2), indices of
/// Workgroup arrays are in bounds, and all invocations of a workgroup execute its barriers in the
/// same order.
pub fn find(input: Input<'_, '_>) -> AsyncCopies {
    let mut scan = Scan::analyze(input);
    let mut found = AsyncCopies {
        refused: std::mem::take(&mut scan.refused),
        ..AsyncCopies::default()
    };
    if scan.candidates.is_empty() {
        return found;
    }
    let size = input.size;
    let model = model(input, &scan);
    let workgroup = Uniformity::analyze(&model, Level::Workgroup, size);
    let copies: Vec<Address> = scan
        .candidates
        .iter()
        .map(|copy| Address::analyze(&model, Some(copy.variable), Some(copy.pointer)))
        .collect();
    let accesses: Vec<Address> = scan
        .accesses
        .iter()
        .map(|access| Address::of_access(&model, access))
        .collect();
    let indices = indices(&scan, &copies, &accesses);
    let loops = Loops::analyze(&model.cfg, MOST_LOOPS);
    let split = Split::analyze(split::Input {
        model: &model,
        loops: &loops,
        uniformity: &workgroup,
        size,
        indices: &indices,
    });
    let fills = Fills::analyze(&model, &loops, size, &scan.candidates, &copies);
    let mut is_copy = vec![true; scan.candidates.len()];
    let flow = |is_copy: &[bool]| {
        Flow::analyze(flow::Input {
            scan: &scan,
            model: &model,
            size,
            split: &split,
            copies: &copies,
            accesses: &accesses,
            fills: &fills,
            is_copy,
        })
    };
    let mut ordered = flow(&is_copy);
    for round in 0..=MOST_ROUNDS {
        let at_once = ordered.waited_at_once();
        if at_once.is_empty() {
            break;
        }
        // What is still waited for at once in the end is waited for, but for what is left of an
        // earlier run of a loop that fills: nothing asks for that.
        let is_last = round == MOST_ROUNDS;
        for (copy, is_copy) in is_copy.iter_mut().enumerate() {
            let is_left_out = at_once.contains(&copy) || is_last && fills.contains(copy);
            *is_copy &= !is_left_out;
        }
        ordered = flow(&is_copy);
    }
    let subgroup = Uniformity::analyze(&model, Level::Subgroup, size);
    for ((candidate, address), is_copy) in scan.candidates.iter().zip(&copies).zip(&is_copy) {
        if !is_copy {
            found.refused.push(Refused {
                store: candidate.store,
                reason: Reason::WaitedAtOnce,
            });
            continue;
        }
        found.copies.push(AsyncCopy {
            load: candidate.load,
            store: candidate.store,
            zeros: candidate.zeros,
            bytes: candidate.bytes,
            uniform: workgroup.block(candidate.block).is_none(),
            lane_linear: lanes::is_linear(input, &model, &subgroup, address, candidate.element),
        });
    }
    found.refused.sort_by_key(|refused| refused.store);
    (found.marks, found.waits) = order::order(order::Input {
        function: input.function,
        scan: &scan,
        model: &model,
        loops: &loops,
        split: &split,
        flow: &ordered,
    });
    found.deferred = deferred::deferred(&ordered, &split.cfg);
    found
}

/// The values of all addresses, and what decides about the blocks that something happens in.
fn model(input: Input<'_, '_>, scan: &Scan) -> Model {
    let destinations = scan.destinations();
    let of_destination =
        |variable: Option<Id>| variable.is_some_and(|id| destinations.contains(&id));
    let accesses = scan.accesses.iter();
    let accesses = accesses.filter(|access| of_destination(access.variable));
    let pointers: BTreeSet<Id> = scan
        .candidates
        .iter()
        .map(|copy| copy.pointer)
        .chain(accesses.filter_map(|access| access.pointer))
        .collect();
    let places: Vec<BlockIndex> = scan
        .acts
        .iter()
        .filter_map(|(block, acts)| (!acts.is_empty()).then_some(block))
        .collect();
    let pointers: Vec<Id> = pointers.into_iter().collect();
    Model::with_values(
        input.declarations,
        input.constants,
        input.memory,
        input.function,
        input.size,
        input.cfg.clone(),
        SlicingCriterion {
            places: &places,
            values: &pointers,
        },
    )
}

/// The indices of all addresses that may meet a copy, each with the block of its use.
fn indices(
    scan: &Scan,
    copies: &[Address],
    accesses: &[Address],
) -> Vec<(BlockIndex, expression::Expression)> {
    let mut indices = Vec::new();
    for (block, acts) in scan.acts.iter() {
        for (_, act) in acts {
            let address = match act {
                scan::Act::Copy(copy) => copies.get(*copy),
                scan::Act::Access(access) => accesses.get(*access),
                scan::Act::Write
                | scan::Act::Arrive { .. }
                | scan::Act::Wait
                | scan::Act::Barrier { .. }
                | scan::Act::Fence => None,
            };
            let expressions = address.map_or(&[][..], |address| address.indices.as_slice());
            indices.extend(expressions.iter().map(|index| (block, index.clone())));
        }
    }
    indices
}
