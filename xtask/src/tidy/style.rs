//! Words and sentences of the pages: one word for one thing, no figures of speech, one spelling, no
//! constructions that readers stumble over, short sentences. Misspellings are found by `cargo xtask
//! spelling`.

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

/// Constructions that no page needs, and what pages write instead.
const CONSTRUCTIONS: &[(&str, &str)] = &[
    // A subject that acts.
    ("nobody", "no invocation, or the passive"),
    ("somebody", "who it is"),
    ("anybody", "who it is"),
    ("strangers", "untrusted users"),
    // The subject first.
    ("shown is", "the table shows"),
    ("asked for is", "the requirement is"),
    // Everyday verbs.
    ("ask for", "require"),
    ("asks for", "requires"),
    ("asked for", "required"),
    ("goes on", "continues"),
    ("go on", "continue"),
    ("goes by", "uses"),
    ("go by", "use"),
    ("comes to", "reaches"),
    ("come to", "reach"),
    ("is told", "gets"),
    ("are told", "get"),
    ("puts to", "checks with"),
    ("becomes of", "becomes"),
    ("became of", "became"),
    // Prepositions and adverbs.
    ("in front of", "before"),
    ("behind", "after"),
    ("beside", "next to"),
    ("for ever", "forever"),
    ("anew", "again"),
    ("all the same", "nevertheless"),
    ("in silence", "without a diagnostic"),
    ("surely", "certainly"),
];

/// Texts whose constructions are not checked: the help of options, and the texts of rules.
const UNCHECKED: [&str; 2] = ["docs/options.md", "passes/src/validate/rules/explain/"];

/// The most words that the sentences of a page have in the mean, and the number of sentences from
/// which on that counts.
const MEAN_WORDS: usize = 20;
const ENOUGH_SENTENCES: usize = 8;

/// The most words of the first line of a page, which tells what a reader can do after it.
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
    let is_checked = !UNCHECKED.iter().any(|text| file.starts_with(text));
    for (number, line) in prose(text) {
        let line = plain(line).to_lowercase();
        let constructions = if is_checked { CONSTRUCTIONS } else { &[] };
        for (word, instead) in WORDS.iter().chain(constructions) {
            if has(&line, &word.to_lowercase()) {
                problems.push(format!("{file}:{number}: `{word}`: write `{instead}`"));
            }
        }
        if line.contains("  ") && !line.starts_with([' ', '|']) {
            problems.push(format!("{file}:{number}: two spaces"));
        }
    }
    let sentences = sentences(text);
    let words: usize = sentences.iter().sum();
    let is_long = sentences.len() >= ENOUGH_SENTENCES && words > MEAN_WORDS * sentences.len();
    if is_checked && is_long {
        problems.push(format!(
            "{file}: sentences have more than {MEAN_WORDS} words in the mean"
        ));
    }
    let opening = text.lines().skip(1).find(|line| !line.is_empty());
    let words = opening.map_or(0, |line| line.split_whitespace().count());
    if file.starts_with(GUIDE) && words > LONGEST_OPENING {
        problems.push(format!(
            "{file}: a page opens with what its reader can do after it"
        ));
    }
}

/// The numbers of words of the sentences of a page: those of paragraphs and list items. Headings,
/// tables and quotations have none, and a text in back quotes is one word.
fn sentences(text: &str) -> Vec<usize> {
    let mut counts = Vec::new();
    let mut open = 0;
    let mut last = 0;
    for (number, line) in prose(text) {
        let line = plain(line).replace("````", "code").replace("``", "code");
        let line = line.trim_start();
        let is_apart = line.is_empty() || line.starts_with(['#', '|', '>', '!', '<']);
        let is_item = line.starts_with("- ")
            || line
                .split_once(". ")
                .is_some_and(|(item, _)| item.parse::<u32>().is_ok());
        if open > 0 && (is_apart || is_item || number != last + 1) {
            counts.push(open);
            open = 0;
        }
        last = number;
        if is_apart {
            continue;
        }
        for word in line.split_whitespace().filter(|word| *word != "-") {
            open += 1;
            if word.ends_with(['.', '?', '!', ':', ';']) {
                counts.push(open);
                open = 0;
            }
        }
    }
    counts.extend((open > 0).then_some(open));
    counts
}

/// True if `line` contains `word` as a word.
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
            ("Nobody waits behind it.", 2),
            ("`behind`, behindhand", 0),
        ] {
            assert_eq!(problems(text), wrong, "{text}");
        }
        let mut found = Vec::new();
        judge("docs/options.md", "Nobody waits behind it.", &mut found);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn sentences_are_counted_without_tables_and_code() {
        let text = "# A heading\n\nOne `two words` three.\nFour five: six\nseven.\n\n- eight nine\n- ten\n\n\
                    | eleven |\n\n```\ntwelve\n```\n> thirteen\n";
        assert_eq!(sentences(text), [3, 2, 2, 2, 1]);
        let long = "word ".repeat(MEAN_WORDS + 1) + ".\n\n";
        assert_eq!(problems(&long.repeat(ENOUGH_SENTENCES)), 1);
        assert_eq!(problems(&long.repeat(ENOUGH_SENTENCES - 1)), 0);
    }
}
