//! The variables of a function that become values, and the phis that they need.

use super::build::Input;
use super::promote::{LEAST_STEPS, STEPS_PER_BLOCK, width};
use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::Dominators;
use crate::module::{BlockIndex, BlockMap, Id};
use std::collections::{BTreeMap, BTreeSet};

/// The variables that are followed.
#[derive(Clone, Debug, Default)]
pub(super) struct Promoted {
    /// Their ids, ascending.
    pub(super) variables: Vec<Id>,
    /// Bits of a scalar integer or Boolean variable, 0 for others.
    pub(super) widths: Vec<u32>,
    /// Private variables that other functions name.
    pub(super) shared: Vec<usize>,
    /// By block: the variables whose values meet there.
    pub(super) phis: BlockMap<Vec<usize>>,
    /// Places of the variables of functions whose calls are followed, after those above.
    locals: BTreeMap<Id, usize>,
}

impl Promoted {
    /// The variables of the slice, over `cfg`.
    pub(super) fn analyze(input: &Input<'_, '_>, cfg: &Cfg, dominators: &Dominators) -> Promoted {
        let variables = input.variables;
        let mut promoted = Promoted {
            phis: BlockMap::filled(cfg.len(), Vec::new()),
            ..Promoted::default()
        };
        let wanted: BTreeSet<(Id, u32)> = input
            .slice
            .variables
            .iter()
            .filter_map(|number| Some((variables.all.get(*number as usize)?.id, *number)))
            .collect();
        if wanted.is_empty() {
            return promoted;
        }
        let Some(frontier) = frontiers(cfg, dominators) else {
            return promoted; // every load is then from memory that is not known
        };
        let mut left = LEAST_STEPS.max(STEPS_PER_BLOCK * cfg.len());
        for (id, number) in wanted {
            let shared = variables.is_shared(input.memory, input.function.id, number);
            let calls = variables.impure_calls.iter().filter(|_| shared);
            let mut work: Vec<BlockIndex> = variables
                .changes(number)
                .iter()
                .chain(calls)
                .map(|(block, _)| *block)
                .filter(|block| cfg.is_reachable(*block))
                .collect();
            let mut meets = BTreeSet::new();
            while let Some(block) = work.pop() {
                for meet in &frontier[block] {
                    if meets.insert(*meet) {
                        work.push(*meet);
                    }
                }
            }
            left = match left.checked_sub(meets.len() + 1) {
                Some(left) => left,
                None => break,
            };
            let index = promoted.variables.len();
            for block in meets {
                promoted.phis[block].push(index);
            }
            promoted.variables.push(id);
            promoted.widths.push(width(input.declarations, id));
            if shared {
                promoted.shared.push(index);
            }
        }
        promoted
    }

    /// The place of the variable `id` in the lists of variables.
    pub(super) fn index(&self, id: Id) -> Option<usize> {
        let own = self.variables.binary_search(&id).ok();
        own.or_else(|| self.locals.get(&id).copied())
    }

    /// Adds a variable of a function whose call is followed; its place.
    pub(super) fn add_local(&mut self, id: Id, width: u32) -> usize {
        let place = self.variables.len() + self.locals.len();
        self.locals.insert(id, place);
        self.widths.push(width);
        place
    }
}

/// The dominance frontier of each block; `None` when the graph is built to make them long.
pub(super) fn frontiers(cfg: &Cfg, dominators: &Dominators) -> Option<BlockMap<Vec<BlockIndex>>> {
    let mut left = LEAST_STEPS.max(STEPS_PER_BLOCK * cfg.len());
    let mut frontier: BlockMap<Vec<BlockIndex>> = BlockMap::filled(cfg.len(), Vec::new());
    for block in cfg.reverse_postorder().iter().copied() {
        let preds = cfg.preds(block);
        if preds.len() < 2 && block != BlockIndex::ENTRY {
            continue;
        }
        for pred in preds.iter().copied().filter(|pred| cfg.is_reachable(*pred)) {
            let mut at = Some(pred);
            while let Some(runner) =
                at.filter(|runner| Some(*runner) != dominators.immediate(block))
            {
                left = left.checked_sub(1)?;
                if frontier[runner].last() != Some(&block) {
                    frontier[runner].push(block);
                }
                at = dominators.immediate(runner);
            }
        }
    }
    Some(frontier)
}
