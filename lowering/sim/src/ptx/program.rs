//! A kernel as the machine runs it: dense operations, registers as numbers, addresses laid out.
//!
//! Everything is static: each function that the kernel can reach has registers and local memory of
//! its own (recursion is not supported), so a call is a jump that remembers where it came from, and
//! lanes of one warp can be in different functions.

use super::arith::{Function, Mode};
use super::exec::special::Special;
use super::operand::{
    Address, Answer, Guard, List, Mma, Reduction, Register, ShuffleKind, Source, TexelAction, Where,
};
use super::roles::{Role, Roles, operations};
use crate::accesses::Accesses;
use crate::clock::{Order, Scope};
use crate::context::Access;
use crate::finding::CodeLocation;
use crate::memory::{Global, Space};

operations! {
    /// What a barrier asks each thread, and where all get the answer (`barrier.red`).
    #[derive(Copy, Clone, Debug)]
    pub(super) struct Question {
        /// The use of the answers.
        pub answer: plain Answer,
        /// The destination.
        pub to: def Register,
        /// Each thread's own.
        pub predicate: uses Source,
    }
}

operations! {
    /// What an mbarrier instruction asks for.
    #[derive(Copy, Clone, Debug)]
    pub(super) enum MbarrierKind {
        /// `init`, with the number of arrivals.
        Init(count: uses Source),
        /// `inval`
        Invalidate,
        /// `arrive` and `arrive_drop`.
        Arrive {
            /// Where the state goes.
            to: def Option<Register>,
            /// How many arrivals.
            count: uses Option<Source>,
            /// Bytes of bulk copies that the phase expects on top.
            bytes: uses Option<Source>,
            /// True if the thread takes no part in later phases.
            drop: plain bool,
        },
        /// `test_wait` and `try_wait`.
        Test {
            /// The predicate that tells if the phase is complete.
            to: def Register,
            /// The state, or the parity of the phase.
            phase: uses Source,
            /// True if `phase` is a parity.
            parity: plain bool,
        },
    }
}

operations! {
    /// What is to be done.
    #[derive(Copy, Clone, Debug)]
    pub(super) enum Op {
        /// Computes a register from others.
        Compute {
            function: plain Function,
            mode: plain Mode,
            to: def Register,
            from: uses [Source; 4],
        },
        /// Reads memory into one register or several.
        Load {
            space: plain Where,
            bytes: plain u32,
            extend: plain Option<u32>,
            to: def List,
            address: address Address,
            access: plain Access,
            /// The registers that something reads, a bit each. Compilers make vectors wider than
            /// what the program reads, over bytes that are not written or lie after the
            /// parameters; the registers in excess are left alone.
            used: plain u8,
        },
        /// Writes memory.
        Store {
            space: plain Where,
            bytes: plain u32,
            from: uses List,
            address: address Address,
            access: plain Access,
        },
        /// Reads, computes and writes as one access.
        Atomic {
            space: plain Where,
            bytes: plain u32,
            function: plain Function,
            mode: plain Mode,
            exchange: plain bool,
            to: def Option<Register>,
            address: address Address,
            from: uses [Source; 2],
            access: plain Access,
        },
        /// Reads or writes a texel, or asks for an extent.
        Texel {
            action: plain TexelAction,
            /// The texture or surface object.
            handle: uses Source,
            /// Coordinates in the order of the image: the layer and the sample last.
            at: uses [Option<Source>; 4],
            /// Other operands, as the action says.
            more: uses List,
            /// Registers that are written; empty for a store.
            to: def List,
            /// Sources that are stored; empty without a store.
            from: uses List,
        },
        /// Copies bytes of local memory: arguments and results of calls.
        CopyLocal { from: plain u32, to: plain u32, bytes: plain u32 },
        /// Goes on at `target`; lanes that do not meet the others again at `join`.
        Branch { target: plain u32, join: plain u32 },
        /// Goes on where the list says.
        BranchIndexed {
            index: uses Source,
            targets: uses List,
            join: plain u32,
        },
        /// Calls a function.
        Call { target: plain u32 },
        /// Goes back to the caller; ends the lane in the kernel itself.
        Return,
        /// Ends the lane.
        Exit,
        /// Ends the program with an error.
        Trap,
        /// Reads another lane's register.
        Shuffle {
            kind: plain ShuffleKind,
            to: def Register,
            valid: def Option<Register>,
            from: uses [Source; 3],
            members: uses Option<Source>,
        },
        /// Reduces a predicate over lanes.
        Vote {
            reduction: plain Reduction,
            to: def Register,
            predicate: uses Source,
            members: uses Option<Source>,
        },
        /// Multiplies matrices that the lanes of a warp hold together: A and B, and adds a third.
        MultiplyAdd { mma: plain Mma, to: def List, from: uses [List; 3] },
        /// Loads matrices of 8x8 elements of 16 bits, one for each register.
        LoadMatrix {
            transposed: plain bool,
            space: plain Where,
            to: def List,
            address: address Address,
        },
        /// Finds lanes that hold the same value.
        Match {
            all: plain bool,
            to: def Register,
            valid: def Option<Register>,
            from: uses Source,
            members: uses Source,
        },
        /// Reduces a value over lanes.
        Reduce {
            function: plain Function,
            mode: plain Mode,
            to: def Register,
            from: uses Source,
            members: uses Source,
        },
        /// Elects one lane.
        Elect {
            to: def Option<Register>,
            elected: def Register,
            members: uses Source,
        },
        /// The lanes that are together.
        ActiveMask { to: def Register },
        /// Lanes wait for each other.
        WarpSync { members: uses Source },
        /// A barrier of the workgroup.
        Barrier {
            waits: plain bool,
            id: uses Source,
            count: uses Option<Source>,
            aligned: plain bool,
            question: part Option<Question>,
        },
        /// Arrives at the cluster's barrier.
        ClusterArrive { releases: plain bool },
        /// Waits for the cluster's barrier.
        ClusterWait,
        /// Orders memory accesses.
        Fence { order: plain Order, scope: plain Scope },
        /// A barrier object in shared memory.
        Mbarrier {
            kind: part MbarrierKind,
            space: plain Where,
            address: address Address,
            relaxed: plain bool,
        },
        /// Begins a copy from global to shared memory.
        CopyAsync {
            to: address Address,
            from: address Address,
            bytes: plain u32,
            filled: uses Option<Source>,
        },
        /// Begins a bulk copy from global to shared memory, which an mbarrier counts.
        CopyBulk {
            to: address Address,
            from: address Address,
            bytes: uses Source,
            barrier: address Address,
        },
        /// Orders what threads have written, to all memory or to one, before what the unit for bulk
        /// copies does.
        ProxyFence { only: plain Option<Space> },
        /// Closes a group of copies.
        CopyCommit,
        /// Waits until at most so many groups are outstanding; `None`: no copy at all.
        CopyWait { left: plain Option<u32> },
        /// Arrives at an mbarrier once the copies so far are done.
        CopyArrive {
            address: address Address,
            space: plain Where,
            counted: plain bool,
        },
        /// Lets others go on.
        Sleep,
        /// A counter that grows, its low bits cut off.
        Clock { to: def Register, shift: plain u32 },
        /// An instruction that the simulator does not know.
        Unsupported,
    }
}

/// An operation with its guard.
#[derive(Copy, Clone, Debug)]
pub(super) struct Coded {
    /// The lanes.
    pub guard: Option<Guard>,
    /// The operation.
    pub op: Op,
    /// Line of the text.
    pub line: u32,
    /// Line that the debug information names.
    pub source: Option<u32>,
}

impl Op {
    /// The shared and global memory that the operation may access.
    pub(super) fn accesses(&self) -> Accesses {
        const READS_GLOBAL: Accesses = Accesses::analyze(Accesses::GLOBAL, &[]);
        match self {
            Op::Load { space, .. } | Op::LoadMatrix { space, .. } => {
                Accesses::analyze(space.memory(), &[])
            }
            Op::Store { space, .. } => Accesses::analyze(&[], space.memory()),
            Op::Atomic { space, .. }
            | Op::Mbarrier { space, .. }
            | Op::CopyArrive { space, .. } => Accesses::analyze(space.memory(), space.memory()),
            Op::Texel { action, .. } => match action {
                TexelAction::Store { .. } => Accesses::analyze(&[], Accesses::GLOBAL),
                TexelAction::Bytes(_)
                | TexelAction::Fetch
                | TexelAction::FetchSample { .. }
                | TexelAction::FetchLevel
                | TexelAction::Sample(_) => READS_GLOBAL,
                TexelAction::Extent(_)
                | TexelAction::Levels
                | TexelAction::Samples
                | TexelAction::ChannelType
                | TexelAction::ChannelOrder => Accesses::NONE,
            },
            Op::CopyAsync { .. } => Accesses::analyze(Accesses::GLOBAL, Accesses::SHARED),
            // It completes a phase of its mbarrier too.
            Op::CopyBulk { .. } => Accesses::analyze(Accesses::ANY, Accesses::SHARED),
            Op::CopyLocal { .. }
            | Op::Compute { .. }
            | Op::Branch { .. }
            | Op::BranchIndexed { .. }
            | Op::Call { .. }
            | Op::Return
            | Op::Exit
            | Op::Trap
            | Op::Shuffle { .. }
            | Op::Vote { .. }
            | Op::MultiplyAdd { .. }
            | Op::Match { .. }
            | Op::Reduce { .. }
            | Op::Elect { .. }
            | Op::ActiveMask { .. }
            | Op::WarpSync { .. }
            | Op::Barrier { .. }
            | Op::ClusterArrive { .. }
            | Op::ClusterWait
            | Op::Fence { .. }
            | Op::ProxyFence { .. }
            | Op::CopyCommit
            | Op::CopyWait { .. }
            | Op::Sleep
            | Op::Clock { .. }
            | Op::Unsupported => Accesses::NONE,
        }
    }
}

impl Coded {
    /// Calls `visit` with each register of the instruction and its role. Lists of operands lie in
    /// [`Kernel::lists`].
    pub(super) fn operands(&self, lists: &[Source], visit: &mut dyn FnMut(Role, Register)) {
        if let Some(guard) = self.guard {
            visit(Role::Guard, guard.register);
        }
        self.op.each_role(lists, visit);
    }
}

/// A parameter of a kernel. Offset and size are bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its offset in the parameters.
    pub offset: u32,
    /// Its length.
    pub bytes: u32,
}

/// Contents of a variable of module scope.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub name: String,
    pub base: u64,
    pub bytes: Vec<u8>,
    pub writable: bool,
}

/// A kernel with all that it calls.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(super) name: String,
    pub(super) target: Option<String>,
    pub(super) code: Vec<Coded>,
    pub(super) entry: u32,
    pub(super) constants: Vec<[u64; 32]>,
    pub(super) lists: Vec<Source>,
    pub(super) registers: u32,
    pub(super) specials: Vec<(Register, Special)>,
    pub(super) local_bytes: u32,
    pub(super) shared_bytes: u32,
    pub(super) has_dynamic_shared: bool,
    pub(super) parameters: Vec<Parameter>,
    pub(super) parameter_block: Vec<u8>,
    pub(super) required: Option<[u32; 3]>,
    pub(super) regions: Vec<Region>,
    pub(super) lines: Vec<String>,
}

impl Kernel {
    /// Its symbol.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The GPU that the text is for, as its `.target` names it.
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// Its parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The workgroup size that it asks for (`.reqntid`).
    pub fn required_size(&self) -> Option<[u32; 3]> {
        self.required
    }

    /// Bytes of shared memory that its variables take, without what the launch adds.
    pub fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// Returns true if it has an array of shared memory whose size comes with the launch, after
    /// [`Kernel::shared_bytes`].
    pub fn has_dynamic_shared(&self) -> bool {
        self.has_dynamic_shared
    }

    /// Sets the parameter block; bytes beyond its size are ignored.
    pub fn set_parameters(&mut self, bytes: &[u8]) {
        for (to, from) in self.parameter_block.iter_mut().zip(bytes) {
            *to = *from;
        }
    }

    /// Puts the module's variables into global memory. Once for each launch: a kernel may change
    /// them.
    pub fn load(&self, global: &mut Global) {
        for region in &self.regions {
            global.add_at(
                &region.name,
                region.base,
                region.bytes.clone(),
                region.writable,
            );
        }
    }

    /// The lines with instructions that the simulator does not know. Executing one is a finding.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.code
            .iter()
            .filter(|coded| matches!(coded.op, Op::Unsupported))
            .filter_map(|coded| self.lines.get((coded.line as usize).wrapping_sub(1)))
            .map(String::as_str)
    }

    /// The instructions by number, each with its line in the text (from 1).
    pub fn lines(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..).zip(&self.code).map(|(pc, coded)| (pc, coded.line))
    }

    /// Returns true if an instruction is a fence.
    pub fn is_fence(&self, pc: u32) -> bool {
        let coded = self.code.get(pc as usize);
        coded.is_some_and(|coded| matches!(coded.op, Op::Fence { .. }))
    }

    /// The instruction at a position, as the text has it; none for a place outside of the kernel.
    pub(super) fn place_of(&self, pc: u32) -> CodeLocation {
        let Some(coded) = self.code.get(pc as usize) else {
            return CodeLocation::default();
        };
        let text = self.lines.get((coded.line as usize).wrapping_sub(1));
        CodeLocation {
            address: coded.line.into(),
            text: text.cloned().unwrap_or_default(),
            word: coded.source.and_then(|line| line.checked_sub(1)),
        }
    }
}
