//! `splitbar explain CODE`.

use super::explanations::{self, Explanation};
use super::write;
use splitbar::diagnostic::{Code, Kind};
use splitbar::exit;
use splitbar::simulate::machine::FindingKind;

/// Prints what a code means.
pub(super) fn run(code: &str) -> u8 {
    match find(code) {
        Some(code) => write::to_stdout(explanation(code).as_bytes()),
        None => match finding(code) {
            Some(text) => write::to_stdout(text.as_bytes()),
            None => {
                write::error(&format!(
                    "there is no diagnostic code {code:?}; they look like SB0205"
                ));
                exit::USAGE
            }
        },
    }
}

fn number(text: &str) -> Option<u16> {
    let digits = text
        .strip_prefix("SB")
        .or_else(|| text.strip_prefix("sb"))
        .unwrap_or(text);
    digits.parse().ok()
}

/// What a finding of the simulator means.
fn finding(text: &str) -> Option<String> {
    let number = number(text)?;
    let kind = FindingKind::ALL
        .iter()
        .find(|kind| kind.number() == number)?;
    let class = format!("a finding of `splitbar sim` (exit code {})", exit::INVALID);
    Some(page(
        &kind.to_string(),
        kind.summary(),
        explanations::of_finding(*kind),
        &class,
    ))
}

/// The summary of the code `text` of a diagnostic or finding, and what the command prints about it,
/// in Markdown.
pub(super) fn texts(text: &str) -> Option<(&'static str, String)> {
    if let Some(code) = find(text) {
        return Some((code.summary(), explanation(code)));
    }
    let number = number(text)?;
    let mut kinds = FindingKind::ALL.iter();
    let kind = kinds.find(|kind| kind.number() == number)?;
    Some((kind.summary(), finding(text)?))
}

/// The code that `text` names: `SB0205`, `sb205` or `205`.
pub(super) fn find(text: &str) -> Option<Code> {
    let number = number(text)?;
    Code::ALL
        .iter()
        .copied()
        .find(|code| code.number() == number)
}

fn explanation(code: Code) -> String {
    let (kind, exit) = match code.kind() {
        Kind::Invalid => (
            "invalid: the module breaks a rule of SPIR-V or of its client API",
            exit::INVALID,
        ),
        Kind::Unsupported => (
            "unsupported: the module is right, this target or this build cannot do it",
            exit::UNSUPPORTED,
        ),
        Kind::Limit => ("limit: a documented limit is exceeded", exit::UNSUPPORTED),
        Kind::Internal => ("internal: a bug in splitbar", exit::BUG),
    };
    match splitbar_passes::validate::rules::find(code) {
        Some(rule) => format!("{}\n{kind} (exit code {exit})\n", rule.text),
        None => page(
            &code.to_string(),
            code.summary(),
            explanations::of_code(code),
            &format!("{kind} (exit code {exit})"),
        ),
    }
}

/// Title, reason, what to do, and the class that the code belongs to.
fn page(code: &str, summary: &str, text: Option<Explanation>, class: &str) -> String {
    let mut page = format!("# {code}: {summary}\n");
    if let Some(Explanation { because, help }) = text {
        for paragraph in [because, help] {
            page.push('\n');
            page.push_str(&wrapped(paragraph));
        }
    }
    format!("{page}\n{class}\n")
}

/// Lines of at most 100 characters.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > 100 {
            lines.push('\n');
            width = 0;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += length;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_come_with_their_documentation() {
        let text = explanation(Code::ArriveOrder);
        assert!(
            text.contains("13556") && text.contains("```spirv bad"),
            "{text}"
        );
    }

    #[test]
    fn findings_have_numbers_of_their_own() {
        assert!(finding("SB3003").is_some_and(|text| text.contains("two waves")));
        for kind in FindingKind::ALL {
            assert!(Code::ALL.iter().all(|code| code.number() != kind.number()));
        }
    }

    #[test]
    fn codes_are_found_however_they_are_written() {
        for text in ["SB0205", "sb205", "205"] {
            assert_eq!(find(text), Some(Code::WaitWithoutArrive));
        }
        for text in ["", "SB", "SB9999", "x", "-1"] {
            assert_eq!(find(text), None);
        }
    }
}
