//! The explorer: every interleaving of a system's threads, breadth first, so that what goes wrong
//! is shown on a shortest way.

use super::machine::{Fault, Machine, Step};
use super::program::System;
use super::reduce::{Footprints, Symmetry};
use super::report::Report;
use super::trace::Move;
use super::trace::{Trace, Walk};
use super::verdict::Verdict;

/// The options of an exploration.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// States after which the verdict is [`Verdict::Limit`]. A state takes some 40 to 200 bytes.
    pub most_states: usize,
    /// Leaves out interleavings that cannot add to the verdict. Off is for tests of the reductions.
    pub reduce: bool,
}

impl Options {
    /// Sets `most_states`.
    #[must_use]
    pub fn with_most_states(mut self, most_states: usize) -> Options {
        self.most_states = most_states;
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            most_states: 4_000_000,
            reduce: true,
        }
    }
}

/// Explores `system` within the bounds of [`Options::default`].
pub fn explore(system: &System) -> Report {
    explore_with(system, Options::default())
}

/// Explores `system`.
///
/// [`Verdict::Proved`] means: in every interleaving every thread ends (if no program jumps back;
/// else: no thread ever blocks for good), no behaviour is undefined, and every wait of a
/// [`super::Sequence`] returns after the arrives that it waits for.
pub fn explore_with(system: &System, options: Options) -> Report {
    let machine = match Machine::new(system) {
        Ok(machine) => machine,
        Err(why) => return Report::without_trace(Verdict::Limit(why)),
    };
    let mut search = Search::new(&machine, options);
    let end = search.run();
    let (verdict, trace) = if end.verdict.is_refutation() {
        let (verdict, trace) = search.trace(system, end);
        (verdict, Some(trace))
    } else {
        (end.verdict, None)
    };
    Report {
        verdict,
        states: search.seen.len(),
        steps: search.steps,
        trace,
    }
}

/// The end of a search.
struct End {
    verdict: Verdict,
    /// The state where it was found.
    at: usize,
    /// The step from there that fails.
    last: Option<Move>,
}

/// All states seen, each once: one arena, and a table of indices into it.
struct Seen {
    units: usize,
    arena: Vec<u64>,
    moves: Vec<Move>,
    table: Vec<u32>,
}

impl Seen {
    const FREE: u32 = u32::MAX;

    fn new(units: usize) -> Seen {
        Seen {
            units,
            arena: Vec::new(),
            moves: Vec::new(),
            table: vec![Seen::FREE; 1 << 10],
        }
    }

    fn len(&self) -> usize {
        self.moves.len()
    }

    fn get(&self, index: usize) -> &[u64] {
        &self.arena[index * self.units..(index + 1) * self.units]
    }

    /// Multiplication and rotation, unit by unit: states differ in few bytes, and a table is asked
    /// for nothing else.
    fn hash(state: &[u64]) -> usize {
        let mut hash = 0u64;
        for unit in state {
            hash = (hash.rotate_left(5) ^ unit).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
        (hash ^ hash >> 32) as usize
    }

    /// The slot of `state`: where its index is or would be.
    fn slot(&self, state: &[u64]) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = Seen::hash(state) & mask;
        while self.table[slot] != Seen::FREE && self.get(self.table[slot] as usize) != state {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn insert(&mut self, state: &[u64], how: Move) {
        let slot = self.slot(state);
        if self.table[slot] != Seen::FREE {
            return;
        }
        self.table[slot] = self.moves.len() as u32;
        self.arena.extend_from_slice(state);
        self.moves.push(how);
        if 2 * self.moves.len() > self.table.len() {
            let grown = vec![Seen::FREE; 2 * self.table.len()];
            self.table = grown;
            for index in 0..self.moves.len() {
                let slot = self.slot(self.get(index));
                self.table[slot] = index as u32;
            }
        }
    }
}

struct Search<'m> {
    machine: &'m Machine,
    options: Options,
    /// By thread: whether its program never jumps back.
    forward: Vec<bool>,
    footprints: Footprints,
    symmetry: Symmetry,
    seen: Seen,
    steps: usize,
}

impl<'m> Search<'m> {
    fn new(machine: &'m Machine, options: Options) -> Search<'m> {
        Search {
            machine,
            options,
            forward: (0..machine.threads())
                .map(|thread| machine.code(thread).goes_forward())
                .collect(),
            footprints: Footprints::analyze(machine),
            symmetry: Symmetry::analyze(machine),
            seen: Seen::new(machine.layout.units()),
            steps: 0,
        }
    }

    fn run(&mut self) -> End {
        // The table's indices have 32 bits, and the last of them means a free slot.
        let most = self.options.most_states.min(Seen::FREE as usize - 1);
        let mut state = vec![0u64; self.machine.layout.units()];
        let mut next = state.clone();
        if let Err(fault) = self.machine.launch(bytemuck::cast_slice_mut(&mut state)) {
            return self.end(fault, 0, None);
        }
        self.canonical(&mut state, |_, _| {});
        self.seen.insert(&state, Move::default());
        let mut at = 0;
        while at < self.seen.len() {
            state.copy_from_slice(self.seen.get(at));
            if let Err(end) = self.expand(at, &state, &mut next) {
                return end;
            }
            at += 1;
            if self.seen.len() > most {
                let why = format!("more than {most} states");
                return End {
                    verdict: Verdict::Limit(why),
                    at,
                    last: None,
                };
            }
        }
        End {
            verdict: Verdict::Proved,
            at,
            last: None,
        }
    }

    /// Adds what `state`, the `at`-th, leads to.
    fn expand(&mut self, at: usize, state: &[u64], next: &mut [u64]) -> Result<(), End> {
        let threads = self.machine.threads();
        let bytes: &[u8] = bytemuck::cast_slice(state);
        if self.options.reduce {
            for thread in 0..threads {
                if self.forward[thread]
                    && self.footprints.is_independent(self.machine, bytes, thread)
                    && self.go(at, state, next, thread)?
                {
                    return Ok(());
                }
            }
        }
        let mut went = false;
        for thread in 0..threads {
            went |= self.go(at, state, next, thread)?;
        }
        if went {
            return Ok(());
        }
        let waiting: Vec<usize> = (0..threads)
            .filter(|thread| !self.machine.has_ended(bytes, *thread))
            .collect();
        let verdict = match self.machine.broken_at_end(bytes) {
            _ if !waiting.is_empty() => Verdict::Deadlock { waiting },
            Some(axiom) => Verdict::Undefined { axiom, thread: 0 },
            None => return Ok(()),
        };
        Err(End {
            verdict,
            at,
            last: None,
        })
    }

    /// Adds what each way of the next step of `thread` leads to; false when it is blocked.
    fn go(
        &mut self,
        at: usize,
        state: &[u64],
        next: &mut [u64],
        thread: usize,
    ) -> Result<bool, End> {
        let mut way = 0;
        loop {
            next.copy_from_slice(state);
            let how = Move {
                parent: at as u32,
                thread: thread as u8,
                way,
            };
            let step =
                self.machine
                    .step(bytemuck::cast_slice_mut(next), thread, way, &mut |_, _| {});
            match step {
                Ok(Step::Blocked) => return Ok(false),
                Ok(Step::Done { ways }) => {
                    self.steps += 1;
                    self.canonical(next, |_, _| {});
                    self.seen.insert(next, how);
                    way += 1;
                    if way >= ways {
                        return Ok(true);
                    }
                }
                Err(fault) => return Err(self.end(fault, at, Some(how))),
            }
        }
    }

    fn canonical(&self, state: &mut [u64], swapped: impl FnMut(usize, usize)) {
        if self.options.reduce {
            self.symmetry
                .sort(self.machine, bytemuck::cast_slice_mut(state), swapped);
        }
    }

    fn end(&self, fault: Fault, at: usize, last: Option<Move>) -> End {
        let thread = last.map_or(0, |how| usize::from(how.thread));
        let verdict = match fault {
            Fault::Undefined(axiom) => Verdict::Undefined { axiom, thread },
            Fault::Early(sequence, missing) => Verdict::Early {
                sequence,
                thread,
                missing,
            },
            Fault::Limit(why) => Verdict::Limit(why.to_owned()),
        };
        End { verdict, at, last }
    }

    /// The way from the launch to the end, under the names that the threads have in `system`.
    /// States are told apart up to a permutation of threads, so the way is walked again to see who
    /// is who.
    fn trace(&self, system: &System, end: End) -> (Verdict, Trace) {
        let mut moves: Vec<Move> = end.last.into_iter().collect();
        let mut at = end.at;
        while at != 0 {
            let how = self.seen.moves[at];
            moves.push(how);
            at = how.parent as usize;
        }
        let mut walk = Walk::new(system, self.machine);
        let mut state = vec![0u64; self.machine.layout.units()];
        // What fails is shown as it fails: the last step's fault, or the launch's, is the verdict
        // already.
        let _ = self.machine.launch(bytemuck::cast_slice_mut(&mut state));
        self.canonical(&mut state, |one, two| walk.swap(one, two));
        for how in moves.into_iter().rev() {
            walk.step(bytemuck::cast_slice_mut(&mut state), how);
            self.canonical(&mut state, |one, two| walk.swap(one, two));
        }
        let verdict = end.verdict.renamed(|thread| walk.name(thread));
        let trace = walk.finish(bytemuck::cast_slice_mut(&mut state), &verdict);
        (verdict, trace)
    }
}
