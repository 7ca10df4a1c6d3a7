//! A launch of a kernel, by which the choice of `auto=measured` goes.

use serde::{Deserialize, Serialize};
#[cfg(any(feature = "llvm", feature = "sim"))]
use splitbar_layout::abi::Argument;

/// The name of a buffer.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum BufferName {
    /// Descriptor set and binding of a shader.
    Binding(u32, u32),
    /// Descriptor set, binding, and position in the array of descriptors there, from 0. Position 0
    /// is the same as [`BufferName::Binding`].
    Element(u32, u32, u32),
    /// The position among the kernel's arguments, from 0.
    Argument(u32),
}

#[cfg(any(feature = "llvm", feature = "sim"))]
impl BufferName {
    /// The name of the buffer of `argument`.
    pub(crate) fn from_argument(argument: &Argument) -> BufferName {
        match (argument.set, argument.binding) {
            (Some(set), Some(binding)) => BufferName::Binding(set, binding),
            _ => BufferName::Argument(argument.index),
        }
    }
}

impl std::fmt::Display for BufferName {
    /// `0:1`, `0:1:2` for an element of an array, or `2` for an argument.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BufferName::Binding(set, binding) => write!(f, "{set}:{binding}"),
            BufferName::Element(set, binding, element) => write!(f, "{set}:{binding}:{element}"),
            BufferName::Argument(index) => write!(f, "{index}"),
        }
    }
}

/// A launch that is typical of a kernel. [`Choice::Measured`](crate::Choice::Measured) compiles
/// for it: one multiprocessor, compute unit or WGP runs all its workgroups on the simulator of
/// time.
///
/// Kernels with images, samplers or tensors cannot be launched with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Launch {
    /// Workgroups in x, y and z.
    pub groups: [u32; 3],
    /// The contents of the buffers.
    pub buffers: Vec<(BufferName, Vec<u8>)>,
    /// The push-constant block; for other kernels, their arguments that are no pointers, one after
    /// the other.
    pub push: Vec<u8>,
    /// Bytes of workgroup memory that the launch adds to the kernel's own.
    pub dynamic_shared: u32,
    /// Workgroups that run at the same time; `None` for as many as the code allows.
    pub resident: Option<u32>,
    /// The most instructions of waves.
    pub steps: u64,
}

impl Launch {
    /// The launch of so many workgroups with these buffers: no push constants, no more workgroup
    /// memory than the kernel's own, as many workgroups at the same time as the code allows, and at
    /// most 100 million instructions of waves.
    ///
    /// ```
    /// use splitbar::{BufferName, Choice, Launch, Options, Target};
    ///
    /// let mut options = Options::new(Target::by_name("gfx1201").ok_or("no such target")?);
    /// options.choice = Choice::Measured;
    /// let buffers = vec![(BufferName::Binding(0, 0), vec![0; 1 << 16])];
    /// let mut launch = Launch::new([4, 4, 1], buffers);
    /// launch.push = 128u32.to_le_bytes().to_vec();
    /// launch.resident = Some(2);
    /// options.launch = Some(launch);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(groups: [u32; 3], buffers: Vec<(BufferName, Vec<u8>)>) -> Launch {
        Launch {
            groups,
            buffers,
            push: Vec::new(),
            dynamic_shared: 0,
            resident: None,
            steps: 100_000_000,
        }
    }
}
