//! Every module of `fixtures/invalid` is checked against the expectations on its lines;
//! `tests/peers` compares them with spirv-val.
//!
//! `; error: SB1104 SB1112` or `; warning: ...` at the end of a line is what is expected at its
//! instruction; a line without one expects nothing. The head of a file says for whom it is:
//! `; env: vulkan1.3`, `; limit: NAME=N`, `; reserved: BYTES`.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../corpus/mod.rs"]
mod corpus;
mod examples;
mod fixes;
mod fixtures;

use fixtures::{Finding, expected, settings, validated};
use splitbar_passes::diagnostic::{Diagnostics, Severity, WordOffset};
use splitbar_passes::module::{Constants, Declarations, SpecValues, assemble};
use splitbar_passes::validate::rules::RULES;
use splitbar_passes::validate::{Environment, Settings, validate};
use std::collections::BTreeSet;

fn found(text: &str) -> (BTreeSet<Finding>, Diagnostics) {
    let assembled = assemble(text).unwrap_or_else(|problems| panic!("{problems}"));
    let module = assembled.module().unwrap();
    let diagnostics = validated(&module, &settings(text));
    let place = |word: Option<WordOffset>| assembled.lines[&word.unwrap()];
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
    for path in fixtures::files() {
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
fn every_error_and_warning_has_help() {
    let mut without = BTreeSet::new();
    for path in fixtures::files() {
        let (_, problems) = found(&std::fs::read_to_string(&path).unwrap());
        for problem in problems.iter() {
            let is_advised = problem.help_text().is_some_and(|help| !help.is_empty());
            if problem.severity != Severity::Note && !is_advised {
                without.insert(problem.to_string());
            }
        }
    }
    assert!(without.is_empty(), "without help: {without:#?}");
}

#[test]
fn every_rule_has_a_fixture_that_breaks_it() {
    let seen: BTreeSet<String> = fixtures::files()
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
    for path in fixtures::files() {
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

/// Codes of the errors on the corpus, and how many modules have each. The modules are real: each
/// number is understood, in docs/validation.md.
#[test]
fn the_corpus_has_the_errors_that_are_understood() {
    let mut errors = std::collections::BTreeMap::new();
    for file in corpus::modules().unwrap() {
        let module = splitbar_passes::module::Module::parse(&file.bytes).unwrap();
        let mut diagnostics = Diagnostics::new();
        let declarations = Declarations::new(&module, &mut diagnostics);
        let constants =
            Constants::evaluate(&declarations, &SpecValues::default(), &mut diagnostics);
        validate(
            &declarations,
            &constants,
            &Settings::new(Environment::from_declarations(&declarations)),
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
