//! An entry function as motion of barriers sees it: blocks of effects, with the halves of the
//! workgroup's barriers between them.

use super::effects::{Effect, Effects};
use super::memory_regions::MemoryRegions;
use super::mutant::{Rule, is_out};
use crate::analysis::pairing::{Pairing, Site, SiteId, SiteKind};
use crate::module::{BlockIndex, BlockMap, Declarations, Function, Id, Inst, Scope, WordOffset};
use spirv::Op;
use std::collections::BTreeMap;

/// The side of a barrier: arrive or wait.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// OpControlBarrierArriveEXT.
    Arrive,
    /// OpControlBarrierWaitEXT.
    Wait,
    /// OpControlBarrier.
    Both,
}

/// The ways in which an instruction can be moved.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It stands at the beginning of its block, and nothing may stand before it: OpPhi, OpVariable.
    First,
    /// One that halves may stand before and behind.
    Plain,
    /// The terminator, or the merge instruction before it: nothing may stand behind.
    Last,
    /// A side of the barrier with this number.
    Half(usize, Side),
}

/// An instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its word offset in the module.
    pub offset: WordOffset,
    /// Its effect on memory; an arrive or a wait stops other instructions.
    pub effect: Effect,
    /// The ways in which it can be moved.
    pub role: Role,
}

/// A barrier of the workgroup: an OpControlBarrier, or a pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Barrier {
    /// The places of its arrives, or of the OpControlBarrier, in words.
    pub arrives: Vec<WordOffset>,
    /// The places of its waits; none for an OpControlBarrier.
    pub waits: Vec<WordOffset>,
    /// Memory that it surely orders: what all of its arrives release and all of its waits acquire.
    pub orders: MemoryRegions,
    /// Memory that it may order: what a side of it or an OpMemoryBarrier of the entry point names.
    /// An OpMemoryBarrier beside a barrier without semantics makes one with them.
    pub may_order: MemoryRegions,
    /// True if its operands are constants that no specialization changes, without Volatile.
    pub is_known: bool,
}

/// An entry function.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Its blocks, in module order.
    pub blocks: BlockMap<Vec<Item>>,
    /// Its barriers: the pairs, then each OpControlBarrier.
    pub barriers: Vec<Barrier>,
}

impl Body {
    /// Collects the instructions of `function`, whose barriers are in `pairing`. With `orders_all`,
    /// every barrier is assumed to order all memory.
    pub fn analyze<'m>(
        declarations: &Declarations<'m>,
        function: &Function<'m>,
        effects: &Effects<'_, 'm>,
        pairing: &Pairing,
        orders_all: bool,
    ) -> Body {
        let barriers = barriers(declarations, pairing, orders_all);
        let mut halves = BTreeMap::new();
        for (number, barrier) in barriers.iter().enumerate() {
            let side = if barrier.waits.is_empty() && is_whole(declarations, barrier) {
                Side::Both
            } else {
                Side::Arrive
            };
            let arrives = barrier.arrives.iter().map(|at| (*at, (number, side)));
            let waits = barrier.waits.iter().map(|at| (*at, (number, Side::Wait)));
            halves.extend(arrives.chain(waits));
        }
        let block = |insts: &[Inst<'m>]| -> Vec<Item> {
            let last = insts.len().saturating_sub(1);
            let items = insts.iter().enumerate();
            let items = items.map(|(index, inst)| match halves.get(&inst.offset) {
                Some((number, side)) => Item {
                    offset: inst.offset,
                    effect: Effect::STOP,
                    role: Role::Half(*number, *side),
                },
                None => Item {
                    offset: inst.offset,
                    effect: ended(*inst, effects.instruction(*inst)),
                    role: role(*inst, last - index),
                },
            });
            items.collect()
        };
        Body {
            blocks: function
                .blocks
                .iter()
                .map(|one| block(&one.insts))
                .collect(),
            barriers,
        }
    }

    /// The items of block `block`; none when there is no such block.
    pub fn block(&self, block: BlockIndex) -> &[Item] {
        self.blocks.get(block).map_or(&[], Vec::as_slice)
    }

    /// The same with the effects that other invocations may notice. Volatile accesses, and others
    /// that order memory, may publish everything. Nothing is read at the end of a function: the
    /// code that follows the kernel sees what it wrote without a barrier.
    #[must_use]
    pub fn noticed(&self) -> Body {
        let mut body = self.clone();
        for item in body.blocks.values_mut().flatten() {
            match item.role {
                Role::Last => item.effect = Effect::NONE,
                Role::Half(..) => {}
                Role::First | Role::Plain => {
                    if item.effect.ordering_barrier && !item.effect.touches().is_empty() {
                        item.effect.publishes = MemoryRegions::ALL;
                    }
                }
            }
        }
        body
    }

    /// Returns true if an instruction may publish accesses without a barrier.
    pub fn publishes(&self) -> bool {
        let mut items = self.blocks.values().flatten();
        items.any(|item| !item.effect.publishes.is_empty())
    }

    /// The number of instructions.
    pub fn len(&self) -> usize {
        self.blocks.values().map(Vec::len).sum()
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Whoever starts the next kernel reads what this one wrote.
fn ended(inst: Inst<'_>, effect: Effect) -> Effect {
    match inst.op() {
        Some(Op::Return | Op::ReturnValue) => Effect {
            reads: MemoryRegions::GLOBAL,
            ..effect
        },
        _ => effect,
    }
}

/// The role of an instruction with so many behind it in its block.
fn role(inst: Inst<'_>, behind: usize) -> Role {
    match (inst.op(), behind) {
        (_, 0) | (Some(Op::LoopMerge | Op::SelectionMerge), 1) => Role::Last,
        (Some(Op::Phi | Op::Variable | Op::UntypedVariableKHR), _) => Role::First,
        _ => Role::Plain,
    }
}

/// Returns true if the barrier is an OpControlBarrier.
fn is_whole(declarations: &Declarations<'_>, barrier: &Barrier) -> bool {
    let first = barrier.arrives.first();
    let inst = first.and_then(|at| declarations.module.at(*at));
    inst.is_some_and(|inst| inst.op() == Some(Op::ControlBarrier))
}

fn barriers(declarations: &Declarations<'_>, pairing: &Pairing, orders_all: bool) -> Vec<Barrier> {
    let is_known = |site: &Site| {
        let inst = declarations.module.at(site.offset);
        let is_fixed = |id: &u32| {
            let constant = declarations.module.def(Id(*id));
            let op = constant.and_then(|constant| constant.op());
            matches!(op, Some(Op::Constant | Op::ConstantNull))
        };
        !site.semantics.volatile && inst.is_some_and(|inst| inst.operands().iter().all(is_fixed))
    };
    let named = pairing
        .sites
        .iter()
        .filter(|site| site.kind == SiteKind::MemoryBarrier && !is_out(Rule::MemoryBarriers))
        .fold(MemoryRegions::NONE, |all, site| {
            if is_known(site) {
                all | memory_barrier(site)
            } else {
                MemoryRegions::ALL
            }
        });
    let barrier = |arrives: &[&Site], waits: &[&Site]| {
        let sites = || arrives.iter().chain(waits);
        let is_known = sites().all(|site| is_known(site));
        let orders = sites().fold(MemoryRegions::ALL, |all, site| all & ordered(site));
        let may_order = sites().fold(named, |all, site| all | memory_barrier(site));
        Barrier {
            arrives: arrives.iter().map(|site| site.offset).collect(),
            waits: waits.iter().map(|site| site.offset).collect(),
            orders: if is_known {
                orders
            } else {
                MemoryRegions::NONE
            },
            may_order: if is_known && !orders_all {
                may_order
            } else {
                MemoryRegions::ALL
            },
            is_known,
        }
    };
    let sites =
        |ids: &[SiteId]| -> Vec<&Site> { ids.iter().filter_map(|id| pairing.site(*id)).collect() };
    let pairs = pairing
        .pairs
        .iter()
        .filter(|pair| pair.scope == Scope::Workgroup)
        .map(|pair| barrier(&sites(&pair.arrives), &sites(&pair.waits)));
    let whole = pairing
        .sites
        .iter()
        .filter(|site| {
            site.kind == SiteKind::ControlBarrier && site.execution == Some(Scope::Workgroup)
        })
        .map(|site| barrier(&[site], &[]));
    pairs.chain(whole).collect()
}

/// What a side of a barrier orders for the others of the workgroup.
fn ordered(site: &Site) -> MemoryRegions {
    let order = site.semantics.order;
    let is_side = match site.kind {
        SiteKind::Arrive => order.releases(),
        SiteKind::Wait => order.acquires(),
        SiteKind::ControlBarrier => order.releases() && order.acquires(),
        SiteKind::MemoryBarrier => false,
    };
    let reaches = match site.memory {
        Scope::Workgroup | Scope::QueueFamily | Scope::Device | Scope::CrossDevice => true,
        Scope::Invocation | Scope::Subgroup | Scope::ShaderCall => false,
    };
    if is_side && reaches {
        MemoryRegions::from_classes(site.semantics.classes)
    } else {
        MemoryRegions::NONE
    }
}

/// What the semantics of a barrier name, if they order anything.
fn memory_barrier(site: &Site) -> MemoryRegions {
    let order = site.semantics.order;
    if order.releases() || order.acquires() {
        MemoryRegions::from_classes(site.semantics.classes)
    } else {
        MemoryRegions::NONE
    }
}
