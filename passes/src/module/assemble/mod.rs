//! Assembly text to words: the notation of `spirv-as`, for tests, fixtures, and whoever writes
//! modules by hand.
//!
//! One instruction on a line: `%sum = OpIAdd %uint %a %b`. A comment starts with `;`; a comment
//! `; Version: 1.3` sets the version of the header (1.6 without it). Ids are `%` and a name or a
//! number; a number keeps its value, names get the numbers that are left, in the order in which
//! they appear. Enumerants have their names, masks are joined with `|`, numbers are decimal, `0x`
//! or hexadecimal floats; the literal of a constant is read as its type asks for. `!7` is the plain
//! word 7 in the place of any operand. 6142, 6143 and 6141 are known under their EXT and INTEL
//! names.

mod line;
mod number;
mod text;
mod token;

pub use text::AssemblyText;

use super::{Id, Module};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, SourcePosition};
use crate::module::WordOffset;
use line::Assembler;
use line::MOST_IDS;
use std::collections::BTreeMap;
use token::Token;

/// Problems of one text at the most.
const MOST_PROBLEMS: usize = 100;

/// A module out of text.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The words, header included.
    pub words: Vec<u32>,
    /// The line of the text, from 1, for the word offset of each instruction.
    pub lines: BTreeMap<WordOffset, u32>,
    /// The ids by name, without `%`.
    pub names: BTreeMap<String, Id>,
}

impl Assembled {
    /// The module that the words are.
    ///
    /// # Errors
    /// As [`Module::from_words`]: the text can ask for words that are no module.
    pub fn module(&self) -> Result<Module<'static>, Diagnostics> {
        Module::from_words(self.words.clone())
    }
}

/// Assembles `text`.
///
/// # Errors
/// `BadAssembly` for each line that cannot be read, at its line and column; at most a hundred.
pub fn assemble(text: &str) -> Result<Assembled, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let mut version = 6;
    let mut lines: Vec<(u32, Vec<Token<'_>>)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        match token::split(line) {
            Ok(tokens) if tokens.is_empty() => version = token::version(line).unwrap_or(version),
            Ok(tokens) => lines.push((number, tokens)),
            Err((column, message)) => diagnostics.push(problem(number, column, message)),
        }
    }
    let numbers = lines
        .iter()
        .flat_map(|(_, tokens)| tokens)
        .filter_map(|token| token.text.strip_prefix('%')?.parse().ok());
    let mut assembler = Assembler::new(numbers.filter(|id| *id < MOST_IDS).collect());
    let mut words = vec![spirv::MAGIC_NUMBER, 0x0001_0000 | version << 8, 0, 0, 0];
    let mut places = BTreeMap::new();
    for (number, tokens) in &lines {
        if diagnostics.iter().count() >= MOST_PROBLEMS {
            break;
        }
        match assembler.instruction(tokens) {
            Ok(instruction) => {
                let offset = u32::try_from(words.len()).unwrap_or(u32::MAX);
                places.insert(WordOffset::new(offset), *number);
                words.extend(instruction);
            }
            Err((column, message)) => diagnostics.push(problem(*number, column, message)),
        }
    }
    if let Some(bound) = words.get_mut(3) {
        *bound = assembler.bound();
    }
    if diagnostics.is_empty() {
        Ok(Assembled {
            words,
            lines: places,
            names: assembler.into_names(),
        })
    } else {
        Err(diagnostics)
    }
}

fn problem(line: u32, column: usize, message: String) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(Code::BadAssembly, format!("line {line}: {message}"));
    diagnostic.location.source = Some(SourcePosition {
        file: "assembly".to_owned(),
        line,
        column: u32::try_from(column).unwrap_or(u32::MAX),
        end: None,
        text: None,
        inlined_at: Vec::new(),
    });
    diagnostic
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<u32> {
        assemble(text).unwrap().words.split_off(5)
    }

    #[test]
    fn operands_follow_the_grammar() {
        assert_eq!(
            words("OpCapability SplitBarrierEXT"),
            words("OpCapability SplitBarrierINTEL")
        );
        assert_eq!(words("OpCapability SplitBarrierEXT"), [2 << 16 | 17, 6141]);
        assert_eq!(
            words("OpControlBarrierArriveEXT %a %b %c"),
            [4 << 16 | 6142, 1, 2, 3]
        );
        assert_eq!(
            words("OpControlBarrierWaitINTEL %3 %b %c ; x"),
            [4 << 16 | 6143, 3, 1, 2]
        );
        assert_eq!(words("OpMemoryModel Logical GLSL450"), [3 << 16 | 14, 0, 1]);
        assert_eq!(
            words("OpExecutionMode %1 LocalSize 8 0x10 1"),
            [6 << 16 | 16, 1, 17, 8, 16, 1]
        );
        assert_eq!(
            words("%1 = OpLoad %2 %3 Volatile|Aligned 4"),
            [6 << 16 | 61, 2, 1, 3, 3, 4]
        );
        assert_eq!(
            words("OpName %1 \"a;b\\\"\""),
            [4 << 16 | 5, 1, u32::from_le_bytes(*b"a;b\""), 0]
        );
        assert_eq!(
            words("OpMemberDecorate %1 0 Offset !9"),
            [5 << 16 | 72, 1, 0, 35, 9]
        );
    }

    #[test]
    fn literals_are_read_as_their_type_asks_for() {
        let int = "%i = OpTypeInt 32 1\n%l = OpTypeInt 64 0\n%f = OpTypeFloat 32\n%d = OpTypeFloat 64\n%h = OpTypeFloat 16\n";
        let last = |line: &str| words(&format!("{int}{line}")).split_off(20);
        assert_eq!(last("%c = OpConstant %i -1"), [u32::MAX]);
        assert_eq!(last("%c = OpConstant %l 0x100000002"), [2, 1]);
        assert_eq!(last("%c = OpConstant %f 1.5"), [0x3fc0_0000]);
        assert_eq!(last("%c = OpConstant %f 0x1p+128"), [0x7f80_0000]);
        assert_eq!(last("%c = OpConstant %f -0x1.8p-2"), [0xbec0_0000]);
        assert_eq!(last("%c = OpConstant %d 1"), [0, 0x3ff0_0000]);
        assert_eq!(last("%c = OpConstant %h 0x1p+0"), [0x3c00]);
        assert_eq!(last("%c = OpSpecConstantOp %i IAdd %x %y"), [128, 7, 8]);
    }

    #[test]
    fn switches_have_literals_as_wide_as_their_selector() {
        let text = "%l = OpTypeInt 64 0\n%u = OpUndef %l\nOpSwitch %u %d 5 %c";
        assert_eq!(words(text).split_off(7), [6 << 16 | 251, 2, 3, 5, 0, 4]);
    }

    #[test]
    fn the_version_is_a_comment() {
        assert_eq!(
            assemble("; Version: 1.3\nOpNop").unwrap().words[1],
            0x0001_0300
        );
        assert_eq!(assemble("OpNop").unwrap().words[1], 0x0001_0600);
    }

    #[test]
    fn every_wrong_line_is_named() {
        let text = "OpNop\nOpNoSuch\n%1 = OpNop\nOpCapability NoSuch\nOpCapability\nOpNop %1\nOpName %1 \"a\nOpName %99999999 \"a\"\nOpExecutionMode 5 LocalSize 1 1 1\nOpTypeVoid\n%v = OpTypeInt x 0";
        let problems = assemble(text).unwrap_err();
        let mut lines: Vec<u32> = problems
            .iter()
            .map(|p| p.location.source.as_ref().unwrap().line)
            .collect();
        lines.sort_unstable();
        assert_eq!(lines, (2..=11).collect::<Vec<u32>>(), "{problems}");
    }
}
