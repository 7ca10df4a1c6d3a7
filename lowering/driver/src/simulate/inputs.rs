//! The inputs of a launch: workgroups, buffers and constants.

use crate::launch::BufferName;
#[cfg(feature = "llvm")]
use crate::launch::Launch;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_sim::image::{Format, Levels};
use splitbar_sim::{Clocks, Limits};

/// Why a kernel cannot be run at all.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The kernel or the machine does not have what is asked, or the code cannot be read.
    Launch(String),
    /// Code could not be generated, linked or disassembled.
    Code(Diagnostics),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Launch(why) => f.write_str(why),
            Refusal::Code(problems) => problems.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

/// The contents of a buffer that the kernel uses as an image or a texel buffer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Texels {
    /// The format of a texel.
    pub format: Format,
    /// Texels in each dimension, then layers; 1 for missing dimensions. They are contiguous.
    pub extent: [u32; 3],
    /// True if it is a texel buffer.
    pub is_buffer: bool,
    /// Its mip levels and samples.
    pub levels: Levels,
}

/// The inputs of a launch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inputs {
    /// Workgroups in x, y and z.
    pub groups: [u32; 3],
    /// Invocations of a workgroup, for kernels that leave it open.
    pub workgroup_size: Option<[u32; 3]>,
    /// The buffers.
    pub buffers: Vec<(BufferName, Vec<u8>)>,
    /// The push-constant block; for other kernels, their arguments that are no pointers, one after
    /// the other.
    pub push: Vec<u8>,
    /// Bytes of workgroup memory that the launch adds to the kernel's own: the array without a size
    /// that a kernel may have there.
    pub dynamic_shared: u32,
    /// The clocks of the machine.
    pub clocks: Clocks,
    /// The limits of the launch.
    pub limits: Limits,
}

impl Inputs {
    /// The launch of so many workgroups with these buffers: no push constants, no more workgroup
    /// memory than the kernel's own, limits that suit tests.
    pub fn new(groups: [u32; 3], buffers: Vec<(BufferName, Vec<u8>)>) -> Inputs {
        Inputs {
            groups,
            workgroup_size: None,
            buffers,
            push: Vec::new(),
            dynamic_shared: 0,
            clocks: Clocks::Machine,
            limits: Limits::default(),
        }
    }

    /// The same of a launch that decides about code.
    #[cfg(feature = "llvm")]
    pub(super) fn of_launch(launch: &Launch, workgroup_size: Option<[u32; 3]>) -> Inputs {
        let mut inputs = Inputs::new(launch.groups, launch.buffers.clone());
        inputs.workgroup_size = workgroup_size;
        inputs.push.clone_from(&launch.push);
        inputs.dynamic_shared = launch.dynamic_shared;
        inputs.limits.steps = launch.steps;
        inputs
    }

    /// Checks the limits of the launch, before anything is run or allocated.
    ///
    /// # Errors
    /// `LaunchTooLarge`, also of a launch without a workgroup.
    pub fn check(&self) -> Result<(), Diagnostic> {
        let limits = &self.limits;
        let product = |sizes: [u32; 3]| sizes.iter().try_fold(1u32, |n, s| n.checked_mul(*s));
        let beyond = |what: String, limit: u64| {
            Err(Diagnostic::error(
                Code::LaunchTooLarge,
                format!("the launch has {what}; the limit is {limit}"),
            )
            .because("the simulator runs every instruction of every workgroup under every schedule")
            .help("launch fewer workgroups with smaller buffers"))
        };
        if product(self.groups).is_none_or(|n| n > limits.workgroups) {
            let [x, y, z] = self.groups;
            return beyond(
                format!("{x} x {y} x {z} workgroups"),
                limits.workgroups.into(),
            );
        }
        if self.groups.contains(&0) {
            return Err(Diagnostic::error(
                Code::LaunchTooLarge,
                "the launch has no workgroup, so there is nothing to run",
            ));
        }
        if let Some([x, y, z]) = self.workgroup_size
            && product([x, y, z]).is_none_or(|n| n == 0 || n > limits.workgroup_invocations)
        {
            let what = format!("workgroups of {x} x {y} x {z} invocations");
            return beyond(what, limits.workgroup_invocations.into());
        }
        let sizes = self.buffers.iter().map(|(_, bytes)| bytes.len());
        let bytes = sizes.fold(0usize, usize::saturating_add);
        if bytes > limits.buffer_bytes {
            let what = format!("{bytes} bytes of buffers");
            return beyond(what, limits.buffer_bytes as u64);
        }
        if self.push.len() > limits.argument_bytes {
            let what = format!("{} bytes of push constants", self.push.len());
            return beyond(what, limits.argument_bytes as u64);
        }
        if self.dynamic_shared as usize > limits.shared_bytes {
            let what = format!("{} bytes of dynamic shared memory", self.dynamic_shared);
            return beyond(what, limits.shared_bytes as u64);
        }
        Ok(())
    }
}

/// The contents of a buffer that the kernel uses as a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elements {
    /// Bytes of an element.
    pub bytes: u32,
    /// Elements in each dimension, the outermost first.
    pub dimensions: Vec<u64>,
    /// Bytes from one element to the next along each dimension. Without them the elements follow
    /// each other without gaps.
    pub strides: Option<Vec<i64>>,
    /// Bytes from the start of the buffer to the element whose coordinates are all 0.
    pub first: u64,
}

/// All that a launch is given apart from its memory.
#[derive(Copy, Clone, Debug)]
pub(super) struct Given<'g> {
    /// The block of the kernel's arguments.
    pub arguments: &'g [u8],
    pub inputs: &'g Inputs,
    pub sizes: Sizes,
}

/// Workgroups of a cluster and invocations of a workgroup.
#[derive(Copy, Clone, Debug)]
pub(super) struct Sizes {
    pub(super) cluster: [u32; 3],
    pub(super) workgroup: [u32; 3],
    /// Bytes of dynamic workgroup memory: what the kernel wants, and behind it what the launch
    /// adds.
    pub(super) dynamic_shared: u32,
}
