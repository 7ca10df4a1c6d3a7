//! Checks the rules of SPIR-V and of its client API, and the limits of the planner, without
//! generating code.

use crate::compile::{
    Candidate, Chosen, Prepared, PreparedSlots, ProfileSites, Source, SourceSlots, Split,
    no_entry_point, plan, prepare,
};
use crate::failure::Failure;
use crate::internal_error::guarded;
use crate::options::declare::declare_options;
use crate::options::values::{flag, put};
use crate::options::{DeclaredOptions, Heading, OptionInfo, Options, Part, ValueForm, strategies};
use spirv::Capability;
use splitbar_passes::diagnostic::{Code, Diagnostics, Kind};
use splitbar_passes::module::SpecValues;
use splitbar_passes::validate::{
    Environment, MAX_COMPUTE_SHARED_MEMORY, Settings, Validation, validate,
};
use splitbar_plan::{Strategy, Target};
use std::collections::BTreeMap;

declare_options! {
    /// The options of a check. Start with the default, then set fields.
    #[derive(Clone, Debug)]
    #[non_exhaustive]
    pub struct CheckOptions();

    /// Values for specialization constants.
    spec: SpecValues = SpecValues::default();
    /// Whose rules; `None`: by the module's capabilities.
    environment: Option<Environment> = None => {
        "target-env": {
            heading: Heading::Rules,
            part: Part::Module,
            value: ValueForm::Text("ENV"),
            summary: "Environment: universal, vulkan1.0 to 1.4, opencl1.2 to 3.0",
            details: "The default depends on the capabilities of the module.",
            set: |options, text| put(&mut options.environment, text.parse().map(Some)),
        }
    };
    /// True if what can be neither proved nor refuted is an error.
    strict: bool = false => {
        "strict": {
            heading: Heading::Rules,
            part: Part::Module,
            summary: "Reports an error for everything that cannot be proved correct",
            set: |options, text| put(&mut options.strict, flag(text)),
        }
    };
    /// True if specialization constants without a value have their defaults.
    assume_default_spec: bool = false => {
        "assume-default-spec": {
            heading: Heading::Rules,
            part: Part::Module,
            summary: "Uses default values for specialization constants that --spec does not set",
            details: "`lower` always does. Without this option, a branch on such a constant is undecided.",
            set: |options, text| put(&mut options.assume_default_spec, flag(text)),
        }
    };
    /// Limits of the implementation, by name.
    limits: BTreeMap<String, u64> = BTreeMap::new();
    /// The target whose limits count too, with what its lowering reserves for split barriers.
    target: Option<&'static Target> = None;
    /// How that lowering takes split barriers; `None` lets the planner choose.
    strategy: Option<Strategy> = None => {
        "strategy": {
            heading: Heading::Barriers,
            value: ValueForm::OneOf("STRATEGY", || {
                let auto = ("auto", "The best strategy that the target supports");
                std::iter::once(auto).chain(strategies()).collect()
            }),
            default: Some("auto"),
            summary: "How split barriers are lowered for --targets",
            set: |options, text| match text {
                "auto" => put(&mut options.strategy, Ok(None)),
                _ => put(&mut options.strategy, text.parse().map(Some)),
            },
        }
    };
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions::defaults()
    }
}

impl DeclaredOptions for CheckOptions {
    fn declared() -> impl Iterator<Item = &'static OptionInfo<CheckOptions>> {
        CheckOptions::DECLARED.iter()
    }

    fn scratch() -> Option<CheckOptions> {
        Some(CheckOptions::default())
    }
}

/// All problems of the module in `bytes`, with their places: those of the rules and, if there is a
/// target, those of the planner.
pub fn check(bytes: &[u8], options: &CheckOptions) -> Diagnostics {
    let slots = SourceSlots::default();
    match Source::read(&slots, bytes, &options.spec, None, &mut ()) {
        Ok(source) => check_source(&source, options),
        Err(refused) => refused.diagnostics,
    }
}

fn check_source(source: &Source<'_>, options: &CheckOptions) -> Diagnostics {
    let planned = options
        .target
        .map(|target| planned(source, options, target));
    let mut settings = Settings::new(
        options
            .environment
            .unwrap_or_else(|| Environment::from_declarations(source.declarations)),
    );
    settings.strict = options.strict;
    settings.assume_default_spec = options.assume_default_spec;
    settings.limits = limits(options);
    if let Some(Ok(planned)) = &planned {
        settings.reserved_shared_bytes = planned.reserved_shared_bytes;
    }
    let mut problems = source.found.clone();
    validate(
        source.declarations,
        source.constants,
        &settings,
        &mut problems,
    );
    let mut problems = problems.sorted();
    let of_target = planned.map(|planned| {
        planned.map_or_else(|refused| refused.diagnostics, |planned| planned.warnings)
    });
    // A library has the capability Linkage; without it nothing can use what the module has.
    let declarations = source.declarations;
    let is_dead =
        declarations.entry_points.is_empty() && !declarations.has_capability(Capability::Linkage);
    let mut of_target_says = of_target.iter().flat_map(Diagnostics::iter);
    if is_dead && !of_target_says.any(|problem| problem.code == Code::NoEntryPoint) {
        problems.push(no_entry_point());
    }
    // Rules that are broken, and memory that is too large by rule 13562, the planner would say once
    // more.
    let (broken, too_large) = (
        problems.has_errors(),
        problems
            .iter()
            .any(|problem| problem.code == Code::SharedMemoryLimit),
    );
    for problem in of_target.iter().flat_map(Diagnostics::iter) {
        let is_said = broken && problem.code.kind() == Kind::Invalid
            || too_large && problem.code == Code::TooMuchSharedMemory;
        if !is_said {
            problems.push(problem.clone());
        }
    }
    problems
}

/// What the plans of a module for a target say.
struct Planned {
    /// What barriers reserve of workgroup memory, at most.
    reserved_shared_bytes: u32,
    warnings: Diagnostics,
}

/// The plans for `target`, of a module whose rules are asked for apart from them, with its limits.
fn planned(
    source: &Source<'_>,
    check: &CheckOptions,
    target: &'static Target,
) -> Result<Planned, Failure> {
    let mut options = Options::new(target);
    options.strategy = check.strategy;
    options.validation = Validation::Waived;
    guarded(&options, || {
        let slots = PreparedSlots::default();
        let prepared: Prepared<'_> = prepare(&slots, source, Split::default(), &options, &mut ())?;
        let sites = ProfileSites::default();
        let mut candidate: Candidate<'_, '_> =
            plan(&prepared, Chosen::default(), &sites, &options, &mut ())?;
        let plans = candidate.kernels.iter().map(|kernel| &kernel.plan);
        let reserved = plans.map(|plan| plan.reserved_shared_bytes);
        Ok(Planned {
            reserved_shared_bytes: reserved.max().unwrap_or(0), // no kernels
            warnings: candidate.problems.take_all(),
        })
    })
}

/// The smallest of the limits that were given and of those that the target has, by name.
fn limits(options: &CheckOptions) -> BTreeMap<String, u64> {
    let mut limits = options.limits.clone();
    if let Some(target) = options.target {
        let of_target = u64::from(target.lds_bytes);
        let limit = limits
            .entry(MAX_COMPUTE_SHARED_MEMORY.to_owned())
            .or_insert(of_target);
        *limit = of_target.min(*limit);
    }
    limits
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_module_is_reported() {
        assert!(check(b"x", &CheckOptions::default()).has_errors());
    }

    /// A module without entry point is a library, if it says so, or of no use.
    #[test]
    fn modules_without_entry_point_are_libraries_or_refused() {
        let codes = |linkage: &str, target: Option<&'static Target>| -> Vec<Code> {
            let text = format!(
                "; Version: 1.6\nOpCapability Shader\n{linkage}OpMemoryModel Logical GLSL450\n"
            );
            let module = splitbar_passes::module::assemble(&text)
                .unwrap()
                .module()
                .unwrap();
            let bytes: Vec<u8> = module
                .words()
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect();
            let options = CheckOptions {
                target,
                ..CheckOptions::default()
            };
            let problems = check(&bytes, &options);
            problems.iter().map(|problem| problem.code).collect()
        };
        let target = Target::by_name("gfx1201");
        assert_eq!(codes("", None), [Code::NoEntryPoint]);
        assert_eq!(codes("", target), [Code::NoEntryPoint]);
        assert_eq!(codes("OpCapability Linkage\n", None), []);
    }
}
