//! The relations that an execution gives rise to: phases and who takes part in them, what joined
//! whom, what executes before what.

use super::execution::{EventId, Execution, Operation};
use std::collections::BTreeMap;

/// What completes a barrier once: the operations from an arrive count of zero to an arrive count
/// that equals the expected count.
///
/// A drop while nothing has arrived may be counted to the phase that follows or to none; here it is
/// counted to none.
#[derive(Clone, Debug, Default)]
pub(super) struct Phase {
    pub members: Vec<EventId>,
}

/// Where a thread's join of an object comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// There is none.
    None,
    /// A join of a mutually exclusive object took it away.
    Lost,
    /// The launch.
    Launch,
    /// An event.
    Event(EventId),
}

/// By event, the join that is joined-before it.
pub(super) fn joins(execution: &Execution) -> BTreeMap<EventId, Join> {
    let mut joins = BTreeMap::new();
    for (thread, trail) in execution.threads.iter().enumerate() {
        let at_launch = |object: &super::object::Object| {
            if object.joined && object.scope.holds(trail.workgroup) {
                Join::Launch
            } else {
                Join::None
            }
        };
        let mut current: Vec<Join> = execution.objects.iter().map(at_launch).collect();
        for (index, event) in trail.events.iter().enumerate() {
            let id = EventId { thread, index };
            let Some(object) = execution.objects.get(event.object) else {
                continue;
            };
            joins.insert(id, current[event.object]);
            match event.operation {
                Operation::Join => {
                    let others = current.iter_mut().zip(&execution.objects);
                    for (join, _) in others.filter(|(_, other)| object.exclusive && other.exclusive)
                    {
                        if !matches!(join, Join::None) {
                            *join = Join::Lost;
                        }
                    }
                    current[event.object] = Join::Event(id);
                }
                Operation::Drop => current[event.object] = Join::None,
                Operation::Init(_) | Operation::Arrive(_) | Operation::Wait => {}
            }
        }
    }
    joins
}

/// What executes before what: program order and participates-in, closed transitively.
#[derive(Clone, Debug)]
pub(super) struct ExecutesBefore {
    number: BTreeMap<EventId, usize>,
    /// By event: a bit for each event that it executes before.
    after: Vec<Vec<u64>>,
    /// An event that executes before itself, if there is one.
    pub cycle: Option<EventId>,
}

impl ExecutesBefore {
    /// Closes program order and `edges`.
    pub(super) fn analyze(
        execution: &Execution,
        edges: impl Iterator<Item = (EventId, EventId)>,
    ) -> ExecutesBefore {
        let ids: Vec<EventId> = execution.events().map(|(id, _)| id).collect();
        let number: BTreeMap<EventId, usize> = ids.iter().copied().zip(0..).collect();
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); ids.len()];
        for (from, to) in ids
            .iter()
            .zip(ids.iter().skip(1))
            .filter(|(from, to)| from.thread == to.thread)
        {
            next[number[from]].push(number[to]);
        }
        for (from, to) in edges {
            if let (Some(from), Some(to)) = (number.get(&from), number.get(&to)) {
                next[*from].push(*to);
            }
        }
        let mut before = vec![0usize; ids.len()];
        for to in next.iter().flatten() {
            before[*to] += 1;
        }
        let mut ready: Vec<usize> = (0..ids.len()).filter(|event| before[*event] == 0).collect();
        let mut sorted = Vec::with_capacity(ids.len());
        while let Some(event) = ready.pop() {
            sorted.push(event);
            for to in &next[event] {
                before[*to] -= 1;
                if before[*to] == 0 {
                    ready.push(*to);
                }
            }
        }
        let cycle = (0..ids.len())
            .find(|event| before[*event] > 0)
            .map(|event| ids[event]);
        let mut after = vec![vec![0u64; ids.len().div_ceil(64)]; ids.len()];
        for event in sorted.into_iter().rev() {
            let mut own = std::mem::take(&mut after[event]);
            for to in &next[event] {
                own[to / 64] |= 1 << (to % 64);
                own.iter_mut()
                    .zip(&after[*to])
                    .for_each(|(own, more)| *own |= more);
            }
            after[event] = own;
        }
        ExecutesBefore {
            number,
            after,
            cycle,
        }
    }

    /// Returns true if `first` executes before `second`.
    pub(super) fn holds(&self, first: EventId, second: EventId) -> bool {
        match (self.number.get(&first), self.number.get(&second)) {
            (Some(first), Some(second)) => {
                self.after[*first][second / 64] >> (second % 64) & 1 != 0
            }
            (None, _) | (_, None) => false,
        }
    }
}
