//! What packages of the crates need besides what cargo asks for.

use crate::shell;

/// Licences that every package holds.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// That every crate that is published holds the licences, and that the oldest Rust release that is
/// promised is the one that is built.
pub(super) fn check(files: &[String], problems: &mut Vec<String>) {
    let read = |file: &str| std::fs::read_to_string(shell::root().join(file)).unwrap_or_default();
    let crates = files
        .iter()
        .filter_map(|file| file.strip_suffix("/Cargo.toml"));
    for folder in crates {
        let manifest = read(&format!("{folder}/Cargo.toml"));
        if manifest.contains("publish = false") || manifest.contains("[workspace]") {
            continue;
        }
        for licence in LICENCES {
            let file = format!("{folder}/{licence}");
            if !files.contains(&file) || read(&file) != read(licence) {
                problems.push(format!("{file}: a link to {licence} has to stand here"));
            }
        }
    }
    let value = |file, key: &str| {
        let text = read(file);
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|line| line.split('"').nth(1))
            .map(str::to_owned)
    };
    let promised = value("Cargo.toml", "rust-version = ").unwrap_or_default();
    let built = value("rust-toolchain.toml", "channel = ").unwrap_or_default();
    if built
        .strip_prefix(&promised)
        .is_none_or(|rest| !rest.starts_with('.'))
        || promised.is_empty()
    {
        problems.push(format!(
            "Cargo.toml: rust-version is {promised:?}, and rust-toolchain.toml builds {built:?}"
        ));
    }
}
