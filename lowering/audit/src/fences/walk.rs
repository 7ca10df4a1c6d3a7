//! Walks over the instructions of a function from one place on, forward or backward, with a few
//! bits of state.

use crate::asm::Function;
use std::collections::BTreeSet;

/// Most instructions that are visited for all required orderings of a function together.
const MOST_VISITS: usize = 1 << 25;

/// A function with its edges in both directions.
pub(super) struct Walker<'f> {
    pub function: &'f Function,
    predecessors: Vec<Vec<usize>>,
    visits: usize,
}

impl<'f> Walker<'f> {
    pub(super) fn new(function: &'f Function) -> Walker<'f> {
        let mut predecessors = vec![Vec::new(); function.instructions.len()];
        for position in 0..function.instructions.len() {
            for next in function.successors(position) {
                if let Some(before) = predecessors.get_mut(next) {
                    before.push(position);
                }
            }
        }
        Walker {
            function,
            predecessors,
            visits: 0,
        }
    }

    /// Returns true if a walk was cut short.
    pub(super) fn gave_up(&self) -> bool {
        self.visits > MOST_VISITS
    }

    /// Visits what comes right after `from` (`forward`) or right before it with `state`, and goes
    /// on with the state that `visit` gives until it gives none. Each instruction is visited once
    /// for each state.
    pub(super) fn walk(
        &mut self,
        from: usize,
        forward: bool,
        state: u32,
        mut visit: impl FnMut(usize, u32) -> Option<u32>,
    ) {
        let mut seen = BTreeSet::new();
        let mut todo = vec![(from, state)];
        while let Some((position, state)) = todo.pop() {
            debug_assert!(
                position < self.predecessors.len(),
                "the function has no instruction {position}"
            );
            let next = if forward {
                self.function.successors(position)
            } else {
                self.predecessors.get(position).cloned().unwrap_or_default()
            };
            for next in next {
                if !seen.insert((next, state)) {
                    continue;
                }
                self.visits = self.visits.saturating_add(1);
                if self.gave_up() {
                    return;
                }
                if let Some(state) = visit(next, state) {
                    todo.push((next, state));
                }
            }
        }
    }
}
