//! The glossary is the rule: words that its last column has are not in pages and comments.

use super::links::{plain, prose};
use super::style::has;
use crate::shell;

const PAGE: &str = "docs/glossary.md";

/// A term, and what is not written for it.
struct Term {
    term: String,
    instead_of: Vec<String>,
}

pub(super) fn check(files: &[String], problems: &mut Vec<String>) {
    let read = |file: &str| std::fs::read_to_string(shell::root().join(file)).unwrap_or_default();
    let terms = terms(&read(PAGE));
    if terms.is_empty() {
        problems.push(format!("{PAGE}: no row has a word that is not used"));
    }
    // The glossary has the words, the changelog earlier ones, and the corpus those of others.
    let others =
        |file: &str| file == PAGE || file == "CHANGELOG.md" || file.starts_with("fixtures/corpus/");
    for file in files.iter().filter(|file| !others(file)) {
        if file.ends_with(".md") {
            judge(file, prose(&read(file)), &terms, problems);
        } else if file.ends_with(".rs") {
            judge(file, comments(&read(file)), &terms, problems);
        }
    }
}

/// The rows of the table whose last column is not empty.
fn terms(page: &str) -> Vec<Term> {
    let rows = page.lines().filter_map(|line| {
        let mut cells = line
            .strip_prefix("| **")?
            .trim_end_matches(" |")
            .split(" | ");
        let term = cells.next()?.trim_end_matches('*').to_owned();
        let words = cells
            .nth(1)?
            .split(',')
            .map(|word| word.trim().to_lowercase());
        let instead_of: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        (!instead_of.is_empty()).then_some(Term { term, instead_of })
    });
    rows.collect()
}

/// The comments of Rust code, with the numbers of their lines.
fn comments(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(code.lines());
    lines.filter(|(_, line)| line.trim_start().starts_with("//"))
}

fn judge<'l>(
    file: &str,
    lines: impl Iterator<Item = (usize, &'l str)>,
    terms: &[Term],
    problems: &mut Vec<String>,
) {
    for (number, line) in lines {
        let line = plain(line).to_lowercase();
        for Term { term, instead_of } in terms {
            for word in instead_of.iter().filter(|word| has(&line, word)) {
                problems.push(format!(
                    "{file}:{number}: `{word}`: the glossary has `{term}`"
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| word | meaning | not |\n| **wave, warp** | The lanes. | wavefront |\n\
                         | **scope** | Who. | |\n| **phase** | A round. | turn, lap of it |\n";

    #[test]
    fn words_of_the_last_column_are_found() {
        let terms = terms(TABLE);
        assert_eq!(terms.len(), 2);
        let found = |lines: &str| {
            let mut problems = Vec::new();
            judge("x.rs", comments(lines), &terms, &mut problems);
            problems
        };
        let wrong =
            found("/// A Wavefront waits.\nlet lap = 1; // a lap of it\n    //! one turn\n");
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].contains("x.rs:1: `wavefront`: the glossary has `wave, warp`"));
        assert!(found("/// `wavefront`, turns\n").is_empty());
    }
}
