//! Links of the pages: to files that exist and headings that they have. The table of contents names
//! every page of docs/ once.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::shell;

/// The table of contents.
const CONTENTS: &str = "docs/SUMMARY.md";

pub(super) fn check(files: &[String], problems: &mut Vec<String>) {
    let mut pages = BTreeMap::new();
    for file in files.iter().filter(|file| file.ends_with(".md")) {
        match std::fs::read_to_string(shell::root().join(file)) {
            Ok(text) => _ = pages.insert(file.as_str(), text),
            Err(error) => problems.push(format!("{file}: {error}")),
        }
    }
    for (file, text) in &pages {
        for (number, line) in prose(text) {
            for target in targets(line) {
                if let Some(why) = broken(file, &target, &pages) {
                    problems.push(format!("{file}:{number}: {target} {why}"));
                }
            }
        }
    }
    let contents = pages.get(CONTENTS).map_or("", String::as_str);
    let named: Vec<String> = contents.lines().flat_map(targets).collect();
    for file in pages.keys().filter(|file| **file != CONTENTS) {
        let Some(page) = file.strip_prefix("docs/") else {
            continue;
        };
        // The first page is a title page too.
        if !named.iter().any(|target| target == page) {
            problems.push(format!("{CONTENTS} does not name {page}"));
        }
    }
}

/// The lines outside of fenced blocks, with their numbers.
pub(super) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_open = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        if line.trim_start().starts_with("```") {
            is_open = !is_open;
            return false;
        }
        !is_open
    })
}

/// A line without what stands in back quotes.
pub(super) fn plain(line: &str) -> String {
    let parts = line.split('`').enumerate();
    let plain: Vec<&str> = parts
        .filter(|(at, _)| at % 2 == 0)
        .map(|(_, part)| part)
        .collect();
    plain.join("``")
}

/// What the links of a line lead to: `[...](TARGET)`, and pages of docs/ in back quotes, by their
/// place in the repository.
fn targets(line: &str) -> Vec<String> {
    let plain = plain(line);
    let mut found: Vec<String> = plain
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .map(str::to_owned)
        .collect();
    let quoted = line.split('`').skip(1).step_by(2);
    let pages = quoted.filter(|text| text.starts_with("docs/") && text.ends_with(".md"));
    found.extend(pages.map(|page| format!("/{page}")));
    found
}

/// Why `target` in `file` leads nowhere. Other hosts are not asked.
fn broken(file: &str, target: &str, pages: &BTreeMap<&str, String>) -> Option<&'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let place = match (path, path.strip_prefix('/')) {
        ("", _) => file.to_owned(),
        (_, Some(from_root)) => from_root.to_owned(),
        (relative, None) => match beside(file, relative) {
            Some(place) => place,
            None => return Some("leads out of the repository"),
        },
    };
    if !shell::root().join(&place).exists() {
        return Some("does not exist");
    }
    if heading.is_empty() {
        return None;
    }
    let text = pages.get(place.as_str())?;
    let mut headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    if headings.any(|(_, line)| anchor(line) == heading) {
        None
    } else {
        Some("has no such heading")
    }
}

/// `relative` as seen from the folder of `file`, from the root on.
fn beside(file: &str, relative: &str) -> Option<String> {
    let mut place = PathBuf::from(file);
    place.pop();
    for part in Path::new(relative).components() {
        match part {
            Component::ParentDir => {
                if !place.pop() {
                    return None;
                }
            }
            Component::Normal(name) => place.push(name),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    place.to_str().map(str::to_owned)
}

/// The anchor of a heading: its words in small letters with hyphens between them.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found() {
        let line = "see [a](b.md#c) and `[d](e)`, `docs/f.md`, [g](../h)";
        assert_eq!(targets(line), ["b.md#c", "../h", "/docs/f.md"]);
    }

    #[test]
    fn places_are_those_that_links_mean() {
        assert_eq!(
            beside("docs/guide/a.md", "../b.md").as_deref(),
            Some("docs/b.md")
        );
        assert_eq!(
            beside("README.md", "docs/b.md").as_deref(),
            Some("docs/b.md")
        );
        assert_eq!(beside("README.md", "../b.md"), None);
        assert_eq!(
            anchor("## Why is my window empty?"),
            "why-is-my-window-empty"
        );
        assert_eq!(anchor("# `lower`, and so on"), "lower-and-so-on");
    }

    #[test]
    fn what_leads_nowhere_is_said() {
        let page = "# A heading\n```\n# no heading\n```\n".to_owned();
        let pages = BTreeMap::from([("README.md", page)]);
        let broken = |target| broken("README.md", target, &pages);
        for right in [
            "#a-heading",
            "Cargo.toml",
            "https://example.com/x",
            "/README.md#a-heading",
        ] {
            assert_eq!(broken(right), None, "{right}");
        }
        for wrong in ["#no-heading", "no/such/file.md", "../x", "/nowhere.md"] {
            assert!(broken(wrong).is_some(), "{wrong}");
        }
    }
}
