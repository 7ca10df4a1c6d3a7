//! The language of protocols: what one thread does to barrier objects, shared words and its own
//! registers.

use super::object::Object;

/// A private register of a thread: eight bits that wrap. Registers start at zero.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Register(pub u8);

/// A word of shared memory, by index: eight bits that wrap, standing for the 32 of a machine.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Word(pub u8);

/// A number that a thread computes: `base + factor * register`, modulo 256.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Value {
    pub(super) base: u8,
    pub(super) factor: u8,
    pub(super) register: Register,
}

impl Value {
    /// `base + factor * register`; a negative factor is its two's complement.
    pub fn affine(base: u8, factor: i8, register: Register) -> Value {
        Value {
            base,
            factor: factor.cast_unsigned(),
            register,
        }
    }

    /// The number, if it depends on no register.
    pub fn constant(self) -> Option<u8> {
        (self.factor == 0).then_some(self.base)
    }
}

impl From<u8> for Value {
    fn from(base: u8) -> Value {
        Value::affine(base, 0, Register(0))
    }
}

impl From<Register> for Value {
    fn from(register: Register) -> Value {
        Value::affine(0, 1, register)
    }
}

/// A place of a program, made by [`Program::label`] and placed by [`Program::bind`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label(pub(super) u16);

/// A sequence of split (or whole) barriers whose promise is checked: a wait returns only when every
/// thread has arrived as often as the waiting thread has waited.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sequence(pub u8);

/// One operation. Objects are named by their index in the system, computed or constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Barrier init: sets the expected count, clears the arrive count.
    Init {
        /// The object.
        object: Value,
        /// Its expected count.
        count: u8,
    },
    /// Barrier join.
    Join(Value),
    /// Barrier drop.
    Drop(Value),
    /// Barrier arrive.
    Arrive {
        /// The object.
        object: Value,
        /// The expected count to set before arriving, where the instruction sets one.
        expected: Option<u8>,
    },
    /// Barrier arrive, which also tells whether the thread is the first of its phase: the register
    /// becomes 1 if it is, 0 if not.
    ArriveFirst(Value, Register),
    /// Barrier wait.
    Wait(Value),
    /// Waits until the phase of this parity (of the bit that starts at 0 and flips when the barrier
    /// completes) is complete, as `mbarrier.test_wait.parity` in a loop does.
    WaitParity {
        /// The object.
        object: Value,
        /// Its low bit is the parity.
        parity: Value,
    },
    /// Stores to a shared word.
    Store(Word, Value),
    /// Adds to a shared word in one atomic operation.
    Add {
        /// The word.
        word: Word,
        /// What is added.
        value: Value,
        /// Where the old value goes.
        old: Option<Register>,
    },
    /// Spins until `word - value`, taken as a signed number, is not negative: the comparison that
    /// survives wrapping.
    AwaitReached(Word, Value),
    /// Spins until the word has this value.
    AwaitEqual(Word, Value),
    /// Sets a register.
    Set(Register, Value),
    /// Subtracts the second register from the first.
    Subtract(Register, Register),
    /// Goes on elsewhere.
    Goto(Label),
    /// Goes on at the label if the register has this value, else with the next operation.
    IfEqual(Register, u8, Label),
    /// Uniform control flow that the model does not decide: goes on at any of the labels, every
    /// thread at the same one the n-th time it chooses.
    Choose(Vec<Label>),
    /// Ghost: the arrive of a sequence begins here.
    Arrived(Sequence),
    /// Ghost: the wait of a sequence has returned here.
    Waited(Sequence),
}

/// What an operation names.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Names<'o> {
    pub object: Option<Value>,
    pub word: Option<Word>,
    pub value: Option<Value>,
    pub register: Option<Register>,
    pub sequence: Option<Sequence>,
    pub labels: &'o [Label],
}

impl Op {
    pub(super) fn names(&self) -> Names<'_> {
        let none = Names::default();
        match self {
            Op::Init { object, count: _ }
            | Op::Join(object)
            | Op::Drop(object)
            | Op::Wait(object)
            | Op::Arrive {
                object,
                expected: _,
            } => Names {
                object: Some(*object),
                ..none
            },
            Op::ArriveFirst(object, register) => Names {
                object: Some(*object),
                register: Some(*register),
                ..none
            },
            Op::WaitParity { object, parity } => Names {
                object: Some(*object),
                value: Some(*parity),
                ..none
            },
            Op::Store(word, value)
            | Op::AwaitReached(word, value)
            | Op::AwaitEqual(word, value) => Names {
                word: Some(*word),
                value: Some(*value),
                ..none
            },
            Op::Add { word, value, old } => Names {
                word: Some(*word),
                value: Some(*value),
                register: *old,
                ..none
            },
            Op::Set(register, value) => Names {
                register: Some(*register),
                value: Some(*value),
                ..none
            },
            Op::Subtract(register, other) => Names {
                register: Some(*register),
                value: Some(Value::from(*other)),
                ..none
            },
            Op::Goto(label) => Names {
                labels: std::slice::from_ref(label),
                ..none
            },
            Op::IfEqual(register, _, label) => Names {
                register: Some(*register),
                labels: std::slice::from_ref(label),
                ..none
            },
            Op::Choose(labels) => Names { labels, ..none },
            Op::Arrived(sequence) | Op::Waited(sequence) => Names {
                sequence: Some(*sequence),
                ..none
            },
        }
    }
}

/// The operations of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub(super) ops: Vec<Op>,
    /// Per operation, an index into `origins`.
    pub(super) origin: Vec<Option<u16>>,
    pub(super) origins: Vec<String>,
    /// Where each label is bound.
    pub(super) labels: Vec<Option<usize>>,
    current: Option<u16>,
}

impl Program {
    /// An empty program.
    pub fn new() -> Program {
        Program::default()
    }

    /// Appends an operation.
    pub fn push(&mut self, op: Op) -> &mut Program {
        self.ops.push(op);
        self.origin.push(self.current);
        self
    }

    /// Appends operations.
    pub fn extend(&mut self, ops: impl IntoIterator<Item = Op>) -> &mut Program {
        for op in ops {
            self.push(op);
        }
        self
    }

    /// Sets the origin that traces show for the operations that follow.
    pub fn from_here(&mut self, origin: impl Into<String>) -> &mut Program {
        self.current = u16::try_from(self.origins.len()).ok();
        self.origins.push(origin.into());
        self
    }

    /// A label that is not bound yet.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(u16::try_from(self.labels.len() - 1).unwrap_or(u16::MAX))
    }

    /// Binds `label` to the next operation.
    pub fn bind(&mut self, label: Label) -> &mut Program {
        let here = self.ops.len();
        if let Some(place) = self.labels.get_mut(usize::from(label.0)) {
            *place = Some(here);
        }
        self
    }

    /// Appends what `body` appends, done only when `register` has the value `value`.
    pub fn when(
        &mut self,
        register: Register,
        value: u8,
        body: impl FnOnce(&mut Program),
    ) -> &mut Program {
        let (then, after) = (self.label(), self.label());
        self.push(Op::IfEqual(register, value, then));
        self.push(Op::Goto(after));
        self.bind(then);
        body(self);
        self.bind(after)
    }
}

impl FromIterator<Op> for Program {
    fn from_iter<I: IntoIterator<Item = Op>>(ops: I) -> Program {
        let mut program = Program::new();
        program.extend(ops);
        program
    }
}

/// A thread: its program and the workgroup that it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// The workgroup, by its number within the cluster.
    pub workgroup: u8,
    /// Its program.
    pub program: Program,
}

/// Threads and what they share: the input of the explorer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// Barrier objects.
    pub objects: Vec<Object>,
    /// Shared words: name, and value at launch. Memory that a launch does not clear is given a
    /// value that would show.
    pub words: Vec<(String, u8)>,
    /// Threads.
    pub threads: Vec<Thread>,
}

impl System {
    /// A system of one workgroup whose thread `n` runs `program(n)`.
    pub fn of_workgroup(
        objects: Vec<Object>,
        words: Vec<(String, u8)>,
        threads: u8,
        mut program: impl FnMut(u8) -> Program,
    ) -> System {
        System {
            objects,
            words,
            threads: (0..threads)
                .map(|n| Thread {
                    workgroup: 0,
                    program: program(n),
                })
                .collect(),
        }
    }
}
