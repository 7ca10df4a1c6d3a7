//! Runs the control flow of an entry point for every invocation of a workgroup, as far as constants
//! and ids inside of the workgroup decide it.
//!
//! A branch on a value that is not known is stepped over: the run goes on where its ways meet, and
//! what lies between may or may not have been executed. What lies outside of such gaps is executed
//! in every execution of the entry point, so it is proof and refutation alike. A loop that can end
//! is taken to end.

use super::{Entry, SCOPES};
use crate::analysis::uniformity::graph::{NodeId, NodeMap, Op};
use crate::analysis::uniformity::lanes;
use crate::analysis::uniformity::regions::{Region, Regions};
use crate::module::{BlockIndex, BlockMap, Scope};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Bounds on the steps (blocks and values) of one invocation and of all.
const MOST_STEPS_OF_ONE: usize = 1 << 18;
const MOST_STEPS: usize = 1 << 22;

/// Steps of a witness that are kept.
const MOST_WITNESS: usize = 64;

/// Bits of a state: no barrier open, a barrier open. Both when it is not known.
const CLOSED: u8 = 1;
const OPEN: u8 = 2;

/// How often an invocation executes a site.
#[derive(Copy, Clone, Debug, Default)]
struct Count {
    /// At the least.
    least: u32,
    /// True if it is no more than that.
    exact: bool,
}

/// A rule of pairing that an invocation breaks in every execution.
#[derive(Clone, Debug)]
pub(in crate::validate) struct Violation {
    /// The invocation (LocalInvocationIndex), when it is one of a workgroup of known size.
    pub(in crate::validate) lane: Option<u32>,
    /// The blocks whose branches it took, with where to, and the sites that it passed: see
    /// [`Step`].
    pub(in crate::validate) steps: Vec<Step>,
    /// Steps before these.
    pub(in crate::validate) before: usize,
    /// True if it has executed a wait of the scope before.
    pub(in crate::validate) waited: bool,
}

/// A step of a witness.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::validate) enum Step {
    /// The branch at the end of the first block goes to the second.
    Branch(BlockIndex, BlockIndex),
    /// A site, by index.
    Site(usize),
    /// The branch at the end of the block is not decided; the run goes on where its ways meet.
    Gap(BlockIndex),
}

/// What the runs have shown.
#[derive(Clone, Debug, Default)]
pub(in crate::validate) struct Trace {
    /// By site: the most that one invocation executes it at the least, and which one.
    most: Vec<(u32, u32)>,
    /// By site: the least that one invocation executes it at the most, and which one.
    least: Vec<Option<(u32, u32)>>,
    /// True if all invocations of a workgroup have taken the same way past everything that decides
    /// about sites.
    alike: bool,
    /// By site: whether it lies in no gap and keeps its rule, in all runs.
    kept: Vec<bool>,
    broken: BTreeMap<usize, Violation>,
}

impl Trace {
    pub(in crate::validate) fn analyze(entry: &Entry<'_, '_>) -> Trace {
        let lanes = entry.size.and_then(lanes::count).filter(|lanes| *lanes > 0);
        let all = lanes.is_some_and(|lanes| lanes <= lanes::MOST_LANES);
        // Of workgroups that are too large, and of those of unknown size, some invocations can
        // refute; none can prove uniformity.
        let runs: Vec<u32> = match lanes {
            Some(lanes) if all => {
                // Spread out, so that a bound on work leaves no end of the workgroup out.
                let mut order: Vec<u32> = (0..lanes).collect();
                order.sort_by_key(|lane| (*lane + 1 != lanes, lane.reverse_bits()));
                order
            }
            Some(lanes) => vec![0, 1, lanes / 2, lanes - 1],
            None => vec![0],
        };
        let sites = entry.events.len();
        let mut trace = Trace {
            most: vec![(0, 0); sites],
            least: vec![None; sites],
            alike: all,
            kept: vec![all || lanes.is_none(); sites],
            broken: BTreeMap::new(),
        };
        let mut runner = Runner::new(entry, lanes.is_some());
        let mut first: Option<Vec<Step>> = None;
        for lane in runs {
            let Some(left) = runner.left.checked_sub(sites) else {
                trace.alike = false;
                trace.kept.fill(false);
                break;
            };
            runner.left = left;
            let run = runner.run(lane);
            trace.alike &= run.complete && run.uniform_gaps;
            match &first {
                None => first = Some(run.decisions),
                Some(first) => trace.alike &= *first == run.decisions,
            }
            for (site, count) in run.counts.iter().enumerate() {
                let exact = count.exact && run.complete;
                if count.least > trace.most[site].0 {
                    trace.most[site] = (count.least, lane);
                }
                if exact && trace.least[site].is_none_or(|(least, _)| count.least < least) {
                    trace.least[site] = Some((count.least, lane));
                }
                trace.kept[site] &= exact && !run.doubtful[site];
            }
            for (site, violation) in run.broken {
                trace.broken.entry(site).or_insert(violation);
            }
        }
        trace
    }

    /// Two invocations of one workgroup of which the first executes the site more often than the
    /// second, in every execution.
    pub(in crate::validate) fn differs(&self, site: usize) -> Option<(u32, u32)> {
        let (most, eager) = *self.most.get(site)?;
        let (least, other) = (*self.least.get(site)?)?;
        (most > least).then_some((eager, other))
    }

    /// Returns true if all invocations execute the site alike.
    pub(in crate::validate) fn is_alike(&self, site: usize) -> bool {
        self.alike
            && self
                .least
                .get(site)
                .copied()
                .flatten()
                .is_some_and(|(least, _)| {
                    self.most.get(site).is_some_and(|(most, _)| *most == least)
                })
    }

    /// Returns true if every execution of the site keeps the rules of pairing.
    pub(in crate::validate) fn is_kept(&self, site: usize) -> bool {
        self.kept.get(site).copied().unwrap_or(false)
    }

    /// How every execution breaks a rule of pairing at the site.
    pub(in crate::validate) fn violation(&self, site: usize) -> Option<&Violation> {
        self.broken.get(&site)
    }
}

/// One run.
struct Run {
    counts: Vec<Count>,
    /// Whether the state at the site was not known, or wrong, at some time.
    doubtful: Vec<bool>,
    decisions: Vec<Step>,
    uniform_gaps: bool,
    complete: bool,
    broken: BTreeMap<usize, Violation>,
}

struct Runner<'r, 'e, 'm> {
    entry: &'r Entry<'e, 'm>,
    sized: bool,
    regions: Regions<'r>,
    /// By block with a branch: its region, and whether a site lies in it; `None` once the bound is
    /// reached.
    known: BTreeMap<BlockIndex, Option<(Rc<Region>, bool)>>,
    /// By block with a branch, scope and states before it: the states where its ways meet.
    leaps: BTreeMap<(BlockIndex, usize, u8), u8>,
    needed: NodeMap<bool>,
    /// Needed nodes that are neither constants nor phis, by block.
    code: BlockMap<Vec<NodeId>>,
    values: NodeMap<Option<u64>>,
    left: usize,
}

impl<'r, 'e, 'm> Runner<'r, 'e, 'm> {
    fn new(entry: &'r Entry<'e, 'm>, sized: bool) -> Self {
        let graph = &entry.model.graph;
        let mut needed = NodeMap::filled(graph.nodes().len(), false);
        let mut work: Vec<NodeId> = entry
            .model
            .branches
            .values()
            .filter_map(|branch| branch.condition())
            .collect();
        while let Some(node) = work.pop() {
            if !std::mem::replace(&mut needed[node], true) {
                work.extend(&graph.node(node).args);
            }
        }
        let pick = |nodes: &Vec<NodeId>| {
            let mut picked: Vec<NodeId> = nodes.clone();
            picked.retain(|node| {
                needed[*node] && !matches!(graph.node(*node).op, Op::Number(_) | Op::Phi)
            });
            picked.sort_unstable(); // arguments are made before what uses them
            picked.dedup();
            picked
        };
        Runner {
            entry,
            sized,
            regions: Regions::analyze(
                &entry.model.cfg,
                &entry.model.post,
                (1 << 16) + 64 * entry.model.cfg.len(),
            ),
            known: BTreeMap::new(),
            leaps: BTreeMap::new(),
            code: entry.model.computed.values().map(pick).collect(),
            values: NodeMap::filled(graph.nodes().len(), None),
            needed,
            left: MOST_STEPS,
        }
    }

    fn region(&mut self, block: BlockIndex) -> Option<(Rc<Region>, bool)> {
        if let Some(known) = self.known.get(&block) {
            return known.clone();
        }
        let region = self
            .regions
            .region(&self.entry.model.cfg, block)
            .map(|region| {
                let sites = region
                    .blocks
                    .iter()
                    .any(|block| !self.entry.by_block[*block].is_empty());
                (Rc::new(region), sites)
            });
        self.known.insert(block, region.clone());
        region
    }

    /// The value of `node` in the invocation `lane`.
    fn value(&self, node: NodeId) -> Option<u64> {
        match self.entry.model.graph.node(node).op {
            Op::Number(bits) => Some(bits),
            _ => self.values[node],
        }
    }

    fn run(&mut self, lane: u32) -> Run {
        let entry = self.entry;
        let sites = entry.events.len();
        let mut run = Run {
            counts: vec![
                Count {
                    least: 0,
                    exact: true
                };
                sites
            ],
            doubtful: vec![false; sites],
            decisions: Vec::new(),
            uniform_gaps: true,
            complete: false,
            broken: BTreeMap::new(),
        };
        self.values.values_mut().for_each(|value| *value = None);
        let mut states = [CLOSED; 2];
        let mut waited = [false; 2];
        let mut block = BlockIndex::ENTRY;
        let mut from = None;
        let mut left = MOST_STEPS_OF_ONE;
        let cfg = &entry.model.cfg;
        if cfg.is_empty() {
            run.complete = true;
            return run;
        }
        loop {
            let cost = self.cost(block);
            let (Some(of_one), Some(of_all)) =
                (left.checked_sub(cost), self.left.checked_sub(cost))
            else {
                break;
            };
            (left, self.left) = (of_one, of_all);
            self.execute(block, from, lane);
            for site in &entry.by_block[block] {
                self.pass(*site, &mut run, &mut states, &mut waited, lane);
            }
            let succs = cfg.succs(block);
            let branch = &entry.model.branches[block];
            let next = match (succs, branch.condition()) {
                ([], _) => {
                    run.complete = true;
                    break;
                }
                ([next], _) => Some(*next),
                (_, condition) => condition
                    .and_then(|condition| self.value(condition))
                    .and_then(|value| branch.target(value))
                    .filter(|next| succs.contains(next)),
            };
            if let ([_, _, ..], Some(next)) = (succs, next) {
                // Regions are found for the branches that decide about sites; the others need none
                // to be followed.
                if self.region(block).is_none_or(|(_, sites)| sites) {
                    run.decisions.push(Step::Branch(block, next));
                }
            }
            if let Some(next) = next {
                from = Some(block);
                block = next;
                continue;
            }
            let Some((region, sites)) = self.region(block) else {
                break;
            };
            let cost = region.blocks.iter().map(|block| self.cost(*block)).sum();
            let (Some(of_one), Some(of_all)) =
                (left.checked_sub(cost), self.left.checked_sub(cost))
            else {
                break;
            };
            (left, self.left) = (of_one, of_all);
            if sites {
                run.decisions.push(Step::Gap(block));
                let uniform = branch
                    .condition()
                    .is_some_and(|condition| entry.uniformity.value(condition).is_none());
                run.uniform_gaps &= uniform;
                self.leap(block, &region, &mut run, &mut states, &mut waited);
            }
            self.forget(&region);
            match region.end {
                Some(end) => {
                    from = None;
                    block = end;
                }
                None => {
                    run.complete = true;
                    break;
                }
            }
        }
        run
    }

    /// What it costs to execute or to forget a block.
    fn cost(&self, block: BlockIndex) -> usize {
        let model = &self.entry.model;
        model.cfg.succs(block).len()
            + 1
            + self.code[block].len()
            + model.phis[block].len()
            + self.entry.by_block[block].len()
    }

    fn execute(&mut self, block: BlockIndex, from: Option<BlockIndex>, lane: u32) {
        let entry = self.entry;
        let graph = &entry.model.graph;
        // All phis take their values at once.
        let incoming = |phi: &NodeId| {
            let node = graph.node(*phi);
            let place = node.from.iter().position(|block| Some(*block) == from)?;
            self.value(*node.args.get(place)?)
        };
        let phis: Vec<(NodeId, Option<u64>)> = entry.model.phis[block]
            .iter()
            .filter(|phi| self.needed[**phi])
            .map(|phi| (*phi, incoming(phi)))
            .collect();
        for (phi, value) in phis {
            self.values[phi] = value;
        }
        let size = entry.size.filter(|_| self.sized);
        for place in 0..self.code[block].len() {
            let node = self.code[block][place];
            self.values[node] = lanes::evaluate(graph, node, size, lane, |arg| self.value(arg));
        }
    }

    fn pass(
        &self,
        site: usize,
        run: &mut Run,
        states: &mut [u8; 2],
        waited: &mut [bool; 2],
        lane: u32,
    ) {
        let Some(event) = self.entry.events.get(site) else {
            debug_assert!(false, "no site {site}");
            return;
        };
        run.counts[site].least += 1;
        run.decisions.push(Step::Site(site));
        if !event.pairs() {
            return;
        }
        let slot = usize::from(event.scope != Scope::Workgroup);
        let (good, after) = if event.arrives() {
            (CLOSED, OPEN)
        } else {
            (OPEN, CLOSED)
        };
        if states[slot] & good == 0 && !run.broken.contains_key(&site) {
            let before = run.decisions.len().saturating_sub(MOST_WITNESS);
            let violation = Violation {
                lane: self.sized.then_some(lane),
                steps: run.decisions.get(before..).unwrap_or(&[]).to_vec(),
                before,
                waited: waited[slot],
            };
            run.broken.insert(site, violation);
        }
        run.doubtful[site] |= states[slot] != good;
        states[slot] = after;
        waited[slot] |= event.waits();
    }

    /// What a region may do with sites.
    fn leap(
        &mut self,
        block: BlockIndex,
        region: &Region,
        run: &mut Run,
        states: &mut [u8; 2],
        waited: &mut [bool; 2],
    ) {
        let entry = self.entry;
        for inside in &region.blocks {
            for site in &entry.by_block[*inside] {
                run.counts[*site].exact = false;
                run.doubtful[*site] = true;
                if let Some(event) = entry.events.get(*site).filter(|event| event.waits()) {
                    waited[usize::from(event.scope != Scope::Workgroup)] = true;
                }
            }
        }
        for (slot, scope) in SCOPES.into_iter().enumerate() {
            let place = (block, slot, states[slot]);
            let after = match self.leaps.get(&place) {
                Some(after) => *after,
                None => self.after(block, region, scope, states[slot]),
            };
            self.leaps.insert(place, after);
            states[slot] = after;
        }
    }

    /// The states at the end of a region that is entered from `block` in one of `before`.
    fn after(&self, block: BlockIndex, region: &Region, scope: Scope, before: u8) -> u8 {
        let entry = self.entry;
        let last = |block: BlockIndex| {
            let sites = entry.by_block[block].iter().rev();
            let mut of_scope = sites
                .filter_map(|site| entry.events.get(*site))
                .filter(|event| event.scope == scope && event.pairs());
            of_scope
                .next()
                .map(|event| if event.arrives() { OPEN } else { CLOSED })
        };
        let mut at_start: BTreeMap<BlockIndex, u8> = BTreeMap::new();
        let mut end = 0;
        let mut work = vec![(block, before)];
        while let Some((from, state)) = work.pop() {
            for to in entry.model.cfg.succs(from) {
                if Some(*to) == region.end {
                    end |= state;
                    continue;
                }
                let known = at_start.entry(*to).or_default();
                let new = state & !*known;
                if new != 0 {
                    *known |= new;
                    work.push((*to, last(*to).unwrap_or(new)));
                }
            }
        }
        if end == 0 { before } else { end }
    }

    /// What the blocks of a region and the phis behind it give is not known any more.
    fn forget(&mut self, region: &Region) {
        let entry = self.entry;
        for block in &region.blocks {
            for node in self.code[*block].iter().chain(&entry.model.phis[*block]) {
                self.values[*node] = None;
            }
        }
    }
}
