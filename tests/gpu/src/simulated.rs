//! The simulator as a device: what it runs, it runs under one hostile schedule, and what it finds
//! is a failure.

use crate::device::{BufferId, Device, Grid, KernelId, Product, Resources, Trouble};
use splitbar_sim::memory::{Global, RegionId};
use splitbar_sim::{Clocks, FindingKind, Launch, Limits, Schedule, ptx};

/// More than any kernel of the bundle takes.
const STEPS: u64 = 50_000_000;

/// The simulated GPU.
pub struct Simulated {
    schedule: Schedule,
    kernels: Vec<ptx::Kernel>,
    memory: Global,
    buffers: Vec<RegionId>,
}

impl Simulated {
    /// A GPU that runs everything under `schedule`.
    pub fn new(schedule: Schedule) -> Simulated {
        Simulated {
            schedule,
            kernels: Vec::new(),
            memory: Global::default(),
            buffers: Vec::new(),
        }
    }
}

impl Device for Simulated {
    fn describe(&self) -> String {
        format!("simulator, {}", self.schedule)
    }

    fn accepts(&self, target: &str) -> bool {
        target.starts_with("sm_")
    }

    fn load(&mut self, ptx: &str, symbol: &str) -> Result<KernelId, Trouble> {
        let kernel = ptx::kernel(ptx, Some(symbol))
            .map_err(|problem| Trouble::Failed(problem.to_string()))?;
        self.kernels.push(kernel);
        Ok(KernelId(self.kernels.len() - 1))
    }

    fn resources(&self, _: KernelId, _: u32) -> Result<Option<Resources>, Trouble> {
        Ok(None)
    }

    fn allocate(&mut self, bytes: &[u8]) -> Result<BufferId, Trouble> {
        let name = format!("buffer {}", self.buffers.len());
        self.buffers
            .push(self.memory.add(&name, bytes.to_vec(), true));
        Ok(BufferId(self.buffers.len() - 1))
    }

    fn address(&self, buffer: BufferId) -> u64 {
        self.buffers
            .get(buffer.0)
            .map_or(0, |region| self.memory.base(*region))
    }

    fn read(&self, buffer: BufferId) -> Result<Vec<u8>, Trouble> {
        self.buffers
            .get(buffer.0)
            .and_then(|region| self.memory.region(*region))
            .map(|region| region.bytes().to_vec())
            .ok_or_else(|| Trouble::Failed("there is no such buffer".to_owned()))
    }

    fn launch(
        &mut self,
        kernel: KernelId,
        grid: Grid,
        parameters: &[u8],
    ) -> Result<Option<f32>, Trouble> {
        let mut kernel = self
            .kernels
            .get(kernel.0)
            .cloned()
            .ok_or_else(|| Trouble::Failed("there is no such kernel".to_owned()))?;
        kernel.set_parameters(parameters);
        kernel.load(&mut self.memory);
        let launch = Launch {
            groups: grid.groups,
            cluster: [1; 3],
            workgroup_size: grid.workgroup_size,
            shared_bytes: kernel.shared_bytes() as usize,
            clocks: Clocks::Machine,
            limits: Limits {
                steps: STEPS,
                ..Limits::default()
            },
        };
        let report = splitbar_sim::run(&kernel, &mut self.memory, &launch, self.schedule);
        match report.findings.first() {
            None => Ok(None),
            Some(finding) if finding.kind == FindingKind::UnsupportedInstruction => {
                Err(Trouble::Unsupported(finding.to_string()))
            }
            Some(finding) => Err(Trouble::Failed(finding.to_string())),
        }
    }

    fn multiply(&mut self, _: &Product) -> Result<Option<f32>, Trouble> {
        Ok(None)
    }

    fn clear(&mut self) {
        *self = Simulated::new(self.schedule);
    }
}
