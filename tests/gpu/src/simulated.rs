//! The simulator as a device. It runs kernels under one hostile schedule, or in the order of a time
//! estimate. Findings are failures.

use crate::device::{BufferId, Device, Grid, KernelId, Product, Resources, Trouble};
use splitbar_sim::memory::{Global, RegionId};
use splitbar_sim::timing::{Setup, estimate};
use splitbar_sim::{Clocks, FindingKind, Launch, Limits, Schedule, ptx};
use splitbar_target::Target;
use splitbar_target::timing::Timing;

/// More steps than any kernel of the bundle needs.
const STEPS: u64 = 50_000_000;

/// The simulated GPU.
pub struct Simulated {
    schedule: Schedule,
    estimate: Option<&'static Target>,
    kernels: Vec<ptx::Kernel>,
    memory: Global,
    buffers: Vec<RegionId>,
}

impl Simulated {
    /// A GPU that runs everything under `schedule`.
    pub fn new(schedule: Schedule) -> Simulated {
        Simulated {
            schedule,
            estimate: None,
            kernels: Vec::new(),
            memory: Global::default(),
            buffers: Vec::new(),
        }
    }
}

impl Simulated {
    /// A multiprocessor of `target` on which all workgroups of a launch are resident. It returns
    /// the time of a launch from the estimate of [`splitbar_sim::timing`].
    ///
    /// # Errors
    /// The times of this GPU are not known.
    pub fn estimating(target: &'static Target) -> Result<Simulated, String> {
        if Timing::for_target(target).is_none() {
            return Err(format!("the times of {} are not known", target.name));
        }
        Ok(Simulated {
            estimate: Some(target),
            ..Simulated::new(Schedule::nth(0, 1))
        })
    }
}

impl Device for Simulated {
    fn describe(&self) -> String {
        match self.estimate {
            None => format!("simulator, {}", self.schedule),
            Some(target) => format!("simulator, estimates of time for {}", target.name),
        }
    }

    fn multiprocessors(&self) -> u32 {
        1
    }

    fn accepts(&self, target: &str) -> bool {
        match self.estimate {
            None => target.starts_with("sm_"),
            Some(estimated) => estimated.name == target,
        }
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
        let memory = &mut self.memory;
        let (report, time) = match self.estimate.and_then(Timing::for_target) {
            None => (
                splitbar_sim::run(&kernel, memory, &launch, self.schedule),
                None,
            ),
            Some(timing) => {
                let resident = grid.groups.iter().product();
                let setup = Setup {
                    timing: *timing,
                    resident,
                    checks: true,
                };
                let estimate = estimate(&kernel, memory, &launch, setup, None, &mut |_| ());
                let milliseconds = estimate.cycles as f64 / f64::from(timing.clock_mhz) / 1e3;
                (estimate.report, Some(milliseconds as f32))
            }
        };
        match report.findings.first() {
            None => Ok(time),
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
        *self = Simulated {
            estimate: self.estimate,
            ..Simulated::new(self.schedule)
        };
    }
}
