//! Group copies that one invocation issues (sm_90+): `cp.async.bulk`, whose bytes an mbarrier
//! counts.
//!
//! A large contiguous copy is one instruction of one thread instead of one for each 16 bytes. It
//! completes on an mbarrier: the thread arrives with the number of bytes to expect, the copy unit
//! takes off what it has written, and the phase completes at zero (PTX ISA, "cp.async.bulk",
//! "Tracking asynchronous operations by the mbarrier object").
//!
//! Copies take the mbarriers of a ring in turn, copy `c` the one with number `c mod slots`, in its
//! phase `c / slots`. All invocations count the copies that were begun and those that they have
//! waited for; a wait polls one phase after the other until few enough are left. An mbarrier is
//! used again only when its last phase was seen by all: the ring is as long as the most copies that
//! are ever outstanding, so an OpGroupWaitEvents, which ends with the workgroup's barrier, stands
//! between.
//!
//! Taken are copies to workgroup memory of elements that are known to be aligned to 16 bytes, of
//! which there are a constant number without gaps, if they are large enough to be worth a trip to
//! another unit. Both sides of a copy are aligned to its elements (OpenCL C, "Alignment of types").

use crate::async_copies::{CopyPlan, Engine};
use crate::strategy::mbarrier;
use crate::target::Target;
use splitbar_passes::analysis::async_copy::Zeros;
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::analysis::group_copies::{Direction, GroupCopies, GroupCopy};
use splitbar_passes::analysis::marks::{self, Event, Tick, Wait};
use splitbar_passes::module::{BlockMap, Scope, WordOffset};
use std::collections::BTreeMap;

/// Alignment of both addresses and of the size (PTX ISA, "cp.async.bulk").
const UNIT: u32 = 16;

/// Bytes from which on a copy is large: two `cp.async` of 16 bytes by every lane of a warp.
const LARGE: u32 = 1024;

/// Bytes that the transaction count of an mbarrier holds (PTX ISA, "Contents of the mbarrier
/// object").
const MOST_BYTES: u32 = (1 << 20) - 1;

/// mbarriers that copies may take.
const MOST_SLOTS: u32 = 8;

/// What bulk copies there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct BulkCopies {
    /// By word offset of the OpGroupAsyncCopy.
    pub copies: BTreeMap<WordOffset, CopyPlan>,
    /// By word offset of the OpGroupWaitEvents: the number of newest copies that may be outstanding
    /// after it.
    pub waits: BTreeMap<WordOffset, u8>,
    /// mbarriers of the ring, a power of two; `None`: no bulk copy.
    pub slots: Option<u32>,
}

/// Which copies of a function with graph `cfg` are bulk copies on `target`, with so many bytes of
/// workgroup memory left for their mbarriers.
pub(crate) fn plan(
    cfg: &Cfg,
    group: &GroupCopies,
    target: &Target,
    free_shared_bytes: u32,
) -> BulkCopies {
    let mut found = BulkCopies::default();
    if !target.nvptx().is_some_and(|gpu| gpu.bulk_copy) {
        return found;
    }
    let copies = group.copies.iter();
    found.copies = copies
        .filter_map(|copy| Some((copy.offset, bulk(copy)?)))
        .collect();
    if found.copies.is_empty() {
        return found;
    }
    let counted = group.counted(cfg, |copy| found.copies.contains_key(&copy.offset));
    let mut ticks = BlockMap::filled(cfg.len(), Vec::new());
    for (block, events) in counted.events.iter() {
        for (index, (offset, event)) in events.iter().enumerate() {
            let tick = match event {
                Event::Copy(_) => continue,
                Event::Mark => Tick::Mark,
                Event::Need(_) | Event::NeedAll => match counted.marks.waits.get(&(block, index)) {
                    Some(Wait::AtMost(outstanding)) => {
                        found.waits.insert(*offset, *outstanding);
                        Tick::Wait(*outstanding)
                    }
                    // Every copy has its mark.
                    Some(Wait::Unmarked) => {
                        found.waits.insert(*offset, 0);
                        Tick::Wait(0)
                    }
                    Some(Wait::Nothing) | None => continue,
                },
            };
            if let Some(ticks) = ticks.get_mut(block) {
                ticks.push(tick);
            }
        }
    }
    let most = u32::from(marks::most_outstanding(cfg, &ticks));
    let slots = most.max(1).next_power_of_two();
    if slots > MOST_SLOTS || slots * mbarrier::BYTES > free_shared_bytes {
        return BulkCopies::default();
    }
    found.slots = Some(slots);
    found
}

/// The plan of `copy`, if it can be a bulk copy.
fn bulk(copy: &GroupCopy) -> Option<CopyPlan> {
    let (element_bytes, elements) = (copy.element_bytes?, copy.elements?);
    let bytes = elements.checked_mul(element_bytes)?;
    let fits = copy.scope == Some(Scope::Workgroup)
        && copy.direction == Some(Direction::ToWorkgroup)
        && copy.contiguous
        && element_bytes.is_multiple_of(UNIT)
        && (LARGE..=MOST_BYTES).contains(&bytes);
    fits.then_some(CopyPlan {
        engine: Engine::Bulk,
        direction: Direction::ToWorkgroup,
        unit: bytes,
        element_bytes,
        load: None,
        zeros: Zeros::default(),
        rounds: Some(1),
        staged: None,
    })
}
