//! The rooms of a crate, the folders in its `src/`, depend on each other in one direction.

use std::collections::{BTreeMap, BTreeSet};

use crate::shell;

/// The rooms that each room names.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Reports circles of folders in each `src/`. Tests may look anywhere.
pub fn check(files: &[String], problems: &mut Vec<String>) {
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
        if let Some(circle) = circle(&uses) {
            problems.push(format!("{source}/src: a circle: {}", circle.join(" -> ")));
        }
    }
}

/// The rooms that a file names outside of comments and tests.
fn used(text: &str, rooms: &[&str]) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let paths = lines.flat_map(|line| line.split("crate::").skip(1));
    let first = paths.map(|path| {
        let end = path.find(|c: char| !c.is_alphanumeric() && c != '_');
        &path[..end.unwrap_or(path.len())]
    });
    first
        .filter(|name| rooms.contains(name))
        .map(str::to_owned)
        .collect()
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
    fn tests_and_comments_use_nothing() {
        let text = "use crate::a::X;\n//! [`crate::b`]\nfn f() { crate::c(); }\n#[cfg(test)]\nmod tests {\n use crate::d;\n}";
        assert_eq!(used(text, &["a", "b", "c", "d"]), ["a", "c"]);
    }
}
