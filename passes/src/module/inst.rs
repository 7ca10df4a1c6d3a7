//! One instruction as a slice of the module's words.

use super::grammar;
use super::strings::literal_string;
use crate::diagnostic::{Code, Diagnostic, WordOffset};
use std::fmt;

/// A result id. Zero is never valid; the reader refuses it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub u32);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// An instruction: where it starts, and its words (the first holds word count and opcode).
#[derive(Copy, Clone, Debug)]
pub struct Inst<'m> {
    /// Offset of the first word, in words from the start of the module.
    pub offset: WordOffset,
    /// All words of the instruction; never empty.
    pub words: &'m [u32],
}

impl<'m> Inst<'m> {
    /// The opcode number.
    #[inline]
    pub fn opcode(self) -> u16 {
        (self.words.first().copied().unwrap_or(0) & 0xffff) as u16
    }

    /// The opcode as the `spirv` crate names it, if it knows it. 6142 and 6143 come back under
    /// their INTEL names.
    #[inline]
    pub fn op(self) -> Option<spirv::Op> {
        grammar::shape(self.opcode()).op
    }

    /// The result type, if the grammar gives this opcode one.
    #[inline]
    pub fn result_type(self) -> Option<Id> {
        if grammar::shape(self.opcode()).has_type {
            self.words.get(1).copied().map(Id)
        } else {
            None
        }
    }

    /// The result id, if the grammar gives this opcode one.
    #[inline]
    pub fn result(self) -> Option<Id> {
        let shape = grammar::shape(self.opcode());
        if shape.has_result {
            self.words
                .get(1 + usize::from(shape.has_type))
                .copied()
                .map(Id)
        } else {
            None
        }
    }

    /// The operand words after result type and result id.
    #[inline]
    pub fn operands(self) -> &'m [u32] {
        let shape = grammar::shape(self.opcode());
        let skip = 1 + usize::from(shape.has_type) + usize::from(shape.has_result);
        self.words.get(skip..).unwrap_or(&[])
    }

    /// The operand words from `index` on; none when the instruction ends before.
    pub fn operands_from(self, index: usize) -> &'m [u32] {
        self.operands().get(index..).unwrap_or(&[])
    }

    /// Operand word `index` (0 is the first after the result id).
    ///
    /// # Errors
    /// `MissingOperand` when the instruction ends before it.
    pub fn operand(self, index: usize) -> Result<u32, Diagnostic> {
        self.operands().get(index).copied().ok_or_else(|| {
            Diagnostic::error(
                Code::MissingOperand,
                format!("{} has no operand {index}", self.name()),
            )
            .at_word(self.offset)
        })
    }

    /// Operand `index` as an id.
    ///
    /// # Errors
    /// As [`Inst::operand`].
    pub fn id(self, index: usize) -> Result<Id, Diagnostic> {
        self.operand(index).map(Id)
    }

    /// The literal string that starts at operand word `index`; empty when the instruction ends
    /// before it. Bytes that are no UTF-8 are replaced.
    pub fn string(self, index: usize) -> String {
        literal_string(self.operands().get(index..).unwrap_or(&[])).0
    }

    /// The name with its `Op` prefix; an unknown opcode is `Op` and its number. 6142 and 6143 have
    /// their EXT names here; [`super::Declarations::op_name`] gives the module's own alias.
    pub fn name(self) -> String {
        grammar::name(self.opcode())
    }
}
