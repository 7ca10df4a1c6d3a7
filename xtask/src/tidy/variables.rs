//! Environment variables: each one that the sources read has a row in CONTRIBUTING.md, and each row
//! is read somewhere.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use crate::shell;

/// What their names begin with; in two parts, so that this file does not look like a reader of one.
const PREFIX: &str = concat!("SPLITBAR", "_");
const PAGE: &str = "CONTRIBUTING.md";

/// Where such names are constants of the C interface.
const CONSTANTS: &str = "bindings/c/src/ffi/";

pub(super) fn check(files: &[String], problems: &mut Vec<String>) -> Result<()> {
    let page = read(PAGE)?;
    let described: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .flat_map(|row| names(row.split('`').next().unwrap_or(row)))
        .collect();
    let mut used = BTreeSet::new();
    let sources = files.iter().filter(|file| file.ends_with(".rs"));
    for file in sources.filter(|file| !file.starts_with(CONSTANTS)) {
        for name in names(&read(file)?) {
            if !described.contains(&name) && used.insert(name.clone()) {
                problems.push(format!("{file} names {name}, which has no row in {PAGE}"));
            }
            used.insert(name);
        }
    }
    for name in described.difference(&used) {
        problems.push(format!("{PAGE} has a row for {name}, which nothing reads"));
    }
    Ok(())
}

fn read(file: &str) -> Result<String> {
    std::fs::read_to_string(shell::root().join(file)).with_context(|| file.to_owned())
}

/// The names of variables in `text`.
fn names(text: &str) -> BTreeSet<String> {
    text.match_indices(PREFIX)
        .map(|(at, _)| {
            text[at..]
                .chars()
                .take_while(|c| c.is_ascii_uppercase() || *c == '_')
                .collect::<String>()
        })
        .filter(|name| name.len() > PREFIX.len())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_end_where_the_word_does() {
        let text = format!("var(\"{0}LLD\"), {0}FUZZ_SEED=1, {0}*", super::PREFIX);
        let found: Vec<String> = names(&text).into_iter().collect();
        assert_eq!(
            found,
            ["FUZZ_SEED", "LLD"].map(|name| format!("{}{name}", super::PREFIX))
        );
    }
}
