//! The speeds of the units of a GPU.

/// A unit of execution.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Pipe {
    /// Cycles from one instruction to the next; at least 1.
    pub interval: u32,
    /// Cycles from an instruction to the use of its result.
    pub latency: u32,
}

/// A cache of global memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Its size.
    pub bytes: u32,
    /// Cycles from a load to the use of what it finds here.
    pub latency: u32,
}

/// The order in which a scheduler issues ready waves: first the one that it issued last, then by
/// age.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// The one that began first.
    Oldest,
    /// The one that began last.
    Youngest,
}

/// The times of one GPU, in cycles.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// True if hardly any figure of the GPU is public: those that are missing are taken from other
    /// GPUs.
    pub estimated: bool,
    /// Clock in MHz.
    pub clock_mhz: u32,
    /// Parts of a unit that issue one instruction each cycle; a wave belongs to one of them.
    pub schedulers: u32,
    /// The order in which a scheduler issues waves.
    pub order: Order,
    /// Lanes that the intervals of vector instructions are for: a larger wave takes several.
    pub lanes: u32,
    /// Arithmetic of floats of 32 bits and fewer.
    pub simple: Pipe,
    /// Integers of 32 bits, comparisons, selections, conversions.
    pub integer: Pipe,
    /// Floats of 64 bits.
    pub wide: Pipe,
    /// Reciprocals, roots, exponentials, logarithms, sines.
    pub special: Pipe,
    /// A matrix multiply-add.
    pub matrix: Pipe,
    /// The pipeline of the scalar unit.
    pub scalar: Pipe,
    /// Cycles from a branch to the next instruction of the wave.
    pub branch: u32,
    /// Shared memory, whose interval is that of 128 bytes in the whole unit.
    pub shared: Pipe,
    /// Bytes of a cache line.
    pub line_bytes: u32,
    /// The unit's own cache.
    pub near: Cache,
    /// The cache that all units share.
    pub far: Cache,
    /// Cycles from a load to the use of what only memory has.
    pub memory: u32,
    /// Bytes a cycle for each unit from the shared cache.
    pub far_bandwidth: u32,
    /// Bytes a cycle for each unit from memory.
    pub memory_bandwidth: u32,
    /// A barrier instruction, in the whole unit: the latency is from the last arrival to the next
    /// instruction of those that wait.
    pub barrier: Pipe,
    /// An operation on a barrier object in shared memory.
    pub object: Pipe,
    /// Cycles more of an arrival at such an object that releases.
    pub object_fence: u32,
    /// Cycles of a fence of the workgroup.
    pub fence: u32,
    /// Cycles of a fence of the device, or of an instruction that looks after caches.
    pub device_fence: u32,
}

impl Timing {
    /// The same with every latency times `numerator` over `denominator`. Of [`Timing::estimated`]
    /// rows the truth is taken to lie between those of two thirds and of four thirds.
    #[must_use]
    pub fn with_latencies(self, numerator: u32, denominator: u32) -> Timing {
        let scaled = |latency: u32| latency.saturating_mul(numerator) / denominator.max(1);
        let pipe = |pipe: Pipe| Pipe {
            latency: scaled(pipe.latency),
            ..pipe
        };
        let cache = |cache: Cache| Cache {
            latency: scaled(cache.latency),
            ..cache
        };
        Timing {
            simple: pipe(self.simple),
            integer: pipe(self.integer),
            wide: pipe(self.wide),
            special: pipe(self.special),
            matrix: pipe(self.matrix),
            scalar: pipe(self.scalar),
            branch: scaled(self.branch),
            shared: pipe(self.shared),
            near: cache(self.near),
            far: cache(self.far),
            memory: scaled(self.memory),
            barrier: pipe(self.barrier),
            object: pipe(self.object),
            object_fence: scaled(self.object_fence),
            fence: scaled(self.fence),
            device_fence: scaled(self.device_fence),
            ..self
        }
    }
}
