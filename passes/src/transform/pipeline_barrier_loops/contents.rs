//! Checks that each iteration writes all elements of an array that it reads.
//!
//! A stage that stores to the same places in every iteration, on every path, leaves nothing of an
//! earlier one there: what an iteration reads is its own, or was never written at all. Places are
//! told by expressions over values from outside of the loop; whatever an iteration may change is
//! none of these.

use super::super::barrier_loop::arrays::{Arrays, is_store};
use super::super::barrier_loop::reason::Reason;
use super::super::barrier_loop::region::Inner;
use super::super::barrier_loop::shape::Shape;
use super::super::barrier_loop::values::{Variables, is_copied};
use crate::analysis::loops::Loops;
use crate::analysis::phases::{Effects, MemoryRegions, Own};
use crate::module::{BlockIndex, Declarations, Id, Inst};
use crate::transform::whole_variables::Spot;
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};

/// The number of an expression.
type Value = usize;

/// What a value is computed from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Expression {
    /// A value from outside of the loop and of those around it, or what a variable holds that they
    /// leave alone.
    Outside(Id),
    /// Another value in each iteration, as far as is known.
    Changing(Id),
    /// An instruction's words with these in the place of its operands.
    Made(Vec<u32>, Vec<Value>),
}

/// Expressions by number: equal ones have one.
#[derive(Default)]
struct Expressions {
    numbers: BTreeMap<Expression, Value>,
    /// Whether each is the same in all iterations.
    fixed: Vec<bool>,
}

impl Expressions {
    fn number(&mut self, expression: Expression) -> Value {
        if let Some(known) = self.numbers.get(&expression) {
            return *known;
        }
        let is_fixed = match &expression {
            Expression::Outside(_) => true,
            Expression::Changing(_) => false,
            Expression::Made(_, operands) => operands.iter().all(|one| self.is_fixed(*one)),
        };
        let number = self.fixed.len();
        self.fixed.push(is_fixed);
        self.numbers.insert(expression, number);
        number
    }

    fn is_fixed(&self, value: Value) -> bool {
        self.fixed.get(value).copied().unwrap_or(false)
    }
}

/// First words of expressions that no instruction makes. No instruction begins with them.
mod word {
    /// The value that an inner loop gives to a phi or a variable.
    pub(super) const OF_INNER: u32 = u32::MAX;
    /// One of two values, by a condition.
    pub(super) const SELECTED: u32 = u32::MAX - 1;
    /// All the places that an inner loop stores to.
    pub(super) const EACH: u32 = u32::MAX - 2;
    /// All the places of a matrix.
    pub(super) const MATRIX: u32 = u32::MAX - 3;
}

/// What is known at the end of a block.
#[derive(Clone, Default)]
struct State {
    /// What variables hold.
    held: BTreeMap<Id, Value>,
    /// The places that all paths have stored to.
    stored: BTreeSet<Value>,
}

/// What a walk over inner loops gives.
#[derive(Default)]
struct Walked {
    ends: BTreeMap<BlockIndex, State>,
    /// Stores to arrays: their blocks, and where to.
    stores: Vec<(BlockIndex, Value)>,
    after: State,
}

/// What of inner loops is not the same in all iterations of the outer one.
#[derive(Clone, Default, PartialEq, Eq)]
struct Changing {
    phis: BTreeSet<Id>,
    /// Variables, each with the header of an inner loop where it changes.
    variables: BTreeSet<(BlockIndex, Id)>,
    /// Blocks that are executed in some iterations, each set with the block that control comes to
    /// from them.
    arms: BTreeSet<(BTreeSet<BlockIndex>, BlockIndex)>,
    /// All of it, for an exit that is not always the same.
    is_any: bool,
}

impl Changing {
    fn is_in_arms(&self, block: BlockIndex) -> bool {
        self.arms.iter().any(|(arms, _)| arms.contains(&block))
    }
}

/// A walk over the stage of a loop.
pub(super) struct Contents<'c, 'm> {
    pub(super) shape: &'c Shape<'c, 'm>,
    pub(super) declarations: &'c Declarations<'m>,
    pub(super) effects: &'c Effects<'c, 'm>,
    /// Variables with all of their stores.
    pub(super) variables: &'c Variables,
    pub(super) arrays: &'c Arrays<'m>,
    /// Blocks of the loop and of those around it.
    pub(super) around: &'c BTreeSet<BlockIndex>,
    /// Values made there.
    pub(super) made: &'c BTreeSet<Id>,
    /// Memory that is written there, and what is done there to that of the invocation.
    pub(super) changes: MemoryRegions,
    pub(super) private: &'c Own,
    pub(super) loops: &'c Loops,
}

impl Contents<'_, '_> {
    /// Returns true if the way from one block to another leaves a loop inside of the loop.
    fn leaves(&self, from: BlockIndex, to: BlockIndex) -> bool {
        let mut natural = self.loops.natural.iter().flatten();
        natural.any(|one| {
            let is_inner = one.body.len() < self.shape.blocks.len();
            is_inner && one.body.contains(&from) && !one.body.contains(&to)
        })
    }

    /// Whether the stage stores to the same places in every iteration.
    ///
    /// # Errors
    /// [`Reason::Carried`] where that is not known.
    pub(super) fn check(&self) -> Result<(), Reason> {
        let mut walk = Walk {
            all: self,
            expressions: Expressions::default(),
            values: BTreeMap::new(),
            ends: BTreeMap::new(),
            stores: Vec::new(),
            conditions: BTreeMap::new(),
        };
        walk.run();
        let is_right = |(block, place): &(BlockIndex, Value)| {
            walk.expressions.is_fixed(*place)
                && (walk.is_always_the_same(*block) || walk.is_stored_after(*block, *place))
        };
        if walk.stores.iter().all(is_right) {
            Ok(())
        } else {
            Err(Reason::Carried)
        }
    }
}

struct Walk<'w, 'c, 'm> {
    all: &'w Contents<'c, 'm>,
    expressions: Expressions,
    values: BTreeMap<Id, Value>,
    ends: BTreeMap<BlockIndex, State>,
    stores: Vec<(BlockIndex, Value)>,
    /// By block with several ways to go: what it goes by.
    conditions: BTreeMap<BlockIndex, Value>,
}

impl<'m> Walk<'_, '_, 'm> {
    fn run(&mut self) {
        let shape = self.all.shape;
        for block in &shape.region.blocks {
            for (entry, inner) in shape.region.inner() {
                if inner.behind == *block {
                    let state = self.inner(*entry, inner);
                    self.ends.insert(*entry, state);
                }
            }
            let mut state = self.beginning(*block);
            let insts = shape.function.block(*block);
            let insts = insts.map_or(&[][..], |block| &block.insts);
            for (index, inst) in insts.iter().enumerate() {
                if *block == shape.block && index >= shape.barrier {
                    break;
                }
                self.instruction(&mut state, *block, *inst);
            }
            self.ends.insert(*block, state);
        }
    }

    /// What is known where a block of the region begins.
    fn beginning(&self, block: BlockIndex) -> State {
        let shape = self.all.shape;
        let blocks = shape.region.blocks.iter();
        let blocks = blocks.filter(|pred| shape.leads_to(**pred, block));
        let inner = shape.region.inner().iter();
        let inner = inner.filter(|(_, inner)| inner.behind == block);
        self.meeting(blocks.chain(inner.map(|(entry, _)| entry)))
    }

    /// What is known where several ways meet.
    fn meeting<'b>(&self, preds: impl Iterator<Item = &'b BlockIndex>) -> State {
        meet(preds.filter_map(|pred| self.ends.get(pred)).cloned())
    }

    /// Inner loops: what is known after them.
    fn inner(&mut self, entry: BlockIndex, inner: &Inner) -> State {
        let before = self.meeting(inner.preds.iter());
        let mut found = Changing::default();
        let once = loop {
            let once = self.walk_inner(entry, inner, &before, &found);
            let more = self.changing(inner, &once, &found);
            if more == found {
                break once;
            }
            found = more;
        };
        let is_each = self.is_always_entered(inner) && !found.is_any;
        let mut after = once.after;
        for (number, place) in once.stores {
            let mut arms = found.arms.iter().filter(|(arms, _)| arms.contains(&number));
            let is_on_all = |merge: &BlockIndex| {
                let state = once.ends.get(merge);
                state.is_some_and(|state| state.stored.contains(&place))
            };
            let is_stored = !found.is_in_arms(number)
                || arms.any(|(_, merge)| !found.is_in_arms(*merge) && is_on_all(merge));
            let place = if is_each && is_stored && self.expressions.is_fixed(place) {
                // In as many iterations of the inner loop. After it the place has other values.
                let words = vec![word::EACH, block_word(entry)];
                let place = Expression::Made(words, vec![place]);
                let place = self.expressions.number(place);
                after.stored.insert(place);
                place
            } else {
                self.expressions.number(Expression::Changing(Id(u32::MAX)))
            };
            self.stores.push((entry, place));
        }
        after
    }

    /// Looks at all blocks of inner loops once, with what is known to change.
    fn walk_inner(
        &mut self,
        entry: BlockIndex,
        inner: &Inner,
        before: &State,
        found: &Changing,
    ) -> Walked {
        let shape = self.all.shape;
        let mut walked = Walked::default();
        let mut after: Option<State> = None;
        for number in &inner.blocks {
            let preds = self.preds(inner, *number);
            let is_back = |pred: &BlockIndex| shape.dominators.dominates(*number, *pred);
            let forward = preds.iter().filter(|pred| !is_back(pred));
            // A way whose end is not known yet has stored nothing. After a loop in the inner
            // one its places have other values.
            let ends = &walked.ends;
            let ends = forward.map(|pred| {
                let mut end = ends.get(pred).cloned().unwrap_or_default();
                if self.all.leaves(*pred, *number) {
                    end.stored.clear();
                }
                end
            });
            let mut state = if *number == entry {
                before.clone()
            } else {
                meet(ends)
            };
            if preds.iter().any(is_back) {
                self.begin_inner(&mut state, found, inner, *number);
            }
            let insts = shape.function.block(*number).into_iter();
            for inst in insts.flat_map(|block| &block.insts) {
                let place = self.inner_instruction(&mut state, found, *number, *inst);
                if let Some(place) = place {
                    walked.stores.push((*number, place));
                }
            }
            if shape.leads_to(*number, inner.behind) {
                after = Some(meet(after.into_iter().chain([state.clone()])));
            }
            walked.ends.insert(*number, state);
        }
        walked.after = after.unwrap_or_default();
        walked
    }

    /// The blocks of inner loops that lead to `block`.
    fn preds(&self, inner: &Inner, block: BlockIndex) -> Vec<BlockIndex> {
        let preds = inner.blocks.iter();
        let preds = preds.filter(|pred| self.all.shape.leads_to(**pred, block));
        preds.copied().collect()
    }

    /// What changes besides what was `found`, after a walk with that.
    fn changing(&mut self, inner: &Inner, walked: &Walked, found: &Changing) -> Changing {
        let shape = self.all.shape;
        let mut more = found.clone();
        for number in &inner.blocks {
            let insts = shape.function.block(*number).into_iter();
            for inst in insts.flat_map(|block| &block.insts) {
                match inst.op() {
                    Some(Op::Phi) => {
                        let is_merge = found.arms.iter().any(|(_, merge)| merge == number);
                        let mut pairs = inst.operands().chunks_exact(2);
                        let is_same = pairs.all(|pair| {
                            pair.first().is_some_and(|value| {
                                let value = self.value(Id(*value));
                                self.expressions.is_fixed(value)
                            })
                        });
                        more.phis
                            .extend(inst.result().filter(|_| is_merge || !is_same));
                    }
                    Some(Op::BranchConditional | Op::Switch) => {
                        let value = inst.id(0).map(|id| self.value(id));
                        if !value.is_ok_and(|value| self.expressions.is_fixed(value)) {
                            match self.arms(inner, *number) {
                                Some(arms) => {
                                    more.arms.insert(arms);
                                }
                                None => more.is_any = true,
                            }
                        }
                    }
                    _ => {} // its value says it
                }
            }
            // What variables hold where another iteration of the inner loop begins.
            for pred in self.preds(inner, *number) {
                if !shape.dominators.dominates(*number, pred) {
                    continue;
                }
                let state = walked.ends.get(&pred);
                for variable in self.all.variables.keys() {
                    let held = state.and_then(|state| state.held.get(variable));
                    if !held.is_some_and(|held| self.expressions.is_fixed(*held)) {
                        more.variables.insert((*number, *variable));
                    }
                }
            }
        }
        more
    }

    /// What is known where an iteration of an inner loop begins.
    fn begin_inner(
        &mut self,
        state: &mut State,
        found: &Changing,
        inner: &Inner,
        header: BlockIndex,
    ) {
        for (variable, stores) in self.all.variables {
            if stores
                .iter()
                .any(|(spot, _)| inner.blocks.contains(&spot.0))
            {
                let held = state.held.get(variable);
                let is_fixed = held.is_some_and(|held| self.expressions.is_fixed(*held))
                    && !found.variables.contains(&(header, *variable));
                let value = if is_fixed {
                    let words = vec![word::OF_INNER, variable.0, block_word(header)];
                    Expression::Made(words, Vec::new())
                } else {
                    Expression::Changing(*variable)
                };
                let value = self.expressions.number(value);
                state.held.insert(*variable, value);
            }
        }
    }

    /// Looks at an instruction of an inner loop: the place that it stores to, in an array.
    fn inner_instruction(
        &mut self,
        state: &mut State,
        found: &Changing,
        block: BlockIndex,
        inst: Inst<'m>,
    ) -> Option<Value> {
        if is_store(inst) {
            return self.store(state, inst);
        }
        let result = inst.result()?;
        let value = if inst.op() == Some(Op::Phi) {
            let selected = self.selected(block, inst);
            let is_fixed = !found.phis.contains(&result);
            selected.unwrap_or_else(|| self.of_inner(result, is_fixed))
        } else {
            self.made(state, inst, result)
        };
        self.values.insert(result, value);
        None
    }

    /// The value of a phi where both ways of one branch meet: an expression over the condition and
    /// the two values. `None` if other ways lead there, too.
    fn selected(&mut self, block: BlockIndex, phi: Inst<'m>) -> Option<Value> {
        let shape = self.all.shape;
        let [first, from_first, second, from_second] = *phi.operands() else {
            return None;
        };
        let from = [
            shape.block_of(Id(from_first))?,
            shape.block_of(Id(from_second))?,
        ];
        if from
            .iter()
            .any(|from| shape.dominators.dominates(block, *from))
        {
            return None; // another iteration
        }
        let branching = shape.dominators.immediate(block)?;
        let branch = shape.function.block(branching)?.terminator()?;
        if branch.op() != Some(Op::BranchConditional) || !shape.blocks.contains(&branching) {
            return None;
        }
        let way = |index| branch.id(index).ok().and_then(|id| shape.block_of(id));
        let (then, otherwise) = (way(1)?, way(2)?);
        let value_by = |way: BlockIndex| {
            let pairs = [first, second].into_iter().zip(from);
            let mut by_way = pairs.filter(|(_, from)| {
                if way == block {
                    *from == branching
                } else {
                    shape.dominators.dominates(way, *from)
                }
            });
            by_way.next().map(|(value, _)| Id(value))
        };
        if then == otherwise {
            return None;
        }
        let (then, otherwise) = (value_by(then)?, value_by(otherwise)?);
        let condition = self.value(branch.id(0).ok()?);
        let (then, otherwise) = (self.value(then), self.value(otherwise));
        if then == otherwise {
            return Some(then);
        }
        let words = vec![word::SELECTED];
        let values = vec![condition, then, otherwise];
        Some(self.expressions.number(Expression::Made(words, values)))
    }

    /// The number of what an inner loop makes of `id`.
    fn of_inner(&mut self, id: Id, is_fixed: bool) -> Value {
        self.expressions.number(if is_fixed {
            Expression::Made(vec![word::OF_INNER, id.0], Vec::new())
        } else {
            Expression::Changing(id)
        })
    }

    fn is_access(&self, inst: Inst<'_>) -> bool {
        let mut accesses = self.all.arrays.accesses.iter();
        accesses.any(|(_, one)| one.offset == inst.offset)
    }

    /// Returns true if inner loops are entered in every iteration, or in the same ones by each
    /// invocation.
    fn is_always_entered(&self, inner: &Inner) -> bool {
        let shape = self.all.shape;
        inner.preds.iter().all(|pred| {
            let comes =
                shape.dominators.dominates(*pred, shape.block) || self.is_always_the_same(*pred);
            let condition = self.conditions.get(pred);
            comes && condition.is_none_or(|condition| self.expressions.is_fixed(*condition))
        })
    }

    /// The blocks between the branch at the end of `block`, in inner loops, and the place where its
    /// ways meet; `None` if they lead elsewhere.
    fn arms(&self, inner: &Inner, block: BlockIndex) -> Option<(BTreeSet<BlockIndex>, BlockIndex)> {
        let shape = self.all.shape;
        let end = shape.function.block(block)?.end()?;
        if end.op() != Some(Op::SelectionMerge) {
            return None;
        }
        let merge = shape.block_of(end.id(0).ok()?)?;
        let mut arms = BTreeSet::new();
        let mut work = vec![block];
        while let Some(at) = work.pop() {
            for next in &shape.blocks {
                if !shape.leads_to(at, *next) || *next == merge {
                    continue;
                }
                let is_back = shape.dominators.dominates(*next, block);
                if is_back || !inner.blocks.contains(next) {
                    return None;
                }
                if arms.insert(*next) {
                    work.push(*next);
                }
            }
        }
        inner.blocks.contains(&merge).then_some((arms, merge))
    }

    /// Looks at a store: the place that it stores to, in an array.
    fn store(&mut self, state: &mut State, inst: Inst<'m>) -> Option<Value> {
        let (pointer, value) = (inst.id(0).ok()?, inst.id(1).ok()?);
        if self.all.variables.contains_key(&pointer) {
            let value = self.value(value);
            state.held.insert(pointer, value);
            return None;
        }
        if !self.is_access(inst) {
            return None;
        }
        let mut place = self.value(pointer);
        if inst.op() == Some(Op::CooperativeMatrixStoreKHR) {
            // The elements that it stores follow from type, layout and stride.
            let ty = self.all.declarations.type_of(value)?;
            let operands = inst.operands().get(2..).unwrap_or_default();
            let layout = operands.iter().take(2).map(|id| self.value(Id(*id)));
            let operands = [place].into_iter().chain(layout).collect();
            let words = vec![word::MATRIX, ty.0];
            place = self.expressions.number(Expression::Made(words, operands));
        }
        state.stored.insert(place);
        Some(place)
    }

    fn instruction(&mut self, state: &mut State, block: BlockIndex, inst: Inst<'m>) {
        match inst.op() {
            Some(Op::Store | Op::CooperativeMatrixStoreKHR) => {
                let place = self.store(state, inst);
                self.stores.extend(place.map(|place| (block, place)));
            }
            Some(Op::BranchConditional | Op::Switch) => {
                if let Ok(condition) = inst.id(0) {
                    let condition = self.value(condition);
                    self.conditions.insert(block, condition);
                }
            }
            _ => {
                if let Some(result) = inst.result() {
                    let is_phi = inst.op() == Some(Op::Phi);
                    let selected = is_phi.then(|| self.selected(block, inst)).flatten();
                    let value = selected.unwrap_or_else(|| self.made(state, inst, result));
                    self.values.insert(result, value);
                }
            }
        }
    }

    /// What an instruction gives.
    fn made(&mut self, state: &State, inst: Inst<'m>, result: Id) -> Value {
        let changing = Expression::Changing(result);
        let exit = self.all.shape.exit;
        if exit.is_first && result == exit.condition {
            return self.of_inner(result, true); // what it is where the iteration goes on
        }
        match inst.op() {
            Some(Op::Load) => {
                let Ok(pointer) = inst.id(0) else {
                    return self.expressions.number(changing);
                };
                if let Some(stores) = self.all.variables.get(&pointer) {
                    let held = state.held.get(&pointer).copied();
                    return match held {
                        Some(held) => held,
                        None if self.is_left_alone(stores) => {
                            self.expressions.number(Expression::Outside(pointer))
                        }
                        None => self.expressions.number(changing),
                    };
                }
                if self.is_unchanged(inst) {
                    return self.operation(inst);
                }
                self.expressions.number(changing)
            }
            Some(_) if is_copied(self.all.declarations, self.all.effects, inst) => {
                self.operation(inst)
            }
            _ => self.expressions.number(changing),
        }
    }

    /// Returns true if a load reads memory that the loop and those around it leave as it is.
    fn is_unchanged(&self, load: Inst<'m>) -> bool {
        let effect = self.all.effects.instruction(load);
        let own = self.all.effects.own(load);
        let is_kept = own.is_some_and(|own| !own.conflicts(self.all.private));
        !effect.ordering_barrier && !effect.touches().meets(self.all.changes) && is_kept
    }

    /// Returns true if a variable with these stores has none in the loop and in those around it.
    fn is_left_alone(&self, stores: &[(Spot, Id)]) -> bool {
        stores
            .iter()
            .all(|(spot, _)| !self.all.around.contains(&spot.0))
    }

    fn operation(&mut self, inst: Inst<'m>) -> Value {
        let mut words = inst.words.to_vec();
        let mut operands = Vec::new();
        for (index, id) in self.all.declarations.module.ids(inst).skip(2) {
            operands.push(self.value(id));
            if let Some(word) = words.get_mut(index) {
                *word = 0;
            }
        }
        if let Some(result) = words.get_mut(2) {
            *result = 0;
        }
        self.expressions.number(Expression::Made(words, operands))
    }

    fn value(&mut self, id: Id) -> Value {
        if let Some(known) = self.values.get(&id) {
            return *known;
        }
        self.expressions.number(if self.all.made.contains(&id) {
            Expression::Changing(id)
        } else {
            Expression::Outside(id)
        })
    }

    /// Returns true if control always comes from `block` to one that it comes to in all iterations
    /// or in none, and all ways have stored to `place` before that one.
    fn is_stored_after(&self, block: BlockIndex, place: Value) -> bool {
        let region = &self.all.shape.region;
        let is_last = |at: &BlockIndex| *at == self.all.shape.block;
        let has_stored = |at: &&BlockIndex| {
            let state = self.ends.get(at);
            state.is_some_and(|state| state.stored.contains(&place))
        };
        let mut later = region.blocks.iter().filter(has_stored);
        later.any(|at| is_last(at) || region.leads_to(block, *at) && self.is_always_the_same(*at))
    }

    /// Returns true if every branch that decides about `block` goes the same way in all iterations.
    fn is_always_the_same(&self, block: BlockIndex) -> bool {
        let region = &self.all.shape.region;
        let exit = self.all.shape.exit;
        let mut seen = BTreeSet::from([block]);
        let mut work = vec![block];
        while let Some(next) = work.pop() {
            for branch in region.controllers(next) {
                let is_exit = exit.is_first && branch == exit.block;
                let condition = self.conditions.get(&branch);
                let is_fixed = condition.is_some_and(|one| self.expressions.is_fixed(*one));
                if !is_exit && !is_fixed {
                    return false;
                }
                if seen.insert(branch) {
                    work.push(branch);
                }
            }
        }
        true
    }
}

/// A block as a word of an expression.
fn block_word(block: BlockIndex) -> u32 {
    u32::try_from(block.index()).unwrap_or(u32::MAX)
}

/// What is known where several ways meet.
fn meet(mut ends: impl Iterator<Item = State>) -> State {
    let Some(mut state) = ends.next() else {
        return State::default();
    };
    for other in ends {
        state.stored.retain(|place| other.stored.contains(place));
        let held = &other.held;
        state
            .held
            .retain(|variable, value| held.get(variable) == Some(value));
    }
    state
}
