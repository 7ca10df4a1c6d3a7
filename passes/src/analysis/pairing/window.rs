//! Pairs and their windows.
//!
//! At one place of the program, all arrives that reach it and all waits that can be reached from it
//! (with no other arrive or wait of the scope on the way) belong to one pair. So each place is in
//! at most one window of a scope, and one walk over the function finds all windows.

use super::flow::{Event, Flow};
use super::sites::{Site, SiteId, SiteKind};
use crate::analysis::cfg::Cfg;
use crate::module::{BlockMap, Function, WordOffset};

/// Disjoint sets of arrives, by number among the arrives of the scope.
pub(super) struct Groups {
    parent: Vec<usize>,
}

impl Groups {
    /// Each of `count` arrives alone.
    pub(super) fn new(count: usize) -> Groups {
        Groups {
            parent: (0..count).collect(),
        }
    }

    /// The least arrive of the set that `arrive` is in.
    pub(super) fn find(&mut self, mut arrive: usize) -> usize {
        while self.parent[arrive] != arrive {
            let above = self.parent[self.parent[arrive]];
            self.parent[arrive] = above;
            arrive = above;
        }
        arrive
    }

    /// Makes one set of the sets of `a` and `b`.
    pub(super) fn union(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b)] = a.min(b);
    }
}

/// Word offsets of the instructions of each window, sorted. `events` gives each block the events of
/// the scope with their word offsets; `groups` must be final. The result is by the least arrive of
/// the group.
pub(super) fn windows(
    function: &Function<'_>,
    cfg: &Cfg,
    events: &BlockMap<Vec<(WordOffset, Event)>>,
    flow: &Flow,
    groups: &mut Groups,
) -> Vec<Vec<WordOffset>> {
    let mut windows = vec![Vec::new(); groups.parent.len()];
    for (index, block) in function
        .numbered()
        .filter(|(index, _)| cfg.is_reachable(*index))
    {
        let (Some(start), Some(wait_ahead)) =
            (flow.at_start.get(index), flow.wait_ahead.get(index))
        else {
            debug_assert!(false, "no state of block {index}");
            continue;
        };
        let events = events.get(index).map_or(&[][..], Vec::as_slice);
        let mut open = start.arrives().next();
        let mut coming = events.iter().peekable();
        for inst in &block.insts {
            if let Some((_, event)) = coming.next_if(|(offset, _)| *offset == inst.offset) {
                open = match event {
                    Event::Arrive(arrive) => Some(*arrive),
                    Event::Wait => None,
                };
                continue;
            }
            let waited_for = coming
                .peek()
                .map_or(*wait_ahead, |(_, next)| *next == Event::Wait);
            if let Some(arrive) = open
                && waited_for
                && SiteKind::from_inst(*inst).is_none()
            {
                windows[groups.find(arrive)].push(inst.offset);
            }
        }
    }
    for window in &mut windows {
        window.sort_unstable(); // blocks come in module order: nothing to do but for hand-made functions
    }
    windows
}

/// The ids of `sites` that `keep` keeps.
pub(super) fn ids(sites: &[Site], keep: impl Fn(&Site) -> bool) -> Vec<SiteId> {
    sites
        .iter()
        .filter(|site| keep(site))
        .map(|site| site.id)
        .collect()
}
