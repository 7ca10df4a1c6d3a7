//! Computes the results that are live at the end of each block.

use super::cfg::Cfg;
use super::dataflow::{Analysis, Direction, solve};
use crate::module::{BlockIndex, BlockMap, Id};
use std::collections::{BTreeMap, BTreeSet};

/// Bits that the sets of all blocks may have together: 64 MiB.
const MOST_BITS: usize = 1 << 29;

/// The ids that an instruction defines and uses.
#[derive(Clone, Debug, Default)]
pub struct DefUse {
    /// Its result.
    pub result: Option<Id>,
    /// Ids that it uses, those of constants and labels among them; of an OpPhi none.
    pub uses: Vec<Id>,
}

/// The results that are live after each block.
#[derive(Clone, Debug)]
pub struct Live {
    ids: Vec<Id>,
    ends: BlockMap<Vec<u64>>,
}

impl Live {
    /// For blocks of instructions on `cfg`. `leaving` has for each block the ids that phis of its
    /// successors take from it. `None`: the function is too large.
    pub fn analyze(
        cfg: &Cfg,
        blocks: &BlockMap<Vec<&DefUse>>,
        leaving: &BlockMap<Vec<Id>>,
    ) -> Option<Live> {
        let all = || blocks.values().flatten();
        let ids: BTreeSet<Id> = all().filter_map(|inst| inst.result).collect();
        let ids: Vec<Id> = ids.into_iter().collect();
        if ids.len().checked_mul(cfg.len())? > MOST_BITS {
            return None;
        }
        let numbers: BTreeMap<Id, usize> = ids.iter().copied().zip(0..).collect();
        let problem = Problem {
            words: ids.len().div_ceil(64),
            numbers,
            blocks,
            leaving,
        };
        let mut ends = solve(cfg, &problem);
        for (block, end) in ends.iter_mut() {
            problem.leave(block, end);
        }
        Some(Live { ids, ends })
    }

    /// The total size of the sets in words of 64 results, which is the cost of computing them.
    pub fn words(&self) -> usize {
        self.ends.values().map(Vec::len).sum()
    }

    /// The results that are live after block `block`.
    pub fn at_end(&self, block: BlockIndex) -> BTreeSet<Id> {
        let words = self.ends.get(block).map_or(&[][..], Vec::as_slice);
        let is_set = |number: usize| {
            let word = words.get(number / 64).copied().unwrap_or_default();
            word >> (number % 64) & 1 == 1
        };
        let ids = self.ids.iter().enumerate();
        ids.filter(|(number, _)| is_set(*number))
            .map(|(_, id)| *id)
            .collect()
    }
}

struct Problem<'p> {
    words: usize,
    numbers: BTreeMap<Id, usize>,
    blocks: &'p BlockMap<Vec<&'p DefUse>>,
    leaving: &'p BlockMap<Vec<Id>>,
}

impl Problem<'_> {
    fn set(&self, state: &mut [u64], id: Id, value: bool) {
        if let Some(number) = self.numbers.get(&id)
            && let Some(word) = state.get_mut(number / 64)
        {
            let bit = 1 << (number % 64);
            *word = if value { *word | bit } else { *word & !bit };
        }
    }

    fn leave(&self, block: BlockIndex, state: &mut [u64]) {
        for id in self.leaving.get(block).into_iter().flatten() {
            self.set(state, *id, true);
        }
    }
}

impl Analysis for Problem<'_> {
    type State = Vec<u64>;
    const DIRECTION: Direction = Direction::Backward;

    fn bottom(&self) -> Vec<u64> {
        vec![0; self.words]
    }

    fn boundary(&self) -> Vec<u64> {
        vec![0; self.words]
    }

    fn join(&self, state: &mut Vec<u64>, other: &Vec<u64>) -> bool {
        let mut changed = false;
        for (word, more) in state.iter_mut().zip(other) {
            changed |= *more & !*word != 0;
            *word |= more;
        }
        changed
    }

    fn transfer(&self, block: BlockIndex, mut state: Vec<u64>) -> Vec<u64> {
        self.leave(block, &mut state);
        for inst in self.blocks.get(block).into_iter().flatten().rev() {
            if let Some(result) = inst.result {
                self.set(&mut state, result, false);
            }
            for id in &inst.uses {
                self.set(&mut state, *id, true);
            }
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inst(result: u32, uses: &[u32]) -> DefUse {
        DefUse {
            result: (result != 0).then_some(Id(result)),
            uses: uses.iter().copied().map(Id).collect(),
        }
    }

    #[test]
    fn values_that_go_around_a_loop() {
        // 0: 1 = ..; 1: 2 = phi(1, 3); 3 = 2 + 1; 2: use 3
        let cfg = Cfg::from_edges(3, &[(0, 1), (1, 1), (1, 2)]);
        let insts = [inst(1, &[]), inst(2, &[]), inst(3, &[2, 1]), inst(0, &[3])];
        let [one, phi, sum, user] = &insts;
        let blocks = BlockMap::from([vec![one], vec![phi, sum], vec![user]]);
        let leaving = BlockMap::from([vec![Id(1)], vec![Id(3)], vec![]]);
        let live = Live::analyze(&cfg, &blocks, &leaving);
        let ends: Option<Vec<BTreeSet<Id>>> =
            live.map(|live| cfg.blocks().map(|block| live.at_end(block)).collect());
        let set = |ids: &[u32]| ids.iter().copied().map(Id).collect::<BTreeSet<Id>>();
        assert_eq!(ends, Some(vec![set(&[1]), set(&[1, 3]), set(&[])]));
    }
}
