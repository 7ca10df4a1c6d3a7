//! Removes OpControlBarriers of the workgroup that order nothing: no access in front of one
//! conflicts with one behind it ([`crate::analysis::phases`]).
//!
//! Removed one after another: each that goes makes the zones of its neighbours larger, so they are
//! worked out anew. What an atomic operation may publish keeps a barrier, whatever its semantics
//! name, because invocations may count on having met.
//!
//! Left alone: barriers of other scopes, with operands from specialization constants, or marked
//! Volatile; and one in an open pair. In entry functions; functions with barriers are inlined
//! first. With the value `all-memory` every barrier is taken to order all memory.

use super::edit::Edit;
use super::inlined::{entries, inlined};
use super::move_split_barriers::look;
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::analysis::cfg::Cfg;
use crate::analysis::phases::{Body, Effect, Openness, Role, Side, Zones};
use crate::diagnostic::Diagnostics;
use crate::module::{Constants, Declarations, Module, SpecValues, WordOffset};
use spirv::Op;

/// Instructions that are looked at in one function; barriers that were not asked then stay.
const MOST_WORK: usize = 1 << 26;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let is_whole = |op| op == Some(Op::ControlBarrier);
    if !module.instructions().any(|inst| is_whole(inst.op())) {
        return Ok(None);
    }
    let orders_all = *options == PassOptions::AllMemory;
    inlined(module, declarations, |declarations| {
        let mut diagnostics = Diagnostics::new();
        let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
        let mut edit = Edit::new(declarations);
        for entry in entries(declarations) {
            let (body, cfg) = look(
                declarations,
                &constants,
                entry,
                orders_all,
                &mut diagnostics,
            );
            if diagnostics.has_errors() {
                return Err(diagnostics);
            }
            let gone = eliminate(&body, &cfg);
            gone.into_iter().for_each(|offset| edit.remove(offset));
        }
        edit.finish()
    })
}

/// The places of the barriers that order nothing.
fn eliminate(body: &Body, cfg: &Cfg) -> Vec<WordOffset> {
    let mut left = body.clone();
    let mut gone = Vec::new();
    let mut work = 0;
    for (number, barrier) in body.barriers.iter().enumerate() {
        let is_whole = |role| role == Role::Half(number, Side::Both);
        let mut items = left.blocks.iter().flatten();
        let is_candidate = barrier.is_known && items.any(|item| is_whole(item.role));
        if !is_candidate || Openness::analyze(&left, cfg).is_in_a_window(number) {
            continue;
        }
        work += 5 * left.len();
        if work > MOST_WORK {
            break;
        }
        let zones = Zones::analyze(&left, cfg);
        let (before, behind) = (zones.before(number), zones.behind(number));
        let named = barrier.may_order;
        let orders = before.within(named).conflicts(behind.within(named))
            || published(before).conflicts(behind)
            || published(behind).conflicts(before);
        if !orders {
            for items in &mut left.blocks {
                items.retain(|item| !is_whole(item.role));
            }
            gone.extend(&barrier.arrives);
        }
    }
    gone
}

/// What was published, and nothing else.
fn published(effect: Effect) -> Effect {
    Effect {
        publishes: effect.publishes,
        ..Effect::NONE
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::analysis::testing::{accessing, assemble, declared};

    const GLOBALS: &str = "
        OpCapability 4
        %shared_ptr = OpTypePointer 4 %uint
        %one = OpVariable %shared_ptr 4
        %two = OpVariable %shared_ptr 4
        %buffer_ptr = OpTypePointer 12 %uint
        %data = OpVariable %buffer_ptr 12
        %everything = OpConstant %uint 328
    ";

    /// How many OpControlBarriers of a body stay.
    fn left(body: &str) -> usize {
        let lines = body.replace("barrier.all", "OpControlBarrier %group %group %everything");
        let assembled = assemble(GLOBALS, &accessing(&lines));
        let (declarations, _) = declared(&assembled.module);
        let mut found = Diagnostics::new();
        let options = PassOptions::None;
        let edited = run(&assembled.module, &declarations, &options, &mut found).unwrap();
        let new = edited
            .as_ref()
            .map_or(&assembled.module, |edited| &edited.module);
        let (again, _) = declared(new);
        assert!(
            run(new, &again, &options, &mut found).unwrap().is_none(),
            "{body}"
        );
        let instructions = new.instructions();
        instructions
            .filter(|inst| inst.op() == Some(Op::ControlBarrier))
            .count()
    }

    #[test]
    fn what_orders_nothing_goes() {
        assert_eq!(left("w one; barrier; r two"), 0);
        assert_eq!(left("r one; barrier; r one"), 0);
        assert_eq!(left("w one; barrier; r one"), 1);
        assert_eq!(left("r one; barrier; w one"), 1);
        assert_eq!(left("barrier; w one"), 0);
    }

    #[test]
    fn one_of_two_goes_and_not_both() {
        assert_eq!(left("w one; barrier; barrier; r one"), 1);
        assert_eq!(left("w one; barrier; w two; barrier; r one; r two"), 1);
        assert_eq!(left("w one; barrier; r one; w two; barrier; r two"), 2);
    }

    #[test]
    fn only_the_memory_that_is_named_counts() {
        assert_eq!(left("w data; barrier; r data"), 0);
        assert_eq!(left("w data; barrier.all; r data"), 1);
        // The next kernel reads it.
        assert_eq!(left("w data; barrier.all"), 1);
    }

    #[test]
    fn who_counts_meets() {
        let count = "%c = OpAtomicIAdd %uint %two %group %release %u1";
        assert_eq!(left(&format!("r one; barrier; {count}")), 1);
        assert_eq!(left(&format!("{count}; barrier; r one")), 1);
        assert_eq!(left(&format!("barrier; {count}")), 0);
        // A barrier without semantics orders no memory, and the counter is read behind it.
        let relaxed = "%c = OpAtomicIAdd %uint %two %group %none %u1";
        let met = format!("{relaxed}; OpControlBarrier %group %group %none; r two");
        assert_eq!(left(&met), 1);
    }

    #[test]
    fn a_barrier_in_a_window_stays() {
        assert_eq!(left("arrive; barrier; wait"), 1);
    }
}
