//! `cp.async`: copies that land when they are waited for, and not before if the schedule is hostile
//! (PTX ISA, "Non-bulk copy").
//!
//! A lane's copies form groups, closed by `commit_group`; `wait_group N` waits for all groups but
//! the newest `N`.

use super::agents::agent;
use super::lanes::{Lanes, each};
use super::outstanding::{Arrival, Copy};
use super::warp::Warp;
use crate::barrier::Name;
use crate::clock::Order;
use crate::context::{Access, At, Context};
use crate::finding::FindingKind;
use crate::lane::Lane;
use crate::memory::{Pending, Space};
use crate::schedule::Completion;

impl Warp {
    /// Begins a copy of a lane.
    #[allow(clippy::too_many_arguments)] // the operands of one instruction
    pub fn begin_copy(
        &mut self,
        context: &mut Context<'_>,
        pc: u32,
        lane: Lane,
        shared: u64,
        global: u64,
        bytes: u32,
        filled: u32,
    ) {
        let at = At { pc, lane };
        for (address, what) in [(shared, "shared"), (global, "global")] {
            if !address.is_multiple_of(bytes.into()) {
                context.report(FindingKind::Misaligned, pc, Some(at.lane), || {
                    format!("a copy of {bytes} bytes: the {what} address is {address:#x}")
                });
                return;
            }
        }
        // What stands there until the copy lands is not known.
        let noise: Vec<u8> = (0..bytes).map(|_| context.rng.u8(..)).collect();
        if !context.write(Space::Shared, shared, &noise, at, Access::PLAIN) {
            return;
        }
        let group = self.copies.closed[lane];
        let mut copy = Copy {
            lane,
            group,
            shared,
            global,
            bytes,
            filled,
            pc,
            landed: false,
        };
        if context.completion == Completion::Early {
            land(context, self.index, &mut copy);
        }
        context.group.shared.mark(
            shared as usize,
            bytes as usize,
            Pending {
                wave: context.wave,
                pc,
            },
        );
        self.copies.all.push(copy);
    }

    /// Closes the groups of some lanes.
    pub fn commit_copies(&mut self, lanes: Lanes) {
        for lane in each(lanes) {
            if let Some(closed) = self.copies.closed.get_mut(lane.index()) {
                *closed += 1;
            }
        }
    }

    /// Waits until lanes have at most `left` groups outstanding; `None`: no copy at all.
    pub fn await_copies(&mut self, context: &mut Context<'_>, lanes: Lanes, left: Option<u32>) {
        let closed = self.copies.closed;
        self.finish_copies(context, |copy| {
            lanes >> copy.lane & 1 == 1
                && match left {
                    None => true,
                    // Groups closed, less those that may stay.
                    Some(left) => {
                        let closed = closed[copy.lane];
                        copy.group < closed.saturating_sub(left)
                    }
                }
        });
    }

    fn finish_copies(&mut self, context: &mut Context<'_>, wanted: impl Fn(&Copy) -> bool) {
        if self.copies.all.is_empty() {
            return;
        }
        let index = self.index;
        let mut left = Vec::new();
        for mut copy in std::mem::take(&mut self.copies.all) {
            if !wanted(&copy) {
                left.push(copy);
                continue;
            }
            let by = Pending {
                wave: context.wave,
                pc: copy.pc,
            };
            context
                .group
                .shared
                .unmark(copy.shared as usize, copy.bytes as usize, by);
            if !copy.landed {
                land(context, index, &mut copy);
            }
        }
        self.copies.all = left;
    }

    /// One copy lands before anybody waits for it.
    pub fn land_one_copy(&mut self, context: &mut Context<'_>) {
        let waiting = self.copies.all.iter().filter(|c| !c.landed).count();
        if waiting == 0 {
            return;
        }
        let chosen = context.rng.usize(..waiting);
        let index = self.index;
        if let Some(copy) = self.copies.all.iter_mut().filter(|c| !c.landed).nth(chosen) {
            let by = Pending {
                wave: context.wave,
                pc: copy.pc,
            };
            context
                .group
                .shared
                .unmark(copy.shared as usize, copy.bytes as usize, by);
            land(context, index, copy);
            context
                .group
                .shared
                .mark(copy.shared as usize, copy.bytes as usize, by);
        }
    }

    /// Asks for an arrival at an mbarrier when the lane's copies so far have landed.
    pub fn arrive_after_copies(
        &mut self,
        context: &mut Context<'_>,
        pc: u32,
        lane: Lane,
        address: u64,
        counted: bool,
    ) {
        if counted && let Some(barrier) = context.group.barriers.get_mut(Name::Shared(address)) {
            // The arrival is not among those that the phase expects.
            barrier.expect_in_phase(1);
        }
        self.copies.arrivals.push(Arrival {
            lane,
            address,
            pc,
            counted,
        });
        if context.completion == Completion::Early {
            self.arrive_now(context);
        }
    }

    /// Lets the arrivals come that wait for copies; `false` if there was none.
    pub fn arrive_now(&mut self, context: &mut Context<'_>) -> bool {
        let arrivals = std::mem::take(&mut self.copies.arrivals);
        for arrival in &arrivals {
            self.finish_copies(context, |copy| copy.lane == arrival.lane);
            context.agent = agent(self.index, arrival.lane);
            match context.arrive(Name::Shared(arrival.address), 1, Order::Release) {
                Some(Ok(_)) => {}
                Some(Err(more)) => {
                    let counted = arrival.counted;
                    context.report(
                        FindingKind::BarrierMisuse,
                        arrival.pc,
                        Some(arrival.lane),
                        || {
                            format!(
                                "the mbarrier at {:#x}: {more} (counted: {counted})",
                                arrival.address
                            )
                        },
                    );
                }
                None => context.report(
                    FindingKind::BarrierMisuse,
                    arrival.pc,
                    Some(arrival.lane),
                    || format!("no mbarrier was initialised at {:#x}", arrival.address),
                ),
            }
        }
        !arrivals.is_empty()
    }

    /// Lanes end: their copies land.
    pub fn end_copies(&mut self, context: &mut Context<'_>, lanes: Lanes) {
        self.arrive_now(context);
        self.finish_copies(context, |copy| lanes >> copy.lane & 1 == 1);
    }
}

fn land(context: &mut Context<'_>, warp: u16, copy: &mut Copy) {
    let before = context.agent;
    context.agent = agent(warp, copy.lane);
    let at = At {
        pc: copy.pc,
        lane: copy.lane,
    };
    let mut bytes = [0u8; 16];
    let (filled, all) = (copy.filled.min(copy.bytes) as usize, copy.bytes as usize);
    if let Some(part) = bytes.get_mut(..filled)
        && filled > 0
    {
        context.read(Space::Global, copy.global, part, at, Access::PLAIN);
    }
    if let Some(part) = bytes.get(..all) {
        context.write(Space::Shared, copy.shared, part, at, Access::PLAIN);
    }
    copy.landed = true;
    context.agent = before;
}
