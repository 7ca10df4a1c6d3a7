//! The resource usage of a kernel on a multiprocessor, as `ptxas -v` reports it.

use crate::asm::amdgpu::metadata;
use crate::asm::ptx::{Pressure, RegisterEstimate};
use serde::Serialize;
use splitbar_plan::target::residency::{Footprint, Residency};
use splitbar_plan::{EntryPlan, Target};

/// The resource usage of one kernel: from ptxas on NVIDIA GPUs, from the code object's metadata on
/// AMD GPUs.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResourceUsage {
    /// Registers of a thread; VGPRs, and AGPRs where they are of the same file.
    pub registers: u32,
    /// Hardware barriers that are reserved, of the sixteen that there are (NVIDIA).
    pub barriers: u32,
    /// Static shared memory of a workgroup, in bytes.
    pub shared_memory_bytes: u32,
    /// Bytes of registers that a thread stores to local memory because there are too few.
    pub spilled_bytes: u32,
}

impl ResourceUsage {
    /// What a kernel may take whose registers are estimated.
    pub(crate) fn from_ptx(estimate: &RegisterEstimate, shared_bytes: u32) -> ResourceUsage {
        ResourceUsage {
            registers: estimate.registers,
            barriers: estimate.barriers,
            shared_memory_bytes: shared_bytes,
            spilled_bytes: 0,
        }
    }
}

/// The workgroups and waves of a kernel that are resident on a compute unit (AMD: a WGP from gfx10
/// on) or a multiprocessor (NVIDIA).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resident {
    /// Workgroups; 0: not one fits.
    pub workgroups: u32,
    /// Their waves over the places for waves, 0 to 1.
    pub occupancy: f64,
    /// The limiter: registers, workgroup memory, waves, workgroups, barriers.
    pub limiter: String,
}

/// An estimate of the same if the resource usage of the kernel or the limits of the GPU are
/// unknown: without ptxas, or on a GPU with unpublished limits. No code depends on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResidentEstimate {
    /// Registers of a thread: the maximum number of live registers in the PTX if ptxas does not
    /// report it.
    pub registers: u32,
    /// As [`Resident::workgroups`].
    pub workgroups: u32,
    /// As [`Resident::occupancy`].
    pub occupancy: f64,
    /// As [`Resident::limiter`].
    pub limiter: String,
}

impl ResidentEstimate {
    /// That of a kernel which takes about `usage`; `None` where only the launch knows the size of
    /// the workgroup, and on GPUs of which not even that is known.
    pub(crate) fn new(
        usage: ResourceUsage,
        plan: &EntryPlan,
        target: &Target,
    ) -> Option<ResidentEstimate> {
        let resident = Resident::on(Residency::for_estimates(target)?, usage, plan)?;
        Some(ResidentEstimate {
            registers: usage.registers,
            workgroups: resident.workgroups,
            occupancy: resident.occupancy,
            limiter: resident.limiter,
        })
    }
}

impl Resident {
    /// That of a kernel which takes `usage`; `None` where only the launch knows the size of the
    /// workgroup, and on GPUs that are not known well enough.
    pub(crate) fn estimate(
        usage: ResourceUsage,
        plan: &EntryPlan,
        target: &Target,
    ) -> Option<Resident> {
        Resident::on(Residency::for_target(target)?, usage, plan)
    }

    /// The same on a unit of this kind.
    fn on(residency: Residency, usage: ResourceUsage, plan: &EntryPlan) -> Option<Resident> {
        let invocations = plan
            .workgroup_size?
            .into_iter()
            .map(u64::from)
            .product::<u64>();
        let waves = invocations.div_ceil(u64::from(plan.wave_size));
        let footprint = Footprint {
            wave_size: plan.wave_size,
            waves: waves.try_into().unwrap_or(u32::MAX), // refused long before
            registers: usage.registers,
            shared_bytes: usage
                .shared_memory_bytes
                .saturating_add(plan.dynamic_shared_bytes),
            barriers: usage.barriers,
        };
        let resident = residency.resident(footprint)?;
        Some(Resident {
            workgroups: resident.workgroups,
            occupancy: residency.occupancy(footprint, resident),
            limiter: resident.bound.to_string(),
        })
    }
}

/// The most registers, fewer than those of `usage`, with which `workgroups` fit at once; `None`
/// where fewer registers do not help.
pub(crate) fn registers_that_keep(
    usage: ResourceUsage,
    workgroups: u32,
    plan: &EntryPlan,
    target: &Target,
) -> Option<u32> {
    (1..usage.registers).rev().find(|registers| {
        let fewer = ResourceUsage {
            registers: *registers,
            ..usage
        };
        let resident = Resident::estimate(fewer, plan, target);
        resident.is_some_and(|resident| resident.workgroups >= workgroups)
    })
}

/// How many workgroups are resident at once at least, and at most, where only ptxas knows the
/// registers: `most` says how many it takes at most. `None` as for [`Resident::estimate`].
pub(crate) fn resident_between(
    most: &Pressure,
    shared_bytes: u32,
    plan: &EntryPlan,
    target: &Target,
) -> Option<[u32; 2]> {
    let with = |registers, barriers| {
        let usage = ResourceUsage {
            registers,
            barriers,
            shared_memory_bytes: shared_bytes,
            spilled_bytes: 0,
        };
        let resident = Resident::estimate(usage, plan, target)?;
        Some(resident.workgroups)
    };
    // Above 255 registers ptxas spills.
    Some([
        with(most.registers.min(255), most.barriers)?,
        with(1, most.barriers)?,
    ])
}

/// The kernels whose metadata AMDGPU assembly holds, by name.
pub(crate) fn of_amdgpu(assembly: &str) -> Vec<(String, ResourceUsage)> {
    let kernels = metadata::kernels(assembly).into_iter().map(|kernel| {
        let usage = ResourceUsage {
            registers: kernel.vector_registers,
            barriers: 0,
            shared_memory_bytes: kernel.workgroup_bytes,
            spilled_bytes: 4 * kernel.spilled_vector_registers,
        };
        (kernel.symbol, usage)
    });
    kernels.collect()
}

/// The kernels that ptxas speaks of, by name.
///
/// `Compiling entry function 'NAME' for 'sm_90'`, then `... N bytes spill stores, ...` and
/// `Used N registers, used N barriers, N bytes smem, ...`; what is zero is left out.
pub(crate) fn read(said: &str) -> Vec<(String, ResourceUsage)> {
    let mut kernels: Vec<(String, ResourceUsage)> = Vec::new();
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '")
            && let Some((name, _)) = rest.split_once('\'')
        {
            kernels.push((name.to_owned(), ResourceUsage::default()));
        }
        let Some((_, usage)) = kernels.last_mut() else {
            continue;
        };
        let before = |what: &str| -> Option<u32> {
            let (number, _) = line.split_once(what)?;
            number.split_whitespace().last()?.parse().ok()
        };
        for (what, field) in [
            (" registers", &mut usage.registers),
            (" barriers", &mut usage.barriers),
            (" bytes smem", &mut usage.shared_memory_bytes),
            (" bytes spill stores", &mut usage.spilled_bytes),
        ] {
            *field = before(what).unwrap_or(*field);
        }
    }
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_of_amd_kernels() {
        let text = "\namdhsa.kernels:\n  - .group_segment_fixed_size: 4096\n    \
            .symbol:         first.kd\n    .vgpr_count:     91\n    .vgpr_spill_count: 3\n";
        let first = ResourceUsage {
            registers: 91,
            barriers: 0,
            shared_memory_bytes: 4096,
            spilled_bytes: 12,
        };
        assert_eq!(of_amdgpu(text), [("first".to_owned(), first)]);
    }

    #[test]
    fn each_kernel_has_its_own() {
        let said = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'first' for 'sm_90'\n\
            ptxas info    : Function properties for first\n\
            \u{20}   16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n\
            ptxas info    : Used 97 registers, used 16 barriers, 16 bytes cumulative stack size, 4096 bytes smem\n\
            ptxas info    : Compiling entry function 'second' for 'sm_90'\n\
            ptxas info    : Used 8 registers, 360 bytes cmem[0]\n";
        let first = ResourceUsage {
            registers: 97,
            barriers: 16,
            shared_memory_bytes: 4096,
            spilled_bytes: 12,
        };
        let second = ResourceUsage {
            registers: 8,
            ..ResourceUsage::default()
        };
        let expected = [("first".to_owned(), first), ("second".to_owned(), second)];
        assert_eq!(read(said), expected);
    }
}
