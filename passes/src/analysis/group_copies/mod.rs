//! OpGroupAsyncCopy and OpGroupWaitEvents of one function (SPIR-V 1.6, section 3.52.21): what each
//! copy moves, and for which copies each wait is.
//!
//! An event is a value without a content: what it stands for is known from where it comes. So
//! copies are named by it ([`Group`], the number of the id), phis give names anew, and a wait needs
//! the names that its list may hold. The list stands in memory; a store of the same block says what
//! an element holds, else all that was ever stored there counts. Where an event cannot be followed
//! the wait is for every copy.

mod events;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use super::cfg::Cfg;
use super::marks::{self, Event, Group, Marks, Move};
use crate::module::facts::Class;
use crate::module::{
    BlockIndex, BlockMap, Constants, Declarations, Function, Id, Inst, Scope, Type, WordOffset,
};
use events::Events;
use spirv::{Op, StorageClass};

/// The direction of a copy.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From global to workgroup memory; the stride is that of the source.
    ToWorkgroup,
    /// From workgroup to global memory; the stride is that of the destination.
    FromWorkgroup,
}

/// An OpGroupAsyncCopy.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct GroupCopy {
    /// Its word offset.
    pub offset: WordOffset,
    /// Its block.
    pub block: BlockIndex,
    /// Whose invocations make the copy; `None` when the operand is not a constant scope.
    pub scope: Option<Scope>,
    /// The direction; `None` if the storage classes do not determine it.
    pub direction: Option<Direction>,
    /// Bytes of an element, which its type has to be aligned to: a power of two. `None` when the
    /// pointers do not point to numbers or vectors of them.
    pub element_bytes: Option<u32>,
    /// The number of elements, if it is a constant.
    pub elements: Option<u32>,
    /// True if the elements follow each other in global memory: the stride is the constant 1.
    pub contiguous: bool,
    /// The name of its event.
    pub event: Group,
}

/// An OpGroupWaitEvents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupWait {
    /// Its word offset.
    pub offset: WordOffset,
    /// Its block.
    pub block: BlockIndex,
    /// Whose invocations wait for each other; `None` when the operand is not a constant scope.
    pub scope: Option<Scope>,
    /// The events that it is for; `None`: all.
    pub events: Option<Vec<Group>>,
}

/// The copies and waits of a function, each in module order, and how events get new names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupCopies {
    /// The copies.
    pub copies: Vec<GroupCopy>,
    /// The waits.
    pub waits: Vec<GroupWait>,
    /// The phis of events.
    pub moves: Vec<Move>,
}

/// Some of the copies, each followed by its own mark, and all waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The events of each block in order, each with the word offset of its instruction.
    pub events: BlockMap<Vec<(WordOffset, Event)>>,
    /// The marks and waits, by the places of the events.
    pub marks: Marks,
}

impl GroupCopies {
    /// Finds the group copies of `function`, whose graph is `cfg`.
    pub fn analyze(
        declarations: &Declarations<'_>,
        constants: &Constants,
        function: &Function<'_>,
        cfg: &Cfg,
    ) -> GroupCopies {
        if !function.syncs.iter().any(|inst| is_group_copy(*inst)) {
            return GroupCopies::default();
        }
        let events = Events::analyze(declarations, constants, function, cfg);
        let mut found = GroupCopies {
            moves: events.moves(),
            ..GroupCopies::default()
        };
        let scope = |inst: Inst<'_>| {
            let scope = inst.id(0).ok()?;
            constants.as_u32(scope).and_then(Scope::from_u32)
        };
        for (block, body) in function.numbered() {
            for (index, inst) in body.insts.iter().enumerate() {
                match (inst.op(), inst.result()) {
                    (Some(Op::GroupAsyncCopy), Some(result)) => found.copies.push(GroupCopy {
                        offset: inst.offset,
                        block,
                        scope: scope(*inst),
                        direction: direction(declarations, *inst),
                        element_bytes: inst
                            .id(1)
                            .ok()
                            .and_then(|to| element_bytes(declarations, to)),
                        elements: constant(constants, *inst, 3)
                            .and_then(|count| u32::try_from(count).ok()),
                        contiguous: constant(constants, *inst, 4) == Some(1),
                        event: events.name(result),
                    }),
                    (Some(Op::GroupWaitEvents), _) => found.waits.push(GroupWait {
                        offset: inst.offset,
                        block,
                        scope: scope(*inst),
                        events: events.waited_for(block, index, *inst),
                    }),
                    _ => {}
                }
            }
        }
        found
    }

    /// Counts the copies that `chosen` takes, as if there were no others; `cfg` is the function's
    /// graph.
    pub fn counted(&self, cfg: &Cfg, chosen: impl Fn(&GroupCopy) -> bool) -> Counted {
        let mut events: BlockMap<Vec<(WordOffset, Event)>> =
            BlockMap::filled(cfg.len(), Vec::new());
        for copy in self.copies.iter().filter(|copy| chosen(copy)) {
            if let Some(block) = events.get_mut(copy.block) {
                block.push((copy.offset, Event::Copy(copy.event)));
                block.push((copy.offset, Event::Mark));
            }
        }
        for wait in &self.waits {
            if let Some(block) = events.get_mut(wait.block) {
                let need = wait.events.clone().map_or(Event::NeedAll, Event::Need);
                block.push((wait.offset, need));
            }
        }
        for block in events.values_mut() {
            block.sort_by_key(|(offset, _)| *offset); // stable: a mark stays behind its copy
        }
        let plain: BlockMap<Vec<Event>> = events
            .values()
            .map(|block| block.iter().map(|(_, event)| event.clone()).collect())
            .collect();
        Counted {
            marks: marks::solve(cfg, &plain, &self.moves),
            events,
        }
    }
}

/// Returns true if the instruction is an OpGroupAsyncCopy or OpGroupWaitEvents.
pub fn is_group_copy(inst: Inst<'_>) -> bool {
    matches!(inst.facts().class, Class::AsyncCopy | Class::WaitEvents)
}

fn constant(constants: &Constants, inst: Inst<'_>, operand: usize) -> Option<u64> {
    constants.get(inst.id(operand).ok()?)?.as_u64()
}

/// The storage class and pointee of a pointer value.
fn pointer<'d>(
    declarations: &'d Declarations<'_>,
    value: Id,
) -> Option<(StorageClass, Option<&'d Type>)> {
    match declarations.ty(declarations.type_of(value)?)? {
        Type::Pointer { class, pointee } => {
            Some((*class, pointee.and_then(|pointee| declarations.ty(pointee))))
        }
        _ => None,
    }
}

fn direction(declarations: &Declarations<'_>, copy: Inst<'_>) -> Option<Direction> {
    let class = |operand| Some(pointer(declarations, copy.id(operand).ok()?)?.0);
    match (class(1)?, class(2)?) {
        (StorageClass::Workgroup, StorageClass::CrossWorkgroup) => Some(Direction::ToWorkgroup),
        (StorageClass::CrossWorkgroup, StorageClass::Workgroup) => Some(Direction::FromWorkgroup),
        _ => None,
    }
}

/// OpenCL C 6.3.5: types are aligned to their size, and a vector of three components has the size
/// of one of four.
fn element_bytes(declarations: &Declarations<'_>, pointer_id: Id) -> Option<u32> {
    let scalar = |ty: &Type| match ty {
        Type::Int { width, .. } | Type::Float { width, .. } => {
            matches!(width, 8 | 16 | 32 | 64).then_some(width / 8)
        }
        _ => None,
    };
    match pointer(declarations, pointer_id)?.1? {
        Type::Vector { component, count } => {
            let bytes = scalar(declarations.ty(*component)?)?;
            Some(bytes * count.checked_next_power_of_two()?)
        }
        ty => scalar(ty),
    }
}
