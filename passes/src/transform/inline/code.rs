//! A function body while it is being changed: words, where each instruction starts and came from,
//! and which words are ids.

use crate::module::{Inst, Module, WordOffset};

/// The instructions of one function, OpFunction and OpFunctionEnd included.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    words: Vec<u32>,
    /// Start in `words`, word offset in the old module, start in `ids`.
    insts: Vec<(usize, WordOffset, usize)>,
    /// Positions in `words` that hold ids.
    ids: Vec<usize>,
}

/// An instruction of a [`Code`].
#[derive(Copy, Clone, Debug)]
pub(super) struct Item<'c> {
    pub(super) words: &'c [u32],
    /// Word offset in the old module.
    pub(super) origin: WordOffset,
    /// Positions in `words` that hold ids, counted from the start of the code.
    ids: &'c [usize],
    start: usize,
}

impl<'c> Item<'c> {
    /// As an instruction; its offset is the origin.
    pub(super) fn inst(self) -> Inst<'c> {
        Inst {
            offset: self.origin,
            words: self.words,
        }
    }

    /// Positions in `words` that hold ids.
    pub(super) fn ids(self) -> impl Iterator<Item = usize> + use<'c> {
        self.ids.iter().map(move |position| position - self.start)
    }
}

impl Code {
    /// Appends an instruction. `ids` are the positions in `words` that hold ids.
    pub(super) fn push(
        &mut self,
        words: &[u32],
        origin: WordOffset,
        ids: impl Iterator<Item = usize>,
    ) {
        let start = self.words.len();
        self.insts.push((start, origin, self.ids.len()));
        self.ids.extend(ids.map(|position| start + position));
        self.words.extend_from_slice(words);
    }

    /// Appends `inst`, an instruction of the old module `module`.
    pub(super) fn push_inst(&mut self, module: &Module<'_>, inst: Inst<'_>) {
        let start = self.words.len();
        self.insts.push((start, inst.offset, self.ids.len()));
        module.for_each_id(inst, |position, _| self.ids.push(start + position));
        self.words.extend_from_slice(inst.words);
    }

    /// Appends an instruction of which every operand word is an id, as most that a pass makes are.
    pub(super) fn push_ids(&mut self, words: &[u32], origin: WordOffset) {
        self.push(words, origin, 1..words.len());
    }

    /// Size in words.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// The instructions in order.
    pub(super) fn items(&self) -> impl Iterator<Item = Item<'_>> {
        self.insts
            .iter()
            .enumerate()
            .map(|(index, (start, origin, ids))| {
                let (end, ids_end) = self
                    .insts
                    .get(index + 1)
                    .map_or((self.words.len(), self.ids.len()), |(end, _, ids)| {
                        (*end, *ids)
                    });
                Item {
                    words: &self.words[*start..end],
                    origin: *origin,
                    ids: &self.ids[*ids..ids_end],
                    start: *start,
                }
            })
    }

    /// Replaces ids of the instructions of `opcode` from operand word `first` on, where `rename`
    /// knows a new one.
    pub(super) fn rename(
        &mut self,
        opcode: spirv::Op,
        first: usize,
        rename: impl Fn(u32) -> Option<u32>,
    ) {
        for (index, (start, _, ids)) in self.insts.iter().enumerate() {
            if self.words[*start] & 0xffff != opcode as u32 {
                continue;
            }
            let end = self
                .insts
                .get(index + 1)
                .map_or(self.ids.len(), |(_, _, ids)| *ids);
            for position in &self.ids[*ids..end] {
                if *position >= start + first
                    && let Some(new) = rename(self.words[*position])
                {
                    self.words[*position] = new;
                }
            }
        }
    }
}
