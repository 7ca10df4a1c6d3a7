//! The workgroups that are resident on a compute unit (AMD: a WGP from gfx10 on) or a
//! multiprocessor (NVIDIA).
//!
//! Sources. AMD: LLVM AMDGPU/Utils/AMDGPUBaseInfo (`getTotalNumVGPRs`, `getVGPRAllocGranule`,
//! `getMaxWavesPerEU`, `getMaxWorkGroupsPerCU`) and the features of its processors; LLVM's limit of
//! VGPRs for `amdgpu-waves-per-eu` is the same (a test of splitbar-llvm). NVIDIA: CUDA C++
//! Programming Guide, "Compute Capabilities", technical specifications per compute capability, and
//! cuda_occupancy.h: registers are allocated to warps in units of 256, a quarter of the
//! multiprocessor has a quarter of the registers, from compute capability 8.0 on each block takes 1
//! KiB of shared memory for the system, and from 9.0 on barriers count
//! (`cudaOccMaxBlocksPerSMBlockBarrierLimit` of CUDA 13.5).
//!
//! Scalar registers are left out: LLVM keeps a kernel's below the number that costs waves.

use super::Target;
use std::fmt;

/// The limits of one pool of registers, of which a unit has several, and of the unit itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Residency {
    /// Pools of a unit: SIMDs, quarters of a multiprocessor.
    pub pools: u32,
    /// Registers of 32 bits that one lane of each wave of a pool can have together, by wave size.
    pub registers: &'static [(u32, u32)],
    /// A wave gets a multiple of so many registers per lane, by wave size.
    pub granules: &'static [(u32, u32)],
    /// Waves of a pool.
    pub waves: u32,
    /// Workgroups of a unit.
    pub workgroups: u32,
    /// Workgroup memory of a unit in bytes.
    pub shared_bytes: u32,
    /// Workgroup memory comes in multiples of so many bytes.
    pub shared_granule: u32,
    /// Workgroup memory in bytes that the system takes for each workgroup.
    pub reserved_bytes: u32,
    /// Barriers of a unit; `None`: they limit nothing.
    pub barriers: Option<u32>,
}

/// The resource usage of one workgroup of a kernel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Lanes of a wave.
    pub wave_size: u32,
    /// Waves of a workgroup.
    pub waves: u32,
    /// Registers of a lane: VGPRs with AGPRs, or registers of a thread.
    pub registers: u32,
    /// Workgroup memory in bytes.
    pub shared_bytes: u32,
    /// Barriers that are reserved (NVIDIA).
    pub barriers: u32,
}

/// The limiting resource.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Registers.
    Registers,
    /// Workgroup memory.
    SharedMemory,
    /// Places for waves.
    Waves,
    /// Places for workgroups.
    Workgroups,
    /// Barriers.
    Barriers,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bound::Registers => "registers",
            Bound::SharedMemory => "workgroup memory",
            Bound::Waves => "waves",
            Bound::Workgroups => "workgroups",
            Bound::Barriers => "barriers",
        })
    }
}

/// The workgroups of a kernel that are resident on a unit.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Resident {
    /// Workgroups; 0: not even one fits.
    pub workgroups: u32,
    /// The limiting resource.
    pub bound: Bound,
}

const GCN: Residency = Residency {
    pools: 4,
    registers: &[(64, 256)],
    granules: &[(64, 4)],
    waves: 10,
    workgroups: 16,
    shared_bytes: 65536,
    shared_granule: 512,
    reserved_bytes: 0,
    barriers: None,
};

const CDNA2: Residency = Residency {
    registers: &[(64, 512)],
    granules: &[(64, 8)],
    waves: 8,
    ..GCN
};

const CDNA4: Residency = Residency {
    shared_bytes: 163_840,
    shared_granule: 1280,
    ..CDNA2
};

const RDNA1: Residency = Residency {
    pools: 4,
    registers: &[(32, 1024), (64, 512)],
    granules: &[(32, 8), (64, 4)],
    waves: 20,
    workgroups: 32,
    shared_bytes: 131_072,
    shared_granule: 512,
    reserved_bytes: 0,
    barriers: None,
};

const RDNA2: Residency = Residency {
    granules: &[(32, 16), (64, 8)],
    waves: 16,
    ..RDNA1
};

const RDNA3_LARGE: Residency = Residency {
    registers: &[(32, 1536), (64, 768)],
    granules: &[(32, 24), (64, 12)],
    ..RDNA2
};

/// gfx12.5, by LLVM's tables alone: no compute unit of it is described anywhere. LLVM counts 1,024
/// registers of a lane in units of 16 and 16 waves of a SIMD (a test of splitbar-llvm), and has
/// 320 KiB of workgroup memory.
const GFX12_5: Residency = Residency {
    pools: 4,
    registers: &[(32, 1024)],
    granules: &[(32, 16)],
    waves: 16,
    workgroups: 32,
    shared_bytes: 327_680,
    shared_granule: 2048,
    reserved_bytes: 0,
    barriers: None,
};

/// GPUs of [`GFX12_5`].
const ESTIMATED: &[&str] = &["gfx1250", "gfx1251"];

/// A multiprocessor of `warps` warps, `blocks` blocks and so much shared memory.
const fn multiprocessor(warps: u32, blocks: u32, shared_kib: u32, reserved: u32) -> Residency {
    Residency {
        pools: 4,
        // A quarter of 65,536, for 32 lanes each.
        registers: &[(32, 512)],
        granules: &[(32, 8)],
        waves: warps / 4,
        workgroups: blocks,
        shared_bytes: shared_kib * 1024,
        shared_granule: if reserved > 0 { 128 } else { 256 },
        reserved_bytes: reserved,
        barriers: None,
    }
}

/// The same with so many barriers.
const fn with_barriers(barriers: u32, unit: Residency) -> Residency {
    Residency {
        barriers: Some(barriers),
        ..unit
    }
}

/// By GPU. One that is not here is not known well enough: gfx11.7, gfx12.5, gfx13 and their
/// generic targets, sm_88 and sm_110.
const ROWS: &[(&[&str], Residency)] = &[
    (
        &[
            "gfx600",
            "gfx601",
            "gfx602",
            "gfx700",
            "gfx701",
            "gfx702",
            "gfx703",
            "gfx704",
            "gfx705",
            "gfx801",
            "gfx802",
            "gfx803",
            "gfx805",
            "gfx810",
            "gfx900",
            "gfx902",
            "gfx904",
            "gfx906",
            "gfx908",
            "gfx909",
            "gfx90c",
            "gfx9-generic",
        ],
        GCN,
    ),
    (&["gfx90a", "gfx942", "gfx9-4-generic"], CDNA2),
    (&["gfx950"], CDNA4),
    (
        &[
            "gfx1010",
            "gfx1011",
            "gfx1012",
            "gfx1013",
            "gfx10-1-generic",
        ],
        RDNA1,
    ),
    (
        &[
            "gfx1030",
            "gfx1031",
            "gfx1032",
            "gfx1033",
            "gfx1034",
            "gfx1035",
            "gfx1036",
            "gfx10-3-generic",
            "gfx1102",
            "gfx1103",
            "gfx1150",
            "gfx1152",
            "gfx1153",
            "gfx11-generic",
        ],
        RDNA2,
    ),
    (
        &[
            "gfx1100",
            "gfx1101",
            "gfx1151",
            "gfx1200",
            "gfx1201",
            "gfx12-generic",
        ],
        RDNA3_LARGE,
    ),
    (
        &["sm_50", "sm_53", "sm_60", "sm_62"],
        multiprocessor(64, 32, 64, 0),
    ),
    (
        &["sm_52", "sm_61", "sm_70", "sm_72"],
        multiprocessor(64, 32, 96, 0),
    ),
    (&["sm_75"], multiprocessor(32, 16, 64, 0)),
    (&["sm_80"], multiprocessor(64, 32, 164, 1024)),
    (&["sm_86"], multiprocessor(48, 16, 100, 1024)),
    (&["sm_87"], multiprocessor(48, 16, 164, 1024)),
    (&["sm_89"], multiprocessor(48, 24, 100, 1024)),
    (
        &["sm_90", "sm_100", "sm_103"],
        with_barriers(64, multiprocessor(64, 32, 228, 1024)),
    ),
    (
        &["sm_120", "sm_121"],
        with_barriers(24, multiprocessor(48, 24, 100, 1024)),
    ),
];

/// What the row of `wave_size` says.
fn by_size(rows: &[(u32, u32)], wave_size: u32) -> Option<u32> {
    let row = rows.iter().find(|(size, _)| *size == wave_size);
    row.map(|(_, value)| *value)
}

impl Residency {
    /// The limits of `target`; `None` if they are unknown.
    pub fn for_target(target: &Target) -> Option<Residency> {
        let row = ROWS.iter().find(|(names, _)| names.contains(&target.gpu()));
        row.map(|(_, residency)| *residency)
    }

    /// The limits of `target`, or an estimate of them: only for estimates of time, never for code
    /// generation.
    pub fn for_estimates(target: &Target) -> Option<Residency> {
        let estimate = || ESTIMATED.contains(&target.gpu()).then_some(GFX12_5);
        Residency::for_target(target).or_else(estimate)
    }

    /// A wave of `wave_size` lanes gets a multiple of so many registers per lane; `None` for a wave
    /// size that the target does not have.
    pub fn granule(&self, wave_size: u32) -> Option<u32> {
        by_size(self.granules, wave_size)
    }

    /// The workgroups of a kernel that are resident on a unit: the least number that registers,
    /// places for waves, workgroup memory and places for workgroups allow. `None` for a wave size
    /// that the target does not have.
    ///
    /// ```
    /// use splitbar_target::Target;
    /// use splitbar_target::residency::{Bound, Footprint, Residency};
    ///
    /// let target = Target::by_name("sm_80").ok_or("no such target")?;
    /// let sm = Residency::for_target(target).ok_or("not known")?;
    /// let footprint = |registers| Footprint {
    ///     wave_size: 32,
    ///     waves: 8,
    ///     registers,
    ///     shared_bytes: 2048,
    ///     barriers: 1,
    /// };
    /// let fused = sm.resident(footprint(62)).ok_or("no waves of 32")?;
    /// let split = sm.resident(footprint(96)).ok_or("no waves of 32")?;
    /// assert_eq!((fused.workgroups, split.workgroups), (4, 2));
    /// assert_eq!(split.bound, Bound::Registers);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resident(&self, footprint: Footprint) -> Option<Resident> {
        let registers = footprint.registers.max(1);
        let registers = registers.next_multiple_of(self.granule(footprint.wave_size)?);
        // A wave of 64 on hardware of 32 lanes takes one place too.
        let by_registers = by_size(self.registers, footprint.wave_size)? / registers;
        let waves = footprint.waves.max(1);
        let shared = footprint.shared_bytes.saturating_add(self.reserved_bytes);
        let shared = shared.checked_next_multiple_of(self.shared_granule)?;
        let limits = [
            (self.workgroups, Bound::Workgroups),
            (self.waves.saturating_mul(self.pools) / waves, Bound::Waves),
            (
                by_registers.saturating_mul(self.pools) / waves,
                Bound::Registers,
            ),
            (
                self.shared_bytes.checked_div(shared).unwrap_or(u32::MAX),
                Bound::SharedMemory,
            ),
            (
                self.barriers
                    .map_or(u32::MAX, |all| all / footprint.barriers.max(1)),
                Bound::Barriers,
            ),
        ];
        let (workgroups, bound) = limits
            .into_iter()
            .min_by_key(|(workgroups, _)| *workgroups)?;
        Some(Resident { workgroups, bound })
    }

    /// Waves of a unit when it holds so many workgroups, over the places that it has: 1 is all.
    pub fn occupancy(&self, footprint: Footprint, resident: Resident) -> f64 {
        let waves = resident.workgroups.saturating_mul(footprint.waves);
        f64::from(waves) / f64::from(self.waves.saturating_mul(self.pools))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_gpu_has_at_most_one_row() {
        let unknown: Vec<&str> = Target::all()
            .iter()
            .filter(|target| Residency::for_target(target).is_none())
            .map(|target| target.name)
            .collect();
        let expected = [
            "gfx1154",
            "gfx1170",
            "gfx1171",
            "gfx1172",
            "gfx11-7-generic",
            "gfx1250",
            "gfx1251",
            "gfx12-5-generic",
            "gfx1310",
            "gfx13-generic",
            "sm_88",
            "sm_110",
        ];
        assert_eq!(unknown, expected);
        let mut names: Vec<&str> = ROWS.iter().flat_map(|(names, _)| *names).copied().collect();
        let rows = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rows, "a GPU has two rows");
        assert!(names.iter().all(|name| Target::by_name(name).is_some()));
    }

    #[test]
    fn wave_sizes_are_those_of_the_target() {
        for target in Target::all() {
            let Some(residency) = Residency::for_target(target) else {
                continue; // not known: the list above
            };
            for size in target.wave_sizes {
                let footprint = Footprint {
                    wave_size: *size,
                    waves: 1,
                    registers: 1,
                    shared_bytes: 0,
                    barriers: 0,
                };
                let resident = residency.resident(footprint).unwrap();
                assert!(resident.workgroups > 0, "{} {size}", target.name);
            }
        }
    }

    #[test]
    fn each_limit_holds() {
        let footprint = Footprint {
            wave_size: 32,
            waves: 8,
            registers: 32,
            shared_bytes: 0,
            barriers: 0,
        };
        let on = |target: &str, footprint| {
            let residency = Residency::for_target(Target::by_name(target).unwrap()).unwrap();
            let resident = residency.resident(footprint).unwrap();
            (resident.workgroups, resident.bound)
        };
        assert_eq!(on("sm_90", footprint), (8, Bound::Waves));
        let registers = Footprint {
            registers: 255,
            ..footprint
        };
        assert_eq!(on("sm_90", registers), (1, Bound::Registers));
        let none = Footprint {
            registers: 255,
            waves: 32,
            ..footprint
        };
        assert_eq!(on("sm_90", none).0, 0);
        let shared = Footprint {
            shared_bytes: 48 * 1024,
            ..footprint
        };
        assert_eq!(on("sm_90", shared), (4, Bound::SharedMemory));
        assert_eq!(on("sm_75", footprint), (4, Bound::Waves));
        let one = Footprint {
            waves: 1,
            registers: 8,
            ..footprint
        };
        assert_eq!(on("sm_86", one), (16, Bound::Workgroups));
        let barriers = Footprint {
            barriers: 16,
            ..footprint
        };
        assert_eq!(on("sm_90", barriers), (4, Bound::Barriers));
        assert_eq!(on("sm_120", barriers), (1, Bound::Barriers));
        assert_eq!(on("sm_75", barriers), (4, Bound::Waves));
        // gfx1201: 1536 registers, 4 SIMDs, 24 at once.
        let large = Footprint {
            registers: 97,
            waves: 4,
            ..footprint
        };
        assert_eq!(on("gfx1201", large), (12, Bound::Registers));
        // The same on gfx1030: 1024 / 112.
        assert_eq!(on("gfx1030", large), (9, Bound::Registers));
        let gcn = Footprint {
            wave_size: 64,
            waves: 4,
            registers: 65,
            shared_bytes: 0,
            barriers: 0,
        };
        assert_eq!(on("gfx906", gcn), (3, Bound::Registers));
        assert_eq!(on("gfx942", gcn), (7, Bound::Registers));
    }
}
