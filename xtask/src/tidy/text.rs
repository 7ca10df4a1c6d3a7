//! What source files may and may not contain.

use crate::shell;

/// A file longer than this holds more than one idea. Lines.
const LONGEST: usize = 900;

/// The folders with unsafe code: interfaces that cannot be safe. Their files may be longer, since
/// they are lists.
const FFI: &[&str] = &[
    "bindings/c/src/ffi/",
    "lowering/llvm/src/ffi/",
    "tests/gpu/src/ffi/",
];
const LONGEST_FFI: usize = 1200;

/// Most columns of a line that is a comment alone.
const WIDEST_COMMENT: usize = 100;

/// Words that say that something is not finished. Split in two here, so that this file may pass.
const UNFINISHED: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X:"),
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("#[ig", "nore"),
    concat!("db", "g!("),
];

/// Beginnings of paths that exist on one machine only.
const MACHINE_PATHS: &[&str] = &[
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/wo", "rk/"),
    concat!("/Us", "ers/"),
    concat!("/t", "mp/"),
];

/// Unsafe code, as it is written.
const UNSAFE: &[&str] = &[
    concat!("uns", "afe {"),
    concat!("uns", "afe fn"),
    concat!("uns", "afe impl"),
    concat!("uns", "afe trait"),
    concat!("uns", "afe extern"),
    concat!("#[uns", "afe("),
];

/// Files with text that people wrote for this project.
const WRITTEN: &[&str] = &[
    ".rs", ".toml", ".md", ".comp", ".cl", ".yml", ".sh", ".ci/run",
];

pub(super) fn check(files: &[String], problems: &mut Vec<String>) {
    for file in files
        .iter()
        .filter(|f| WRITTEN.iter().any(|e| f.ends_with(e)))
    {
        match std::fs::read_to_string(shell::root().join(file)) {
            Ok(text) => judge(file, &text, problems),
            Err(e) => problems.push(format!("{file}: {e}")),
        }
    }
}

fn judge(file: &str, text: &str, problems: &mut Vec<String>) {
    let rust = file.ends_with(".rs");
    if rust && !text.starts_with("//!") {
        problems.push(format!(
            "{file}: the first line has to say what the file is for (`//! ...`)"
        ));
    }
    let count = text.lines().count();
    let is_door = FFI.iter().any(|folder| file.starts_with(folder));
    let longest = if is_door { LONGEST_FFI } else { LONGEST };
    if rust && count > longest {
        problems.push(format!("{file}: {count} lines; the most is {longest}"));
    }
    let mut is_example = false;
    for (number, line) in (1..).zip(text.lines()) {
        if rust {
            let comment = line.trim_start().strip_prefix("//");
            let words = comment.map(|text| text.trim_start_matches(['/', '!']).trim_start());
            is_example = match words {
                Some(words) if words.starts_with("```") => !is_example,
                Some(_) => is_example,
                None => false,
            };
            // Tables, pictures and code are as wide as they have to be.
            let is_text =
                words.is_some_and(|words| !words.starts_with('|') && !words.contains("--"));
            if is_text && !is_example && line.chars().count() > WIDEST_COMMENT {
                problems.push(format!(
                    "{file}:{number}: a comment of more than {WIDEST_COMMENT} columns"
                ));
            }
        }
        for (words, what) in [
            (UNFINISHED, "is not for a finished tree"),
            (MACHINE_PATHS, "is a path of one machine"),
        ] {
            for word in words.iter().filter(|w| line.contains(**w)) {
                problems.push(format!("{file}:{number}: `{word}` {what}"));
            }
        }
        if rust && !is_door {
            for word in UNSAFE.iter().filter(|w| line.contains(**w)) {
                problems.push(format!(
                    "{file}:{number}: `{word}` belongs in {}",
                    FFI.join(" or ")
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(file: &str, text: &str) -> usize {
        let mut found = Vec::new();
        judge(file, text, &mut found);
        found.len()
    }

    #[test]
    fn good_files_pass() {
        assert_eq!(problems("a.rs", "//! Why.\nfn f() {}\n"), 0);
        assert_eq!(
            problems(
                &format!("{}mod.rs", FFI[0]),
                concat!("//! Why.\nfn f() { uns", "afe { g() } }\n")
            ),
            0
        );
        assert_eq!(problems("a.md", "# Title\n"), 0);
    }

    #[test]
    fn each_rule_finds_its_fault() {
        assert_eq!(problems("a.rs", "fn f() {}\n"), 1);
        assert_eq!(
            problems("a.rs", &format!("//! Why.\n{}", "\n".repeat(LONGEST))),
            1
        );
        assert_eq!(
            problems("a.rs", concat!("//! Why.\nfn f() { uns", "afe { g() } }\n")),
            1
        );
        let wide = "word ".repeat(20);
        assert_eq!(
            problems("a.rs", &format!("//! Why.\n    // {wide}end\n")),
            1
        );
        let table = format!("//! Why.\n//! | {wide}|\n//! ```\n//! {wide}end\n//! ```\n");
        assert_eq!(problems("a.rs", &table), 0);
        assert_eq!(problems("a.toml", concat!("a = 1 # TO", "DO\n")), 1);
        assert_eq!(problems("a.md", concat!("see /ro", "ot/x\n")), 1);
    }
}
