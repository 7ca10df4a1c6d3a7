//! Every rule has a code of its own, and a text that begins with it.

use super::{REQUIRED, RULES, find};
use crate::validate::{Check, flow};
use std::collections::BTreeSet;

#[test]
fn every_rule_has_its_own_code_and_is_explained() {
    let all: Vec<_> = RULES.iter().chain(flow::rules::RULES).collect();
    let codes: BTreeSet<u16> = all.iter().map(|rule| rule.code.number()).collect();
    assert_eq!(codes.len(), all.len());
    for rule in all {
        let title = format!("# {}: {}\n\nSource: ", rule.code, rule.code.summary());
        assert!(rule.text.starts_with(&title), "{}: {title}", rule.code);
        let source = rule.text.lines().nth(2).unwrap();
        assert!(
            rule.vuid.is_none_or(|vuid| source.contains(vuid)),
            "{}: {source}",
            rule.code
        );
        assert_eq!(find(rule.code).unwrap().code, rule.code);
    }
}

#[test]
fn required_rules_look_at_modules() {
    for rule in REQUIRED {
        assert!(matches!(rule.check, Check::Module(_)), "{}", rule.code);
        assert!(RULES.iter().any(|other| other.code == rule.code));
    }
}
