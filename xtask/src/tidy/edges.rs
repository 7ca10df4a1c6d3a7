//! The walls between the crates: which may not depend on which, even through others.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::shell;

/// The crates that link LLVM, from outside.
const LLVM: &[&str] = &["inkwell", "llvm-sys"];

/// The only crate that names them.
const EMITTER: &str = "splitbar-llvm";

/// A crate, and our crates that it must not reach.
struct Wall {
    from: &'static str,
    llvm: bool,
    not: &'static [&'static str],
}

/// Data flows one way, and so do the edges.
const WALLS: &[Wall] = &[
    Wall {
        from: "splitbar-passes",
        llvm: false,
        not: &[
            "splitbar-target",
            "splitbar-layout",
            "splitbar-plan",
            "splitbar-llvm",
            "splitbar",
            "splitbar-tests",
        ],
    },
    Wall {
        from: "splitbar-target",
        llvm: false,
        not: &[
            "splitbar-passes",
            "splitbar-layout",
            "splitbar-plan",
            "splitbar-llvm",
            "splitbar",
            "splitbar-tests",
        ],
    },
    Wall {
        from: "splitbar-layout",
        llvm: false,
        not: &[
            "splitbar-plan",
            "splitbar-llvm",
            "splitbar",
            "splitbar-tests",
        ],
    },
    Wall {
        from: "splitbar-plan",
        llvm: false,
        not: &["splitbar-llvm", "splitbar", "splitbar-tests"],
    },
    Wall {
        from: "splitbar-llvm",
        llvm: true,
        not: &["splitbar-sim", "splitbar", "splitbar-tests"],
    },
    Wall {
        from: "splitbar-sim",
        llvm: false,
        not: &[
            "splitbar-passes",
            "splitbar-plan",
            "splitbar-llvm",
            "splitbar",
            "splitbar-tests",
        ],
    },
    Wall {
        from: "splitbar",
        llvm: true,
        not: &["splitbar-tests"],
    },
    // A machine with a GPU needs no compiler.
    Wall {
        from: "splitbar-gpu",
        llvm: false,
        not: &["splitbar-llvm", "splitbar"],
    },
    Wall {
        from: "splitbar-fuzz",
        llvm: false,
        not: &[
            "splitbar-plan",
            "splitbar-llvm",
            "splitbar",
            "splitbar-tests",
        ],
    },
    Wall {
        from: "xtask",
        llvm: false,
        not: &[
            "splitbar-passes",
            "splitbar-target",
            "splitbar-layout",
            "splitbar-plan",
            "splitbar-llvm",
            "splitbar",
            "splitbar-tests",
        ],
    },
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

/// Names by name: what every package of the build depends on directly.
#[derive(Default)]
struct Graph {
    built: BTreeMap<String, BTreeSet<String>>,
    /// What only its tests need. Whoever depends on the package does not get these.
    tested: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    fn add(&mut self, from: String, to: String, for_tests: bool) {
        let edges = if for_tests {
            &mut self.tested
        } else {
            &mut self.built
        };
        edges.entry(from).or_default().insert(to);
    }

    fn direct<'g>(&'g self, from: &str) -> impl Iterator<Item = &'g str> {
        let (built, tested) = (self.built.get(from), self.tested.get(from));
        built
            .into_iter()
            .chain(tested)
            .flatten()
            .map(String::as_str)
    }
}

pub(super) fn check(problems: &mut Vec<String>) -> Result<()> {
    let text = shell::read(shell::cargo(&["metadata", "--format-version", "1"]))?;
    let metadata: Metadata = serde_json::from_str(&text).context("cargo metadata")?;
    let names: BTreeMap<&str, &str> = metadata
        .packages
        .iter()
        .map(|p| (p.id.as_str(), p.name.as_str()))
        .collect();
    let name = |id: &String| names.get(id.as_str()).copied().unwrap_or(id).to_string();
    let mut graph = Graph::default();
    for node in &metadata.resolve.nodes {
        for dependency in &node.deps {
            for kind in &dependency.dep_kinds {
                let for_tests = kind.kind.as_deref() == Some("dev");
                graph.add(name(&node.id), name(&dependency.pkg), for_tests);
            }
        }
    }
    let members: Vec<String> = metadata.workspace_members.iter().map(name).collect();
    judge(&graph, &members, problems);
    Ok(())
}

fn judge(graph: &Graph, members: &[String], problems: &mut Vec<String>) {
    for wall in WALLS {
        if !members.iter().any(|m| m == wall.from) {
            problems.push(format!(
                "there is no crate {} any more; correct the walls in xtask",
                wall.from
            ));
            continue;
        }
        let reached = reach(graph, wall.from);
        let forbidden = wall.not.iter().chain(if wall.llvm { &[] } else { LLVM });
        for name in forbidden.filter(|n| reached.contains(**n)) {
            problems.push(format!("{} depends on {name}, perhaps through another crate; ARCHITECTURE.md says why it must not", wall.from));
        }
    }
    for member in members.iter().filter(|m| *m != EMITTER) {
        for name in LLVM {
            if graph.direct(member).any(|direct| direct == *name) {
                problems.push(format!("{member} names {name}; only {EMITTER} may"));
            }
        }
    }
}

/// Everything that a crate and its tests depend on, through any number of others.
fn reach<'g>(graph: &'g Graph, from: &str) -> BTreeSet<&'g str> {
    let mut open: Vec<&str> = graph.direct(from).collect();
    let mut seen: BTreeSet<&str> = open.iter().copied().collect();
    while let Some(at) = open.pop() {
        for next in graph.built.get(at).into_iter().flatten() {
            if seen.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_with(extra: &[(&str, &str)]) -> Vec<String> {
        let mut graph = Graph::default();
        graph.add("splitbar-tests".to_owned(), "splitbar".to_owned(), true);
        let good = [
            ("splitbar-layout", "splitbar-passes"),
            ("splitbar-plan", "splitbar-layout"),
            ("splitbar-llvm", "splitbar-plan"),
            ("splitbar-llvm", "inkwell"),
            ("splitbar", "splitbar-llvm"),
        ];
        for (from, to) in good.iter().chain(extra) {
            graph.add((*from).to_string(), (*to).to_string(), false);
        }
        let members: Vec<String> = WALLS.iter().map(|w| w.from.to_string()).collect();
        let mut problems = Vec::new();
        judge(&graph, &members, &mut problems);
        problems
    }

    #[test]
    fn the_right_edges_pass() {
        assert!(problems_with(&[]).is_empty());
    }

    #[test]
    fn what_another_crates_tests_need_does_not_count() {
        assert!(problems_with(&[("splitbar-gpu", "splitbar-tests")]).is_empty());
        assert_eq!(problems_with(&[("splitbar-gpu", "splitbar")]).len(), 3);
    }

    #[test]
    fn wrong_edges_are_found() {
        assert_eq!(
            problems_with(&[("splitbar-passes", "helper"), ("helper", "llvm-sys")]).len(),
            3,
            "passes, typed and plan through it"
        );
        assert_eq!(problems_with(&[("splitbar", "inkwell")]).len(), 1);
        assert_eq!(
            problems_with(&[("splitbar-passes", "splitbar-plan")]).len(),
            3,
            "passes reaches plan and typed, and typed reaches plan through it"
        );
        assert_eq!(problems_with(&[("xtask", "splitbar-passes")]).len(), 1);
    }
}
