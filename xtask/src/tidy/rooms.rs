//! The rooms of a crate, the folders in its `src/`, depend on each other in one direction. So do
//! the modules of some large rooms.

use std::collections::{BTreeMap, BTreeSet};

use crate::shell;

/// The rooms that each room names.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Rooms whose modules make no circle either.
const LARGE: &[&str] = &["lowering/llvm/src/emit/"];

/// Reports circles of folders in each `src/`, and of modules in large rooms. Tests may look
/// anywhere.
pub(super) fn check(files: &[String], problems: &mut Vec<String>) {
    let mut crates: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.ends_with(".rs")) {
        let Some((source, inside)) = file.split_once("/src/") else {
            continue;
        };
        let Some((room, rest)) = inside.split_once('/') else {
            continue;
        };
        if room != "bin" && !rest.contains("tests") {
            let rooms = crates.entry(source).or_default();
            rooms.entry(room).or_default().push(file);
        }
    }
    for (source, rooms) in crates {
        let names: Vec<&str> = rooms.keys().copied().collect();
        let uses: Uses = rooms
            .iter()
            .map(|(room, files)| {
                let texts = files
                    .iter()
                    .map(|file| std::fs::read_to_string(shell::root().join(file)));
                let used = texts.flatten().flat_map(|text| used(&text, &names));
                let others = used.filter(|used| used != room);
                (room.to_string(), others.collect())
            })
            .collect();
        report(&format!("{source}/src"), &uses, problems);
    }
    for room in LARGE {
        report(room, &modules(room, files), problems);
    }
}

fn report(place: &str, uses: &Uses, problems: &mut Vec<String>) {
    if let Some(circle) = circle(uses) {
        problems.push(format!("{place}: a circle: {}", circle.join(" -> ")));
    }
}

/// What the modules of the folder `room` use of each other.
fn modules(room: &str, files: &[String]) -> Uses {
    let inside = files.iter().filter_map(|file| {
        let path = file.strip_prefix(room)?.strip_suffix(".rs")?;
        let module = path.split('/').next()?;
        (module != "mod" && !path.contains("tests")).then_some((file, module, path))
    });
    let inside: Vec<_> = inside.collect();
    let names: Vec<&str> = inside.iter().map(|(_, module, _)| *module).collect();
    let mut uses = Uses::new();
    for (file, module, path) in inside {
        let text = std::fs::read_to_string(shell::root().join(file)).unwrap_or_default();
        // From a file of the module's own folder the room is one step further away.
        let steps = path.matches('/').count() + usize::from(!path.ends_with("/mod"));
        let used = beside(&text, steps, &names).into_iter();
        let others = used.filter(|used| used != module);
        uses.entry(module.to_owned()).or_default().extend(others);
    }
    uses
}

/// The modules that a file names by so many `super::`.
fn beside(text: &str, steps: usize, modules: &[&str]) -> Vec<String> {
    let text = code(text);
    let prefix = "super::".repeat(steps);
    let mut found = Vec::new();
    for (at, _) in text.match_indices(&prefix) {
        let path = &text[at + prefix.len()..];
        if text[..at].ends_with("super::") || path.starts_with("super::") {
            continue; // more steps than these
        }
        let list = match path.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or(list),
            None => path,
        };
        let word = |c: char| !c.is_alphanumeric() && c != '_';
        let names = list.split(word).filter(|name| !name.is_empty());
        let count = if path.starts_with('{') { usize::MAX } else { 1 };
        let known = names.take(count).filter(|name| modules.contains(name));
        found.extend(known.map(str::to_owned));
    }
    found
}

/// The rooms that a file names outside of comments and tests.
fn used(text: &str, rooms: &[&str]) -> Vec<String> {
    let code = code(text);
    let paths = code.split("crate::").skip(1);
    let first = paths.map(|path| {
        let end = path.find(|c: char| !c.is_alphanumeric() && c != '_');
        &path[..end.unwrap_or(path.len())]
    });
    first
        .filter(|name| rooms.contains(name))
        .map(str::to_owned)
        .collect()
}

/// A file without its comments and its tests.
fn code(text: &str) -> String {
    let tests = [
        "#[cfg(test)]\nmod ",
        "#[cfg(test)]\n#[allow",
        "#[cfg(test)]\n#[expect",
    ];
    let end = tests.iter().filter_map(|tests| text.find(tests)).min();
    let lines = text[..end.unwrap_or(text.len())].lines();
    let lines = lines.filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A circle, its first room again at the end.
fn circle(uses: &Uses) -> Option<Vec<String>> {
    fn visit<'u>(
        uses: &'u Uses,
        room: &'u str,
        way: &mut Vec<&'u str>,
        done: &mut BTreeSet<&'u str>,
    ) -> Option<Vec<String>> {
        if let Some(begin) = way.iter().position(|before| *before == room) {
            let circle = way[begin..].iter().chain([&room]);
            return Some(circle.map(|room| room.to_string()).collect());
        }
        if !done.insert(room) {
            return None;
        }
        way.push(room);
        let found = uses[room]
            .iter()
            .find_map(|next| visit(uses, next, way, done));
        way.pop();
        found
    }
    let mut done = BTreeSet::new();
    uses.keys()
        .find_map(|room| visit(uses, room, &mut Vec::new(), &mut done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found() {
        let uses = |edges: &[(&str, &[&str])]| -> Uses {
            let owned = |to: &[&str]| to.iter().map(|name| name.to_string()).collect();
            edges
                .iter()
                .map(|(from, to)| (from.to_string(), owned(to)))
                .collect()
        };
        let line = uses(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]);
        assert_eq!(circle(&line), None);
        let round = uses(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])]);
        assert_eq!(
            circle(&round),
            Some(["b", "c", "b"].map(str::to_owned).into())
        );
    }

    #[test]
    fn steps_to_a_room_are_counted() {
        let names = ["a", "b", "c"];
        let text = "use super::{a::X, y as z, b};\nuse super::super::c;\nfn f() { super::a::g() }";
        assert_eq!(beside(text, 1, &names), ["a", "b", "a"]);
        assert_eq!(beside(text, 2, &names), ["c"]);
    }

    #[test]
    fn tests_and_comments_use_nothing() {
        let text = "use crate::a::X;\n//! [`crate::b`]\nfn f() { crate::c(); }\n#[cfg(test)]\nmod tests {\n use crate::d;\n}";
        assert_eq!(used(text, &["a", "b", "c", "d"]), ["a", "c"]);
    }
}
