//! The checker: which rules of the model does an execution break, and where?

use super::axiom::Axiom;
use super::execution::{EventId, Execution, Operation};
use super::relations::{ExecutesBefore, Join, Phase, joins};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The most events of an execution that is checked.
const MOST_EVENTS: usize = 1024;

/// How often another phase is tried for a wait.
const MOST_TRIES: usize = 256;

/// A rule that an execution breaks.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The rule.
    pub axiom: Axiom,
    /// The operation that breaks it.
    pub event: EventId,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { axiom, event } = self;
        let EventId { thread, index } = event;
        write!(
            f,
            "operation {index} of thread {thread} breaks {axiom}: {}",
            axiom.text()
        )
    }
}

/// The relations of a valid execution.
#[derive(Clone, Debug)]
pub struct Relations {
    /// By wait: the operations that participate in it.
    participants: BTreeMap<EventId, Vec<EventId>>,
    before: ExecutesBefore,
}

impl Relations {
    /// Returns true if `operation` participates in `wait`: the wait depends on it to complete.
    pub fn participates_in(&self, operation: EventId, wait: EventId) -> bool {
        self.participants
            .get(&wait)
            .is_some_and(|all| all.contains(&operation))
    }

    /// Returns true if `first` completes before `second` does.
    pub fn executes_before(&self, first: EventId, second: EventId) -> bool {
        self.before.holds(first, second)
    }
}

/// Checks an execution.
///
/// The document leaves open which phase a wait takes, and says that only one choice satisfies
/// everything else. Waits take the earliest phase that their thread's own operations allow; where
/// that breaks a rule, later ones are tried.
///
/// # Errors
/// The rules that the execution breaks, sorted. One of more than 1024 events is not looked at: it
/// breaks [`Axiom::StrictTotalOrder`] at the first that is too many.
pub fn check(execution: &Execution) -> Result<Relations, Vec<Violation>> {
    let mut checker = Checker {
        execution,
        violations: Vec::new(),
        phases: Vec::new(),
        phase_of: BTreeMap::new(),
    };
    checker.shape();
    if checker.violations.is_empty() {
        checker.counts();
        checker.joins();
    }
    if !checker.violations.is_empty() {
        return Err(checker.finish());
    }
    checker.assign()
}

struct Checker<'e> {
    execution: &'e Execution,
    violations: Vec<Violation>,
    /// By object: its complete phases, in order.
    phases: Vec<Vec<Phase>>,
    /// By arrive or drop of a complete phase: the phase's number.
    phase_of: BTreeMap<EventId, usize>,
}

impl Checker<'_> {
    fn breaks(&mut self, axiom: Axiom, event: EventId) {
        self.violations.push(Violation { axiom, event });
    }

    fn finish(mut self) -> Vec<Violation> {
        self.violations.sort_unstable();
        self.violations.dedup();
        self.violations
    }

    /// Objects exist and are reachable; modification orders are total orders of the modifications
    /// that respect the threads.
    fn shape(&mut self) {
        let execution = self.execution;
        let mut expected: Vec<BTreeSet<EventId>> = vec![BTreeSet::new(); execution.objects.len()];
        for (id, event) in execution.events() {
            match execution.objects.get(event.object) {
                None => self.breaks(Axiom::Initialised, id),
                Some(object) if !object.scope.holds(execution.threads[id.thread].workgroup) => {
                    self.breaks(Axiom::ObjectInScope, id);
                }
                Some(_) if event.operation.is_modification() => {
                    expected[event.object].insert(id);
                }
                Some(_) => {}
            }
        }
        if let Some((last, _)) = execution.events().nth(MOST_EVENTS) {
            self.breaks(Axiom::StrictTotalOrder, last);
            return;
        }
        for (object, mut expected) in expected.into_iter().enumerate() {
            let order = execution.orders.get(object).map_or(&[][..], Vec::as_slice);
            let mut last: BTreeMap<usize, usize> = BTreeMap::new(); // by thread
            for id in order {
                if !expected.remove(id) {
                    self.breaks(Axiom::StrictTotalOrder, *id);
                }
                if last
                    .insert(id.thread, id.index)
                    .is_some_and(|before| before > id.index)
                {
                    self.breaks(Axiom::ThreadOrderKept, *id);
                }
            }
            for missing in expected {
                self.breaks(Axiom::StrictTotalOrder, missing);
            }
        }
    }

    /// Follows the counts of each object along its modification order, and finds its phases.
    fn counts(&mut self) {
        let execution = self.execution;
        for (index, object) in execution.objects.iter().enumerate() {
            let order = execution.orders.get(index).map_or(&[][..], Vec::as_slice);
            let mut expected = object.initial.map(u32::from);
            let mut arrived = 0;
            let mut open = Phase::default();
            let mut phases = Vec::new();
            for id in order.iter().copied().filter(|_| !object.null) {
                let Some(event) = execution.event(id) else {
                    continue;
                };
                if let Operation::Init(count) = event.operation {
                    (expected, arrived) = (Some(count), 0);
                    open.members.clear();
                    continue;
                }
                let Some(count) = &mut expected else {
                    self.breaks(Axiom::FirstIsInit, id);
                    continue;
                };
                match event.operation {
                    Operation::Arrive(sets) => {
                        if sets.is_some_and(|sets| sets <= arrived) {
                            self.breaks(Axiom::ExpectedAboveArrived, id);
                        }
                        *count = sets.unwrap_or(*count);
                        arrived += 1;
                        open.members.push(id);
                    }
                    Operation::Drop => {
                        match count.checked_sub(1) {
                            Some(less) => *count = less,
                            None => self.breaks(Axiom::ExpectedNotNegative, id),
                        }
                        if arrived > 0 {
                            open.members.push(id);
                        }
                    }
                    Operation::Init(_) | Operation::Join | Operation::Wait => {}
                }
                if arrived == *count {
                    arrived = 0;
                    for member in &open.members {
                        self.phase_of.insert(*member, phases.len());
                    }
                    phases.push(std::mem::take(&mut open));
                }
            }
            if let (true, Some(left)) = (object.complete_at_end, open.members.last()) {
                self.breaks(Axiom::CompleteAtEnd, *left);
            }
            self.phases.push(phases);
        }
        let has_init = |object: usize| {
            let order = execution.orders.get(object).map_or(&[][..], Vec::as_slice);
            execution.objects[object].initial.is_some() || !order.is_empty()
        };
        for (id, event) in execution.events() {
            if !event.operation.is_modification() && !has_init(event.object) {
                self.breaks(Axiom::Initialised, id);
            }
        }
    }

    /// Drops and waits have their joins.
    fn joins(&mut self) {
        let joins = joins(self.execution);
        for (id, event) in self.execution.events() {
            let axiom = match event.operation {
                Operation::Drop => Axiom::JoinedBeforeDrop,
                Operation::Wait => Axiom::JoinedBeforeWait,
                Operation::Init(_) | Operation::Join | Operation::Arrive(_) => continue,
            };
            if self.execution.objects[event.object].null {
                continue;
            }
            match joins.get(&id) {
                Some(Join::Launch | Join::Event(_)) => {}
                Some(Join::Lost) => self.breaks(Axiom::JoinNotLost, id),
                Some(Join::None) | None => self.breaks(axiom, id),
            }
        }
    }

    /// Gives every wait a phase so that all the rest holds, if that can be done.
    fn assign(mut self) -> Result<Relations, Vec<Violation>> {
        let mut least: BTreeMap<EventId, usize> = BTreeMap::new();
        let mut first: Option<Vec<Violation>> = None;
        for _ in 0..MOST_TRIES {
            let taken = self.earliest(&least);
            let relations = self.related(&taken);
            if self.violations.is_empty() {
                return Ok(relations);
            }
            self.violations.sort_unstable();
            self.violations.dedup();
            let found = std::mem::take(&mut self.violations);
            // A wait whose phase is wrong may take the next; anything else no phase can mend.
            let wrong = found.iter().find(|violation| {
                let separable = matches!(
                    violation.axiom,
                    Axiom::JoinedBeforeParticipant | Axiom::PhasesSeparate
                );
                separable && taken.contains_key(&violation.event)
            });
            let next = wrong.and_then(|wrong| Some((wrong.event, taken.get(&wrong.event)? + 1)));
            first.get_or_insert(found);
            match next {
                Some((wait, phase)) => least.insert(wait, phase),
                None => break,
            };
        }
        Err(first.unwrap_or_default())
    }

    /// By wait: the earliest phase that it can take, no earlier than `least` says. Waits without
    /// one are left out, and break [`Axiom::WaitCompletes`].
    fn earliest(&mut self, least: &BTreeMap<EventId, usize>) -> BTreeMap<EventId, usize> {
        let execution = self.execution;
        let mut taken = BTreeMap::new();
        for (thread, trail) in execution.threads.iter().enumerate() {
            let mut from = vec![0; execution.objects.len()]; // by object: phases before it are behind
            for (index, event) in trail.events.iter().enumerate() {
                let id = EventId { thread, index };
                match event.operation {
                    // A wait cannot take a phase before the one that its thread last took part in.
                    Operation::Arrive(_) | Operation::Drop => {
                        let own = self.phase_of.get(&id).copied();
                        let own = own.unwrap_or_else(|| self.next_phase(event.object, id));
                        from[event.object] = own.max(from[event.object]);
                    }
                    Operation::Wait if execution.objects[event.object].null => {}
                    Operation::Wait => {
                        let start = from[event.object].max(least.get(&id).copied().unwrap_or(0));
                        let phases = &self.phases[event.object];
                        let own_is_later = |phase: &Phase| {
                            phase
                                .members
                                .iter()
                                .any(|member| member.thread == thread && member.index > index)
                        };
                        match phases.get(start) {
                            Some(phase) if !own_is_later(phase) => {
                                taken.insert(id, start);
                                from[event.object] = start + 1;
                            }
                            Some(_) | None => self.breaks(Axiom::WaitCompletes, id),
                        }
                    }
                    Operation::Init(_) | Operation::Join => {}
                }
            }
        }
        taken
    }

    /// The number of the first phase that completes after `id`, which is in none: that of its
    /// object's phases before it.
    fn next_phase(&self, object: usize, id: EventId) -> usize {
        let order = self
            .execution
            .orders
            .get(object)
            .map_or(&[][..], Vec::as_slice);
        let before = order.iter().take_while(|other| **other != id);
        before
            .filter_map(|other| self.phase_of.get(other))
            .max()
            .map_or(0, |phase| phase + 1)
    }

    /// The relations when waits take the phases of `taken`, and what they break.
    fn related(&mut self, taken: &BTreeMap<EventId, usize>) -> Relations {
        let execution = self.execution;
        let object = |id: EventId| execution.event(id).map_or(0, |event| event.object);
        let participants: BTreeMap<EventId, Vec<EventId>> = taken
            .iter()
            .map(|(wait, phase)| (*wait, self.phases[object(*wait)][*phase].members.clone()))
            .collect();
        let edges = participants
            .iter()
            .flat_map(|(wait, members)| members.iter().map(|member| (*member, *wait)));
        let before = ExecutesBefore::analyze(execution, edges);
        if let Some(event) = before.cycle {
            self.breaks(Axiom::ExecutesBeforeConsistent, event);
        }
        for order in &execution.orders {
            for (place, late) in order.iter().enumerate() {
                if order
                    .iter()
                    .take(place)
                    .any(|early| before.holds(*late, *early))
                {
                    self.breaks(Axiom::ExecutesBeforeConsistent, *late);
                }
            }
        }
        let joins = joins(execution);
        for (wait, members) in &participants {
            if let Some(Join::Event(join)) = joins.get(wait)
                && !members.iter().any(|member| before.holds(*join, *member))
            {
                self.breaks(Axiom::JoinedBeforeParticipant, *wait);
            }
        }
        self.drops(taken, &before);
        self.separation(taken, &participants, &before);
        Relations {
            participants,
            before,
        }
    }

    /// Who drops an object after arriving on it, does so after a wait that its arrive took part in.
    fn drops(&mut self, taken: &BTreeMap<EventId, usize>, before: &ExecutesBefore) {
        let execution = self.execution;
        for (drop, event) in execution
            .events()
            .filter(|(_, event)| event.operation == Operation::Drop)
        {
            let arrives = execution.events().filter(|(id, other)| {
                id.thread == drop.thread
                    && id.index < drop.index
                    && other.object == event.object
                    && matches!(other.operation, Operation::Arrive(_))
            });
            let arrives: Vec<EventId> = arrives.map(|(id, _)| id).collect();
            for arrive in arrives {
                let Some(phase) = self.phase_of.get(&arrive) else {
                    continue;
                };
                let of_phase = |wait: &EventId| {
                    execution
                        .event(*wait)
                        .is_some_and(|wait| wait.object == event.object)
                };
                let mut waits = taken
                    .iter()
                    .filter(|(wait, taken)| *taken == phase && of_phase(wait))
                    .peekable();
                if waits.peek().is_some() && !waits.any(|(wait, _)| before.holds(*wait, drop)) {
                    self.breaks(Axiom::CompleteBeforeDrop, drop);
                }
            }
        }
    }

    /// Nothing that belongs to another phase stands between an arrive and the wait that it takes
    /// part in.
    fn separation(
        &mut self,
        taken: &BTreeMap<EventId, usize>,
        participants: &BTreeMap<EventId, Vec<EventId>>,
        before: &ExecutesBefore,
    ) {
        let execution = self.execution;
        // By event: its object and phase, if somebody waits for the phase.
        let mut class: BTreeMap<EventId, (usize, usize)> = BTreeMap::new();
        for (wait, phase) in taken {
            let object = execution.event(*wait).map_or(0, |event| event.object);
            class.insert(*wait, (object, *phase));
            class.extend(
                participants[wait]
                    .iter()
                    .map(|member| (*member, (object, *phase))),
            );
        }
        for (wait, members) in participants {
            let own = class[wait];
            let stranger = class.iter().any(|(event, other)| {
                other.0 == own.0
                    && other.1 != own.1
                    && before.holds(*event, *wait)
                    && members.iter().any(|member| before.holds(*member, *event))
            });
            if stranger {
                self.breaks(Axiom::PhasesSeparate, *wait);
            }
        }
    }
}
