//! Every module of `fixtures/invalid` is checked against the expectations on its lines, and compared with `spirv-val` where that is installed.
//!
//! `; error: SB1104 SB1112` or `; warning: ...` at the end of a line is what is expected at its instruction; a line without one expects nothing. The head of a
//! file says for whom it is: `; env: vulkan1.3`, `; limit: NAME=N`, `; reserved: BYTES`.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod agreement;
#[path = "../corpus/mod.rs"]
mod corpus;
mod examples;

use splitbar_passes::diagnostic::{Diagnostics, Severity};
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues, assemble};
use splitbar_passes::validate::rules::RULES;
use splitbar_passes::validate::{Environment, Settings, validate};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Line, severity, code.
type Finding = (u32, Severity, String);

fn fixtures() -> Vec<PathBuf> {
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
fn header<'t>(text: &'t str, key: &str) -> Option<&'t str> {
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

fn settings(text: &str) -> Settings {
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

fn expected(text: &str) -> BTreeSet<Finding> {
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

fn found(text: &str) -> (BTreeSet<Finding>, Diagnostics) {
    let assembled = assemble(text).unwrap_or_else(|problems| panic!("{problems}"));
    let module = assembled.module().unwrap();
    let diagnostics = validated(&module, &settings(text));
    let place = |word: Option<u32>| assembled.lines[&word.unwrap()];
    (
        diagnostics
            .iter()
            .map(|d| (place(d.location.word), d.severity, d.code.to_string()))
            .collect(),
        diagnostics,
    )
}

#[test]
fn every_fixture_has_the_diagnostics_on_its_lines() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for path in fixtures() {
        let text = std::fs::read_to_string(&path).unwrap();
        let (found, _) = found(&text);
        let expected = expected(&text);
        count += 1;
        for finding in found.difference(&expected) {
            wrong.push(format!("{}: not expected: {finding:?}", path.display()));
        }
        for finding in expected.difference(&found) {
            wrong.push(format!("{}: missing: {finding:?}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 150, "only {count} fixtures");
}

#[test]
fn every_rule_has_a_fixture_that_breaks_it() {
    let seen: BTreeSet<String> = fixtures()
        .iter()
        .flat_map(|path| expected(&std::fs::read_to_string(path).unwrap()))
        .map(|(_, _, code)| code)
        .collect();
    let missing: Vec<String> = RULES
        .iter()
        .map(|rule| rule.code.to_string())
        .filter(|code| !seen.contains(code))
        .collect();
    assert!(missing.is_empty(), "no fixture breaks {missing:?}");
}

#[test]
fn problems_are_sorted_located_and_single() {
    for path in fixtures() {
        let (_, problems) = found(&std::fs::read_to_string(&path).unwrap());
        assert_eq!(problems, problems.clone().sorted(), "{}", path.display());
        for problem in problems.iter() {
            assert!(
                problem.location.instruction.is_some(),
                "{}: {problem:?}",
                path.display()
            );
            assert!(problem.vuid.is_none_or(|vuid| vuid.starts_with("VUID-")));
        }
    }
}

/// Codes of the errors on the corpus, and how many modules have each. The modules are real: each number is understood, in docs/validation.md.
#[test]
fn the_corpus_has_the_errors_that_are_understood() {
    let mut errors = std::collections::BTreeMap::new();
    for file in corpus::modules().unwrap() {
        let module = splitbar_passes::module::Module::parse(&file.bytes).unwrap();
        let mut diagnostics = Diagnostics::new();
        let declarations = Declarations::of(&module, &mut diagnostics);
        let constants =
            Constants::evaluate(&declarations, &SpecValues::default(), &mut diagnostics);
        validate(
            &declarations,
            &constants,
            &Settings::new(Environment::of(&declarations)),
            &mut diagnostics,
        );
        let codes: BTreeSet<String> = diagnostics
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .map(|d| d.code.to_string())
            .collect();
        for code in codes {
            *errors.entry(code).or_insert(0) += 1;
        }
    }
    assert_eq!(
        errors,
        std::collections::BTreeMap::from([("SB1113".to_owned(), 32)])
    );
}

/// The name of the environment for `--target-env`; versions of SPIRV-Tools know no OpenCL 3.0.
fn peer_environment(text: &str) -> String {
    match header(text, "env").unwrap() {
        "universal" => format!("spv{}", header(text, "Version").unwrap()),
        "opencl3.0" => "opencl2.2".to_owned(),
        other => other.to_owned(),
    }
}

/// The spirv-val that is compared with: the one that `SPLITBAR_SPIRV_VAL` names, or the one on the path.
fn peer() -> String {
    std::env::var("SPLITBAR_SPIRV_VAL").unwrap_or_else(|_| "spirv-val".to_owned())
}

/// The year of the spirv-val `peer`; none when there is none.
fn peer_year(peer: &str) -> Option<u32> {
    let output = std::process::Command::new(peer)
        .arg("--version")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_once(" v")?.1.get(..4)?.parse().ok()
}

/// What the check says of a module whose declarations are right.
fn validated(module: &Module<'_>, settings: &Settings) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let declarations = Declarations::of(module, &mut diagnostics);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics}");
    validate(&declarations, &constants, settings, &mut diagnostics);
    diagnostics
}

/// Verdicts on modules without split barriers, which versions before 2026 do not check at all.
#[test]
fn spirv_val_agrees_where_it_knows_the_rule() {
    let peer = peer();
    if peer_year(&peer).is_none_or(|year| year < 2025) {
        eprintln!("skipped: no spirv-val of 2025 or later");
        return;
    }
    let file = std::env::temp_dir().join(format!("splitbar-validate-{}.spv", std::process::id()));
    let mut wrong = Vec::new();
    for path in fixtures() {
        let text = std::fs::read_to_string(&path).unwrap();
        if text.contains("OpCapability SplitBarrier") || text.contains("OpControlBarrierArrive") {
            continue;
        }
        let module = assemble(&text).unwrap().module().unwrap();
        std::fs::write(&file, module.to_bytes()).unwrap();
        let output = std::process::Command::new(&peer)
            .arg("--target-env")
            .arg(peer_environment(&text))
            .arg(&file)
            .output()
            .unwrap();
        let ours = expected(&text)
            .iter()
            .any(|(_, severity, _)| *severity == Severity::Error);
        let silent = header(&text, "spirv-val").is_some_and(|note| note.starts_with("accepts"));
        if output.status.success() == (ours && !silent) {
            wrong.push(format!(
                "{}: {}",
                path.display(),
                String::from_utf8_lossy(&output.stderr)
            ));
        }
    }
    std::fs::remove_file(&file).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
