//! Writing a new module: instructions are appended, fresh ids handed out, and every instruction
//! remembers where it came from.

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::{Id, Module, WordOffset};

/// Words that a written module may have: 64 MiB.
const MAX_WORDS: usize = 1 << 24;

/// Index of the id bound in the header.
const BOUND: usize = 3;

/// For every instruction of a new module, the instruction of the old one that it came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    /// New and old word offset, ascending by the new one.
    pairs: Vec<(WordOffset, WordOffset)>,
}

impl SourceMap {
    /// The word offset, in the old module, of the instruction from which the one at word `offset`
    /// of the new module was copied, or which it replaces. An offset inside of an instruction
    /// counts as its start.
    pub fn of(&self, offset: WordOffset) -> Option<WordOffset> {
        let after = self.pairs.partition_point(|(new, _)| *new <= offset);
        self.pairs.get(after.checked_sub(1)?).map(|(_, old)| *old)
    }

    /// The same instructions with the places that they had a step earlier: `self` leads to a module
    /// that `earlier` leads on from.
    #[must_use]
    pub fn through(&self, earlier: &SourceMap) -> SourceMap {
        let old = |(new, old): &(WordOffset, WordOffset)| Some((*new, earlier.of(*old)?));
        SourceMap {
            pairs: self.pairs.iter().filter_map(old).collect(),
        }
    }

    /// New and old word offsets of all instructions, in the order of the new module.
    pub fn iter(&self) -> impl Iterator<Item = (WordOffset, WordOffset)> {
        self.pairs.iter().copied()
    }
}

/// A module that a pass has changed.
#[derive(Clone, Debug)]
pub struct RewrittenModule {
    /// The new module.
    pub module: Module<'static>,
    /// The origins of its instructions.
    pub source_map: SourceMap,
}

/// Builds a new module from an old one.
#[derive(Clone, Debug)]
pub struct Writer {
    words: Vec<u32>,
    source_map: Vec<(WordOffset, WordOffset)>,
    bound: u32,
}

impl Writer {
    /// Starts with the header of `module` and no instruction.
    pub fn new(module: &Module<'_>) -> Writer {
        let words = module.words();
        let mut new = Vec::with_capacity(words.len());
        new.extend(words.iter().take(5));
        Writer {
            words: new,
            source_map: Vec::new(),
            bound: module.header().bound,
        }
    }

    /// An id that the old module does not use.
    ///
    /// # Errors
    /// `ModuleTooLarge` when there is none left.
    pub fn fresh(&mut self) -> Result<Id, Diagnostic> {
        let id = Id(self.bound);
        self.bound = self
            .bound
            .checked_add(1)
            .ok_or_else(|| too_large("the module has no free ids"))?;
        Ok(id)
    }

    /// Appends an instruction: all its words, the first with word count and opcode, and the word
    /// offset of its origin in the old module.
    ///
    /// # Errors
    /// `ModuleTooLarge` when the new module gets larger than 2^24 words.
    pub fn push(&mut self, words: &[u32], origin: WordOffset) -> Result<(), Diagnostic> {
        let fits = self.words.len() + words.len() <= MAX_WORDS;
        let (true, Ok(at)) = (fits, u32::try_from(self.words.len())) else {
            return Err(too_large("the module becomes too large")
                .at_word(origin)
                .because(format!("the limit is {MAX_WORDS} words")));
        };
        self.words.extend_from_slice(words);
        self.source_map.push((WordOffset::new(at), origin));
        Ok(())
    }

    /// The new module.
    ///
    /// # Errors
    /// What the reader has against it; that is a bug of the pass.
    pub fn finish(mut self) -> Result<RewrittenModule, Diagnostics> {
        if let Some(bound) = self.words.get_mut(BOUND) {
            *bound = self.bound;
        }
        Ok(RewrittenModule {
            module: Module::from_words(self.words)?,
            source_map: SourceMap {
                pairs: self.source_map,
            },
        })
    }
}

fn too_large(message: &str) -> Diagnostic {
    Diagnostic::error(Code::ModuleTooLarge, message)
        .help("call fewer functions that contain barriers, or make them smaller")
}

/// An instruction of `opcode` with `operands`: the words.
///
/// # Errors
/// `ModuleTooLarge` when they are more than an instruction can have.
pub(super) fn instruction(opcode: spirv::Op, operands: &[u32]) -> Result<Vec<u32>, Diagnostic> {
    numbered(opcode as u32, operands)
}

/// As [`instruction`], for opcodes that the `spirv` crate has no name for.
pub(super) fn numbered(opcode: u32, operands: &[u32]) -> Result<Vec<u32>, Diagnostic> {
    let count = u16::try_from(operands.len() + 1)
        .map_err(|_| too_large("an instruction would need more than 65,535 words"))?;
    let mut words = vec![u32::from(count) << 16 | opcode];
    words.extend_from_slice(operands);
    Ok(words)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(u32, u32)]) -> Vec<(WordOffset, WordOffset)> {
        let new = WordOffset::new;
        pairs
            .iter()
            .map(|(to, from)| (new(*to), new(*from)))
            .collect()
    }

    #[test]
    fn offsets_lead_back() {
        let source_map = SourceMap {
            pairs: pairs(&[(5, 5), (8, 30), (12, 9)]),
        };
        let of = |new| source_map.of(WordOffset::new(new)).map(WordOffset::get);
        let found = [4, 5, 7, 8, 99].map(of);
        assert_eq!(found, [None, Some(5), Some(5), Some(30), Some(9)]);
    }

    #[test]
    fn two_steps_are_one() {
        let first = SourceMap {
            pairs: pairs(&[(5, 5), (8, 30)]),
        };
        let second = SourceMap {
            pairs: pairs(&[(5, 8), (9, 5)]),
        };
        assert_eq!(second.through(&first).pairs, pairs(&[(5, 30), (9, 5)]));
    }

    #[test]
    fn an_instruction_has_a_limit() {
        assert_eq!(
            instruction(spirv::Op::Branch, &[7]).unwrap(),
            [2 << 16 | 249, 7]
        );
        assert_eq!(
            instruction(spirv::Op::Phi, &[0; 65_535]).unwrap_err().code,
            Code::ModuleTooLarge
        );
    }

    #[test]
    fn the_bound_grows_and_the_copy_reads_back() {
        let words = vec![0x0723_0203, 0x0001_0300, 0, 7, 0, 2 << 16 | 17, 1];
        let old = Module::from_words(words).unwrap();
        let mut writer = Writer::new(&old);
        for inst in old.instructions() {
            writer.push(inst.words, inst.offset).unwrap();
        }
        assert_eq!(writer.fresh().unwrap(), Id(7));
        let new = writer.finish().unwrap();
        assert_eq!(new.module.header().bound, 8);
        assert_eq!(new.module.words().get(5..), old.words().get(5..));
        assert_eq!(
            new.source_map.of(WordOffset::FIRST),
            Some(WordOffset::FIRST)
        );
    }
}
