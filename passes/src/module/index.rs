//! One pass over the words: where instructions start, which one defines each id, and what is wrong
//! with the binary form.

use super::ext::ExtSet;
use super::grammar::{self, Shape, Tail};
use super::operands::{Context, Operands};
use super::report::Report;
use super::strings::has_zero_byte;
use super::{Id, Inst};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, WordOffset};
use std::collections::{BTreeMap, HashMap};

/// Words of the header.
pub(super) const HEADER_WORDS: usize = 5;

/// Where instructions start and ids are defined.
#[derive(Clone, Debug)]
pub(super) struct Index {
    definitions: Definitions,
    /// Bit `i % 64` of element `i / 64`: an instruction starts at word `i`.
    starts: Vec<u64>,
    /// OpExtInstImport by id.
    sets: BTreeMap<u32, ExtSet>,
    /// Words 1 and 2 of instructions that no table knows, with the first place of each: the result
    /// is one of them, if there is one.
    guesses: BTreeMap<u32, WordOffset>,
}

/// Id to word offset of the defining instruction; 0, the offset of the header, stands for none.
#[derive(Clone, Debug)]
enum Definitions {
    /// By id, when the bound is not larger than the module has words.
    Dense(Vec<u32>),
    /// Looked up, never iterated; for modules whose bound is absurd.
    Sparse(HashMap<u32, u32>),
}

impl Definitions {
    #[inline]
    fn get(&self, id: u32) -> u32 {
        match self {
            Definitions::Dense(offsets) => offsets.get(id as usize).copied().unwrap_or(0),
            Definitions::Sparse(offsets) => offsets.get(&id).copied().unwrap_or(0),
        }
    }

    /// Notes that `id` is defined at `offset`; the offset of an earlier definition, or 0.
    fn define(&mut self, id: u32, offset: u32) -> u32 {
        match self {
            Definitions::Dense(offsets) => match offsets.get_mut(id as usize) {
                Some(slot) if *slot == 0 => std::mem::replace(slot, offset),
                Some(slot) => *slot,
                None => 0,
            },
            Definitions::Sparse(offsets) => {
                let slot = offsets.entry(id).or_insert(0);
                if *slot == 0 {
                    std::mem::replace(slot, offset)
                } else {
                    *slot
                }
            }
        }
    }
}

impl Index {
    /// Indexes `words`, which start with a whole header. Everything that is wrong goes to
    /// `diagnostics`.
    pub(super) fn build(words: &[u32], diagnostics: &mut Diagnostics) -> Index {
        let bound = words.get(3).copied().unwrap_or(0);
        let definitions = if bound as usize <= words.len() {
            Definitions::Dense(vec![0; bound as usize])
        } else {
            Definitions::Sparse(HashMap::new())
        };
        let index = Index {
            definitions,
            starts: vec![0; words.len().div_ceil(64)],
            sets: BTreeMap::new(),
            guesses: BTreeMap::new(),
        };
        let mut scan = Scan {
            words,
            bound,
            index,
            report: Report::new(diagnostics),
        };
        scan.run();
        scan.index
    }

    /// The instruction that starts at word `offset` of `words`.
    pub(super) fn at<'m>(&self, words: &'m [u32], offset: WordOffset) -> Option<Inst<'m>> {
        let at = offset.index();
        let bits = self.starts.get(at / 64)?;
        if bits >> (at % 64) & 1 == 0 {
            return None;
        }
        let count = (words.get(at)? >> 16) as usize;
        Some(Inst {
            offset,
            words: words.get(at..at + count)?,
        })
    }

    /// Word offset of the instruction that defines `id`.
    #[inline]
    pub(super) fn definition(&self, id: u32) -> Option<WordOffset> {
        match self.definitions.get(id) {
            0 => None,
            offset => Some(WordOffset::new(offset)),
        }
    }

    /// The instruction of `words` that may define `id`, which nothing else defines: no table knows
    /// it.
    pub(super) fn guess<'m>(&self, words: &'m [u32], id: u32) -> Option<Inst<'m>> {
        self.at(words, *self.guesses.get(&id)?)
    }

    /// The instruction of `words` that defines `id`.
    pub(super) fn def<'m>(&self, words: &'m [u32], id: u32) -> Option<Inst<'m>> {
        match self.definitions.get(id) {
            0 => None,
            offset => self.at(words, WordOffset::new(offset)),
        }
    }

    /// What the layout of `inst` depends on outside of itself.
    pub(super) fn context(&self, words: &[u32], inst: Inst<'_>) -> Context {
        let mut context = Context {
            switch_words: 1,
            ext: ExtSet::Unknown,
        };
        match inst.op() {
            Some(spirv::Op::Switch) => {
                context.switch_words = self.switch_words(words, inst).unwrap_or(1)
            }
            Some(spirv::Op::ExtInst | spirv::Op::ExtInstWithForwardRefsKHR) => {
                context.ext = self.ext_set(inst)
            }
            _ => {} // the layout of every other instruction stands in its own words
        }
        context
    }

    /// The set that an OpExtInst names.
    pub(super) fn ext_set(&self, inst: Inst<'_>) -> ExtSet {
        let import = inst.words.get(3).and_then(|set| self.sets.get(set));
        import.copied().unwrap_or(ExtSet::Unknown)
    }

    fn switch_words(&self, words: &[u32], inst: Inst<'_>) -> Option<usize> {
        let selector = self.def(words, *inst.words.get(1)?)?;
        let ty = self.def(words, selector.result_type()?.0)?;
        let width = if ty.op() == Some(spirv::Op::TypeInt) {
            *ty.words.get(2)?
        } else {
            return None;
        };
        Some(if width > 32 { 2 } else { 1 })
    }
}

/// The pass itself.
struct Scan<'m, 'd> {
    words: &'m [u32],
    bound: u32,
    index: Index,
    report: Report<'d>,
}

impl<'m> Scan<'m, '_> {
    fn run(&mut self) {
        let shapes = grammar::shapes();
        // An id is right when `id - 1`, wrapping, is below this.
        let limit = self.bound.saturating_sub(1);
        let mut at = HEADER_WORDS;
        while let Some(first) = self.words.get(at).copied() {
            let count = (first >> 16) as usize;
            let opcode = (first & 0xffff) as u16;
            let offset = WordOffset::new(at as u32); // a module has fewer than 2^30 words
            let Some(words) = self
                .words
                .get(at..at + count)
                .filter(|words| !words.is_empty())
            else {
                self.cut_short(offset, opcode, count);
                return;
            };
            if let Some(bits) = self.index.starts.get_mut(at / 64) {
                *bits |= 1 << (at % 64);
            }
            let inst = Inst { offset, words };
            let mut shape = *shapes.of(opcode);
            if shape.tail == Tail::Operation
                && let Some(operation) = words.get(3)
            {
                shape = shapes.operation(shape, *operation);
            }
            if !self.is_sound(inst, &shape, limit) {
                self.explain(inst, &shape);
            }
            if shape.has_result {
                self.define(inst, &shape);
            } else if shape.is_unknown() {
                for word in words.iter().skip(1).take(2) {
                    self.index.guesses.entry(*word).or_insert(offset);
                }
            }
            if self.report.is_full() {
                return;
            }
            at += count;
        }
    }

    /// Returns true if the instruction has its words, its ids are in range and its strings end.
    /// Most instructions are done here; the walk over their operands is for what is left.
    #[inline(always)]
    fn is_sound(&self, inst: Inst<'m>, shape: &Shape, limit: u32) -> bool {
        let (head, tail) = inst
            .words
            .split_at_checked(usize::from(shape.fixed))
            .unwrap_or((inst.words, &[]));
        let mut sound = inst.words.len() >= usize::from(shape.least);
        let mut outside = 0u32;
        for word in head.iter().skip(1).rev() {
            outside = outside << 1 | u32::from(word.wrapping_sub(1) >= limit);
        }
        sound &= outside & shape.ids == 0;
        let Some((first, rest)) = tail.split_first() else {
            return sound;
        };
        let in_range = |words: &[u32]| words.iter().all(|word| word.wrapping_sub(1) < limit);
        sound
            && match shape.tail {
                Tail::Literals => true,
                Tail::Ids => in_range(tail),
                Tail::Text => {
                    tail.last().is_some_and(|word| has_zero_byte(*word))
                        || self.is_walk_sound(inst, limit)
                }
                Tail::Bits => {
                    rest.is_empty()
                        || u64::from(*first) & !shape.plain == 0
                        || self.is_walk_sound(inst, limit)
                }
                Tail::Number => {
                    rest.is_empty()
                        || shape.plain.checked_shr(*first).unwrap_or(0) & 1 == 1
                        || self.is_walk_sound(inst, limit)
                }
                Tail::Ext if self.index.ext_set(inst).has_only_ids() => in_range(rest),
                Tail::Ext | Tail::Operation | Tail::Mixed => self.is_walk_sound(inst, limit),
            }
    }

    fn is_walk_sound(&self, inst: Inst<'m>, limit: u32) -> bool {
        let context = self.index.context(self.words, inst);
        Operands::new(inst, context).all(|operand| match operand.id() {
            Some(id) => id.0.wrapping_sub(1) < limit,
            None => !operand.is_unterminated(),
        })
    }

    fn define(&mut self, inst: Inst<'m>, shape: &Shape) {
        let Some(id) = inst.words.get(1 + usize::from(shape.has_type)).copied() else {
            return;
        };
        if id == 0 || id >= self.bound {
            return; // reported with the other ids of the instruction
        }
        let earlier = self.index.definitions.define(id, inst.offset.get());
        if shape.op == Some(spirv::Op::ExtInstImport) && earlier == 0 {
            self.index.sets.insert(id, ExtSet::named(inst.operands()));
        }
        if earlier != 0 {
            self.report(
                inst,
                Diagnostic::error(
                    Code::DuplicateId,
                    format!("{} is defined a second time", Id(id)),
                )
                .because(format!("the first definition is at word {earlier}"))
                .help("use another id for one of the two"),
            );
        }
    }

    #[cold]
    fn explain(&mut self, inst: Inst<'m>, shape: &Shape) {
        let least = usize::from(shape.least);
        if inst.words.len() < least {
            let message = format!(
                "{} has {} words but needs {least}",
                inst.name(),
                inst.words.len()
            );
            self.report(inst, Diagnostic::error(Code::MissingOperand, message));
        }
        let context = self.index.context(self.words, inst);
        for operand in Operands::new(inst, context) {
            if operand.is_unterminated() {
                let message = format!(
                    "the string at word {} of {} is not terminated",
                    operand.index,
                    inst.name()
                );
                self.report(
                    inst,
                    Diagnostic::error(Code::UnterminatedString, message)
                        .because("it has no zero byte before the end of the instruction"),
                );
            }
            let Some(id) = operand.id() else { continue };
            if id.0 == 0 {
                let message = format!("word {} of {} is the id 0", operand.index, inst.name());
                self.report(
                    inst,
                    Diagnostic::error(Code::ZeroId, message).because("ids start at 1"),
                );
            } else if id.0 >= self.bound {
                let message = format!(
                    "{id} in {} is not below the bound {}",
                    inst.name(),
                    self.bound
                );
                self.report(
                    inst,
                    Diagnostic::error(Code::IdOutOfBound, message).because(
                        "the bound is the fourth word of the header, and all ids are below it",
                    ),
                );
            }
        }
    }

    #[cold]
    fn cut_short(&mut self, offset: WordOffset, opcode: u16, count: usize) {
        let name = grammar::name(opcode);
        let diagnostic = if count == 0 {
            Diagnostic::error(
                Code::ZeroWordCount,
                format!("the word count of {name} is 0"),
            )
            .because("the count includes the first word, so the next instruction cannot be found")
        } else {
            let rest = self.words.len() - offset.index();
            Diagnostic::error(
                Code::TruncatedModule,
                format!("the module ends inside {name}"),
            )
            .because(format!(
                "the instruction has {count} words, but only {rest} remain"
            ))
        };
        let rest = self.words.get(offset.index()..).unwrap_or_default();
        let help = if rest.iter().all(|word| is_text(*word)) {
            "the rest is text: write the messages of the producer to another file"
        } else {
            "check that the file has the size that its producer wrote"
        };
        self.push(diagnostic.help(help), offset, name);
    }

    fn report(&mut self, inst: Inst<'m>, diagnostic: Diagnostic) {
        self.push(diagnostic, inst.offset, inst.name());
    }

    fn push(&mut self, diagnostic: Diagnostic, offset: WordOffset, name: String) {
        let mut diagnostic = diagnostic.at_word(offset);
        diagnostic.location.instruction = Some(name);
        self.report.push(diagnostic);
    }
}

/// Returns true if the bytes of `word` are printable characters.
fn is_text(word: u32) -> bool {
    let bytes = word.to_le_bytes();
    bytes
        .iter()
        .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}
