//! The control-flow graph of one function: blocks as indices in module order, block 0 is the entry
//! block.
//!
//! Nothing here assumes structured or reducible control flow. An edge to a label that the function
//! does not have is left out (the reader reports it).

use crate::module::{BlockIndex, BlockMap, Function, Id, Inst, Module, targets};

/// Terminators that end the invocation's run of a function, OpUnreachable not among them: control
/// never gets to that one.
const EXITS: &[spirv::Op] = &[
    spirv::Op::Return,
    spirv::Op::ReturnValue,
    spirv::Op::Kill,
    spirv::Op::TerminateInvocation,
    spirv::Op::IgnoreIntersectionKHR,
    spirv::Op::TerminateRayKHR,
    spirv::Op::EmitMeshTasksEXT,
];

/// Returns true if `inst` is a terminator that ends the function (or the invocation) when it is
/// executed.
pub fn is_exit(inst: Inst<'_>) -> bool {
    inst.op().is_some_and(|op| EXITS.contains(&op))
}

/// Where control comes from, and where it goes.
type Edge = (BlockIndex, BlockIndex);

/// A list of lists in one allocation.
#[derive(Clone, Debug, Default)]
struct Lists {
    starts: Vec<usize>,
    items: Vec<BlockIndex>,
}

impl Lists {
    /// Groups `pairs` by their first member, which is below `len`; order within a group is kept.
    fn group(len: usize, pairs: impl Iterator<Item = Edge> + Clone) -> Lists {
        let mut starts = vec![0; len + 1];
        for (group, _) in pairs.clone() {
            starts[group.index() + 1] += 1;
        }
        for i in 0..len {
            starts[i + 1] += starts[i];
        }
        let mut next: BlockMap<usize> = starts[..len].iter().copied().collect();
        let mut items = vec![BlockIndex::ENTRY; starts[len]];
        for (group, item) in pairs {
            let next = &mut next[group];
            items[*next] = item;
            *next += 1;
        }
        Lists { starts, items }
    }

    fn get(&self, group: BlockIndex) -> &[BlockIndex] {
        let group = group.index();
        &self.items[self.starts[group]..self.starts[group + 1]]
    }
}

/// Slots that [`Index`] may have for each block.
const MOST_SLOTS: usize = 32;

/// Blocks by label.
#[derive(Clone, Debug)]
enum Index {
    /// A slot for every id from the least label, `first`, to the largest; of labels, the block.
    Slots {
        first: u32,
        blocks: Vec<Option<BlockIndex>>,
    },
    /// Sorted; for labels that are far apart.
    Sorted(Vec<(Id, BlockIndex)>),
}

impl Index {
    fn from_labels(labels: &[Id]) -> Index {
        let first = labels.iter().min().map_or(0, |id| id.0);
        let last = labels.iter().max().map_or(0, |id| id.0);
        let slots = (last - first) as usize + 1;
        if slots / MOST_SLOTS > labels.len() {
            let blocks = BlockIndex::all(labels.len());
            let mut sorted: Vec<_> = labels.iter().copied().zip(blocks).collect();
            sorted.sort_unstable();
            return Index::Sorted(sorted);
        }
        let mut blocks = vec![None; slots];
        for (label, block) in labels.iter().zip(BlockIndex::all(labels.len())) {
            blocks[(label.0 - first) as usize] = Some(block);
        }
        Index::Slots { first, blocks }
    }

    /// The block with label `label`.
    fn find(&self, label: Id) -> Option<BlockIndex> {
        match self {
            Index::Slots { first, blocks } => {
                let slot = label.0.checked_sub(*first)?;
                blocks.get(slot as usize).copied().flatten()
            }
            Index::Sorted(sorted) => {
                let at = sorted.binary_search_by_key(&label, |(known, _)| *known);
                sorted.get(at.ok()?).map(|(_, block)| *block)
            }
        }
    }
}

/// The control-flow graph of one function.
#[derive(Clone, Debug)]
pub struct Cfg {
    labels: BlockMap<Id>,
    index: Index,
    succs: Lists,
    preds: Lists,
    exits: BlockMap<bool>,
    reverse_postorder: Vec<BlockIndex>,
    /// Position in `reverse_postorder`.
    order: BlockMap<Option<usize>>,
}

impl Default for Cfg {
    /// The graph of a function that is not there: no blocks.
    fn default() -> Cfg {
        Cfg::from_edges(0, &[])
    }
}

impl Cfg {
    /// The graph of `function`, a function of `module`.
    pub fn analyze(module: &Module<'_>, function: &Function<'_>) -> Cfg {
        let labels: Vec<Id> = function.blocks.iter().map(|block| block.label).collect();
        let index = Index::from_labels(&labels);
        let mut edges = Vec::with_capacity(labels.len() * 2);
        let mut exits = BlockMap::with_capacity(labels.len());
        for (from, block) in function.numbered() {
            let terminator = block.terminator();
            exits.push(terminator.is_some_and(is_exit));
            for target in terminator
                .into_iter()
                .flat_map(|inst| targets(module, inst))
            {
                if let Some(to) = index.find(target) {
                    edges.push((from, to));
                }
            }
        }
        Cfg::build(labels.into(), index, edges, exits)
    }

    /// A graph of `len` blocks with labels `%1`, `%2` and so on; for callers that have a graph and
    /// no function. Edges that name a block that is not there are left out; blocks without a
    /// successor are exits.
    pub fn from_edges(len: usize, edges: &[(usize, usize)]) -> Cfg {
        let labels: Vec<Id> = (1u32..).map(Id).take(len).collect();
        let index = Index::from_labels(&labels);
        let edges: Vec<_> = edges
            .iter()
            .filter(|(from, to)| *from < len && *to < len)
            .map(|(from, to)| (BlockIndex::new(*from), BlockIndex::new(*to)))
            .collect();
        let mut exits = BlockMap::filled(len, true);
        for (from, _) in &edges {
            exits[*from] = false;
        }
        Cfg::build(labels.into(), index, edges, exits)
    }

    fn build(
        labels: BlockMap<Id>,
        index: Index,
        mut edges: Vec<Edge>,
        exits: BlockMap<bool>,
    ) -> Cfg {
        let len = labels.len();
        edges.sort_by_key(|(from, _)| *from); // stable: a block's edges keep their order
        // Per target: the block whose edge to it was seen last.
        let mut last_from = BlockMap::filled(len, None);
        edges.retain(|(from, to)| last_from[*to].replace(*from) != Some(*from));
        let succs = Lists::group(len, edges.iter().copied());
        let preds = Lists::group(len, edges.iter().map(|(from, to)| (*to, *from)));
        let mut cfg = Cfg {
            labels,
            index,
            succs,
            preds,
            exits,
            reverse_postorder: Vec::new(),
            order: BlockMap::filled(len, None),
        };
        cfg.number();
        cfg
    }

    /// The same blocks with only the edges that `keep` keeps; exits stay what they are.
    pub(crate) fn restricted(&self, keep: impl Fn(BlockIndex, BlockIndex) -> bool) -> Cfg {
        let edges = self
            .blocks()
            .flat_map(|from| self.succs(from).iter().map(move |to| (from, *to)))
            .filter(|(from, to)| keep(*from, *to))
            .collect();
        Cfg::build(
            self.labels.clone(),
            self.index.clone(),
            edges,
            self.exits.clone(),
        )
    }

    /// Depth-first search from the entry block, with a stack of its own.
    fn number(&mut self) {
        let mut seen = BlockMap::filled(self.len(), false);
        let mut stack = Vec::new();
        if let Some(first) = seen.get_mut(BlockIndex::ENTRY) {
            *first = true;
            stack.push((BlockIndex::ENTRY, 0));
        }
        while let Some((block, next)) = stack.last_mut() {
            let block = *block;
            let succ = self.succs(block).get(*next).copied();
            *next += 1;
            match succ {
                Some(succ) if !seen[succ] => {
                    seen[succ] = true;
                    stack.push((succ, 0));
                }
                Some(_) => {}
                None => {
                    self.reverse_postorder.push(block);
                    stack.pop();
                }
            }
        }
        self.reverse_postorder.reverse();
        for (position, block) in self.reverse_postorder.iter().enumerate() {
            self.order[*block] = Some(position);
        }
    }

    /// The number of blocks.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns true if the function has no block: an import.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// All blocks, in module order.
    pub fn blocks(
        &self,
    ) -> impl DoubleEndedIterator<Item = BlockIndex> + ExactSizeIterator + use<> {
        BlockIndex::all(self.len())
    }

    /// Label of block `block`.
    ///
    /// # Panics
    /// When there is no such block; so do the other functions that take one.
    pub fn label(&self, block: BlockIndex) -> Id {
        self.labels[block]
    }

    /// The block with label `label`.
    pub fn index_of(&self, label: Id) -> Option<BlockIndex> {
        self.index.find(label)
    }

    /// The successors of `block`, each once, in the order of the terminator's operands.
    pub fn succs(&self, block: BlockIndex) -> &[BlockIndex] {
        self.succs.get(block)
    }

    /// The predecessors of `block`, each once, in module order.
    pub fn preds(&self, block: BlockIndex) -> &[BlockIndex] {
        self.preds.get(block)
    }

    /// Returns true if `block` ends the function: a return or a kill.
    pub fn is_exit(&self, block: BlockIndex) -> bool {
        self.exits[block]
    }

    /// The blocks that control can reach, in reverse postorder: a block before its successors, but
    /// for back edges.
    pub fn reverse_postorder(&self) -> &[BlockIndex] {
        &self.reverse_postorder
    }

    /// The place of `block` in [`Cfg::reverse_postorder`]; `None` when control cannot reach it.
    pub fn order(&self, block: BlockIndex) -> Option<usize> {
        self.order[block]
    }

    /// Returns true if control can reach `block` from the entry block.
    pub fn is_reachable(&self, block: BlockIndex) -> bool {
        self.order[block].is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_unique_and_keep_their_order() {
        let cfg = Cfg::from_edges(4, &[(0, 2), (0, 1), (0, 2), (1, 3), (2, 3), (3, 9)]);
        let at = BlockIndex::new;
        assert_eq!(cfg.succs(at(0)), [2, 1].map(at));
        assert_eq!(cfg.preds(at(3)), [1, 2].map(at));
        assert!(cfg.is_exit(at(3)) && !cfg.is_exit(at(0)));
        assert_eq!(cfg.index_of(Id(2)), Some(at(1)));
    }

    #[test]
    fn labels_may_be_far_apart() {
        for far in [5, 200, u32::MAX] {
            let labels = [Id(7), Id(4), Id(far)];
            let index = Index::from_labels(&labels);
            let found = [7, 4, far, 0, 3, 6, 8, far.wrapping_add(1)].map(|id| index.find(Id(id)));
            let [first, second, third] = [0, 1, 2].map(|block| Some(BlockIndex::new(block)));
            assert_eq!(
                found,
                [first, second, third, None, None, None, None, None],
                "{far}"
            );
        }
        assert_eq!(Index::from_labels(&[]).find(Id(0)), None);
    }

    #[test]
    fn reverse_postorder_leaves_out_what_control_cannot_reach() {
        let cfg = Cfg::from_edges(5, &[(0, 1), (1, 2), (2, 1), (2, 4), (3, 4)]);
        let at = BlockIndex::new;
        assert_eq!(cfg.reverse_postorder(), [0, 1, 2, 4].map(at));
        assert_eq!(cfg.order(at(4)), Some(3));
        assert!(!cfg.is_reachable(at(3)));
    }

    #[test]
    fn depth_costs_no_stack() {
        let len = 200_000;
        let edges: Vec<_> = (1..len).map(|to| (to - 1, to)).collect();
        assert_eq!(Cfg::from_edges(len, &edges).reverse_postorder().len(), len);
    }

    #[test]
    fn no_block_is_an_empty_graph() {
        assert!(Cfg::from_edges(0, &[]).reverse_postorder().is_empty());
    }
}
