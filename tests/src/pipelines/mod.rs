//! Random loops that fill workgroup arrays before a barrier and read them after it, as matrix
//! products and convolutions do, and their results on the host.
//!
//! [`text`] writes a [`Program`] as a module, [`run`] executes it, iteration by iteration, with no
//! notion of buffers or barriers.

mod run;
mod text;

pub use run::run;
pub use text::text;

use fastrand::Rng;

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Invocations of the workgroup.
    pub invocations: u32,
    /// Iterations of the loop.
    pub trips: u32,
    /// True if the number of iterations is read from memory: the first word of the inputs.
    pub reads_trips: bool,
    /// True if the loop condition is at the end of the loop, so that it has at least one iteration.
    pub asks_late: bool,
    /// True if the sum is a variable, and not a phi.
    pub has_variable: bool,
    /// True if the loop is in another loop, which has two iterations.
    pub is_nested: bool,
    /// The arrays, in the order of the stage.
    pub arrays: Vec<Array>,
    /// The elements that the work reads.
    pub reads: Vec<Read>,
    /// True if the work writes the sum to the results in each iteration.
    pub writes: bool,
    /// True if the work has an additional phase: it stores the sum in another array, and after a
    /// barrier adds the sum of another invocation.
    pub exchanges: bool,
    /// True if a second branch leaves the loop after its last barrier, depending on the elements
    /// that the work has read.
    pub stops: bool,
    /// True if the stage adds the sum to the loaded values: it needs the results of the work before
    /// it.
    pub carries: bool,
}

/// A workgroup array, and how the stage fills it.
#[derive(Clone, Debug)]
pub struct Array {
    /// Elements for each invocation.
    pub each: u32,
    /// The way to fill it.
    pub fill: Fill,
    /// A number that is multiplied by the iteration, and added to the loaded value.
    pub scale: u32,
}

/// The way in which a stage fills an array.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Fill {
    /// One store after the other.
    Straight,
    /// In a loop over the elements of the invocation, with a constant number of iterations.
    Loop,
    /// In a loop from the invocation's number on to the length, which is read from memory: the
    /// second word of the inputs.
    Strided,
    /// Under a condition, with a constant in the other case.
    Guarded {
        /// Elements of the inputs that are not loaded, from here on.
        bound: u32,
    },
}

/// An element that the work reads.
#[derive(Copy, Clone, Debug)]
pub struct Read {
    /// Of which array.
    pub array: usize,
    /// The element is `(invocation * times + plus) % length`.
    pub times: u32,
    /// See `times`.
    pub plus: u32,
    /// The number of times that it is read in a loop, with `plus` increasing by one.
    pub often: u32,
}

impl Program {
    /// Elements of an array.
    pub fn length(&self, array: usize) -> u32 {
        self.arrays.get(array).map_or(0, |array| array.each) * self.invocations
    }

    /// The word of the inputs that iteration `i` loads for element `at` of an array, without the
    /// two words before them.
    fn source(&self, array: usize, i: u32, at: u32) -> u32 {
        i * self.length(array) + at + 7 * array as u32
    }

    /// Words of the inputs.
    pub fn inputs(&self) -> usize {
        let longest = (0..self.arrays.len()).map(|array| self.length(array)).max();
        2 + (longest.unwrap_or(0) * self.trips.max(1) + 64) as usize
    }

    /// Words of the results.
    pub fn results(&self) -> usize {
        (self.invocations * (self.trips + 1)) as usize
    }
}

/// The contents of the inputs for `seed`.
pub fn inputs(program: &Program, seed: u64) -> Vec<u32> {
    let mut rng = Rng::with_seed(seed);
    let mut words: Vec<u32> = (0..program.inputs()).map(|_| rng.u32(..)).collect();
    words[0] = program.trips;
    words[1] = program.length(0);
    words
}

/// The program of `seed`.
pub fn program(seed: u64) -> Program {
    let mut rng = Rng::with_seed(seed);
    let arrays = 1 + usize::from(rng.u32(..3) == 0);
    let asks_late = rng.u32(..4) == 0;
    let array = |rng: &mut Rng, first: bool| Array {
        each: 1 + rng.u32(..3),
        fill: match rng.u32(..6) {
            0 | 1 => Fill::Straight,
            2 => Fill::Loop,
            3 if first => Fill::Strided,
            _ => Fill::Guarded {
                bound: rng.u32(..1500),
            },
        },
        scale: rng.u32(..4),
    };
    let arrays: Vec<Array> = (0..arrays).map(|at| array(&mut rng, at == 0)).collect();
    let reads = 1 + rng.usize(..3);
    let read = |rng: &mut Rng| Read {
        array: rng.usize(..arrays.len()),
        times: 1 + rng.u32(..3),
        plus: rng.u32(..200),
        often: 1 + rng.u32(..2) * rng.u32(..6),
    };
    let mut program = Program {
        invocations: [32, 64, 128][rng.usize(..3)],
        trips: rng.u32(..6) + u32::from(asks_late),
        reads_trips: rng.bool(),
        asks_late,
        has_variable: rng.bool(),
        is_nested: rng.u32(..4) == 0,
        reads: (0..reads).map(|_| read(&mut rng)).collect(),
        writes: rng.u32(..3) == 0,
        exchanges: rng.u32(..4) == 0,
        arrays,
        stops: false,
        carries: false,
    };
    program.stops = program.has_variable && rng.u32(..3) == 0;
    program.carries = rng.u32(..8) == 0;
    program
}
