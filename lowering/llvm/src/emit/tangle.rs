//! Control flow in which the lanes of a tangle meet where SPIR-V says (see
//! [`tangles`](splitbar_passes::analysis::tangles)).
//!
//! A lane that leaves a construct notes its goal and goes to the construct's join. On AMDGPU only
//! loops have joins: what is between them LLVM executes once for all lanes, and the exit of the
//! loop depends on a value that no pass can see through, so that nothing leaves the loop before
//! code is selected. On NVPTX each join asks its lanes who goes on, and so follows the tangle by a
//! mask, which group operations name.
//!
//! Values that are no longer there in every block that uses them, phis and what is noted lie in
//! stack slots, which the optimiser makes registers again.

use super::Result;
use super::function::FunctionEmitter;
use super::lanes::vote;
use super::slots::Slot;
use super::state::{Tangle, Tangled};
use crate::ffi::{self, Block, IntPredicate, Value};
use spirv::Op;
use splitbar_passes::analysis::tangles::{Dispatch, Goal, Join, Place, Tangles};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{BlockIndex, Function, Id, Inst};
use splitbar_plan::target::Arch;
use std::collections::BTreeMap;

/// Enough for every type that a register can hold.
const ALIGN: u32 = 16;

impl<'c, 'm> FunctionEmitter<'_, 'c, 'm> {
    /// Makes the slots and joins of the function, and stores its first mask. The builder is at the
    /// end of the function's first block.
    pub(super) fn begin_tangle(&mut self, function: &'m Function<'m>) -> Result<()> {
        let Some(Tangled {
            tangles,
            masked,
            branches,
        }) = self.convergence.tangled.take()
        else {
            return Ok(());
        };
        let word = self.b.int_type(32);
        if masked {
            let mask = self.stack_slot(word, ALIGN)?;
            let first = match self.convergence.callers_mask {
                Some(mask) => mask,
                None => self.active_lanes()?,
            };
            self.b.raw().store(first, mask);
            self.convergence.mask = Some(mask);
        }
        let Some(plan) = tangles else { return Ok(()) };
        let mut state = Tangle {
            branches,
            goal: self.stack_slot(word, ALIGN)?,
            heads: BTreeMap::new(),
            entered: BTreeMap::new(),
            iteration: BTreeMap::new(),
            phis: BTreeMap::new(),
            kept: kept(self, function, &plan),
            result: None,
            plan,
        };
        for join in state.plan.joins.keys() {
            state.heads.insert(*join, self.new_block());
        }
        for (number, construct) in state.plan.constructs.iter().enumerate() {
            if masked && construct.joined {
                state.entered.insert(number, self.stack_slot(word, ALIGN)?);
                if construct.is_loop {
                    state
                        .iteration
                        .insert(number, self.stack_slot(word, ALIGN)?);
                }
            }
        }
        for (index, block) in function.numbered() {
            for inst in &block.insts {
                if inst.op() == Some(Op::Phi)
                    && let Ok(ty) = self.result_ty(*inst)
                {
                    let slot = self.stack_slot(ty, ALIGN)?;
                    state.phis.entry(index).or_default().push((*inst, slot));
                }
            }
        }
        let returned = ffi::return_type(self.function.ty());
        if state.heads.contains_key(&Join::Return) && returned != ffi::void_type(self.b.context()) {
            state.result = Some(self.stack_slot(returned, ALIGN)?);
        }
        self.control.tangle = Some(state);
        Ok(())
    }

    /// The mask of the tangle, `i32`; `None` where it is not followed.
    pub(crate) fn tangle_mask(&self) -> Option<Value<'c>> {
        let slot = self.convergence.mask?;
        Some(self.b.raw().load(self.b.int_type(32), slot))
    }

    /// What the block `at` begins with.
    pub(super) fn enter_block(&mut self, at: BlockIndex) {
        self.control.at = at;
        let Some(tangle) = &self.control.tangle else {
            return;
        };
        let construct = tangle.plan.headed_by(at);
        if let Some(slot) = construct.and_then(|number| tangle.iteration.get(&number))
            && let Some(mask) = self.tangle_mask()
        {
            self.b.raw().store(mask, *slot);
        }
    }

    /// The slot of the phi `inst`.
    pub(super) fn phi_slot(&self, inst: Inst<'_>, at: BlockIndex) -> Option<Value<'c>> {
        let phis = self.control.tangle.as_ref()?.phis.get(&at)?;
        let found = phis.iter().find(|(phi, _)| phi.offset == inst.offset);
        found.map(|(_, slot)| *slot)
    }

    /// The block that a jump of the current block to `to` goes to first.
    pub(super) fn tangled_target(&mut self, to: BlockIndex, head: Block<'c>) -> Result<Block<'c>> {
        let Some(tangle) = &self.control.tangle else {
            return Ok(head);
        };
        let from = self.control.at;
        let (place, goal) = tangle.plan.edge(from, to);
        let entered = tangle.plan.enters(from, to);
        let entered = entered.and_then(|number| tangle.entered.get(&number).copied());
        let phis = tangle.phis.get(&to).cloned().unwrap_or_default();
        let joined = match place {
            Place::Join(join) => tangle.heads.get(&join).copied(),
            Place::Block(_) => None,
        };
        let slot = tangle.goal;
        if joined.is_none() && entered.is_none() && phis.is_empty() {
            return Ok(head);
        }
        let here = self.b.block()?;
        let edge = self.new_block();
        self.b.position(edge);
        let label = self.control.current;
        let mut values = Vec::new();
        for (phi, slot) in phis {
            let pair = phi
                .operands()
                .chunks_exact(2)
                .find(|pair| pair.get(1).copied() == label.map(|label| label.0));
            let Some([value, _]) = pair else {
                return Err(self.mismatch(phi, "the phi has no value for an edge"));
            };
            let value = self.value(Id(*value))?;
            if value.ty() != self.result_ty(phi)? {
                return Err(self.mismatch(phi, "the value of a phi is of another type"));
            }
            values.push((value, slot));
        }
        for (value, slot) in values {
            self.b.raw().store(value, slot);
        }
        if let Some(slot) = entered
            && let Some(mask) = self.tangle_mask()
        {
            self.b.raw().store(mask, slot);
        }
        match (joined, goal) {
            (Some(join), Some(goal)) => {
                self.b.raw().store(self.b.i32(goal.code()), slot);
                self.b.br(join);
            }
            _ => self.b.br(head),
        }
        self.b.position(here);
        Ok(edge)
    }

    /// Returns `value` by way of the joins that the current block is in; `false` where there is
    /// none.
    pub(super) fn tangled_return(&mut self, value: Option<Value<'c>>) -> bool {
        let Some(tangle) = &self.control.tangle else {
            return false;
        };
        let join = tangle.plan.at_return(self.control.at);
        let Some(head) = join.and_then(|join| tangle.heads.get(&join)) else {
            return false;
        };
        if let (Some(value), Some(slot)) = (value, tangle.result) {
            self.b.raw().store(value, slot);
        }
        let code = self.b.i32(Goal::Return.code());
        self.b.raw().store(code, tangle.goal);
        self.b.br(*head);
        true
    }

    /// Parts the mask at a branch of the current block: each target with the condition, `i1`, on
    /// which a lane goes there; the last target has none.
    pub(super) fn part_mask(&mut self, targets: &[(Id, Option<Value<'c>>)]) -> Result<()> {
        let (Some(slot), Some(tangle)) = (self.convergence.mask, &self.control.tangle) else {
            return Ok(());
        };
        let at = self.control.at;
        let Some(mask) = self.tangle_mask() else {
            return Ok(());
        };
        let is_loop = |number: usize| {
            let construct = tangle.plan.constructs.get(number);
            construct.is_some_and(|construct| construct.is_loop)
        };
        let own = tangle.plan.headed_by(at).filter(|number| !is_loop(*number));
        if let Some(entered) = own.and_then(|number| tangle.entered.get(&number)) {
            self.b.raw().store(mask, *entered);
        }
        let parts = tangle.branches.get(at).copied().unwrap_or(true);
        if !parts || !tangle.plan.is_joined(at) {
            return Ok(());
        }
        let b = self.b;
        let mut rest = mask;
        let mut chosen = Vec::new();
        for (_, condition) in targets {
            let Some(condition) = condition else { continue };
            let lanes = vote(self, mask, *condition)?;
            rest = b.and(rest, b.not(lanes)?)?;
            chosen.push((*condition, lanes));
        }
        let mut own = rest;
        for (condition, lanes) in chosen {
            own = b.select(condition, lanes, own)?;
        }
        b.raw().store(own, slot);
        Ok(())
    }

    /// Keeps what `id` is now, where uses of it are in blocks that it does not dominate.
    pub(super) fn keep(&mut self, id: Id, slot: Slot<'c>) {
        let value = match slot {
            Slot::Value(value) => value,
            Slot::Pointer(pointer) => pointer.address,
            Slot::Empty | Slot::Bad | Slot::Block(_) => return,
        };
        let at = self.control.at;
        let is_kept = |tangle: &Tangle<'c, 'm>| tangle.kept.get(&id).is_some_and(|it| it.0 == at);
        if !self.control.tangle.as_ref().is_some_and(is_kept) {
            return;
        }
        let Ok(place) = self.stack_slot(value.ty(), ALIGN) else {
            return;
        };
        self.b.raw().store(value, place);
        let tangle = self.control.tangle.as_mut();
        if let Some(kept) = tangle.and_then(|tangle| tangle.kept.get_mut(&id)) {
            kept.1 = Some(place);
        }
    }

    /// `slot`, which `id` is bound to, as the current block can use it.
    pub(super) fn kept(&self, id: Id, slot: Slot<'c>) -> Slot<'c> {
        let kept = self.control.tangle.as_ref().and_then(|it| it.kept.get(&id));
        let Some((at, Some(place))) = kept else {
            return slot;
        };
        if *at == self.control.at {
            return slot;
        }
        let again = |value: Value<'c>| self.b.raw().load(value.ty(), *place);
        match slot {
            Slot::Value(value) => Slot::Value(again(value)),
            Slot::Pointer(mut pointer) => {
                pointer.address = again(pointer.address);
                Slot::Pointer(pointer)
            }
            other => other,
        }
    }

    /// Writes the joins. To be called when all blocks are written.
    pub(super) fn joins(&mut self, diagnostics: &mut Diagnostics) {
        let Some(tangle) = self.control.tangle.take() else {
            return;
        };
        for (join, dispatch) in &tangle.plan.joins {
            let Some(head) = tangle.heads.get(join) else {
                continue;
            };
            self.b.position(*head);
            if let Err(problem) = self.join(&tangle, *join, dispatch) {
                diagnostics.push(*problem);
            }
            if self.b.block().is_ok_and(|block| !block.is_terminated()) {
                self.b.raw().unreachable();
            }
        }
    }

    fn join(&mut self, tangle: &Tangle<'c, 'm>, join: Join, dispatch: &Dispatch) -> Result<()> {
        let b = self.b;
        let word = b.int_type(32);
        if join == Join::Return {
            match (tangle.result, self.end) {
                (Some(slot), _) => {
                    let value = b.raw().load(ffi::return_type(self.function.ty()), slot);
                    b.raw().ret(value);
                }
                (None, Some(end)) => b.br(end),
                (None, None) => {
                    b.raw().ret_void();
                }
            }
            return Ok(());
        }
        let mask = match join {
            Join::Merge(number) => tangle.entered.get(&number),
            Join::Continue(number) | Join::Latch(number) => tangle.iteration.get(&number),
            Join::Return => None,
        };
        let mask = mask.map(|slot| b.raw().load(word, *slot));
        let mut goal = b.raw().load(word, tangle.goal);
        if matches!(join, Join::Latch(_)) {
            goal = self.opaque_goal(goal);
        }
        let Some((own, block)) = dispatch.own else {
            return self.forward(tangle, goal, &dispatch.others);
        };
        let head = self.control.heads.get(block).copied().flatten();
        let head =
            head.ok_or_else(|| self.b.internal("a join before a block that is not there"))?;
        if dispatch.others.is_empty() {
            if let (Some(mask), Some(slot)) = (mask, self.convergence.mask) {
                b.raw().store(mask, slot);
            }
            b.br(head);
            return Ok(());
        }
        let arrives = b.icmp(IntPredicate::LLVMIntEQ, goal, b.i32(own.code()))?;
        if let (Some(mask), Some(slot)) = (mask, self.convergence.mask) {
            let lanes = vote(self, mask, arrives)?;
            let mut own = lanes;
            // A construct without joins is left by all lanes or none: what they go to restores no
            // mask.
            let is_block = |(_, place): &(Goal, Place)| matches!(place, Place::Block(_));
            if dispatch.others.iter().any(is_block) {
                let rest = b.and(mask, b.not(lanes)?)?;
                own = b.select(arrives, lanes, rest)?;
            }
            b.raw().store(own, slot);
        }
        let others = self.new_block();
        b.cond_br(arrives, head, others)?;
        b.position(others);
        self.forward(tangle, goal, &dispatch.others)
    }

    /// Goes on to the place of each goal.
    fn forward(
        &mut self,
        tangle: &Tangle<'c, 'm>,
        goal: Value<'c>,
        others: &[(Goal, Place)],
    ) -> Result<()> {
        let lost = || self.b.internal("a join has no way on");
        let block = |place: Place| match place {
            Place::Join(join) => tangle.heads.get(&join).copied(),
            Place::Block(block) => self.control.heads.get(block).copied().flatten(),
        };
        let Some((_, first)) = others.first() else {
            return Err(lost());
        };
        let default = block(*first).ok_or_else(lost)?;
        if others.iter().all(|(_, place)| place == first) {
            self.b.br(default);
            return Ok(());
        }
        let switch = self.b.raw().switch(goal, default, others.len() as u32);
        for (goal, place) in others.iter().filter(|(_, place)| place != first) {
            switch.add_case(self.b.i32(goal.code()), block(*place).ok_or_else(lost)?);
        }
        Ok(())
    }

    /// `goal`, of which no pass knows what it is.
    fn opaque_goal(&self, goal: Value<'c>) -> Value<'c> {
        let constraints = match self.module.target.arch {
            Arch::Amdgpu(_) => "=v,0",
            Arch::Nvptx(_) => "=r,0",
        };
        let ty = goal.ty().function(&[goal.ty()]);
        let identity = ffi::inline_assembly(ty, "", constraints, true);
        let goal = self.b.raw().call(ty, identity, &[goal]);
        goal.set_call_attribute(self.b.context(), "convergent");
        goal
    }
}

/// The values of `function` that are used where they no longer dominate.
fn kept<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    function: &Function<'_>,
    plan: &Tangles,
) -> BTreeMap<Id, (BlockIndex, Option<Value<'c>>)> {
    let mut made: BTreeMap<Id, BlockIndex> = BTreeMap::new();
    let mut labels: BTreeMap<Id, BlockIndex> = BTreeMap::new();
    for (index, block) in function.numbered() {
        labels.insert(block.label, index);
        for inst in &block.insts {
            // A variable is a slot already.
            if inst.op() != Some(Op::Variable)
                && let Some(result) = inst.result()
            {
                made.insert(result, index);
            }
        }
    }
    let mut kept = BTreeMap::new();
    let mut used = |id: Id, at: BlockIndex| {
        if let Some(made) = made.get(&id)
            && *made != at
            && !plan.dominates(*made, at)
        {
            kept.insert(id, (*made, None));
        }
    };
    for (index, block) in function.numbered() {
        for inst in &block.insts {
            if inst.op() == Some(Op::Phi) {
                for pair in inst.operands().chunks_exact(2) {
                    if let [value, parent] = pair
                        && let Some(parent) = labels.get(&Id(*parent))
                    {
                        used(Id(*value), *parent);
                    }
                }
            } else {
                for (_, id) in e.module.declarations.module.ids(*inst) {
                    used(id, index);
                }
            }
        }
    }
    kept
}
