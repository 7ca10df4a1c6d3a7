//! Finds the place of an instruction: function, block, source line.

use super::source::Texts;
use super::strings::string_starts_with;
use super::types::is_terminator;
use super::{Block, Declarations, Function, Id, Inst, Module};
use crate::diagnostic::{
    Diagnostic, Diagnostics, LineColumn, Location, SourcePosition, WordOffset,
};
use std::collections::BTreeMap;

impl<'m> Declarations<'m> {
    /// Fills in function, block, instruction text and source position of a diagnostic that has a
    /// word offset. For several, [`Declarations::locate_all`] looks at each instruction and each
    /// source once.
    pub fn locate(&self, diagnostic: &mut Diagnostic) {
        self.locate_each(&mut [diagnostic]);
    }

    /// As [`Declarations::locate`], for all of `diagnostics`.
    pub fn locate_all(&self, diagnostics: &mut Diagnostics) {
        self.locate_each(&mut diagnostics.iter_mut().collect::<Vec<_>>());
    }

    fn locate_each(&self, diagnostics: &mut [&mut Diagnostic]) {
        let words = diagnostics.iter().flat_map(|diagnostic| {
            let passed = diagnostic.witness.iter().map(|step| step.word);
            passed.chain([diagnostic.location.word]).flatten()
        });
        let lines = self.lines_in_force(words.collect());
        let mut texts = Texts::default();
        for diagnostic in diagnostics {
            self.fill(&mut diagnostic.location, &lines, &mut texts);
            for place in &mut diagnostic.witness {
                let inst = place.word.and_then(|word| self.module.at(word));
                place.instruction = inst.map(|inst| self.disassemble(inst));
                let line = place.word.and_then(|word| lines.get(&word));
                place.source = line.and_then(|line| self.position_of(*line, &mut texts));
            }
        }
    }

    /// The places of the instructions at `words`, by word.
    pub fn locations(&self, words: &[WordOffset]) -> BTreeMap<WordOffset, Location> {
        let lines = self.lines_in_force(words.to_vec());
        let mut texts = Texts::default();
        let located = words.iter().map(|word| {
            let mut location = Location {
                word: Some(*word),
                ..Location::default()
            };
            self.fill(&mut location, &lines, &mut texts);
            (*word, location)
        });
        located.collect()
    }

    /// Fills in a location that has a word.
    fn fill(
        &self,
        location: &mut Location,
        lines: &BTreeMap<WordOffset, Lines<'m>>,
        texts: &mut Texts,
    ) {
        let Some(word) = location.word else {
            return;
        };
        if let Some(function) = self.function_at(word) {
            location.function = Some(
                self.name(function.id)
                    .map_or_else(|| function.id.to_string(), str::to_owned),
            );
            location.block = block_at(function, word).map(|block| block.label.to_string());
        }
        if let Some(inst) = self.module.at(word) {
            let (text, marked) = self.disassemble_marking(inst, location.operand);
            location.instruction = Some(text);
            location.marked = marked;
        }
        let line = lines.get(&word);
        location.source = line.and_then(|line| self.position_of(*line, texts));
    }

    /// The function that the instruction at word `word` belongs to.
    pub fn function_at(&self, word: WordOffset) -> Option<&Function<'m>> {
        let after = self
            .functions
            .partition_point(|function| function.offset <= word);
        self.functions
            .get(after.checked_sub(1)?)
            .filter(|function| word <= function.end)
    }

    /// The source position that is in force at the instruction at word `word`: the last OpLine, or
    /// DebugLine of NonSemantic.Shader.DebugInfo.100, before it, unless OpNoLine, DebugNoLine or
    /// the end of a block came later (SPIR-V 3.49.2).
    pub fn source_position(&self, word: WordOffset) -> Option<SourcePosition> {
        let lines = self.lines_in_force(vec![word]);
        self.position_of(*lines.get(&word)?, &mut Texts::default())
    }

    /// The instructions that give the lines in force at `words`, by word. Words of one block cost
    /// one walk over it.
    pub(super) fn lines_in_force(
        &self,
        mut words: Vec<WordOffset>,
    ) -> BTreeMap<WordOffset, Lines<'m>> {
        words.sort_unstable();
        words.dedup();
        let mut lines = BTreeMap::new();
        let (mut block, mut at) = (None, WordOffset::default());
        let (mut line, mut scope) = (None, None);
        for word in words {
            let from = self
                .function_at(word)
                .map_or(WordOffset::FIRST, |function| before_block(function, word));
            if block != Some(from) {
                (block, at) = (Some(from), from);
                (line, scope) = (None, None);
            }
            // A walk goes on at the instruction where the one before has stopped.
            for inst in self.module.instructions_from(at) {
                at = inst.offset;
                match mark_of(inst, self.module) {
                    Some(Mark::Line) => line = Some(inst),
                    Some(Mark::NoLine) => line = None,
                    Some(Mark::Scope) => scope = Some(inst),
                    Some(Mark::NoScope) => scope = None,
                    None => {}
                }
                if inst.offset >= word {
                    break;
                }
                if is_terminator(inst) {
                    (line, scope) = (None, None);
                }
            }
            lines.extend(line.map(|line| (word, Lines { line, scope })));
        }
        lines
    }

    /// What the instruction `line` says.
    fn position_of(&self, lines: Lines<'m>, texts: &mut Texts) -> Option<SourcePosition> {
        let mut position = self.line_of(lines.line, texts)?;
        // A scope has its number, the scope itself, and where it was inlined.
        let inlined = lines.scope.and_then(|scope| scope.operands().get(3));
        position.inlined_at = self.calls(inlined.map(|id| Id(*id)), texts);
        Some(position)
    }

    /// The calls that a DebugInlinedAt leads through, the innermost first.
    fn calls(&self, mut inlined: Option<Id>, texts: &mut Texts) -> Vec<SourcePosition> {
        let mut calls = Vec::new();
        while let Some(inst) = inlined.and_then(|id| self.module.def(id))
            && calls.len() < MOST_CALLS
            && let [set, DEBUG_INLINED_AT, line, scope, rest @ ..] = inst.operands()
            && let Some(line) = self.number(Id(*set), *line)
            && let Some(source) = self.source_of_scope(Id(*scope))
            && let Some(file) = self.debug_source(source)
        {
            calls.push(SourcePosition {
                file: file.to_owned(),
                line,
                column: 0,
                end: None,
                text: texts.line_of_debug_source(self, source, line),
                inlined_at: Vec::new(),
            });
            inlined = rest.first().map(|id| Id(*id));
        }
        calls
    }

    /// The DebugSource of a DebugFunction or a DebugLexicalBlock.
    pub(super) fn source_of_scope(&self, scope: Id) -> Option<Id> {
        match self.module.def(scope)?.operands() {
            [_, DEBUG_FUNCTION, _, _, source, ..] | [_, DEBUG_LEXICAL_BLOCK, source, ..] => {
                Some(Id(*source))
            }
            _ => None, // a scope of another kind
        }
    }

    /// The position that the instruction `line` gives.
    fn line_of(&self, line: Inst<'m>, texts: &mut Texts) -> Option<SourcePosition> {
        let spot = self.spot_of(line)?;
        Some(SourcePosition {
            file: self.string(spot.file)?.to_owned(),
            line: spot.line,
            column: spot.column,
            end: spot.end,
            text: match spot.source {
                Some(source) => texts.line_of_debug_source(self, source, spot.line),
                None => texts.line_of_file(self, spot.file, spot.line),
            },
            inlined_at: Vec::new(),
        })
    }

    /// The spot that the instruction `line` gives; `None` if it is cut short.
    pub(super) fn spot_of(&self, line: Inst<'m>) -> Option<Spot> {
        match (line.op(), line.operands()) {
            (Some(spirv::Op::Line), [file, number, column, ..]) => Some(Spot {
                file: Id(*file),
                line: *number,
                column: *column,
                end: None,
                source: None,
            }),
            (_, [_set, _number, source, number, end, column, rest @ ..]) => {
                let start = LineColumn {
                    line: self.literal(Id(*number))?,
                    column: self.literal(Id(*column))?,
                };
                let end = rest.first().and_then(|column| {
                    Some(LineColumn {
                        line: self.literal(Id(*end))?,
                        column: self.literal(Id(*column))?,
                    })
                });
                Some(Spot {
                    file: self.file_of_debug_source(Id(*source))?,
                    line: start.line,
                    column: start.column,
                    // Compilers that know no end repeat the start, or write 0.
                    end: end.filter(|end| start.column > 0 && *end > start),
                    source: Some(Id(*source)),
                })
            }
            _ => None,
        }
    }

    /// The file name of a DebugSource.
    fn debug_source(&self, id: Id) -> Option<&str> {
        self.string(self.file_of_debug_source(id)?)
    }

    /// The OpString with the file name of a DebugSource.
    pub(super) fn file_of_debug_source(&self, id: Id) -> Option<Id> {
        Some(Id(*self.module.def(id)?.operands().get(2)?))
    }

    /// The operand `operand` of a debug instruction of `set`: shaders have constants for numbers.
    pub(super) fn number(&self, set: Id, operand: u32) -> Option<u32> {
        match debug_set(set, self.module)? {
            DebugSet::Shader => self.literal(Id(operand)),
            DebugSet::OpenCl => Some(operand),
        }
    }

    /// The 32-bit OpConstant `id`: debug instructions take their numbers as constants.
    fn literal(&self, id: Id) -> Option<u32> {
        let inst = self
            .module
            .def(id)
            .filter(|inst| inst.op() == Some(spirv::Op::Constant))?;
        inst.operands().first().copied()
    }
}

/// What an instruction says about source lines.
enum Mark {
    Line,
    NoLine,
    Scope,
    NoScope,
}

/// The debug information in force at an instruction.
#[derive(Copy, Clone)]
pub(super) struct Lines<'m> {
    pub(super) line: Inst<'m>,
    /// A DebugScope.
    pub(super) scope: Option<Inst<'m>>,
}

/// A position in a source file.
#[derive(Copy, Clone)]
pub(super) struct Spot {
    /// The OpString with the file name.
    pub(super) file: Id,
    pub(super) line: u32,
    pub(super) column: u32,
    /// The end of the range, as DebugLine has it.
    end: Option<LineColumn>,
    /// The DebugSource that names the file, if one does.
    source: Option<Id>,
}

/// The most calls of a chain that are looked at: one that leads back to itself has no end.
const MOST_CALLS: usize = 64;

/// A set of debug instructions.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum DebugSet {
    /// NonSemantic.Shader.DebugInfo.100.
    Shader,
    /// OpenCL.DebugInfo.100, whose lines are OpLine's and whose numbers are literals.
    OpenCl,
}

fn debug_set(set: Id, module: &Module<'_>) -> Option<DebugSet> {
    let import = module.def(set)?;
    if is_shader_debug_info(set, module) {
        Some(DebugSet::Shader)
    } else if string_starts_with(import.operands(), b"OpenCL.DebugInfo.100\0") {
        Some(DebugSet::OpenCl)
    } else {
        None // no debug instructions
    }
}

/// Numbers of NonSemantic.Shader.DebugInfo.100; those up to 25 are OpenCL.DebugInfo.100's too.
pub(super) const DEBUG_FUNCTION: u32 = 20;
pub(super) const DEBUG_LEXICAL_BLOCK: u32 = 21;
const DEBUG_SCOPE: u32 = 23;
const DEBUG_NO_SCOPE: u32 = 24;
pub(super) const DEBUG_INLINED_AT: u32 = 25;
const DEBUG_LINE: u32 = 103;
const DEBUG_NO_LINE: u32 = 104;

fn mark_of(inst: Inst<'_>, module: &Module<'_>) -> Option<Mark> {
    match (inst.op()?, inst.operands()) {
        (spirv::Op::Line, _) => Some(Mark::Line),
        (spirv::Op::NoLine, _) => Some(Mark::NoLine),
        (spirv::Op::ExtInst, [set, number, ..]) => {
            let (mark, is_of_shaders) = match *number {
                DEBUG_LINE => (Mark::Line, true),
                DEBUG_NO_LINE => (Mark::NoLine, true),
                DEBUG_SCOPE => (Mark::Scope, false),
                DEBUG_NO_SCOPE => (Mark::NoScope, false),
                _ => return None, // about names and types
            };
            match debug_set(Id(*set), module)? {
                DebugSet::Shader => Some(mark),
                DebugSet::OpenCl => (!is_of_shaders).then_some(mark),
            }
        }
        _ => None, // nothing
    }
}

/// Returns true if `set` is NonSemantic.Shader.DebugInfo.100.
pub(crate) fn is_shader_debug_info(set: Id, module: &Module<'_>) -> bool {
    module.def(set).is_some_and(|import| {
        string_starts_with(import.operands(), b"NonSemantic.Shader.DebugInfo.100\0")
    })
}

/// Where the lines that can be in force at word `word` start: no line outlasts the block before.
fn before_block(function: &Function<'_>, word: WordOffset) -> WordOffset {
    let after = function
        .blocks
        .partition_point(|block| block.terminator().is_some_and(|end| end.offset < word));
    let end = after
        .checked_sub(1)
        .and_then(|before| function.blocks.get(before)?.terminator());
    end.map_or(function.offset, |end| end.offset)
}

/// The block of `function` that the instruction at word `word` belongs to.
fn block_at<'f, 'm>(function: &'f Function<'m>, word: WordOffset) -> Option<&'f Block<'m>> {
    let after = function
        .blocks
        .partition_point(|block| block.offset <= word);
    let block = function.blocks.get(after.checked_sub(1)?)?;
    let last = block.terminator().map_or(block.offset, |inst| inst.offset);
    (word <= last).then_some(block)
}
