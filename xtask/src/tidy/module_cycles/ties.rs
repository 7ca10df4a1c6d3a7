//! What the files of crates take from each other.

use std::collections::{BTreeMap, BTreeSet};

use super::module::{self, Module};

/// The files that each file takes something from, with the names of it.
pub(super) type Ties = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The questions of one search that were asked already. Imports may lead in circles.
type Asked<'n> = BTreeSet<(usize, &'n str, PathEnd)>;

/// The modules of all files.
struct Tree<'t> {
    nodes: Vec<Node<'t>>,
}

/// A module in its place.
struct Node<'t> {
    file: &'t str,
    text: Module<'t>,
    parent: Option<usize>,
    children: BTreeMap<&'t str, usize>,
}

/// What a path leads to.
#[derive(Clone, Copy)]
enum Place<'t> {
    Module(usize),
    /// An item that the file defines.
    Item(&'t str),
    /// An item of another crate.
    Outside,
}

/// What is expected at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PathEnd {
    Module,
    Item,
}

/// Finds what the files, paths with their texts, take from each other.
pub(super) fn ties(files: &BTreeMap<String, String>) -> Ties {
    let tree = Tree::new(files);
    let mut ties = Ties::new();
    for at in 0..tree.nodes.len() {
        let node = &tree.nodes[at];
        for (file, name) in tree.taken(at) {
            if file != node.file {
                let to = ties.entry(node.file.to_owned()).or_default();
                let names = to.entry(file.to_owned()).or_default();
                names.insert(name.to_owned());
            }
        }
    }
    ties
}

impl<'t> Tree<'t> {
    fn new(files: &'t BTreeMap<String, String>) -> Self {
        let mut tree = Self { nodes: Vec::new() };
        let mut first = BTreeMap::new();
        for (file, text) in files {
            let modules = module::read(text);
            let begin = tree.nodes.len();
            first.insert(file.as_str(), begin);
            tree.nodes.extend(modules.into_iter().map(|text| Node {
                file,
                text,
                parent: None,
                children: BTreeMap::new(),
            }));
            for parent in begin..tree.nodes.len() {
                for (name, inside) in tree.nodes[parent].text.inside.clone() {
                    tree.adopt(parent, name, begin + inside);
                }
            }
        }
        for parent in 0..tree.nodes.len() {
            let file = tree.nodes[parent].file;
            for (name, path) in tree.nodes[parent].text.files.clone() {
                let mut places = places(file, name, path).into_iter();
                if let Some(child) = places.find_map(|place| first.get(place.as_str())) {
                    tree.adopt(parent, name, *child);
                }
            }
        }
        tree
    }

    fn adopt(&mut self, parent: usize, name: &'t str, child: usize) {
        self.nodes[parent].children.insert(name, child);
        self.nodes[child].parent = Some(parent);
    }

    /// The files that define what a module takes, with the names that it takes.
    fn taken(&self, at: usize) -> Vec<(&'t str, &'t str)> {
        let node = &self.nodes[at];
        let mut taken = Vec::new();
        for import in &node.text.imports {
            match (
                import.name,
                self.find(at, &import.path, PathEnd::Item, &mut Asked::new()),
            ) {
                (Some(name), Some(Place::Item(file))) => {
                    // A face that only hands on what stands in its folder takes nothing.
                    let is_face = import.public
                        && file.starts_with(folder(node.file))
                        && !node.text.words.contains(name);
                    if !is_face {
                        taken.push((file, import.path[import.path.len() - 1]));
                    }
                }
                // The variants of an enumeration.
                (None, Some(Place::Item(file))) => {
                    taken.push((file, import.path[import.path.len() - 1]));
                }
                (None, Some(Place::Module(from))) => {
                    let words = node.text.words.iter();
                    let strange = words.filter(|word| !self.defines(at, word));
                    taken.extend(strange.filter_map(|word| {
                        match self.look_up(from, word, PathEnd::Item, &mut Asked::new())? {
                            Place::Item(file) => Some((file, *word)),
                            Place::Module(_) | Place::Outside => None,
                        }
                    }));
                }
                _ => {}
            }
        }
        for path in &node.text.paths {
            if let Some(Place::Item(file)) = self.find(at, path, PathEnd::Item, &mut Asked::new()) {
                taken.push((file, self.item_of(at, path)));
            }
        }
        taken
    }

    /// Whether the module has the name without an import of all names.
    fn defines(&self, at: usize, name: &str) -> bool {
        let node = &self.nodes[at];
        let mut imports = node.text.imports.iter();
        node.text.items.contains(name)
            || node.children.contains_key(name)
            || imports.any(|import| import.name == Some(name))
    }

    /// The name of the item in a path, which may go on to a part of it.
    fn item_of(&self, at: usize, path: &[&'t str]) -> &'t str {
        let modules = (1..path.len()).take_while(|end| {
            let found = self.find(at, &path[..*end], PathEnd::Module, &mut Asked::new());
            matches!(found, Some(Place::Module(_)))
        });
        path[modules.count()]
    }

    /// What a path in a module leads to.
    fn find<'n>(
        &'n self,
        at: usize,
        path: &[&'n str],
        wanted: PathEnd,
        asked: &mut Asked<'n>,
    ) -> Option<Place<'t>> {
        let mut place = at;
        for (step, name) in path.iter().enumerate() {
            let is_last = step + 1 == path.len();
            match *name {
                "crate" => {
                    while let Some(parent) = self.nodes[place].parent {
                        place = parent;
                    }
                    continue;
                }
                "self" => continue,
                "super" => {
                    place = self.nodes[place].parent?;
                    continue;
                }
                _ => {}
            }
            let wanted = if is_last { wanted } else { PathEnd::Module };
            match self.look_up(place, name, wanted, asked) {
                Some(Place::Module(module)) => place = module,
                Some(found) => return Some(found),
                // A name that no text shows, such as that of an item which a macro makes.
                None if step > 0 => return Some(Place::Item(self.nodes[place].file)),
                None => return None,
            }
        }
        Some(Place::Module(place))
    }

    /// What a name in a module stands for.
    fn look_up<'n>(
        &'n self,
        at: usize,
        name: &'n str,
        wanted: PathEnd,
        asked: &mut Asked<'n>,
    ) -> Option<Place<'t>> {
        if !asked.insert((at, name, wanted)) {
            return None;
        }
        let node = &self.nodes[at];
        let child = node.children.get(name).copied().map(Place::Module);
        let item = node
            .text
            .items
            .contains(name)
            .then_some(Place::Item(node.file));
        let own = match wanted {
            PathEnd::Module => child,
            PathEnd::Item => item,
        };
        own.or_else(|| {
            let mut imports = node.text.imports.iter();
            let import = imports.find(|import| import.name == Some(name))?;
            let found = self.find(at, &import.path, wanted, asked);
            Some(found.unwrap_or(Place::Outside))
        })
        .or_else(|| {
            let mut all = node
                .text
                .imports
                .iter()
                .filter(|import| import.name.is_none());
            all.find_map(
                |import| match self.find(at, &import.path, PathEnd::Module, asked)? {
                    Place::Module(module) => self.look_up(module, name, wanted, asked),
                    Place::Item(_) | Place::Outside => None,
                },
            )
        })
        .or(child)
        .or(item)
    }
}

/// The folder that holds the modules below a file, with a slash at its end.
fn folder(file: &str) -> &str {
    match file.rsplit_once('/') {
        Some((folder, "mod.rs" | "lib.rs" | "main.rs")) => &file[..=folder.len()],
        _ => file.trim_end_matches(".rs"),
    }
}

/// The files that may hold a module which `file` declares.
fn places(file: &str, name: &str, path: Option<&str>) -> Vec<String> {
    let (beside, last) = file.rsplit_once('/').unwrap_or(("", file));
    if let Some(path) = path {
        let mut parts: Vec<&str> = beside.split('/').collect();
        for part in path.split('/') {
            match part {
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        return vec![parts.join("/")];
    }
    let below = match last {
        "mod.rs" | "lib.rs" | "main.rs" => beside,
        _ => file.trim_end_matches(".rs"),
    };
    // The modules of a root by another name stand beside it.
    [below, beside]
        .iter()
        .flat_map(|folder| {
            [
                format!("{folder}/{name}.rs"),
                format!("{folder}/{name}/mod.rs"),
            ]
        })
        .collect()
}
