//! The parts of operations: operands, and choices among kinds of one operation.

use crate::accesses::Accesses;
use crate::matrix::Element;
use crate::memory::Space;

/// A register of a warp: one value per lane.
pub(super) type Register = u32;

/// The source of an operand.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A register.
    Register(Register),
    /// An entry of [`Kernel::constants`](super::program::Kernel::constants).
    Constant(u32),
}

/// Lanes that execute an operation: those whose predicate is true, or false.
#[derive(Copy, Clone, Debug)]
pub(super) struct Guard {
    /// The predicate.
    pub register: Register,
    /// True if the lanes are those where it is false.
    pub negated: bool,
}

/// An address operand.
#[derive(Copy, Clone, Debug)]
pub(super) struct Address {
    /// Register or constant.
    pub base: Source,
    /// Bytes that are added.
    pub offset: i64,
}

/// A state space, as an access names it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// None: the address says.
    Generic,
    /// `.global` and `.const`.
    Global,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// `.param`
    Param,
}

impl Where {
    /// The shared and global memory that an address may mean.
    pub(super) fn memory(self) -> &'static [Space] {
        match self {
            Where::Generic => Accesses::ANY,
            Where::Global => Accesses::GLOBAL,
            Where::Shared => Accesses::SHARED,
            Where::Local | Where::Param => &[],
        }
    }
}

/// A piece of [`Kernel::lists`](super::program::Kernel::lists).
#[derive(Copy, Clone, Debug)]
pub(super) struct List {
    /// The first entry.
    pub start: u32,
    /// The number.
    pub count: u32,
}

/// A reduction of predicates over lanes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    /// Whether all are.
    All,
    /// Whether any is.
    Any,
    /// Whether they are the same everywhere.
    Uniform,
    /// A bit for each lane.
    Ballot,
}

/// What is made of the answers of all threads.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// `.and`: whether all say yes.
    All,
    /// `.or`: whether any says yes.
    Any,
    /// `.popc`: how many say yes.
    Count,
}

/// How a shuffle chooses the lane that it reads.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum ShuffleKind {
    /// `.up`
    Up,
    /// `.down`
    Down,
    /// `.bfly`
    Butterfly,
    /// `.idx`
    Index,
}

/// A product of matrices with eight columns: shape and element types.
#[derive(Copy, Clone, Debug)]
pub(super) struct Mma {
    /// Rows of A and of the sum: 8 or 16.
    pub rows: u32,
    /// Columns of A and rows of B.
    pub depth: u32,
    /// Of A and of B.
    pub(crate) factors: [Element; 2],
    /// Of what is added to.
    pub(crate) addend: Element,
    /// Of what comes out.
    pub(crate) sum: Element,
    /// True if sums of integers saturate.
    pub saturates: bool,
}

/// What is done with a texel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum TexelAction {
    /// `suld.b`: components of so many bytes as they lie in memory; the first coordinate counts
    /// bytes, and outside of the image there are zeros.
    Bytes(u32),
    /// `tex` by integers: components as the format means them.
    Fetch,
    /// `tex` by integers of a texture with several samples: behind the coordinates, and the layer
    /// if there is one, the number of the sample.
    FetchSample {
        /// There is a layer.
        layered: bool,
    },
    /// `tex` by integers, of a mip level that is the first of the other operands.
    FetchLevel,
    /// `tex` by floats: what the object's sampler makes of the texels around; `tld4`.
    Sample(Sample),
    /// `sust.p`: components to what the format makes of them. Outside of the image the program
    /// traps (`.trap`), or nothing is stored (`.zero`).
    Store {
        /// `.trap`.
        traps: bool,
    },
    /// `suq`, `txq`: the extent in one direction, of a mip level that is the first of the other
    /// operands, if there is one.
    Extent(u8),
    /// `txq`: the number of mip levels.
    Levels,
    /// `txq`: the number of samples.
    Samples,
    /// `suq`, `txq`: what the channels are, in OpenCL's numbers.
    ChannelType,
    /// `suq`, `txq`: their order, in OpenCL's numbers.
    ChannelOrder,
}

/// How a texture is sampled. Other operands are in this order: level or gradients, offset,
/// reference.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// Coordinates that are filtered: of cubes the direction, 3.
    pub count: u8,
    /// A layer stands behind them.
    pub layered: bool,
    /// The texture is a cube.
    pub cube: bool,
    /// The component that is gathered.
    pub gathers: Option<u8>,
    /// Two gradients stand in place of a level of detail; `tld4` has neither.
    pub gradients: bool,
    /// Components of the offset.
    pub offset: u8,
    /// Depths are compared with a reference.
    pub compares: bool,
}
