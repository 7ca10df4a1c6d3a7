//! Modules to run passes on, one pass at a time, and what must hold for each run.

use super::corpus;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Declarations, Module};
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::RewrittenModule;
use std::path::{Path, PathBuf};

/// Flags of all passes.
pub(crate) const FLAGS: &[&str] = &[
    "branch-on-predicates",
    "eliminate-redundant-split-barriers",
    "freeze-specialization-constants",
    "fuse-split-barriers",
    "fuse-split-barriers=arrive",
    "inline-barrier-functions",
    "link-device-library",
    "modernize-cooperative-matrices",
    "order-split-barriers",
    "promote-async-copies",
    "scalarize-pointer-vectors",
    "split-control-barriers",
    "strip-split-barrier-alias=ext",
    "strip-split-barrier-alias=intel",
];

/// Flags of the passes that add a buffer, at a place that no module has.
pub(crate) const INSTRUMENTS: &[&str] = &[
    "instrument-barrier-skew=set:7,binding:31",
    "instrument-split-barriers=set:7,binding:31",
];

/// Those of [`INSTRUMENTS`] that take the module: OpenCL kernels have no descriptors, and before
/// version 1.3 no invocation can be elected.
pub(crate) fn instruments(
    declarations: &Declarations<'_>,
) -> impl Iterator<Item = &'static &'static str> {
    let is_kernel = declarations.has_capability(spirv::Capability::Kernel);
    let is_old = declarations.module.header().version < 0x0001_0300;
    INSTRUMENTS
        .iter()
        .filter(move |flag| !(is_kernel || is_old && flag.contains("skew")))
}

/// A module and its name.
pub(crate) struct Input {
    pub path: String,
    pub bytes: Vec<u8>,
}

/// The kernels of `fixtures/kernels`.
pub(crate) fn kernels() -> Vec<Input> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/kernels");
    let mut files: Vec<PathBuf> = Vec::new();
    for kernel in std::fs::read_dir(folder).unwrap() {
        let path = kernel.unwrap().path();
        if path.is_dir() {
            files.extend(
                std::fs::read_dir(path)
                    .unwrap()
                    .map(|file| file.unwrap().path()),
            );
        }
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "spv"));
    files.sort();
    assert!(files.len() >= 15, "{} kernels", files.len());
    let read = |path: PathBuf| Input {
        bytes: std::fs::read(&path).unwrap(),
        path: path.display().to_string(),
    };
    files.into_iter().map(read).collect()
}

/// The kernels and the modules of the corpus.
pub(crate) fn all() -> Vec<Input> {
    let mut all = kernels();
    all.extend(corpus::modules().unwrap().into_iter().map(|file| Input {
        path: file.path,
        bytes: file.bytes,
    }));
    assert!(all.len() > 1000);
    all
}

/// Declarations, which must be clean.
pub(crate) fn declared<'m>(module: &'m Module<'m>, path: &str) -> Declarations<'m> {
    let mut diagnostics = Diagnostics::new();
    let declarations = Declarations::new(module, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{path}: {diagnostics}");
    declarations
}

/// Runs the pass `flag` (`name` or `name=value`); the module after it and whether it has changed.
/// What must hold for every pass is looked at here.
pub(crate) fn run(flag: &str, module: &Module<'_>, path: &str) -> (Module<'static>, bool) {
    let declarations = declared(module, path);
    let context = format!("{flag} on {path}");
    let Some(edited) = once(flag, &declarations, &context) else {
        return (module.clone().into_owned(), false);
    };
    assert_ne!(
        edited.module.words(),
        module.words(),
        "{context}: changed, it says"
    );
    assert_eq!(
        edited.module.words(),
        Module::parse(&edited.module.to_bytes()).unwrap().words()
    );
    let after = declared(&edited.module, &context);
    assert!(
        once(flag, &after, &context).is_none(),
        "{context}: a second run finds something"
    );
    for (new, old) in edited.source_map.iter() {
        assert!(
            edited.module.at(new).is_some() && module.at(old).is_some(),
            "{context}: {new} from {old}"
        );
    }
    (edited.module, true)
}

/// The pass and its options that a flag without dashes asks for.
pub(crate) fn step(flag: &str) -> Step {
    flag.parse().unwrap()
}

/// Runs one pass.
pub(crate) fn attempt(
    flag: &str,
    declarations: &Declarations<'_>,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let steps = &[step(flag)];
    let rewritten = pipeline::rewrite(declarations, steps, Settings::default(), &mut |_, _| ())?;
    Ok(rewritten.edited)
}

pub(crate) fn once(
    flag: &str,
    declarations: &Declarations<'_>,
    context: &str,
) -> Option<RewrittenModule> {
    attempt(flag, declarations).unwrap_or_else(|problems| panic!("{context}: {problems}"))
}

/// How many instructions of `opcode` there are.
pub(crate) fn count(module: &Module<'_>, opcode: u16) -> usize {
    module
        .instructions()
        .filter(|inst| inst.opcode() == opcode)
        .count()
}
