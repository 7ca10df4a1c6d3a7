//! The CUDA driver as a device.

use crate::device::{BufferId, Device, Factor, Grid, KernelId, Product, Resources, Trouble};
use crate::ffi::cublas::Cublas;
use crate::ffi::cuda::{Gpu, NotLoaded};

/// The first CUDA GPU of the machine.
pub struct Cuda {
    // Dropped before the GPU whose context it uses.
    library: Option<Cublas>,
    gpu: Gpu,
}

impl Cuda {
    /// Opens the GPU.
    ///
    /// # Errors
    /// Why there is none: no driver, or no device.
    pub fn open() -> Result<Cuda, String> {
        let gpu = Gpu::open()?;
        Ok(Cuda {
            library: Cublas::open().ok(),
            gpu,
        })
    }
}

impl Device for Cuda {
    fn describe(&self) -> String {
        let driver = self.gpu.driver_version();
        format!(
            "{}, sm_{}, {} multiprocessors, driver for CUDA {}.{}, {}",
            self.gpu.name(),
            self.gpu.capability(),
            self.gpu.multiprocessors(),
            driver / 1000,
            driver % 1000 / 10,
            match self.library {
                Some(_) => "with cuBLAS",
                None => "no cuBLAS found",
            }
        )
    }

    fn multiprocessors(&self) -> u32 {
        self.gpu.multiprocessors()
    }

    /// PTX runs on the GPUs that it was made for and on all later ones (PTX ISA, `.target`).
    fn accepts(&self, target: &str) -> bool {
        target
            .strip_prefix("sm_")
            .and_then(|number| number.parse::<u32>().ok())
            .is_some_and(|number| number <= self.gpu.capability())
    }

    fn load(&mut self, ptx: &str, symbol: &str) -> Result<KernelId, Trouble> {
        match self.gpu.load(ptx, symbol) {
            Ok(kernel) => Ok(KernelId(kernel)),
            Err(NotLoaded::TooOld(why)) => Err(Trouble::Unsupported(why)),
            Err(NotLoaded::Refused(why)) => Err(Trouble::Failed(why)),
        }
    }

    fn resources(&self, kernel: KernelId, invocations: u32) -> Result<Option<Resources>, Trouble> {
        let found = self.gpu.resources(kernel.0, invocations);
        let [registers, shared, local, workgroups] = found.map_err(Trouble::Failed)?;
        Ok(Some(Resources {
            registers,
            shared,
            local,
            workgroups,
        }))
    }

    fn allocate(&mut self, bytes: &[u8]) -> Result<BufferId, Trouble> {
        self.gpu
            .allocate(bytes)
            .map(BufferId)
            .map_err(Trouble::Failed)
    }

    fn address(&self, buffer: BufferId) -> u64 {
        self.gpu.address(buffer.0).unwrap_or(0)
    }

    fn read(&self, buffer: BufferId) -> Result<Vec<u8>, Trouble> {
        self.gpu.read(buffer.0).map_err(Trouble::Failed)
    }

    fn launch(
        &mut self,
        kernel: KernelId,
        grid: Grid,
        parameters: &[u8],
    ) -> Result<Option<f32>, Trouble> {
        self.gpu
            .launch(kernel.0, grid.groups, grid.workgroup_size, parameters)
            .map(Some)
            .map_err(Trouble::Failed)
    }

    fn multiply(&mut self, product: &Product) -> Result<Option<f32>, Trouble> {
        let Some(library) = &self.library else {
            return Ok(None);
        };
        let matrices = [product.a, product.b, product.c].map(|buffer| self.address(buffer));
        let halves = match product.factor {
            Factor::F32 => false,
            Factor::F16 => true,
        };
        self.gpu
            .timed(|| library.multiply(product.size, halves, matrices))
            .map(Some)
            .map_err(Trouble::Failed)
    }

    fn clear(&mut self) {
        self.gpu.clear();
    }
}
