//! The English of programs: constructions that no help, message or first line of a doc comment has.
//! Pages have their own list in [`super::style`].

use super::style::has;
use crate::shell;

/// Constructions of help and messages, with plainer ones.
const TEXTS: &[(&str, &str)] = &[
    ("nobody", "no invocation, no wave, not"),
    ("whoever", "a wave that, a caller that"),
    ("in front of", "before"),
    ("behind", "after"),
    ("asks for", "requires, requests"),
    ("ask for", "require, request"),
    ("was not said", "is missing"),
    ("goes by", "uses"),
];

/// Words that hide the subject of a doc comment when they begin it.
const HEADLESS: &[&str] = &["What", "Whether", "How", "Where", "Who", "Which", "That"];

/// The folders whose help and messages are checked.
const SPEAKING: &[&str] = &["passes/src/", "lowering/"];

/// Texts of pages, which have their own rules.
const PAGES: &[&str] = &["lowering/plan/src/faults/", "passes/src/enumerants/page.rs"];

/// Fewer words than this are a name or a label, not a sentence.
const SENTENCE: usize = 3;

/// The folders whose public items are checked.
const DOCUMENTED: &[&str] = &[
    "passes/src/",
    "lowering/audit/src/",
    "lowering/driver/src/",
    "lowering/layout/src/",
    "lowering/plan/src/",
    "lowering/sim/src/",
    "lowering/target/src/",
];

pub(super) fn check(files: &[String], problems: &mut Vec<String>) {
    let is_of =
        |file: &str, folders: &[&str]| folders.iter().any(|folder| file.starts_with(folder));
    for file in files.iter().filter(|file| is_code(file)) {
        let speaks = is_of(file, SPEAKING) && !is_of(file, PAGES);
        let documents = is_of(file, DOCUMENTED);
        if !speaks && !documents {
            continue;
        }
        // Links::check reports files that cannot be read.
        let text = std::fs::read_to_string(shell::root().join(file)).unwrap_or_default();
        let code = without_tests(&text);
        if speaks {
            judge_texts(file, code, problems);
        }
        if documents {
            judge_docs(file, code, problems);
        }
    }
}

/// Returns true for a source file that is not a test.
fn is_code(file: &str) -> bool {
    let is_test = file.ends_with("tests.rs") || file.split('/').any(|part| part == "tests");
    file.ends_with(".rs") && !is_test
}

/// The part of a source file before its module of tests.
fn without_tests(text: &str) -> &str {
    let end = text.find("#[cfg(test)]\n").filter(|at| {
        let rest = text.get(*at..).unwrap_or_default().lines().skip(1);
        let item = rest.into_iter().find(|line| !line.starts_with("#["));
        item.is_some_and(|item| item.starts_with("mod tests {"))
    });
    end.map_or(text, |end| &text[..end])
}

fn judge_texts(file: &str, code: &str, problems: &mut Vec<String>) {
    for (number, literal) in literals(code) {
        let lower = without_arguments(&literal).to_lowercase();
        if lower.split_whitespace().count() < SENTENCE {
            continue;
        }
        for (word, instead) in TEXTS {
            if has(&lower, word) {
                problems.push(format!(
                    "{file}:{number}: `{word}` in a text: write `{instead}`"
                ));
            }
        }
    }
}

/// A format string without its arguments.
fn without_arguments(literal: &str) -> String {
    let mut depth = 0usize;
    let mut text = String::new();
    for c in literal.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => text.push(c),
            _ => {}
        }
    }
    text
}

fn judge_docs(file: &str, code: &str, problems: &mut Vec<String>) {
    let lines: Vec<&str> = code.lines().map(str::trim_start).collect();
    let is_doc = |line: &str| line.starts_with("///") || line.starts_with("//!");
    let mut before = "";
    for (index, line) in lines.iter().copied().enumerate() {
        let is_first = is_doc(line) && !is_doc(before);
        before = line;
        let first = line.get(3..).unwrap_or_default();
        let word = first.split_whitespace().next().unwrap_or_default();
        if !is_first || !HEADLESS.contains(&word) {
            continue;
        }
        let rest = lines.iter().skip(index);
        let item = rest
            .copied()
            .find(|line| !is_doc(line) && !line.starts_with("#["));
        let is_public = item.is_some_and(|item| item.starts_with("pub "));
        if line.starts_with("//!") || is_public {
            let number = index + 1;
            problems.push(format!(
                "{file}:{number}: a doc comment begins with `{word}`: begin with a verb or a noun"
            ));
        }
    }
}

/// The string literals of Rust code, each with the number of the line where it begins. Raw strings
/// are data here, not texts.
fn literals(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut rest = code.char_indices().peekable();
    let mut number = 1;
    let mut before = ' ';
    while let Some((at, c)) = rest.next() {
        let tail = code.get(at..).unwrap_or_default();
        if c == '\n' {
            number += 1;
        } else if tail.starts_with("//") {
            while rest.peek().is_some_and(|(_, c)| *c != '\n') {
                rest.next();
            }
        } else if tail.starts_with("'\"'") || tail.starts_with("'\\\"'") {
            // A character: skip to its end.
            let width = if tail.starts_with("'\"'") { 2 } else { 3 };
            rest.by_ref().take(width).for_each(drop);
        } else if c == '"' {
            let is_raw = matches!(before, 'r' | '#');
            let begin = number;
            let mut literal = String::new();
            while let Some((_, c)) = rest.next() {
                match c {
                    '"' => break,
                    '\\' if !is_raw => {
                        literal.push(' ');
                        if rest.next().is_some_and(|(_, c)| c == '\n') {
                            number += 1;
                        }
                    }
                    '\n' => {
                        number += 1;
                        literal.push(' ');
                    }
                    _ => literal.push(c),
                }
            }
            if !is_raw {
                found.push((begin, literal));
            }
        }
        before = c;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_programs_are_plain() {
        for (code, wrong) in [
            ("error(\"nobody waits for it\")", 1),
            ("error(\"the operands behind the first\")", 1),
            ("error(\"the \\\n    goes by a launch\")", 1),
            ("error(\"it goes by a launch\")", 1),
            ("let c = '\"'; // nobody says \"behind it\"", 0),
            ("name(\"behind\")", 0),
            ("line(\"    behind: {step}\")", 0),
            ("code(\"one two three {behind}\")", 0),
            ("error(\"it is after the wait\")", 0),
            ("error(r\"nobody here\")", 0),
        ] {
            let mut found = Vec::new();
            judge_texts("passes/src/x.rs", code, &mut found);
            assert_eq!(found.len(), wrong, "{code}: {found:?}");
        }
    }

    #[test]
    fn doc_comments_of_public_items_have_a_subject() {
        for (code, wrong) in [
            ("/// What it is.\npub fn x() {}", 1),
            ("/// The kind.\n/// What it is.\npub fn x() {}", 0),
            ("/// Whether it ends.\n#[must_use]\npub fn x() {}", 1),
            ("/// Whether it ends.\nfn x() {}", 0),
            ("//! How it works.\n", 1),
            ("/// Whatever it is.\npub fn x() {}", 0),
        ] {
            let mut found = Vec::new();
            judge_docs("passes/src/x.rs", code, &mut found);
            assert_eq!(found.len(), wrong, "{code}: {found:?}");
        }
    }

    #[test]
    fn tests_are_not_judged() {
        let code = "fn x() {}\n#[cfg(test)]\n#[allow(clippy::panic)]\nmod tests {\n}";
        assert_eq!(without_tests(code), "fn x() {}\n");
        assert!(is_code("passes/src/x.rs") && !is_code("passes/src/x/tests.rs"));
    }
}
