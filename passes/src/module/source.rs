//! The source text that a module carries, line by line: OpSource with its continuations, and
//! DebugSource.

use super::{Declarations, ExtInstSet, Id, Inst};
use spirv::Op;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of source text that are looked at.
const MOST_BYTES: usize = 1 << 20;

/// Index of the file in OpSource, and of the text behind it.
const FILE: usize = 2;
const TEXT: usize = 3;

/// Longest line that is shown, in bytes: there may be as many diagnostics as lines.
const MOST_OF_LINE: usize = 1 << 12;

/// The lines of one text, as its author has numbered them.
type Lines = Vec<String>;

/// Texts that have been looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct Texts {
    /// By the file that an OpSource names.
    files: Option<BTreeMap<Id, Lines>>,
    /// By the OpString of the text of a DebugSource.
    strings: BTreeMap<Id, Lines>,
}

impl Texts {
    /// Line `number` (1-based) of the text that OpSource gives for `file`.
    pub(super) fn line_of_file(
        &mut self,
        declarations: &Declarations<'_>,
        file: Id,
        number: u32,
    ) -> Option<String> {
        let files = self.files.get_or_insert_with(|| files(declarations));
        numbered(files.get(&file)?, number)
    }

    /// Line `number` of the text of the DebugSource `id`.
    pub(super) fn line_of_debug_source(
        &mut self,
        declarations: &Declarations<'_>,
        id: Id,
        number: u32,
    ) -> Option<String> {
        let text = Id(*declarations.module.def(id)?.operands().get(TEXT)?);
        let text_lines = match self.strings.entry(text) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(slot) => slot.insert(lines(declarations.string(text)?)),
        };
        numbered(text_lines, number)
    }
}

/// A source file that a module carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name.
    pub name: String,
    /// Its lines, as its author has numbered them, from line 1 on.
    pub lines: Vec<String>,
}

impl Declarations<'_> {
    /// The source files whose text the module carries: those of OpSource in the order of their ids,
    /// then those of DebugSource. A name that comes twice has its first text.
    /// Texts of DebugSource are left out where they have more than a megabyte together.
    pub fn source_files(&self) -> Vec<SourceFile> {
        let mut all: BTreeSet<&str> = BTreeSet::new();
        let mut kept: Vec<SourceFile> = Vec::new();
        for (file, lines) in files(self) {
            let name = self.string(file).unwrap_or_default();
            if all.insert(name) {
                let name = name.to_owned();
                kept.push(SourceFile { name, lines });
            }
        }
        let mut room = MOST_BYTES;
        for inst in self.module.instructions() {
            if let (Some(Op::ExtInst), [set, DEBUG_SOURCE, file, text, ..]) =
                (inst.op(), inst.operands())
                && self.ext_inst_sets.get(&Id(*set)) == Some(&ExtInstSet::NonSemantic)
                && let Some(text) = self.string(Id(*text))
                && let Some(left) = room.checked_sub(text.len())
                && let name = self.string(Id(*file)).unwrap_or_default()
                && all.insert(name)
            {
                room = left;
                kept.push(SourceFile {
                    name: name.to_owned(),
                    lines: lines(text),
                });
            }
        }
        kept.retain(|file| !file.lines.is_empty());
        kept
    }
}

/// The number of DebugSource in NonSemantic.Shader.DebugInfo.100 and OpenCL.DebugInfo.100.
const DEBUG_SOURCE: u32 = 35;

/// The texts of all OpSource, by file; the first one of each file counts.
fn files(declarations: &Declarations<'_>) -> BTreeMap<Id, Lines> {
    let mut texts: BTreeMap<Id, String> = BTreeMap::new();
    let mut open = None; // the file whose continuations follow
    let before_names = declarations.module.instructions();
    for inst in before_names.take_while(|inst| is_before_names(*inst)) {
        match (inst.op(), open) {
            (Some(Op::Source), _) => {
                let file = inst.id(FILE).ok().filter(|file| !texts.contains_key(file));
                open = file.filter(|_| inst.operands().len() > TEXT);
                texts.extend(file.map(|file| (file, String::new())));
                if let Some(text) = open.and_then(|file| texts.get_mut(&file)) {
                    text.push_str(&inst.string(TEXT));
                }
            }
            (Some(Op::SourceContinued), Some(file)) => {
                if let Some(text) = texts.get_mut(&file).filter(|text| text.len() <= MOST_BYTES) {
                    text.push_str(&inst.string(0));
                }
            }
            _ => open = None,
        }
    }
    texts
        .into_iter()
        .map(|(file, text)| (file, lines(&text)))
        .collect()
}

/// Line `number` of `lines`, unless it is very long.
fn numbered(lines: &Lines, number: u32) -> Option<String> {
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    let line = lines.get(index)?;
    (line.len() <= MOST_OF_LINE).then(|| line.clone())
}

/// Returns true if `inst` stands in front of the names (SPIR-V 2.4): the sources do too.
fn is_before_names(inst: Inst<'_>) -> bool {
    matches!(
        inst.op(),
        Some(
            Op::Capability
                | Op::Extension
                | Op::ExtInstImport
                | Op::MemoryModel
                | Op::EntryPoint
                | Op::ExecutionMode
                | Op::ExecutionModeId
                | Op::String
                | Op::Source
                | Op::SourceExtension
                | Op::SourceContinued
        )
    )
}

/// glslang puts comments about itself and a #line in front of the text.
fn lines(text: &str) -> Lines {
    let mut lines = text.lines().peekable();
    while lines
        .next_if(|line| line.starts_with("// OpModuleProcessed "))
        .is_some()
    {}
    lines.next_if(|line| *line == "#line 1");
    lines.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_author() {
        let text = "// OpModuleProcessed entry-point main\n#line 1\nfirst\nsecond";
        let line = |text, number| numbered(&lines(text), number);
        assert_eq!(line(text, 2).as_deref(), Some("second"));
        assert_eq!(line("first\r\nsecond", 1).as_deref(), Some("first"));
        assert_eq!((line(text, 0), line(text, 3)), (None, None));
        let long = "x".repeat(MOST_OF_LINE + 1);
        assert_eq!(line(&long, 1), None);
    }
}
