//! Arrives at which no copy has to be complete yet: that all are when the wait returns is enough.
//!
//! A copy that others may come to behind a wait has to be complete when that wait returns, for all
//! of them. An arrive asks for it earlier only because most barriers know nothing of copies. Where
//! the barrier itself can wait for them, it may, unless something between the arrive and the wait
//! asks: a release of another kind, an access of the invocation itself, a write that may change the
//! source, the end of the function.

use super::flow::{Flow, Slots, What, pass};
use super::scan::Act;
use crate::analysis::cfg::Cfg;
use crate::analysis::dataflow::{Direction, solve_any};
use crate::module::{BlockIndex, WordOffset};
use std::collections::BTreeMap;

/// Word offsets of the arrives behind which nothing asks for a copy that may be outstanding there
/// before the next wait; ascending.
pub(super) fn deferred(flow: &Flow, cfg: &Cfg) -> Vec<WordOffset> {
    let events = |node: BlockIndex| flow.events.get(node).map_or(&[][..], Vec::as_slice);
    let asked = solve_any(cfg, Direction::Backward, |node, mut asked: Slots| {
        for event in events(node).iter().rev() {
            asked = before(asked, event);
        }
        asked
    });
    // An arrive stands in several nodes of the split graph: all of them have a say.
    let mut arrives: BTreeMap<WordOffset, bool> = BTreeMap::new();
    for (node, asked) in asked.iter() {
        let mut asked = *asked;
        // What may be outstanding before each event.
        let mut outstanding = flow.outstanding.get(node).copied().unwrap_or(Slots::MAX);
        let outstanding: Vec<Slots> = events(node)
            .iter()
            .map(|event| {
                let here = outstanding;
                pass(&mut outstanding, event);
                here
            })
            .collect();
        for (event, outstanding) in events(node).iter().zip(outstanding).rev() {
            if let What::Release(Act::Arrive { .. }) = event.what {
                let quiet = asked & outstanding == 0;
                let known = arrives.entry(event.offset).or_insert(true);
                *known &= quiet;
            }
            asked = before(asked, event);
        }
    }
    let quiet = arrives.into_iter().filter(|(_, quiet)| *quiet);
    quiet.map(|(offset, _)| offset).collect()
}

/// The slots that are asked for before the next wait, seen from before `event`, when it is `asked`
/// behind it.
fn before(asked: Slots, event: &super::flow::Event) -> Slots {
    match event.what {
        What::Release(Act::Wait) => 0,
        // A copy that fills asks for none of its own, which are elsewhere; those that an arrive
        // publishes may be where it goes.
        What::Copy { touched, .. } => asked | event.need | touched,
        What::Touch(_) | What::Release(_) => asked | event.need,
    }
}
