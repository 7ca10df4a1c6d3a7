//! Executes one step of a warp.

mod agents;
mod collective;
mod copies;
mod labelled;
mod labels;
mod lanes;
mod matrix;
mod memory;
mod outstanding;
pub(super) mod special;
mod sync;
mod texel;
pub(super) mod warp;
pub(super) mod window;

use super::arith::{Function, Mode};
use super::operand::{Address, Source};
use super::program::{Kernel, Op};
use super::touched::Touched;
use crate::barrier::Name;
use crate::clock::Order;
use crate::context::{Context, Group};
use crate::finding::{CodeLocation, FindingKind};
use crate::lane::Lane;
use crate::memory::Space;
use crate::program::{Program, Step, WaveStart};
use crate::schedule::Completion;
use agents::{agent, each_agent, learn};
use lanes::{LANES, Lanes, each};
use warp::{Fragment, FragmentState, Warp, next};

impl Program for Kernel {
    type Wave = Warp;

    fn wave_size(&self) -> u32 {
        LANES
    }

    fn agents(&self) -> u32 {
        LANES
    }

    fn enter(&self, group: &mut Group) {
        // Counts the threads that have not ended; those that a last warp lacks count until the warp
        // ends.
        group
            .barriers
            .make(Name::Workgroup, LANES * u32::from(group.waves));
        group
            .barriers
            .make(Name::Cluster, LANES * u32::from(group.waves));
        for name in [Name::Workgroup, Name::Cluster] {
            if let Some(barrier) = group.barriers.get_mut(name) {
                barrier.set_whole(true);
            }
        }
    }

    fn start(&self, start: &WaveStart) -> Warp {
        let mut noise = fastrand::Rng::with_seed(start.noise);
        let live = if start.lanes >= LANES {
            u32::MAX
        } else {
            (1 << start.lanes) - 1
        };
        let mut registers: Vec<[u64; 32]> = Vec::with_capacity(self.registers as usize);
        registers.resize_with(self.registers as usize, || [noise.u64(..); 32]);
        let mut warp = Warp {
            registers,
            local: vec![0; self.local_bytes as usize * LANES as usize],
            live,
            absent: LANES - start.lanes.min(LANES),
            index: start.wave,
            fragments: vec![Fragment {
                pc: self.entry,
                lanes: live,
                frames: Vec::new(),
                joins: Vec::new(),
                state: FragmentState::Ready,
            }],
            running: 0,
            turns: 0,
            copies: outstanding::Copies::default(),
            cluster: None,
            touched: Touched::default(),
            labels: labelled::Labels::default(),
        };
        for (register, special) in &self.specials {
            warp.set_lanes(*register, u32::MAX, &special.lanes(start));
        }
        warp.touched.settle(None, &self.lists);
        warp
    }

    fn step(&self, warp: &mut Warp, context: &mut Context<'_>) -> Step {
        loop {
            self.wake(warp, context);
            let rng = std::cell::RefCell::new(&mut *context.rng);
            let chosen = warp.choose(|below| rng.borrow_mut().u32(..below.max(1)));
            match chosen {
                Some(index) => {
                    let pc = warp
                        .fragments
                        .get(index)
                        .map(|fragment| fragment.pc as usize);
                    let step = self.run(warp, context, index);
                    let coded = pc.and_then(|pc| self.code.get(pc));
                    warp.touched.settle(coded, &self.lists);
                    return step;
                }
                None if warp.fragments.is_empty() => return Step::Done,
                // Copies land in the end, also when nobody waits for them.
                None if warp.arrive_now(context) => {}
                None => return Step::Blocked,
            }
        }
    }

    fn complete_one(&self, warp: &mut Warp, context: &mut Context<'_>) {
        if context.completion == Completion::Random {
            warp.land_one_copy(context);
            crate::bulk::land_one(context);
        }
    }

    fn waiting(&self, warp: &Warp) -> Vec<(u32, Option<Name>)> {
        let name = |state: FragmentState| match state {
            FragmentState::Phase(name, _) => Some(name),
            FragmentState::Ready | FragmentState::Parked(_) | FragmentState::Meeting(_) => None,
        };
        warp.fragments
            .iter()
            .map(|f| (f.pc, name(f.state)))
            .collect()
    }

    fn place(&self, pc: u32) -> CodeLocation {
        self.place_of(pc)
    }
}

/// The values of `function` in the lanes of `active`, and 0 in the others.
#[inline]
fn computed(
    function: Function,
    mode: &Mode,
    [a, b, c, d]: [&[u64; 32]; 4],
    active: Lanes,
) -> [u64; 32] {
    let mut values = [0; 32];
    if active == u32::MAX {
        for ((((value, a), b), c), d) in values.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *value = function(mode, [*a, *b, *c, *d]);
        }
    } else {
        for lane in each(active) {
            let at = |of: &[u64; 32]| of[lane];
            if let Some(value) = values.get_mut(lane.index()) {
                *value = function(mode, [at(a), at(b), at(c), at(d)]);
            }
        }
    }
    values
}

impl Kernel {
    /// Fragments whose phase is complete go on.
    fn wake(&self, warp: &mut Warp, context: &mut Context<'_>) {
        let mut woken = false;
        for index in 0..warp.fragments.len() {
            let Some(fragment) = warp.fragments.get_mut(index) else {
                debug_assert!(false, "the warp has no fragment {index}");
                continue;
            };
            let FragmentState::Phase(name, phase) = fragment.state else {
                continue; // it waits for no phase
            };
            let done = context
                .group
                .barriers
                .get(name)
                .is_none_or(|barrier| barrier.passed(phase));
            if !done {
                continue;
            }
            fragment.state = FragmentState::Ready;
            woken = true;
            let coded = self.code.get(fragment.pc as usize);
            let op = coded.map(|coded| coded.op);
            let relaxed = matches!(op, Some(Op::Mbarrier { relaxed: true, .. }));
            let order = if relaxed {
                Order::Relaxed
            } else {
                Order::Acquire
            };
            let lanes = fragment.lanes;
            fragment.pc += 1;
            learn(warp, context, lanes, name, phase, order);
            if let Some(Op::Barrier {
                question: Some(question),
                ..
            }) = op
            {
                let barrier = context.group.barriers.get(name);
                let tally = barrier.map_or_else(Default::default, |b| b.tally(phase));
                let answer = sync::answer(question.answer, tally);
                warp.set_lanes(question.to, lanes, &[answer; 32]);
                warp.touched.settle(coded, &self.lists);
            }
        }
        if woken && warp.fragments.len() > 1 {
            warp.merge_equal();
        }
    }

    /// The address that an operand names in one lane.
    fn generic_address(&self, warp: &Warp, lane: Lane, address: Address) -> u64 {
        warp.value(self, address.base, lane)
            .wrapping_add_signed(address.offset)
    }

    fn run(&self, warp: &mut Warp, context: &mut Context<'_>, index: usize) -> Step {
        let Some(fragment) = warp.fragments.get(index) else {
            debug_assert!(false, "the warp has no fragment {index}");
            return Step::Blocked;
        };
        let (pc, lanes) = (fragment.pc, fragment.lanes);
        let Some(coded) = self.code.get(pc as usize) else {
            context.report(FindingKind::BadProgramCounter, pc, None, || {
                "control leaves the kernel".to_owned()
            });
            return self.stop(warp, context, lanes);
        };
        context.execute(pc);
        let active = match coded.guard {
            None => lanes,
            Some(guard) => warp.where_true(guard.register, guard.negated, lanes),
        };
        let count = active.count_ones();
        if context.uses.follows() {
            self.label(warp, coded, lanes, active, context);
        }
        // One arm for each operation, so that a new one does not compile until it has its own.
        match coded.op {
            Op::Branch { target, join } => {
                self.jump(warp, index, active, target, join);
                return Step::Ran(count);
            }
            _ if active == 0 => {
                next(warp, index);
                return Step::Ran(0);
            }
            Op::Compute {
                function,
                mode,
                to,
                from,
            } => {
                let sources = from.map(|source| warp.read(self, source));
                let values = computed(function, &mode, sources, active);
                warp.set_lanes(to, active, &values);
            }
            Op::CopyLocal { from, to, bytes } => self.copy_local(warp, active, from, to, bytes),
            Op::Load { .. } | Op::Store { .. } | Op::Atomic { .. } => {
                self.access(warp, context, pc, active, &coded.op);
            }
            Op::Texel { .. } => self.texel(warp, context, pc, active, &coded.op),
            Op::ActiveMask { to } => warp.set_lanes(to, active, &[active.into(); 32]),
            Op::Clock { to, shift } => {
                warp.set_lanes(to, active, &[context.time >> shift; 32]);
            }
            Op::Fence { order, scope } => each_agent(warp.index, active, context, |context| {
                context.fence(order, scope, pc)
            }),
            Op::CopyAsync {
                to,
                from,
                bytes,
                filled,
            } => {
                for lane in each(active) {
                    context.agent = agent(warp.index, lane);
                    let filled =
                        filled.map_or(bytes, |source| warp.value(self, source, lane) as u32);
                    let [to, from] = [to, from].map(|a| self.generic_address(warp, lane, a));
                    warp.begin_copy(context, pc, lane, to, from, bytes, filled);
                }
            }
            Op::CopyBulk {
                to,
                from,
                bytes,
                barrier,
            } => {
                for lane in each(active) {
                    context.agent = agent(warp.index, lane);
                    let bytes = warp.value(self, bytes, lane) & 0xffff_ffff;
                    let [to, from, barrier] =
                        [to, from, barrier].map(|a| self.generic_address(warp, lane, a));
                    crate::bulk::begin(context, pc, lane, to, from, bytes, barrier);
                }
            }
            Op::ProxyFence { only } => {
                if only != Some(Space::Global) {
                    context.group.shared.fence_all_proxies();
                }
                if only != Some(Space::Shared) {
                    context.global.fence_all_proxies();
                }
            }
            Op::CopyCommit => warp.commit_copies(active),
            Op::CopyWait { left } => warp.await_copies(context, active, left),
            Op::CopyArrive {
                address,
                space,
                counted,
            } => {
                for lane in each(active) {
                    let address = self.shared_address(warp, lane, space, address);
                    context.agent = agent(warp.index, lane);
                    warp.arrive_after_copies(context, pc, lane, address, counted);
                }
            }
            Op::Sleep => {
                next(warp, index);
                warp.turns = 0;
                return Step::Yielded(count);
            }
            Op::Unsupported => {
                context.report(FindingKind::UnsupportedInstruction, pc, None, || {
                    self.place_of(pc).text
                });
                return self.stop(warp, context, lanes);
            }
            Op::Trap => {
                context.report(FindingKind::Trap, pc, None, || {
                    format!("{count} lanes of the warp")
                });
                return self.stop(warp, context, lanes);
            }
            Op::BranchIndexed {
                index: way,
                targets,
                join,
            } => {
                return self.jump_indexed(warp, context, index, active, way, targets, join);
            }
            Op::MultiplyAdd { .. } | Op::LoadMatrix { .. } => {
                return self.matrix(warp, context, index, active, coded.op);
            }
            // What is left needs all lanes of the fragment: the others go on alone, and meet them
            // behind.
            Op::Call { .. }
            | Op::Return
            | Op::Exit
            | Op::Shuffle { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Reduce { .. }
            | Op::Elect { .. }
            | Op::WarpSync { .. }
            | Op::Barrier { .. }
            | Op::ClusterArrive { .. }
            | Op::ClusterWait
            | Op::Mbarrier { .. } => {
                if active != lanes {
                    warp.split(index, lanes & !active, pc + 1, pc + 1);
                }
                return self.together(warp, context, index, coded.op);
            }
        }
        next(warp, index);
        Step::Ran(count)
    }

    /// An operation that all lanes of fragment `index` execute together, perhaps with other
    /// fragments.
    fn together(&self, warp: &mut Warp, context: &mut Context<'_>, index: usize, op: Op) -> Step {
        let Some(fragment) = warp.fragments.get_mut(index) else {
            debug_assert!(false, "the warp has no fragment {index}");
            return Step::Blocked;
        };
        let (pc, lanes) = (fragment.pc, fragment.lanes);
        match op {
            Op::Call { target } => {
                fragment.frames.push(pc + 1);
                fragment.pc = target;
                Step::Ran(lanes.count_ones())
            }
            Op::Return => {
                if warp.leave_call(index) {
                    Step::Ran(lanes.count_ones())
                } else {
                    self.stop(warp, context, lanes)
                }
            }
            Op::Exit => self.stop(warp, context, lanes),
            Op::Barrier { .. }
            | Op::ClusterArrive { .. }
            | Op::ClusterWait
            | Op::Mbarrier { .. } => self.synchronise(warp, context, index, op),
            _ => self.collective(warp, context, index, op),
        }
    }

    fn jump(&self, warp: &mut Warp, index: usize, taken: Lanes, target: u32, join: u32) {
        let Some(fragment) = warp.fragments.get_mut(index) else {
            debug_assert!(false, "the warp has no fragment {index}");
            return;
        };
        if taken == fragment.lanes {
            fragment.pc = target;
        } else {
            fragment.pc += 1;
            if taken != 0 {
                warp.split(index, taken, target, join);
            }
        }
    }

    #[allow(clippy::too_many_arguments)] // the operands of one instruction
    fn jump_indexed(
        &self,
        warp: &mut Warp,
        context: &mut Context<'_>,
        index: usize,
        active: Lanes,
        way: Source,
        targets: super::operand::List,
        join: u32,
    ) -> Step {
        let count = active.count_ones();
        let Some(fragment) = warp.fragments.get(index) else {
            debug_assert!(false, "the warp has no fragment {index}");
            return Step::Blocked;
        };
        let (pc, lanes) = (fragment.pc, fragment.lanes);
        if active != lanes {
            warp.split(index, lanes & !active, pc + 1, join);
        }
        let mut left = active;
        while let Some(lane) = each(left).next() {
            let chosen = warp.value(self, way, lane) & 0xffff_ffff;
            let same = each(left).filter(|l| warp.value(self, way, *l) & 0xffff_ffff == chosen);
            let same = same.fold(0, |set, l| set | 1u32 << l);
            let entry = (chosen < targets.count.into())
                .then(|| self.lists.get(targets.start as usize + chosen as usize));
            let Some(Some(target)) = entry else {
                context.report(FindingKind::BadProgramCounter, pc, Some(lane), || {
                    format!("index {chosen} of a table of {} labels", targets.count)
                });
                return self.stop(warp, context, left);
            };
            let target = warp.value(self, *target, Lane::new(0)) as u32;
            left &= !same;
            if left == 0 {
                if let Some(fragment) = warp.fragments.get_mut(index) {
                    fragment.pc = target;
                }
            } else {
                warp.split(index, same, target, join);
            }
        }
        Step::Ran(count)
    }

    /// Lanes end, and leave the barriers that all threads take part in.
    fn stop(&self, warp: &mut Warp, context: &mut Context<'_>, lanes: Lanes) -> Step {
        let pc = warp.fragments.get(warp.running).map_or(0, |f| f.pc);
        warp.end_copies(context, lanes);
        warp.end(lanes);
        let mut leaving = lanes.count_ones();
        if warp.live == 0 {
            leaving += warp.absent;
        }
        context.group.barriers.end(leaving);
        left_open(context, pc);
        context.changed();
        if warp.fragments.is_empty() {
            Step::Done
        } else {
            Step::Ran(lanes.count_ones())
        }
    }
}

/// Where the last thread of a workgroup has ended, no numbered barrier may be left with some of its
/// arrivals: PTX gives no meaning to that (`barrier.cta`: arrivals are counted until the barrier
/// completes, and only then may it be used again).
fn left_open(context: &mut Context<'_>, pc: u32) {
    let threads = context.group.barriers.get(Name::Workgroup);
    if threads.is_some_and(|all| all.expected() > 0) {
        return;
    }
    let open = context.group.barriers.iter().find_map(|(name, barrier)| {
        let numbered = matches!(name, Name::Named(_));
        (numbered && barrier.arrived() > 0).then(|| {
            let (arrived, expected) = (barrier.arrived(), barrier.expected());
            format!("all threads have ended, and {name} has {arrived} of {expected} arrivals")
        })
    });
    if let Some(what) = open {
        context.report(FindingKind::BarrierMisuse, pc, None, || what);
    }
}
