//! Text for values, blocks and reasons.

use super::trace::Step;
use super::{Entry, Event};
use crate::analysis::uniformity::Cause;
use crate::analysis::uniformity::graph::{NodeId, Op, Source};
use crate::diagnostic::WitnessStep;
use crate::module::{Block, BlockIndex, BlockMap, Id};
use std::collections::{BTreeSet, VecDeque};

/// Most reasons of one chain.
const MOST_REASONS: usize = 8;
/// Nodes of one condition that are looked at.
const MOST_NODES: usize = 128;
/// Blocks that are looked at for one path.
const MOST_BLOCKS: usize = 1 << 10;
/// Most places of one witness; the last ones are kept.
const MOST_PLACES: usize = 24;

impl Entry<'_, '_> {
    fn named(&self, id: Id) -> String {
        match self.original.name(id) {
            Some(name) if !name.is_empty() => format!("{id} ({name})"),
            _ => id.to_string(), // it has no name
        }
    }

    /// The result of the instruction that first computes the value, in the module that was given.
    pub(in crate::validate) fn value_name(&self, node: NodeId) -> String {
        let node = self.model.graph.node(node);
        match node.op {
            Op::Constant(id) | Op::Variable(id) => return self.named(id),
            Op::Number(bits) => return bits.to_string(),
            _ => {} // an instruction computes it
        }
        match self
            .original
            .module
            .at(self.word(node.at))
            .and_then(|inst| inst.result())
        {
            Some(id) => self.named(id),
            None => "a value".to_owned(),
        }
    }

    /// The label of a block, in the module that was given when it is from there.
    pub(in crate::validate) fn block_name(&self, block: BlockIndex) -> String {
        let offset = self.function.block(block).map(|block| block.offset);
        let inst = offset.and_then(|offset| self.original.module.at(self.word(offset)));
        match inst
            .filter(|inst| inst.op() == Some(spirv::Op::Label))
            .and_then(|inst| inst.result())
        {
            Some(label) => label.to_string(),
            None => self.model.cfg.label(block).to_string(),
        }
    }

    /// The condition at the end of `block`.
    pub(in crate::validate) fn condition_name(&self, block: BlockIndex) -> String {
        let condition = self.model.condition(block);
        condition.map_or_else(
            || "a branch".to_owned(),
            |condition| self.value_name(condition),
        )
    }

    /// The specialization constants without a value that the condition at the end of `block`
    /// depends on.
    pub(in crate::validate) fn open_constants(&self, block: BlockIndex) -> Option<String> {
        let condition = self.model.condition(block)?;
        let graph = &self.model.graph;
        let mut seen = BTreeSet::new();
        let mut work = vec![condition];
        let mut open = BTreeSet::new();
        while let Some(node) = work.pop() {
            if seen.len() >= MOST_NODES || !seen.insert(node) {
                continue;
            }
            let node = graph.node(node);
            work.extend(&node.args);
            match node.op {
                Op::Constant(id) if self.constants.is_default(id) => open.insert(id),
                _ => false, // another value
            };
        }
        let names: Vec<String> = open.into_iter().map(|id| self.named(id)).collect();
        (!names.is_empty()).then(|| {
            format!(
                "the values of the specialization constants {} are unknown, and may differ from their defaults",
                names.join(", ")
            )
        })
    }

    /// The reasons why `block` is not uniform in the workgroup, down to their source.
    pub(in crate::validate) fn reasons_of_block(&self, block: BlockIndex) -> Vec<String> {
        match self.uniformity.block(block) {
            Some(cause) => {
                let first = format!(
                    "only some invocations of a workgroup execute block {}, or some execute it more often than others",
                    self.block_name(block)
                );
                self.chain(first, cause)
            }
            None => Vec::new(),
        }
    }

    /// A path on which the barrier of `event` is skipped, or executed less often: to the branch
    /// that makes its block non-uniform, and from there past the block.
    pub(in crate::validate) fn path_past(&self, event: &Event) -> Vec<WitnessStep> {
        let Some(Cause::Branch(branch)) = self.uniformity.block(event.block) else {
            return Vec::new();
        };
        let cfg = &self.model.cfg;
        let mut path = self.shortest(BlockIndex::ENTRY, |at| at == branch, None);
        let past = cfg.succs(branch).iter().filter(|to| **to != event.block);
        let ways = past.map(|to| self.shortest(*to, |at| cfg.is_exit(at), Some(event.block)));
        let way = ways.filter(|way| !way.is_empty()).min_by_key(Vec::len);
        let is_complete = way.is_some();
        path.extend(way.unwrap_or_default());
        let steps: Vec<Step> = path
            .windows(2)
            .filter_map(|pair| match *pair {
                [from, to] => self.model.condition(from).map(|_| Step::Branch(from, to)),
                _ => None, // a window has two
            })
            .filter(|step| matches!(step, Step::Branch(from, _) if cfg.succs(*from).len() > 1))
            .collect();
        let mut places = self.places(&steps, 0);
        if is_complete {
            places.push(
                "from here to the end, the invocation does not execute the barrier"
                    .to_owned()
                    .into(),
            );
        }
        places
    }

    /// A shortest path from `from` to a block that `is_end` picks, without the block `without`;
    /// empty when there is none.
    fn shortest(
        &self,
        from: BlockIndex,
        is_end: impl Fn(BlockIndex) -> bool,
        without: Option<BlockIndex>,
    ) -> Vec<BlockIndex> {
        let cfg = &self.model.cfg;
        let mut came_from: BlockMap<Option<BlockIndex>> = BlockMap::filled(cfg.len(), None);
        let mut work = VecDeque::from([from]);
        let mut seen = 0;
        while let Some(at) = work.pop_front() {
            if is_end(at) {
                let back =
                    std::iter::successors(Some(at), |at| came_from.get(*at).copied().flatten());
                let mut path: Vec<BlockIndex> = back.collect();
                path.reverse();
                return path;
            }
            seen += 1;
            if seen > MOST_BLOCKS {
                break; // there may be as many such paths as barriers
            }
            for to in cfg.succs(at) {
                if *to != from && Some(*to) != without && came_from[*to].is_none() {
                    came_from[*to] = Some(at);
                    work.push_back(*to);
                }
            }
        }
        Vec::new()
    }

    /// The reasons why `value` is not uniform, down to their source.
    fn chain(&self, first: String, mut cause: Cause) -> Vec<String> {
        let mut reasons = vec![first];
        let mut last_at = None;
        let mut seen = Vec::new();
        let mut subject: Option<NodeId> = None;
        while reasons.len() < MOST_REASONS && !seen.contains(&(subject, cause)) {
            seen.push((subject, cause));
            let (next, by) = match cause {
                Cause::Source => {
                    reasons.extend(subject.map(|node| self.source(node)));
                    break;
                }
                Cause::TooLarge => {
                    reasons.push("the function is larger than the limit of the analysis, so no value counts as uniform".to_owned());
                    break;
                }
                Cause::Value(node) => (Some(node), None),
                Cause::Branch(block) => (self.model.condition(block), Some(block)),
            };
            let Some(node) = next else { break };
            let at = self.model.graph.node(node).at;
            match (by, subject) {
                (Some(block), Some(value)) => reasons.push(format!(
                    "{} depends on the branch on {} in block {}",
                    self.value_name(value),
                    self.value_name(node),
                    self.block_name(block)
                )),
                (Some(block), None) => reasons.push(format!(
                    "it depends on the branch in block {}, whose condition {} is not uniform",
                    self.block_name(block),
                    self.value_name(node)
                )),
                (None, Some(value)) if last_at != Some(at) => {
                    reasons.push(format!(
                        "{} is not uniform because of {}",
                        self.value_name(value),
                        self.value_name(node)
                    ));
                }
                _ => {} // another part of the same instruction
            }
            last_at = Some(at);
            subject = Some(node);
            match self.uniformity.value(node) {
                Some(next) => cause = next,
                None => break,
            }
        }
        reasons
    }

    fn source(&self, node: NodeId) -> String {
        let name = self.value_name(node);
        match &self.model.graph.node(node).op {
            Op::Input(built_in, _) => match spirv::BuiltIn::from_u32(*built_in) {
                Some(known) => format!(
                    "{name} is loaded from {known:?}, which differs between the invocations of a workgroup"
                ),
                None => format!(
                    "{name} is loaded from an input that may differ between the invocations of a workgroup"
                ),
            },
            Op::Leaf(source) => match source {
                Source::Workgroup(variable) => format!(
                    "{name} is loaded from the workgroup variable {}, which may have been written since the last barrier of the workgroup",
                    self.named(*variable)
                ),
                Source::Memory(Some(variable)) => format!(
                    "{name} is loaded from {}, which the shader or another invocation may write",
                    self.named(*variable)
                ),
                Source::Memory(None) => {
                    format!("{name} is loaded from memory that other invocations may write")
                }
                Source::Atomic => format!(
                    "{name} is the result of an atomic instruction, which differs between invocations"
                ),
                Source::Group(_) => format!(
                    "{name} is the result of a group instruction, which has no single value for a workgroup"
                ),
                Source::Call(function) => format!(
                    "{name} is the result of the function {}, which reads more than its arguments",
                    self.named(*function)
                ),
                Source::Undefined => format!(
                    "{name} is undefined on some path, and an undefined value may differ between invocations"
                ),
                Source::Other(opcode) => format!(
                    "{name} is the result of an instruction (opcode {opcode}) whose result may differ between invocations"
                ),
                Source::Parameter | Source::QuietWorkgroup(_) => {
                    format!("{name} is the same for all invocations")
                }
            },
            _ => format!("{name} differs between invocations"),
        }
    }

    fn site_name(&self, site: usize) -> String {
        let Some(event) = self.events.get(site) else {
            return "a barrier".to_owned();
        };
        let word = self.word(event.offset);
        let name = self
            .original
            .module
            .at(word)
            .map_or_else(String::new, |inst| self.original.op_name(inst));
        format!(
            "{name} at word {word} in block {}",
            self.block_name(event.block)
        )
    }

    /// The places of a run, `before` more steps of which are not among `steps`.
    pub(in crate::validate) fn places(&self, steps: &[Step], before: usize) -> Vec<WitnessStep> {
        let cut = steps.len().saturating_sub(MOST_PLACES);
        let mut places = Vec::new();
        if cut + before > 0 {
            places.push(format!("{} earlier steps are not shown", cut + before).into());
        }
        places.extend(steps.iter().skip(cut).map(|step| self.place(step)));
        places
    }

    fn place(&self, step: &Step) -> WitnessStep {
        let branch = |block: BlockIndex, to: String| {
            let text = format!(
                "block {}: the branch on {} goes to {to}",
                self.block_name(block),
                self.condition_name(block)
            );
            let last = self.function.block(block).and_then(Block::terminator);
            WitnessStep {
                word: last.map(|last| self.word(last.offset)),
                ..text.into()
            }
        };
        match step {
            Step::Branch(block, to) => branch(*block, self.block_name(*to)),
            Step::Gap(block) => branch(*block, "any of its targets".to_owned()),
            Step::Site(site) => WitnessStep {
                word: self.events.get(*site).map(|event| self.word(event.offset)),
                ..self.site_name(*site).into()
            },
        }
    }

    /// The places of a path: its branches and the sites of the execution scope of `site`, up to
    /// that site; and how many steps are left out before them. A path may pass every site of the
    /// function, and there may be as many paths as sites: of the sites, those that can be shown are
    /// kept.
    pub(in crate::validate) fn path_steps(
        &self,
        blocks: &[BlockIndex],
        site: usize,
    ) -> (Vec<Step>, usize) {
        let mut steps = Vec::new(); // the last one first
        let mut before = 0;
        let mut left = MOST_PLACES;
        let Some(scope) = self.events.get(site).map(|event| event.scope) else {
            return (steps, before);
        };
        for (place, block) in blocks.iter().enumerate().rev() {
            let mut sites = self.by_block.get(*block).map_or(&[][..], Vec::as_slice);
            if let Some(next) = blocks.get(place + 1) {
                let branch = self.model.condition(*block);
                if self.model.cfg.succs(*block).len() > 1 && branch.is_some() {
                    steps.push(Step::Branch(*block, *next));
                }
            } else {
                let behind = sites.partition_point(|index| *index <= site);
                sites = sites.get(..behind).unwrap_or(&[]);
            }
            let of_scope = sites.iter().rev().filter_map(|index| {
                let event = self.events.get(*index)?;
                (event.scope == scope && event.pairs()).then_some((*index, event.rank))
            });
            for (index, rank) in of_scope {
                if left == 0 {
                    before += rank + 1;
                    break;
                }
                left -= 1;
                steps.push(Step::Site(index));
            }
        }
        steps.reverse();
        (steps, before)
    }
}
