//! The control flow of an LLVM function: its graph, its loops, and what is surely the same in all
//! lanes of a wave.
//!
//! A value counts as uniform only if everything says so; LLVM's own analysis may know more. Loads
//! give the same in all lanes where their address is the same; a value that leaves a loop whose
//! lanes leave it one by one does not.

use crate::ffi::{Block, Func, Opcode, Value};
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::analysis::dominance::Dominators;
use splitbar_passes::analysis::loops::{Loop, natural};
use splitbar_passes::module::{BlockIndex, BlockMap};
use std::collections::{HashMap, HashSet};

/// LLVM's number of the calling convention of AMDGPU's kernels.
const KERNEL: u32 = 91;

/// Intrinsics whose results are the same in all lanes, without the types.
const UNIFORM: [&str; 10] = [
    "llvm.amdgcn.workgroup.id",
    "llvm.amdgcn.cluster.id",
    "llvm.amdgcn.readfirstlane",
    "llvm.amdgcn.readlane",
    "llvm.amdgcn.ballot",
    "llvm.amdgcn.dispatch.ptr",
    "llvm.amdgcn.implicitarg.ptr",
    "llvm.amdgcn.kernarg.segment.ptr",
    "llvm.amdgcn.wavefrontsize",
    "llvm.amdgcn.s.",
];

pub(super) struct Shape<'c> {
    blocks: BlockMap<Block<'c>>,
    index: HashMap<Block<'c>, BlockIndex>,
    cfg: Cfg,
    dominators: Dominators,
    /// The natural loops; `None` where there are too many to look at.
    pub(super) loops: Option<Vec<Loop>>,
    /// Instructions and parameters that may differ between lanes.
    divergent: HashSet<Value<'c>>,
}

/// More loops than this are not told apart.
const MOST_LOOPS: usize = 1000;

impl<'c> Shape<'c> {
    pub(super) fn summarize(function: Func<'c>) -> Self {
        let blocks = BlockMap::from(function.blocks());
        let index: HashMap<_, _> = blocks.iter().map(|(at, block)| (*block, at)).collect();
        let edges: Vec<_> = blocks
            .iter()
            .flat_map(|(from, block)| block.successors().into_iter().map(move |to| (from, to)))
            .filter_map(|(from, to)| Some((from.index(), index.get(&to)?.index())))
            .collect();
        let cfg = Cfg::from_edges(blocks.len(), &edges);
        let dominators = Dominators::analyze(&cfg);
        let loops = natural(&cfg, &dominators, MOST_LOOPS);
        let mut shape = Shape {
            blocks,
            index,
            cfg,
            dominators,
            loops,
            divergent: HashSet::new(),
        };
        shape.spread(function);
        shape
    }

    /// Returns true if `value` is surely the same in all lanes that compute it together.
    pub(super) fn is_uniform(&self, value: Value<'c>) -> bool {
        value.is_constant() || !self.divergent.contains(&value)
    }

    /// Returns true if `block` is in the loop.
    pub(super) fn is_in(&self, block: Block<'c>, one: &Loop) -> bool {
        let index = self.index.get(&block);
        index.is_some_and(|index| one.body.contains(index))
    }

    /// The blocks of a loop.
    pub(super) fn blocks_of(&self, one: &Loop) -> Vec<Block<'c>> {
        let body = one.body.iter();
        body.filter_map(|block| self.blocks.get(*block).copied())
            .collect()
    }

    /// Returns true if lanes may leave the loop in different iterations.
    pub(super) fn leaves_apart(&self, one: &Loop) -> bool {
        let is_latch = |block: &&BlockIndex| self.cfg.succs(**block).contains(&one.header);
        let latches: Vec<_> = one.body.iter().filter(is_latch).collect();
        one.body.iter().any(|block| {
            let leaves = self.cfg.succs(*block).iter();
            let leaves = leaves.clone().any(|next| !one.body.contains(next));
            let by_all = || {
                let mut latches = latches.iter();
                latches.all(|latch| self.dominators.dominates(*block, **latch))
            };
            leaves && (self.branches_apart(*block) || !by_all())
        })
    }

    /// Returns true if lanes may take different edges out of `block`.
    fn branches_apart(&self, block: BlockIndex) -> bool {
        let end = self.blocks.get(block).and_then(|b| b.terminator());
        match end.map(|end| (end, end.condition())) {
            Some((_, Some(condition))) => !self.is_uniform(condition),
            Some((end, None)) => !matches!(
                end.opcode(),
                Some(Opcode::LLVMUncondBr | Opcode::LLVMRet | Opcode::LLVMUnreachable)
            ),
            None => true,
        }
    }

    /// Marks what may differ between lanes until nothing changes.
    fn spread(&mut self, function: Func<'c>) {
        if function.call_convention() != KERNEL {
            self.divergent.extend(function.params());
        }
        let instructions = function.instructions();
        loop {
            let before = self.divergent.len();
            let apart: Vec<usize> = match &self.loops {
                Some(loops) => (0..loops.len())
                    .filter(|at| loops.get(*at).is_some_and(|one| self.leaves_apart(one)))
                    .collect(),
                None => Vec::new(),
            };
            for instruction in &instructions {
                if !self.divergent.contains(instruction) && self.differs(*instruction, &apart) {
                    self.divergent.insert(*instruction);
                }
            }
            if self.divergent.len() == before {
                return;
            }
        }
    }

    fn differs(&self, instruction: Value<'c>, apart: &[usize]) -> bool {
        let Some(loops) = &self.loops else {
            return true;
        };
        let block = instruction.block();
        let operands = match instruction.opcode() {
            Some(Opcode::LLVMPHI) => {
                let incoming = instruction.incoming();
                if self.joins_apart(block) {
                    return true;
                }
                incoming.into_iter().map(|(value, _)| value).collect()
            }
            Some(Opcode::LLVMCall) => match instruction.callee() {
                Some(callee) if is_arithmetic(&callee.name()) => instruction.arguments(),
                Some(callee) => {
                    let name = callee.name();
                    return !UNIFORM.iter().any(|uniform| name.starts_with(uniform));
                }
                None => return true,
            },
            Some(Opcode::LLVMLoad) => {
                let address = instruction.operands();
                if address
                    .first()
                    .is_none_or(|address| matches!(address.ty().address_space(), 0 | 5))
                {
                    return true;
                }
                address
            }
            Some(
                Opcode::LLVMAlloca
                | Opcode::LLVMAtomicRMW
                | Opcode::LLVMAtomicCmpXchg
                | Opcode::LLVMInvoke
                | Opcode::LLVMVAArg,
            )
            | None => return true,
            Some(_) => instruction.operands(),
        };
        operands.into_iter().any(|operand| {
            let leaves_apart = || {
                operand.opcode().is_some()
                    && apart
                        .iter()
                        .filter_map(|at| loops.get(*at))
                        .any(|one| self.is_in(operand.block(), one) && !self.is_in(block, one))
            };
            !self.is_uniform(operand) || leaves_apart()
        })
    }

    /// Returns true if lanes may come to `block` by different edges, of those that come to it
    /// together.
    fn joins_apart(&self, block: Block<'c>) -> bool {
        let Some(index) = self.index.get(&block).copied() else {
            return true;
        };
        let preds = self.cfg.preds(index);
        let back = |pred: &&BlockIndex| self.dominators.dominates(index, **pred);
        // Which edge led to the header of a loop is the same for all lanes in it.
        if preds.len() == 2 && preds.iter().filter(back).count() == 1 {
            return false;
        }
        let Some(top) = self.dominators.immediate(index) else {
            return true;
        };
        let mut seen = HashSet::from([index, top]);
        let mut work: Vec<BlockIndex> = preds.to_vec();
        let mut between = vec![top];
        while let Some(at) = work.pop() {
            if seen.insert(at) {
                between.push(at);
                work.extend(self.cfg.preds(at));
            }
        }
        between.into_iter().any(|at| self.branches_apart(at))
    }
}

/// Returns true for intrinsics whose results depend on their arguments alone.
fn is_arithmetic(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("llvm.") else {
        return false;
    };
    let not = [
        "amdgcn.", "nvvm.", "mem", "masked.", "vp.", "read", "thread", "stack", "frame",
    ];
    !not.iter().any(|start| rest.starts_with(start))
}
