//! The accesses that a barrier orders: those that can be before it and after the previous barrier,
//! and those that can be after it and before the next one.

use super::body::{Body, Item, Role, Side};
use super::effects::Effect;
use super::memory_regions::MemoryRegions;
use super::mutant::{Rule, is_out};
use crate::analysis::cfg::Cfg;
use crate::analysis::dataflow::{Direction, solve_any};

/// The accesses around each barrier of a body.
///
/// A barrier ends a zone only for memory that it surely orders. What stands in the window of a
/// neighbour is in the zone: the neighbour orders it on one side alone.
#[derive(Clone, Debug, Default)]
pub struct Zones {
    before: Vec<Effect>,
    behind: Vec<Effect>,
}

impl Zones {
    /// Those of `body`, whose blocks are those of `cfg`.
    pub fn analyze(body: &Body, cfg: &Cfg) -> Zones {
        let mut zones = Zones {
            before: vec![Effect::NONE; body.barriers.len()],
            behind: vec![Effect::NONE; body.barriers.len()],
        };
        let forward = |block, state| {
            let items = body.block(block).iter();
            items.fold(state, |state, item| step(body, state, *item, Side::Arrive))
        };
        let states = solve_any(cfg, Direction::Forward, forward);
        for (block, state) in states.iter() {
            let mut state = *state;
            for item in body.block(block) {
                zones.note(Side::Arrive, *item, state);
                state = step(body, state, *item, Side::Arrive);
            }
        }
        let backward = |block, state| {
            let items = body.block(block).iter().rev();
            items.fold(state, |state, item| step(body, state, *item, Side::Wait))
        };
        let states = solve_any(cfg, Direction::Backward, backward);
        for (block, state) in states.iter() {
            let mut state = *state;
            for item in body.block(block).iter().rev() {
                zones.note(Side::Wait, *item, state);
                state = step(body, state, *item, Side::Wait);
            }
        }
        zones
    }

    /// The possible effects before the arrives of barrier `number`, back to the arrives of the
    /// previous barrier.
    pub fn before(&self, number: usize) -> Effect {
        self.before.get(number).copied().unwrap_or(Effect::UNKNOWN)
    }

    /// The possible effects after the waits of barrier `number`, up to the waits of the next
    /// barrier.
    pub fn behind(&self, number: usize) -> Effect {
        self.behind.get(number).copied().unwrap_or(Effect::UNKNOWN)
    }

    /// Returns true if barrier `number` keeps two accesses to `places` apart, or one that an atomic
    /// operation may publish from any other.
    pub fn keep_apart(&self, number: usize, places: MemoryRegions) -> bool {
        let published = |effect: Effect| Effect {
            publishes: effect.publishes,
            ..Effect::NONE
        };
        let (before, after) = (self.before(number), self.behind(number));
        before.within(places).conflicts(after.within(places))
            || published(before).conflicts(after)
            || published(after).conflicts(before)
    }

    fn note(&mut self, side: Side, item: Item, state: Effect) {
        let Role::Half(number, found) = item.role else {
            return;
        };
        let zones = match side {
            Side::Arrive => &mut self.before,
            Side::Wait | Side::Both => &mut self.behind,
        };
        if let Some(zone) = zones.get_mut(number)
            && (found == side || found == Side::Both)
        {
            *zone = *zone | state;
        }
    }
}

/// What is in the zone behind `item`, in the direction of the walk: the sides of barriers that end
/// it are `end`.
fn step(body: &Body, state: Effect, item: Item, end: Side) -> Effect {
    let Role::Half(number, side) = item.role else {
        let effect = Effect {
            ordering_barrier: false,
            ..item.effect
        };
        return state | effect;
    };
    let orders = body
        .barriers
        .get(number)
        .map_or(MemoryRegions::NONE, |barrier| barrier.orders);
    if side == end || side == Side::Both || is_out(Rule::Neighbours) {
        state.within(MemoryRegions::ALL.without(orders))
    } else {
        state
    }
}
