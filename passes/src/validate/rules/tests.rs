//! Every rule has a code of its own, and examples in its words.

use super::{RULES, find};
use std::collections::BTreeSet;

#[test]
fn every_rule_has_its_own_code_and_is_documented() {
    let codes: BTreeSet<u16> = RULES.iter().map(|rule| rule.code.number()).collect();
    assert_eq!(codes.len(), RULES.len());
    for rule in RULES {
        assert!(
            rule.documentation.ends_with('.') && !rule.bad.is_empty() && !rule.good.is_empty(),
            "{}",
            rule.code
        );
        assert_eq!(find(rule.code).unwrap().code, rule.code);
        assert!(rule.to_string().contains("Wrong:"));
    }
}
