//! Writes to workgroup memory inside of a window that race with reads after the wait.
//!
//! A pair orders what precedes the arrive with what follows the wait. A store between the two is
//! ordered with nothing that other invocations do after their wait. It is reported when a load
//! after the wait, with no barrier in between, reads an element that another invocation stores.
//! Elements are compared by the values of their indices, invocation by invocation; a part of an
//! index that the whole workgroup shares has to be the same value in both. In a loop without
//! barriers whose counters constants decide, an access touches the elements of all iterations.
//! Anything else is not reported.

use super::counted;
use super::race::is_barrier;
use super::{Entry, site};
use crate::analysis::loops::Loops;
use crate::analysis::pairing::Pair;
use crate::analysis::uniformity::graph::{NodeId, Op as Node};
use crate::analysis::uniformity::lanes::Fixed;
use crate::analysis::uniformity::memory::Memory;
use crate::analysis::uniformity::{Branch, Level, Model, SlicingCriterion, Uniformity, lanes};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::{BlockIndex, Id, Inst, Scope, WordOffset};
use spirv::{Op, StorageClass};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// Most stores of an entry point that are looked at.
const MOST_STORES: usize = 16;
/// Most loads that are compared with one store.
const MOST_LOADS: usize = 16;
/// Most nodes that the parts of one index have.
const MOST_TERMS: usize = 16;
/// Most values of one invocation that are computed for all of them.
const MOST_VALUES: usize = 1 << 20;
/// Most loops of a function that are looked at.
const MOST_LOOPS: usize = 64;
/// Longest chain of addresses.
const MOST_CHAINS: usize = 8;

/// An access of an element of a workgroup variable.
#[derive(Clone, Debug)]
struct Access {
    offset: WordOffset,
    block: BlockIndex,
    variable: Id,
    /// Indices from the variable to the element.
    indices: Vec<Id>,
}

impl Access {
    fn from_inst(entry: &Entry<'_, '_>, block: BlockIndex, inst: Inst<'_>) -> Option<Access> {
        let pointer = inst.id(0).ok()?;
        let mut at = pointer;
        let mut chains: Vec<Vec<Id>> = Vec::new();
        for _ in 0..MOST_CHAINS {
            let def = entry.declarations.module.def(at)?;
            if def.op()? == Op::Variable {
                let variable = entry.declarations.variable(at)?;
                if variable.class != StorageClass::Workgroup {
                    return None;
                }
                chains.reverse();
                return Some(Access {
                    offset: inst.offset,
                    block,
                    variable: at,
                    indices: chains.concat(),
                });
            }
            let chain = def.chain().filter(|chain| chain.base_type.is_none())?;
            // Another element than the first is a neighbour of the object that the pointer is to.
            let is_first = |element| entry.constants.as_u32(element) == Some(0);
            if !chain.element.is_none_or(is_first) {
                return None;
            }
            chains.push(chain.indexes.iter().map(|id| Id(*id)).collect());
            at = chain.base;
        }
        None
    }
}

/// A store, and the loads that nothing orders after it.
struct Candidate {
    store: Access,
    /// Loads, and whether a loop has gone back in between.
    loads: Vec<(Access, bool)>,
    /// The place of the wait.
    wait: WordOffset,
}

/// Where a walk is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    block: BlockIndex,
    waited: bool,
    went_back: bool,
}

pub(super) fn check(entry: &Entry<'_, '_>, diagnostics: &mut Diagnostics) {
    let Some(size) = entry.size else { return };
    if lanes::count(size).is_none_or(|count| !(2..=lanes::MOST_LANES).contains(&count)) {
        return;
    }
    let candidates = candidates(entry);
    if candidates.is_empty() {
        return;
    }
    let accesses = || {
        candidates.iter().flat_map(|candidate| {
            let loads = candidate.loads.iter().map(|(load, _)| load);
            loads.chain([&candidate.store])
        })
    };
    let indices: BTreeSet<Id> = accesses()
        .flat_map(|access| access.indices.clone())
        .collect();
    let blocks: BTreeSet<BlockIndex> = accesses().map(|access| access.block).collect();
    let (indices, blocks): (Vec<Id>, Vec<BlockIndex>) =
        (indices.into_iter().collect(), blocks.into_iter().collect());
    let memory = Memory::analyze(entry.declarations);
    let model = Model::with_values(
        entry.declarations,
        entry.constants,
        &memory,
        entry.function,
        entry.size,
        entry.model.cfg.clone(),
        SlicingCriterion {
            places: &blocks,
            values: &indices,
        },
    );
    let uniformity = Uniformity::analyze(&model, Level::Workgroup, entry.size);
    let values = Values {
        entry,
        size,
        loops: Loops::analyze(&model.cfg, MOST_LOOPS),
        model,
        uniformity,
        left: Cell::new(MOST_VALUES),
    };
    let mut elements: BTreeMap<WordOffset, Option<Elements>> = BTreeMap::new();
    for access in accesses() {
        let of = || values.elements(access);
        elements.entry(access.offset).or_insert_with(of);
    }
    let elements = |access: &Access| elements.get(&access.offset)?.as_ref();
    for candidate in &candidates {
        let Some(stored) = elements(&candidate.store) else {
            continue;
        };
        for (load, went_back) in &candidate.loads {
            let clash = elements(load)
                .filter(|_| !went_back || stored.shared.is_empty())
                .and_then(|loaded| stored.clash(loaded));
            if let Some((writer, reader)) = clash {
                report(entry, candidate, load, writer, reader, diagnostics);
                break;
            }
        }
    }
}

fn report(
    entry: &Entry<'_, '_>,
    candidate: &Candidate,
    load: &Access,
    writer: usize,
    reader: usize,
    diagnostics: &mut Diagnostics,
) {
    let variable = candidate.store.variable;
    let name = entry
        .original
        .name(variable)
        .filter(|name| !name.is_empty())
        .map_or_else(
            || variable.to_string(),
            |name| format!("{variable} ({name})"),
        );
    let message = format!(
        "the workgroup variable {name} is written between the arrive and the wait, and other invocations read it after the wait"
    );
    let mut problem = Diagnostic::warning(Code::WindowWrite, message)
        .at_word(entry.word(candidate.store.offset))
        .because(format!(
            "the load at word {} reads a value that another invocation writes here, but the pair orders only accesses before the arrive with accesses after the wait at word {}",
            entry.word(load.offset),
            entry.word(candidate.wait)
        ))
        .help("move the store before the arrive, or use memory that is not read before the next barrier");
    problem.witness = vec![
        format!("the invocation with LocalInvocationIndex {writer} writes an element").into(),
        format!("the invocation with LocalInvocationIndex {reader} reads that element").into(),
    ];
    diagnostics.push(problem);
}

/// The stores in windows, with the loads after the wait.
fn candidates(entry: &Entry<'_, '_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for pair in &entry.pairing.pairs {
        if pair.scope != Scope::Workgroup || pair.waits.is_empty() {
            continue;
        }
        for offset in &pair.window {
            let inst = entry.declarations.module.at(*offset);
            let Some(inst) = inst.filter(|inst| inst.op() == Some(Op::Store)) else {
                continue;
            };
            let Some(block) = block_of(entry, *offset) else {
                continue;
            };
            let Some(store) = Access::from_inst(entry, block, inst) else {
                continue;
            };
            if found.len() >= MOST_STORES || !seen.insert(*offset) {
                continue;
            }
            found.extend(walk(entry, pair, store));
        }
    }
    found
}

fn block_of(entry: &Entry<'_, '_>, offset: WordOffset) -> Option<BlockIndex> {
    let blocks = &entry.function.blocks;
    let behind = blocks.partition_point(|block| block.offset <= offset);
    let block = BlockIndex::new(behind.checked_sub(1)?);
    entry.model.cfg.is_reachable(block).then_some(block)
}

/// From the store to the pair's waits, and from there to loads of the variable, without another
/// barrier.
fn walk(entry: &Entry<'_, '_>, pair: &Pair, store: Access) -> Option<Candidate> {
    let waits: BTreeSet<WordOffset> = pair
        .waits
        .iter()
        .filter_map(|id| site(entry, *id))
        .map(|site| site.offset)
        .collect();
    let cfg = &entry.model.cfg;
    let first = Spot {
        block: store.block,
        waited: false,
        went_back: false,
    };
    let mut work = vec![(first, Some(store.offset))];
    let mut seen = BTreeSet::new();
    let mut loads: Vec<(Access, bool)> = Vec::new();
    let mut wait = None;
    while let Some((mut spot, from)) = work.pop() {
        let Some(code) = entry.function.block(spot.block) else {
            continue;
        };
        let passed = |from| code.insts.partition_point(|inst| inst.offset <= from);
        let start = from.map_or(0, passed);
        let mut goes_on = true;
        for inst in &code.insts[start..] {
            if is_barrier(*inst) {
                if spot.waited || !waits.contains(&inst.offset) {
                    goes_on = false;
                    break;
                }
                spot.waited = true;
                wait = wait.or(Some(inst.offset));
            } else if spot.waited && inst.op() == Some(Op::Load) && loads.len() < MOST_LOADS {
                let load = Access::from_inst(entry, spot.block, *inst);
                loads.extend(
                    load.filter(|load| load.variable == store.variable)
                        .map(|load| (load, spot.went_back)),
                );
            }
        }
        if !goes_on {
            continue;
        }
        for to in cfg.succs(spot.block) {
            let next = Spot {
                block: *to,
                waited: spot.waited,
                went_back: spot.went_back || cfg.order(*to) <= cfg.order(spot.block),
            };
            if seen.insert(next) {
                work.push((next, None));
            }
        }
    }
    let wait = wait.filter(|_| !loads.is_empty())?;
    Some(Candidate { store, loads, wait })
}

/// The elements that an access touches.
struct Elements {
    /// Of each index the parts that the workgroup shares, in order.
    shared: Vec<(usize, NodeId)>,
    /// The other parts, by invocation: one element for each time that it executes the access.
    own: Vec<Vec<Vec<u64>>>,
}

impl Elements {
    /// The invocations with their elements.
    fn each(&self) -> impl Iterator<Item = (usize, &Vec<u64>)> {
        let own = self.own.iter().enumerate();
        own.flat_map(|(lane, elements)| elements.iter().map(move |element| (lane, element)))
    }

    /// Two invocations, one of which has an element here that the other has there.
    fn clash(&self, other: &Elements) -> Option<(usize, usize)> {
        let depth = |elements: &Elements| {
            let first = elements.each().next();
            first.map_or(0, |(_, element)| element.len())
        };
        // An element of an element is a part of it.
        let depth = depth(self).min(depth(other));
        let cut = |shared: &[(usize, NodeId)]| -> Vec<(usize, NodeId)> {
            let parts = shared.iter().copied();
            parts.filter(|(index, _)| *index < depth).collect()
        };
        if cut(&self.shared) != cut(&other.shared) {
            return None;
        }
        let mut writers: BTreeMap<&[u64], Vec<usize>> = BTreeMap::new();
        for (lane, element) in self.each() {
            let of_element = writers.entry(&element[..depth]).or_default();
            if of_element.len() < 2 && of_element.last() != Some(&lane) {
                of_element.push(lane);
            }
        }
        other.each().find_map(|(reader, element)| {
            let writers = writers.get(&element[..depth])?;
            let writer = writers.iter().find(|writer| **writer != reader)?;
            Some((*writer, reader))
        })
    }
}

struct Values<'v, 'e, 'm> {
    entry: &'v Entry<'e, 'm>,
    size: [u32; 3],
    model: Model,
    uniformity: Uniformity,
    loops: Loops,
    /// Values that may still be computed.
    left: Cell<usize>,
}

impl Values<'_, '_, '_> {
    /// The elements of an access; `None` if they are not known.
    fn elements(&self, access: &Access) -> Option<Elements> {
        let executed = self.executed(access.block)?;
        let mut shared = Vec::new();
        let mut own: Vec<Vec<Vec<u64>>> = executed.iter().map(|_| Vec::new()).collect();
        for counters in self.iterations(access.block) {
            shared.clear();
            let mut indices = Vec::new();
            for (place, index) in access.indices.iter().enumerate() {
                indices.push(self.index(*index, place, &counters, &mut shared)?);
            }
            for (lane, elements) in own.iter_mut().enumerate() {
                if executed.get(lane) == Some(&true) {
                    let element = indices.iter().map(|each| each.get(lane).copied());
                    elements.push(element.collect::<Option<Vec<u64>>>()?);
                }
            }
        }
        shared.sort_unstable();
        Some(Elements { shared, own })
    }

    /// What the counters of the loop around `block` are, for each time that it is executed; once
    /// nothing where that is not known, or where barriers divide the iterations.
    fn iterations(&self, block: BlockIndex) -> Vec<Vec<Fixed>> {
        let function = self.entry.function;
        let has_barrier = |block: &BlockIndex| {
            let code = function.block(*block);
            code.is_some_and(|code| code.insts.iter().any(|inst| is_barrier(*inst)))
        };
        let around = self.loops.natural.iter().flatten();
        let innermost = around
            .filter(|one| one.body.contains(&block))
            .min_by_key(|one| one.body.len());
        innermost
            .filter(|one| !one.body.iter().any(has_barrier))
            .and_then(|one| counted::iterations(&self.model, &self.loops.dominators, one, block))
            .unwrap_or_else(|| vec![Vec::new()])
    }

    /// The part of an index that each invocation has for itself; the others go to `shared`.
    fn index(
        &self,
        index: Id,
        place: usize,
        counters: &[Fixed],
        shared: &mut Vec<(usize, NodeId)>,
    ) -> Option<Vec<u64>> {
        let count = lanes::count(self.size)? as usize;
        if let Some(value) = self.entry.constants.as_u32(index) {
            return Some(vec![u64::from(value); count]);
        }
        let graph = &self.model.graph;
        let mut own = vec![0u64; count];
        let first = self.model.value(index)?;
        let width = graph.node(first).width;
        let mut work = vec![first];
        let mut terms = 0;
        while let Some(term) = work.pop() {
            terms += 1;
            if terms > MOST_TERMS || graph.node(term).width != width {
                return None;
            }
            self.left.set(self.left.get().checked_sub(count)?);
            if let Some(each) = lanes::of_each_where(graph, term, self.size, counters) {
                for (own, value) in own.iter_mut().zip(each) {
                    *own = own.wrapping_add(value);
                }
                continue;
            }
            let node = graph.node(term);
            match (&node.op, &node.args[..]) {
                (Node::Pure(op, _), args) if *op == Op::IAdd as u16 => work.extend(args),
                // What is subtracted has to be known, so that every part is a sum.
                (Node::Pure(op, _), [whole, part]) if *op == Op::ISub as u16 => {
                    let each = lanes::of_each_where(graph, *part, self.size, counters)?;
                    for (own, value) in own.iter_mut().zip(each) {
                        *own = own.wrapping_sub(value);
                    }
                    work.push(*whole);
                }
                _ if self.uniformity.value(term).is_none() => shared.push((place, term)),
                _ => return None, // each invocation has a value that is not known
            }
        }
        if (1..64).contains(&width) {
            own.iter_mut().for_each(|own| *own &= (1 << width) - 1);
        }
        Some(own)
    }

    /// For each invocation whether it executes `block` whenever the others execute theirs; `None`
    /// if that is not known.
    fn executed(&self, block: BlockIndex) -> Option<Vec<bool>> {
        let count = lanes::count(self.size)? as usize;
        if self.uniformity.block(block).is_none() {
            return Some(vec![true; count]);
        }
        let [from] = *self.model.cfg.preds(block) else {
            return None;
        };
        let Some(Branch::If { condition, yes, no }) = self.model.branches.get(from) else {
            return None;
        };
        if yes == no || self.uniformity.block(from).is_some() {
            return None;
        }
        let each = lanes::of_each(&self.model.graph, *condition, self.size)?;
        let is_taken = |value: u64| (value != 0) == (*yes == block);
        Some(each.into_iter().map(is_taken).collect())
    }
}
