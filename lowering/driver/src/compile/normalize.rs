//! Normalizes a module: rewrites instructions that have several forms into the form that is
//! lowered.

use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Declarations, Module};
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::registry::{
    BRANCH_ON_PREDICATES, LINK_DEVICE_LIBRARY, MODERNIZE_COOPERATIVE_MATRICES,
    SCALARIZE_POINTER_VECTORS,
};

/// Passes that every module goes through. They change no module that has nothing for them.
const NORMALIZATION_PASSES: [Step; 4] = [
    Step::plain(LINK_DEVICE_LIBRARY),
    Step::plain(MODERNIZE_COOPERATIVE_MATRICES),
    Step::plain(SCALARIZE_POINTER_VECTORS), // makes predicated accesses
    Step::plain(BRANCH_ON_PREDICATES),
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
    let steps = &NORMALIZATION_PASSES;
    let done = pipeline::rewrite(
        declarations,
        steps,
        Settings::IN_COMPILATIONS,
        &mut |_, _| (),
    );
    let done = done.map_err(|mut refused| {
        declarations.locate_all(&mut refused);
        refused
    })?;
    Ok(done.edited.map(|edited| edited.module))
}
