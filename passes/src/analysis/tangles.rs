//! Finds the places where the invocations of a tangle reconverge in structured control flow
//! (SPV_KHR_maximal_reconvergence), and computes control flow in which they do.
//!
//! An invocation that leaves a construct other than by its merge block (a break, a continue, a
//! return) escapes. In [`Tangles`] it does not jump to its goal: it notes the goal, and goes
//! through a [`Join`] of each construct that it leaves. So all invocations that entered a joined
//! construct together come to its join, and a loop has one exit, its latch.
//!
//! The parts of a function:
//!
//! - each selection has the join [`Join::Merge`], before its merge block;
//! - each loop has [`Join::Continue`] before its continue target, [`Join::Latch`] on its back edge,
//!   and [`Join::Merge`] before its merge block;
//! - the function has [`Join::Return`].

use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::Dominators;
use crate::module::{BlockIndex, BlockMap, Function, Id};
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};

/// The constructs that get joins.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Joined {
    /// Loops alone: what is between is executed once for all invocations that come there.
    Loops,
    /// All whose invocations may differ.
    All,
}

/// The properties of a block that depend on other invocations.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// It has an instruction on the tangle.
    pub tangled: bool,
    /// It reads what other invocations may write at the same time.
    pub observes: bool,
    /// Invocations of one subgroup may execute it apart.
    pub divergent: bool,
    /// Its branch may lead invocations of one tangle to several successors.
    pub branches: bool,
}

/// Control flow is not structured: there are no merge instructions.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Unstructured;

/// A construct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Construct {
    /// The block with its merge instruction.
    pub header: BlockIndex,
    /// Its merge block; `None` where control does not reach it.
    pub merge: Option<BlockIndex>,
    /// The continue target of a loop, if that is another block than the header.
    continues: Option<BlockIndex>,
    /// It is a loop.
    pub is_loop: bool,
    parent: Option<Part>,
    /// It has joins.
    pub joined: bool,
}

/// A part of a construct: all of it, but for the continue construct of a loop, which is a part for
/// itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Part {
    construct: usize,
    continues: bool,
}

/// The destination of an invocation that leaves a construct.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Goal {
    /// The merge block of this construct.
    Merge(usize),
    /// The continue target of this loop.
    Continue(usize),
    /// The header of this loop, once more.
    Back(usize),
    /// The end of the function.
    Return,
}

impl Goal {
    fn construct(self) -> Option<usize> {
        match self {
            Goal::Merge(construct) | Goal::Continue(construct) | Goal::Back(construct) => {
                Some(construct)
            }
            Goal::Return => None,
        }
    }

    /// A number that no other goal of the function has.
    pub fn code(self) -> u32 {
        let (construct, kind) = match self {
            Goal::Return => return 0,
            Goal::Merge(construct) => (construct, 1),
            Goal::Continue(construct) => (construct, 2),
            Goal::Back(construct) => (construct, 3),
        };
        // A function has fewer constructs than a module has words.
        construct as u32 * 3 + kind
    }
}

/// A place where invocations meet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Join {
    /// Before the merge block of this construct.
    Merge(usize),
    /// Before the continue target of this loop.
    Continue(usize),
    /// On the back edge of this loop.
    Latch(usize),
    /// At the end of the function.
    Return,
}

/// A place to which control goes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// To a block.
    Block(BlockIndex),
    /// To a join.
    Join(Join),
}

/// The continuation after a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The goal of those that have come where they want to be, and the block; [`Join::Return`] has
    /// none.
    pub own: Option<(Goal, BlockIndex)>,
    /// The destinations of the others.
    pub others: Vec<(Goal, Place)>,
}

/// Control flow with joins.
#[derive(Clone, Debug)]
pub struct Tangles {
    /// The constructs; one is after those that it is in.
    pub constructs: Vec<Construct>,
    /// The joins, in order.
    pub joins: BTreeMap<Join, Dispatch>,
    /// The innermost part that a block's branch leaves.
    inner: BlockMap<Option<Part>>,
    /// The edges that leave a part.
    goals: BTreeMap<(BlockIndex, BlockIndex), Goal>,
    all: bool,
    dominators: Dominators,
}

impl Tangles {
    /// The control flow of `function`, of which `cfg` is the graph and `facts` has the blocks;
    /// `None` where nothing needs a join.
    ///
    /// # Errors
    /// Where control flow is not structured.
    pub fn analyze(
        function: &Function<'_>,
        cfg: &Cfg,
        facts: &BlockMap<Facts>,
        joined: Joined,
    ) -> Result<Option<Tangles>, Unstructured> {
        let mut parts = Parts::analyze(function, cfg).ok_or(Unstructured)?;
        if joined == Joined::All && !parts.has_merges(cfg, facts) {
            return Err(Unstructured);
        }
        parts.choose(cfg, facts, joined);
        let joins = parts.constructs.iter().any(|construct| construct.joined);
        Ok(joins.then(|| parts.finish(cfg, joined)))
    }

    /// The place to which the edge from block `from` to block `to` leads, and its goal.
    pub fn edge(&self, from: BlockIndex, to: BlockIndex) -> (Place, Option<Goal>) {
        match self.goals.get(&(from, to)) {
            None => (Place::Block(to), None),
            Some(goal) => (self.route(self.part(from), *goal, to), Some(*goal)),
        }
    }

    /// The join to which the return at the end of `from` leads, if there is one.
    pub fn at_return(&self, from: BlockIndex) -> Option<Join> {
        match self.leave(self.part(from), Goal::Return) {
            Some(Place::Join(join)) if join != Join::Return => Some(join),
            _ => None,
        }
    }

    /// The construct of which `block` is the header.
    pub fn headed_by(&self, block: BlockIndex) -> Option<usize> {
        let construct = self.part(block)?.construct;
        (self.constructs.get(construct)?.header == block).then_some(construct)
    }

    /// Returns true if the innermost construct that `block` is in has joins.
    pub fn is_joined(&self, block: BlockIndex) -> bool {
        self.part(block)
            .and_then(|part| self.constructs.get(part.construct))
            .is_some_and(|construct| construct.joined)
    }

    /// The loop that the edge from `from` to `to` enters, if it enters one.
    pub fn enters(&self, from: BlockIndex, to: BlockIndex) -> Option<usize> {
        let construct = self.headed_by(to)?;
        let is_back = self.goals.get(&(from, to)) == Some(&Goal::Back(construct));
        (self.constructs.get(construct)?.is_loop && !is_back).then_some(construct)
    }

    /// Returns true if block `over` dominates `block` in the control flow with joins.
    pub fn dominates(&self, over: BlockIndex, block: BlockIndex) -> bool {
        self.dominators.dominates(over, block)
    }

    fn part(&self, block: BlockIndex) -> Option<Part> {
        self.inner.get(block).copied().flatten()
    }

    fn route(&self, from: Option<Part>, goal: Goal, block: BlockIndex) -> Place {
        self.leave(from, goal).unwrap_or(Place::Block(block))
    }

    /// The first join on the way out of `from`; `None` where there is none.
    fn leave(&self, mut from: Option<Part>, goal: Goal) -> Option<Place> {
        loop {
            let Some(part) = from else {
                return (goal == Goal::Return).then_some(Place::Join(Join::Return));
            };
            let construct = self.constructs.get(part.construct)?;
            let is_here = goal.construct() == Some(part.construct);
            if construct.joined {
                let has_join = self.all && construct.continues.is_some();
                return match goal {
                    _ if !construct.is_loop => Some(Place::Join(Join::Merge(part.construct))),
                    Goal::Continue(_) if is_here && !has_join => None,
                    Goal::Back(_) if is_here => Some(Place::Join(Join::Latch(part.construct))),
                    _ if has_join && !part.continues => {
                        Some(Place::Join(Join::Continue(part.construct)))
                    }
                    _ => Some(Place::Join(Join::Latch(part.construct))),
                };
            }
            if is_here {
                return None;
            }
            from = construct.parent;
        }
    }

    /// What the goals that come to `join` lead to.
    fn after(&self, join: Join, goal: Goal) -> Option<Place> {
        match join {
            Join::Return => None,
            Join::Continue(construct) if goal != Goal::Continue(construct) => {
                Some(Place::Join(Join::Latch(construct)))
            }
            Join::Latch(construct) if goal != Goal::Back(construct) => {
                Some(Place::Join(Join::Merge(construct)))
            }
            Join::Merge(construct) if goal != Goal::Merge(construct) => {
                let parent = self.constructs.get(construct)?.parent;
                let block = self.block_of(goal);
                match self.leave(parent, goal) {
                    Some(place) => Some(place),
                    None => block.map(Place::Block),
                }
            }
            _ => self.block_of(goal).map(Place::Block),
        }
    }

    fn block_of(&self, goal: Goal) -> Option<BlockIndex> {
        let construct = self.constructs.get(goal.construct()?)?;
        match goal {
            Goal::Merge(_) => construct.merge,
            Goal::Continue(_) => construct.continues,
            Goal::Back(_) => Some(construct.header),
            Goal::Return => None,
        }
    }
}

/// The constructs of a function, while joins are chosen.
struct Parts {
    constructs: Vec<Construct>,
    /// The part that a block is in, and the one that its branch leaves.
    outer: BlockMap<Option<Option<Part>>>,
    inner: BlockMap<Option<Part>>,
    goals: BTreeMap<(BlockIndex, BlockIndex), Goal>,
}

impl Parts {
    fn analyze(function: &Function<'_>, cfg: &Cfg) -> Option<Parts> {
        let count = cfg.len();
        let mut parts = Parts {
            constructs: Vec::new(),
            outer: BlockMap::filled(count, None),
            inner: BlockMap::filled(count, None),
            goals: BTreeMap::new(),
        };
        let reached = |label: u32| {
            let block = cfg.index_of(Id(label))?;
            cfg.is_reachable(block).then_some(block)
        };
        let mut work = vec![(BlockIndex::ENTRY, None)];
        while let Some((block, outer)) = work.pop() {
            match parts.outer.get_mut(block)? {
                Some(known) if *known == outer => continue,
                Some(_) => return None, // entered from two parts
                slot => *slot = Some(outer),
            }
            let merge = function.block(block)?.insts.iter().rev().nth(1);
            let merge = merge.and_then(|inst| match (inst.op()?, inst.operands()) {
                (Op::SelectionMerge, [merge, ..]) => Some((*merge, None)),
                (Op::LoopMerge, [merge, continues, ..]) => Some((*merge, Some(*continues))),
                _ => None,
            });
            let mut inner = outer;
            if let Some((merge, continues)) = merge {
                let construct = parts.constructs.len();
                let target = continues.and_then(reached).filter(|to| *to != block);
                let merge = reached(merge);
                inner = Some(Part {
                    construct,
                    continues: false,
                });
                work.extend(merge.map(|merge| (merge, outer)));
                let continue_part = Part {
                    construct,
                    continues: true,
                };
                work.extend(target.map(|target| (target, Some(continue_part))));
                parts.constructs.push(Construct {
                    header: block,
                    merge,
                    continues: target,
                    is_loop: continues.is_some(),
                    parent: outer,
                    joined: false,
                });
            }
            *parts.inner.get_mut(block)? = inner;
            for next in cfg.succs(block) {
                match parts.goal(inner, *next) {
                    Some(goal) => {
                        parts.goals.insert((block, *next), goal);
                    }
                    None => work.push((*next, inner)),
                }
                let is_back = matches!(parts.goals.get(&(block, *next)), Some(Goal::Back(_)));
                if !is_back && cfg.order(*next) <= cfg.order(block) {
                    return None; // a cycle without a loop header
                }
            }
        }
        Some(parts)
    }

    /// What an edge from `part` to `block` leaves, if it leaves anything.
    fn goal(&self, part: Option<Part>, block: BlockIndex) -> Option<Goal> {
        self.around(part).find_map(|part| {
            let construct = self.constructs.get(part.construct)?;
            if construct.is_loop && construct.header == block {
                Some(Goal::Back(part.construct))
            } else if construct.merge == Some(block) {
                Some(Goal::Merge(part.construct))
            } else if !part.continues && construct.continues == Some(block) {
                Some(Goal::Continue(part.construct))
            } else {
                None
            }
        })
    }

    /// `part` and those that it is in, innermost first.
    fn around(&self, part: Option<Part>) -> impl Iterator<Item = Part> {
        let parent = |part: &Part| self.constructs.get(part.construct)?.parent;
        std::iter::successors(part, parent)
    }

    /// Returns true if every branch that may part a tangle has a merge block or leaves a construct.
    fn has_merges(&self, cfg: &Cfg, facts: &BlockMap<Facts>) -> bool {
        let is_header = |block: BlockIndex| {
            let part = self.inner.get(block).copied().flatten();
            part.and_then(|part| self.constructs.get(part.construct))
                .is_some_and(|construct| !construct.is_loop && construct.header == block)
        };
        cfg.reverse_postorder().iter().all(|block| {
            let stays = |next: &&BlockIndex| !self.goals.contains_key(&(*block, **next));
            let parts = facts.get(*block).is_some_and(|facts| facts.branches);
            !parts || is_header(*block) || cfg.succs(*block).iter().filter(stays).count() < 2
        })
    }

    fn choose(&mut self, cfg: &Cfg, facts: &BlockMap<Facts>, joined: Joined) {
        #[derive(Copy, Clone, Default)]
        struct Found {
            tangled: bool,
            observes: bool,
            parts: bool,
            escapes: bool,
            leaves: bool,
        }
        let mut found = vec![Found::default(); self.constructs.len()];
        for block in cfg.reverse_postorder() {
            let facts = facts.get(*block).copied().unwrap_or_default();
            let inner = self.inner.get(*block).copied().flatten();
            let is_own = |part: Part| {
                let construct = self.constructs.get(part.construct);
                construct.is_some_and(|one| !one.is_loop && one.header == *block)
            };
            for part in self.around(inner) {
                let Some(found) = found.get_mut(part.construct) else {
                    continue;
                };
                // A selection's header does what it does before the tangle parts.
                found.tangled |= facts.tangled && !is_own(part);
                found.observes |= facts.observes;
                found.parts |= facts.branches;
            }
            let mut leaves: Vec<Goal> = cfg
                .succs(*block)
                .iter()
                .filter_map(|next| self.goals.get(&(*block, *next)).copied())
                .collect();
            if cfg.is_exit(*block) {
                leaves.push(Goal::Return);
            }
            let differs = facts.divergent || facts.branches;
            for goal in leaves {
                for part in self.around(inner) {
                    let Some(found) = found.get_mut(part.construct) else {
                        continue;
                    };
                    let is_here = goal.construct() == Some(part.construct);
                    let stays = is_here
                        && match goal {
                            Goal::Merge(_) | Goal::Return => false,
                            Goal::Continue(_) => joined == Joined::Loops,
                            Goal::Back(_) => true,
                        };
                    found.leaves |= differs && !stays;
                    found.escapes |= !is_here;
                    if is_here {
                        break;
                    }
                }
            }
        }
        // No tangle is followed in a construct with nothing that depends on it. A construct is
        // after those that it is in.
        let mut matters: Vec<bool> = Vec::new();
        for (construct, found) in self.constructs.iter_mut().zip(found) {
            let parent = construct.parent.map(|part| matters.get(part.construct));
            let depends = found.tangled || found.observes;
            let own = match joined {
                Joined::Loops => construct.is_loop && depends,
                Joined::All => {
                    (depends || found.escapes) && parent.is_none_or(|it| it == Some(&true))
                }
            };
            matters.push(own);
            let differs = if construct.is_loop {
                found.leaves
            } else {
                found.parts
            };
            construct.joined = own && differs;
        }
    }

    fn finish(self, cfg: &Cfg, joined: Joined) -> Tangles {
        let mut tangles = Tangles {
            constructs: self.constructs,
            joins: BTreeMap::new(),
            inner: self.inner,
            goals: self.goals,
            all: joined == Joined::All,
            dominators: Dominators::analyze(cfg),
        };
        let mut edges: Vec<(Place, Place)> = Vec::new();
        let mut arrive: BTreeSet<(Join, Goal)> = BTreeSet::new();
        let mut work = Vec::new();
        for block in cfg.reverse_postorder() {
            let mut leads = |place: Place, goal: Option<Goal>| {
                edges.push((Place::Block(*block), place));
                if let (Place::Join(join), Some(goal)) = (place, goal) {
                    work.push((join, goal));
                }
            };
            for next in cfg.succs(*block) {
                let (place, goal) = tangles.edge(*block, *next);
                leads(place, goal);
            }
            if cfg.is_exit(*block)
                && let Some(join) = tangles.at_return(*block)
            {
                leads(Place::Join(join), Some(Goal::Return));
            }
        }
        while let Some((join, goal)) = work.pop() {
            if !arrive.insert((join, goal)) {
                continue;
            }
            let Some(place) = tangles.after(join, goal) else {
                continue;
            };
            edges.push((Place::Join(join), place));
            if let Place::Join(next) = place {
                work.push((next, goal));
            }
        }
        for (join, goal) in arrive {
            let place = tangles.after(join, goal);
            let dispatch = tangles.joins.entry(join).or_insert(Dispatch {
                own: None,
                others: Vec::new(),
            });
            match place {
                Some(Place::Block(block)) if join.own() == Some(goal) => {
                    dispatch.own = Some((goal, block));
                }
                Some(place) => dispatch.others.push((goal, place)),
                None => {}
            }
        }
        tangles.dominators = Dominators::analyze(&graph(cfg.len(), &tangles.joins, &edges));
        tangles
    }
}

impl Join {
    /// The goal that is reached at the join.
    fn own(self) -> Option<Goal> {
        match self {
            Join::Merge(construct) => Some(Goal::Merge(construct)),
            Join::Continue(construct) => Some(Goal::Continue(construct)),
            Join::Latch(construct) => Some(Goal::Back(construct)),
            Join::Return => None,
        }
    }
}

/// The graph of blocks and, numbered after them, joins.
fn graph(blocks: usize, joins: &BTreeMap<Join, Dispatch>, edges: &[(Place, Place)]) -> Cfg {
    let numbers: BTreeMap<Join, usize> = joins.keys().copied().zip(blocks..).collect();
    let number = |place: &Place| match place {
        Place::Block(block) => Some(block.index()),
        Place::Join(join) => numbers.get(join).copied(),
    };
    let numbered: Vec<(usize, usize)> = edges
        .iter()
        .filter_map(|(from, to)| Some((number(from)?, number(to)?)))
        .collect();
    Cfg::from_edges(blocks + numbers.len(), &numbered)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Facts, Goal, Join, Joined, Place, Tangles, Unstructured};
    use crate::analysis::cfg::Cfg;
    use crate::analysis::testing::{assemble, declared};
    use crate::module::{BlockIndex, BlockMap};

    /// Blocks by number: 0 enters loop 1, whose body 2 is a selection that leaves it by way of 3 or
    /// goes on in 4; 5 is the continue target, 6 the merge block.
    const LOOP: &str = "
        %main = OpFunction %void 0 %fn
        %entry = OpLabel
        OpBranch %head
        %head = OpLabel
        OpLoopMerge %done %again 0
        OpBranch %body
        %body = OpLabel
        OpSelectionMerge %stay 0
        OpBranchConditional %true %leave %stay
        %leave = OpLabel
        OpBranch %done
        %stay = OpLabel
        OpBranch %again
        %again = OpLabel
        OpBranch %head
        %done = OpLabel
        OpReturn
        OpFunctionEnd
    ";

    fn tangles(
        text: &str,
        facts: &[(usize, Facts)],
        joined: Joined,
    ) -> Result<Option<Tangles>, Unstructured> {
        let assembled = assemble("", text);
        let (declarations, _) = declared(&assembled.module);
        let function = declarations.function(assembled.id("main")).unwrap();
        let cfg = Cfg::analyze(declarations.module, function);
        let mut all = BlockMap::filled(cfg.len(), Facts::default());
        for (block, facts) in facts {
            all[BlockIndex::new(*block)] = *facts;
        }
        Tangles::analyze(function, &cfg, &all, joined)
    }

    fn leaving() -> [(usize, Facts); 2] {
        let branch = Facts {
            branches: true,
            ..Facts::default()
        };
        let leaves = Facts {
            tangled: true,
            divergent: true,
            ..Facts::default()
        };
        [(2, branch), (3, leaves)]
    }

    #[test]
    fn a_break_goes_through_the_latch() {
        let at = BlockIndex::new;
        let tangles = tangles(LOOP, &leaving(), Joined::Loops).unwrap().unwrap();
        let latch = Place::Join(Join::Latch(0));
        assert_eq!(tangles.edge(at(3), at(6)), (latch, Some(Goal::Merge(0))));
        assert_eq!(tangles.edge(at(5), at(1)), (latch, Some(Goal::Back(0))));
        assert_eq!(tangles.edge(at(4), at(5)).0, Place::Block(at(5)));
        let dispatch = &tangles.joins[&Join::Latch(0)];
        assert_eq!(dispatch.own, Some((Goal::Back(0), at(1))));
        assert_eq!(
            dispatch.others,
            [(Goal::Merge(0), Place::Join(Join::Merge(0)))]
        );
        // What the block of the break computes is not there on every path to the merge block.
        assert!(!tangles.dominates(at(3), at(6)) && tangles.dominates(at(2), at(6)));
    }

    #[test]
    fn each_construct_that_is_left_has_its_join() {
        let at = BlockIndex::new;
        let tangles = tangles(LOOP, &leaving(), Joined::All).unwrap().unwrap();
        let selection = Place::Join(Join::Merge(1));
        assert_eq!(
            tangles.edge(at(3), at(6)),
            (selection, Some(Goal::Merge(0)))
        );
        let others = &tangles.joins[&Join::Merge(1)].others;
        assert_eq!(others, &[(Goal::Merge(0), Place::Join(Join::Continue(0)))]);
        let others = &tangles.joins[&Join::Continue(0)].others;
        assert_eq!(others, &[(Goal::Merge(0), Place::Join(Join::Latch(0)))]);
    }

    #[test]
    fn nothing_changes_where_nothing_depends_on_it() {
        let [branch, (block, leaves)] = leaving();
        let plain = Facts {
            tangled: false,
            ..leaves
        };
        for joined in [Joined::Loops, Joined::All] {
            let tangles = tangles(LOOP, &[branch, (block, plain)], joined);
            assert!(tangles.unwrap().is_none());
        }
    }

    #[test]
    fn a_cycle_without_a_merge_instruction_is_refused() {
        let text = LOOP.replace("OpLoopMerge %done %again 0", "");
        assert!(matches!(
            tangles(&text, &leaving(), Joined::All),
            Err(Unstructured)
        ));
    }
}
