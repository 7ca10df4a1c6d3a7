//! Knows a flag of an earlier run again: a Function variable that is true exactly while an arrive
//! is outstanding.
//!
//! That is proved, not believed: the variable starts as false, a store of true stands directly
//! after every arrive of the scope and a store of false directly after every wait, and nothing else
//! in the function uses it but loads.

use super::state::{Event, Test};
use crate::analysis::cfg::Cfg;
use crate::module::{BlockMap, Declarations, Function, Id, Inst};
use spirv::Op;

/// For every block, the test of a flag that it ends with.
pub(super) fn tests(
    declarations: &Declarations<'_>,
    function: &Function<'_>,
    cfg: &Cfg,
    events: &BlockMap<Vec<(Inst<'_>, Event)>>,
) -> BlockMap<Option<Test>> {
    let none = BlockMap::filled(cfg.len(), None);
    let Some(flag) = stored_after_first(function, events)
        .filter(|flag| is_flag(declarations, function, events, *flag))
    else {
        return none;
    };
    let test = |(block, events): (&crate::module::Block<'_>, &Vec<(Inst<'_>, Event)>)| {
        let last = block
            .terminator()
            .filter(|last| last.op() == Some(Op::BranchConditional))?;
        let load = declarations.module.def(last.id(0).ok()?)?;
        let is_fresh = load.op() == Some(Op::Load)
            && load.id(0) == Ok(flag)
            && load.offset > block.offset
            && load.offset < last.offset
            && events.iter().all(|(inst, _)| inst.offset < load.offset);
        if !is_fresh {
            return None;
        }
        Some(Test {
            open: cfg.index_of(last.id(1).ok()?)?,
            closed: cfg.index_of(last.id(2).ok()?)?,
        })
    };
    function
        .blocks
        .iter()
        .zip(events.values())
        .map(test)
        .collect()
}

/// What the instruction after the first arrive stores to.
fn stored_after_first(
    function: &Function<'_>,
    events: &BlockMap<Vec<(Inst<'_>, Event)>>,
) -> Option<Id> {
    let (first, _) = events
        .values()
        .flatten()
        .find(|(_, event)| *event == Event::Arrive)?;
    let mut insts = function
        .insts()
        .skip_while(|inst| inst.offset != first.offset);
    insts
        .nth(1)
        .filter(|next| next.op() == Some(Op::Store))?
        .id(0)
        .ok()
}

fn is_flag(
    declarations: &Declarations<'_>,
    function: &Function<'_>,
    events: &BlockMap<Vec<(Inst<'_>, Event)>>,
    flag: Id,
) -> bool {
    let module = declarations.module;
    let defined = |id: Id, op: Op| module.def(id).is_some_and(|def| def.op() == Some(op));
    let starts_false = module.def(flag).is_some_and(|def| {
        def.op() == Some(Op::Variable)
            && def
                .id(1)
                .is_ok_and(|initial| defined(initial, Op::ConstantFalse))
    });
    if !starts_false || declarations.variable(flag).is_some() {
        return false;
    }
    let mut stores = 0;
    for (block, events) in function.blocks.iter().zip(events.values()) {
        let mut events = events
            .iter()
            .filter(|(_, event)| matches!(event, Event::Arrive | Event::Wait))
            .peekable();
        let mut expected = None;
        for inst in &block.insts {
            if let Some(value) = expected.take() {
                let holds = inst.op() == Some(Op::Store)
                    && inst.id(0) == Ok(flag)
                    && inst.id(1).is_ok_and(|stored| defined(stored, value))
                    && inst.operands().len() == 2;
                if !holds {
                    return false;
                }
                stores += 1;
            }
            if let Some((_, event)) = events.next_if(|(event, _)| event.offset == inst.offset) {
                expected = Some(if *event == Event::Arrive {
                    Op::ConstantTrue
                } else {
                    Op::ConstantFalse
                });
            }
        }
    }
    let mut uses = 0;
    for inst in function.insts() {
        let names = module.ids(inst).filter(|(_, id)| *id == flag).count();
        match inst.op() {
            Some(Op::Variable) if inst.result() == Some(flag) => {}
            Some(Op::Load) => {}
            Some(Op::Store) if names == 1 && inst.id(0) == Ok(flag) => uses += 1,
            _ if names > 0 => return false,
            _ => {} // does not touch it
        }
    }
    uses == stores
}
