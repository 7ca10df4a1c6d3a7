//! Modules for the tests of this crate.

use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};

/// What `ask` says of a fixture kernel's module.
pub(crate) fn fixture<R>(name: &str, ask: impl FnOnce(&Declarations<'_>, &Constants) -> R) -> R {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/kernels");
    let bytes = std::fs::read(format!("{root}/{name}/{name}.spv")).unwrap();
    read(&Module::parse(&bytes).unwrap(), ask)
}

/// What `ask` says of a module.
pub(crate) fn read<R>(
    module: &Module<'_>,
    ask: impl FnOnce(&Declarations<'_>, &Constants) -> R,
) -> R {
    let mut problems = Diagnostics::new();
    let declarations = Declarations::new(module, &mut problems);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
    assert!(!problems.has_errors(), "{problems}");
    ask(&declarations, &constants)
}
