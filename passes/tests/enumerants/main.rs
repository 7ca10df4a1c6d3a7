//! The table of enumerants and the corpus: nothing that real kernels use is refused by it.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../corpus/mod.rs"]
mod corpus;

use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::enumerants::{self, Outcome};
use splitbar_passes::module::{Declarations, Module};

#[test]
fn real_kernels_are_not_refused() {
    let mut kernels = 0;
    let mut refused = Vec::new();
    for file in corpus::modules().unwrap() {
        let module = Module::parse(&file.bytes).unwrap();
        let mut diagnostics = Diagnostics::new();
        let declarations = Declarations::new(&module, &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{}: {diagnostics}", file.path);
        for (number, _) in &declarations.capabilities {
            if let Outcome::Refused(code) = enumerants::capability_number(*number) {
                refused.push(format!("{}: {code} capability {number}", file.path));
            }
        }
        for entry in declarations
            .entry_points
            .iter()
            .filter(|one| one.is_compute())
        {
            kernels += 1;
            let functions = declarations.reachable_functions(entry.function).unwrap();
            enumerants::check(&declarations, &functions, &mut diagnostics);
        }
        let said = diagnostics
            .iter()
            .map(|one| format!("{}: {} {}", file.path, one.code, one.message));
        refused.extend(said);
    }
    assert!(kernels > 1000, "{kernels} kernels");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
