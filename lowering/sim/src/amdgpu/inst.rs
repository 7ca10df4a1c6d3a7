//! Decoded instructions.

use super::bits::Row;
use super::matrix_inst::Matrix;
use super::operand::{Half, Operand};
use super::table::memory::{Extend, Update};
use super::table::rounding::Rule;
use super::table::scalar::OfExec;
use crate::accesses::Accesses;
use crate::cache::Levels;
use crate::clock::{Order, Scope};
use crate::context::Access;
use crate::queue::Counters;
use crate::race::Sharing;
use crate::sampler::Directions;
use half::{bf16, f16};

/// A decoded instruction: what it does, and which registers it touches.
#[derive(Clone, Debug)]
pub(super) struct Inst {
    pub op: Op,
    pub uses: Box<[Use]>,
}

/// Registers that an instruction reads or writes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub registers: Registers,
    pub written: bool,
}

/// Neighbouring registers of a file, or one half of each.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Registers {
    pub file: File,
    pub first: u16,
    pub count: u16,
    pub half: Half,
}

/// A register file.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum File {
    Vector,
    Scalar,
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// Nothing that this machine has.
    Nothing,
    Vector(Box<Vector>),
    /// Two vector instructions that read before either writes.
    Dual(Box<[Vector; 2]>),
    /// A move some of whose registers are counted from M0.
    Indirect(Box<Vector>, Indirect),
    /// Counts registers of what follows from an index, the operand; without one, no more.
    SetIndexing(Option<(Operand, Indirect)>),
    Scalar(Box<Scalar>),
    SaveExec {
        compute: OfExec,
        dst: Operand,
        src: Operand,
        registers: u16,
        /// EXEC gets the result, and the destination too (`wrexec`).
        wrexec: bool,
    },
    /// An access to EXEC, lanes or wave facts that no table row can express.
    Special(Special, Box<[Operand]>),
    Branch {
        condition: Condition,
        /// Index of the instruction.
        target: u32,
    },
    /// Jumps to an address in registers.
    Jump {
        link: Option<Operand>,
        target: Target,
    },
    Memory(Box<Memory>),
    Matrix(Box<Matrix>),
    Wait(Box<[(Counters, u32)]>),
    /// Invalidates caches and writes back.
    Cache {
        invalidates: Levels,
        writes_back: bool,
        /// The counter that it is in, and the class whose order it keeps.
        counts: Option<(Counters, u8)>,
    },
    /// A wait of which one part is left out, for tests.
    LackingWait {
        kept: Box<[(Counters, u32)]>,
        missing: (Counters, u32),
    },
    Barrier(Barrier),
    End,
    Trap,
    Sleep,
    /// Sets bits of the direction in which floats are rounded.
    SetRounding {
        first: u8,
        bits: u8,
        value: Operand,
    },
    /// Not known: executing it is a finding.
    Unknown,
}

#[derive(Copy, Clone, Debug)]
pub(super) enum Target {
    Registers(Operand),
    Instruction(u32),
}

/// When a branch is taken.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Always,
    Never,
    Scc(bool),
    VccZero(bool),
    ExecZero(bool),
}

/// See [`Op::Special`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Special {
    ReadLane,
    ReadFirstLane,
    WriteLane,
    MbcntLow,
    MbcntHigh,
    Swap,
    PermLane16 {
        crossed: bool,
    },
    PermLane64,
    GetPc,
    /// Reads a hardware register: a part of the time where it is a clock, else 0.
    GetRegister(HardwareRegister),
    /// The time, 64 bits.
    GetTime,
}

/// What a read of a hardware register gives.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum HardwareRegister {
    /// 0: the first wave slot of an idle machine.
    Zero,
    /// Bits of the mode, from `shift` on.
    Mode { shift: u8, mask: u32 },
    /// Bits of the time, from `shift` on.
    Time { shift: u8, mask: u32 },
}

/// Floats of 16 bits.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Short {
    F16,
    BFloat16,
}

impl Short {
    pub(super) fn to_f32(self, bits: u16) -> f32 {
        match self {
            Short::F16 => f16::from_bits(bits).to_f32(),
            Short::BFloat16 => bf16::from_bits(bits).to_f32(),
        }
    }

    pub(super) fn bits_of(self, value: f32) -> u16 {
        match self {
            Short::F16 => f16::from_f32(value).to_bits(),
            Short::BFloat16 => bf16::from_f32(value).to_bits(),
        }
    }
}

/// How a vector instruction takes its sources.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    /// Each 16-bit half by itself.
    Halves,
    /// Each register of a pair by itself.
    Pairs,
    /// The low result of the first source, the high one of the second.
    PairMove,
    /// Sources are floats of 16 or 32 bits by `op_sel_hi`; the result goes to the whole register,
    /// or as one of 16 bits to a half.
    Mix(Short),
    /// A truth table of three bits.
    Bits(u8),
}

impl Form {
    /// Returns true if each source is one value of its type, and so is the result.
    pub(super) fn is_single(self) -> bool {
        match self {
            Form::Plain | Form::Bits(_) => true,
            Form::Halves | Form::Pairs | Form::PairMove | Form::Mix(_) => false,
        }
    }
}

/// Which vector registers of a move are counted from an index.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Indirect {
    pub source: bool,
    pub destination: bool,
}

/// A vector instruction with a table row.
#[derive(Clone, Debug)]
pub(super) struct Vector {
    pub row: &'static Row,
    pub form: Form,
    pub dst: Operand,
    pub src: [Operand; 3],
    /// The destination of a mask: carry out, comparison.
    pub mask_dst: Option<Operand>,
    /// The source of a mask: carry in, choice.
    pub mask_src: Option<Operand>,
    /// A comparison that writes EXEC.
    pub to_exec: bool,
    pub clamp: bool,
    /// Output modifier.
    pub scale: f32,
    pub op_sel: u8,
    pub op_sel_hi: u8,
    pub neg_lo: u8,
    pub neg_hi: u8,
    pub lanes: Option<Box<Lanes>>,
    pub select: Option<Box<Select>>,
    /// 16-bit results keep the other half of the register.
    pub keeps_half: bool,
    /// The treatment in another rounding mode.
    pub rule: Rule,
}

/// DPP: the first source comes from other lanes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Lanes {
    pub from: From,
    pub rows: u8,
    pub banks: u8,
    /// Lanes without a source read 0; otherwise they are not written.
    pub zero: bool,
    /// Lanes that are off may be read.
    pub fetch_inactive: bool,
}

/// From which lane.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum From {
    Quad([u8; 4]),
    Eight([u8; 8]),
    RowShl(u8),
    RowShr(u8),
    RowRor(u8),
    RowMirror,
    RowHalfMirror,
    RowShare(u8),
    RowXmask(u8),
    WaveShl,
    WaveShr,
    WaveRol,
    WaveRor,
    Broadcast15,
    Broadcast31,
}

/// SDWA: parts of registers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Select {
    pub src: [Part; 2],
    pub dst: Part,
    pub unused: Unused,
}

/// A part of a register.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Byte(u8),
    Word(u8),
    Whole,
}

/// What becomes of the rest of the destination.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Unused {
    Zero,
    Sign,
    Keep,
}

/// A scalar instruction with a table row.
#[derive(Clone, Debug)]
pub(super) struct Scalar {
    pub row: &'static Row,
    pub dst: Operand,
    pub src: [Operand; 3],
}

/// Which memory an instruction names.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Memories {
    Shared,
    Global,
    Flat,
    Private,
    Buffer,
    /// Texels by coordinates.
    Image,
    Scalar,
    ScalarBuffer,
}

/// What a memory instruction does.
#[derive(Copy, Clone, Debug)]
pub(super) enum Action {
    Load,
    Store,
    Atomic {
        update: Update,
        returns: bool,
    },
    /// Global memory to LDS.
    ToShared,
    /// LDS to global memory.
    FromShared,
    /// Lanes exchange through the LDS hardware: from the lane that the address names, to it, by a
    /// pattern.
    Pull,
    Push,
    Swizzle,
    /// The extents of an image.
    Size,
    /// A clock's time.
    Time,
    /// Writes nothing and counts nowhere: a prefetch.
    Hint,
}

/// What a register of an instruction on images or with a format stands for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Components {
    /// The components of a texel that are in registers, the lowest first: a bit each.
    pub mask: u8,
    /// Those that are not stored are as the first one of the mask (gfx12); else 0.
    pub repeats: bool,
    /// The second coordinate counts layers of one dimension.
    pub layers_of_lines: bool,
    /// The register behind the coordinates is the mip level.
    pub level: bool,
    /// The last coordinate is the number of a sample.
    pub samples: bool,
    /// Texels are filtered or gathered, as a sampler says.
    pub sampled: Option<Sampled>,
}

/// How an image is sampled.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Sampled {
    /// The operation.
    pub what: Sample,
    /// The first register of the sampler.
    pub sampler: u16,
    /// The coordinates that are filtered.
    pub directions: Directions,
    /// The source of the level of detail.
    pub detail: Detail,
    /// An offset comes first.
    pub offset: bool,
    /// A reference for depths comes behind it.
    pub compares: bool,
}

/// What is done with the texels around.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    /// They are filtered.
    Filter,
    /// The component of the mask is gathered from four texels.
    Gather,
    /// Nothing: which level would be taken is said.
    Level,
}

/// The source of the level of detail.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// `_l`: it stands behind the coordinates.
    Register,
    /// `_lz`: it is 0.
    Zero,
    /// `_d`: gradients stand before the coordinates, and behind these the least level, if there is
    /// one.
    Gradients {
        /// `_cl`
        least: bool,
        /// `_g16`: of a gradient, two halves share a register.
        halves: bool,
    },
    /// From the other lanes of the quad.
    Quad,
}

impl Sampled {
    /// The registers of addresses.
    pub(super) fn registers(self) -> usize {
        let Directions { count, layered, .. } = self.directions;
        let behind = match self.detail {
            Detail::Register => 1,
            Detail::Gradients {
                least,
                halves: false,
            } => 2 * usize::from(count) + usize::from(least),
            Detail::Gradients { least, .. } => {
                2 * usize::from(count.div_ceil(2)) + usize::from(least)
            }
            Detail::Zero | Detail::Quad => 0,
        };
        let before = usize::from(self.offset) + usize::from(self.compares);
        before + usize::from(count) + usize::from(layered) + behind
    }
}

/// A memory instruction.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub memories: Memories,
    pub action: Action,
    /// Bytes of a lane, for each place.
    pub bytes: u8,
    pub extend: Extend,
    /// Offsets of the places: one, or two for `read2` and its like.
    pub offsets: [i64; 2],
    pub places: u8,
    /// Of a load, a bit for each register that it fills: whether the value may be read.
    pub used: u16,
    /// For loads and stores with a format, and for images.
    pub components: Option<Components>,
    /// Coordinates of an image.
    pub coordinates: Vec<Operand>,
    pub dst: Option<Operand>,
    pub data: [Option<Operand>; 2],
    pub vaddr: Option<Operand>,
    pub saddr: Option<Operand>,
    pub soffset: Option<Operand>,
    /// The LDS address of an asynchronous copy; without one, M0 says it.
    pub lds: Option<Operand>,
    pub index_enabled: bool,
    pub offset_enabled: bool,
    /// The offset in a register counts elements.
    pub scaled: bool,
    /// Data goes between the lanes of each half of the wave alone.
    pub halves: bool,
    /// Caches that its cache bits let it pass by.
    pub passes_by: Levels,
    /// Its relation to the accesses of others.
    pub access: Access,
    pub counters: Counters,
    pub class: u8,
}

/// The atomicity of a load or store, which machine code does not contain but the compiler knows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is not.
    Plain,
    /// It is, for those whom the scope means.
    Atomic(Scope),
}

impl Memory {
    /// The shared and global memory that the instruction may access.
    pub(super) fn accesses(&self) -> Accesses {
        let named = match self.memories {
            Memories::Shared => Accesses::SHARED,
            Memories::Global | Memories::Image | Memories::Scalar | Memories::ScalarBuffer => {
                Accesses::GLOBAL
            }
            Memories::Flat | Memories::Buffer => Accesses::ANY,
            Memories::Private => &[],
        };
        match self.action {
            Action::Load => Accesses::analyze(named, &[]),
            Action::Store => Accesses::analyze(&[], named),
            Action::Atomic { .. } => Accesses::analyze(named, named),
            Action::ToShared => Accesses::analyze(named, Accesses::SHARED),
            Action::FromShared => Accesses::analyze(Accesses::SHARED, named),
            Action::Pull
            | Action::Push
            | Action::Swizzle
            | Action::Size
            | Action::Time
            | Action::Hint => Accesses::NONE,
        }
    }

    /// Takes a load or a store for what the mark says; read-modify-writes and copies are what they
    /// are.
    pub(super) fn mark(&mut self, mark: Mark) {
        self.access = match (self.action, mark) {
            (Action::Load | Action::Store, Mark::Plain) => Access::PLAIN,
            // Its order is that of the waits and cache operations around it.
            (Action::Load, Mark::Atomic(scope)) => Access::atomic(Order::Acquire, scope),
            (Action::Store, Mark::Atomic(scope)) => Access::atomic(Order::Release, scope),
            _ => return, // a read-modify-write or a copy
        };
    }
}

impl Action {
    /// Returns true if others may learn from it what the wave did before: read-modify-writes, and
    /// stores whose `access` is atomic.
    pub(super) fn publishes(self, access: Access) -> bool {
        match self {
            Action::Atomic { .. } => true,
            Action::Store => access.sharing == Sharing::Atomic,
            Action::Load
            | Action::ToShared
            | Action::FromShared
            | Action::Pull
            | Action::Push
            | Action::Swizzle
            | Action::Size
            | Action::Time
            | Action::Hint => false,
        }
    }
}

/// Barrier instructions. `None` for an id in M0.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Barrier {
    /// Arrives and waits.
    Full,
    Signal {
        id: Option<i32>,
        first: bool,
    },
    Wait {
        id: i32,
    },
    Init {
        id: Option<i32>,
    },
    Join {
        id: Option<i32>,
    },
    Leave,
    /// Wakes waves that sleep at a barrier; changes nothing.
    Wake,
}
