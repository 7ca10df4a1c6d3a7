//! The operands of one instruction, each with its kind: the walk that needs the whole grammar.
//!
//! The reader does without it for most instructions. Passes that rename ids, and the disassembler,
//! use it for all.

use super::ext::ExtSet;
use super::grammar::{self, Values};
use super::strings::{has_zero_byte, string_words};
use super::{Id, Inst};
use rspirv::grammar::{LogicalOperand, OperandKind, OperandQuantifier};

/// One operand of an instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Operand<'m> {
    /// Index of its first word in [`Inst::words`]; the opcode word is 0.
    pub index: usize,
    /// Its words; more than one for strings and wide literals.
    pub words: &'m [u32],
    /// What it is. Pairs come as two operands.
    pub(crate) kind: OperandKind,
}

impl Operand<'_> {
    /// The id, if the operand is one (result type and result id included).
    pub fn id(self) -> Option<Id> {
        if grammar::is_id(self.kind) {
            self.words.first().copied().map(Id)
        } else {
            None
        }
    }

    /// Returns true if it is a literal string without its terminating zero byte.
    pub(super) fn is_unterminated(self) -> bool {
        self.kind == OperandKind::LiteralString
            && !self.words.last().is_some_and(|word| has_zero_byte(*word))
    }
}

/// What an instruction's layout can depend on outside of itself.
#[derive(Copy, Clone, Debug)]
pub(super) struct Context {
    /// Words of one OpSwitch literal: 2 when the selector is wider than 32 bits.
    pub switch_words: usize,
    /// The instruction set of an OpExtInst.
    pub ext: ExtSet,
}

/// Walks over the operands of an instruction, result type and result id included.
#[derive(Clone, Debug)]
pub struct Operands<'m> {
    words: &'m [u32],
    at: usize,
    context: Context,
    pattern: &'static [LogicalOperand],
    /// The pattern belongs to OpSpecConstantOp's operation, which has no result of its own.
    nested: bool,
    parameters: &'static [LogicalOperand],
    /// Bits of a mask whose parameters still come, and the mask's class.
    mask: (u8, u32),
    /// The second half of a pair.
    second: Option<OperandKind>,
}

impl<'m> Operands<'m> {
    pub(super) fn new(inst: Inst<'m>, context: Context) -> Self {
        let pattern = grammar::pattern(inst.opcode()).unwrap_or(&[]);
        Operands {
            words: inst.words,
            at: 1,
            context,
            pattern,
            nested: false,
            parameters: &[],
            mask: (0, 0),
            second: None,
        }
    }

    /// The kind of the next operand; words that no rule of the grammar covers are literals.
    fn next_kind(&mut self) -> OperandKind {
        if let Some(kind) = self.second.take() {
            return kind;
        }
        loop {
            if let Some(kind) = take(&mut self.parameters) {
                return kind;
            }
            let (class, bits) = self.mask;
            if bits == 0 {
                break;
            }
            let lowest = bits & bits.wrapping_neg();
            self.mask = (class, bits & !lowest);
            self.parameters = grammar::parameters(class, lowest);
        }
        loop {
            match take(&mut self.pattern) {
                Some(OperandKind::IdResultType | OperandKind::IdResult) if self.nested => {}
                Some(kind) => return kind,
                None => return OperandKind::LiteralInteger,
            }
        }
    }
}

/// The next kind of `pattern`; one that repeats stays.
fn take(pattern: &mut &'static [LogicalOperand]) -> Option<OperandKind> {
    let (first, rest) = pattern.split_first()?;
    if first.quantifier != OperandQuantifier::ZeroOrMore {
        *pattern = rest;
    }
    Some(first.kind)
}

impl<'m> Iterator for Operands<'m> {
    type Item = Operand<'m>;

    fn next(&mut self) -> Option<Operand<'m>> {
        let rest = self.words.get(self.at..).filter(|rest| !rest.is_empty())?;
        let value = rest.first().copied().unwrap_or(0);
        let mut kind = self.next_kind();
        let mut len = 1;
        match kind {
            OperandKind::PairIdRefIdRef => {
                (kind, self.second) = (OperandKind::IdRef, Some(OperandKind::IdRef))
            }
            OperandKind::PairIdRefLiteralInteger => {
                (kind, self.second) = (OperandKind::IdRef, Some(OperandKind::LiteralInteger))
            }
            OperandKind::PairLiteralIntegerIdRef => {
                (kind, self.second) = (OperandKind::LiteralInteger, Some(OperandKind::IdRef));
                len = self.context.switch_words;
            }
            OperandKind::LiteralString => len = string_words(rest),
            OperandKind::LiteralContextDependentNumber => len = rest.len(),
            OperandKind::LiteralSpecConstantOpInteger => {
                self.nested = true;
                self.pattern = u16::try_from(value)
                    .ok()
                    .and_then(grammar::pattern)
                    .unwrap_or(&[]);
            }
            OperandKind::LiteralExtInstInteger => self.pattern = self.context.ext.pattern(value),
            other => {
                if let Some((class, values)) = grammar::parameter_class(other) {
                    match values {
                        Values::Bits => self.mask = (class, value),
                        Values::Numbers => self.parameters = grammar::parameters(class, value),
                    }
                }
            }
        }
        let words = rest.get(..len).unwrap_or(rest);
        let index = self.at;
        self.at += words.len();
        Some(Operand { index, words, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::WordOffset;

    const PLAIN: Context = Context {
        switch_words: 1,
        ext: ExtSet::Unknown,
    };

    fn kinds(words: &[u32], context: Context) -> Vec<(OperandKind, usize)> {
        Operands::new(
            Inst {
                offset: WordOffset::FIRST,
                words,
            },
            context,
        )
        .map(|operand| (operand.kind, operand.words.len()))
        .collect()
    }

    #[test]
    fn parameters_of_a_mask_come_in_the_order_of_its_bits() {
        // OpLoad with Aligned 4 and MakePointerVisible %9.
        let words = [7 << 16 | 61, 1, 2, 3, 0x2 | 0x10, 4, 9];
        use OperandKind as K;
        let expected = [
            (K::IdResultType, 1),
            (K::IdResult, 1),
            (K::IdRef, 1),
            (K::MemoryAccess, 1),
            (K::LiteralInteger, 1),
            (K::IdScope, 1),
        ];
        assert_eq!(kinds(&words, PLAIN), expected);
    }

    #[test]
    fn switch_literals_can_be_two_words() {
        let words = [6 << 16 | 251, 1, 2, 7, 0, 3];
        use OperandKind as K;
        assert_eq!(
            kinds(
                &words,
                Context {
                    switch_words: 2,
                    ext: ExtSet::Unknown
                }
            ),
            [
                (K::IdRef, 1),
                (K::IdRef, 1),
                (K::LiteralInteger, 2),
                (K::IdRef, 1)
            ]
        );
    }

    #[test]
    fn the_operation_of_a_specialization_constant_brings_its_operands() {
        let words = [6 << 16 | 52, 1, 2, 81, 3, 0]; // CompositeExtract %3 0
        use OperandKind as K;
        let expected = [
            (K::IdResultType, 1),
            (K::IdResult, 1),
            (K::LiteralSpecConstantOpInteger, 1),
            (K::IdRef, 1),
            (K::LiteralInteger, 1),
        ];
        assert_eq!(kinds(&words, PLAIN), expected);
    }
}
