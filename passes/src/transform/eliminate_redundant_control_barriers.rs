//! Removes OpControlBarriers of the workgroup that order nothing: no access before one conflicts
//! with one after it ([`crate::analysis::phases`]).
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
use crate::analysis::phases::{Body, Openness, Role, Side, Zones};
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
        for (entry, function) in entries(declarations) {
            let (body, cfg) = look(
                declarations,
                &constants,
                entry,
                function,
                orders_all,
                &mut diagnostics,
            )?;
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
        let mut items = left.blocks.values().flatten();
        let is_candidate = barrier.is_known && items.any(|item| is_whole(item.role));
        if !is_candidate || Openness::analyze(&left, cfg).is_in_a_window(number) {
            continue;
        }
        work += 5 * left.len();
        if work > MOST_WORK {
            break;
        }
        let zones = Zones::analyze(&left, cfg);
        if !zones.keep_apart(number, barrier.may_order) {
            for items in left.blocks.values_mut() {
                items.retain(|item| !is_whole(item.role));
            }
            gone.extend(&barrier.arrives);
        }
    }
    gone
}
