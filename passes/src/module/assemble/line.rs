//! The tokens of one line to the words of one instruction, operand by operand as the grammar lays
//! them out.

use super::super::Id;
use super::super::ext::ExtSet;
use super::super::grammar::{self, Values};
use super::super::strings;
use super::number;
use super::token::Token;
use super::token::{self, Wrong};
use rspirv::grammar::{LogicalOperand, OperandKind, OperandQuantifier, ext_inst_table};
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// A scalar type.
#[derive(Copy, Clone, Debug)]
enum Scalar {
    Int(u32),
    Float(u32),
}

/// What is known from the lines so far.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    names: BTreeMap<String, Id>,
    /// Numbers that the text gives to ids itself.
    taken: BTreeSet<u32>,
    next: u32,
    scalars: BTreeMap<u32, Scalar>,
    types: BTreeMap<u32, u32>,
    sets: BTreeMap<u32, (String, ExtSet)>,
}

/// One instruction in the making.
struct Line<'t> {
    tokens: std::slice::Iter<'t, Token<'t>>,
    /// What is still to come; the next one at the end.
    pending: Vec<LogicalOperand>,
    words: Vec<u32>,
    result: Option<u32>,
    opcode: u16,
    /// Where the line ends, for what is missing.
    end: usize,
}

impl Assembler {
    pub(super) fn new(taken: BTreeSet<u32>) -> Self {
        Assembler {
            taken,
            next: 1,
            ..Assembler::default()
        }
    }

    /// Above every id.
    pub(super) fn bound(&self) -> u32 {
        let named = self.names.values().map(|id| id.0).max().unwrap_or(0);
        named.max(self.taken.last().copied().unwrap_or(0)) + 1
    }

    pub(super) fn into_names(self) -> BTreeMap<String, Id> {
        self.names
    }

    fn id(&mut self, token: Token<'_>) -> Result<u32, Wrong> {
        let wrong = |why: &str| (token.column, format!("{:?} {why}", token.text));
        let name = token
            .text
            .strip_prefix('%')
            .filter(|name| !token.quoted && !name.is_empty())
            .ok_or_else(|| wrong("is not an id; ids look like %name"))?;
        if let Some(id) = self.names.get(name) {
            return Ok(id.0);
        }
        let id = if name.bytes().all(|byte| byte.is_ascii_digit()) {
            name.parse()
                .ok()
                .filter(|id| (1..MOST_IDS).contains(id))
                .ok_or_else(|| wrong("is outside of the numbers that ids have"))?
        } else {
            while self.taken.contains(&self.next) {
                self.next += 1;
            }
            let id = self.next;
            self.next += 1;
            if id >= MOST_IDS {
                return Err(wrong("is one id too many"));
            }
            id
        };
        self.names.insert(name.to_owned(), Id(id));
        Ok(id)
    }

    /// The words of the instruction on a line that has at least one token.
    pub(super) fn instruction(&mut self, tokens: &[Token<'_>]) -> Result<Vec<u32>, Wrong> {
        let (result, rest) = match tokens {
            [result, equals, rest @ ..] if equals.text == "=" && !equals.quoted => {
                (Some(*result), rest)
            }
            _ => (None, tokens),
        };
        let end = tokens
            .last()
            .map_or(1, |token| token.column + token.text.len());
        let Some((name, rest)) = rest.split_first() else {
            return Err((end, "no instruction follows the `=`".to_owned()));
        };
        let opcode = name
            .text
            .strip_prefix("Op")
            .filter(|_| !name.quoted)
            .and_then(grammar::opcode);
        let opcode = opcode.ok_or_else(|| {
            (
                name.column,
                format!("there is no instruction {:?}", name.text),
            )
        })?;
        let pattern = grammar::pattern(opcode).unwrap_or(&[]);
        let has_result = pattern
            .iter()
            .any(|operand| operand.kind == OperandKind::IdResult);
        if has_result != result.is_some() {
            let why = if has_result {
                "has a result: write `%name = ` in front"
            } else {
                "has no result"
            };
            return Err((name.column, format!("{} {why}", name.text)));
        }
        let result = result.map(|token| self.id(token)).transpose()?;
        let mut line = Line {
            tokens: rest.iter(),
            pending: pattern.iter().rev().cloned().collect(),
            words: vec![0],
            result,
            opcode,
            end,
        };
        while let Some(operand) = line.pending.pop() {
            self.operand(&mut line, operand)?;
        }
        if let Some(token) = line.tokens.next() {
            return Err((
                token.column,
                format!("{} takes no operand {:?}", name.text, token.text),
            ));
        }
        let count = u16::try_from(line.words.len())
            .map_err(|_| (end, "the instruction has more than 65535 words".to_owned()))?;
        if let Some(first) = line.words.first_mut() {
            *first = u32::from(count) << 16 | u32::from(opcode);
        }
        self.learn(&line);
        Ok(line.words)
    }

    fn operand(&mut self, line: &mut Line<'_>, operand: LogicalOperand) -> Result<(), Wrong> {
        let LogicalOperand { kind, quantifier } = operand.clone();
        if kind == OperandKind::IdResult {
            line.words.extend(line.result);
            return Ok(());
        }
        if quantifier != OperandQuantifier::One && line.tokens.len() == 0 {
            return Ok(());
        }
        if quantifier == OperandQuantifier::ZeroOrMore {
            line.pending.push(operand);
        }
        let one = |kind| LogicalOperand {
            kind,
            quantifier: OperandQuantifier::One,
        };
        match kind {
            OperandKind::PairIdRefIdRef => line
                .pending
                .extend([OperandKind::IdRef, OperandKind::IdRef].map(one)),
            OperandKind::PairIdRefLiteralInteger => line
                .pending
                .extend([OperandKind::LiteralInteger, OperandKind::IdRef].map(one)),
            OperandKind::PairLiteralIntegerIdRef => line.pending.extend(
                [
                    OperandKind::IdRef,
                    OperandKind::LiteralContextDependentNumber,
                ]
                .map(one),
            ),
            _ => {
                let missing = || (line.end, "an operand is missing".to_owned());
                let token = *line.tokens.as_slice().first().ok_or_else(missing)?;
                line.tokens.next();
                self.simple(line, kind, token)?;
            }
        }
        Ok(())
    }

    fn simple(
        &mut self,
        line: &mut Line<'_>,
        kind: OperandKind,
        token: Token<'_>,
    ) -> Result<(), Wrong> {
        let wrong = |what: &str| (token.column, format!("{:?} is not {what}", token.text));
        if let Some(raw) = token.text.strip_prefix('!').filter(|_| !token.quoted) {
            line.words
                .push(number::integer(raw, 32).ok_or_else(|| wrong("a word"))? as u32);
            return Ok(());
        }
        match kind {
            kind if grammar::is_id(kind) => line.words.push(self.id(token)?),
            OperandKind::LiteralString if token.quoted => {
                line.words.extend(string_words(token.text))
            }
            _ if token.quoted => {
                return Err(wrong("an operand for this place, which takes no string"));
            }
            OperandKind::LiteralString => return Err(wrong("a string; strings stand in quotes")),
            OperandKind::LiteralContextDependentNumber => {
                let scalar = self.scalar_of(line).ok_or_else(|| {
                    (
                        token.column,
                        "the type of the number is not known".to_owned(),
                    )
                })?;
                line.words.extend(
                    literal(token.text, scalar).ok_or_else(|| wrong("a number of this type"))?,
                );
            }
            OperandKind::LiteralSpecConstantOpInteger => {
                let name = token.text.strip_prefix("Op").unwrap_or(token.text);
                let opcode = grammar::opcode(name).ok_or_else(|| wrong("an instruction"))?;
                line.words.push(u32::from(opcode));
                let pattern = grammar::pattern(opcode).unwrap_or(&[]).iter().rev();
                line.pending.extend(
                    pattern
                        .filter(|operand| {
                            !matches!(
                                operand.kind,
                                OperandKind::IdResultType | OperandKind::IdResult
                            )
                        })
                        .cloned(),
                );
            }
            OperandKind::LiteralExtInstInteger => {
                let set = line.words.get(3).and_then(|set| self.sets.get(set));
                let (number, pattern) =
                    ext_inst(set, token.text).ok_or_else(|| wrong("an instruction of the set"))?;
                line.words.push(number);
                line.pending.extend(pattern.iter().rev().cloned());
            }
            kind => {
                let value = enumerated(kind, token.text)
                    .ok_or_else(|| wrong(&format!("a value of {kind:?}")))?;
                line.words.push(value);
                if let Some((class, values)) = grammar::parameter_class(kind) {
                    let bits: Vec<u32> = match values {
                        Values::Bits => (0..32)
                            .rev()
                            .map(|bit| 1 << bit)
                            .filter(|bit| value & bit != 0)
                            .collect(),
                        Values::Numbers => vec![value],
                    };
                    line.pending.extend(
                        bits.into_iter()
                            .flat_map(|bit| grammar::parameters(class, bit).iter().rev().cloned()),
                    );
                }
            }
        }
        Ok(())
    }

    /// The type that the next literal has: the result type, or an OpSwitch's selector's.
    fn scalar_of(&self, line: &Line<'_>) -> Option<Scalar> {
        let first = line.words.get(1)?;
        let ty = if line.opcode == spirv::Op::Switch as u16 {
            self.types.get(first)?
        } else {
            first
        };
        self.scalars.get(ty).copied()
    }

    /// Keeps what later lines depend on.
    fn learn(&mut self, line: &Line<'_>) {
        let word = |index: usize| line.words.get(index).copied().unwrap_or(0);
        let Some(result) = line.result else { return };
        match spirv::Op::from_u32(u32::from(line.opcode)) {
            Some(spirv::Op::TypeInt) => self.scalars.extend([(result, Scalar::Int(word(2)))]),
            Some(spirv::Op::TypeFloat) => self.scalars.extend([(result, Scalar::Float(word(2)))]),
            Some(spirv::Op::ExtInstImport) => {
                let name = line.words.get(2..).unwrap_or(&[]);
                self.sets.insert(
                    result,
                    (strings::literal_string(name).0, ExtSet::named(name)),
                );
            }
            _ if grammar::shape(line.opcode).has_type => self.types.extend([(result, word(1))]),
            _ => {} // nothing depends on it
        }
    }
}

fn string_words(text: &str) -> Vec<u32> {
    let mut bytes = token::unescaped(text);
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
        .chunks_exact(4)
        .filter_map(|chunk| chunk.try_into().ok())
        .map(u32::from_le_bytes)
        .collect()
}

/// The words of a literal: narrow integers are extended to 32 bits, wide ones have their low word
/// first (SPIR-V 2.2.1).
fn literal(text: &str, scalar: Scalar) -> Option<Vec<u32>> {
    let (bits, width) = match scalar {
        Scalar::Int(width) => (number::integer(text, width)?, width),
        Scalar::Float(width) => (
            number::float(text, width)
                .or_else(|| number::integer(text, width).filter(|_| width < 16))?,
            width,
        ),
    };
    let words = [bits as u32, (bits >> 32) as u32];
    Some(words.get(..if width > 32 { 2 } else { 1 })?.to_vec())
}

/// A number, a name, or names joined by `|`.
fn enumerated(kind: OperandKind, text: &str) -> Option<u32> {
    if let Some(number) = number::integer(text, 32) {
        return Some(number as u32);
    }
    if kind == OperandKind::LiteralFloat {
        return number::float(text, 32).map(|bits| bits as u32);
    }
    let is_mask = grammar::concrete(kind, 0).is_some() && text.contains('|');
    if is_mask {
        return text
            .split('|')
            .try_fold(0, |all, name| Some(all | grammar::enumerant(kind, name)?));
    }
    grammar::enumerant(kind, text)
}

const ANY: &[LogicalOperand] = &[LogicalOperand {
    kind: OperandKind::IdRef,
    quantifier: OperandQuantifier::ZeroOrMore,
}];

/// Number and operands of an extended instruction; one of an unknown set is a number and ids.
fn ext_inst(
    set: Option<&(String, ExtSet)>,
    text: &str,
) -> Option<(u32, &'static [LogicalOperand])> {
    let named = set
        .and_then(|(name, _)| ext_inst_table(name))
        .and_then(|table| table.iter().find(|inst| inst.opname == text))
        .map(|inst| inst.opcode.into());
    let number = named.or_else(|| number::integer(text, 32).map(|number| number as u32))?;
    let pattern = match set {
        Some((_, set)) if *set != ExtSet::Unknown => set.pattern(number),
        _ => ANY,
    };
    Some((number, pattern))
}

/// Ids stay below this: the universal limit of SPIR-V 2.17.
pub(super) const MOST_IDS: u32 = 0x40_0000;
