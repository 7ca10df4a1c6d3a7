//! `cp.async.bulk`: one thread has a piece of global memory copied to shared memory, and an
//! mbarrier counts the bytes (PTX ISA, "cp.async.bulk", "Async proxy").
//!
//! A copy lands when somebody asks its mbarrier and the answer is no, or before if the schedule
//! will have it. It belongs to the workgroup: who asked for it may be done.

use crate::barrier::Name;
use crate::bulk_copy::BulkCopy;
use crate::clock::Order;
use crate::context::{Access, At, Context};
use crate::finding::FindingKind;
use crate::lane::Lane;
use crate::memory::{Pending, Space};
use crate::schedule::Completion;

/// Alignment of both addresses and of the size.
const UNIT: u64 = 16;

/// Begins the copy of `bytes` bytes that a lane asks for; the mbarrier at `barrier` counts them.
#[allow(clippy::too_many_arguments)] // the operands of one instruction
pub(crate) fn begin(
    context: &mut Context<'_>,
    pc: u32,
    lane: Lane,
    shared: u64,
    global: u64,
    bytes: u64,
    barrier: u64,
) {
    let at = At { pc, lane };
    for (value, what) in [
        (shared, "shared address"),
        (global, "global address"),
        (bytes, "size"),
    ] {
        if !value.is_multiple_of(UNIT) {
            context.report(FindingKind::Misaligned, pc, Some(at.lane), || {
                format!("a bulk copy: the {what} is {value:#x}, which is not a multiple of {UNIT}")
            });
            return;
        }
    }
    let name = Name::Shared(barrier);
    if context.group.barriers.get(name).is_none() {
        context.report(FindingKind::BarrierMisuse, pc, Some(at.lane), || {
            format!("no mbarrier was initialised at {barrier:#x}")
        });
        return;
    }
    let (start, length) = (shared as usize, bytes as usize);
    if length > context.group.shared.len() {
        context.report(FindingKind::OutOfBounds, pc, Some(at.lane), || {
            format!("a bulk copy of {length} bytes")
        });
        return;
    }
    for (space, place, size) in [
        (Space::Shared, shared, length),
        (Space::Shared, barrier, 8),
        (Space::Global, global, length),
    ] {
        let is_unfenced = match space {
            Space::Shared => context.group.shared.is_unfenced(place as usize, size),
            Space::Global => context.global.is_unfenced(place, size),
        };
        if is_unfenced {
            context.report(FindingKind::MissingProxyFence, pc, Some(at.lane), || {
                format!("{size} bytes of {} at {place:#x}", space.name())
            });
        }
    }
    let mut content = vec![0; length];
    if !context.read(Space::Global, global, &mut content, at, Access::PLAIN) {
        return;
    }
    // What stands there until the copy lands is not known.
    let noise: Vec<u8> = (0..length).map(|_| context.rng.u8(..)).collect();
    if !context.write(Space::Shared, shared, &noise, at, Access::PLAIN) {
        return;
    }
    context.group.shared.fence_proxies(start, length);
    // Who sees the phase complete sees the copy: it is published with the phase, though it is no
    // arrival.
    context.arrive(name, 0, Order::Release);
    let by = Pending {
        wave: context.wave,
        pc,
    };
    context.group.shared.mark(start, length, by);
    context.group.bulk.push(BulkCopy {
        shared,
        bytes: content,
        barrier: name,
        by,
    });
    if context.completion == Completion::Early {
        land(context, name);
    }
}

/// All copies land that the mbarrier counts.
pub(crate) fn land(context: &mut Context<'_>, barrier: Name) {
    let mut left = Vec::new();
    for copy in std::mem::take(&mut context.group.bulk) {
        if copy.barrier != barrier {
            left.push(copy);
            continue;
        }
        let (shared, length) = (copy.shared as usize, copy.bytes.len());
        context.group.shared.unmark(shared, length, copy.by);
        // The write was checked when the copy began.
        if let Some(view) = context.group.shared.view(copy.shared, length) {
            view.bytes.copy_from_slice(&copy.bytes);
        }
        if let Some(barrier) = context.group.barriers.get_mut(barrier) {
            barrier.complete_bytes(length as u64);
        }
        context.changed();
    }
    context.group.bulk = left;
}

/// One mbarrier's copies land before anybody waits for them.
pub(crate) fn land_one(context: &mut Context<'_>) {
    let count = context.group.bulk.len();
    if count > 0 {
        let chosen = context.rng.usize(..count);
        if let Some(copy) = context.group.bulk.get(chosen) {
            land(context, copy.barrier);
        }
    }
}
