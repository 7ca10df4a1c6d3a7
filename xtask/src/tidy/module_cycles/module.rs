//! The modules of one source file: what they define, what they bring in and what they name.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{is_name, tokens};

/// The words that begin an item and stand before its name.
const ITEMS: &[&str] = &[
    "const",
    "enum",
    "fn",
    "macro_rules",
    "static",
    "struct",
    "trait",
    "type",
    "union",
];

/// A module as its text tells.
#[derive(Default)]
pub(super) struct Module<'t> {
    /// The names of the items that it defines.
    pub(super) items: BTreeSet<&'t str>,
    /// The modules that it declares in files of their own, each with the path that an attribute
    /// gives it.
    pub(super) files: BTreeMap<&'t str, Option<&'t str>>,
    /// The modules that are written out in it, as places in the list of the file.
    pub(super) inside: BTreeMap<&'t str, usize>,
    pub(super) imports: Vec<Import<'t>>,
    /// The paths of more than one name that it writes outside of imports.
    pub(super) paths: BTreeSet<Vec<&'t str>>,
    /// The names that it writes outside of imports, other than fields and methods.
    pub(super) words: BTreeSet<&'t str>,
}

/// A name that a `use` brings in.
pub(super) struct Import<'t> {
    pub(super) path: Vec<&'t str>,
    /// The name that it has here; none for all names of a module.
    pub(super) name: Option<&'t str>,
    /// Whether it is handed on to other modules.
    pub(super) public: bool,
}

/// Reads the modules of a file, that of the file itself first. Tests are left out.
pub(super) fn read(text: &str) -> Vec<Module<'_>> {
    let tokens = tokens(text);
    let mut modules = vec![Module::default()];
    // The open modules, each with the number of brackets around its items.
    let mut open = vec![(0, 0)];
    let mut depth = 0;
    let mut path_attribute = None;
    let mut at = 0;
    while let Some(&token) = tokens.get(at) {
        let (module, base) = open[open.len() - 1];
        let next = tokens.get(at + 1).copied().unwrap_or_default();
        match token {
            "#" => {
                let inner = usize::from(next == "!");
                let end = close(&tokens, at + 1 + inner);
                let words = &tokens[at + 1 + inner..end];
                if is_test(words) {
                    if inner == 1 {
                        return vec![Module::default()];
                    }
                    at = after_item(&tokens, end);
                    continue;
                }
                if let ["[", "path", "=", path, ..] = words {
                    path_attribute = Some(path.trim_matches('"'));
                }
                at = end;
                continue;
            }
            "pub" => {
                if next == "(" && tokens.get(at + 2).is_some_and(|word| is_reach(word)) {
                    at = close(&tokens, at + 1);
                } else {
                    at += 1;
                }
                if tokens.get(at) == Some(&"use") {
                    at = import(&tokens, at + 1, &mut Vec::new(), true, &mut modules[module]);
                }
                continue;
            }
            "use" if is_name(next) || next == "{" => {
                at = import(
                    &tokens,
                    at + 1,
                    &mut Vec::new(),
                    false,
                    &mut modules[module],
                );
                continue;
            }
            "mod" if is_name(next) => {
                if tokens.get(at + 2) == Some(&"{") {
                    let new = modules.len();
                    modules[module].inside.insert(next, new);
                    modules.push(Module::default());
                    depth += 1;
                    open.push((new, depth));
                } else {
                    let path = path_attribute.take();
                    modules[module].files.insert(next, path);
                }
                at += 3;
                continue;
            }
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                if open.len() > 1 && depth == base {
                    open.pop();
                }
                depth -= 1;
            }
            _ if is_name(token) => {
                let before = at.checked_sub(1).map_or("", |before| tokens[before]);
                if depth == base && ITEMS.contains(&token) {
                    let skipped = usize::from(next == "mut" || next == "!");
                    let name = tokens.get(at + 1 + skipped).copied().unwrap_or_default();
                    if is_name(name) && !ITEMS.contains(&name) {
                        modules[module].items.insert(name);
                    }
                }
                if before != "." && before != "::" && !ITEMS.contains(&before) {
                    modules[module].words.insert(token);
                    let mut path = vec![token];
                    while let ["::", name, ..] = tokens[at + 1..]
                        && is_name(name)
                    {
                        path.push(name);
                        at += 2;
                    }
                    if path.len() > 1 {
                        modules[module].paths.insert(path);
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    modules
}

/// Whether the word says how far a `pub` reaches.
fn is_reach(word: &str) -> bool {
    matches!(word, "crate" | "super" | "self" | "in")
}

/// Whether an attribute makes its item a test.
fn is_test(attribute: &[&str]) -> bool {
    match attribute {
        ["[", "test", "]"] | ["[", "cfg", "(", "test", ")", "]"] => true,
        ["[", "cfg", "(", "all", "(", inside @ ..] => inside.contains(&"test"),
        _ => false,
    }
}

/// The place after the bracket that closes the one at `at`.
fn close(tokens: &[&str], at: usize) -> usize {
    let mut depth = 0;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        match *token {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth <= 0 {
            return place + 1;
        }
    }
    tokens.len()
}

/// The place after the item, the statement or the field that stands at `at`.
fn after_item(tokens: &[&str], mut at: usize) -> usize {
    while tokens.get(at) == Some(&"#") {
        at = close(tokens, at + 1);
    }
    let mut ends_with_block = false;
    let mut is_item = false;
    while let Some(&token) = tokens.get(at) {
        match token {
            "fn" | "mod" | "struct" | "enum" | "trait" | "impl" | "union" | "macro_rules" => {
                ends_with_block = true;
                is_item = true;
            }
            "use" | "const" | "static" | "type" => is_item = true,
            ";" => return at + 1,
            "," if !is_item => return at + 1,
            "}" | ")" | "]" => return at,
            "{" | "(" | "[" => {
                at = close(tokens, at);
                if token == "{" && ends_with_block {
                    return at;
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    at
}

/// Reads the tree of a `use` after `path` and returns the place after it.
fn import<'t>(
    tokens: &[&'t str],
    mut at: usize,
    path: &mut Vec<&'t str>,
    public: bool,
    module: &mut Module<'t>,
) -> usize {
    let length = path.len();
    let mut name = None;
    while let Some(&token) = tokens.get(at) {
        match token {
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| *token != "}") {
                    at = import(tokens, at, path, public, module);
                    at += usize::from(tokens.get(at) == Some(&","));
                }
                path.truncate(length);
                return at + 1;
            }
            "*" => {
                name = None;
                at += 1;
                break;
            }
            "as" => {
                name = tokens.get(at + 1).copied();
                at += 2;
                break;
            }
            "self" if !path.is_empty() => {
                name = path.last().copied();
            }
            "::" => {}
            _ if is_name(token) => {
                path.push(token);
                name = Some(token);
            }
            _ => break,
        }
        at += 1;
    }
    module.imports.push(Import {
        path: path.clone(),
        name,
        public,
    });
    path.truncate(length);
    at
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_names_is_read() {
        let text = "use a::{self, b::{C, D as E}, f::*};\n\
             pub(crate) use g::h;\n\
             mod file;\n\
             #[path = \"elsewhere.rs\"]\nmod other;\n\
             mod inside { fn deep() { super::x::y(); } }\n\
             #[cfg(test)]\nuse t::{T};\n\
             #[cfg(test)]\nmod tests;\n\
             pub(in crate::z) struct S { #[cfg(test)] s: t::U, r: q::R }\n\
             const fn f() { v.w(crate::k::<u::V>()); }";
        let modules = read(text);
        let [file, inside] = &modules[..] else {
            panic!("{} modules", modules.len())
        };
        let imports: Vec<_> = file
            .imports
            .iter()
            .map(|i| (i.path.join("::"), i.name))
            .collect();
        let expected = [
            ("a", Some("a")),
            ("a::b::C", Some("C")),
            ("a::b::D", Some("E")),
            ("a::f", None),
            ("g::h", Some("h")),
        ];
        assert_eq!(
            imports,
            expected.map(|(path, name)| (path.to_owned(), name))
        );
        assert!(file.imports[4].public && !file.imports[0].public);
        assert_eq!(
            file.files,
            [("file", None), ("other", Some("elsewhere.rs"))].into()
        );
        assert_eq!(file.items, ["S", "f"].into());
        let paths = [vec!["crate", "k"], vec!["q", "R"], vec!["u", "V"]];
        assert_eq!(file.paths, paths.into());
        assert!(!file.words.contains("w") && file.words.contains("v"));
        assert_eq!(inside.items, ["deep"].into());
        assert_eq!(inside.paths, [vec!["super", "x", "y"]].into());
    }
}
