//! The modules of `fixtures/invalid`, what they expect, and what the check says of them.

use splitbar_passes::diagnostic::{Diagnostics, Severity};
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
use splitbar_passes::validate::{Environment, Settings, validate};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Line, severity, code.
pub(crate) type Finding = (u32, Severity, String);

/// All modules.
pub(crate) fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/invalid");
    let mut files: Vec<PathBuf> = std::fs::read_dir(root)
        .unwrap()
        .map(|folder| folder.unwrap().path())
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|file| {
            file.extension()
                .is_some_and(|extension| extension == "spvasm")
        })
        .collect();
    files.sort();
    files
}

/// What the comments in front of the first instruction say about `key`.
pub(crate) fn header<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines()
        .take_while(|line| line.starts_with(';'))
        .find_map(|line| {
            line.trim_start_matches(';')
                .trim()
                .strip_prefix(key)?
                .strip_prefix(':')
                .map(str::trim)
        })
}

/// What the head of a file says of how to check it.
pub(crate) fn settings(text: &str) -> Settings {
    let environment: Environment = header(text, "env").unwrap().parse().unwrap();
    let mut settings = Settings::new(environment);
    if let Some((name, value)) = header(text, "limit").and_then(|limit| limit.split_once('=')) {
        settings
            .limits
            .insert(name.to_owned(), value.parse().unwrap());
    }
    settings.reserved_shared_bytes =
        header(text, "reserved").map_or(0, |bytes| bytes.parse().unwrap());
    settings
}

/// What the lines of a file expect.
pub(crate) fn expected(text: &str) -> BTreeSet<Finding> {
    let mut all = BTreeSet::new();
    for (number, line) in (1..).zip(text.lines()) {
        for comment in line.split(';').skip(1) {
            for (word, severity) in [
                ("error:", Severity::Error),
                ("warning:", Severity::Warning),
                ("note:", Severity::Note),
            ] {
                if let Some(codes) = comment.trim().strip_prefix(word) {
                    all.extend(
                        codes
                            .split_whitespace()
                            .map(|code| (number, severity, code.to_owned())),
                    );
                }
            }
        }
    }
    all
}

/// What the check says of a module whose declarations are right.
pub(crate) fn validated(module: &Module<'_>, settings: &Settings) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let declarations = Declarations::new(module, &mut diagnostics);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics}");
    validate(&declarations, &constants, settings, &mut diagnostics);
    diagnostics
}
