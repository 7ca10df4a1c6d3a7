//! Where the waves of a workgroup run.

use crate::scope::FenceScope;
use crate::target::{Amdgpu, Arch, Target};
use serde::{Deserialize, Serialize};

/// Where the waves of a workgroup of an AMD GPU run.
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

    /// Whether `target` has it.
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
    /// What an acquire of global memory at `scope` invalidates, of a workgroup that is placed so.
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
