//! `cargo xtask book`: the pages of docs/ as a book, by mdBook, and whether each of its links leads
//! to a file of the book and a place in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell;

/// The release of mdBook that is installed where there is none. Without optimisation: that is built
/// in a minute, and makes the book in one second.
const MDBOOK: &str = "0.5.4";

/// Pages that mdBook makes of others.
const COPIES: [&str; 3] = ["print.html", "404.html", "toc.html"];

/// The attributes of HTML that hold a link.
const LINKS: [&str; 2] = [" href=\"", " src=\""];

/// Makes the book; prints its first page.
pub(crate) fn run() -> Result<()> {
    shell::ensure_installed("mdbook", MDBOOK, &["--no-default-features", "--debug"])?;
    let folder = shell::target_directory()?.join("book");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let mut build = shell::command("mdbook", &["build", "docs", "--dest-dir"]);
    build.arg(&folder);
    shell::run(build)?;
    let problems = check(&folder)?;
    for problem in &problems {
        eprintln!("book: {problem}");
    }
    if !problems.is_empty() {
        bail!("{} links of the book lead nowhere", problems.len());
    }
    println!("{}", folder.join("index.html").display());
    Ok(())
}

/// What is wrong with the links of the book in `top`. Other hosts are not asked.
fn check(top: &Path) -> Result<BTreeSet<String>> {
    let mut pages = BTreeMap::new();
    read(top, top, &mut pages)?;
    let mut problems = BTreeSet::new();
    for (page, text) in &pages {
        if COPIES.iter().any(|copy| page == Path::new(copy)) {
            continue;
        }
        for link in links(text) {
            if let Some(why) = broken(top, page, link, &pages) {
                problems.insert(format!("{}: {link} {why}", page.display()));
            }
        }
    }
    if pages.len() < COPIES.len() {
        bail!("{} has no pages", top.display());
    }
    Ok(problems)
}

/// The pages below `folder`, by their place in `top`.
fn read(top: &Path, folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.is_dir() {
            read(top, &path, pages)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            let text = std::fs::read_to_string(&path);
            let text = text.with_context(|| path.display().to_string())?;
            pages.insert(path.strip_prefix(top)?.to_owned(), text);
        }
    }
    Ok(())
}

/// The links of a page.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let parts = LINKS.iter().flat_map(|link| text.split(link).skip(1));
    parts.filter_map(|rest| rest.split('"').next())
}

/// Why `link` leads nowhere.
fn broken(
    top: &Path,
    page: &Path,
    link: &str,
    pages: &BTreeMap<PathBuf, String>,
) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("mailto:") || link.starts_with("data:") {
        return None;
    }
    let (path, place) = link.split_once('#').unwrap_or((link, ""));
    let mut target = page.to_owned();
    if !path.is_empty() {
        target.pop();
        for part in Path::new(path).components() {
            match part {
                Component::Normal(name) => target.push(name),
                Component::ParentDir if target.pop() => {}
                Component::CurDir => {}
                _ => return Some("leads out of the book"),
            }
        }
    }
    if !top.join(&target).is_file() {
        return Some("does not exist");
    }
    let text = pages.get(&target)?;
    let is_there = place.is_empty() || text.contains(&format!("id=\"{place}\""));
    (!is_there).then_some("has no such place")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_said() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        std::fs::create_dir(top.join("guide")).unwrap();
        let page = |name: &str, text: &str| std::fs::write(top.join(name), text).unwrap();
        page("a.html", "<h1 id=\"x\"></h1><a href=\"guide/b.html#y\">");
        page("guide/b.html", "<h1 id=\"y\"></h1><a href=\"../a.html#x\">");
        page(
            "guide/c.html",
            "<a href=\"#here\"><p id=\"here\"><img src=\"d.svg\">",
        );
        page("guide/d.svg", "");
        assert!(check(top).unwrap().is_empty());
        page(
            "print.html",
            "<a href=\"no.html\"> <a href=\"https://example.com/x\">",
        );
        assert!(check(top).unwrap().is_empty());
        page(
            "a.html",
            "<a href=\"b.html\"> <a href=\"guide/b.html#z\"> <img src=\"../e.svg\">",
        );
        let problems = check(top).unwrap();
        // Nothing is left of `#x` either, which b.html names.
        assert_eq!(problems.len(), 4, "{problems:?}");
    }
}
