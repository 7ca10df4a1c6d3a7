//! Values as expressions over what a kernel is given. Equal expressions have one number, in all
//! modules that share a table.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Characters of a difference.
const MOST_SHOWN: usize = 600;

/// The number of an expression.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Term(pub(crate) u32);

/// The parts of an expression: words that name the operation, and operands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Made {
    words: Vec<u32>,
    operands: Vec<Term>,
}

/// Words that begin expressions which no instruction makes. They are larger than any opcode.
pub(crate) mod head {
    /// A number of up to 64 bits: its type, low word, high word.
    pub(crate) const NUMBER: u32 = 0x1_0000;
    /// A truth value.
    pub(crate) const TRUTH: u32 = 0x1_0001;
    /// An id that means the same in both modules.
    pub(crate) const ID: u32 = 0x1_0002;
    /// The contents of a variable before the first store to it.
    pub(crate) const UNDEFINED: u32 = 0x1_0003;
    /// A composite with one part replaced: the composite, the value, the indices.
    pub(crate) const INSERT: u32 = 0x1_0004;
    /// A part of a composite: the composite, the indices.
    pub(crate) const EXTRACT: u32 = 0x1_0005;
    /// A composite of all of its parts.
    pub(crate) const CONSTRUCT: u32 = 0x1_0006;
    /// A load: where from, and what was stored there before.
    pub(crate) const LOAD: u32 = 0x1_0007;
    /// The contents of shared memory: places and values.
    pub(crate) const CONTENTS: u32 = 0x1_0008;
    /// A pointer: what it leads into, and the indices.
    pub(crate) const POINTER: u32 = 0x1_0009;
    /// The result of an effect: its number.
    pub(crate) const EFFECT: u32 = 0x1_000a;
    /// Memory after a store: the state before, the place and the value.
    pub(crate) const STORED: u32 = 0x1_000b;
    /// The places of a matrix after a pointer: layout and stride.
    pub(crate) const MATRIX: u32 = 0x1_000c;
}

/// All expressions.
#[derive(Default)]
pub(crate) struct Terms {
    numbers: BTreeMap<Made, Term>,
    made: Vec<Made>,
}

impl Terms {
    pub(crate) fn make(&mut self, words: Vec<u32>, operands: Vec<Term>) -> Term {
        let made = Made { words, operands };
        if let Some(known) = self.numbers.get(&made) {
            return *known;
        }
        let term = Term(u32::try_from(self.made.len()).expect("too many expressions"));
        self.made.push(made.clone());
        self.numbers.insert(made, term);
        term
    }

    fn of(&self, term: Term) -> &Made {
        &self.made[term.0 as usize]
    }

    /// A number of a type with so many bits.
    pub(crate) fn number(&mut self, bits: u32, value: u64) -> Term {
        let value = if bits < 64 {
            value & ((1 << bits) - 1)
        } else {
            value
        };
        self.make(
            vec![head::NUMBER, bits, value as u32, (value >> 32) as u32],
            vec![],
        )
    }

    /// The value of a number, with its bits.
    pub(crate) fn as_number(&self, term: Term) -> Option<(u32, u64)> {
        match *self.of(term).words.as_slice() {
            [head::NUMBER, bits, low, high] => Some((bits, u64::from(low) | u64::from(high) << 32)),
            _ => None,
        }
    }

    pub(crate) fn truth(&mut self, value: bool) -> Term {
        self.make(vec![head::TRUTH, u32::from(value)], vec![])
    }

    pub(crate) fn as_truth(&self, term: Term) -> Option<bool> {
        match *self.of(term).words.as_slice() {
            [head::TRUTH, value] => Some(value != 0),
            _ => None,
        }
    }

    /// The condition and both values of an OpSelect.
    pub(crate) fn as_selection(&self, term: Term) -> Option<[Term; 3]> {
        let made = self.of(term);
        let is_selection = made.words.first() == Some(&(spirv::Op::Select as u32));
        match *made.operands.as_slice() {
            [_, condition, then, otherwise] if is_selection => Some([condition, then, otherwise]),
            _ => None,
        }
    }

    /// The base of a pointer and the indices, if `term` is one that was stored as a value.
    pub(crate) fn as_pointer(&self, term: Term) -> Option<(Term, Vec<Term>)> {
        let made = self.of(term);
        let (root, path) = made.operands.split_first()?;
        (made.words == [head::POINTER]).then(|| (*root, path.to_vec()))
    }

    fn are_numbers(&self, path: &[Term]) -> bool {
        path.iter().all(|index| self.as_number(*index).is_some())
    }

    /// The part of a composite that `path` leads to.
    pub(crate) fn extract(&mut self, whole: Term, path: &[Term]) -> Term {
        let Some((first, rest)) = path.split_first() else {
            return whole;
        };
        let made = self.of(whole).clone();
        match made.words.first() {
            Some(&head::CONSTRUCT) => {
                let index = self.as_number(*first).map(|(_, index)| index as usize);
                if let Some(part) = index.and_then(|index| made.operands.get(index)) {
                    return self.extract(*part, rest);
                }
            }
            Some(&head::EXTRACT) => {
                let (inner, begin) = made.operands.split_first().expect("a part of nothing");
                let path = [begin, path].concat();
                return self.make_extract(*inner, &path);
            }
            Some(&head::INSERT) => {
                let [before, value, at @ ..] = made.operands.as_slice() else {
                    unreachable!("a change has a composite and a value")
                };
                if let Some(inside) = path.strip_prefix(at) {
                    let inside = inside.to_vec();
                    return self.extract(*value, &inside);
                }
                let is_apart = at
                    .iter()
                    .zip(path)
                    .any(|(one, other)| one != other && self.are_numbers(&[*one, *other]));
                if is_apart {
                    return self.extract(*before, path);
                }
            }
            _ => {}
        }
        self.make_extract(whole, path)
    }

    fn make_extract(&mut self, whole: Term, path: &[Term]) -> Term {
        self.make(vec![head::EXTRACT], [&[whole], path].concat())
    }

    /// A composite with another value at `path`.
    pub(crate) fn insert(&mut self, whole: Term, path: &[Term], value: Term) -> Term {
        if path.is_empty() {
            return value;
        }
        self.make(vec![head::INSERT], [&[whole, value], path].concat())
    }

    /// An operation on numbers, if all of `operands` are numbers, and it is one of those that count
    /// and compare. `bits`: of the result.
    pub(crate) fn fold(&mut self, op: spirv::Op, bits: u32, operands: &[Term]) -> Option<Term> {
        use spirv::Op;
        if let (Op::LogicalNot, [one]) = (op, operands) {
            let value = self.as_truth(*one)?;
            return Some(self.truth(!value));
        }
        if let (Op::LogicalAnd | Op::LogicalOr, [one, other]) = (op, operands) {
            let (one, other) = (self.as_truth(*one)?, self.as_truth(*other)?);
            return Some(self.truth(if op == Op::LogicalAnd {
                one && other
            } else {
                one || other
            }));
        }
        if let (Op::Select, [condition, one, other]) = (op, operands) {
            return self
                .as_truth(*condition)
                .map(|is| if is { *one } else { *other });
        }
        let [one, other] = *operands else { return None };
        let ((width, a), (_, b)) = (self.as_number(one)?, self.as_number(other)?);
        let signed = |value: u64| {
            let shift = 64 - width;
            ((value << shift) as i64) >> shift
        };
        let number = match op {
            Op::IAdd => Some(a.wrapping_add(b)),
            Op::ISub => Some(a.wrapping_sub(b)),
            Op::IMul => Some(a.wrapping_mul(b)),
            Op::UDiv => a.checked_div(b),
            Op::UMod => a.checked_rem(b),
            Op::BitwiseAnd => Some(a & b),
            Op::BitwiseOr => Some(a | b),
            Op::BitwiseXor => Some(a ^ b),
            Op::ShiftRightLogical => Some(a.checked_shr(b as u32).unwrap_or(0)),
            Op::ShiftLeftLogical => Some(a.checked_shl(b as u32).unwrap_or(0)),
            _ => None,
        };
        if let Some(number) = number {
            return Some(self.number(bits, number));
        }
        let truth = match op {
            Op::IEqual => a == b,
            Op::INotEqual => a != b,
            Op::ULessThan => a < b,
            Op::ULessThanEqual => a <= b,
            Op::UGreaterThan => a > b,
            Op::UGreaterThanEqual => a >= b,
            Op::SLessThan => signed(a) < signed(b),
            Op::SLessThanEqual => signed(a) <= signed(b),
            Op::SGreaterThan => signed(a) > signed(b),
            Op::SGreaterThanEqual => signed(a) >= signed(b),
            _ => return None,
        };
        Some(self.truth(truth))
    }
}

impl Terms {
    /// The variable in the first operand of a pointer that was made a value.
    pub(crate) fn root(&self, root: Term) -> Term {
        self.of(root).operands.first().copied().unwrap_or(root)
    }
}

impl Terms {
    /// Where two expressions differ, as deep in them as the operations are the same.
    pub(crate) fn difference(&self, mut one: Term, mut other: Term) -> String {
        let mut way = String::new();
        loop {
            let (a, b) = (self.of(one), self.of(other));
            let mut pairs = a.operands.iter().zip(&b.operands).enumerate();
            let differing = pairs.find(|(_, (one, other))| one != other);
            let is_same = a.words == b.words && a.operands.len() == b.operands.len();
            match differing.filter(|_| is_same) {
                Some((index, pair)) => {
                    let _ = write!(way, "{:?}[{index}] ", a.words);
                    (one, other) = (*pair.0, *pair.1);
                }
                None => {
                    let sizes = (a.operands.len(), b.operands.len());
                    let _ = write!(way, "{:?} and {:?} of {sizes:?}", a.words, b.words);
                    let begin = way.len().saturating_sub(MOST_SHOWN);
                    return way.get(begin..).unwrap_or_default().to_owned();
                }
            }
        }
    }
}
