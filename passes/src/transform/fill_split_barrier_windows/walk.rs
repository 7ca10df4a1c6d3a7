//! Chooses the instructions to move past arrives and waits.

use super::facts::{Fact, Facts};
use crate::analysis::cfg::Cfg;
use crate::analysis::live::{DefUse, Live};
use crate::analysis::phases::mutant::{Rule, is_out};
use crate::analysis::phases::{Body, Effect, Item, Own, Role, Side, Zones};
use crate::module::{BlockMap, Id, WordOffset};
use crate::transform::move_split_barriers::motion::Motion;
use crate::transform::move_split_barriers::travel::{HalfPosition, Limit, Way};
use std::collections::{BTreeMap, BTreeSet};

/// Instructions and words of sets that are looked at in one function; what could still move then
/// stays.
const MOST_WORK: usize = 1 << 26;

/// The windows of a function, on their way.
pub(super) struct Filling<'f> {
    motion: Motion<'f>,
    facts: &'f Facts,
    most_live: u64,
    moved: BTreeSet<WordOffset>,
    work: usize,
}

/// Where instructions are in the end.
pub(super) struct Filled {
    pub(super) body: Body,
    /// Those that have moved.
    pub(super) moved: BTreeSet<WordOffset>,
}

/// What stays between a half and an instruction that may move.
#[derive(Default)]
struct Staying {
    effect: Effect,
    own: Own,
    /// Results of what stays.
    made: BTreeSet<Id>,
    /// What it uses.
    used: BTreeSet<Id>,
}

impl Staying {
    fn add(&mut self, item: &Item, fact: Option<&Fact>) {
        self.effect = self.effect
            | if item.effect.ordering_barrier {
                Effect::UNKNOWN
            } else {
                item.effect
            };
        match fact {
            Some(fact) => {
                self.made.extend(fact.ids.result);
                self.used.extend(&fact.ids.uses);
                match &fact.own {
                    Some(own) => self.own.add(own),
                    None => self.own = Own::unknown(),
                }
            }
            None => self.own = Own::unknown(),
        }
    }
}

/// Results that are live at a half.
struct Pressure {
    live: BTreeSet<Id>,
    words: u64,
    most: u64,
}

impl Pressure {
    /// Takes the move over the half, unless too much would be live.
    fn takes(&mut self, facts: &Facts, fact: &Fact, way: Way) -> bool {
        let (mut come, mut gone) = (Vec::new(), Vec::new());
        let uses = fact.ids.uses.iter();
        match way {
            Way::Up => {
                gone.extend(fact.ids.result.filter(|id| self.live.contains(id)));
                come.extend(uses.filter(|id| !self.live.contains(id)));
            }
            Way::Down => {
                come.extend(fact.ids.result.as_ref());
                gone.extend(uses.filter(|id| facts.has_one_use(**id) && self.live.contains(id)));
            }
        }
        let sum = |ids: &[Id]| ids.iter().map(|id| facts.words(*id)).sum::<u64>();
        let words = self.words + sum(&come) - sum(&gone).min(self.words);
        let fits = words <= self.most || words <= self.words;
        if fits {
            self.words = words;
            gone.iter().for_each(|id| {
                self.live.remove(id);
            });
            self.live.extend(come);
        }
        fits
    }
}

impl<'f> Filling<'f> {
    pub(super) fn analyze(
        body: &Body,
        cfg: &'f Cfg,
        facts: &'f Facts,
        most_live: u32,
    ) -> Filling<'f> {
        Filling {
            motion: Motion::analyze(body, cfg, &|_| false),
            facts,
            most_live: u64::from(most_live),
            moved: BTreeSet::new(),
            work: 0,
        }
    }

    /// Moves until nothing moves any more.
    pub(super) fn run(mut self) -> Filled {
        while self.round() == Some(true) {}
        Filled {
            body: self.motion.body,
            moved: self.moved,
        }
    }

    /// Fills every window once; whether something has moved. `None`: the function is too large.
    fn round(&mut self) -> Option<bool> {
        let mut any = false;
        for number in 0..self.motion.body.barriers.len() {
            for side in [Side::Wait, Side::Arrive] {
                if self.motion.can_move(number) {
                    any |= self.fill(number, side)?;
                }
            }
        }
        Some(any)
    }

    /// Moves what it can over one half.
    fn fill(&mut self, number: usize, side: Side) -> Option<bool> {
        self.work += 8 * self.motion.body.len();
        if self.work > MOST_WORK {
            return None;
        }
        // Walking away from the window; what moves goes the other way.
        let way = match side {
            Side::Wait => Way::Down,
            Side::Arrive | Side::Both => Way::Up,
        };
        let half = self.motion.place(number, side)?;
        let zones: Zones = self.motion.zones();
        let limit = self.motion.limit(number, side, &zones)?;
        let mut pressure = self.pressure(half)?;
        let moving = self.gather(half, way, limit, &mut pressure);
        if moving.is_empty() {
            return Some(false);
        }
        self.shift(&moving, half, way);
        Some(true)
    }

    /// The results that are live at `half`.
    fn pressure(&mut self, half: HalfPosition) -> Option<Pressure> {
        let none = DefUse::default();
        let (body, facts) = (&self.motion.body, self.facts);
        let ids = |item: &Item| facts.at(item.offset).map_or(&none, |fact| &fact.ids);
        let blocks: BlockMap<Vec<&DefUse>> = body
            .blocks
            .values()
            .map(|block| block.iter().map(ids).collect())
            .collect();
        let live = Live::analyze(self.motion.terrain.cfg, &blocks, &facts.leaving)?;
        self.work += live.words();
        let mut live = live.at_end(half.block);
        for inst in blocks.get(half.block)?.iter().skip(half.index).rev() {
            inst.result.iter().for_each(|id| {
                live.remove(id);
            });
            live.extend(&inst.uses);
        }
        Some(Pressure {
            words: live.iter().map(|id| facts.words(*id)).sum(),
            live,
            most: self.most_live,
        })
    }

    /// The instructions that may go over `half`, nearest first.
    fn gather(
        &mut self,
        half: HalfPosition,
        way: Way,
        limit: Limit,
        pressure: &mut Pressure,
    ) -> Vec<WordOffset> {
        let body = &self.motion.body;
        let (mut staying, mut moving) = (Staying::default(), Vec::new());
        let mut block = half.block;
        let items = body.block(block);
        let mut rest: Vec<&Item> = match way {
            Way::Up => items.iter().take(half.index).rev().collect(),
            Way::Down => items.iter().skip(half.index + 1).collect(),
        };
        loop {
            for item in rest {
                self.work += 1;
                if matches!(item.role, Role::Half(..)) {
                    return moving;
                }
                let fact = self.facts.at(item.offset);
                let may = fact.filter(|fact| {
                    item.role == Role::Plain
                        && limit.lets(item)
                        && self.may(item, fact, way, &staying)
                });
                match may {
                    Some(fact) if pressure.takes(self.facts, fact, way) => moving.push(item.offset),
                    _ => staying.add(item, fact),
                }
            }
            let Some((next, between)) = self.motion.terrain.next(block, way) else {
                return moving;
            };
            for item in between.iter().flat_map(|block| body.block(*block)) {
                self.work += 1;
                if matches!(item.role, Role::Half(..)) {
                    return moving;
                }
                staying.add(item, self.facts.at(item.offset));
            }
            // What phis behind the block take from it is used at its end.
            if way == Way::Up {
                let leaving = between.iter().chain([&next]);
                let leaving = leaving.filter_map(|block| self.facts.leaving.get(*block));
                staying.used.extend(leaving.flatten());
            }
            block = next;
            rest = match way {
                Way::Up => body.block(block).iter().rev().collect(),
                Way::Down => body.block(block).iter().collect(),
            };
        }
    }

    /// Returns true if an instruction may pass what stays.
    fn may(&self, item: &Item, fact: &Fact, way: Way, staying: &Staying) -> bool {
        let Some(own) = &fact.own else {
            return false;
        };
        let is_own = own.conflicts(&staying.own) && !is_out(Rule::Own);
        let is_shared = item.effect.conflicts(staying.effect) && !is_out(Rule::Shared);
        let is_used = match way {
            Way::Up => fact
                .ids
                .result
                .is_some_and(|result| staying.used.contains(&result)),
            Way::Down => fact.ids.uses.iter().any(|id| staying.made.contains(id)),
        };
        // What stays where no walk comes by uses it.
        let is_pinned = fact.ids.result.is_some_and(|id| self.facts.is_pinned(id));
        let is_held = (is_used && !is_out(Rule::Values)) || (is_pinned && way == Way::Up);
        !(is_own || is_shared || is_held)
    }

    /// Takes the instructions out, and puts them on the other side of the half.
    fn shift(&mut self, moving: &[WordOffset], half: HalfPosition, way: Way) {
        let moves: BTreeMap<WordOffset, usize> = moving.iter().copied().zip(0..).collect();
        let blocks = &mut self.motion.body.blocks;
        let half = blocks
            .get(half.block)
            .and_then(|items| items.get(half.index));
        let Some(half) = half.copied() else {
            return;
        };
        let mut taken = Vec::new();
        for items in blocks.values_mut() {
            taken.extend(items.extract_if(.., |item| moves.contains_key(&item.offset)));
        }
        taken.sort_by_key(|item| moves.get(&item.offset).copied());
        if way == Way::Up {
            taken.reverse();
        }
        for items in blocks.values_mut() {
            let found = items.iter().position(|item| item.offset == half.offset);
            if let Some(index) = found {
                let at = match way {
                    Way::Up => index + 1,
                    Way::Down => index,
                };
                items.splice(at..at, taken);
                break;
            }
        }
        self.moved.extend(moving);
    }
}
