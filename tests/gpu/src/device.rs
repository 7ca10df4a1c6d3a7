//! The interface of a device. The CUDA driver and the simulator implement it.

use std::fmt;

/// A kernel that was loaded; its number on the device.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct KernelId(pub usize);

/// A buffer; its number on the device.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct BufferId(pub usize);

/// The reason why something was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The device cannot do it and does not claim to.
    Unsupported(String),
    /// It went wrong.
    Failed(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Unsupported(why) | Trouble::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Trouble {}

/// The numbers of workgroups and of invocations of a workgroup, in x, y and z.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Workgroups.
    pub groups: [u32; 3],
    /// Invocations of a workgroup.
    pub workgroup_size: [u32; 3],
}

impl Grid {
    /// Invocations of a workgroup.
    pub fn invocations(&self) -> u32 {
        self.workgroup_size.iter().product()
    }
}

/// The resource usage of a loaded kernel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Registers of an invocation.
    pub registers: u32,
    /// Bytes of shared memory of a workgroup.
    pub shared: u32,
    /// Bytes of local memory of an invocation; more than 0 where registers were spilled.
    pub local: u32,
    /// Workgroups that a multiprocessor holds at a time.
    pub workgroups: u32,
}

/// The element type of the matrices A and B of a product. The result has 32-bit floats.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Factor {
    /// Floats of 32 bits.
    F32,
    /// Floats of 16 bits.
    F16,
}

/// `c = a b`, all matrices row-major: `a` of m rows and k columns, `b` of k rows and n columns.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// m, n and k.
    pub size: [u32; 3],
    /// The elements of `a` and `b`.
    pub factor: Factor,
    /// The left factor.
    pub a: BufferId,
    /// The right factor.
    pub b: BufferId,
    /// The result.
    pub c: BufferId,
}

/// A device that runs PTX.
pub trait Device {
    /// One line about it.
    fn describe(&self) -> String;

    /// The multiprocessors that share the workgroups of a launch.
    fn multiprocessors(&self) -> u32;

    /// Returns true if it runs PTX of this target (`sm_80`).
    fn accepts(&self, target: &str) -> bool;

    /// Loads the kernel `symbol` of a PTX text.
    ///
    /// # Errors
    /// What is wrong with the text, or what of it the device lacks.
    fn load(&mut self, ptx: &str, symbol: &str) -> Result<KernelId, Trouble>;

    /// The resource usage of a kernel in workgroups of so many invocations; `None` where the device
    /// cannot say.
    ///
    /// # Errors
    /// What the driver says.
    fn resources(&self, kernel: KernelId, invocations: u32) -> Result<Option<Resources>, Trouble>;

    /// A buffer with these bytes in it.
    ///
    /// # Errors
    /// What the driver says.
    fn allocate(&mut self, bytes: &[u8]) -> Result<BufferId, Trouble>;

    /// The address of a buffer for a kernel; 0 if there is no such buffer.
    fn address(&self, buffer: BufferId) -> u64;

    /// The content of a buffer.
    ///
    /// # Errors
    /// What the driver says.
    fn read(&self, buffer: BufferId) -> Result<Vec<u8>, Trouble>;

    /// Runs a kernel to its end. The result is the time that it took on the device, in
    /// milliseconds; `None` where time means nothing.
    ///
    /// # Errors
    /// What went wrong in it.
    fn launch(
        &mut self,
        kernel: KernelId,
        grid: Grid,
        parameters: &[u8],
    ) -> Result<Option<f32>, Trouble>;

    /// The same product by the vendor's library, and its time in milliseconds; `None` where there
    /// is no library.
    ///
    /// # Errors
    /// What the library says.
    fn multiply(&mut self, product: &Product) -> Result<Option<f32>, Trouble>;

    /// Frees all kernels and buffers.
    fn clear(&mut self);
}
