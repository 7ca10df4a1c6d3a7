//! The facts about each instruction of a function that code motion needs.

use crate::analysis::dominance::PostDominators;
use crate::analysis::layout::Extents;
use crate::analysis::live::DefUse;
use crate::analysis::phases::{Effects, Own};
use crate::module::{BlockIndex, BlockMap, Constants, Declarations, Function, Id, WordOffset};
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};

/// Words that a result takes whose type has no size that is known here.
const WORDS_OF_UNKNOWN: u64 = 2;

/// An instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Fact {
    /// Its result, and what it uses.
    pub(super) ids: DefUse,
    /// What it does to variables of its invocation; `None`: it stays where it is.
    pub(super) own: Option<Own>,
}

/// The instructions of a function, labels left out.
#[derive(Debug, Default)]
pub(super) struct Facts {
    by_offset: BTreeMap<WordOffset, Fact>,
    words: BTreeMap<Id, u64>,
    /// How many instructions use a result.
    uses: BTreeMap<Id, usize>,
    /// Results that are used where no walk from one block to the next comes by: by debug
    /// information, or on a way that ends in OpUnreachable.
    pinned: BTreeSet<Id>,
    /// By block: what phis of its successors take from it.
    pub(super) leaving: BlockMap<Vec<Id>>,
}

impl Facts {
    pub(super) fn lookup<'m>(
        declarations: &Declarations<'m>,
        constants: &Constants,
        function: &Function<'m>,
        effects: &Effects<'_, 'm>,
        post: &PostDominators,
    ) -> Facts {
        let module = declarations.module;
        let mut facts = Facts {
            leaving: BlockMap::filled(function.blocks.len(), Vec::new()),
            ..Facts::default()
        };
        let blocks: BTreeMap<Id, BlockIndex> = function
            .numbered()
            .map(|(place, block)| (block.label, place))
            .collect();
        let mut extents = Extents::new(declarations, constants);
        for inst in function.insts() {
            let is_phi = inst.op() == Some(Op::Phi);
            let named = inst.result_type().into_iter().chain(inst.result());
            let named: Vec<Id> = named.collect();
            let mut uses: Vec<Id> = module
                .ids(inst)
                .map(|(_, id)| id)
                .filter(|id| !named.contains(id))
                .collect();
            uses.sort_unstable();
            uses.dedup();
            for id in &uses {
                *facts.uses.entry(*id).or_default() += 1;
            }
            if is_phi {
                for pair in inst.operands().chunks_exact(2) {
                    if let [value, from] = *pair
                        && let Some(block) = blocks.get(&Id(from))
                        && let Some(leaving) = facts.leaving.get_mut(*block)
                    {
                        leaving.push(Id(value));
                    }
                }
                uses.clear();
            }
            let bytes = inst.result_type().and_then(|ty| extents.of(ty));
            let words = bytes.map_or(WORDS_OF_UNKNOWN, |extent| extent.size.div_ceil(4));
            if let Some(result) = inst.result() {
                facts.words.insert(result, words);
            }
            let fact = Fact {
                ids: DefUse {
                    result: inst.result(),
                    uses,
                },
                own: effects.own(inst),
            };
            facts.by_offset.insert(inst.offset, fact);
        }
        let all = module.instructions();
        let debug = all
            .skip_while(|inst| inst.offset < function.offset)
            .take_while(|inst| inst.offset < function.end)
            .filter(|inst| inst.op() == Some(Op::ExtInst))
            .filter(|inst| !facts.by_offset.contains_key(&inst.offset));
        let dead = function
            .numbered()
            .filter(|(place, _)| !post.reaches_end(*place))
            .flat_map(|(_, block)| block.insts.iter().copied());
        let pinned = debug.chain(dead).flat_map(|inst| module.ids(inst));
        facts.pinned = pinned.map(|(_, id)| id).collect();
        facts
    }

    /// The instruction at a place; `None` for one that a pass has added.
    pub(super) fn at(&self, offset: WordOffset) -> Option<&Fact> {
        self.by_offset.get(&offset)
    }

    /// 32-bit words of a result of the function; zero for any other id.
    pub(super) fn words(&self, id: Id) -> u64 {
        self.words.get(&id).copied().unwrap_or(0)
    }

    /// Returns true if no more than one instruction uses the result.
    pub(super) fn has_one_use(&self, id: Id) -> bool {
        self.uses.get(&id).is_none_or(|uses| *uses <= 1)
    }

    /// Returns true if the result is used where no walk from one block to the next comes by.
    pub(super) fn is_pinned(&self, id: Id) -> bool {
        self.pinned.contains(&id)
    }
}
