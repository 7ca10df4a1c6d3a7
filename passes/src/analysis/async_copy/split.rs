//! The control-flow graph of a function, its blocks told apart by the values of a few counters: in
//! a ring of three stages the loop is there three times, and in each of them `tile[stage]` is one
//! part of the array.
//!
//! A counter is a phi that an index depends on, that is the same for all invocations of the
//! workgroup, and whose values (or low bits, where only they matter, or what a division leaves,
//! where the loop ends before the counter wraps) repeat after few steps. Its values follow from
//! constants alone, so every run of the function is a path of the larger graph, and invocations
//! that meet at a barrier meet in the same one of its copies.

use super::expression::Expression;
use super::induction::{self, Induction};
use super::value::{self, Value};
use crate::analysis::cfg::Cfg;
use crate::analysis::dataflow::{Direction, at, solve_any};
use crate::analysis::loops::Loops;
use crate::analysis::uniformity::graph::NodeId;
use crate::analysis::uniformity::{Model, Uniformity};
use crate::module::{BlockIndex, BlockMap};
use std::collections::{BTreeMap, BTreeSet};

/// Counters that are followed; a bit each.
const MOST_COUNTERS: usize = 64;

/// Values of one counter; one that takes more is not followed.
const MOST_VALUES: usize = 64;

/// How often the graph is made anew with less of a counter that takes too many values, before none
/// is followed.
const MOST_ROUNDS: usize = 16;

/// Nodes of the larger graph: so many, and two for each block.
const LEAST_NODES: usize = 4096;

/// Low bits of each counter, or its rest, where they are known.
type KnownCounters = Vec<Option<u64>>;

/// The larger graph. Its nodes are copies of blocks and are numbered as blocks are: in its `cfg`,
/// in tables by node, and wherever it is called a node, a [`BlockIndex`] is the number of a node.
/// Which block of the function that is a copy of, `blocks` says.
#[derive(Clone, Debug)]
pub(super) struct Split {
    /// Block of the function, for each node.
    pub(super) blocks: BlockMap<BlockIndex>,
    /// Control flow between the nodes.
    pub(super) cfg: Cfg,
    states: BlockMap<KnownCounters>,
    counters: Vec<Counter>,
}

/// A phi that is followed.
#[derive(Clone, Debug)]
struct Counter {
    phi: NodeId,
    width: u32,
    /// How many low bits matter.
    bits: u32,
    block: BlockIndex,
    /// What comes from each predecessor of the block.
    from: Vec<(BlockIndex, Expression)>,
    /// For one that takes too many values: what is followed of it instead.
    cycle: Option<Cycle>,
}

/// What a division of a counter that cannot wrap leaves.
#[derive(Clone, Debug)]
struct Cycle {
    modulus: u64,
    counter: Induction,
    /// The blocks of its loop.
    body: BTreeSet<BlockIndex>,
}

impl Counter {
    /// The counter, when `state` is known of it.
    fn value(&self, state: u64) -> Value {
        match &self.cycle {
            None => Value::with_low_bits(state, self.bits, self.width),
            Some(cycle) => Value::between(cycle.counter.least, cycle.counter.most, self.width)
                .congruent(state, cycle.modulus),
        }
    }

    /// What is known of it when `value` comes from block `from`, and `state` was known.
    fn next(&self, from: BlockIndex, value: Value, state: Option<u64>) -> Option<u64> {
        match &self.cycle {
            // It has not wrapped, which the bounds of its value alone do not say.
            Some(cycle) if cycle.body.contains(&from) => {
                let step = cycle.counter.step % cycle.modulus;
                Some((state? + step) % cycle.modulus)
            }
            Some(cycle) => value.rest_of(cycle.modulus),
            None if value.width == self.width => value.low_bits(self.bits),
            None => None,
        }
    }
}

/// What is split: a model, and what is known of its values.
#[derive(Copy, Clone)]
pub(super) struct Input<'i> {
    pub(super) model: &'i Model,
    pub(super) loops: &'i Loops,
    pub(super) uniformity: &'i Uniformity,
    pub(super) size: Option<[u32; 3]>,
    /// Indices that are to be known, each with the block that it is used in.
    pub(super) indices: &'i [(BlockIndex, Expression)],
}

impl Split {
    pub(super) fn analyze(input: Input<'_>) -> Split {
        let mut counters = counters(input);
        for _ in 0..MOST_ROUNDS {
            match explore(input, counters.clone()) {
                Ok(split) => return split,
                Err(counter) => {
                    let at = counter.min(counters.len().saturating_sub(1));
                    match counters
                        .get_mut(at)
                        .and_then(|one| Some((cycle(input, one)?, one)))
                    {
                        Some((cycle, counter)) => counter.cycle = Some(cycle),
                        None => {
                            counters.remove(at);
                        }
                    }
                }
            }
        }
        explore(input, Vec::new()).unwrap_or_else(|_| Split {
            blocks: BlockMap::default(),
            cfg: Cfg::from_edges(0, &[]),
            states: BlockMap::default(),
            counters: Vec::new(),
        })
    }

    /// All nodes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = BlockIndex> + use<> {
        self.cfg.blocks()
    }

    /// The value of `expression` in `node`.
    pub(super) fn evaluate(
        &self,
        model: &Model,
        size: Option<[u32; 3]>,
        node: BlockIndex,
        expression: &Expression,
    ) -> Value {
        let state = self.states.get(node).map_or(&[][..], Vec::as_slice);
        evaluate(model, size, &self.counters, state, expression)
    }
}

fn evaluate(
    model: &Model,
    size: Option<[u32; 3]>,
    counters: &[Counter],
    state: &[Option<u64>],
    expression: &Expression,
) -> Value {
    expression.evaluate(&model.graph, size, |phi| {
        let counter = counters
            .binary_search_by_key(&phi, |counter| counter.phi)
            .ok()?;
        let bits = (*state.get(counter)?)?;
        Some(counters.get(counter)?.value(bits))
    })
}

/// The phis that the indices depend on, and how many of their bits matter.
fn counters(input: Input<'_>) -> Vec<Counter> {
    let graph = &input.model.graph;
    let mut bits: BTreeMap<NodeId, u32> = BTreeMap::new();
    let mut expressions: BTreeMap<NodeId, Expression> = BTreeMap::new();
    let mut work: Vec<(NodeId, u32)> = Vec::new();
    for (_, index) in input.indices {
        work.extend(index.demands(graph, 64));
    }
    while let Some((phi, demand)) = work.pop() {
        let node = graph.node(phi);
        let demand = demand.min(node.width);
        let is_counter = (1..=64).contains(&node.width) && input.uniformity.value(phi).is_none();
        if !is_counter || (bits.len() >= 4 * MOST_COUNTERS && !bits.contains_key(&phi)) {
            continue;
        }
        let known = bits.entry(phi).or_insert(0);
        if *known >= demand {
            continue;
        }
        *known = demand;
        for arg in &node.args {
            let expression = expressions
                .entry(*arg)
                .or_insert_with(|| Expression::analyze(graph, *arg));
            work.extend(expression.demands(graph, demand));
        }
    }
    let counter = |(phi, bits): (NodeId, u32)| {
        let node = graph.node(phi);
        let args = node.from.iter().copied().zip(&node.args);
        Some(Counter {
            phi,
            width: node.width,
            bits,
            block: node.block?,
            from: args
                .map(|(from, arg)| (from, Expression::analyze(graph, *arg)))
                .collect(),
            cycle: None,
        })
    };
    bits.into_iter()
        .filter_map(counter)
        .take(MOST_COUNTERS)
        .collect()
}

/// What can be followed of a counter that takes too many values: what is left of it by all
/// divisions that indices with counters have.
fn cycle(input: Input<'_>, counter: &Counter) -> Option<Cycle> {
    if counter.cycle.is_some() {
        return None; // that was too much as well
    }
    let graph = &input.model.graph;
    let indices = input.indices.iter().map(|(_, index)| index);
    let indices = indices.filter(|index| index.phis(graph).next().is_some());
    let mut modulus = 1u64;
    for by in indices.flat_map(|index| index.divisors(graph)) {
        modulus = modulus.checked_mul(by / value::gcd(modulus, by))?;
        if modulus > MOST_VALUES as u64 {
            return None;
        }
    }
    let (induction, inside) = induction::of(input.model, input.loops, input.size, counter.phi)?;
    (modulus > 1).then_some(Cycle {
        modulus,
        counter: induction,
        body: inside.body.clone(),
    })
}

/// Walks over all states; when they are too many, the counter that is at fault.
fn explore(input: Input<'_>, counters: Vec<Counter>) -> Result<Split, usize> {
    let model = input.model;
    let live = live(input, &counters);
    let conditions: BlockMap<Option<Expression>> = model
        .branches
        .values()
        .map(|branch| Some(Expression::analyze(&model.graph, branch.condition()?)))
        .collect();
    let mut values: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); counters.len()];
    let mut numbers: BTreeMap<(BlockIndex, KnownCounters), usize> = BTreeMap::new();
    let mut split = Split {
        blocks: BlockMap::default(),
        cfg: Cfg::from_edges(0, &[]),
        states: BlockMap::default(),
        counters,
    };
    let most = LEAST_NODES + 2 * model.cfg.len();
    let mut edges = Vec::new();
    if !model.cfg.is_empty() {
        let state = vec![None; split.counters.len()];
        numbers.insert((BlockIndex::ENTRY, state.clone()), 0);
        split.blocks.push(BlockIndex::ENTRY);
        split.states.push(state);
    }
    let mut next = 0;
    while let Some(block) = split.blocks.get(BlockIndex::new(next)).copied() {
        let state = split
            .states
            .get(BlockIndex::new(next))
            .cloned()
            .unwrap_or_default();
        let condition = conditions.get(block).and_then(Option::as_ref);
        let decided = condition
            .and_then(|condition| {
                evaluate(model, input.size, &split.counters, &state, condition).number()
            })
            .and_then(|value| model.branches.get(block)?.target(value));
        for succ in model.cfg.succs(block).iter().copied() {
            if decided.is_some_and(|target| target != succ) {
                continue;
            }
            let after = step(input, &split.counters, &live, (block, succ), &state);
            for ((counter, seen), bits) in values.iter_mut().enumerate().zip(&after) {
                seen.extend(bits);
                if seen.len() > MOST_VALUES {
                    return Err(counter);
                }
            }
            let fresh = split.blocks.len();
            let node = *numbers.entry((succ, after.clone())).or_insert(fresh);
            if node == fresh {
                if fresh >= most {
                    let widest = (0..values.len())
                        .max_by_key(|counter| values.get(*counter).map_or(0, BTreeSet::len));
                    return Err(widest.unwrap_or(0));
                }
                split.blocks.push(succ);
                split.states.push(after);
            }
            edges.push((next, node));
        }
        next += 1;
    }
    split.cfg = Cfg::from_edges(split.blocks.len(), &edges);
    Ok(split)
}

/// The state at the start of `to` when control comes there from `from`.
fn step(
    input: Input<'_>,
    counters: &[Counter],
    live: &BlockMap<u64>,
    (from, to): (BlockIndex, BlockIndex),
    state: &KnownCounters,
) -> KnownCounters {
    let live = at(live, to);
    let mut after = state.clone();
    for (place, counter) in counters.iter().enumerate() {
        let Some(slot) = after.get_mut(place) else {
            debug_assert!(false, "no slot for counter {place}");
            continue;
        };
        if live >> place & 1 == 0 {
            *slot = None;
        } else if counter.block == to {
            let incoming = counter.from.iter().find(|(block, _)| *block == from);
            *slot = incoming.and_then(|(_, expression)| {
                let value = evaluate(input.model, input.size, counters, state, expression);
                counter.next(from, value, state.get(place).copied().flatten())
            });
        }
    }
    after
}

/// By block: the counters whose values are still used behind its start, a bit each.
fn live(input: Input<'_>, counters: &[Counter]) -> BlockMap<u64> {
    let model = input.model;
    let graph = &model.graph;
    let places: BTreeMap<NodeId, usize> = counters
        .iter()
        .map(|counter| counter.phi)
        .zip(0..)
        .collect();
    let mask = |expression: &Expression| {
        expression
            .phis(graph)
            .filter_map(|phi| places.get(&phi))
            .fold(0u64, |mask, place| mask | 1 << place)
    };
    let mut used = BlockMap::filled(model.cfg.len(), 0u64);
    let mut defined = BlockMap::filled(model.cfg.len(), 0u64);
    let mut add = |block: BlockIndex, bits: u64| {
        if let Some(slot) = used.get_mut(block) {
            *slot |= bits;
        }
    };
    for (block, index) in input.indices {
        add(*block, mask(index));
    }
    for (block, branch) in model.branches.iter() {
        if let Some(condition) = branch.condition() {
            add(block, mask(&Expression::analyze(graph, condition)));
        }
    }
    for (place, counter) in counters.iter().enumerate() {
        for (from, expression) in &counter.from {
            add(*from, mask(expression));
        }
        if let Some(slot) = defined.get_mut(counter.block) {
            *slot |= 1 << place;
        }
    }
    // Which counters are used behind a place.
    let behind = solve_any(
        &model.cfg,
        Direction::Backward,
        |block: BlockIndex, live| (live | at(&used, block)) & !at(&defined, block),
    );
    used.values()
        .zip(behind.values())
        .map(|(used, behind)| used | behind)
        .collect()
}
