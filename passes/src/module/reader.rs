//! Bytes to words to [`Module`].

use super::ext::ExtSet;
use super::file_kind::not_a_module;
use super::index::{HEADER_WORDS, Index};
use super::operands::Operands;
use super::{Id, Inst};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, WordOffset};
use std::borrow::Cow;

/// The first word of a module (SPIR-V 2.3).
const MAGIC: u32 = spirv::MAGIC_NUMBER;

/// Versions that are read: 1.0 to this minor version of 1.
const LAST_MINOR: u32 = 6;

/// Words that a module can have: 4 GiB. Offsets stay below 2^30, so that they fit `u32` with room
/// for marks.
const MOST_WORDS: usize = 1 << 30;

/// Byte order of the file that a module came from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Endianness {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endianness {
    /// The byte order of this machine.
    pub const NATIVE: Endianness = if cfg!(target_endian = "big") {
        Endianness::Big
    } else {
        Endianness::Little
    };
}

/// The five words before the first instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Version word: 0x00010600 is 1.6.
    pub version: u32,
    /// Generator magic number.
    pub generator: u32,
    /// All ids are below it.
    pub bound: u32,
    /// Reserved word, 0.
    pub schema: u32,
}

/// A module: its words, borrowed from the input where alignment and byte order allow, and an index
/// over them.
///
/// ```
/// use splitbar_passes::module::Module;
///
/// let bytes = include_bytes!("../../../fixtures/kernels/reduction/reduction.spv");
/// let module = Module::parse(bytes)?;
/// let names: Vec<_> = module.instructions().filter_map(|inst| inst.op()).collect();
/// assert!(names.contains(&spirv::Op::ControlBarrierArriveINTEL));
/// // Bytes that are not a module are refused.
/// assert!(Module::parse(&bytes[4..]).is_err());
/// # Ok::<(), splitbar_passes::diagnostic::Diagnostics>(())
/// ```
#[derive(Clone, Debug)]
pub struct Module<'a> {
    words: Cow<'a, [u32]>,
    endianness: Endianness,
    index: Index,
}

impl<'a> Module<'a> {
    /// Reads a module and checks its binary form: header, word counts, ids below the bound, strings
    /// that end.
    ///
    /// The words are borrowed when `bytes` are aligned to four and in this machine's byte order;
    /// else they are copied once. The index takes at most 1.04 times the size of the input, a few
    /// times that when the bound in the header is absurd.
    ///
    /// # Errors
    /// Every problem of the binary form (the codes below 100), each with its word offset; at most a
    /// hundred.
    pub fn parse(bytes: &'a [u8]) -> Result<Module<'a>, Diagnostics> {
        let mut diagnostics = Diagnostics::new();
        let Some(endianness) = bytes
            .first_chunk::<4>()
            .and_then(|magic| endianness_of(*magic))
        else {
            let (because, help) = not_a_module(bytes);
            diagnostics.push(
                Diagnostic::error(Code::BadMagic, "this is not a SPIR-V module")
                    .at_word(WordOffset::default())
                    .because(because)
                    .help(help),
            );
            return Err(diagnostics);
        };
        let whole = bytes.len() - bytes.len() % 4;
        if whole != bytes.len() {
            let message = format!(
                "the length is {} bytes, not a multiple of four",
                bytes.len()
            );
            diagnostics.push(
                Diagnostic::error(Code::BadLength, message)
                    .because("a module is a sequence of 32-bit words"),
            );
        }
        let bytes = bytes.get(..whole).unwrap_or(bytes);
        let words = match bytemuck::try_cast_slice::<u8, u32>(bytes) {
            Ok(words) if endianness == Endianness::NATIVE => Cow::Borrowed(words),
            _ => Cow::Owned(
                bytes
                    .chunks_exact(4)
                    .filter_map(|chunk| chunk.try_into().ok())
                    .map(|chunk| from_bytes(chunk, endianness))
                    .collect(),
            ),
        };
        Module::check(words, endianness, diagnostics)
    }

    /// As [`Module::parse`], of words in the machine's byte order.
    ///
    /// # Errors
    /// As [`Module::parse`].
    pub fn from_words(words: Vec<u32>) -> Result<Module<'static>, Diagnostics> {
        if words.first() != Some(&MAGIC) {
            let found = words.first().map_or_else(
                || "there are no words".to_owned(),
                |word| format!("the first word is {word:#010x}"),
            );
            return Err(
                Diagnostic::error(Code::BadMagic, "these words are not a SPIR-V module")
                    .at_word(WordOffset::default())
                    .because(found)
                    .into(),
            );
        }
        Module::check(Cow::Owned(words), Endianness::NATIVE, Diagnostics::new())
    }

    fn check(
        words: Cow<'a, [u32]>,
        endianness: Endianness,
        mut diagnostics: Diagnostics,
    ) -> Result<Module<'a>, Diagnostics> {
        if words.len() > MOST_WORDS {
            let message = format!("the module has {} words", words.len());
            return Err(Diagnostic::error(Code::ModuleTooLarge, message)
                .because(format!("the limit is {MOST_WORDS} words"))
                .into());
        }
        if words.len() < HEADER_WORDS {
            let message = format!(
                "the module ends after {} of the header's {HEADER_WORDS} words",
                words.len()
            );
            diagnostics.push(
                Diagnostic::error(Code::TruncatedModule, message).at_word(WordOffset::default()),
            );
            return Err(diagnostics);
        }
        let version = words.get(1).copied().unwrap_or(0);
        if !is_version(version) {
            let message = format!("{version:#010x} is not a SPIR-V version");
            diagnostics.push(Diagnostic::error(Code::UnsupportedVersion, message).at_word(WordOffset::default()).because(format!("the versions 1.0 to 1.{LAST_MINOR} are encoded as 0x00010000 to 0x00010{LAST_MINOR}00")));
        }
        let index = Index::build(&words, &mut diagnostics);
        if diagnostics.has_errors() {
            Err(diagnostics)
        } else {
            Ok(Module {
                words,
                endianness,
                index,
            })
        }
    }

    /// The words, header included, in the machine's byte order.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Behind the last word.
    pub(super) fn end(&self) -> WordOffset {
        WordOffset::new(self.words.len() as u32) // a module has fewer than 2^30 words
    }

    /// The header.
    pub fn header(&self) -> Header {
        let word = |index: usize| self.words.get(index).copied().unwrap_or(0);
        Header {
            version: word(1),
            generator: word(2),
            bound: word(3),
            schema: word(4),
        }
    }

    /// The byte order of the input.
    pub fn endianness(&self) -> Endianness {
        self.endianness
    }

    /// Returns true if the words are borrowed from the input.
    pub fn is_borrowed(&self) -> bool {
        matches!(self.words, Cow::Borrowed(_))
    }

    /// The module as bytes, in the byte order that it was read in: identical to the input.
    pub fn to_bytes(&self) -> Vec<u8> {
        if self.endianness == Endianness::NATIVE {
            return bytemuck::cast_slice(&self.words).to_vec();
        }
        self.words
            .iter()
            .flat_map(|word| word.swap_bytes().to_ne_bytes())
            .collect()
    }

    /// The module with words of its own.
    pub fn into_owned(self) -> Module<'static> {
        Module {
            words: Cow::Owned(self.words.into_owned()),
            endianness: self.endianness,
            index: self.index,
        }
    }

    /// All instructions in order.
    pub fn instructions(&self) -> impl Iterator<Item = Inst<'_>> {
        self.instructions_from(WordOffset::new(HEADER_WORDS as u32))
    }

    /// The instructions from the one that starts at word `offset` to the end; none when no
    /// instruction starts there.
    pub fn instructions_from(&self, offset: WordOffset) -> impl Iterator<Item = Inst<'_>> {
        let mut rest = match self.at(offset) {
            Some(_) => self.words.get(offset.index()..).unwrap_or(&[]),
            None => &[],
        };
        let mut next = offset.get();
        std::iter::from_fn(move || {
            let count = rest.first()? >> 16;
            let (words, after) = rest.split_at_checked(count as usize)?;
            rest = after;
            let offset = WordOffset::new(next);
            next += count; // a module has fewer than 2^30 words
            Some(Inst { offset, words })
        })
    }

    /// The instruction that starts at word `offset`, if one does.
    pub fn at(&self, offset: WordOffset) -> Option<Inst<'_>> {
        self.index.at(&self.words, offset)
    }

    /// The instruction that defines `id`.
    pub fn def(&self, id: Id) -> Option<Inst<'_>> {
        self.index.def(&self.words, id.0)
    }

    /// The instruction that may define `id`, which no known instruction does: nobody knows where
    /// its result stands.
    pub(super) fn guess(&self, id: Id) -> Option<Inst<'_>> {
        self.index.guess(&self.words, id.0)
    }

    /// The operands of an instruction of this module, each with its kind; result type and result id
    /// included.
    pub fn operands<'m>(&self, inst: Inst<'m>) -> Operands<'m> {
        Operands::new(inst, self.index.context(&self.words, inst))
    }

    /// The set of the OpExtInst `inst`.
    #[inline]
    pub(super) fn ext_set(&self, inst: Inst<'_>) -> ExtSet {
        self.index.ext_set(inst)
    }

    /// Word offset of the instruction that defines `id`.
    #[inline]
    pub(crate) fn definition(&self, id: Id) -> Option<WordOffset> {
        self.index.definition(id.0)
    }

    /// The opcode of the instruction that starts at word `offset`.
    #[inline]
    pub(crate) fn opcode_at(&self, offset: WordOffset) -> u16 {
        let first = self.words.get(offset.index()).copied().unwrap_or(0);
        (first & 0xffff) as u16
    }

    /// Returns true if `inst` is an OpExtInst of a set that has no effect on code.
    pub(super) fn is_debug_ext_inst(&self, inst: Inst<'_>) -> bool {
        matches!(
            inst.op(),
            Some(spirv::Op::ExtInst | spirv::Op::ExtInstWithForwardRefsKHR)
        ) && self.ext_set(inst).is_debug()
    }
}

fn endianness_of(magic: [u8; 4]) -> Option<Endianness> {
    if u32::from_le_bytes(magic) == MAGIC {
        Some(Endianness::Little)
    } else if u32::from_be_bytes(magic) == MAGIC {
        Some(Endianness::Big)
    } else {
        None
    }
}

fn from_bytes(bytes: [u8; 4], endianness: Endianness) -> u32 {
    match endianness {
        Endianness::Little => u32::from_le_bytes(bytes),
        Endianness::Big => u32::from_be_bytes(bytes),
    }
}

/// Version words are 0 | major | minor | 0, a byte each (SPIR-V 2.3).
fn is_version(word: u32) -> bool {
    word & !0xff00 == 0x0001_0000 && (word >> 8 & 0xff) <= LAST_MINOR
}
