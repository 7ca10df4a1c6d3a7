//! The text of a module, for the places of its problems and for the edits that fix them.

use super::token::{self, Token};
use super::{Assembled, number};
use crate::diagnostic::{Change, Diagnostic, Edit, LineColumn, SourcePosition, WordOffset};
use std::collections::BTreeMap;

/// The text that a module was assembled from.
///
/// A module without debug information has no source. If it was written as assembly text, that text
/// is its source, and [`AssemblyText::place`] gives diagnostics their lines and columns in it.
#[derive(Clone, Debug)]
pub struct AssemblyText {
    file: String,
    lines: Vec<String>,
    places: BTreeMap<WordOffset, u32>,
}

/// An instruction of the text.
struct Line<'t> {
    /// Its line, from 1.
    number: u32,
    text: &'t str,
    tokens: Vec<Token<'t>>,
}

impl AssemblyText {
    /// The `text` of the file `file`, which `assembled` was made from.
    pub fn new(file: impl Into<String>, text: &str, assembled: &Assembled) -> Self {
        AssemblyText {
            file: file.into(),
            lines: text.lines().map(str::to_owned).collect(),
            places: assembled.lines.clone(),
        }
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Fills in the position in this text for `problem` and its witness, where the module has no
    /// debug information, and the edits of its fixes.
    ///
    /// A problem whose instruction is not at its word in this text, for example because the module
    /// was linked with others, is left alone.
    pub fn place(&self, problem: &mut Diagnostic) {
        for step in &mut problem.witness {
            if let (None, Some(word), Some(instruction)) =
                (&step.source, step.word, &step.instruction)
            {
                step.source = self.position(word, instruction, None);
            }
        }
        let location = &mut *problem.location;
        let (Some(word), Some(instruction)) = (location.word, &location.instruction) else {
            return self.edit(problem, None);
        };
        let Some(line) = self.line(word, instruction) else {
            return;
        };
        let marked = location.marked.map(|span| span.start);
        let operand = marked.and_then(|start| line.operand(instruction, start));
        if location.source.is_none() {
            location.source = Some(self.source(&line, operand));
        }
        self.edit(problem, Some((&line, operand)));
    }

    /// The position of the instruction at `word`, or of its token `operand`.
    fn position(
        &self,
        word: WordOffset,
        instruction: &str,
        operand: Option<Token<'_>>,
    ) -> Option<SourcePosition> {
        Some(self.source(&self.line(word, instruction)?, operand))
    }

    /// The line at `word`, if it has the same opcode as `instruction`.
    fn line(&self, word: WordOffset, instruction: &str) -> Option<Line<'_>> {
        let line = self.numbered(*self.places.get(&word)?)?;
        let given = token::split(instruction).ok()?;
        (opcode(&given)? == opcode(&line.tokens)?).then_some(line)
    }

    fn numbered(&self, number: u32) -> Option<Line<'_>> {
        let text = self.lines.get(number.checked_sub(1)? as usize)?;
        let tokens = token::split(text).ok()?;
        Some(Line {
            number,
            text,
            tokens,
        })
    }

    fn source(&self, line: &Line<'_>, operand: Option<Token<'_>>) -> SourcePosition {
        let (start, end) = line.range(operand);
        SourcePosition {
            file: self.file.clone(),
            line: line.number,
            column: start.column,
            end: Some(end),
            text: Some(line.text.to_owned()),
            inlined_at: Vec::new(),
        }
    }

    /// Fills in the edits of the fixes of `problem`; `at` is its line, and the operand in it.
    fn edit(&self, problem: &mut Diagnostic, at: Option<(&Line<'_>, Option<Token<'_>>)>) {
        let Some(help) = &mut problem.help else {
            return;
        };
        for fix in &mut help.fixes {
            let edits = match (&fix.change, at) {
                (Change::SetOperand { value }, Some((line, Some(operand)))) => {
                    self.set_operand(line, operand, *value)
                }
                (
                    Change::Declare {
                        capability,
                        extension,
                    },
                    _,
                ) => self.declare(capability.as_deref(), extension.as_deref()),
                (Change::SetOperand { .. }, _) => None,
            };
            fix.edits = edits.unwrap_or_default();
        }
    }

    /// Replaces `operand` by a constant with `value` of the same type, which is added if there is
    /// none. `None` if the operand is no integer constant.
    fn set_operand(&self, line: &Line<'_>, operand: Token<'_>, value: u32) -> Option<Vec<Edit>> {
        let is_old = |line: &Line<'_>| line.result().is_some_and(|id| id.text == operand.text);
        let old = self.lines().find(is_old)?;
        let of_type = old.constant()?.0;
        let equal = self.lines().filter(|other| other.number < line.number);
        let equal = equal.filter_map(|other| {
            let (other_type, literal) = other.constant()?;
            let same = other_type.text == of_type.text
                && number::integer(literal.text, 32) == Some(u64::from(value));
            same.then(|| other.result().map(|result| result.text.to_owned()))?
        });
        let (start, end) = line.range(Some(operand));
        let replaced = |text: String| Edit { start, end, text };
        if let Some(name) = equal.into_iter().next() {
            return Some(vec![replaced(name)]);
        }
        let name = self.unused(&format!("%{}_{value}", of_type.text.strip_prefix('%')?));
        Some(vec![
            Edit {
                start: line_start(old.number + 1),
                end: line_start(old.number + 1),
                text: format!("{name} = OpConstant {} {value}\n", of_type.text),
            },
            replaced(name),
        ])
    }

    /// A name that begins with `name` and that no token of the text has.
    fn unused(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self
            .lines()
            .any(|line| line.tokens.iter().any(|token| token.text == name))
        {
            name.push('_');
        }
        name
    }

    /// Adds declarations after the last of their kind.
    fn declare(&self, capability: Option<&str>, extension: Option<&str>) -> Option<Vec<Edit>> {
        let last = |opcode: &str| {
            let lines = self.lines().filter(|line| line.opcode() == Some(opcode));
            lines.last().map(|line| line.number + 1)
        };
        let capabilities = last("OpCapability")
            .or_else(|| Some(self.lines().next()?.number))
            .map(line_start)?;
        let extensions = last("OpExtension").map_or(capabilities, line_start);
        let capability = capability.map(|name| Edit {
            start: capabilities,
            end: capabilities,
            text: format!("OpCapability {name}\n"),
        });
        let extension = extension.map(|name| Edit {
            start: extensions,
            end: extensions,
            text: format!("OpExtension \"{name}\"\n"),
        });
        Some(capability.into_iter().chain(extension).collect())
    }

    /// The lines with an instruction.
    fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.places
            .values()
            .filter_map(|number| self.numbered(*number))
    }
}

impl<'t> Line<'t> {
    fn result(&self) -> Option<Token<'t>> {
        match self.tokens.as_slice() {
            [result, equals, ..] if equals.text == "=" && !equals.quoted => Some(*result),
            _ => None,
        }
    }

    fn opcode(&self) -> Option<&'t str> {
        opcode(&self.tokens)
    }

    /// The type and the literal of an OpConstant.
    fn constant(&self) -> Option<(Token<'t>, Token<'t>)> {
        match self.tokens.as_slice() {
            [_, _, opcode, of_type, literal] if opcode.text == "OpConstant" => {
                Some((*of_type, *literal))
            }
            _ => None,
        }
    }

    /// The token in the place of the one that begins at the byte `start` of `instruction`, this
    /// line in the notation of the disassembler.
    fn operand(&self, instruction: &str, start: usize) -> Option<Token<'t>> {
        let given = token::split(instruction).ok()?;
        let index = given.iter().position(|token| token.column == start + 1)?;
        self.tokens
            .get(index)
            .copied()
            .filter(|_| given.len() == self.tokens.len())
    }

    /// The range of `token`, or of the instruction.
    fn range(&self, token: Option<Token<'_>>) -> (LineColumn, LineColumn) {
        let whole = || Some((*self.tokens.first()?, *self.tokens.last()?));
        let (first, last) = match token {
            Some(token) => (token, token),
            None => whole().unwrap_or((Token::EMPTY, Token::EMPTY)),
        };
        let at = |byte: usize| {
            let characters = self
                .text
                .get(..byte)
                .map_or(byte, |text| text.chars().count());
            LineColumn {
                line: self.number,
                column: u32::try_from(characters + 1).unwrap_or(u32::MAX),
            }
        };
        let quotes = if last.quoted { 2 } else { 0 };
        (
            at(first.column - 1),
            at(last.column - 1 + last.text.len() + quotes),
        )
    }
}

fn opcode<'t>(tokens: &[Token<'t>]) -> Option<&'t str> {
    let name = match tokens {
        [_, equals, name, ..] if equals.text == "=" && !equals.quoted => name,
        [name, ..] => name,
        [] => return None,
    };
    Some(name.text)
}

fn line_start(line: u32) -> LineColumn {
    LineColumn { line, column: 1 }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::assemble;
    use super::*;
    use crate::diagnostic::{Code, Diagnostics};
    use crate::module::Declarations;
    use pretty_assertions::assert_eq;

    const TEXT: &str = "OpCapability Shader\n\
        OpMemoryModel Logical GLSL450 ; the model\n\
        %uint = OpTypeInt 32 0\n\
        %two = OpConstant %uint 2\n\
        %four = OpConstant %uint 4\n\
        \tOpMemoryBarrier %two %four ; é\n";

    fn text() -> AssemblyText {
        AssemblyText::new("a.spvasm", TEXT, &assemble(TEXT).unwrap())
    }

    /// A problem about operand 1 of the OpMemoryBarrier.
    fn problem() -> Diagnostic {
        let assembled = assemble(TEXT).unwrap();
        let module = assembled.module().unwrap();
        let word = *assembled.lines.iter().next_back().unwrap().0;
        let mut problem = Diagnostic::error(Code::ZeroId, "no");
        problem = problem.at_word(word).at_operand(1);
        Declarations::new(&module, &mut Diagnostics::new()).locate(&mut problem);
        problem
    }

    type Place = (u32, u32);

    fn edits(change: Change) -> Vec<(Place, Place, String)> {
        let mut problem = problem().fix(change);
        text().place(&mut problem);
        let edits = problem.fixes()[0].edits.iter();
        edits
            .map(|edit| {
                let place = |at: LineColumn| (at.line, at.column);
                (place(edit.start), place(edit.end), edit.text.clone())
            })
            .collect()
    }

    #[test]
    fn an_operand_has_its_range() {
        let mut problem = problem();
        text().place(&mut problem);
        let source = problem.location.source.unwrap();
        assert_eq!((source.line, source.column), (6, 23));
        assert_eq!(
            source.end,
            Some(LineColumn {
                line: 6,
                column: 28
            })
        );
    }

    #[test]
    fn an_instruction_that_is_not_of_the_text_has_no_place() {
        let mut problem = problem();
        problem.location.instruction = Some("OpNop".to_owned());
        text().place(&mut problem);
        assert_eq!(problem.location.source, None);
    }

    #[test]
    fn an_equal_constant_is_used() {
        let expected = vec![((6, 23), (6, 28), "%two".to_owned())];
        assert_eq!(edits(Change::SetOperand { value: 2 }), expected);
    }

    #[test]
    fn a_constant_is_added() {
        let expected = vec![
            ((6, 1), (6, 1), "%uint_8 = OpConstant %uint 8\n".to_owned()),
            ((6, 23), (6, 28), "%uint_8".to_owned()),
        ];
        assert_eq!(edits(Change::SetOperand { value: 8 }), expected);
    }

    #[test]
    fn declarations_follow_the_last_of_their_kind() {
        let declare = Change::Declare {
            capability: Some("Int64".to_owned()),
            extension: Some("SPV_x".to_owned()),
        };
        let expected = vec![
            ((2, 1), (2, 1), "OpCapability Int64\n".to_owned()),
            ((2, 1), (2, 1), "OpExtension \"SPV_x\"\n".to_owned()),
        ];
        assert_eq!(edits(declare), expected);
    }
}
