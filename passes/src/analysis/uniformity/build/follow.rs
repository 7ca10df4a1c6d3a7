//! Calls whose results are made of the callee's expressions: small functions without loops that
//! compute, load and store.
//!
//! Where paths of the callee meet, values are selected by the conditions of the edges, so that a
//! result has a value for each invocation, as without the call.

use super::{Builder, Undo};
use crate::analysis::cfg::Cfg;
use crate::analysis::uniformity::graph::{NodeId, Source};
use crate::analysis::uniformity::{memory, promote, scalar_width};
use crate::module::{Block, BlockIndex, BlockMap, Declarations, Function, Id, Inst};
use spirv::{Op, StorageClass};

/// Most calls that are inside of each other.
const MOST_DEPTH: usize = 8;
/// Most blocks of a callee.
const MOST_BLOCKS: usize = 32;
/// Most values of variables that are kept for the blocks of a callee.
const MOST_KEPT: usize = 1 << 12;

/// A path that leads to a place: when it is taken, and the variables at its end.
struct Way {
    /// The block that it comes from.
    from: BlockIndex,
    /// A condition that is true if it is taken and the callee's path so far too; `None`: always.
    taken: Option<NodeId>,
    current: Vec<NodeId>,
}

/// What a followed call gives.
pub(super) struct Followed {
    /// The result, if the callee returns one.
    pub(super) result: Option<NodeId>,
}

impl<'m> Builder<'_, 'm> {
    /// Returns true while a call is followed: instructions are then those of a callee.
    pub(super) fn is_in_callee(&self) -> bool {
        !self.calls.inside.is_empty()
    }

    /// Follows a call of `function`; `None` if its result is not that of expressions.
    pub(super) fn follow(
        &mut self,
        function: Id,
        arguments: &[u32],
        undo: &mut Undo,
    ) -> Option<Followed> {
        let input = self.input;
        let callee = input.declarations.function(function)?;
        if self.calls.inside.len() >= MOST_DEPTH
            || self.calls.inside.contains(&function)
            || callee.params.len() != arguments.len()
        {
            return None;
        }
        let cfg = self
            .calls
            .callees
            .entry(function)
            .or_insert_with(|| graph(input.declarations, callee))
            .clone()?;
        let size = callee.blocks.iter().map(|block| block.insts.len()).sum();
        self.calls.left = self.calls.left.checked_sub(size)?;
        if cfg.len() > 1 && cfg.len() * self.current.len() > MOST_KEPT {
            return None;
        }
        for ((parameter, _), argument) in callee.params.iter().zip(arguments) {
            let value = self.value(Id(*argument));
            self.values.insert(*parameter, value);
        }
        self.calls.inside.push(function);
        let before = self.current.clone();
        let followed = self.body(callee, &cfg);
        self.calls.inside.pop();
        let after = std::mem::replace(&mut self.current, before);
        // The callee's own variables are new in it, and nothing reads them afterwards.
        for (index, value) in after.into_iter().enumerate() {
            match self.current.get(index) {
                Some(old) if *old == value => {}
                Some(_) => self.assign(index, value, undo),
                None => self.current.push(value),
            }
        }
        let params = callee.params.iter().map(|(id, _)| *id);
        let results = callee.insts().filter_map(|inst| inst.result());
        for id in params.chain(results) {
            self.values.remove(&id);
        }
        Some(followed)
    }

    /// Reads the blocks of `callee`; leaves the variables as they are after it.
    fn body(&mut self, callee: &Function<'m>, cfg: &Cfg) -> Followed {
        let mut ways: BlockMap<Vec<Way>> = cfg.blocks().map(|_| Vec::new()).collect();
        let mut ends: Vec<(Way, Option<NodeId>)> = Vec::new();
        for block in cfg.reverse_postorder() {
            let Some(code) = callee.block(*block) else {
                continue;
            };
            let incoming = std::mem::take(&mut ways[*block]);
            let reached = if *block == BlockIndex::ENTRY {
                None
            } else {
                self.meet(&incoming)
            };
            self.instructions(code, cfg, &incoming);
            let end = code.terminator();
            let operands = end.map_or(&[][..], |end| end.operands());
            let op = end.and_then(|end| end.op());
            let mut lead = |builder: &Self, to: &u32, taken: Option<NodeId>| {
                if let Some(to) = cfg.index_of(Id(*to)) {
                    ways[to].push(Way {
                        from: *block,
                        taken,
                        current: builder.current.clone(),
                    });
                }
            };
            match (op, operands) {
                (Some(Op::Branch), [to]) => lead(self, to, reached),
                (Some(Op::BranchConditional), [_, yes, no, ..]) if yes == no => {
                    lead(self, yes, reached);
                }
                (Some(Op::BranchConditional), [condition, yes, no, ..]) => {
                    let condition = self.value(Id(*condition));
                    let not = self.logic(Op::LogicalNot, vec![condition]);
                    for (to, condition) in [(yes, condition), (no, not)] {
                        let taken = self.and(reached, condition);
                        lead(self, to, Some(taken));
                    }
                }
                (Some(Op::Switch), [selector, default, cases @ ..]) => {
                    let selector = self.value(Id(*selector));
                    let mut others = reached;
                    for case in cases.chunks_exact(2) {
                        let [literal, to] = case else { continue };
                        let is = self.is_case(selector, *literal);
                        let taken = self.and(reached, is);
                        lead(self, to, Some(taken));
                        let not = self.logic(Op::LogicalNot, vec![is]);
                        others = Some(self.and(others, not));
                    }
                    lead(self, default, others);
                }
                (_, value) => {
                    let value = value.first().map(|value| self.value(Id(*value)));
                    let way = Way {
                        from: *block,
                        taken: reached,
                        current: self.current.clone(),
                    };
                    ends.push((way, value));
                }
            }
        }
        let width = scalar_width(self.input.declarations, callee.result_type);
        let values: Option<Vec<(Option<NodeId>, NodeId)>> = ends
            .iter()
            .map(|(way, value)| Some((way.taken, (*value)?)))
            .collect();
        let ends: Vec<Way> = ends.into_iter().map(|(way, _)| way).collect();
        self.meet(&ends);
        Followed {
            result: values.and_then(|values| self.choose(&values, width)),
        }
    }

    fn instructions(&mut self, code: &Block<'m>, cfg: &Cfg, incoming: &[Way]) {
        let mut undo = Vec::new(); // the caller keeps what was before
        for inst in &code.insts {
            match inst.op() {
                Some(Op::Variable) => self.local(*inst),
                Some(Op::Phi) => {
                    let width = inst
                        .result_type()
                        .map_or(0, |ty| scalar_width(self.input.declarations, ty));
                    let mut values = Vec::new();
                    for way in incoming {
                        let mut pairs = inst.operands().chunks_exact(2);
                        let is_from = |pair: &&[u32]| {
                            let from = pair.get(1).and_then(|from| cfg.index_of(Id(*from)));
                            from == Some(way.from)
                        };
                        if let Some([value, _]) = pairs.find(is_from) {
                            values.push((way.taken, self.value(Id(*value))));
                        }
                    }
                    if let Some(value) = self.choose(&values, width) {
                        self.keep(*inst, value);
                    }
                }
                Some(
                    Op::Branch
                    | Op::BranchConditional
                    | Op::Switch
                    | Op::SelectionMerge
                    | Op::Return
                    | Op::ReturnValue,
                ) => {}
                _ => self.inst(*inst, &mut undo),
            }
        }
    }

    /// A variable of the callee, with its value at the start.
    fn local(&mut self, inst: Inst<'m>) {
        let Some(id) = inst.result() else { return };
        let initial = match inst.operands().get(1) {
            Some(initializer) => self.value(Id(*initializer)),
            None => {
                let at = self.at;
                self.graph.leaf(Source::Undefined, Vec::new(), 0, at)
            }
        };
        let place = self.promoted.index(id).unwrap_or_else(|| {
            let width = promote::width(self.input.declarations, id);
            self.promoted.add_local(id, width)
        });
        // On another path the variable may have been met before.
        let len = self.current.len().max(place + 1);
        self.current.resize(len, initial);
        self.current[place] = initial;
    }

    /// Makes the variables what they are where `ways` meet; the condition that one is taken.
    fn meet(&mut self, ways: &[Way]) -> Option<NodeId> {
        let first = ways.first()?;
        let len = ways.iter().map(|way| way.current.len()).min().unwrap_or(0);
        let mut current = first.current.clone();
        for (index, value) in current.iter_mut().enumerate().take(len) {
            let values: Vec<_> = ways
                .iter()
                .map(|way| (way.taken, way.current[index]))
                .collect();
            let width = self.promoted.widths.get(index).copied().unwrap_or(0);
            *value = self.choose(&values, width).unwrap_or(*value);
        }
        // Those that are longer have variables of the callee that the others have not met.
        let longest = ways.iter().max_by_key(|way| way.current.len());
        let rest = longest.and_then(|way| way.current.get(current.len()..));
        current.extend(rest.unwrap_or(&[]));
        self.current = current;
        let mut reached = first.taken?;
        for way in &ways[1..] {
            reached = self.logic(Op::LogicalOr, vec![reached, way.taken?]);
        }
        Some(reached)
    }

    /// The one of `values` whose condition is true.
    fn choose(&mut self, values: &[(Option<NodeId>, NodeId)], width: u32) -> Option<NodeId> {
        let ((_, last), others) = values.split_last()?;
        let mut chosen = *last;
        for (taken, value) in others.iter().rev() {
            chosen = match taken {
                Some(taken) => self.select(*taken, *value, chosen, width),
                None => *value,
            };
        }
        Some(chosen)
    }

    fn select(&mut self, condition: NodeId, yes: NodeId, no: NodeId, width: u32) -> NodeId {
        use crate::analysis::uniformity::graph::Op as Node;
        if yes == no {
            return yes;
        }
        let [of_yes, of_no] = [yes, no].map(|node| self.graph.node(node));
        if of_yes.op == Node::Composite
            && of_no.op == Node::Composite
            && of_yes.args.len() == of_no.args.len()
        {
            let pairs: Vec<_> = of_yes
                .args
                .iter()
                .copied()
                .zip(of_no.args.clone())
                .collect();
            let parts = pairs
                .into_iter()
                .map(|(yes, no)| {
                    let width = self.graph.node(yes).width;
                    if yes == no {
                        yes
                    } else {
                        self.selected(condition, yes, no, width)
                    }
                })
                .collect();
            return self.graph.make(Node::Composite, parts, 0);
        }
        self.selected(condition, yes, no, width)
    }

    fn selected(&mut self, condition: NodeId, yes: NodeId, no: NodeId, width: u32) -> NodeId {
        self.graph.pure(
            Op::Select as u16,
            Vec::new(),
            vec![condition, yes, no],
            width,
        )
    }

    /// Returns true if `selector`, of at most 32 bits, is `literal`.
    fn is_case(&mut self, selector: NodeId, literal: u32) -> NodeId {
        let width = self.graph.node(selector).width;
        let bits = u64::from(literal) & ((1 << width.min(32)) - 1);
        let literal = self.graph.number(bits, width);
        self.logic(Op::IEqual, vec![selector, literal])
    }

    fn and(&mut self, reached: Option<NodeId>, condition: NodeId) -> NodeId {
        match reached {
            Some(reached) => self.logic(Op::LogicalAnd, vec![reached, condition]),
            None => condition,
        }
    }

    fn logic(&mut self, op: Op, args: Vec<NodeId>) -> NodeId {
        self.graph.pure(op as u16, Vec::new(), args, 1)
    }
}

/// The graph of `callee`, if it has no loops and nothing but instructions that can be followed.
fn graph(declarations: &Declarations<'_>, callee: &Function<'_>) -> Option<Cfg> {
    if callee.blocks.is_empty() || callee.blocks.len() > MOST_BLOCKS {
        return None;
    }
    let cfg = Cfg::analyze(declarations.module, callee);
    let is_followed = |block: BlockIndex, code: &Block<'_>| {
        let is_forward = |to: &BlockIndex| cfg.order(*to) > cfg.order(block);
        !cfg.is_reachable(block)
            || cfg.succs(block).iter().all(is_forward)
                && code
                    .insts
                    .iter()
                    .all(|inst| can_follow(declarations, *inst))
    };
    let mut blocks = callee.numbered();
    blocks
        .all(|(block, code)| is_followed(block, code))
        .then_some(cfg)
}

fn can_follow(declarations: &Declarations<'_>, inst: Inst<'_>) -> bool {
    let class_of = |id: u32| memory::class_of(declarations, Id(id));
    let makes_pointer = inst.result().is_some_and(|id| class_of(id.0).is_some());
    match (inst.op(), inst.operands()) {
        (Some(Op::Variable), [class, ..]) => *class == StorageClass::Function as u32,
        (Some(Op::Load), _) => !makes_pointer,
        (Some(Op::Store), [_, value, ..]) => class_of(*value).is_none(),
        (Some(Op::AccessChain | Op::InBoundsAccessChain), _) => true,
        (Some(Op::FunctionCall), _) => !makes_pointer,
        (
            Some(
                Op::Branch
                | Op::BranchConditional
                | Op::SelectionMerge
                | Op::Return
                | Op::ReturnValue
                | Op::Line
                | Op::NoLine,
            ),
            operands,
        ) => operands.iter().all(|id| class_of(*id).is_none()),
        (Some(Op::Switch), [selector, ..]) => {
            let ty = declarations.type_of(Id(*selector));
            let width = ty.map_or(0, |ty| scalar_width(declarations, ty));
            (1..=32).contains(&width) // a literal is one word
        }
        (Some(Op::Phi | Op::ExtInst), operands) => {
            !makes_pointer && operands.iter().all(|id| class_of(*id).is_none())
        }
        (Some(_), _) => {
            inst.facts().is_pure()
                && !makes_pointer
                && declarations
                    .module
                    .ids(inst)
                    .all(|(_, id)| class_of(id.0).is_none())
        }
        (None, _) => false,
    }
}
