//! Among whom memory is ordered.

use serde::{Deserialize, Serialize};

/// Among whom a fence orders.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FenceScope {
    /// One wave or warp.
    Subgroup,
    /// One workgroup.
    Workgroup,
    /// One device.
    Device,
    /// All devices and the host.
    System,
}
