//! Whose rules are checked, and with which limits.

use crate::module::Declarations;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The client API whose rules are checked on top of SPIR-V's own.
#[derive(
    Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[non_exhaustive]
pub enum Environment {
    /// SPIR-V's own rules alone.
    Universal,
    /// Vulkan 1.0.
    Vulkan10,
    /// Vulkan 1.1.
    Vulkan11,
    /// Vulkan 1.2.
    Vulkan12,
    /// Vulkan 1.3.
    Vulkan13,
    /// Vulkan 1.4.
    Vulkan14,
    /// OpenCL 1.2.
    OpenCl12,
    /// OpenCL 2.0.
    OpenCl20,
    /// OpenCL 2.1.
    OpenCl21,
    /// OpenCL 2.2.
    OpenCl22,
    /// OpenCL 3.0.
    OpenCl30,
}

/// Names on the command line.
const NAMES: [(Environment, &str); 11] = [
    (Environment::Universal, "universal"),
    (Environment::Vulkan10, "vulkan1.0"),
    (Environment::Vulkan11, "vulkan1.1"),
    (Environment::Vulkan12, "vulkan1.2"),
    (Environment::Vulkan13, "vulkan1.3"),
    (Environment::Vulkan14, "vulkan1.4"),
    (Environment::OpenCl12, "opencl1.2"),
    (Environment::OpenCl20, "opencl2.0"),
    (Environment::OpenCl21, "opencl2.1"),
    (Environment::OpenCl22, "opencl2.2"),
    (Environment::OpenCl30, "opencl3.0"),
];

impl Environment {
    /// All of them with their names.
    pub const ALL: &'static [(Environment, &'static str)] = &NAMES;

    /// Returns true if it is a version of Vulkan.
    pub fn is_vulkan(self) -> bool {
        (Environment::Vulkan10..=Environment::Vulkan14).contains(&self)
    }

    /// Returns true if it is a version of OpenCL.
    pub fn is_opencl(self) -> bool {
        self >= Environment::OpenCl12
    }

    /// The default environment of a module: OpenCL 2.0 for one with the capability Kernel, Vulkan
    /// 1.3 for one with Shader, otherwise none in particular.
    pub fn from_declarations(declarations: &Declarations<'_>) -> Environment {
        if declarations.has_capability(spirv::Capability::Kernel) {
            Environment::OpenCl20
        } else if declarations.capabilities.is_empty() {
            Environment::Universal
        } else {
            Environment::Vulkan13
        }
    }

    /// The default environment whose rules a module must follow to be lowered: that of
    /// [`Environment::from_declarations`], but only the universal rules for OpenCL modules.
    /// OpenCL's split-barrier extension has no scope Subgroup, but the lowering supports it, and
    /// tools that rewrite barriers create such pairs.
    pub fn for_lowering(declarations: &Declarations<'_>) -> Environment {
        let environment = Environment::from_declarations(declarations);
        if environment.is_opencl() {
            Environment::Universal
        } else {
            environment
        }
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(environment, _)| environment == self);
        f.write_str(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for Environment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = NAMES.iter().map(|(_, name)| *name).collect();
        NAMES
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(environment, _)| *environment)
            .ok_or_else(|| format!("{text:?} is not one of {}", names.join(", ")))
    }
}

/// The settings of a validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whose rules are checked.
    pub environment: Environment,
    /// Limits of the implementation by Vulkan's names, such as `maxComputeSharedMemorySize`. A rule
    /// whose limit is not here is not checked.
    pub limits: BTreeMap<String, u64>,
    /// Bytes of workgroup memory that the implementation takes for split barriers (Vulkan's
    /// `splitBarrierReservedSharedMemory`).
    pub reserved_shared_bytes: u32,
    /// True if undecided rules are errors instead of warnings.
    pub strict: bool,
    /// True if specialization constants without a value have their defaults, as in the lowering.
    /// Otherwise, the run-time rules report about a branch on such a constant only what is true for
    /// all its values.
    pub assume_default_spec: bool,
}

impl Settings {
    /// For `environment`, with no limits, and the defaults of specialization constants.
    pub fn new(environment: Environment) -> Self {
        Settings {
            environment,
            limits: BTreeMap::new(),
            reserved_shared_bytes: 0,
            strict: false,
            assume_default_spec: true,
        }
    }
}

/// The limits that rules use.
pub const LIMITS: &[&str] = &[MAX_COMPUTE_SHARED_MEMORY];

/// Bytes of workgroup memory that a workgroup can have.
pub const MAX_COMPUTE_SHARED_MEMORY: &str = "maxComputeSharedMemorySize";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for (environment, name) in Environment::ALL {
            assert_eq!(name.parse(), Ok(*environment));
            assert_eq!(environment.to_string(), *name);
        }
        assert!("vulkan".parse::<Environment>().is_err());
        assert!(
            Environment::Vulkan14.is_vulkan()
                && !Environment::OpenCl12.is_vulkan()
                && !Environment::Universal.is_opencl()
        );
    }
}
