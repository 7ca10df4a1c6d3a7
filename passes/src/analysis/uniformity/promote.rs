//! Which variables can be followed as values, and where their values meet.
//!
//! A variable of class Function or Private is followed when its address goes nowhere but into loads, stores and calls. Phis stand at
//! the iterated dominance frontier of its stores (Cytron and others, 1991).

use super::build::Input;
use crate::analysis::callgraph::callee;
use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::Dominators;
use crate::module::{Id, Type};
use spirv::{Op, StorageClass};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Bound on steps of the walk that finds dominance frontiers, and on phis, each times blocks, with a least one.
const STEPS_PER_BLOCK: usize = 64;
const LEAST_STEPS: usize = 1 << 16;

/// Most indices of an address that is followed.
const MOST_INDICES: usize = 32;

/// The variables that are followed.
#[derive(Clone, Debug, Default)]
pub(super) struct Promoted {
    pub(super) variables: Vec<Id>,
    /// Bits of a scalar integer or Boolean variable, 0 for others.
    pub(super) widths: Vec<u32>,
    pub(super) index: BTreeMap<Id, usize>,
    /// Private variables that other functions name.
    pub(super) shared: Vec<usize>,
    /// By block: the variables whose values meet there.
    pub(super) phis: Vec<Vec<usize>>,
}

pub(super) fn promote(input: Input<'_, '_>, cfg: &Cfg, dominators: &Dominators) -> Promoted {
    let mut promoted = Promoted {
        phis: vec![Vec::new(); cfg.len()],
        ..Promoted::default()
    };
    let (candidates, stores) = candidates(input, cfg);
    let Some(frontier) = frontiers(cfg, dominators) else {
        return promoted; // every load is then from memory that is not known
    };
    let mut left = LEAST_STEPS.max(STEPS_PER_BLOCK * cfg.len());
    let shared_stores: BTreeSet<usize> = stores.get(&None).cloned().unwrap_or_default();
    for variable in candidates {
        let shared = is_shared(input, variable);
        let mut defined: BTreeSet<usize> = stores.get(&Some(variable)).cloned().unwrap_or_default();
        if shared {
            defined.extend(&shared_stores);
        }
        let mut meets = BTreeSet::new();
        let mut work: Vec<usize> = defined.into_iter().collect();
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
        promoted.index.insert(variable, index);
        promoted.variables.push(variable);
        promoted.widths.push(width(input, variable));
        if shared {
            promoted.shared.push(index);
        }
    }
    promoted
}

fn is_shared(input: Input<'_, '_>, variable: Id) -> bool {
    input.memory.is_shared_private(variable, input.function.id)
}

fn width(input: Input<'_, '_>, variable: Id) -> u32 {
    let declarations = input.declarations;
    let pointee = match declarations
        .type_of(variable)
        .and_then(|ty| declarations.ty(ty))
    {
        Some(Type::Pointer { pointee, .. }) => *pointee,
        _ => None, // not a variable
    };
    match pointee.and_then(|ty| declarations.ty(ty)) {
        Some(Type::Bool) => 1,
        Some(Type::Int { width, .. }) => *width,
        _ => 0, // not a scalar that is evaluated
    }
}

/// Blocks with a store, by variable; under `None` those with a call that may change shared Private variables.
type Stores = BTreeMap<Option<Id>, BTreeSet<usize>>;

/// Variables whose address does not escape, in the order of their ids.
fn candidates(input: Input<'_, '_>, cfg: &Cfg) -> (Vec<Id>, Stores) {
    let (declarations, module) = (input.declarations, input.declarations.module);
    let mut seen = BTreeSet::new();
    let mut escaped = BTreeSet::new();
    let mut stores: Stores = BTreeMap::new();
    // Addresses of such variables with how many indices they have; looked up, never iterated.
    let mut addresses: HashMap<u32, (Id, usize)> = HashMap::new();
    for variable in &declarations.variables {
        if variable.class == StorageClass::Private {
            addresses.insert(variable.id.0, (variable.id, 0));
            seen.insert(variable.id);
        }
    }
    // Definitions come before uses in the order of blocks; an address that goes through a phi or a selection has escaped there.
    for (index, block) in input.function.blocks.iter().enumerate() {
        for inst in &block.insts {
            if inst.op() == Some(Op::Variable) {
                if let Some(id) = inst.result() {
                    addresses.insert(id.0, (id, 0));
                    seen.insert(id);
                }
                continue;
            }
            let call = callee(*inst);
            if call.is_some_and(|function| !input.memory.is_pure(function))
                && cfg.is_reachable(index)
            {
                stores.entry(None).or_default().insert(index);
            }
            let operands = inst.operands();
            if !operands.iter().any(|word| addresses.contains_key(word)) {
                continue;
            }
            for (place, word) in operands.iter().enumerate() {
                let Some((variable, indices)) = addresses.get(word).copied() else {
                    continue;
                };
                let fine = match inst.op() {
                    // Literals after the address may look like ids.
                    Some(Op::Load) => true,
                    Some(Op::AccessChain | Op::InBoundsAccessChain) => {
                        let indices = indices + operands.len();
                        if let (0, Some(id)) = (place, inst.result()) {
                            addresses.insert(id.0, (variable, indices));
                        }
                        place == 0 && indices <= MOST_INDICES
                    }
                    Some(Op::Store) if place == 0 => {
                        stores.entry(Some(variable)).or_default().insert(index);
                        true
                    }
                    Some(Op::FunctionCall) if place > 0 => {
                        stores.entry(Some(variable)).or_default().insert(index);
                        true
                    }
                    _ => !module.ids(*inst).any(|(_, id)| id.0 == *word), // a literal, or the address goes somewhere else
                };
                if !fine {
                    escaped.insert(variable);
                }
            }
        }
    }
    let keep = seen
        .into_iter()
        .filter(|id| !escaped.contains(id))
        .collect();
    (keep, stores)
}

/// The dominance frontier of each block; `None` when the graph is built to make them long.
fn frontiers(cfg: &Cfg, dominators: &Dominators) -> Option<Vec<Vec<usize>>> {
    let mut left = LEAST_STEPS.max(STEPS_PER_BLOCK * cfg.len());
    let mut frontier: Vec<Vec<usize>> = vec![Vec::new(); cfg.len()];
    for block in cfg.reverse_postorder().iter().copied() {
        let preds = cfg.preds(block);
        if preds.len() < 2 && block != 0 {
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
