//! The placement of the waves of a workgroup.

use crate::scope::FenceScope;
use crate::target::{Amdgpu, Arch, Target};
use serde::{Deserialize, Serialize};

/// The placement of the waves of a workgroup on an AMD GPU.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// As the target does by default: on one compute unit, or on the two of a work-group processor.
    #[default]
    Default,
    /// On one compute unit of a work-group processor (CU mode).
    #[serde(alias = "cu-mode")]
    CuMode,
    /// On any compute units (threadgroup split). Such a workgroup has no LDS.
    #[serde(rename = "tgsplit", alias = "threadgroup-split")]
    ThreadgroupSplit,
}

impl Placement {
    /// The name in reports, after "in".
    pub fn name(self) -> &'static str {
        match self {
            Placement::Default => "default mode",
            Placement::CuMode => "CU mode",
            Placement::ThreadgroupSplit => "threadgroup split mode",
        }
    }

    /// Returns true if `target` has it.
    pub fn exists_on(self, target: &Target) -> bool {
        match (self, &target.arch) {
            (Placement::Default, _) => true,
            (Placement::CuMode, Arch::Amdgpu(gpu)) => gpu.cumode_feature,
            (Placement::ThreadgroupSplit, Arch::Amdgpu(gpu)) => gpu.tg_split,
            (Placement::CuMode | Placement::ThreadgroupSplit, Arch::Nvptx(_)) => false,
        }
    }
}

impl Amdgpu {
    /// The invalidation for an acquire of global memory at `scope`, for a workgroup with this
    /// placement.
    pub fn invalidates(&self, scope: FenceScope, placement: Placement) -> &'static [&'static str] {
        let one_cache = match placement {
            Placement::Default => self.tg_split,
            Placement::CuMode => true,
            Placement::ThreadgroupSplit => false,
        };
        if scope == FenceScope::Workgroup && one_cache {
            &[]
        } else {
            self.acquire.at(scope)
        }
    }
}
