//! Collective operations of the lanes of a warp: shuffles, votes, matches, reductions, and waits
//! for each other.

use super::agents::agent;
use super::lanes::{Lanes, each};
use super::warp::{FragmentState, Meeting, Warp};
use crate::context::Context;
use crate::finding::FindingKind;
use crate::lane::Lane;
use crate::program::Step;
use crate::ptx::operand::{Reduction, ShuffleKind, Source};
use crate::ptx::program::{Kernel, Op};

impl Kernel {
    pub(super) fn collective(
        &self,
        warp: &mut Warp,
        context: &mut Context<'_>,
        index: usize,
        op: Op,
    ) -> Step {
        let members = match op {
            Op::Shuffle { members, .. } | Op::Vote { members, .. } => members,
            Op::Match { members, .. }
            | Op::Reduce { members, .. }
            | Op::Elect { members, .. }
            | Op::WarpSync { members } => Some(members),
            _ => None,
        };
        let Some((pc, wanted)) = self.members(warp, context, index, members) else {
            return Step::Ran(0); // lanes with other members go their own way
        };
        let meeting = match op {
            Op::WarpSync { .. } => Meeting::Members(wanted),
            _ => Meeting::At(pc, wanted),
        };
        let Some(lanes) = warp.gather(index, meeting, wanted) else {
            return Step::Ran(0); // it waits for the others
        };
        match op {
            Op::Shuffle {
                kind,
                to,
                valid,
                from,
                ..
            } => self.shuffle(warp, lanes, kind, to, valid, from),
            Op::Vote {
                reduction,
                to,
                predicate,
                ..
            } => {
                let set = self.true_lanes(warp, predicate, lanes);
                let value = match reduction {
                    Reduction::Ballot => u64::from(set),
                    Reduction::All => u64::from(set == lanes),
                    Reduction::Any => u64::from(set != 0),
                    Reduction::Uniform => u64::from(set == 0 || set == lanes),
                };
                warp.set_lanes(to, lanes, &[value; 32]);
            }
            Op::Match {
                all,
                to,
                valid,
                from,
                ..
            } => {
                let values = *warp.read(self, from);
                let of = |lane: Lane| values[lane];
                for lane in each(lanes) {
                    let same = each(lanes)
                        .filter(|l| of(*l) == of(lane))
                        .fold(0, |set, l| set | 1u32 << l);
                    let agreed = same == lanes;
                    let result = if all && !agreed { 0 } else { same };
                    warp.set(to, lane, result.into());
                    if let Some(valid) = valid {
                        warp.set(valid, lane, agreed.into());
                    }
                }
            }
            Op::Reduce {
                function,
                mode,
                to,
                from,
                ..
            } => {
                let values = *warp.read(self, from);
                let all = each(lanes).map(|lane| values[lane]);
                // A fragment has lanes, so that there is a value.
                let value = all
                    .reduce(|a, b| function(&mode, [a, b, 0, 0]))
                    .unwrap_or(0);
                warp.set_lanes(to, lanes, &[value; 32]);
            }
            Op::Elect { to, elected, .. } => {
                // Which lane is elected is not said; it is the same each time.
                let leader = lanes.trailing_zeros();
                for lane in each(lanes) {
                    warp.set(elected, lane, u64::from(lane.number() == leader));
                }
                if let Some(to) = to {
                    warp.set_lanes(to, lanes, &[leader.into(); 32]);
                }
            }
            Op::WarpSync { .. } => synchronise(warp.index, context, lanes),
            _ => debug_assert!(false, "{op:?} is not collective"),
        }
        warp.advance(lanes, FragmentState::Ready);
        Step::Ran(lanes.count_ones())
    }

    /// The lanes that an instruction names. Lanes of the fragment that name others go on as a
    /// fragment of their own.
    fn members(
        &self,
        warp: &mut Warp,
        context: &mut Context<'_>,
        index: usize,
        members: Option<Source>,
    ) -> Option<(u32, Lanes)> {
        let fragment = warp.fragments.get(index)?;
        let (pc, lanes) = (fragment.pc, fragment.lanes);
        let Some(source) = members else {
            return Some((pc, lanes)); // those that are there
        };
        let of = |lane: Lane| warp.value(self, source, lane) as u32;
        let wanted = of(each(lanes).next()?);
        let others = each(lanes)
            .filter(|lane| of(*lane) != wanted)
            .fold(0, |set, lane| set | 1u32 << lane);
        if others != 0 {
            warp.split(index, others, pc, crate::ptx::decode::NOWHERE);
            return None;
        }
        if lanes & !wanted != 0 {
            context.report(
                FindingKind::BarrierMisuse,
                pc,
                Lane::first(lanes & !wanted),
                || format!("a lane that is not in its own mask of members {wanted:#010x}"),
            );
        }
        Some((pc, wanted | lanes))
    }

    pub(super) fn true_lanes(&self, warp: &Warp, predicate: Source, lanes: Lanes) -> Lanes {
        each(lanes)
            .filter(|lane| warp.value(self, predicate, *lane) != 0)
            .fold(0, |set, lane| set | 1u32 << lane)
    }

    /// PTX ISA, `shfl.sync`: bits 0 to 4 of `c` clamp, bits 8 to 12 cut the warp into segments.
    fn shuffle(
        &self,
        warp: &mut Warp,
        lanes: Lanes,
        kind: ShuffleKind,
        to: u32,
        valid: Option<u32>,
        from: [Source; 3],
    ) {
        let [values, b, c] = from.map(|source| *warp.read(self, source));
        for lane in each(lanes) {
            let at = |of: &[u64; 32], lane: Lane| of[lane];
            let own = lane.number();
            let (b, c) = (at(&b, lane) as u32 & 31, at(&c, lane) as u32);
            let (clamp, segment) = (c & 31, c >> 8 & 31);
            let most = (own & segment) | (clamp & !segment);
            let least = own & segment;
            let (source, inside) = match kind {
                ShuffleKind::Up => (own.wrapping_sub(b), own as i32 - b as i32 >= most as i32),
                ShuffleKind::Down => (own + b, own + b <= most),
                ShuffleKind::Butterfly => (own ^ b, own ^ b <= most),
                ShuffleKind::Index => {
                    let source = least | (b & !segment);
                    (source, source <= most)
                }
            };
            let source = if inside { Lane::new(source & 31) } else { lane };
            warp.set(to, lane, at(&values, source));
            if let Some(valid) = valid {
                warp.set(valid, lane, inside.into());
            }
        }
    }
}

/// Lanes that wait for each other know of each other what they did.
fn synchronise(warp: u16, context: &mut Context<'_>, lanes: Lanes) {
    let agents: Vec<u16> = each(lanes).map(|lane| agent(warp, lane)).collect();
    context.meet(&agents);
}
