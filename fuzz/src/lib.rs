//! The bodies of the fuzz targets, which run on the bytes of a module. A body returns for any
//! bytes; it panics if the library breaks a promise.
//!
//! The targets for cargo-fuzz are in `fuzz/targets`, one line each; `tests/seconds.rs` runs the
//! same bodies on stable Rust over real modules that [`mutate`] has damaged.
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "a panic is how a fuzz target reports"
)]

pub mod mutate;
mod shrink;

pub use shrink::shrink;

use splitbar_passes::diagnostic::{Diagnostics, Kind, Severity, json, text};
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
use splitbar_passes::pipeline::{self, Step};
use splitbar_passes::transform::registry::{PASSES, Pass};
use splitbar_passes::validate::{Environment, MOST_PROBLEMS, Settings, validate};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

/// Every pass, as its flag is written: once for each way that it can be asked for.
pub const FLAGS: &[&str] = &[
    "branch-on-predicates",
    "eliminate-redundant-control-barriers",
    "eliminate-redundant-control-barriers=all-memory",
    "eliminate-redundant-split-barriers",
    "fill-split-barrier-windows",
    "fill-split-barrier-windows=live:2,all-memory",
    "freeze-specialization-constants",
    "fuse-narrow-split-barriers=4",
    "fuse-split-barriers",
    "fuse-split-barriers=arrive",
    "inline-barrier-functions",
    "instrument-barrier-skew=set:7,binding:31",
    "instrument-split-barriers=set:7,binding:31",
    "link-device-library",
    "modernize-cooperative-matrices",
    "move-split-barriers",
    "move-split-barriers=all-memory",
    "narrow-barrier-semantics",
    "narrow-barrier-semantics=aliased",
    "narrow-barriers-to-subgroups=32",
    "order-split-barriers",
    "promote-async-copies",
    "scalarize-pointer-vectors",
    "split-control-barriers",
    "pipeline-barrier-loops",
    "pipeline-barrier-loops=stage,plain",
    "prefetch-barrier-loop-loads",
    "strip-split-barrier-alias=ext",
    "strip-split-barrier-alias=intel",
    "unroll-barrier-loops=1000",
];

/// Environments that the rules are tried for.
const ENVIRONMENTS: [Environment; 4] = [
    Environment::Universal,
    Environment::Vulkan10,
    Environment::Vulkan14,
    Environment::OpenCl20,
];

/// Reads a module and asks it everything that diagnostics and printing ask.
pub fn load(bytes: &[u8]) {
    let module = match Module::parse(bytes) {
        Ok(module) => module,
        Err(problems) => {
            assert!(problems.has_errors(), "refused without an error");
            shown(&problems);
            return;
        }
    };
    assert_eq!(module.to_bytes(), bytes, "what was read is what is written");
    let mut problems = Diagnostics::new();
    let declarations = Declarations::new(&module, &mut problems);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
    for entry in &declarations.entry_points {
        let _ = declarations.workgroup_size(entry, &constants);
        let _ = declarations.reachable_functions(entry.function);
    }
    declarations.locate_all(&mut problems);
    for inst in module.instructions() {
        assert!(!declarations.disassemble(inst).contains('\n'));
    }
    shown(&problems);
}

/// Checks the rules of several environments.
pub fn check(bytes: &[u8]) {
    let Ok(module) = Module::parse(bytes) else {
        return;
    };
    let mut problems = Diagnostics::new();
    let declarations = Declarations::new(&module, &mut problems);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
    if problems.has_errors() {
        return;
    }
    for environment in ENVIRONMENTS {
        let mut found = Diagnostics::new();
        validate(
            &declarations,
            &constants,
            &Settings::new(environment),
            &mut found,
        );
        // Every site can have a finding of each run-time rule on top of the static ones.
        assert!(found.len() <= 8 * MOST_PROBLEMS + module.words().len());
        let located = found
            .iter()
            .all(|problem| problem.location.instruction.is_some());
        assert!(located, "a problem without its instruction: {found:?}");
        shown(&found);
    }
}

/// Runs the pass that the variable `SPLITBAR_FUZZ_PASS` names by its flag; without it one of
/// [`FLAGS`], which the bytes choose.
pub fn any_pass(bytes: &[u8]) {
    static NAMED: OnceLock<Option<String>> = OnceLock::new();
    let named = NAMED.get_or_init(|| std::env::var("SPLITBAR_FUZZ_PASS").ok());
    match named {
        Some(flag) => pass(flag, bytes),
        None => pass(chosen_by(bytes), bytes),
    }
}

fn chosen_by(bytes: &[u8]) -> &'static str {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let number = hasher.finish() as usize % FLAGS.len();
    FLAGS.get(number).expect("a number below the length")
}

/// Runs the pass of `flag` (one of [`FLAGS`]), and on a module that breaks no rule asks that what
/// it leaves breaks none, and that it finds nothing to do when it runs again.
pub fn pass(flag: &str, bytes: &[u8]) {
    let Ok(module) = Module::parse(bytes) else {
        return;
    };
    let right = breaks_no_rule(&module);
    let settings = pipeline::Settings::default().with_validation(right);
    match pipeline::run(module.into_owned(), &[step(flag)], settings, &mut |_, _| {}) {
        Ok(outcome) => {
            let bytes = outcome.module.to_bytes();
            let again = Module::parse(&bytes).expect("what a pass leaves can be read");
            assert_eq!(again.words(), outcome.module.words());
        }
        Err(problems) => {
            let bug = problems
                .iter()
                .any(|problem| problem.code.kind() == Kind::Internal);
            assert!(!bug || !right, "--{flag}: {problems}");
            shown(&problems);
        }
    }
}

/// The step that `flag` asks for.
pub fn step(flag: &str) -> Step {
    flag.parse().expect("a pass of the table, with its value")
}

fn breaks_no_rule(module: &Module<'_>) -> bool {
    let mut problems = Diagnostics::new();
    let declarations = Declarations::new(module, &mut problems);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
    if !problems.has_errors() {
        let settings = Settings::new(Environment::from_declarations(&declarations));
        validate(&declarations, &constants, &settings, &mut problems);
    }
    !problems
        .iter()
        .any(|problem| problem.severity == Severity::Error)
}

/// Renders problems both ways: a line of JSON for each, no control character in the text.
fn shown(problems: &Diagnostics) {
    assert_eq!(
        json::render(problems, "a.spv").lines().count(),
        problems.len()
    );
    let text = text::render(problems, "fuzz.spv");
    assert!(
        text.chars().all(|c| c == '\n' || !c.is_control()),
        "{text:?}"
    );
}

/// Names of passes that [`FLAGS`] leaves out: none.
pub fn forgotten() -> Vec<&'static str> {
    let is_known = |pass: &&&Pass| {
        !FLAGS
            .iter()
            .any(|flag| flag.split('=').next() == Some(pass.name))
    };
    PASSES
        .iter()
        .filter(is_known)
        .map(|pass| pass.name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn bytes_choose_every_flag() {
        let chosen: BTreeSet<&str> = (0..2000u32).map(|n| chosen_by(&n.to_le_bytes())).collect();
        assert_eq!(chosen.len(), FLAGS.len());
    }
}
