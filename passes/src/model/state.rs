//! The encoding of a state in bytes: the shared part first, then one block of equal size for each
//! thread.

/// Bits of a thread's byte for an object.
pub(super) mod seat {
    /// The thread is joined.
    pub(crate) const JOINED: u8 = 1;
    /// The thread has arrived in the phase that is in progress.
    pub(crate) const ARRIVED: u8 = 2;
    /// A join of a mutually exclusive object took the join away.
    pub(crate) const LOST: u8 = 4;
    /// From here on: how many phases have completed that a wait of the thread may take; no more
    /// than [`MOST`] are told apart.
    pub(crate) const COMPLETE: u8 = 3;
    /// The greatest number of completed phases.
    pub(crate) const MOST: u8 = 3;
}

/// Bits of an object's flags.
pub(super) mod flag {
    /// It was initialised.
    pub(crate) const INITIALISED: u8 = 1;
    /// The parity of the phase in progress.
    pub(crate) const PARITY: u8 = 2;
}

/// How far, in uniform choices, one thread can be ahead of another.
const CHOICES: usize = 16;

/// Bytes of an object: expected count, arrive count, flags.
const OBJECT: usize = 3;

/// Where everything stands. Offsets are in bytes.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    words: usize,
    choices: usize,
    threads: usize,
    /// Bytes of a thread.
    pub thread: usize,
    ghosts: usize,
    seats: usize,
    count: usize,
    /// The number of choices that some thread has not made yet.
    pub ahead: usize,
}

impl Layout {
    pub(super) fn new(
        objects: usize,
        words: usize,
        threads: usize,
        registers: usize,
        sequences: usize,
        chooses: bool,
    ) -> Layout {
        let ahead = if chooses { CHOICES } else { 0 };
        let words_at = objects * OBJECT;
        let choices = words_at + words;
        let ghosts = 3 + registers; // program counter (2), choices taken (1)
        let seats = ghosts + 2 * sequences;
        Layout {
            words: words_at,
            choices,
            threads: choices + 1 + ahead,
            thread: seats + objects,
            ghosts,
            seats,
            count: threads,
            ahead,
        }
    }

    /// Length of a state in 64-bit units.
    pub(super) fn units(&self) -> usize {
        (self.threads + self.count * self.thread).div_ceil(8)
    }

    pub(super) fn expected(&self, object: usize) -> usize {
        object * OBJECT
    }

    pub(super) fn arrived(&self, object: usize) -> usize {
        object * OBJECT + 1
    }

    pub(super) fn flags(&self, object: usize) -> usize {
        object * OBJECT + 2
    }

    pub(super) fn word(&self, word: usize) -> usize {
        self.words + word
    }

    /// How many choices are made that some thread has not taken yet.
    pub(super) fn made(&self) -> usize {
        self.choices
    }

    /// The alternative of the `n`-th of them.
    pub(super) fn choice(&self, n: usize) -> usize {
        self.choices + 1 + n
    }

    /// The first byte of a thread.
    pub(super) fn base(&self, thread: usize) -> usize {
        self.threads + thread * self.thread
    }

    pub(super) fn taken(&self, thread: usize) -> usize {
        self.base(thread) + 2
    }

    pub(super) fn register(&self, thread: usize, register: u8) -> usize {
        self.base(thread) + 3 + usize::from(register)
    }

    /// How often a thread has arrived in a sequence.
    pub(super) fn arrives(&self, thread: usize, sequence: u8) -> usize {
        self.base(thread) + self.ghosts + 2 * usize::from(sequence)
    }

    /// How often a thread has returned from a wait of a sequence.
    pub(super) fn waits(&self, thread: usize, sequence: u8) -> usize {
        self.arrives(thread, sequence) + 1
    }

    pub(super) fn seat(&self, thread: usize, object: usize) -> usize {
        self.base(thread) + self.seats + object
    }

    pub(super) fn pc(&self, state: &[u8], thread: usize) -> usize {
        let base = self.base(thread);
        usize::from(u16::from_le_bytes([state[base], state[base + 1]]))
    }

    pub(super) fn set_pc(&self, state: &mut [u8], thread: usize, pc: usize) {
        let base = self.base(thread);
        // A program has no more operations than a u16 counts; `Machine::new` sees to it.
        let [low, high] = u16::try_from(pc).unwrap_or(u16::MAX).to_le_bytes();
        state[base] = low;
        state[base + 1] = high;
    }
}
