//! The launch and its limits.

/// A launch of a kernel. Buffers and arguments are regions of the global memory; the program knows
/// their addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Workgroups in x, y and z.
    pub groups: [u32; 3],
    /// Workgroups of a cluster in x, y and z; `[1, 1, 1]` is no cluster. The workgroups of a
    /// cluster begin together and share a barrier.
    pub cluster: [u32; 3],
    /// Invocations of a workgroup in x, y and z.
    pub workgroup_size: [u32; 3],
    /// Bytes of shared memory of each workgroup.
    pub shared_bytes: usize,
    /// Its clocks.
    pub clocks: Clocks,
    /// Its limits.
    pub limits: Limits,
}

/// The value of a clock that the kernel reads.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// The steps of all waves, those that found their way blocked included: the machine has one
    /// clock, and the schedule is in it.
    #[default]
    Machine,
    /// The instructions that the wave itself has executed: work alone, the same under every
    /// schedule for kernels that do not poll.
    Wave,
}

/// The limits of a launch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Steps (instructions of one wave) of the whole launch.
    pub steps: u64,
    /// Workgroups of the launch.
    pub workgroups: u32,
    /// Bytes of all buffers together.
    pub buffer_bytes: usize,
    /// Bytes of push constants and of a kernel's arguments.
    pub argument_bytes: usize,
    /// Bytes of shared memory of a workgroup.
    pub shared_bytes: usize,
    /// Invocations of a workgroup.
    pub workgroup_invocations: u32,
    /// Workgroups of a cluster.
    pub cluster_workgroups: u32,
    /// Entries of the journal ([`crate::Journal`]); 0 keeps none.
    pub journal: usize,
    /// True to keep which instructions access which memory ([`crate::Report::accesses`]).
    pub accesses: bool,
}

impl Default for Limits {
    /// A hundred million steps, a million workgroups, buffers of 256 MiB, 64 KiB of arguments; 1
    /// MiB of shared memory, 4096 invocations, clusters of 16 workgroups: as much as any GPU has,
    /// or more.
    fn default() -> Limits {
        Limits {
            steps: 100_000_000,
            workgroups: 1 << 20,
            buffer_bytes: 1 << 28,
            argument_bytes: 1 << 16,
            shared_bytes: 1 << 20,
            workgroup_invocations: 4096,
            cluster_workgroups: 16,
            journal: 0,
            accesses: false,
        }
    }
}
