//! Motion around a back edge.
//!
//! A wait that may go to the end of its loop's iteration goes on at the beginning of the next, and
//! an arrive that may go to the beginning goes on at the end of the one before. Then the pair is
//! open when control goes back: an arrive has to stand in front of the loop, before the first
//! iteration, and a wait where control leaves the loop with the pair open. These two add one
//! barrier, which orders more and nothing less.
//!
//! For a loop with one way back and one way in, whose block in front leads to it alone, is executed
//! by the whole workgroup or not at all, and has no pair open at its end. Blocks that get a wait
//! behind the loop are those that control comes to only with the pair open; where they are several,
//! each is executed by the whole workgroup or not at all.

use super::motion::Motion;
use super::travel::{HalfPosition, Limit, Way, end, in_block, top, weight};
use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::{Dominators, PostDominators};
use crate::analysis::phases::mutant::{Rule, is_out};
use crate::analysis::phases::{Effect, Item, Openness, Role, Side, Zones};
use crate::module::{BlockIndex, BlockMap, WordOffset};
use std::collections::{BTreeMap, BTreeSet};

/// Instructions that a half must pass behind the back edge: each entry of the loop costs a barrier
/// more.
const LEAST_GAIN: usize = 8;

/// Places of added halves begin here: no module has as many words.
const FIRST_ADDED: u32 = 1 << 31;

/// A loop that halves can go around.
struct Ring {
    header: BlockIndex,
    latch: BlockIndex,
    /// The block in front of it.
    front: BlockIndex,
    body: BTreeSet<BlockIndex>,
    /// One iteration as a graph of its own, from the header to the latch: the numbers of its
    /// blocks are their places in `order`.
    iteration: Cfg,
    /// The loop's blocks, the header first.
    order: BlockMap<BlockIndex>,
    /// By place: whether the block is in no loop inside of this one.
    is_own: BlockMap<bool>,
    dominators: Dominators,
    post: PostDominators,
}

/// A half on its way around.
struct Walk<'r> {
    ring: &'r Ring,
    way: Way,
    limit: Limit,
    /// Instructions that it has passed.
    gain: usize,
    /// Blocks that control leaves with the pair open.
    open: BTreeSet<BlockIndex>,
}

/// What a rotation does.
struct Rotation {
    /// Where the half goes.
    to: HalfPosition,
    gain: usize,
    /// Blocks behind the loop that get a wait.
    exits: BTreeSet<BlockIndex>,
}

impl Ring {
    fn find(motion: &Motion<'_>, block: BlockIndex) -> Option<Ring> {
        let cfg = motion.terrain.cfg;
        let natural = motion.terrain.innermost_loop(block)?;
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for pred in cfg.preds(natural.header) {
            if !cfg.is_reachable(*pred) {
                continue;
            }
            if natural.body.contains(pred) {
                inside.push(*pred);
            } else {
                outside.push(*pred);
            }
        }
        // A loop with more ways in or back has no one place for the arrive in front of it.
        let ([latch], [front]) = (inside.as_slice(), outside.as_slice()) else {
            return None;
        };
        if cfg.succs(*front) != [natural.header] {
            return None;
        }
        let mut order = vec![natural.header];
        order.extend(
            natural
                .body
                .iter()
                .filter(|block| **block != natural.header),
        );
        let order = BlockMap::from(order);
        let place: BTreeMap<BlockIndex, BlockIndex> =
            order.iter().map(|(at, block)| (*block, at)).collect();
        let mut edges = Vec::new();
        for (from, block) in order.iter() {
            for next in cfg
                .succs(*block)
                .iter()
                .filter(|next| **next != natural.header)
            {
                edges.extend(place.get(next).map(|to| (from.index(), to.index())));
            }
        }
        let iteration = Cfg::from_edges(order.len(), &edges);
        let is_own = |block: &BlockIndex| motion.terrain.is_same_loop(*block, natural.header);
        Some(Ring {
            is_own: order.values().map(is_own).collect(),
            header: natural.header,
            latch: *latch,
            front: *front,
            body: natural.body.clone(),
            dominators: Dominators::analyze(&iteration),
            post: PostDominators::analyze(&iteration),
            iteration,
            order,
        })
    }

    /// The number of `block` in `iteration`.
    fn place(&self, block: BlockIndex) -> Option<BlockIndex> {
        let mut places = self.order.iter();
        places.find_map(|(place, one)| (*one == block).then_some(place))
    }

    /// Returns true if control comes through `block` once whenever it goes back.
    fn is_in_every_iteration(&self, block: BlockIndex) -> bool {
        let places = self.place(block).zip(self.place(self.latch));
        places.is_some_and(|(block, latch)| {
            self.is_own.get(block) == Some(&true) && self.dominators.dominates(block, latch)
        })
    }

    /// The next block of the iteration that every iteration comes through, and those between.
    fn next(&self, block: BlockIndex, way: Way) -> Option<(BlockIndex, Vec<BlockIndex>)> {
        let at = self.place(block)?;
        let mut next = at;
        loop {
            next = match way {
                Way::Down => self.post.immediate(next)?,
                Way::Up => self.dominators.immediate(next)?,
            };
            if self.is_own.get(next) == Some(&true) {
                break; // a iteration comes through the blocks of an inner loop often, or never
            }
        }
        let mut seen = BTreeSet::new();
        let mut work = vec![at];
        while let Some(one) = work.pop() {
            let neighbours = match way {
                Way::Down => self.iteration.succs(one),
                Way::Up => self.iteration.preds(one),
            };
            for neighbour in neighbours {
                if *neighbour != next && *neighbour != at && seen.insert(*neighbour) {
                    work.push(*neighbour);
                }
            }
        }
        let block = |at: &BlockIndex| self.order.get(*at).copied();
        Some((block(&next)?, seen.iter().filter_map(block).collect()))
    }

    /// Where control goes out of the loop from `blocks`; `None` when one can be come to in another
    /// way as well.
    fn exits(&self, cfg: &Cfg, blocks: &BTreeSet<BlockIndex>) -> Option<BTreeSet<BlockIndex>> {
        let mut exits = BTreeSet::new();
        for block in blocks {
            let leaving = cfg
                .succs(*block)
                .iter()
                .filter(|next| !self.body.contains(next));
            exits.extend(leaving.copied());
        }
        let is_only = |exit: &BlockIndex| {
            let mut preds = cfg
                .preds(*exit)
                .iter()
                .filter(|pred| cfg.is_reachable(**pred));
            preds.all(|pred| blocks.contains(pred))
        };
        exits.iter().all(is_only).then_some(exits)
    }
}

impl Motion<'_> {
    /// Takes one half around the back edge of its loop; whether there was one.
    pub(super) fn rotate(&mut self) -> bool {
        let zones = self.zones();
        let open = Openness::analyze(&self.body, self.terrain.cfg);
        let blocks = BlockIndex::all(self.body.blocks.len());
        let is_closed: BlockMap<bool> =
            blocks.map(|block| open.at_end(block).is_closed()).collect();
        for number in 0..self.body.barriers.len() {
            if !self.can_move(number) {
                continue;
            }
            for side in [Side::Wait, Side::Arrive] {
                let Some((ring, rotation)) = self.rotation(number, side, &zones) else {
                    continue;
                };
                let is_closed = is_closed.get(ring.front) == Some(&true);
                let is_uniform = (self.is_uniform)(ring.front) || is_out(Rule::UniformFront);
                let is_worth_it = is_closed && rotation.gain >= LEAST_GAIN;
                if is_worth_it && is_uniform && self.leave_as_one(&rotation) {
                    self.apply(number, side, &ring, &rotation);
                    return true;
                }
            }
        }
        false
    }

    /// Returns true if all invocations come to the same wait behind the loop. They leave it in one
    /// iteration or the next, since each of its iterations has the barrier, but not by one exit.
    fn leave_as_one(&self, rotation: &Rotation) -> bool {
        rotation.exits.len() <= 1 || rotation.exits.iter().all(|exit| (self.is_uniform)(*exit))
    }

    fn rotation(&mut self, number: usize, side: Side, zones: &Zones) -> Option<(Ring, Rotation)> {
        let from = self.place(number, side)?;
        let ring = Ring::find(self, from.block)?;
        if !ring.is_in_every_iteration(from.block) {
            return None;
        }
        let way = match side {
            Side::Wait => Way::Down,
            Side::Arrive | Side::Both => Way::Up,
        };
        let limit = self.limit(number, side, zones)?;
        let mut walk = Walk {
            ring: &ring,
            way,
            limit,
            gain: 0,
            open: BTreeSet::new(),
        };
        self.pass_iteration(&mut walk, from)?;
        if way == Way::Up {
            // Control leaves these with the pair open, and those that were passed are among them.
            walk.open = self.up_to_wait(number, &ring)?;
        }
        let rotation = self.around(walk)?;
        Some((ring, rotation))
    }

    /// Goes to the end of the iteration, or its beginning; `None` when something stands in the way.
    fn pass_iteration(&mut self, walk: &mut Walk<'_>, from: HalfPosition) -> Option<()> {
        let (mut block, last) = match walk.way {
            Way::Down => (from.block, walk.ring.latch),
            Way::Up => (from.block, walk.ring.header),
        };
        let mut index = match walk.way {
            Way::Down => from.index + 1,
            Way::Up => from.index,
        };
        loop {
            let (_, is_free) = self.pass_block(walk, HalfPosition { block, index });
            if !is_free {
                return None;
            }
            if block == last {
                walk.open.insert(block);
                return Some(());
            }
            block = self.pass_between(walk, block)?;
            index = self.first_place(walk.way, block);
        }
    }

    /// How far a half comes in the next iteration, or the one before.
    fn around(&mut self, mut walk: Walk<'_>) -> Option<Rotation> {
        let mut best = None;
        let mut block = match walk.way {
            Way::Down => walk.ring.header,
            Way::Up => walk.ring.latch,
        };
        loop {
            if walk.way == Way::Up {
                walk.open.insert(block);
            }
            let index = self.first_place(walk.way, block);
            let (index, is_free) = self.pass_block(&mut walk, HalfPosition { block, index });
            if let Some(exits) = walk.ring.exits(self.terrain.cfg, &walk.open) {
                best = Some(Rotation {
                    to: HalfPosition { block, index },
                    gain: walk.gain,
                    exits,
                });
            }
            if !is_free {
                return best;
            }
            let Some(next) = self.pass_between(&mut walk, block) else {
                return best;
            };
            block = next;
        }
    }

    fn first_place(&self, way: Way, block: BlockIndex) -> usize {
        match way {
            Way::Down => top(&self.body, block),
            Way::Up => end(&self.body, block),
        }
    }

    /// Passes what it can of a block: where that ends, and whether the block does.
    fn pass_block(&mut self, walk: &mut Walk<'_>, from: HalfPosition) -> (usize, bool) {
        let (index, passed, is_free) = in_block(&self.body, from, walk.way, walk.limit);
        self.work += passed + 1;
        walk.gain += passed;
        (index, is_free)
    }

    /// Passes all between `block` and the next that every iteration comes through: that one.
    fn pass_between(&mut self, walk: &mut Walk<'_>, block: BlockIndex) -> Option<BlockIndex> {
        let (next, between) = walk.ring.next(block, walk.way)?;
        for item in between.iter().flat_map(|block| self.body.block(*block)) {
            self.work += 1;
            if !walk.limit.lets(item) {
                return None;
            }
            walk.gain += weight(item);
        }
        walk.open.insert(block);
        walk.open.extend(between);
        Some(next)
    }

    /// The blocks from the header to the wait of a pair whose arrive stands at the end of the
    /// iteration before.
    fn up_to_wait(&self, number: usize, ring: &Ring) -> Option<BTreeSet<BlockIndex>> {
        let wait = self.place(number, Side::Wait)?.block;
        let mut open = BTreeSet::new();
        let mut block = ring.header;
        while block != wait {
            let (next, between) = ring.next(block, Way::Down)?;
            open.insert(block);
            open.extend(between);
            block = next;
        }
        Some(open)
    }

    fn apply(&mut self, number: usize, side: Side, ring: &Ring, rotation: &Rotation) {
        let Some(from) = self.place(number, side) else {
            debug_assert!(false, "a half without a place is rotated");
            return;
        };
        self.shift(from, rotation.to);
        let front = HalfPosition {
            block: ring.front,
            index: end(&self.body, ring.front),
        };
        self.add(number, Side::Arrive, front);
        for exit in &rotation.exits {
            let place = HalfPosition {
                block: *exit,
                index: top(&self.body, *exit),
            };
            self.add(number, Side::Wait, place);
        }
    }

    /// Adds a half to a pair.
    fn add(&mut self, number: usize, side: Side, place: HalfPosition) {
        let (Ok(count), Some(barrier)) = (
            u32::try_from(self.added.len()),
            self.body.barriers.get_mut(number),
        ) else {
            return;
        };
        let offset = WordOffset::new(FIRST_ADDED + count);
        let sides = match side {
            Side::Wait => &mut barrier.waits,
            Side::Arrive | Side::Both => &mut barrier.arrives,
        };
        self.added.extend(sides.first().map(|like| (offset, *like)));
        sides.push(offset);
        if let Some(items) = self.body.blocks.get_mut(place.block) {
            items.insert(
                place.index,
                Item {
                    offset,
                    effect: Effect::STOP,
                    role: Role::Half(number, side),
                },
            );
        }
    }
}
