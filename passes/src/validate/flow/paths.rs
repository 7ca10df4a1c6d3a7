//! Pairing over all paths at once: for each block, whether a barrier may be open there, and what
//! must then be true.
//!
//! Paths are merged by whether a barrier is open (property simulation: Das, Lerner, Seigle 2002),
//! and keep those truths of branch conditions that all of them share. So a wait under the condition
//! that its arrive stood under is proved; cost stays linear in blocks.

use super::{Entry, Event, SCOPES};
use crate::analysis::uniformity::graph::{Graph, NodeId, Op};
use crate::analysis::uniformity::{Branch, lanes};
use crate::module::{BlockIndex, BlockMap, Scope};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Conditions that are followed.
const MOST_CONDITIONS: usize = 64;
/// Nodes of one condition that are looked at.
const MOST_NODES: usize = 128;
/// Blocks of a witness that are kept: there may be as many witnesses as barriers.
const MOST_PLACES: usize = 96;
/// Depth to which an expression is evaluated.
const MOST_DEPTH: u32 = 5;

/// What is known of the conditions, a bit for each.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Facts {
    known: u64,
    value: u64,
}

impl Facts {
    fn get(self, bit: usize) -> Option<u64> {
        (self.known >> bit & 1 == 1).then_some(self.value >> bit & 1)
    }

    fn set(&mut self, bit: usize, value: u64) {
        self.known |= 1 << bit;
        self.value = self.value & !(1 << bit) | (value & 1) << bit;
    }

    fn forget(&mut self, mask: u64) {
        self.known &= !mask;
        self.value &= !mask;
    }

    /// Keeps what both say; whether that is less than before.
    fn meet(&mut self, other: Facts) -> bool {
        let before = *self;
        self.known &= other.known & !(self.value ^ other.value);
        self.value &= self.known;
        *self != before
    }
}

/// Facts of the paths on which no barrier is open, and of those on which one is.
type FactsByOpen = [Option<Facts>; 2];

/// A place in a search: the block and whether a barrier is open at its start.
type SearchNode = (BlockIndex, usize);

/// The answer for both scopes.
pub(in crate::validate) struct Paths {
    /// By site: a path on which the site breaks its rule, as places from the entry block on.
    broken: BTreeMap<usize, Vec<SearchNode>>,
    /// By scope: whether a path may end with a barrier open.
    open_at_end: [bool; 2],
}

impl Paths {
    /// Looks at every path of `entry`.
    pub(in crate::validate) fn analyze(entry: &Entry<'_, '_>) -> Paths {
        let mut paths = Paths {
            broken: BTreeMap::new(),
            open_at_end: [false; 2],
        };
        if !entry.events.iter().any(Event::pairs) {
            return paths;
        }
        let conditions = Conditions::analyze(entry);
        for (slot, scope) in SCOPES.into_iter().enumerate() {
            if entry
                .events
                .iter()
                .any(|event| event.scope == scope && event.pairs())
            {
                Search::new(entry, &conditions, scope).run(&mut paths, slot);
            }
        }
        paths
    }

    /// Returns true if some path, which may be one that no execution takes, breaks the rule of the
    /// site.
    pub(in crate::validate) fn is_broken(&self, site: usize) -> bool {
        self.broken.contains_key(&site)
    }

    /// The blocks of such a path.
    pub(in crate::validate) fn witness(&self, site: usize) -> Option<Vec<BlockIndex>> {
        Some(
            self.broken
                .get(&site)?
                .iter()
                .map(|(block, _)| *block)
                .collect(),
        )
    }

    /// Returns true if a path may end with a barrier of `scope` open.
    pub(in crate::validate) fn may_dangle(&self, scope: Scope) -> bool {
        SCOPES
            .iter()
            .zip(self.open_at_end)
            .any(|(known, open)| *known == scope && open)
    }
}

/// The conditions that are followed.
struct Conditions<'c> {
    graph: &'c Graph,
    bits: BTreeMap<NodeId, usize>,
    nodes: Vec<NodeId>,
    /// By block: conditions that a phi or leaf of the block is under.
    kills: BlockMap<u64>,
    /// By condition: those that are false when it is true (the same value compared with other
    /// constants).
    excludes: Vec<u64>,
}

impl<'c> Conditions<'c> {
    fn analyze(entry: &'c Entry<'_, '_>) -> Conditions<'c> {
        let graph = &entry.model.graph;
        let mut uses: BTreeMap<NodeId, usize> = BTreeMap::new();
        for block in entry.model.cfg.reverse_postorder() {
            match &entry.model.branches[*block] {
                Branch::None => {}
                Branch::If { condition, .. } => {
                    for atom in atoms(graph, *condition) {
                        *uses.entry(atom).or_default() += 1;
                    }
                }
                Branch::Switch { cases, .. } => {
                    for (case, _, _) in cases.iter().take(MOST_CONDITIONS) {
                        *uses.entry(*case).or_default() += 1;
                    }
                }
            }
        }
        let mut conditions = Conditions {
            graph,
            bits: BTreeMap::new(),
            nodes: Vec::new(),
            kills: BlockMap::filled(entry.model.cfg.len(), 0),
            excludes: Vec::new(),
        };
        let mut ranked: Vec<(Reverse<usize>, NodeId)> = uses
            .into_iter()
            .map(|(node, uses)| (Reverse(uses.min(2)), node))
            .collect();
        ranked.sort_unstable();
        for (_, node) in ranked {
            if conditions.nodes.len() == MOST_CONDITIONS {
                break;
            }
            let Some(blocks) = blocks_under(graph, node) else {
                continue;
            };
            let bit = conditions.nodes.len();
            for block in blocks {
                conditions.kills[block] |= 1 << bit;
            }
            conditions.bits.insert(node, bit);
            conditions.nodes.push(node);
        }
        conditions.excludes = conditions
            .nodes
            .iter()
            .map(|node| conditions.excluded_by(*node))
            .collect();
        conditions
    }

    fn excluded_by(&self, node: NodeId) -> u64 {
        let Some((value, number)) = compared(self.graph, node) else {
            return 0;
        };
        let excluded = |other: &NodeId| {
            compared(self.graph, *other).is_some_and(|(v, n)| v == value && n != number)
        };
        self.nodes
            .iter()
            .enumerate()
            .filter(|(_, other)| excluded(other))
            .fold(0, |mask, (bit, _)| mask | 1 << bit)
    }

    /// The value of `node`; at the edge `over` (from, to), phis of `to` have their incoming values
    /// and leaves of `to` none.
    fn evaluate(
        &self,
        facts: Facts,
        node: NodeId,
        over: Option<(BlockIndex, BlockIndex)>,
        depth: u32,
    ) -> Option<u64> {
        let inner = self.graph.node(node);
        if let Op::Number(bits) = inner.op {
            return Some(bits);
        }
        let killed = over.map_or(0, |(_, to)| self.kills[to]);
        if let Some(bit) = self.bits.get(&node)
            && killed >> bit & 1 == 0
            && let Some(value) = facts.get(*bit)
        {
            return Some(value);
        }
        let depth = depth.checked_sub(1)?;
        match (&inner.op, over) {
            (Op::Phi, Some((from, to))) if inner.block == Some(to) => {
                let place = inner.from.iter().position(|block| *block == from)?;
                self.evaluate(facts, *inner.args.get(place)?, None, depth)
            }
            (Op::Pure(..), _) if inner.args.len() <= 3 => {
                let mut values = [None; 3];
                for (slot, arg) in values.iter_mut().zip(&inner.args) {
                    *slot = self.evaluate(facts, *arg, over, depth);
                }
                let value = |arg: NodeId| {
                    inner
                        .args
                        .iter()
                        .zip(values)
                        .find(|(known, _)| **known == arg)
                        .and_then(|(_, value)| value)
                };
                lanes::evaluate(self.graph, node, None, 0, value)
            }
            _ => None, // it comes from outside
        }
    }

    /// The facts once `node` is known to be `value`; `None` when that cannot be.
    fn assume(&self, mut facts: Facts, node: NodeId, value: bool) -> Option<Facts> {
        let mut work = vec![(node, value)];
        let mut left = MOST_NODES;
        while let Some((node, value)) = work.pop() {
            if self
                .evaluate(facts, node, None, MOST_DEPTH)
                .is_some_and(|known| (known != 0) != value)
            {
                return None;
            }
            left = match left.checked_sub(1) {
                Some(left) => left,
                None => break,
            };
            if let Some(bit) = self.bits.get(&node) {
                facts.set(*bit, u64::from(value));
                let excluded = self
                    .excludes
                    .get(*bit)
                    .copied()
                    .filter(|_| value)
                    .unwrap_or(0);
                if facts.value & excluded != 0 {
                    return None;
                }
                facts.known |= excluded;
            }
            let inner = self.graph.node(node);
            let Op::Pure(opcode, _) = inner.op else {
                continue;
            };
            match (
                spirv::Op::from_u32(u32::from(opcode)),
                value,
                inner.args.as_slice(),
            ) {
                (Some(spirv::Op::LogicalNot), _, [a]) => work.push((*a, !value)),
                (Some(spirv::Op::LogicalAnd), true, [a, b])
                | (Some(spirv::Op::LogicalOr), false, [a, b]) => {
                    work.extend([(*a, value), (*b, value)]);
                }
                (Some(spirv::Op::LogicalAnd), false, [a, b])
                | (Some(spirv::Op::LogicalOr), true, [a, b]) => {
                    // One side does not decide: the other one does.
                    for (side, other) in [(a, b), (b, a)] {
                        if self.evaluate(facts, *side, None, MOST_DEPTH) == Some(u64::from(!value))
                        {
                            work.push((*other, value));
                        }
                    }
                }
                _ => {} // nothing follows
            }
        }
        Some(facts)
    }

    /// The facts after control has gone from one block to the next.
    fn cross(&self, facts: Facts, from: BlockIndex, to: BlockIndex) -> Facts {
        let kills = self.kills[to];
        let mut after = facts;
        after.forget(kills);
        let mut rest = kills;
        while rest != 0 {
            let bit = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let Some(node) = self.nodes.get(bit) else {
                debug_assert!(false, "no condition {bit}");
                continue;
            };
            if let Some(value) = self.evaluate(facts, *node, Some((from, to)), MOST_DEPTH) {
                after.set(bit, value);
            }
        }
        after
    }
}

/// What a condition is made of: the parts that are neither a negation nor an AND or OR of others.
fn atoms(graph: &Graph, condition: NodeId) -> Vec<NodeId> {
    let mut atoms = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut work = vec![condition];
    while let Some(node) = work.pop() {
        if !seen.insert(node) || seen.len() > MOST_NODES {
            continue;
        }
        let inner = graph.node(node);
        match inner.op {
            Op::Pure(opcode, _)
                if matches!(
                    spirv::Op::from_u32(u32::from(opcode)),
                    Some(spirv::Op::LogicalNot | spirv::Op::LogicalAnd | spirv::Op::LogicalOr)
                ) =>
            {
                work.extend(&inner.args);
            }
            Op::Number(_) => {}
            _ => {
                atoms.insert(node);
            }
        }
    }
    atoms.into_iter().collect()
}

/// The blocks of the phis and leaves under `node`; `None` when it is large.
fn blocks_under(graph: &Graph, node: NodeId) -> Option<BTreeSet<BlockIndex>> {
    let mut seen = BTreeSet::new();
    let mut blocks = BTreeSet::new();
    let mut work = vec![node];
    while let Some(node) = work.pop() {
        if !seen.insert(node) {
            continue;
        }
        if seen.len() > MOST_NODES {
            return None;
        }
        let inner = graph.node(node);
        match inner.block {
            Some(block) => {
                blocks.insert(block);
                if inner.op != Op::Phi {
                    work.extend(&inner.args);
                }
            }
            None => work.extend(&inner.args),
        }
    }
    Some(blocks)
}

/// For a comparison for equality with a constant: the value and the constant.
fn compared(graph: &Graph, node: NodeId) -> Option<(NodeId, u64)> {
    let inner = graph.node(node);
    if inner.op != Op::Pure(spirv::Op::IEqual as u16, Vec::new()) {
        return None;
    }
    let [a, b] = *inner.args.as_slice() else {
        return None;
    };
    match (&graph.node(a).op, &graph.node(b).op) {
        (Op::Number(number), _) => Some((b, *number)),
        (_, Op::Number(number)) => Some((a, *number)),
        _ => None, // two values
    }
}

struct Search<'s, 'e, 'm> {
    entry: &'s Entry<'e, 'm>,
    conditions: &'s Conditions<'s>,
    scope: Scope,
    states: BlockMap<FactsByOpen>,
    /// By block and state at its start: where the first path to it came from.
    came_from: BlockMap<[Option<SearchNode>; 2]>,
}

impl<'s, 'e, 'm> Search<'s, 'e, 'm> {
    fn new(entry: &'s Entry<'e, 'm>, conditions: &'s Conditions<'s>, scope: Scope) -> Self {
        let blocks = entry.model.cfg.len();
        Search {
            entry,
            conditions,
            scope,
            states: BlockMap::filled(blocks, [None; 2]),
            came_from: BlockMap::filled(blocks, [None; 2]),
        }
    }

    fn events(
        &self,
        block: BlockIndex,
    ) -> impl Iterator<Item = (usize, &'s Event)> + use<'s, 'e, 'm> {
        let (entry, scope) = (self.entry, self.scope);
        let sites = entry.by_block.get(block).map_or(&[][..], Vec::as_slice);
        sites
            .iter()
            .filter_map(move |site| Some((*site, entry.events.get(*site)?)))
            .filter(move |(_, event)| event.scope == scope && event.pairs())
    }

    fn run(mut self, paths: &mut Paths, slot: usize) {
        let cfg = &self.entry.model.cfg;
        if cfg.is_empty() {
            return;
        }
        self.states[BlockIndex::ENTRY][0] = Some(Facts::default());
        let mut queued = BlockMap::filled(cfg.len(), false);
        let mut work = BinaryHeap::from([Reverse(0)]);
        while let Some(Reverse(place)) = work.pop() {
            let Some(block) = cfg.reverse_postorder().get(place).copied() else {
                debug_assert!(false, "no block in place {place}");
                continue;
            };
            queued[block] = false;
            let last = self
                .events(block)
                .last()
                .map(|(_, event)| usize::from(event.arrives()));
            for open in 0..2 {
                let Some(facts) = self.states[block][open] else {
                    continue;
                };
                for (to, facts) in self.edges(block, facts) {
                    if self.arrive_at(to, last.unwrap_or(open), facts, (block, open))
                        && let Some(place) = cfg.order(to)
                        && !std::mem::replace(&mut queued[to], true)
                    {
                        work.push(Reverse(place));
                    }
                }
            }
        }
        self.judge(paths, slot);
    }

    fn arrive_at(
        &mut self,
        block: BlockIndex,
        open: usize,
        facts: Facts,
        from: SearchNode,
    ) -> bool {
        match &mut self.states[block][open] {
            Some(known) => known.meet(facts),
            slot @ None => {
                *slot = Some(facts);
                if block != BlockIndex::ENTRY || open != 0 {
                    self.came_from[block][open] = Some(from);
                }
                true
            }
        }
    }

    /// Where control can go, with what is known there.
    fn edges(&self, block: BlockIndex, facts: Facts) -> Vec<(BlockIndex, Facts)> {
        let cfg = &self.entry.model.cfg;
        let succs = cfg.succs(block);
        let mut edges: Vec<(BlockIndex, Facts)> = Vec::new();
        match &self.entry.model.branches[block] {
            Branch::If { condition, yes, no } => {
                for (to, value) in [(*yes, true), (*no, false)] {
                    edges.extend(
                        self.conditions
                            .assume(facts, *condition, value)
                            .map(|facts| (to, facts)),
                    );
                }
            }
            Branch::Switch { cases, default, .. } => {
                let mut otherwise = Some(facts);
                for (case, _, to) in cases {
                    edges.extend(
                        self.conditions
                            .assume(facts, *case, true)
                            .map(|facts| (*to, facts)),
                    );
                    otherwise =
                        otherwise.and_then(|facts| self.conditions.assume(facts, *case, false));
                }
                edges.extend(otherwise.map(|facts| (*default, facts)));
            }
            Branch::None => edges.extend(succs.iter().map(|to| (*to, facts))),
        }
        // A switch has thousands.
        let remaining: BTreeSet<BlockIndex> = succs.iter().copied().collect();
        edges.retain(|(to, _)| remaining.contains(to));
        for (to, facts) in &mut edges {
            *facts = self.conditions.cross(*facts, block, *to);
        }
        edges
    }

    /// Reads off the states which sites may break their rule.
    fn judge(&self, paths: &mut Paths, slot: usize) {
        let cfg = &self.entry.model.cfg;
        for block in cfg.reverse_postorder().iter().copied() {
            let mut possible = [0, 1].map(|open: usize| self.states[block][open].map(|_| open));
            for (site, event) in self.events(block) {
                let bad = usize::from(event.arrives());
                if let Some(start) = possible.iter().position(|state| *state == Some(bad)) {
                    paths.broken.insert(site, self.path((block, start)));
                }
                for state in possible.iter_mut().flatten() {
                    *state = usize::from(event.arrives());
                }
            }
            paths.open_at_end[slot] |= cfg.is_exit(block) && possible.contains(&Some(1));
        }
    }

    /// The first path that was found to a place, its last part when it is long.
    fn path(&self, to: SearchNode) -> Vec<SearchNode> {
        let mut path = vec![to];
        let mut at = to;
        while path.len() < MOST_PLACES
            && let Some(from) = self.came_from.get(at.0).and_then(|from| from[at.1])
        {
            path.push(from);
            at = from;
        }
        path.reverse();
        path
    }
}
