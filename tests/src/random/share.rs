//! Shared memory of the invocations of a random program: elements, memory operands and barriers.

/// An element of a slot.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Index {
    /// The invocation's own.
    Own,
    /// The element of the invocation with a number larger by this, modulo the number of
    /// invocations.
    Shift(u32),
    /// The element of the invocation whose number differs in these bits. It is in the same
    /// subgroup.
    Xor(u32),
    /// This one, the same for all.
    At(u32),
    /// The element whose number is in a variable, modulo the workgroup's size.
    By(usize),
}

impl Index {
    /// The invocations among which such accesses conflict.
    pub(crate) fn reach(self) -> Reach {
        match self {
            Index::Own => Reach::Own,
            Index::Xor(_) => Reach::Subgroup,
            Index::Shift(_) | Index::At(_) | Index::By(_) => Reach::Workgroup,
        }
    }

    /// Returns true if different invocations access different elements.
    pub(crate) fn is_permutation(self) -> bool {
        matches!(self, Index::Own | Index::Shift(_) | Index::Xor(_))
    }
}

/// The invocations among which accesses of one element conflict.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    Own,
    Subgroup,
    Workgroup,
}

/// The invocations that make an access.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// All.
    Always,
    /// Those in whose variable this bit is set.
    Bit(usize, u32),
    /// The one of this number.
    Only(u32),
}

/// The memory operands of an access.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// Volatile.
    pub volatile: bool,
    /// The scope of availability and visibility, where the accesses have one.
    pub scope: Scope,
}

/// An atomic operation whose order does not matter for the final memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Atomic {
    Add,
    Xor,
    Or,
    Max,
}

impl Atomic {
    /// The result of the operation.
    pub(crate) fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Atomic::Add => a.wrapping_add(b),
            Atomic::Xor => a ^ b,
            Atomic::Or => a | b,
            Atomic::Max => a.max(b),
        }
    }

    /// The instruction.
    pub(crate) fn opcode(self) -> &'static str {
        match self {
            Atomic::Add => "OpAtomicIAdd",
            Atomic::Xor => "OpAtomicXor",
            Atomic::Or => "OpAtomicOr",
            Atomic::Max => "OpAtomicUMax",
        }
    }
}

/// A scope, the smallest first.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Invocation,
    Subgroup,
    Workgroup,
    QueueFamily,
    Device,
}

impl Scope {
    /// The number in SPIR-V.
    pub(crate) fn number(self) -> u32 {
        match self {
            Scope::Device => 1,
            Scope::Workgroup => 2,
            Scope::Subgroup => 3,
            Scope::Invocation => 4,
            Scope::QueueFamily => 5,
        }
    }
}

pub(crate) const ACQUIRE: u32 = 0x2;
pub(crate) const RELEASE: u32 = 0x4;
pub(crate) const ACQUIRE_RELEASE: u32 = 0x8;
pub(crate) const SEQUENTIALLY_CONSISTENT: u32 = 0x10;
pub(crate) const BUFFER: u32 = 0x40;
pub(crate) const SHARED_MEMORY: u32 = 0x100;
pub(crate) const MAKE_AVAILABLE: u32 = 0x2000;
pub(crate) const MAKE_VISIBLE: u32 = 0x4000;

/// The scope and the semantics of a barrier.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) struct Fence {
    pub scope: Scope,
    /// The memory semantics, as in SPIR-V.
    pub bits: u32,
}

impl Fence {
    /// No order at all.
    pub(crate) const RELAXED: Fence = Fence {
        scope: Scope::Workgroup,
        bits: 0,
    };

    /// Returns true if earlier accesses stay before it.
    pub(crate) fn releases(self) -> bool {
        self.bits & (RELEASE | ACQUIRE_RELEASE | SEQUENTIALLY_CONSISTENT) != 0
    }

    /// Returns true if later accesses stay after it.
    pub(crate) fn acquires(self) -> bool {
        self.bits & (ACQUIRE | ACQUIRE_RELEASE | SEQUENTIALLY_CONSISTENT) != 0
    }
}

impl std::fmt::Debug for Fence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = [
            (ACQUIRE, "Acquire"),
            (RELEASE, "Release"),
            (ACQUIRE_RELEASE, "AcquireRelease"),
            (SEQUENTIALLY_CONSISTENT, "SequentiallyConsistent"),
            (BUFFER, "Uniform"),
            (0x80, "Subgroup"),
            (SHARED_MEMORY, "Workgroup"),
            (0x200, "CrossWorkgroup"),
            (0x400, "AtomicCounter"),
            (0x800, "Image"),
            (MAKE_AVAILABLE, "MakeAvailable"),
            (MAKE_VISIBLE, "MakeVisible"),
        ]
        .into_iter()
        .filter_map(|(bit, name)| (self.bits & bit != 0).then_some(name))
        .collect();
        write!(f, "{:?} {:#x} {}", self.scope, self.bits, names.join("|"))
    }
}

/// The number of iterations of a loop.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) struct Count {
    /// The number, or which push constant has it.
    pub of: Of,
    /// So many iterations less.
    pub less: u32,
    /// The loop control of the loop: `true` for Unroll, `false` for DontUnroll.
    pub unroll: Option<bool>,
}

/// See [`Count`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Number(u32),
    Push(usize),
}

impl Count {
    /// The number of iterations. Push constants are 1 at least.
    pub(crate) fn value(self, counts: [u32; 4]) -> u32 {
        let all = match self.of {
            Of::Number(number) => number,
            Of::Push(at) => counts[at],
        };
        all - self.less
    }
}

impl std::fmt::Debug for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:?} - {}, unroll: {:?}",
            self.of, self.less, self.unroll
        )
    }
}
