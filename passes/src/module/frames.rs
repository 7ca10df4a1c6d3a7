//! The functions and source positions of instructions, for the debug information of code.

use super::locate::{DEBUG_FUNCTION, DEBUG_INLINED_AT, DEBUG_LEXICAL_BLOCK, Lines};
use super::{Declarations, Id};
use crate::diagnostic::WordOffset;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A position in a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePosition {
    /// The file name.
    pub file: Arc<str>,
    /// The line, 1-based.
    pub line: u32,
    /// The column, 1-based; 0 if the module has none.
    pub column: u32,
}

/// A function of the source that an instruction belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    /// The name of the function.
    pub function: Arc<str>,
    /// The position in it: of the instruction, or of the call of the frame before.
    pub at: FilePosition,
}

/// The most frames of one instruction. A chain of calls that leads back to itself has no end.
const MOST_FRAMES: usize = 16;

/// The most scopes around a scope.
const MOST_SCOPES: usize = 64;

/// Longest name of a function that is kept, in bytes.
const MOST_OF_NAME: usize = 1 << 10;

impl<'m> Declarations<'m> {
    /// The functions of the instructions at `words`, by word, the innermost first: the source's
    /// functions if the module records inlining (DebugInlinedAt), otherwise the function of the
    /// module. Words without a source position are left out.
    pub fn frames(&self, words: &[WordOffset]) -> BTreeMap<WordOffset, Vec<Frame>> {
        let mut names = Names::default();
        let lines = self.lines_in_force(words.to_vec());
        let frames = lines.into_iter().filter_map(|(word, lines)| {
            let frames = self.frames_of(word, lines, &mut names)?;
            Some((word, frames))
        });
        frames.collect()
    }

    /// The name of a function as its author wrote it: glslang adds the types of its parameters.
    pub fn source_function_name(&self, function: Id) -> Option<&str> {
        let name = self.name(function)?;
        let plain = name.split('(').next().filter(|plain| !plain.is_empty());
        plain.or(Some(name))
    }

    fn frames_of(
        &self,
        word: WordOffset,
        lines: Lines<'m>,
        names: &mut Names,
    ) -> Option<Vec<Frame>> {
        let spot = self.spot_of(lines.line)?;
        let scope = lines.scope.map_or(&[][..], |scope| scope.operands());
        let named = scope.get(2).and_then(|scope| self.function_of(Id(*scope)));
        let function = match named {
            Some(name) => names.string(self, name)?,
            None => {
                let function = self.function_at(word)?.id;
                names.kept(
                    function,
                    self.source_function_name(function).unwrap_or_default(),
                )
            }
        };
        let mut frames = vec![Frame {
            function,
            at: FilePosition {
                file: names.string(self, spot.file)?,
                line: spot.line,
                column: spot.column,
            },
        }];
        let mut inlined = scope.get(3).map(|id| Id(*id));
        while let Some(inst) = inlined.and_then(|id| self.module.def(id))
            && frames.len() < MOST_FRAMES
            && let [set, DEBUG_INLINED_AT, line, scope, rest @ ..] = inst.operands()
            && let Some(line) = self.number(Id(*set), *line)
            && let Some(source) = self.source_of_scope(Id(*scope))
            && let Some(file) = self.file_of_debug_source(source)
            && let Some(file) = names.string(self, file)
            && let Some(function) = self.function_of(Id(*scope))
            && let Some(function) = names.string(self, function)
        {
            let at = FilePosition {
                file,
                line,
                column: 0,
            };
            frames.push(Frame { function, at });
            inlined = rest.first().map(|id| Id(*id));
        }
        Some(frames)
    }

    /// The OpString with the name of the DebugFunction that a scope is or lies in.
    fn function_of(&self, mut scope: Id) -> Option<Id> {
        for _ in 0..MOST_SCOPES {
            scope = match self.module.def(scope)?.operands() {
                [_, DEBUG_FUNCTION, name, ..] => return Some(Id(*name)),
                [_, DEBUG_LEXICAL_BLOCK, _, _, _, parent, ..] => Id(*parent),
                _ => return None, // a scope of another kind
            };
        }
        None
    }
}

/// The names that are known already, by the id of their OpString or function.
#[derive(Default)]
struct Names(BTreeMap<Id, Arc<str>>);

impl Names {
    fn string(&mut self, declarations: &Declarations<'_>, id: Id) -> Option<Arc<str>> {
        let text = declarations.string(id)?;
        Some(self.kept(id, text))
    }

    fn kept(&mut self, id: Id, text: &str) -> Arc<str> {
        let name = self.0.entry(id);
        let end = crate::boundary::floor(text, MOST_OF_NAME);
        Arc::clone(name.or_insert_with(|| Arc::from(text.get(..end).unwrap_or_default())))
    }
}
