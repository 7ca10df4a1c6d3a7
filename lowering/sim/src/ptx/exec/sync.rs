//! Barriers of the workgroup and the cluster, and mbarriers.

use super::agents::{agent, learn};
use super::lanes::{LANES, Lanes, each};
use super::warp::{FragmentState, Meeting, Warp, next};
use crate::barrier::{Name, Tally};
use crate::clock::{Order, Scope};
use crate::context::{Access, At, Context};
use crate::finding::FindingKind;
use crate::memory::Space;
use crate::program::Step;
use crate::ptx::operand::{Answer, Source};
use crate::ptx::program::{Kernel, MbarrierKind, Op, Question};

/// Barriers that a workgroup has (PTX ISA, `barrier.cta`).
const BARRIERS: u32 = 16;
/// The most arrivals that an mbarrier takes (PTX ISA, "mbarrier object").
const MOST_ARRIVALS: u64 = (1 << 20) - 1;
/// Accesses to an mbarrier object: nothing but its own operations may touch it, and those never
/// race.
const OBJECT: Access = Access::atomic(Order::Relaxed, Scope::Workgroup);

impl Kernel {
    pub(super) fn synchronise(
        &self,
        warp: &mut Warp,
        context: &mut Context<'_>,
        index: usize,
        op: Op,
    ) -> Step {
        match op {
            Op::Barrier {
                waits,
                id,
                count,
                aligned,
                question,
            } => self.barrier(warp, context, index, waits, id, count, aligned, question),
            Op::ClusterArrive { releases } => cluster_arrive(warp, context, index, releases),
            Op::ClusterWait => cluster_wait(warp, context, index),
            Op::Mbarrier { .. } => self.mbarrier(warp, context, index, op),
            _ => Step::Blocked,
        }
    }

    #[allow(clippy::too_many_arguments)] // the operands of one instruction
    fn barrier(
        &self,
        warp: &mut Warp,
        context: &mut Context<'_>,
        index: usize,
        waits: bool,
        id: Source,
        count: Option<Source>,
        aligned: bool,
        question: Option<Question>,
    ) -> Step {
        let Some(fragment) = warp.fragments.get(index) else {
            debug_assert!(false, "the warp has no fragment {index}");
            return Step::Blocked;
        };
        let (pc, own) = (fragment.pc, fragment.lanes);
        let Some(first) = each(own).next() else {
            debug_assert!(false, "fragment {index} has no lane");
            return Step::Blocked;
        };
        let id = warp.value(self, id, first) as u32;
        let count = count.map(|source| warp.value(self, source, first) as u32);
        let misuse = |context: &mut Context<'_>, what: String| {
            context.report(FindingKind::BarrierMisuse, pc, None, || what);
        };
        // An aligned barrier is one instruction of the whole warp; all threads of the warp take
        // part in one without a count.
        let lanes = if aligned || count.is_none() {
            match all_together(warp, context, index, pc, id, aligned) {
                Some(lanes) => lanes,
                None => return Step::Ran(0),
            }
        } else {
            own
        };
        let roster = context
            .group
            .barriers
            .get(Name::Workgroup)
            .map_or(0, |b| b.expected());
        let expected = count.unwrap_or(roster);
        if id >= BARRIERS {
            misuse(context, format!("barrier {id}: there are {BARRIERS}"));
            return self.stop(warp, context, lanes);
        }
        if count.is_some_and(|n| n == 0 || n % LANES != 0) {
            misuse(
                context,
                format!(
                    "barrier {id} for {expected} threads, which is not a whole number of warps"
                ),
            );
        }
        let name = Name::Named(id);
        if let Err((arrived, before)) = expect(context, name, expected, count.is_none()) {
            misuse(
                context,
                format!(
                    "barrier {id} for {expected} threads, while {arrived} of {before} threads wait there"
                ),
            );
        }
        let weight = match count {
            // Ended lanes have left; lanes that never were count with their warp.
            None => lanes.count_ones() + warp.absent,
            Some(_) if aligned => LANES,
            Some(_) => lanes.count_ones() + if lanes & 1 == 1 { warp.absent } else { 0 },
        };
        let Some(phase) = arrive(warp, context, pc, lanes, name, weight, Order::Release) else {
            return self.stop(warp, context, lanes);
        };
        if let Some(question) = question
            && let Some(barrier) = context.group.barriers.get_mut(name)
        {
            let answers = Tally {
                yes: self
                    .true_lanes(warp, question.predicate, lanes)
                    .count_ones(),
                asked: lanes.count_ones(),
            };
            barrier.tell(phase, answers);
        }
        if waits {
            wait(warp, lanes, name, phase);
        } else {
            warp.advance(lanes, FragmentState::Ready);
        }
        Step::Ran(lanes.count_ones())
    }

    fn mbarrier(&self, warp: &mut Warp, context: &mut Context<'_>, index: usize, op: Op) -> Step {
        let Op::Mbarrier {
            kind,
            space,
            address,
            relaxed,
        } = op
        else {
            debug_assert!(false, "{op:?} is not of an mbarrier");
            return Step::Blocked;
        };
        let Some(fragment) = warp.fragments.get(index) else {
            debug_assert!(false, "the warp has no fragment {index}");
            return Step::Blocked;
        };
        let (pc, lanes) = (fragment.pc, fragment.lanes);
        let mut yields = false;
        for lane in each(lanes) {
            context.agent = agent(warp.index, lane);
            let address = self.shared_address(warp, lane, space, address);
            let one = Mbarrier {
                address,
                at: At { pc, lane },
            };
            if !address.is_multiple_of(8) {
                context.report(FindingKind::Misaligned, pc, Some(lane), || {
                    format!("an mbarrier at {address:#x} of shared memory")
                });
            }
            let is_known = context.group.barriers.get(one.name()).is_some();
            if !matches!(kind, MbarrierKind::Init(_)) && !is_known {
                one.misuse(context, "it was not initialised".to_owned());
                return self.stop(warp, context, lanes);
            }
            match kind {
                MbarrierKind::Init(count) => {
                    one.init(context, warp.value(self, count, lane) & 0xffff_ffff);
                }
                MbarrierKind::Invalidate => {
                    context.write(Space::Shared, address, &[0; 8], one.at, Access::PLAIN);
                    context.group.barriers.remove(one.name());
                    context.changed();
                }
                MbarrierKind::Arrive {
                    to,
                    count,
                    bytes,
                    drop,
                } => {
                    if let Some(bytes) = bytes {
                        let bytes = warp.value(self, bytes, lane) & 0xffff_ffff;
                        if let Some(barrier) = context.group.barriers.get_mut(one.name()) {
                            barrier.expect_bytes(bytes);
                        }
                    }
                    let count = count.map_or(1, |source| warp.value(self, source, lane) as u32);
                    let phase = one.arrive(context, count, relaxed, drop);
                    if let (Some(to), Some(phase)) = (to, phase) {
                        warp.set(to, lane, phase);
                    }
                }
                MbarrierKind::Test {
                    to, phase, parity, ..
                } => {
                    let asked = warp.value(self, phase, lane);
                    let done = one.test(context, asked, parity, relaxed);
                    warp.set(to, lane, done.into());
                    yields |= !done;
                }
            }
        }
        next(warp, index);
        // A thread that asks again and again lets the others go on, and the copies land that it may
        // be waiting for.
        if yields {
            warp.arrive_now(context);
            warp.turns = 0;
            Step::Yielded(lanes.count_ones())
        } else {
            Step::Ran(lanes.count_ones())
        }
    }
}

/// All lanes of the warp, for a barrier that they execute together; `None` while some are missing.
fn all_together(
    warp: &mut Warp,
    context: &mut Context<'_>,
    index: usize,
    pc: u32,
    id: u32,
    aligned: bool,
) -> Option<Lanes> {
    let meeting = if aligned {
        Meeting::At(pc, u32::MAX)
    } else {
        Meeting::Barrier(id)
    };
    let lanes = warp.gather(index, meeting, u32::MAX);
    if lanes.is_none() && aligned && elsewhere(warp, pc) {
        context.report(FindingKind::BarrierMisuse, pc, None, || {
            format!(
                "barrier {id} is aligned, so all threads of a warp must execute it together, but some threads of this warp wait elsewhere"
            )
        });
    }
    lanes
}

/// Sets how many threads a named barrier is for, if none waits there; `Err`: so many threads of so
/// many wait for another number.
fn expect(
    context: &mut Context<'_>,
    name: Name,
    expected: u32,
    whole: bool,
) -> Result<(), (u32, u32)> {
    let barrier = context.group.barriers.or_new(name, expected);
    if barrier.arrived() == 0 {
        barrier.expect(expected);
        barrier.set_whole(whole);
    } else if barrier.expected() != expected {
        return Err((barrier.arrived(), barrier.expected()));
    }
    Ok(())
}

/// An mbarrier object as one lane names it.
#[derive(Copy, Clone)]
struct Mbarrier {
    /// Its address in shared memory.
    address: u64,
    at: At,
}

impl Mbarrier {
    fn name(self) -> Name {
        Name::Shared(self.address)
    }

    fn misuse(self, context: &mut Context<'_>, what: String) {
        let At { pc, lane } = self.at;
        let address = self.address;
        context.report(FindingKind::BarrierMisuse, pc, Some(lane), || {
            format!("the mbarrier at {address:#x} of shared memory: {what}")
        });
    }

    /// `mbarrier.init`
    fn init(self, context: &mut Context<'_>, count: u64) {
        if count == 0 || count > MOST_ARRIVALS {
            let what = format!("{count} arrivals; 1 to {MOST_ARRIVALS} are possible");
            self.misuse(context, what);
        }
        if context.group.barriers.get(self.name()).is_some() {
            self.misuse(context, "it is initialised a second time".to_owned());
        }
        let bytes = count.to_le_bytes();
        context.write(Space::Shared, self.address, &bytes, self.at, Access::PLAIN);
        context.group.barriers.make(self.name(), count as u32);
        context.changed();
    }

    /// `mbarrier.arrive` and `arrive_drop`: the phase that it arrives in.
    fn arrive(
        self,
        context: &mut Context<'_>,
        count: u32,
        relaxed: bool,
        drop: bool,
    ) -> Option<u64> {
        // The arrival publishes, not the access.
        context.update(Space::Shared, self.address, 8, self.at, OBJECT, |_| None);
        let order = if relaxed {
            Order::Relaxed
        } else {
            Order::Release
        };
        match context.arrive(self.name(), count, order)? {
            Ok(phase) => {
                if drop && let Some(barrier) = context.group.barriers.get_mut(self.name()) {
                    barrier.leave_later(1);
                }
                Some(phase)
            }
            Err(more) => {
                self.misuse(context, more.to_string());
                None
            }
        }
    }

    /// `mbarrier.test_wait` and `try_wait`: asks for the phase `asked`, or for that of the parity
    /// `asked`. Returns true if it is complete.
    fn test(self, context: &mut Context<'_>, asked: u64, parity: bool, relaxed: bool) -> bool {
        let mut bytes = [0; 8];
        context.read(Space::Shared, self.address, &mut bytes, self.at, OBJECT);
        let barrier = context.group.barriers.get(self.name());
        let current = barrier.map_or(0, |b| b.phase());
        let done = if parity {
            current & 1 != asked & 1
        } else {
            current > asked
        };
        let order = if relaxed {
            Order::Relaxed
        } else {
            Order::Acquire
        };
        if done {
            context.pass(self.name(), current.saturating_sub(1), order);
        } else {
            crate::bulk::land(context, self.name());
        }
        done
    }
}

/// Returns true if lanes of the warp wait at another instruction than this one, where nothing of
/// the warp can bring them here.
fn elsewhere(warp: &Warp, pc: u32) -> bool {
    let stuck = |state: FragmentState| {
        matches!(state, FragmentState::Meeting(_) | FragmentState::Phase(..))
    };
    warp.fragments.iter().all(|f| stuck(f.state)) && warp.fragments.iter().any(|f| f.pc != pc)
}

/// What the question that lanes were asked at a barrier comes to.
pub(super) fn answer(answer: Answer, tally: Tally) -> u64 {
    match answer {
        Answer::All => (tally.yes == tally.asked).into(),
        Answer::Any => (tally.yes > 0).into(),
        Answer::Count => tally.yes.into(),
    }
}

/// All lanes bring what they know, and count as `weight` together.
fn arrive(
    warp: &Warp,
    context: &mut Context<'_>,
    pc: u32,
    lanes: Lanes,
    name: Name,
    weight: u32,
    order: Order,
) -> Option<u64> {
    let last = LANES - 1 - lanes.leading_zeros().min(LANES - 1);
    let mut phase = None;
    for lane in each(lanes) {
        context.agent = agent(warp.index, lane);
        let count = if lane.number() == last { weight } else { 0 };
        match context.arrive(name, count, order) {
            Some(Ok(arrived)) => phase = Some(arrived),
            Some(Err(more)) => {
                context.report(FindingKind::BarrierMisuse, pc, None, || {
                    format!("{name}: {more}")
                });
                return None;
            }
            None => return None,
        }
    }
    phase
}

/// The lanes wait, each fragment at its own instruction.
fn wait(warp: &mut Warp, lanes: Lanes, name: Name, phase: u64) {
    for fragment in &mut warp.fragments {
        if fragment.lanes & lanes != 0 {
            fragment.state = FragmentState::Phase(name, phase);
        }
    }
}

fn cluster_arrive(
    warp: &mut Warp,
    context: &mut Context<'_>,
    index: usize,
    releases: bool,
) -> Step {
    let Some(pc) = warp.fragments.get(index).map(|f| f.pc) else {
        debug_assert!(false, "the warp has no fragment {index}");
        return Step::Blocked;
    };
    let Some(lanes) = warp.gather(index, Meeting::At(pc, u32::MAX), u32::MAX) else {
        return Step::Ran(0); // it waits for the others
    };
    if warp.cluster.is_some() {
        context.report(FindingKind::BarrierMisuse, pc, None, || {
            "a second arrival at the cluster's barrier without a wait between".to_owned()
        });
    }
    let order = if releases {
        Order::Release
    } else {
        Order::Relaxed
    };
    let weight = lanes.count_ones() + warp.absent;
    warp.cluster = arrive(warp, context, pc, lanes, Name::Cluster, weight, order);
    warp.advance(lanes, FragmentState::Ready);
    Step::Ran(lanes.count_ones())
}

fn cluster_wait(warp: &mut Warp, context: &mut Context<'_>, index: usize) -> Step {
    let Some(pc) = warp.fragments.get(index).map(|f| f.pc) else {
        debug_assert!(false, "the warp has no fragment {index}");
        return Step::Blocked;
    };
    let Some(lanes) = warp.gather(index, Meeting::At(pc, u32::MAX), u32::MAX) else {
        return Step::Ran(0); // it waits for the others
    };
    match warp.cluster.take() {
        Some(phase) => {
            if context
                .group
                .barriers
                .get(Name::Cluster)
                .is_some_and(|b| b.passed(phase))
            {
                learn(warp, context, lanes, Name::Cluster, phase, Order::Acquire);
                warp.advance(lanes, FragmentState::Ready);
            } else {
                wait(warp, lanes, Name::Cluster, phase);
            }
        }
        None => {
            context.report(FindingKind::BarrierMisuse, pc, None, || {
                "a wait for the cluster's barrier without an arrival".to_owned()
            });
            warp.advance(lanes, FragmentState::Ready);
        }
    }
    Step::Ran(lanes.count_ones())
}
