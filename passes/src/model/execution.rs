//! Executions: what each thread did, and in which order each object saw it.

use super::object::Object;

/// A barrier operation that was executed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Barrier init with this expected count.
    Init(u32),
    /// Barrier join.
    Join,
    /// Barrier drop.
    Drop,
    /// Barrier arrive, with the expected count that it sets first, if it does.
    Arrive(Option<u32>),
    /// Barrier wait.
    Wait,
}

impl Operation {
    /// Returns true if it changes the object's state.
    pub fn is_modification(self) -> bool {
        match self {
            Operation::Init(_) | Operation::Drop | Operation::Arrive(_) => true,
            Operation::Join | Operation::Wait => false,
        }
    }
}

/// A barrier operation on an object, named by its index.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// The object.
    pub object: usize,
    /// The operation.
    pub operation: Operation,
}

/// Names an event: its thread and its place in the thread's program order.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventId {
    /// The thread.
    pub thread: usize,
    /// The place.
    pub index: usize,
}

/// The barrier operations of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    /// The thread's workgroup.
    pub workgroup: u8,
    /// Its events, in program order.
    pub events: Vec<Event>,
}

/// An execution. Inits and joins that a launch performs ([`Object::initial`], [`Object::joined`])
/// are not events; they come before all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// The objects.
    pub objects: Vec<Object>,
    /// The threads.
    pub threads: Vec<Trail>,
    /// By object: its modification order.
    pub orders: Vec<Vec<EventId>>,
}

impl Execution {
    /// The event of this name.
    pub fn event(&self, id: EventId) -> Option<Event> {
        self.threads.get(id.thread)?.events.get(id.index).copied()
    }

    /// All events with their names, thread by thread.
    pub fn events(&self) -> impl Iterator<Item = (EventId, Event)> {
        self.threads.iter().enumerate().flat_map(|(thread, trail)| {
            let events = trail.events.iter().enumerate();
            events.map(move |(index, event)| (EventId { thread, index }, *event))
        })
    }
}
