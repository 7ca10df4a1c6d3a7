//! The files of a line table.

use super::quoted;
use splitbar_passes::module::{FilePosition, SourceFile};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// The source files of a compilation, with their numbers.
#[derive(Debug)]
pub(super) struct Files {
    /// The number of the first file: 0 in DWARF 5, where that names the unit, 1 in PTX.
    first: usize,
    is_amd: bool,
    numbers: BTreeMap<Arc<str>, usize>,
    names: Vec<Arc<str>>,
}

impl Files {
    pub(super) fn new(is_amd: bool) -> Files {
        Files {
            first: usize::from(!is_amd),
            is_amd,
            numbers: BTreeMap::new(),
            names: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, name: &Arc<str>) {
        if !self.numbers.contains_key(name) {
            let number = self.first + self.names.len();
            self.names.push(Arc::clone(name));
            self.numbers.insert(Arc::clone(name), number);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of the first file, after which the unit is named.
    pub(super) fn first(&self) -> Option<&str> {
        self.names.first().map(|name| &**name)
    }

    /// File, line and column, as `.loc` has them; line 0 is no place.
    pub(super) fn position(&self, at: Option<&FilePosition>) -> [u64; 3] {
        let known = at.and_then(|at| Some((at, *self.numbers.get(&at.file)?)));
        match known {
            Some((at, file)) => [file as u64, u64::from(at.line), u64::from(at.column)],
            None => [self.first as u64, 0, 0],
        }
    }

    /// Writes the directives that name the files, with the texts of those that have one in
    /// `sources`.
    pub(super) fn write(&self, out: &mut String, sources: &[SourceFile]) {
        for (name, number) in self.names.iter().zip(self.first..) {
            let path = if self.is_amd {
                quoted::string(name)
            } else {
                quoted::ptx_string(name)
            };
            let source = sources.iter().find(|file| *file.name == **name);
            let text = source.map(|file| file.lines.join("\n") + "\n");
            // Writing to a string cannot fail.
            let _ = match text {
                Some(text) => {
                    writeln!(
                        out,
                        "\t.file\t{number} {path} source {}",
                        quoted::string(&text)
                    )
                }
                None => writeln!(out, "\t.file\t{number} {path}"),
            };
        }
    }
}
