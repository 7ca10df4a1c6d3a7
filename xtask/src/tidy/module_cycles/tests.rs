//! The circles of made-up crates.

use super::*;

/// The problems of a made-up crate.
fn problems(files: &[(&str, &str)]) -> Vec<String> {
    let owned = files.iter().map(|(file, text)| {
        let file = format!("one/src/{file}");
        (file, text.to_string())
    });
    let mut problems = Vec::new();
    judge(&owned.collect(), &mut problems);
    problems
}

#[test]
fn a_circle_of_files_is_found_with_its_names() {
    let found = problems(&[
        (
            "lib.rs",
            "mod a;\nmod b;\nmod c;\npub fn run() { a::run(); }",
        ),
        (
            "a.rs",
            "use crate::b::{self, Thing};\npub fn run() { b::make::<Thing>() }",
        ),
        (
            "b.rs",
            "pub struct Thing;\npub fn make<T>() { super::c::go() }",
        ),
        ("c.rs", "pub fn go() { crate::a::run() }"),
    ]);
    let expected = "3 files take from each other in a circle:\n  \
         one/src/a.rs -> one/src/b.rs: Thing, make\n  \
         one/src/b.rs -> one/src/c.rs: go\n  \
         one/src/c.rs -> one/src/a.rs: run";
    assert_eq!(found, [expected]);
}

#[test]
fn files_in_one_direction_are_fine() {
    let found = problems(&[
        (
            "lib.rs",
            "mod a;\nmod b;\npub use a::Thing;\npub fn run() { b::run() }",
        ),
        ("a.rs", "pub struct Thing;"),
        ("b.rs", "use crate::Thing;\npub fn run() { Thing; }"),
    ]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_face_is_seen_through() {
    // What the face hands on belongs to the files behind it.
    let behind = |second: &str| {
        problems(&[
            ("lib.rs", "mod folder;\nmod user;"),
            ("user.rs", "use crate::folder::{Second, first};"),
            (
                "folder/mod.rs",
                "mod first;\nmod second;\npub use first::*;\npub use second::Second;",
            ),
            (
                "folder/first.rs",
                "use super::Second;\npub fn first() { Second; }",
            ),
            ("folder/second.rs", second),
        ])
    };
    assert_eq!(behind("pub struct Second;").len(), 0);
    let found = behind("use super::*;\npub struct Second;\nfn f() { first() }");
    let expected = "2 files take from each other in a circle:\n  \
         one/src/folder/first.rs -> one/src/folder/second.rs: Second\n  \
         one/src/folder/second.rs -> one/src/folder/first.rs: first";
    assert_eq!(found, [expected]);
}

#[test]
fn a_parent_that_calls_its_child_defines_nothing_for_it() {
    let files = |child| {
        problems(&[
            (
                "lib.rs",
                "mod child;\npub struct Shared;\npub fn run() { child::run() }",
            ),
            ("child.rs", child),
        ])
    };
    assert_eq!(files("pub fn run() {}").len(), 0);
    assert_eq!(files("pub fn run() { super::Shared; }").len(), 1);
    // The parent uses a name that it also hands on.
    let found = problems(&[
        (
            "lib.rs",
            "mod child;\npub use child::run;\npub struct Shared;\nfn f() { run() }",
        ),
        ("child.rs", "pub fn run() { crate::Shared; }"),
    ]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn tests_and_comments_tie_nothing() {
    let found = problems(&[
        ("lib.rs", "mod a;\nmod b;"),
        ("a.rs", "use super::b::B;\npub struct A;"),
        (
            "b.rs",
            "//! [`crate::a::A`]\npub struct B;\n#[cfg(test)]\nmod tests;\n\
             #[cfg(test)]\nmod more { use crate::a::A; }\n#[cfg(test)]\nuse crate::a::A;",
        ),
        ("b/tests.rs", "use crate::a::A;\npub fn t() {}"),
    ]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn folders_make_no_circle_where_files_make_none() {
    let found = problems(&[
        ("lib.rs", "mod a;\nmod b;"),
        ("a/mod.rs", "pub mod high;\npub mod low;"),
        ("a/high.rs", "use crate::b::middle::Middle;"),
        ("a/low.rs", "pub struct Low;"),
        ("b/mod.rs", "pub mod middle;"),
        ("b/middle.rs", "use crate::a::low::Low;\npub struct Middle;"),
    ]);
    let expected = "2 folders take from each other in a circle:\n  \
         one/src/a -> one/src/b: Middle\n  \
         one/src/b -> one/src/a: Low";
    assert_eq!(found, [expected]);
}

#[test]
fn a_module_of_another_folder_is_its_own_file() {
    let found = problems(&[
        (
            "lib.rs",
            "mod a;\n#[path = \"deep/../shared.rs\"]\nmod x;\npub fn run() { a::go() }",
        ),
        ("shared.rs", "pub struct X;"),
        ("a.rs", "use crate::x::X;\npub fn go() { X; }"),
    ]);
    assert!(found.is_empty(), "{found:?}");
}
