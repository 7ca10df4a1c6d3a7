//! What instruction families ask of a target row, put together. An intrinsic that is not there must
//! never reach LLVM: code generation would end the process.

use splitbar_plan::Target;
use splitbar_plan::target::Arch;

/// How lanes of a subgroup read each other's registers.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum LaneExchange {
    /// AMDGPU `llvm.amdgcn.wave.shuffle`: any lane from any lane.
    Shuffle,
    /// AMDGPU without it.
    ReadLane,
    /// NVPTX `shfl.sync`.
    Sync,
}

/// Which lane exchange the target has in waves of `wave_size`.
pub(crate) fn lane_exchange(target: &Target, wave_size: u32) -> LaneExchange {
    match &target.arch {
        Arch::Nvptx(_) => LaneExchange::Sync,
        Arch::Amdgpu(gpu) if gpu.wave_shuffle.contains(&wave_size) => LaneExchange::Shuffle,
        Arch::Amdgpu(_) => LaneExchange::ReadLane,
    }
}

/// AMDGPU: whether a lane can read any other of its 32 (`ds_bpermute_b32`) and of its quad (DPP).
/// Both came with gfx8, as wave shuffles did (GCN3 ISA).
pub(crate) fn permutes_near_lanes(target: &Target) -> bool {
    match &target.arch {
        Arch::Amdgpu(gpu) => !gpu.wave_shuffle.is_empty(),
        Arch::Nvptx(_) => false,
    }
}

/// AMDGPU: whether all lanes of a wave take part in reductions and scans. The value of inactive
/// lanes has to be an operand of the instruction that gives it to them: one that lies in a register
/// could share it with a value of active lanes, which LLVM 23.1 then overwrites in inactive ones
/// (docs/llvm.md).
pub(crate) fn activates_lanes(target: &Target) -> bool {
    match &target.arch {
        Arch::Amdgpu(gpu) => gpu.vop3_literals && permutes_near_lanes(target),
        Arch::Nvptx(_) => false,
    }
}

/// NVPTX: whether a warp reduces integers by one instruction (`redux.sync`).
pub(crate) fn reduces_words(target: &Target) -> bool {
    match &target.arch {
        Arch::Amdgpu(_) => false,
        Arch::Nvptx(gpu) => gpu.redux,
    }
}

/// Returns true if the target can access memory through a generic pointer (gfx6 has no FLAT
/// instructions).
pub(crate) fn has_generic_access(target: &Target) -> bool {
    match &target.arch {
        Arch::Nvptx(_) => true,
        Arch::Amdgpu(gpu) => gpu.generic_access,
    }
}

/// How the set of active lanes is asked for on NVPTX.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum ActiveMask {
    /// `vote.ballot.b32` of true: below sm_70, where a warp runs in lock step.
    Ballot,
    /// `activemask.b32` (PTX 6.2).
    Instruction,
    /// Neither: the PTX version is too low.
    Missing,
}

/// How `target` tells its active lanes; AMDGPU has ballots without a mask operand.
pub(crate) fn active_mask(target: &Target) -> ActiveMask {
    match &target.arch {
        Arch::Nvptx(gpu) if !gpu.volta_fences => ActiveMask::Ballot,
        Arch::Nvptx(gpu) if gpu.ptx < 62 => ActiveMask::Missing,
        Arch::Nvptx(_) => ActiveMask::Instruction,
        Arch::Amdgpu(_) => ActiveMask::Ballot,
    }
}

/// Which conversions of OCP's floats of 8 bits the target has.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Float8Conversions {
    /// None for these formats.
    #[default]
    None,
    /// Those of AMD.
    Amdgpu,
    /// Those of NVIDIA.
    Nvptx,
}

impl Float8Conversions {
    /// Those of `arch`.
    pub(crate) fn for_arch(arch: &Arch) -> Float8Conversions {
        match arch {
            Arch::Amdgpu(gpu) if gpu.float8_conversions => Float8Conversions::Amdgpu,
            Arch::Nvptx(gpu) if gpu.float8_conversions => Float8Conversions::Nvptx,
            Arch::Amdgpu(_) | Arch::Nvptx(_) => Float8Conversions::None,
        }
    }
}
