//! Normalizes a module: rewrites instructions that have several forms into the form that is
//! lowered.

use splitbar_passes::diagnostic::{Diagnostic, Diagnostics};
use splitbar_passes::module::{Declarations, Module};
use splitbar_passes::transform::registry::{Pass, PassOptions};

/// Passes that every module goes through. They change no module that has nothing for them.
const NORMALIZATION_PASSES: [&str; 4] = [
    "link-device-library",
    "modernize-cooperative-matrices",
    "scalarize-pointer-vectors", // makes predicated accesses
    "branch-on-predicates",
];

/// Their name in diagnostics about a module that they made.
pub(super) const NORMALIZATION: &str = "linking, modernizing, scalarizing or branching";

/// The module after the passes of [`NORMALIZATION_PASSES`]; `None` where they leave it as it is.
/// Its words are no longer those of the bytes that were given, as with modules that are linked.
///
/// # Errors
/// `ModuleTooLarge`.
pub(super) fn normalize(
    declarations: &Declarations<'_>,
) -> Result<Option<Module<'static>>, Diagnostics> {
    let mut normalized: Option<Module<'static>> = None;
    for name in NORMALIZATION_PASSES {
        let after = normalized
            .as_ref()
            .map(|module| Declarations::of_made(module, NORMALIZATION))
            .transpose()?;
        let declarations = after.as_ref().unwrap_or(declarations);
        let pass =
            Pass::named(name).ok_or_else(|| Diagnostic::bug(format!("there is no pass {name}")))?;
        let mut found = Diagnostics::new();
        let edited = pass.run(
            declarations.module,
            declarations,
            &PassOptions::None,
            &mut found,
        )?;
        if let Some(edited) = edited {
            normalized = Some(edited.module);
        }
    }
    Ok(normalized)
}
