//! The rules of SPIR-V, Vulkan and OpenCL for barriers, split barriers and atomics, checked on a
//! module.
//!
//! Every rule stands once in the table of [`rules`], with its documentation, a bad and a good
//! example. A rule looks at one operation or at the whole module, reports what it finds, and
//! changes nothing; the order of the table does not matter.

mod checked;
mod context;
mod environment;
pub mod flow;
mod inlined;
mod lint;
mod pairs;
mod rule;
pub mod rules;
mod uniform;

pub use checked::{Checked, Validation};
pub use context::{Context, Kind, Operand, Operation};
pub use environment::{Environment, LIMITS, MAX_COMPUTE_SHARED_MEMORY, Settings};
pub use inlined::Inlined;
pub use rule::{Check, Rule};

use crate::analysis::program::Program;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::{Constants, Declarations};

/// Problems that one run reports at the most.
pub const MOST_PROBLEMS: usize = 1000;

/// Checks every rule on the module of `declarations`. The problems that it adds to `diagnostics`
/// have their places filled in; sort them before they are shown.
///
/// The cost of the static rules is one pass over the instructions, and every rule for each barrier
/// and atomic. The run-time rules ([`flow::check`]) follow; they say nothing that depends on an
/// operand which breaks a static rule.
///
/// ```
/// use splitbar_passes::diagnostic::{Diagnostics, text};
/// use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
/// use splitbar_passes::validate::{Environment, Settings, validate};
///
/// // A wait that no invocation has arrived for.
/// let bytes = include_bytes!("../../../docs/examples/lost.spv");
/// let module = Module::parse(bytes)?;
/// let mut problems = Diagnostics::new();
/// let declarations = Declarations::new(&module, &mut problems);
/// let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
/// let settings = Settings::new(Environment::from_declarations(&declarations));
/// validate(&declarations, &constants, &settings, &mut problems);
/// assert!(problems.iter().any(|problem| problem.code.to_string() == "SB2001"));
/// # Ok::<(), Diagnostics>(())
/// ```
pub fn validate(
    declarations: &Declarations<'_>,
    constants: &Constants,
    settings: &Settings,
    diagnostics: &mut Diagnostics,
) {
    let mut found = Diagnostics::new();
    check_static(declarations, constants, settings, &mut found);
    flow::check(declarations, constants, settings, &mut found);
    finish(declarations, found, diagnostics);
}

/// As [`validate`], with what is known of the module already.
fn validate_program(
    inlined: &Inlined<'_>,
    program: &Program<'_>,
    settings: &Settings,
    diagnostics: &mut Diagnostics,
) {
    let mut found = Diagnostics::new();
    check_static(
        inlined.original(),
        program.constants(),
        settings,
        &mut found,
    );
    flow::check_program(inlined, program, settings, &mut found);
    finish(inlined.original(), found, diagnostics);
}

/// Sorts what was found, and fills in places.
fn finish(declarations: &Declarations<'_>, found: Diagnostics, diagnostics: &mut Diagnostics) {
    let mut found = found.sorted();
    declarations.locate_all(&mut found);
    diagnostics.extend(found);
}

/// Checks the rules that code cannot be made without, [`rules::REQUIRED`], and no other. As
/// [`validate`] otherwise.
pub fn check_required(
    declarations: &Declarations<'_>,
    constants: &Constants,
    diagnostics: &mut Diagnostics,
) {
    let settings = Settings::new(Environment::Universal);
    let context = Context::new(declarations, constants, &settings);
    let mut found = Diagnostics::new();
    for rule in rules::REQUIRED {
        if let Check::Module(check) = rule.check {
            check(&context, &mut found);
        }
    }
    let mut found = found.sorted();
    for diagnostic in found.iter_mut() {
        declarations.locate(diagnostic);
    }
    diagnostics.extend(found);
}

/// The static rules alone: what one instruction, or the declarations, break. As [`validate`]
/// otherwise, but for places, which are words, and order.
pub fn check_static(
    declarations: &Declarations<'_>,
    constants: &Constants,
    settings: &Settings,
    found: &mut Diagnostics,
) {
    let context = Context::new(declarations, constants, settings);
    for rule in rules::RULES {
        if let Check::Module(check) = rule.check {
            check(&context, found);
        }
    }
    for operation in context.operations() {
        if found.len() >= MOST_PROBLEMS {
            let message = format!("{MOST_PROBLEMS} problems are shown, there may be more");
            found.push(
                Diagnostic::note(Code::TooManyProblems, message).at_word(operation.inst.offset),
            );
            break;
        }
        for rule in rules::RULES {
            if let Check::Operation(check) = rule.check {
                check(&context, operation, found);
            }
        }
    }
}
