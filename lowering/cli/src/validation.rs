//! Which rules the commands that compile ask for.

use super::values::parse_environment;
use clap::Args;
use splitbar::{Environment, Validation};

/// The two flags that `lower`, `sim` and `model` share.
#[derive(Clone, Debug, Args)]
pub(super) struct ValidationArgs {
    /// Does not check the rules of `splitbar check` first
    ///
    /// But for those that code cannot be made without.
    #[arg(long)]
    no_validate: bool,
    /// Whose rules: universal, vulkan1.0 to 1.4, opencl1.2 to 3.0
    ///
    /// Without it vulkan1.3, or universal for OpenCL modules.
    #[arg(long, value_name = "ENV", value_parser = parse_environment, conflicts_with = "no_validate")]
    target_env: Option<Environment>,
}

impl ValidationArgs {
    /// What they ask of a compilation.
    pub(super) fn validation(&self) -> Validation {
        match (self.no_validate, self.target_env) {
            (true, _) => Validation::Waived,
            (false, Some(environment)) => Validation::Environment(environment),
            (false, None) => Validation::Default,
        }
    }
}
