//! Modules written by hand, word by word.

use splitbar_passes::module::WordOffset;

/// Words of a module in the making.
pub(crate) struct Asm {
    words: Vec<u32>,
}

impl Asm {
    /// A header with `bound`, and nothing else.
    pub(crate) fn new(bound: u32) -> Asm {
        Asm {
            words: vec![0x0723_0203, 0x0001_0600, 0, bound, 0],
        }
    }

    /// Adds the instruction `op` with the words `operands` after its first.
    pub(crate) fn op(&mut self, op: spirv::Op, operands: &[u32]) -> &mut Asm {
        self.raw(op as u16, operands)
    }

    /// Adds an instruction by the number of its opcode.
    pub(crate) fn raw(&mut self, opcode: u16, operands: &[u32]) -> &mut Asm {
        self.words
            .push((operands.len() as u32 + 1) << 16 | u32::from(opcode));
        self.words.extend(operands);
        self
    }

    /// The words so far.
    pub(crate) fn words(&self) -> Vec<u32> {
        self.words.clone()
    }

    /// The words as bytes in the order of this machine.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.words
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect()
    }

    /// Where the next instruction will start, in words.
    pub(crate) fn offset(&self) -> WordOffset {
        WordOffset::new(self.words.len() as u32)
    }
}
