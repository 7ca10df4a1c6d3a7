//! What passes leave is valid, says spirv-val.

use crate::spirv_val::SpirvVal;
use crate::support::{FLAGS, Input, all, declared, instruments, once, run};
use splitbar_harness::Missing;
use splitbar_passes::module::{Module, assemble};
use std::path::Path;

/// Asked with the INTEL name of the extension, which all its versions that know split barriers
/// know.
fn complaint(peer: &SpirvVal, module: &Module<'_>, path: &str) -> Option<String> {
    let flag = "strip-split-barrier-alias=intel";
    match once(flag, &declared(module, path), path) {
        Some(edited) => peer.complaint_of_version(&edited.module),
        None => peer.complaint_of_version(module),
    }
}

/// Every pass on kernels and modules of the corpus.
pub(crate) fn what_passes_leave_is_valid() -> Result<(), Missing> {
    let peer = SpirvVal::find()?;
    let mut asked = 0;
    for (number, input) in all().iter().enumerate() {
        if number > 40 && number % 29 != 0 {
            continue; // a process for each is what takes the time
        }
        asked += after_passes(&peer, input);
    }
    assert!(asked > 100, "{asked} modules asked about");
    Ok(())
}

/// How many passes change a module.
fn after_passes(peer: &SpirvVal, input: &Input) -> usize {
    let (module, path) = (Module::parse(&input.bytes).unwrap(), &input.path);
    if complaint(peer, &module, path).is_some() {
        return 0; // an old validator, or the module's own fault
    }
    let declarations = declared(&module, path);
    let mut asked = 0;
    for flag in FLAGS.iter().chain(instruments(&declarations)) {
        let (after, changed) = run(flag, &module, path);
        if changed {
            asked += 1;
            assert_eq!(complaint(peer, &after, path), None, "{flag} on {path}");
        }
    }
    asked
}

/// Cases of the inliner in `fixtures/passes` whose control flow stays structured.
const INLINED: &[&str] = &[
    "handed_over",
    "early_return",
    "loop_header",
    "loop_of_one_block",
    "nested",
    "never_returns",
    "names",
    "lines",
    "exported",
];

/// The inliner's cases, before and after it.
pub(crate) fn inlining_leaves_structured_control_flow() -> Result<(), Missing> {
    let peer = SpirvVal::find()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = folder.join("../fixtures/passes/inline-barrier-functions");
    for name in INLINED {
        let text = std::fs::read_to_string(folder.join(format!("{name}.spvasm"))).unwrap();
        let before = assemble(&text).unwrap().module().unwrap();
        assert_eq!(complaint(&peer, &before, name), None, "{name} before");
        let (after, changed) = run("inline-barrier-functions", &before, name);
        assert!(changed, "{name}");
        assert_eq!(complaint(&peer, &after, name), None, "{name} after");
    }
    Ok(())
}
