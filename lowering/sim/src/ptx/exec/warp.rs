//! A warp: its registers, and which of its lanes are where.
//!
//! From sm_70 on each lane has a program counter of its own, and no lane may keep another from
//! going on for ever (PTX ISA, "Independent Thread Scheduling"); lanes that took different ways are
//! only known to meet again at instructions that say so (`bar.warp.sync`, shuffles and votes with
//! `.sync`, barriers). ptxas makes them meet at the immediate post-dominator of the branch all the
//! same, and kernels count on it (`activemask`). So lanes that are at one place form a fragment;
//! fragments take turns; one that reaches the post-dominator waits for its siblings there, but not
//! for ever.

use super::lanes::Lanes;
use crate::barrier::{Name, Phase};
use crate::lane::Lane;
use crate::ptx::decode::NOWHERE;
use crate::ptx::operand::Source;
use crate::ptx::program::Kernel;
use crate::ptx::touched::Touched;

/// Steps of the warp for which a fragment waits at a post-dominator: more than its siblings take
/// for work without optimisation, fewer than a launch may have.
const PATIENCE: u32 = 1 << 16;

/// A place where lanes that took different ways meet again.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// The instruction.
    pub pc: u32,
    /// The depth of calls.
    pub depth: usize,
    /// The lanes that are to meet.
    pub lanes: Lanes,
}

/// With whom a fragment waits.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// Those who execute the same instruction with the same members.
    At(u32, Lanes),
    /// Those who synchronise the same members, wherever they are.
    Members(Lanes),
    /// Those who arrive at the same barrier of the workgroup, wherever they are.
    Barrier(u32),
}

/// Why a fragment does not go on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FragmentState {
    /// It does.
    Ready,
    /// It waits at a post-dominator, for so many steps more.
    Parked(u32),
    /// It waits for other lanes of the warp.
    Meeting(Meeting),
    /// It waits for a phase of a barrier object.
    Phase(Name, Phase),
}

/// Lanes at one place.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// The next instruction.
    pub pc: u32,
    /// The lanes.
    pub lanes: Lanes,
    /// The return addresses of the calls.
    pub frames: Vec<u32>,
    /// The reconvergence points, the innermost last.
    pub joins: Vec<Join>,
    /// Its state: running or waiting.
    pub state: FragmentState,
}

/// A warp.
#[derive(Clone, Debug)]
pub struct Warp {
    /// A value per lane for each register.
    pub registers: Vec<[u64; 32]>,
    /// Local memory, lane after lane.
    pub local: Vec<u8>,
    /// Lanes that exist and have not ended.
    pub live: Lanes,
    /// The number of lanes of the warp that the workgroup does not use.
    pub absent: u32,
    /// Index of the warp in the workgroup.
    pub index: u16,
    /// The fragments. No lane is in two.
    pub fragments: Vec<Fragment>,
    /// The fragment that goes on, and for how many steps.
    pub running: usize,
    /// Steps until another fragment gets its turn.
    pub turns: u32,
    /// Asynchronous copies.
    pub copies: super::outstanding::Copies,
    /// The phase of the cluster's barrier at which the warp arrived.
    pub cluster: Option<Phase>,
    /// The registers that the instruction has touched so far.
    pub touched: Touched,
    /// What its registers and local memory depend on.
    pub(super) labels: super::labelled::Labels,
}

const ZERO: [u64; 32] = [0; 32];

impl Warp {
    /// The values of an operand.
    pub fn read<'w>(&'w self, kernel: &'w Kernel, source: Source) -> &'w [u64; 32] {
        match source {
            Source::Register(register) => {
                self.touched.note(register, false);
                self.registers.get(register as usize)
            }
            Source::Constant(index) => kernel.constants.get(index as usize),
        }
        .unwrap_or(&ZERO)
    }

    /// The value of an operand in one lane.
    pub fn value(&self, kernel: &Kernel, source: Source, lane: Lane) -> u64 {
        self.read(kernel, source)[lane]
    }

    /// Sets a register in one lane.
    pub fn set(&mut self, register: u32, lane: Lane, value: u64) {
        self.touched.note(register, true);
        if let Some(slot) = self
            .registers
            .get_mut(register as usize)
            .and_then(|r| r.get_mut(lane.index()))
        {
            *slot = value;
        }
    }

    /// Sets a register in some lanes.
    pub fn set_lanes(&mut self, register: u32, lanes: Lanes, values: &[u64; 32]) {
        self.touched.note(register, true);
        let Some(slots) = self.registers.get_mut(register as usize) else {
            debug_assert!(false, "the kernel has no register {register}");
            return;
        };
        if lanes == u32::MAX {
            *slots = *values;
        } else {
            for (lane, (slot, value)) in slots.iter_mut().zip(values).enumerate() {
                if lanes >> lane & 1 == 1 {
                    *slot = *value;
                }
            }
        }
    }

    /// The lanes of a set where a predicate is as a guard wants it.
    pub fn where_true(&self, register: u32, negated: bool, lanes: Lanes) -> Lanes {
        self.touched.note(register, false);
        let Some(values) = self.registers.get(register as usize) else {
            debug_assert!(false, "the kernel has no register {register}");
            return 0;
        };
        let mut set = 0;
        for (lane, value) in values.iter().enumerate() {
            set |= u32::from(*value != 0) << lane;
        }
        lanes & if negated { !set } else { set }
    }

    /// The fragment that goes on next; `None` if none can. Fragments that wait for phases are asked
    /// first with `passes`.
    pub fn choose(&mut self, chance: impl Fn(u32) -> u32) -> Option<usize> {
        if let [only] = self.fragments.as_slice()
            && only.state == FragmentState::Ready
            && only.joins.is_empty()
        {
            return Some(0);
        }
        self.meet();
        self.turns = self.turns.saturating_sub(1);
        if self.turns > 0
            && self
                .fragments
                .get(self.running)
                .is_some_and(|f| f.state == FragmentState::Ready)
        {
            return Some(self.running);
        }
        let ready = self
            .fragments
            .iter()
            .filter(|f| f.state == FragmentState::Ready)
            .count() as u32;
        if ready == 0 {
            // Nobody else comes: those who wait at a post-dominator go on alone.
            let parked = self
                .fragments
                .iter()
                .position(|f| matches!(f.state, FragmentState::Parked(_)))?;
            self.part(parked);
            self.running = parked;
        } else {
            let chosen = chance(ready) as usize;
            let mut places = self
                .fragments
                .iter()
                .enumerate()
                .filter(|(_, f)| f.state == FragmentState::Ready)
                .map(|(i, _)| i);
            self.running = places.nth(chosen)?;
        }
        self.turns = 1 + chance(96);
        Some(self.running)
    }

    /// Lets fragments that have reached their post-dominator wait there, and go on together when
    /// all are there.
    fn meet(&mut self) {
        let mut index = 0;
        while let Some(fragment) = self.fragments.get(index) {
            let waits = matches!(
                fragment.state,
                FragmentState::Ready | FragmentState::Parked(_)
            );
            let here = fragment
                .joins
                .last()
                .filter(|j| waits && j.pc == fragment.pc && j.depth == fragment.frames.len());
            let Some(join) = here.copied() else {
                index += 1;
                continue;
            };
            let wanted = join.lanes & self.live;
            let mut there = 0;
            for other in &self.fragments {
                if at_join(other, &join) {
                    there |= other.lanes;
                }
            }
            if there & wanted == wanted {
                self.unite(index, &join);
                // The next join may be here too.
                index = 0;
                continue;
            }
            let mut parts = false;
            if let Some(fragment) = self.fragments.get_mut(index) {
                match &mut fragment.state {
                    FragmentState::Parked(0) => parts = true,
                    FragmentState::Parked(left) => *left -= 1,
                    state => *state = FragmentState::Parked(PATIENCE),
                }
            }
            if parts {
                self.part(index);
            }
            index += 1;
        }
    }

    /// All fragments at a join become one.
    fn unite(&mut self, index: usize, join: &Join) {
        let mut lanes = 0;
        let mut place = 0;
        self.fragments = std::mem::take(&mut self.fragments)
            .into_iter()
            .enumerate()
            .filter_map(|(at, mut fragment)| {
                if at == index {
                    fragment.joins.pop();
                    fragment.state = FragmentState::Ready;
                    lanes |= fragment.lanes;
                    return Some((at, fragment));
                }
                if at_join(&fragment, join) {
                    lanes |= fragment.lanes;
                    return None;
                }
                Some((at, fragment))
            })
            .enumerate()
            .map(|(now, (before, fragment))| {
                if before == index {
                    place = now;
                }
                fragment
            })
            .collect();
        if let Some(fragment) = self.fragments.get_mut(place) {
            fragment.lanes = lanes;
        }
        self.running = place;
    }

    /// A fragment gives up its innermost join: the others do not wait for it there.
    fn part(&mut self, index: usize) {
        let Some(fragment) = self.fragments.get_mut(index) else {
            debug_assert!(false, "the warp has no fragment {index}");
            return;
        };
        fragment.state = FragmentState::Ready;
        let (lanes, join) = (fragment.lanes, fragment.joins.pop());
        if let Some(join) = join {
            self.forget(&join, lanes);
        }
    }

    fn forget(&mut self, join: &Join, lanes: Lanes) {
        for other in &mut self.fragments {
            for j in other
                .joins
                .iter_mut()
                .filter(|j| j.pc == join.pc && j.depth == join.depth)
            {
                if other.lanes & lanes == 0 {
                    j.lanes &= !lanes;
                }
            }
        }
    }

    /// Lanes of a fragment go another way, to `pc`; all are to meet at `join`.
    pub fn split(&mut self, index: usize, lanes: Lanes, pc: u32, join: u32) {
        let Some(fragment) = self.fragments.get_mut(index) else {
            debug_assert!(false, "the warp has no fragment {index}");
            return;
        };
        if join != NOWHERE {
            let join = Join {
                pc: join,
                depth: fragment.frames.len(),
                lanes: fragment.lanes,
            };
            // A loop that lanes leave one after the other meets at one place: one join is enough
            // while the lanes are the same.
            if fragment.joins.last() != Some(&join) {
                fragment.joins.push(join);
            }
        }
        let mut other = fragment.clone();
        fragment.lanes &= !lanes;
        other.lanes = lanes;
        other.pc = pc;
        self.fragments.push(other);
        self.turns = 0;
    }

    /// A fragment returns from a call; `false` if it was in the kernel itself.
    pub fn leave_call(&mut self, index: usize) -> bool {
        let Some(fragment) = self.fragments.get_mut(index) else {
            debug_assert!(false, "the warp has no fragment {index}");
            return false;
        };
        let Some(pc) = fragment.frames.pop() else {
            return false; // in the kernel itself
        };
        fragment.pc = pc;
        let lanes = fragment.lanes;
        let depth = fragment.frames.len();
        let mut left = Vec::new();
        while let Some(join) = fragment.joins.pop_if(|j| j.depth > depth) {
            left.push(join);
        }
        for join in left {
            self.forget(&join, lanes);
        }
        self.merge_equal();
        true
    }

    /// Fragments that do not differ in anything but their lanes become one.
    pub fn merge_equal(&mut self) {
        let mut index = 0;
        while index < self.fragments.len() {
            let same = |a: &Fragment, b: &Fragment| {
                a.state == FragmentState::Ready
                    && b.state == FragmentState::Ready
                    && a.pc == b.pc
                    && a.frames == b.frames
                    && a.joins == b.joins
            };
            let twin = match self.fragments.get(index) {
                Some(one) => (index + 1..self.fragments.len()).find(|at| {
                    self.fragments
                        .get(*at)
                        .is_some_and(|other| same(one, other))
                }),
                None => None,
            };
            match twin {
                Some(twin) => {
                    let lanes = self.fragments.remove(twin).lanes;
                    if let Some(one) = self.fragments.get_mut(index) {
                        one.lanes |= lanes;
                    }
                    self.turns = 0;
                }
                None => index += 1,
            }
        }
    }

    /// The lanes that meet with fragment `index`, if all that are `wanted` are there; else the
    /// fragment waits.
    pub fn gather(&mut self, index: usize, meeting: Meeting, wanted: Lanes) -> Option<Lanes> {
        let mut there = self.fragments.get(index)?.lanes;
        for other in self
            .fragments
            .iter()
            .filter(|f| f.state == FragmentState::Meeting(meeting))
        {
            there |= other.lanes;
        }
        if there & wanted & self.live == wanted & self.live {
            return Some(there);
        }
        if let Some(fragment) = self.fragments.get_mut(index) {
            fragment.state = FragmentState::Meeting(meeting);
        }
        None
    }

    /// Those of `lanes` that waited go on after their instruction, in `state`.
    pub fn advance(&mut self, lanes: Lanes, state: FragmentState) {
        for fragment in &mut self.fragments {
            if fragment.lanes & lanes != 0
                && matches!(
                    fragment.state,
                    FragmentState::Ready | FragmentState::Meeting(_)
                )
            {
                fragment.pc += 1;
                fragment.state = state;
            }
        }
        if self.fragments.len() > 1 {
            self.merge_equal();
        }
    }

    /// Lanes end.
    pub fn end(&mut self, lanes: Lanes) {
        self.live &= !lanes;
        for fragment in &mut self.fragments {
            fragment.lanes &= !lanes;
            // Who waits for other lanes looks again: one less may be enough.
            if matches!(fragment.state, FragmentState::Meeting(_)) {
                fragment.state = FragmentState::Ready;
            }
        }
        self.fragments.retain(|f| f.lanes != 0);
        self.turns = 0;
    }
}

fn at_join(fragment: &Fragment, join: &Join) -> bool {
    matches!(
        fragment.state,
        FragmentState::Ready | FragmentState::Parked(_)
    ) && fragment.pc == join.pc
        && fragment.frames.len() == join.depth
        && fragment.joins.last().is_some_and(|j| j == join)
}

/// Fragment `index` goes on after its instruction.
pub(super) fn next(warp: &mut Warp, index: usize) {
    if let Some(fragment) = warp.fragments.get_mut(index) {
        fragment.pc += 1;
    }
}
