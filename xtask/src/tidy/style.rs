//! Words of the pages: one word for one thing, no figures of speech, one spelling. Misspellings are
//! found by `cargo xtask spelling`.

use super::links::{plain, prose};
use crate::shell;

/// What pages do not say, and what they say instead.
const WORDS: &[(&str, &str)] = &[
    // One word for one thing.
    ("for a turn", "for one iteration"),
    ("a turn of the loop", "an iteration of the loop"),
    ("mended", "fixed"),
    ("dear", "expensive"),
    // No figures of speech.
    ("abroad", "on other machines"),
    ("team", "workgroup"),
    ("news", "what others wrote"),
    ("door", "interface"),
    ("doors", "interfaces"),
    // Negation by "not", "no", "cannot"; the subject first.
    ("is no SPIR-V", "is not SPIR-V"),
    ("tells nobody anything", "publishes nothing"),
    ("who only", "that only"),
    ("whoever", "what, or who does something"),
    ("nobody asks", "is not asked for"),
    ("has not the", "does not have the"),
    ("says what it brought", "shows the effect"),
    // One spelling.
    ("behavior", "behaviour"),
    ("colors", "colours"),
    ("optimize", "optimise"),
    ("optimized", "optimised"),
    ("optimizer", "optimiser"),
    ("optimization", "optimisation"),
    ("neighbor", "neighbour"),
    ("neighbors", "neighbours"),
    ("licensed under", "available under"),
];

/// The most words of a first line behind a heading of a page, which says what a reader can do then.
const LONGEST_OPENING: usize = 45;

/// The pages that open so.
const GUIDE: &str = "docs/guide/";

pub(super) fn check(files: &[String], problems: &mut Vec<String>) {
    // The corpus and the licences are the words of others.
    let ours = |file: &&String| file.ends_with(".md") && !file.starts_with("fixtures/corpus/");
    for file in files.iter().filter(ours) {
        // Links::check says what cannot be read.
        let text = std::fs::read_to_string(shell::root().join(file)).unwrap_or_default();
        judge(file, &text, problems);
    }
}

fn judge(file: &str, text: &str, problems: &mut Vec<String>) {
    for (number, line) in prose(text) {
        let line = plain(line).to_lowercase();
        for (word, instead) in WORDS {
            if has(&line, &word.to_lowercase()) {
                problems.push(format!("{file}:{number}: `{word}`: write `{instead}`"));
            }
        }
        if line.contains("  ") && !line.starts_with([' ', '|']) {
            problems.push(format!("{file}:{number}: two spaces"));
        }
    }
    let opening = text.lines().skip(1).find(|line| !line.is_empty());
    let words = opening.map_or(0, |line| line.split_whitespace().count());
    if file.starts_with(GUIDE) && words > LONGEST_OPENING {
        problems.push(format!(
            "{file}: a page opens with what its reader can do after it"
        ));
    }
}

/// Whether `word` stands in `line` by itself.
pub(super) fn has(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        edge(line[..at].chars().next_back()) && edge(line[at + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> usize {
        let mut found = Vec::new();
        judge("docs/x.md", text, &mut found);
        found.len()
    }

    #[test]
    fn words_stand_by_themselves_and_outside_of_code() {
        for (text, wrong) in [
            ("The team waits.", 1),
            ("steam, `team`", 0),
            ("```\nteam\n```", 0),
            ("Whoever waits", 1),
            ("one  two", 1),
            ("| one  | two |", 0),
            ("the windows of doorways", 0),
        ] {
            assert_eq!(problems(text), wrong, "{text}");
        }
    }
}
