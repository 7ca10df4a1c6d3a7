//! Completes an open pair before an OpControlBarrier of its scope and before the end of the shader,
//! so that a target on which OpControlBarrier is itself an arrive and a wait never has two arrives
//! in a row.
//!
//! Vulkan allows arrive, OpControlBarrier, wait, and an arrive that no wait follows. After the
//! pass, functions with barriers inlined, an entry function has arrive, wait, OpControlBarrier: the
//! wait stands directly before the barrier, what the later wait acquired stays in its place as an
//! OpMemoryBarrier, and its waiting is gone. An open arrive is waited for before each return; where
//! some invocations return before others, before the branch that parts them.
//! Workgroup and Subgroup are independent.
//!
//! Where paths differ (an arrive under a condition, a wait that follows a barrier on one path only)
//! the question is asked at run time: a Function variable of type bool says whether an arrive is
//! outstanding. It is set after each arrive and cleared after each wait of the scope, and nowhere
//! else; by that a second run knows it again, and finds nothing to do.
//!
//! A wait that is put in acquires what any arrive of its scope in the function releases: more than
//! some need, never less.

mod flag;
mod state;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

use super::edit::Edit;
use super::inline::inline_barrier_functions;
use super::inlined::{entries, follow, inlined};
use super::move_split_barriers::uniformity;
use super::operands::{
    ACQUIRE, CLASSES, Fence, SUBGROUP, WORKGROUP, barrier_operands, execution, is_ordered,
    is_split, known_fence,
};
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::analysis::cfg::{self, Cfg};
use crate::analysis::dominance::Dominators;
use crate::analysis::uniformity::Level;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::{
    BlockIndex, BlockMap, Constants, Declarations, EntryPoint, Function, Inst, Module, SpecValues,
};
use spirv::Op;
use state::{CLOSED, DONE, Event, OPEN};
use std::collections::BTreeMap;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    _: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    if !module.instructions().any(is_split) {
        return Ok(None);
    }
    inlined(module, declarations, |declarations| {
        let mut diagnostics = Diagnostics::new();
        let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
        let mut edit = Edit::new(declarations);
        let mut helpers = BTreeMap::new();
        for (entry, function) in entries(declarations) {
            for scope in [WORKGROUP, SUBGROUP] {
                Order {
                    edit: &mut edit,
                    helpers: &mut helpers,
                    constants: &constants,
                    scope,
                    flag: None,
                }
                .function(entry, function)?;
            }
        }
        let Some(first) = edit.finish()? else {
            return Ok(None);
        };
        // Waits under a flag are calls so far: inlining cuts the blocks.
        let second = follow(&first, |declarations| {
            inline_barrier_functions(declarations.module, declarations)
        })?;
        Ok(Some(second.unwrap_or(first)))
    })
}

/// What is done at a place. Places are few: one for each barrier and each return.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Action {
    /// Wait here.
    Wait,
    /// Wait here if an arrive is outstanding.
    WaitIfOpen,
    /// This wait has nothing to wait for: its fence stays.
    Drop,
    /// This wait may have nothing to wait for: its fence stays.
    DropIfDone,
}

struct Order<'w, 'd, 'm> {
    edit: &'w mut Edit<'d, 'm>,
    /// Functions that wait if the flag is set, by operands of the wait.
    helpers: &'w mut BTreeMap<[u32; 3], u32>,
    constants: &'w Constants,
    scope: u32,
    /// The flag, once something asks for it.
    flag: Option<u32>,
}

impl Order<'_, '_, '_> {
    fn function(
        &mut self,
        entry: &EntryPoint<'_>,
        function: &Function<'_>,
    ) -> Result<(), Diagnostic> {
        let declarations = self.edit.declarations;
        let mut events: BlockMap<Vec<(Inst<'_>, Event)>> = function
            .blocks
            .iter()
            .map(|block| {
                block
                    .insts
                    .iter()
                    .filter_map(|inst| Some((*inst, self.event(*inst)?)))
                    .collect()
            })
            .collect();
        if !events
            .values()
            .flatten()
            .any(|(_, event)| *event == Event::Arrive)
        {
            return Ok(());
        }
        let cfg = Cfg::analyze(declarations.module, function);
        let tests = flag::tests(declarations, function, &cfg, &events);
        let mut starts = state::solve(&cfg, &bare(&events), &tests);
        let early = self.early_ends(entry, function, &cfg, &events, &starts);
        if !early.is_empty() {
            for (block, end) in early {
                if let Some(list) = events.get_mut(block) {
                    list.push((end, Event::Exit));
                }
            }
            starts = state::solve(&cfg, &bare(&events), &tests);
        }
        let mut actions = Vec::new();
        for ((block, events), start) in function
            .blocks
            .iter()
            .zip(events.values())
            .zip(starts.values())
        {
            let mut state = *start;
            for (inst, event) in events {
                actions.extend(action(*event, state).map(|action| (*inst, action)));
                state = event.after(state);
            }
            if let Some(last) = block.terminator().filter(|last| cfg::is_exit(*last)) {
                actions.extend(action(Event::Exit, state).map(|action| (last, action)));
            }
        }
        if actions
            .iter()
            .any(|(_, action)| matches!(action, Action::WaitIfOpen | Action::DropIfDone))
        {
            self.make_flag(function, &events, &actions)?;
        }
        let completing = self.completing(&events)?;
        for (inst, action) in actions {
            self.act(inst, action, completing)?;
        }
        Ok(())
    }

    /// Where the shader ends for some invocations before it does for others, with an arrive
    /// outstanding, a wait there would not be one of all: the last places before that all come to.
    fn early_ends<'m>(
        &self,
        entry: &EntryPoint<'_>,
        function: &Function<'m>,
        cfg: &Cfg,
        events: &BlockMap<Vec<(Inst<'_>, Event)>>,
        starts: &BlockMap<u8>,
    ) -> BTreeMap<BlockIndex, Inst<'m>> {
        let state = |block: BlockIndex| {
            let events = events.get(block).into_iter().flatten();
            let start = starts.get(block).copied().unwrap_or(0);
            events.fold(start, |state, (_, event)| event.after(state))
        };
        let exits: Vec<BlockIndex> = cfg.blocks().filter(|block| cfg.is_exit(*block)).collect();
        let is_open = |block: BlockIndex| state(block) & OPEN != 0;
        if exits.len() < 2 || !exits.iter().any(|block| is_open(*block)) {
            return BTreeMap::new();
        }
        let level = match self.scope {
            SUBGROUP => Level::Subgroup,
            _ => Level::Workgroup,
        };
        let declarations = self.edit.declarations;
        let uniform = uniformity(declarations, self.constants, entry, function, level);
        let dominators = Dominators::analyze(cfg);
        let mut ends = BTreeMap::new();
        for exit in exits.into_iter().filter(|block| is_open(*block)) {
            let mut at = exit;
            while uniform.block(at).is_some()
                && let Some(above) = dominators.immediate(at)
            {
                at = above;
            }
            let end = function.block(at).and_then(|block| block.end());
            if at != exit && is_open(at) {
                ends.extend(end.map(|end| (at, end)));
            }
        }
        ends
    }

    fn event(&self, inst: Inst<'_>) -> Option<Event> {
        let event = match inst.op()? {
            Op::ControlBarrierArriveINTEL => Event::Arrive,
            Op::ControlBarrierWaitINTEL => Event::Wait,
            Op::ControlBarrier => Event::Barrier,
            _ => return None,
        };
        (execution(self.edit.declarations, inst)? == self.scope).then_some(event)
    }

    /// What a wait that is put in acquires.
    fn completing(&self, events: &BlockMap<Vec<(Inst<'_>, Event)>>) -> Result<Fence, Diagnostic> {
        let mut fence = Fence {
            scope: self.scope,
            bits: 0,
        };
        for (inst, _) in events
            .values()
            .flatten()
            .filter(|(_, event)| *event == Event::Arrive)
        {
            let arrive = known_fence(self.edit.declarations, *inst)?;
            let bits = if arrive.releases() {
                ACQUIRE | arrive.bits & CLASSES
            } else {
                0
            };
            fence = fence.union(Fence { bits, ..arrive }).ok_or_else(|| {
                Diagnostic::error(Code::UnsupportedInstruction, "no wait can complete all arrives of the function")
                    .at_word(inst.offset)
                    .because("some have the memory scope ShaderCallKHR and others do not, and neither scope contains the other")
            })?;
        }
        Ok(fence)
    }

    /// Declares the flag and keeps it.
    fn make_flag(
        &mut self,
        function: &Function<'_>,
        events: &BlockMap<Vec<(Inst<'_>, Event)>>,
        actions: &[(Inst<'_>, Action)],
    ) -> Result<(), Diagnostic> {
        let boolean = self.edit.type_of(Op::TypeBool, &[])?;
        let pointer = self.edit.type_of(
            Op::TypePointer,
            &[spirv::StorageClass::Function as u32, boolean],
        )?;
        let yes = self.edit.constant(Op::ConstantTrue, boolean, &[])?;
        let no = self.edit.constant(Op::ConstantFalse, boolean, &[])?;
        let flag = self.edit.fresh()?;
        let Some(first) = function.blocks.first() else {
            return Err(
                Diagnostic::bug("a function with barriers has no block").at_word(function.offset)
            );
        };
        self.edit.after(
            first.offset,
            Op::Variable,
            &[pointer, flag, spirv::StorageClass::Function as u32, no],
        )?;
        for (inst, event) in events.values().flatten() {
            let dropped = actions
                .binary_search_by_key(&inst.offset, |(inst, _)| inst.offset)
                .ok()
                .and_then(|at| actions.get(at))
                .is_some_and(|(_, action)| matches!(action, Action::Drop | Action::DropIfDone));
            match event {
                Event::Arrive => self.edit.after(inst.offset, Op::Store, &[flag, yes])?,
                Event::Wait if !dropped => self.edit.after(inst.offset, Op::Store, &[flag, no])?,
                Event::Wait | Event::Barrier | Event::Exit => {}
            }
        }
        self.flag = Some(flag);
        Ok(())
    }

    fn act(&mut self, inst: Inst<'_>, action: Action, completing: Fence) -> Result<(), Diagnostic> {
        match action {
            Action::Wait => {
                let operands = barrier_operands(self.edit, self.scope, completing)?;
                self.edit
                    .before(inst.offset, Op::ControlBarrierWaitINTEL, &operands)?;
                if let Some(flag) = self.flag {
                    let boolean = self.edit.type_of(Op::TypeBool, &[])?;
                    let no = self.edit.constant(Op::ConstantFalse, boolean, &[])?;
                    self.edit.before(inst.offset, Op::Store, &[flag, no])?;
                }
                Ok(())
            }
            Action::WaitIfOpen => {
                let operands = barrier_operands(self.edit, self.scope, completing)?;
                self.wait_if_open(inst, operands)
            }
            Action::Drop | Action::DropIfDone => {
                let fence = known_fence(self.edit.declarations, inst)?;
                if action == Action::DropIfDone {
                    let operands = barrier_operands(self.edit, self.scope, fence)?;
                    self.wait_if_open(inst, operands)?;
                }
                if is_ordered(fence) {
                    let operands = [
                        self.edit.number(fence.scope)?,
                        self.edit.number(fence.bits)?,
                    ];
                    self.edit.replace(inst.offset, Op::MemoryBarrier, &operands)
                } else {
                    self.edit.remove(inst.offset);
                    Ok(())
                }
            }
        }
    }

    /// Calls, before `inst`, a function that waits if the flag is set.
    fn wait_if_open(&mut self, inst: Inst<'_>, operands: [u32; 3]) -> Result<(), Diagnostic> {
        let Some(flag) = self.flag else {
            return Err(Diagnostic::bug("the flag of a wait does not exist").at_word(inst.offset));
        };
        let helper = match self.helpers.get(&operands) {
            Some(helper) => *helper,
            None => {
                let helper = self.helper(operands)?;
                self.helpers.insert(operands, helper);
                helper
            }
        };
        let void = self.edit.type_of(Op::TypeVoid, &[])?;
        let result = self.edit.fresh()?;
        self.edit
            .before(inst.offset, Op::FunctionCall, &[void, result, helper, flag])
    }

    /// void wait_if_open(bool *flag) { if (*flag) { wait; *flag = false; } }
    fn helper(&mut self, operands: [u32; 3]) -> Result<u32, Diagnostic> {
        let edit = &mut *self.edit;
        let void = edit.type_of(Op::TypeVoid, &[])?;
        let boolean = edit.type_of(Op::TypeBool, &[])?;
        let pointer = edit.type_of(
            Op::TypePointer,
            &[spirv::StorageClass::Function as u32, boolean],
        )?;
        let ty = edit.type_of(Op::TypeFunction, &[void, pointer])?;
        let no = edit.constant(Op::ConstantFalse, boolean, &[])?;
        let [function, flag, entry, loaded, waits, end] = {
            let mut ids = [0; 6];
            for id in &mut ids {
                *id = edit.fresh()?;
            }
            ids
        };
        edit.function(Op::Function, &[void, function, 0, ty])?;
        edit.function(Op::FunctionParameter, &[pointer, flag])?;
        edit.function(Op::Label, &[entry])?;
        edit.function(Op::Load, &[boolean, loaded, flag])?;
        edit.function(Op::SelectionMerge, &[end, 0])?;
        edit.function(Op::BranchConditional, &[loaded, waits, end])?;
        edit.function(Op::Label, &[waits])?;
        edit.function(Op::ControlBarrierWaitINTEL, &operands)?;
        edit.function(Op::Store, &[flag, no])?;
        edit.function(Op::Branch, &[end])?;
        edit.function(Op::Label, &[end])?;
        edit.function(Op::Return, &[])?;
        edit.function(Op::FunctionEnd, &[])?;
        Ok(function)
    }
}

/// The events alone.
fn bare(events: &BlockMap<Vec<(Inst<'_>, Event)>>) -> BlockMap<Vec<Event>> {
    let bare = |list: &Vec<(Inst<'_>, Event)>| list.iter().map(|(_, event)| *event).collect();
    events.values().map(bare).collect()
}

/// What is to do before `event` in `state`. A wait that no arrive can precede breaks a rule and
/// stays as it is.
fn action(event: Event, state: u8) -> Option<Action> {
    match event {
        Event::Arrive => None,
        Event::Barrier | Event::Exit => match (state & OPEN != 0, state & (CLOSED | DONE) != 0) {
            (true, false) => Some(Action::Wait),
            (true, true) => Some(Action::WaitIfOpen),
            (false, _) => None,
        },
        Event::Wait => match (state & OPEN != 0, state & DONE != 0) {
            (false, true) => Some(Action::Drop),
            (true, true) => Some(Action::DropIfDone),
            (_, false) => None,
        },
    }
}
