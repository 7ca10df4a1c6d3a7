//! The order in which pairs move.

use super::travel::{HalfPosition, Limit, Terrain, Travel, Way};
use crate::analysis::cfg::Cfg;
use crate::analysis::phases::{Body, Role, Side, Zones};
use crate::module::{BlockIndex, WordOffset};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Instructions that are looked at in one function; what could still move then stays.
const MOST_WORK: usize = 1 << 26;

/// The motion of a function's pairs.
pub(in crate::transform) struct Motion<'c> {
    pub(in crate::transform) body: Body,
    pub(in crate::transform) terrain: Terrain<'c>,
    /// Whether the whole workgroup executes a block, or nobody.
    pub(super) is_uniform: &'c dyn Fn(BlockIndex) -> bool,
    /// Places of halves that were added, with that of the half that each is a copy of.
    pub(super) added: BTreeMap<WordOffset, WordOffset>,
    pub(super) work: usize,
}

/// Where the halves are in the end.
pub(super) struct Moved {
    pub(in crate::transform) body: Body,
    /// As in [`Motion`].
    pub(super) added: BTreeMap<WordOffset, WordOffset>,
}

impl<'c> Motion<'c> {
    pub(in crate::transform) fn analyze(
        body: &Body,
        cfg: &'c Cfg,
        is_uniform: &'c dyn Fn(BlockIndex) -> bool,
    ) -> Motion<'c> {
        Motion {
            body: body.clone(),
            terrain: Terrain::analyze(cfg),
            is_uniform,
            added: BTreeMap::new(),
            work: 0,
        }
    }

    /// Moves until nothing moves any more.
    pub(super) fn run(mut self) -> Moved {
        loop {
            while self.round() {}
            if self.work > MOST_WORK || !self.rotate() {
                break;
            }
        }
        Moved {
            body: self.body,
            added: self.added,
        }
    }

    /// Moves each pair as far as it goes; whether one has moved.
    fn round(&mut self) -> bool {
        let zones = self.zones();
        let mut pairs = Vec::new();
        for number in 0..self.body.barriers.len() {
            if self.can_move(number) {
                pairs.push((Reverse(self.potential(number, &zones)), number));
            }
        }
        pairs.retain(|(gain, _)| *gain != Reverse(0));
        pairs.sort_unstable();
        let mut any = false;
        for (_, number) in pairs {
            for side in [Side::Wait, Side::Arrive] {
                if self.work > MOST_WORK {
                    return false;
                }
                let zones = self.zones();
                any |= self.push(number, side, &zones);
            }
        }
        any
    }

    pub(in crate::transform) fn zones(&mut self) -> Zones {
        self.work += 4 * self.body.len();
        Zones::analyze(&self.body, self.terrain.cfg)
    }

    /// Returns true if the pair is one arrive and one wait that control comes to equally often.
    pub(in crate::transform) fn can_move(&self, number: usize) -> bool {
        let Some(barrier) = self.body.barriers.get(number) else {
            return false;
        };
        let is_simple = barrier.is_known && barrier.arrives.len() == 1 && barrier.waits.len() == 1;
        let blocks = || {
            let arrive = self.place(number, Side::Arrive)?;
            let wait = self.place(number, Side::Wait)?;
            Some((arrive.block, wait.block))
        };
        is_simple
            && blocks().is_some_and(|(above, below)| self.terrain.are_equivalent(above, below))
    }

    /// Where a side of a pair stands.
    pub(in crate::transform) fn place(&self, number: usize, side: Side) -> Option<HalfPosition> {
        self.body.blocks.iter().find_map(|(block, items)| {
            let index = items
                .iter()
                .position(|item| item.role == Role::Half(number, side))?;
            Some(HalfPosition { block, index })
        })
    }

    /// How many instructions the two sides could pass.
    fn potential(&mut self, number: usize, zones: &Zones) -> usize {
        [Side::Wait, Side::Arrive]
            .into_iter()
            .filter_map(|side| Some(self.travel(number, side, zones)?.1.gain))
            .sum()
    }

    fn travel(
        &mut self,
        number: usize,
        side: Side,
        zones: &Zones,
    ) -> Option<(HalfPosition, Travel)> {
        let from = self.place(number, side)?;
        let limit = self.limit(number, side, zones)?;
        let way = match side {
            Side::Arrive | Side::Both => Way::Up,
            Side::Wait => Way::Down,
        };
        self.work += self.body.len();
        let travel = self
            .terrain
            .travel(&self.body, from, way, limit, &mut self.work);
        Some((from, travel))
    }

    /// What a side of a pair may not pass.
    pub(in crate::transform) fn limit(
        &self,
        number: usize,
        side: Side,
        zones: &Zones,
    ) -> Option<Limit> {
        let zone = match side {
            Side::Arrive | Side::Both => zones.behind(number),
            Side::Wait => zones.before(number),
        };
        let may_order = self.body.barriers.get(number)?.may_order;
        Some(Limit::new(zone, may_order))
    }

    /// Moves a side as far as it goes; whether it gains anything.
    fn push(&mut self, number: usize, side: Side, zones: &Zones) -> bool {
        match self.travel(number, side, zones) {
            Some((from, Travel { to, gain })) if gain > 0 => {
                self.shift(from, to);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Puts what stands at `from` before what stands at `to`.
    pub(super) fn shift(&mut self, from: HalfPosition, to: HalfPosition) {
        let items = self.body.blocks.get_mut(from.block);
        let removed = items.map(|items| items.remove(from.index));
        let behind_itself = to.block == from.block && to.index > from.index;
        let index = to.index - usize::from(behind_itself);
        if let (Some(item), Some(items)) = (removed, self.body.blocks.get_mut(to.block)) {
            items.insert(index, item);
        }
    }
}
