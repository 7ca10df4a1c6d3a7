//! `splitbar explain CODE`.

use super::explanations::{self, Explanation};
use super::write;
use splitbar::diagnostic::{Code, Kind};
use splitbar::exit;
use splitbar::simulate::machine::FindingKind;
use splitbar_passes::validate::rules;

/// Prints the explanation of a code.
pub(super) fn run(code: &str) -> u8 {
    match find(code) {
        Some(code) => write::to_stdout(explanation(code).as_bytes()),
        None => match finding(code) {
            Some(text) => write::to_stdout(text.as_bytes()),
            None => {
                write::error(&format!(
                    "{code:?} is not a diagnostic code; a code has the form SB0205"
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

/// The explanation of a finding of the simulator.
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

/// The summary of the code `text` of a diagnostic or finding, and its explanation in Markdown.
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
    let class = class(code);
    match rules::find(code) {
        Some(rule) => format!("{}\n{class}\n", with_captions(rule.text)),
        None => page(
            &code.to_string(),
            code.summary(),
            explanations::of_code(code),
            &class,
        ),
    }
}

/// The class of a code, and the exit code of a command that reports it.
fn class(code: Code) -> String {
    if rules::LINTS.contains(&code) {
        return "a warning or a note: the module is valid (exit code 0)".to_owned();
    }
    let (kind, exit) = match code.kind() {
        Kind::Invalid if code.is_about_request() => {
            ("usage: the command line is wrong", exit::USAGE)
        }
        Kind::Invalid => (
            "invalid: the module breaks a rule of SPIR-V or of its client API",
            exit::INVALID,
        ),
        Kind::Unsupported => (
            "unsupported: the module is valid, but this target or this build does not support it",
            exit::UNSUPPORTED,
        ),
        Kind::Limit => ("limit: a documented limit is exceeded", exit::UNSUPPORTED),
        Kind::Internal => ("internal: a bug in splitbar", exit::BUG),
    };
    format!("{kind} (exit code {exit})")
}

/// The text of a rule with a caption for each example in place of the words after `spirv`, which
/// are for the tests.
fn with_captions(text: &str) -> String {
    let mut shown = String::new();
    for line in text.lines() {
        match line.strip_prefix("```spirv ") {
            Some(words) => {
                shown.push_str(&caption(words));
                shown.push_str("\n\n```spirv\n");
            }
            None => {
                shown.push_str(line);
                shown.push('\n');
            }
        }
    }
    shown
}

/// The line before an example that the tests know by `words`: whether it is reported, and in which
/// environment, execution model, version or limit.
fn caption(words: &str) -> String {
    let mut settings = Vec::new();
    let mut is_reported = false;
    for word in words.split_whitespace() {
        match word {
            "bad" => is_reported = true,
            "good" | "bare" => {}
            _ if find(word).is_some() => {} // another code that the example gets
            _ if word.starts_with(|first: char| first.is_ascii_digit()) => {
                settings.push(format!("SPIR-V {word}"));
            }
            _ => settings.push(word.to_owned()),
        }
    }
    let reported = if is_reported {
        "Reported"
    } else {
        "Not reported"
    };
    if settings.is_empty() {
        format!("{reported}:")
    } else {
        format!("{reported} ({}):", settings.join(", "))
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
            text.contains("13556") && text.contains("Reported:\n\n```spirv\n"),
            "{text}"
        );
    }

    #[test]
    fn examples_have_captions_without_words_of_tests() {
        for (words, shown) in [
            ("bad SB2010", "Reported:"),
            ("good bare vulkan1.3", "Not reported (vulkan1.3):"),
            ("bad Fragment 1.2", "Reported (Fragment, SPIR-V 1.2):"),
        ] {
            assert_eq!(caption(words), shown);
        }
        for code in Code::ALL {
            let text = explanation(*code);
            assert!(!text.contains("```spirv "), "{code}: {text}");
        }
    }

    #[test]
    fn the_class_names_the_exit_code() {
        for (code, exit) in [
            (Code::EmptyWindow, "(exit code 0)"),
            (Code::ForeignSplitExtension, "(exit code 0)"),
            (Code::UnarrivedWait, "(exit code 1)"),
            (Code::WrongUsage, "(exit code 2)"),
            (Code::UnsupportedType, "(exit code 3)"),
        ] {
            assert!(class(code).ends_with(exit), "{code}: {}", class(code));
        }
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
