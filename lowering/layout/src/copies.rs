//! The asynchronous copies of an entry point, whatever makes them on a target.

use splitbar_passes::analysis::async_copy::{self, AsyncCopies};
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::analysis::copy_order::{self, Mention};
use splitbar_passes::analysis::group_copies::GroupCopies;
use splitbar_passes::analysis::program::Program;
use splitbar_passes::analysis::uniformity::memory::Memory;
use splitbar_passes::module::{BlockIndex, BlockMap, EntryPoint, WordOffset};
use std::collections::BTreeSet;

/// The asynchronous copies of an entry point's function, as analyses of the module found them.
#[derive(Clone, Debug)]
pub struct Copies {
    /// The function's control flow.
    pub cfg: Cfg,
    /// Those of groups.
    pub group: GroupCopies,
    /// Plain copies that can be made asynchronous.
    pub promoted: AsyncCopies,
    /// The word offset of each block, ascending.
    starts: Vec<WordOffset>,
    /// For each block, the word offset of the last instruction before which steps can be inserted.
    pub ends: BlockMap<WordOffset>,
    /// Per block with copies what copies, and what else may come to workgroup memory, in order.
    pub order: Vec<Vec<Mention>>,
}

impl Copies {
    /// Those of `entry` of `program`, a workgroup of which has `size`, if that is known. With
    /// `promote`, plain copies that can be made asynchronous are among them.
    pub fn analyze(
        program: &Program<'_>,
        entry: &EntryPoint<'_>,
        size: Option<[u32; 3]>,
        promote: bool,
    ) -> Option<Copies> {
        let (declarations, constants) = (program.declarations(), program.constants());
        let function = declarations.function(entry.function)?;
        let cfg = program.cfg(entry).ok()?.clone();
        let group = GroupCopies::analyze(declarations, constants, function, &cfg);
        let promoted = if promote {
            let memory = Memory::analyze(declarations);
            async_copy::find(async_copy::Input {
                declarations,
                constants,
                memory: &memory,
                function,
                cfg: &cfg,
                size,
            })
        } else {
            AsyncCopies::default()
        };
        let copies: BTreeSet<WordOffset> = group
            .copies
            .iter()
            .map(|copy| copy.offset)
            .chain(promoted.copies.iter().map(|copy| copy.store))
            .collect();
        Some(Copies {
            order: copy_order::order(declarations, function, &copies),
            starts: function.blocks.iter().map(|block| block.offset).collect(),
            ends: function
                .blocks
                .iter()
                .map(|block| block.end().map_or(block.offset, |end| end.offset))
                .collect(),
            cfg,
            group,
            promoted,
        })
    }

    /// Returns true if there is an OpGroupAsyncCopy.
    pub fn any_of_group(&self) -> bool {
        !self.group.copies.is_empty()
    }

    /// Word offsets of the arrives whose promoted copies need not be complete before the wait
    /// returns.
    pub fn deferred(&self) -> &[WordOffset] {
        &self.promoted.deferred
    }

    /// Groups items at word offsets by block, in the order of the offsets; at one offset in their
    /// given order.
    pub fn by_block<T>(&self, mut all: Vec<(WordOffset, T)>) -> BlockMap<Vec<(WordOffset, T)>> {
        all.sort_by_key(|(offset, _)| *offset); // stable
        let mut by_block: BlockMap<Vec<(WordOffset, T)>> =
            self.starts.iter().map(|_| Vec::new()).collect();
        for (offset, what) in all {
            // The last block that begins before it.
            let block = self.starts.partition_point(|start| *start <= offset);
            let block = block.checked_sub(1).map(BlockIndex::new);
            if let Some(list) = block.and_then(|block| by_block.get_mut(block)) {
                list.push((offset, what));
            }
        }
        by_block
    }
}
